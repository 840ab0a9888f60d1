"""What the options of `konstat` itself say, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Settings(NamedTuple):
    """The options before the command; click carries them as ``ctx.obj``."""

    verbosity: int = 0

    def level(self, *steps: str) -> str:
        """The log level: the first of ``steps``, one further for each ``-v``."""
        return steps[min(self.verbosity, len(steps) - 1)]


def settings_of(ctx: click.Context) -> Settings:
    """The settings of this call; the defaults when a command is called by itself."""
    return ctx.obj if isinstance(ctx.obj, Settings) else Settings()


def cluster_options(command: F) -> F:
    """Add ``--kubeconfig`` and ``--context``: where the cluster is."""
    command = click.option(
        "--context", metavar="NAME", help="The kubeconfig's context (default: its current one)."
    )(command)
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The kubeconfig file (default: as kubectl finds it, or in-cluster).",
    )(command)
