"""``--rules FILE``: what a user knows of kinds, for the commands that judge objects.

A YAML file goes to `readiness.load_rules`; a Python file is run as TARGET is, and what it registers
with `readiness.rule` counts. Both end up in the rules of the process, by which `compute` judges, so
the commands themselves need not know of them.

After: `konstat status`, `explain` and `wait`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from konstat.base import limits
from konstat.cli.imports import import_source
from konstat.cli.settings import FilePath
from konstat.errors import RuleError
from konstat.readiness.rulebook import DEFAULT

F = TypeVar("F", bound=Callable[..., Any])


def rules_option(command: F) -> F:
    """Add ``--rules``; its files are loaded before the command is called."""
    return click.option(
        "--rules",
        "_rules",
        multiple=True,
        type=FilePath(),
        metavar="FILE",
        envvar="KONSTAT_RULES",
        show_envvar=True,
        expose_value=False,
        callback=_load,
        help="Readiness rules of your own, YAML or Python (repeatable).",
    )(command)


def load_rules_of(file: Path) -> None:
    """Add the rules of one file; raises RuleError, or TargetError for a Python file that fails."""
    if file.suffix != ".py":
        DEFAULT.load(file)
        return
    before = DEFAULT.additions
    import_source(str(file))
    if DEFAULT.additions == before:
        raise RuleError(
            f"{file} adds no rule: decorate a function with @readiness.rule(group, kind), or call"
            " readiness.load_rules"
        )


def _load(ctx: click.Context, param: click.Parameter, files: tuple[Path, ...]) -> None:
    if len(files) > limits.RULE_FILES:
        raise click.BadParameter(
            f"{len(files)} files are given, and at most {limits.RULE_FILES} are taken: join some"
        )
    for file in dict.fromkeys(files):
        load_rules_of(file)
