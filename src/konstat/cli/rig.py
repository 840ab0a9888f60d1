"""`konstat rig`: build a control plane's programs, find them, run them in the foreground.

The work is done in `konstat.testing`; here are the commands and what they print. `konstat.cli.main`
adds the group `rig` and prints the errors.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from konstat.base import clock
from konstat.cli.kubeconfig_file import copied, refuse_foreign
from konstat.cli.settings import FilePath
from konstat.errors import UserError
from konstat.testing.rig_access import CLUSTER
from konstat.testing.rig_binaries import ASSETS_VARIABLE, find_binaries
from konstat.testing.rig_build import build
from konstat.testing.rig_commands import Options
from konstat.testing.rig_module import KUBECTL
from konstat.testing.rig_plane import ControlPlane

_CHECK_SECONDS = 1.0


@click.group()
def rig() -> None:
    """A real Kubernetes control plane on this machine, for tests and trials.

    \b
    Example:
      konstat rig build
      konstat rig up --kubeconfig rig.kubeconfig
    """


@rig.command("build")
def build_command() -> None:
    """Build etcd, the Kubernetes control plane and kubectl from source, once.

    Needs Go and takes some minutes the first time; a build that was cut off goes on where it was.
    Nothing is built where KUBEBUILDER_ASSETS names the programs.

    \b
    Example:
        konstat rig build
    """
    if os.environ.get(ASSETS_VARIABLE):
        given = find_binaries()
        click.echo(f"nothing to build: {given.source} names {given.folder}; unset it to build")
        return
    asyncio.run(build(report=click.echo))


@rig.command("path")
def path_command() -> None:
    """Print the folder of the programs; fails when there are none.

    \b
    Example:
        export KUBEBUILDER_ASSETS=$(konstat rig path)
    """
    click.echo(find_binaries().folder)


@rig.command("up")
@click.option(
    "--kubeconfig",
    type=FilePath(dir_okay=False),
    help="Write the kubeconfig to this file too; it is removed at the end.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep data and logs in this folder, and go on with what is there.",
)
@click.option("--no-controller-manager", is_flag=True, help="Leave kube-controller-manager out.")
@click.option("--no-scheduler", is_flag=True, help="Leave kube-scheduler out.")
@click.option("--audit", is_flag=True, help="Have every request logged in the data folder.")
@click.option(
    "--apiserver-flag", "apiserver_flags", multiple=True, help="Add a flag to kube-apiserver."
)
def up_command(
    kubeconfig: Path | None,
    data: Path | None,
    no_controller_manager: bool,
    no_scheduler: bool,
    audit: bool,
    apiserver_flags: tuple[str, ...],
) -> None:
    """Run a control plane until Ctrl-C or SIGTERM.

    \b
    Example:
        konstat rig up --kubeconfig rig.kubeconfig
        kubectl --kubeconfig rig.kubeconfig get namespaces
    """
    if kubeconfig is not None:
        refuse_foreign(kubeconfig, cluster=CLUSTER)
    if data is not None:
        _make_folder(data)
    options = Options(
        controller_manager=not no_controller_manager,
        scheduler=not no_scheduler,
        audit=audit,
        apiserver_flags=apiserver_flags,
    )
    asyncio.run(_up(ControlPlane(options, data=data), kubeconfig))


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise UserError(f"--data {data}: {problem}; name another folder") from error


async def _up(plane: ControlPlane, kubeconfig: Path | None) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with ExitStack() as files, suppress(asyncio.CancelledError):
        # The suppressed cancellation is a signal that asks us to end: no failure.
        try:
            await plane.start()
            _tell(plane, files.enter_context(copied(plane.kubeconfig, kubeconfig)))
            while True:
                plane.check()
                await clock.sleep(_CHECK_SECONDS)
        finally:
            await plane.stop()


def _tell(plane: ControlPlane, kubeconfig: Path) -> None:
    program = plane.kubectl if plane.binaries.has(KUBECTL) else KUBECTL
    click.echo(f"server      {plane.server}")
    click.echo(f"kubeconfig  {kubeconfig}")
    click.echo(f"data        {plane.folder}")
    click.echo(f"first try   {program} --kubeconfig {kubeconfig} get namespaces")
    click.echo("Ctrl-C stops it")
