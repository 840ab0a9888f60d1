"""`konstat serve`: the embedded Kubernetes API in the foreground, with all that acts on it.

`konstat.testing.embedded_plane` does the work; here are the options, the signals and what is
printed. `konstat dev` runs an operator on the same.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from konstat.base import limits
from konstat.cli.kubeconfig_file import copied, refuse_foreign
from konstat.cli.process_options import ProcessSettings, about, process_options
from konstat.cli.settings import FilePath, settings_of
from konstat.controller.run import configure_logging
from konstat.errors import UserError
from konstat.nodes import ProcessRuntime
from konstat.testing.embedded_plane import CLUSTER, EmbeddedApi, embedded_api
from konstat.testing.rig_module import KUBECTL

F = TypeVar("F", bound=Callable[..., Any])

_PORTS: Final = 65535


class Served(NamedTuple):
    """What is to be served, from the options of the command line; ``nodes`` 0 means none."""

    port: int
    kubeconfig: Path | None
    nodes: int
    runtime: ProcessRuntime | None

    @classmethod
    def of(
        cls, *, port: int, kubeconfig: Path | None, nodes: int, no_nodes: bool, **processes: Any
    ) -> Served:
        """From the options of `serving_options`; raises UserError for one that cannot be."""
        runtime = ProcessSettings(**processes).runtime()
        if runtime is not None and no_nodes:
            raise UserError("processes run on nodes: leave --no-nodes out, or the processes")
        if kubeconfig is not None:
            refuse_foreign(kubeconfig, cluster=CLUSTER)
        return cls(port, kubeconfig, 0 if no_nodes else nodes, runtime)


def serving_options(command: F) -> F:
    """Add the options for `Served.of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    click.option(
        "--port",
        type=click.IntRange(0, _PORTS),
        default=0,
        help="The port on 127.0.0.1 (default: one that is free).",
    ),
    click.option(
        "--kubeconfig",
        type=FilePath(dir_okay=False),
        metavar="FILE",
        help="Write the kubeconfig to this file; it is removed at the end.",
    ),
    click.option(
        "--nodes",
        type=click.IntRange(1, limits.NODES),
        default=2,
        show_default=True,
        help="How many nodes to play.",
    ),
    click.option("--no-nodes", is_flag=True, help="Play no nodes: pods stay pending."),
    process_options,
)


@click.command()
@serving_options
@click.pass_context
def serve(ctx: click.Context, **options: Any) -> None:
    """Serve an embedded Kubernetes API until Ctrl-C or SIGTERM.

    It starts at once and needs nothing but Python. kubectl and every other client can use it:
    plain HTTP on 127.0.0.1, without a password, so whoever is on this machine may do everything.
    Controllers, the scheduler and nodes are played; containers are pretended and never run, but for
    those that --process makes a process of this machine (see `konstat nodes`).
    All objects are in memory and go with it.

    \b
    Example:
        konstat serve --kubeconfig dev.kubeconfig
        kubectl --kubeconfig dev.kubeconfig create deployment web --image=nginx
    """
    start_logging(ctx)
    asyncio.run(_serve(Served.of(**options)))


async def _serve(wanted: Served) -> None:
    with ended_by_signals():
        async with served(wanted) as (api, kubeconfig):
            tell(api, kubeconfig, wanted.runtime)
            click.echo(f"first try   {KUBECTL} --kubeconfig {kubeconfig} get nodes")
            click.echo("Ctrl-C stops it, and nothing is kept")
            await asyncio.Event().wait()  # until cancelled, or a part fails


def start_logging(ctx: click.Context) -> None:
    """Log warnings, or what ``-v`` asks for.

    Warnings of the server to our own actors are nobody's business: it finds the Endpoints
    deprecated, which a controller-manager writes all the same.
    """
    settings = settings_of(ctx)
    configure_logging(settings.level("WARNING", "INFO", "DEBUG"))
    logger = logging.getLogger("konstat.client")
    logger.setLevel(settings.level("ERROR", "INFO", "DEBUG"))
    ctx.call_on_close(lambda: logger.setLevel(logging.NOTSET))


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the block without a failure on SIGINT and SIGTERM, by cancelling the current task."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        yield


@asynccontextmanager
async def served(wanted: Served) -> AsyncIterator[tuple[EmbeddedApi, Path]]:
    """Serve for the length of a block; with it comes the kubeconfig file to be named to users."""
    async with embedded_api(port=wanted.port, nodes=wanted.nodes, runtime=wanted.runtime) as api:
        with copied(api.kubeconfig, wanted.kubeconfig) as kubeconfig:
            yield api, kubeconfig


def tell(api: EmbeddedApi, kubeconfig: Path, runtime: ProcessRuntime | None) -> None:
    """Print where the API is, and what there is to know of processes."""
    click.echo(f"server      {api.server}")
    click.echo(f"kubeconfig  {kubeconfig}")
    if runtime is not None:
        for line in about(runtime):
            click.echo(f"{line[:8]}    {line[8:]}")
