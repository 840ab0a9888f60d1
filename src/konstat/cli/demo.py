"""`konstat demo`: the life of a WebApp and its operator, from creation to deletion, to watch.

The story; `konstat.cli.demo_stage` has the means to play it. It needs no key press and ends by
itself, with 0 when every step came out as told.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import click
import yaml

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.cli.demo_stage import (
    NAME,
    NAMESPACE,
    WEB_APP,
    Plane,
    Stage,
    example,
    is_ready,
    says,
)
from konstat.cli.settings import settings_of
from konstat.cli.status.outline import age, printable
from konstat.controller.run import configure_logging
from konstat.errors import NotFound
from konstat.kinds import Deployment, Event, Node, Pod
from konstat.nodes import NodeActor, NodeOptions
from konstat.testing import control_plane, embedded_api

_NODES: Final = 2
_PAUSE_SECONDS: Final = 2.0
_EXIT_TERMINATED: Final = 128 + signal.SIGTERM  # as shells have it


@click.command()
@click.option(
    "--rig",
    is_flag=True,
    help="Play it on a real control plane, which `konstat rig build` has built.",
)
@click.option(
    "--pause",
    "pause_seconds",
    type=click.FloatRange(0, 60),
    metavar="SECONDS",
    help=f"Time to read after each step (default: {_PAUSE_SECONDS:g} in a terminal, else 0).",
)
@click.pass_context
def demo(ctx: click.Context, rig: bool, pause_seconds: float | None) -> None:
    """Watch the life of a web application and its operator, in less than a minute.

    An embedded Kubernetes API, nodes and an operator are started, and a WebApp goes through
    creation, mistakes, repair, loss and deletion, with what `konstat status` says of it. Nothing is
    left behind.

    \b
    Example:
        konstat demo
        konstat demo --pause 5
    """
    configure_logging(settings_of(ctx).level("ERROR", "INFO", "DEBUG"))
    if pause_seconds is None:
        pause_seconds = _PAUSE_SECONDS if sys.stdout.isatty() else 0.0
    try:
        asyncio.run(_play(rig=rig, pause_seconds=pause_seconds))
    except asyncio.CancelledError:
        ctx.exit(_EXIT_TERMINATED)


async def _play(*, rig: bool, pause_seconds: float) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    async with _plane(rig=rig) as plane, plane.client() as client:
        click.echo(f"A Kubernetes API is at {plane.server}, kubeconfig {plane.kubeconfig}.")
        click.echo("Lines with $ are what you would type; the demo does it through the API.")
        stage = Stage(plane, client, pause_seconds=pause_seconds)
        try:
            for part in (_create, _mistakes, _losses, _absence, _end):
                await part(stage)
        finally:
            await stage.stop_operator()


@asynccontextmanager
async def _plane(*, rig: bool) -> AsyncIterator[Plane]:
    if not rig:
        async with embedded_api(nodes=_NODES) as plane:
            yield plane
        return
    click.echo("Starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler …")
    async with control_plane() as plane, plane.client() as client, open_tasks() as tasks:
        options = NodeOptions(nodes=_NODES, remove_nodes_on_exit=False)
        tasks.start(NodeActor(client, options).run(), name="nodes")
        yield plane


async def _create(stage: Stage) -> None:
    await stage.say("The operator installs its CRD and waits for WebApps.")
    await stage.start_operator()
    await stage.say("A WebApp is created. It is reconciling until its pods run, then Ready.")
    stage.command("kubectl apply --server-side -f shop.yaml")
    shop = yaml.safe_load(example("shop.yaml").read_bytes())
    await stage.client.apply(WEB_APP, shop, namespace=NAMESPACE, field_manager="kubectl")
    await stage.until("Ready", is_ready)


async def _mistakes(stage: Stage) -> None:
    await stage.say("A spec that cannot work stalls, and says whose turn it is.")
    await stage.patch({"image": "nginx"}, shown='{"spec": {"image": "nginx"}}')
    await stage.until("Stalled", lambda c: says(c, "Stalled", "True", "ImageUntagged"))
    await stage.say("An image that cannot be pulled: not ready, with the cause from the pods.")
    image = "registry.invalid/shop:1.0"
    await stage.patch({"image": image}, shown=f'{{"spec": {{"image": "{image}"}}}}')
    await stage.until("ImagePullFailed", lambda c: says(c, "Stalled", "True", "ImagePullFailed"))
    await stage.say("Repaired.")
    await stage.patch({"image": "nginx:1.28"}, shown='{"spec": {"image": "nginx:1.28"}}')
    await stage.until("Ready", is_ready)


async def _losses(stage: Stage) -> None:
    await stage.say("A pod is lost and no node takes another: not ready, as the scheduler says.")
    await _cordon(stage, "cordon", unschedulable=True)
    victim = (await stage.client.list(Pod, namespace=NAMESPACE))[0]
    stage.command(f"kubectl delete pod {victim.name} --grace-period=0 --force")
    await stage.client.delete(Pod, victim.name, namespace=NAMESPACE, grace_period_seconds=0)
    await stage.until("Unschedulable", lambda c: says(c, "Ready", "False", "Unschedulable"))
    await stage.say("The nodes take pods again.")
    await _cordon(stage, "uncordon", unschedulable=None)
    await stage.until("Ready again", is_ready)
    await stage.say("The Deployment is scaled by hand: put back, and an Event names the writer.")
    stage.command(f"kubectl scale deployment {NAME} --replicas=1")
    await stage.client.patch(
        Deployment,
        NAME,
        {"spec": {"replicas": 1}},
        type="merge",
        namespace=NAMESPACE,
        subresource="scale",
        field_manager="kubectl",
    )

    async def put_back() -> bool:
        deployment = await stage.client.get(Deployment, NAME, namespace=NAMESPACE)
        status = deployment.status
        complete = (status.observed_generation, status.available_replicas) == (
            deployment.metadata.generation,
            3,
        )
        told = any(event.reason == "Corrected" for event in await _events(stage))
        return deployment.spec.replicas == 3 and complete and told

    await stage.wait("the Deployment is put back", put_back)
    await _show_events(stage)
    await stage.until("Ready", is_ready)


async def _cordon(stage: Stage, word: str, *, unschedulable: bool | None) -> None:
    names = [node.name for node in await stage.client.list(Node)]
    stage.command(f"kubectl {word} {' '.join(names)}")
    for name in names:
        patch = {"spec": {"unschedulable": unschedulable}}
        await stage.client.patch(Node, name, patch, type="merge", field_manager="kubectl-cordon")


async def _events(stage: Stage) -> list[Event]:
    found = await stage.client.list(Event, namespace=NAMESPACE)
    return [e for e in found if e.regarding.kind == WEB_APP.kind and e.regarding.name == NAME]


async def _show_events(stage: Stage) -> None:
    stage.command(f"kubectl events --for webapp/{NAME}")
    now = clock.now()
    rows = [("LAST SEEN", "TYPE", "REASON", "MESSAGE")]
    for event in sorted(await _events(stage), key=_last_seen):
        seen = _last_seen(event)
        rows.append((age(seen, now=now), event.type, event.reason, printable(event.note)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip())


def _last_seen(event: Event) -> str:
    return event.series.last_observed_time or event.event_time


async def _absence(stage: Stage) -> None:
    await stage.say("The operator is down when the spec changes: the status says that it is old.")
    stage.command("kill %1")
    await stage.stop_operator()
    await stage.patch({"replicas": 5}, shown='{"spec": {"replicas": 5}}')
    await stage.show()
    await stage.say("It comes back, and catches up.")
    await stage.start_operator()
    await stage.until("Ready with five", is_ready)


async def _end(stage: Stage) -> None:
    await stage.say("Deleted, children first.")
    stage.command(f"kubectl delete webapp {NAME} --cascade=foreground")
    await stage.client.delete(WEB_APP, NAME, namespace=NAMESPACE, propagation="Foreground")
    await stage.until("gone", lambda content: not content)

    async def all_gone() -> bool:
        try:
            await stage.client.get(Deployment, NAME, namespace=NAMESPACE)
        except NotFound:
            return not await stage.client.list(Pod, namespace=NAMESPACE)
        return False

    await stage.wait("its children are gone", all_gone)
    click.echo(f"No WebApp, Deployment or Pod of {NAME} is left.")
    await stage.stop_operator()
    await stage.say("Done: every step came out as told.")
