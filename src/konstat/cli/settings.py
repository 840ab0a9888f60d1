"""What the options of `konstat` itself say, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from konstat.objects.names import label_problem

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


class FilePath(click.Path):
    """A path, and not nothing: that of an unset variable of a shell would be the current folder."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty: name a file, or leave the option out", param, ctx)
        try:
            return super().convert(value, param, ctx)
        except ValueError as error:
            self.fail(f"{value!r} is not the name of a file: {error}", param, ctx)


def name_problem(text: str) -> str:
    """What keeps ``text`` from naming an object of any kind, or ``""``: names stand in URLs."""
    if text in (".", "..") or any(c in "/%" or not c.isprintable() for c in text):
        return (
            f"{text!r} is not the name of an object: expected a name other than . and .. without"
            " /, % and control characters"
        )
    return ""


def checked_namespace(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Refuse what cannot be the name of a namespace; for click's ``callback``."""
    if text is None:
        return None
    if not text:
        raise click.BadParameter("it is empty: name a namespace, or leave the option out")
    if problem := label_problem(text):
        raise click.BadParameter(problem)
    return text


def checked_namespaces(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """The same for an option that can be repeated."""
    for text in texts:
        checked_namespace(ctx, param, text)
    return texts


def namespace_option(command: F) -> F:
    """Add ``-n``/``--namespace``: one namespace to look in."""
    return click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        callback=checked_namespace,
        help="Default: that of the kubeconfig context.",
    )(command)


def cluster_options(command: F) -> F:
    """Add ``--kubeconfig`` and ``--context``: where the cluster is."""
    command = click.option(
        "--context",
        metavar="NAME",
        callback=_given,
        help="The kubeconfig's context (default: its current one).",
    )(command)
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        type=FilePath(),
        help="The kubeconfig file (default: as kubectl finds it, or in-cluster).",
    )(command)


def _given(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text == "":
        raise click.BadParameter("it is empty: name a context, or leave the option out")
    return text
