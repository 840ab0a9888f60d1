"""`konstat wait`: the options, the watching, and the exit status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.base.waiting import wait_at_most
from konstat.cache import Informers
from konstat.cli.rules import rules_option
from konstat.cli.settings import cluster_options, name_problem, namespace_option, settings_of
from konstat.cli.status.live import World
from konstat.cli.status.plan import Plan, plan_for
from konstat.cli.status.tree import build
from konstat.cli.wait.goal import GONE, Goal, parse_goal
from konstat.cli.wait.looking import Look, Target, Watcher
from konstat.cli.wait.screen import Line, listed, open_line
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.client.discovery import Discovery
from konstat.objects.duration import duration_seconds

EXIT_DOOMED: Final = 1
EXIT_TIMEOUT: Final = 2


def _duration(ctx: click.Context, param: click.Parameter, value: str) -> float:
    try:
        return duration_seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _goal(ctx: click.Context, param: click.Parameter, value: str) -> Goal:
    try:
        return parse_goal(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="KIND[/NAME]...")
@click.option(
    "--for",
    "goal",
    default="ready",
    show_default=True,
    callback=_goal,
    metavar="WHAT",
    help="ready, suspended, gone, condition=TYPE or condition=TYPE=VALUE.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    default="5m",
    show_default=True,
    callback=_duration,
    metavar="DURATION",
    help="How long to wait, as 90s or 1h30m; 0 looks once, below 0 is a week.",
)
@click.option(
    "--patience",
    "patience_seconds",
    default="30s",
    show_default=True,
    callback=_duration,
    metavar="DURATION",
    help="How long a failure that others may mend is borne before giving up.",
)
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@rules_option
@cluster_options
@click.pass_context
def wait(
    ctx: click.Context,
    targets: tuple[str, ...],
    goal: Goal,
    timeout_seconds: float,
    patience_seconds: float,
    namespace: str | None,
    all_namespaces: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Wait until all objects are as wanted, and give up early when they cannot be.

    KIND is a plural, singular or short name, with .group if need be; KIND without NAME means
    every object of the kind. What counts is the present generation: an old Ready is no Ready.
    A line tells what is waited for. A NAME that does not exist yet is waited for too; with
    --for=gone the objects that are there at the start are.

    Exits with 0 when it has come about, 1 when it cannot (a failure is final, or has lasted
    longer than --patience), 2 when time has run out, and 3 after an error.

    \b
    Example:
        konstat wait deploy/web job/migrate --timeout=10m -n demo
        konstat wait pods --for=condition=PodScheduled
        konstat wait webapps --for=gone
    """
    logging.basicConfig(level=settings_of(ctx).level("ERROR", "INFO", "DEBUG"))
    if all_namespaces and namespace:
        raise click.UsageError("-n and -A exclude each other: give one of them")
    for target in targets:
        if problem := name_problem(target.partition("/")[2]):
            raise click.BadParameter(problem, param_hint="KIND/NAME")
    if timeout_seconds < 0:
        timeout_seconds = limits.WAIT_FOREVER_SECONDS
    config = load_config(kubeconfig=kubeconfig, context=context)
    place = None if all_namespaces else namespace or config.namespace
    with open_line() as line:
        waiting = _Waiting(
            goal,
            place=place,
            line=line,
            timeout_seconds=timeout_seconds,
            patience_seconds=patience_seconds,
        )
        look = asyncio.run(waiting.run(config, targets))
    for text in listed(look.reached):
        click.echo(text)
    for text in listed(look.doomed):
        click.echo(text, err=True)
    if look.decided:
        ctx.exit(EXIT_DOOMED if look.doomed else 0)
    click.echo(f"not {goal.text} within {timeout_seconds:g}s:", err=True)
    for text in listed(look.pending or ("the objects could not be read",)):
        click.echo(f"  {text}", err=True)
    ctx.exit(EXIT_TIMEOUT)


class _Waiting:
    def __init__(
        self,
        goal: Goal,
        *,
        place: str | None,
        line: Line,
        timeout_seconds: float,
        patience_seconds: float,
    ) -> None:
        self._goal = goal
        self._place = place
        self._line = line
        self._timeout_seconds = timeout_seconds
        self._patience_seconds = patience_seconds
        self._began = clock.monotonic()
        self._last = Look()

    async def run(self, config: ClusterConfig, words: Sequence[str]) -> Look:
        """The look that decided, or the last one when time has run out."""
        async with Client.connect(config) as client:
            discovery = Discovery(client)
            targets = [await _target(discovery, word) for word in words]
            kinds = tuple(dict.fromkeys(target.kind for target in targets))
            plan = await plan_for(kinds, discovery, namespace=self._place, causes=True)
            if self._goal.what == GONE:
                plan = msgspec.structs.replace(plan, children=(), looked_up=frozenset())
            bound = self._timeout_seconds or limits.WAIT_READ_SECONDS
            async with open_tasks() as tasks:
                work = tasks.start(self._watch(client, plan, targets), name="watch")
                time = tasks.start(clock.sleep(bound), name="wait for the timeout")
                await asyncio.wait({work, time}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    await work
        return self._last

    async def _watch(self, client: Client, plan: Plan, targets: Sequence[Target]) -> None:
        place = f"in namespace {self._place}" if self._place else ""
        watcher = Watcher(targets, self._goal, place=place, patience_seconds=self._patience_seconds)
        async with open_tasks() as tasks:
            world = World(client, plan, Informers(client, tasks))
            tasks.start(world.reread(), name="list kinds that are not watched")
            self._show()
            await world.wait_read()
            while True:
                world.require()
                world.changed.clear()
                trees = build(world.gathered(), now=clock.now())
                look = watcher.look(trees, monotonic=clock.monotonic())
                self._last = look.without_news(world.problem) if world.problem else look
                if self._last.decided or not self._timeout_seconds:
                    return
                self._show()
                await self._wait(world)

    async def _wait(self, world: World) -> None:
        again = limits.TREE_AGES_SECONDS
        if self._last.again_seconds is not None:
            again = min(again, self._last.again_seconds)
        await wait_at_most(world.changed, timeout_seconds=max(again, limits.WAIT_LOOK_SECONDS))
        # Changes come in bursts: one look for all of a burst.
        await clock.sleep(limits.WAIT_LOOK_SECONDS)

    def _show(self) -> None:
        self._line.show(self._last.pending, waited_seconds=clock.monotonic() - self._began)


async def _target(discovery: Discovery, word: str) -> Target:
    kind, slash, name = word.partition("/")
    if not kind or (slash and not name):
        raise click.UsageError(f"{word!r} is neither KIND nor KIND/NAME")
    return Target(kind=await discovery.find(kind), name=name)
