"""`konstat nodes`: play nodes for a control plane that has none, in the foreground.

The work is done by `konstat.nodes`; here are the options, the check that the cluster has no real
nodes, and what is printed.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.cli.process_options import ProcessSettings, about, process_options
from konstat.cli.settings import cluster_options, settings_of
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.controller.run import configure_logging
from konstat.errors import UserError
from konstat.kinds import Node
from konstat.nodes import NodeActor, NodeOptions, ProcessRuntime
from konstat.nodes.node import ACTOR_LABEL
from konstat.nodes.script import CRASH, EXIT, UNREADY
from konstat.objects.names import subdomain_problem
from konstat.objects.quantity import Quantity

_NAMES_SHOWN = 3


@click.command("nodes")
@click.option("--nodes", "count", default=1, show_default=True, help="How many nodes to play.")
@cluster_options
@click.option("--cpu", default="16", show_default=True, help="What each node has.")
@click.option("--memory", default="64Gi", show_default=True, help="What each node has.")
@click.option(
    "--pods", default=limits.PODS_PER_NODE, show_default=True, help="What each node takes."
)
@click.option(
    "--name-prefix", default="konstat-node", show_default=True, help="Names are PREFIX-0 and so on."
)
@click.option(
    "--beside-real-nodes", is_flag=True, help="Run although the cluster has nodes of its own."
)
@click.option("--keep", is_flag=True, help="Leave the nodes behind at the end.")
@process_options
@click.pass_context
def nodes(
    ctx: click.Context,
    count: int,
    kubeconfig: Path | None,
    context: str | None,
    cpu: str,
    memory: str,
    pods: int,
    name_prefix: str,
    beside_real_nodes: bool,
    keep: bool,
    **processes: Any,
) -> None:
    """Play nodes and kubelets until Ctrl-C or SIGTERM.

    Containers are pretended: they become ready at once and run until their pod goes. Images of
    registries under .invalid fail to pull. Annotations of a pod (of a template) make containers
    misbehave: nodes.konstat.dev/crash: main=137:OOMKilled, nodes.konstat.dev/exit: main=0,
    nodes.konstat.dev/unready: main.

    With --process containers of an image really run, as processes of this machine: with probes,
    exit codes, environment, volumes and logs. In the command $(podIP), $(port:NAME), $(mount:NAME)
    and $(VARIABLE) are replaced, $(args) by the container's own arguments. Map images only for
    clusters that you trust: their pods choose the environment of the process.

    \b
    Example:
        konstat rig up --kubeconfig rig.kubeconfig
        konstat nodes --kubeconfig rig.kubeconfig --nodes 3
        konstat nodes --kubeconfig rig.kubeconfig --logs \\
            --process 'example.com/web=python3 -m http.server --bind $(podIP) 8080'
    """
    configure_logging(settings_of(ctx).level("WARNING", "INFO", "DEBUG"))
    for option, quantity in (("--cpu", cpu), ("--memory", memory)):
        _check_quantity(option, quantity)
    if problem := subdomain_problem(f"{name_prefix}-{count}"):
        raise UserError(f"--name-prefix {name_prefix}: no node can be called so: {problem}")
    options = NodeOptions(
        nodes=count,
        name_prefix=name_prefix,
        cpu=cpu,
        memory=memory,
        pods=pods,
        remove_nodes_on_exit=not keep,
    )
    runtime = ProcessSettings(**processes).runtime()
    config = load_config(kubeconfig=kubeconfig, context=context)
    asyncio.run(_play(config, options, runtime, beside_real_nodes=beside_real_nodes))


def _check_quantity(option: str, text: str) -> None:
    try:
        given = Quantity(text)
    except ValueError as error:
        raise UserError(f"{option} {text}: {error}") from error
    if given <= Quantity("0"):
        raise UserError(f"{option} {text}: a node has more than that: give it a positive amount")


async def _play(
    config: ClusterConfig,
    options: NodeOptions,
    runtime: ProcessRuntime | None,
    *,
    beside_real_nodes: bool,
) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    # The suppressed cancellation is a signal that asks us to end: no failure.
    with suppress(asyncio.CancelledError):
        async with Client.connect(config, field_manager="konstat-nodes") as client:
            if not beside_real_nodes:
                await _refuse_real_nodes(client, config)
            actor = NodeActor(client, options, runtime=runtime)
            async with open_tasks() as tasks:
                tasks.start(_tell(actor, config, runtime), name="what is printed")
                await actor.run()


async def _refuse_real_nodes(client: Client, config: ClusterConfig) -> None:
    """Pods of a real cluster must not land on nodes where nothing runs."""
    real = [
        node.name
        for node in await client.list(Node)
        if (node.metadata.labels or {}).get(ACTOR_LABEL) != "true"
    ]
    if not real:
        return
    names = ", ".join(real[:_NAMES_SHOWN]) + (", …" if len(real) > _NAMES_SHOWN else "")
    raise UserError(
        f"{config.server} has {len(real)} real node{'s' * (len(real) > 1)} ({names}), and pods on"
        " pretended nodes do not run: use another cluster, or give --beside-real-nodes"
    )


async def _tell(actor: NodeActor, config: ClusterConfig, runtime: ProcessRuntime | None) -> None:
    await actor.wait_registered()
    names = actor.node_names
    shown = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    options = actor.options
    click.echo(f"server  {config.server}")
    click.echo(f"nodes   {shown} (each {options.cpu} CPUs, {options.memory}, {options.pods} pods)")
    click.echo(f"script  annotate pods with {CRASH}, {EXIT}, {UNREADY}")
    if runtime is not None:
        for line in about(runtime):
            click.echo(line)
    what = "removes the nodes" if options.remove_nodes_on_exit else "leaves the nodes behind"
    click.echo(f"Ctrl-C stops it and {what}")
