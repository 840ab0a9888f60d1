"""`konstat status`: the options, and the way from them to a drawing."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import click

from konstat.cli.rules import rules_option
from konstat.cli.settings import cluster_options, name_problem, namespace_option, settings_of
from konstat.cli.status.gather import gather
from konstat.cli.status.live import follow
from konstat.cli.status.plan import Plan, make_plan
from konstat.cli.status.screen import open_screen
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.client.discovery import Discovery


@click.command()
@click.argument("kind", required=False, default="")
@click.argument("name", required=False, default="")
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A drawing, or one JSON document.",
)
@click.option("-w", "--watch", is_flag=True, help="Go on, and show every change (Ctrl-C ends it).")
@rules_option
@cluster_options
@click.pass_context
def status(
    ctx: click.Context,
    kind: str,
    name: str,
    namespace: str | None,
    all_namespaces: bool,
    output: str,
    watch: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Show resources, their conditions and children, and what is wrong with them.

    KIND is a plural, singular or short name, with .group if need be, or KIND/NAME. Without KIND
    every kind that konstat manages is shown. TURN says who has to act next: the user, the
    operator's owner, or nobody.

    Exits with 1 when NAME does not exist, and with 0 whatever the state of what is shown.

    \b
    Example:
        konstat status webapps shop -n demo
        konstat status -A --watch
        konstat status deploy -o json | jq '.resources[] | {name, state, reason}'
    """
    logging.basicConfig(level=settings_of(ctx).level("ERROR", "INFO", "DEBUG"))
    if "/" in kind and not name:
        kind, _, name = kind.partition("/")
    if problem := name_problem(name):
        raise click.BadParameter(problem, param_hint="NAME")
    if all_namespaces and namespace:
        raise click.UsageError("-n and -A exclude each other: give one of them")
    config = load_config(kubeconfig=kubeconfig, context=context)
    place = None if all_namespaces else namespace or config.namespace
    asyncio.run(
        _show(config, kind=kind, name=name, place=place, json=output == "json", watch=watch)
    )


async def _show(
    config: ClusterConfig, *, kind: str, name: str, place: str | None, json: bool, watch: bool
) -> None:
    async with Client.connect(config) as client:
        plan = await make_plan(client, Discovery(client), word=kind, name=name, namespace=place)
        gathered = await gather(client, plan)
        with open_screen(
            json=json,
            watch=watch,
            server=config.server,
            namespaces=place is None,
            empty=_nothing(plan),
        ) as screen:
            screen.show(gathered)
            if watch:
                await follow(client, plan, screen.show)


def _nothing(plan: Plan) -> str:
    kinds = ", ".join(kind.resource for kind in plan.resources)
    place = f"in namespace {plan.namespace}" if plan.namespace else "in any namespace"
    return f"there are no {kinds} {place}"
