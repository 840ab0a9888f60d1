"""`konstat explain`: the options, where objects come from, and the exit status."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console

from konstat.base import clock
from konstat.cli.explain.manifests import STANDARD_INPUT, gathered_from, read_manifests
from konstat.cli.explain.render import render
from konstat.cli.explain.story import FORMAT, Document, Explanation, explain_tree, missing, worst
from konstat.cli.rules import rules_option
from konstat.cli.settings import cluster_options, name_problem, namespace_option, settings_of
from konstat.cli.status.gather import gather
from konstat.cli.status.plan import make_plan
from konstat.cli.status.screen import symbols_for
from konstat.cli.status.tree import Gathered, build
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.client.discovery import Discovery
from konstat.errors import NotFound, UserError
from konstat.readiness import State

EXIT_NOT_READY: Final = 1
EXIT_UNKNOWN: Final = 2


@click.command()
@click.argument("kind", required=False, default="")
@click.argument("name", required=False, default="")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Judge objects of this file or folder instead of the cluster's (- is standard input).",
)
@namespace_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines to read, or one JSON document.",
)
@rules_option
@cluster_options
@click.pass_context
def explain(
    ctx: click.Context,
    kind: str,
    name: str,
    files: tuple[str, ...],
    namespace: str | None,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Say whether an object is done; if not, why, whose turn it is, and where to look.

    KIND is a plural, singular or short name, with .group if need be, or KIND/NAME. Without NAME
    every object of the kind is judged. With -f, or - in place of KIND, objects come from files:
    those that no other one owns are judged, the others help to find causes.

    Exits with 0 when all are Ready, 1 when one is not, 2 when nothing decides, and 3 after an
    error. Suspended is not Ready.

    \b
    Example:
        konstat explain deploy web -n demo
        kubectl get deploy,rs,pods,events -o json | konstat explain -
        konstat explain -f dump/ -o json | jq '.objects[] | {name, state, reason}'
    """
    logging.basicConfig(level=settings_of(ctx).level("ERROR", "INFO", "DEBUG"))
    if STANDARD_INPUT in (kind, name):
        kind, name = (name, "") if kind == STANDARD_INPUT else (kind, "")
        files = (*files, STANDARD_INPUT)
    if "/" in kind and not name:
        kind, _, name = kind.partition("/")
    if problem := name_problem(name):
        raise click.BadParameter(problem, param_hint="NAME")
    if files:
        if namespace or kubeconfig or context:
            raise click.UsageError(
                "-n, --kubeconfig and --context are about a cluster: leave them out with -f"
            )
        gathered, absent = _from_files(files, word=kind, name=name)
        source = ", ".join("standard input" if f == STANDARD_INPUT else f for f in files)
    elif kind:
        config = load_config(kubeconfig=kubeconfig, context=context)
        place = namespace or config.namespace
        gathered, absent = asyncio.run(_from_server(config, kind=kind, name=name, place=place))
        source = config.server
    else:
        raise click.UsageError("say what to explain: KIND NAME, -f FILE, or - for standard input")
    told = (*(explain_tree(tree) for tree in build(gathered, now=clock.now())), *absent)
    if not told:
        click.echo("there is nothing to explain", err=True)
    _show(told, gathered, source=source, json=output == "json")
    ctx.exit(_exit_status(told))


def _from_files(
    files: Sequence[str], *, word: str, name: str
) -> tuple[Gathered, tuple[Explanation, ...]]:
    contents = read_manifests(files)
    if not contents:
        raise UserError(f"there is no object in {', '.join(files)}")
    gathered = gathered_from(contents, word=word, name=name)
    if word and not gathered.resources:
        what = f"{word} called {name!r}" if name else word
        raise UserError(f"none of the {len(contents)} objects is a {what}")
    return gathered, ()


async def _from_server(
    config: ClusterConfig, *, kind: str, name: str, place: str
) -> tuple[Gathered, tuple[Explanation, ...]]:
    """What was gathered, and the explanation of a NAME that is not there."""
    async with Client.connect(config) as client:
        plan = await make_plan(
            client, Discovery(client), word=kind, name=name, namespace=place, causes=True
        )
        try:
            return await gather(client, plan), ()
        except NotFound:
            if not name:
                raise
            found = plan.resources[0]
            gone = missing(
                api_version=found.api_version,
                kind=found.kind,
                namespace=place if found.namespaced else "",
                name=name,
            )
            return Gathered(), (gone,)


def _exit_status(told: Sequence[Explanation]) -> int:
    state = worst(told)
    if state is State.READY:
        return 0
    return EXIT_UNKNOWN if state is State.UNKNOWN else EXIT_NOT_READY


class _Console(Console):
    """One whose end of a pipe is an error as any other; rich would exit with a verdict's status."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _show(told: Sequence[Explanation], gathered: Gathered, *, source: str, json: bool) -> None:
    unread = tuple(sorted(f"{kind.resource} ({why})" for kind, why in gathered.unread.items()))
    if json:
        document = Document(
            format=FORMAT,
            time=clock.timestamp(clock.now()),
            source=source,
            objects=tuple(told),
            unread=unread,
        )
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    console = _Console(highlight=False, file=sys.stdout)
    width = console.width if console.is_terminal else None
    for number, one in enumerate(told):
        if number:
            console.print()
        for line in render(one, symbols=symbols_for(console), width=width):
            console.print(line, soft_wrap=True)
    if unread:
        click.echo(f"not read: {', '.join(unread)}", err=True)
