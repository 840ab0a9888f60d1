"""`konstat dev`: an embedded API, nodes, and an operator that is started anew when it changes.

The operator is `konstat run` in a process of its own, so a reload leaves nothing of the old code
behind, and what is wrong with the file is said by the same words. Before: `konstat.cli.serve` has
the API, `konstat.cli.dev_files` the files that are watched.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Never

import click

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.cli.dev_files import SourceFiles
from konstat.cli.serve import Served, ended_by_signals, served, serving_options, start_logging, tell
from konstat.cli.settings import settings_of
from konstat.cli.target import Target
from konstat.client.api import Client
from konstat.errors import KonstatError
from konstat.kinds import CustomResourceDefinition
from konstat.testing import rig_guard
from konstat.testing.rig_module import KUBECTL

_SHOWN_FILES: Final = 3


@click.command()
@click.argument("target")
@serving_options
@click.pass_context
def dev(ctx: click.Context, target: str, **options: Any) -> None:
    """Develop the operator TARGET against an embedded Kubernetes API, until Ctrl-C or SIGTERM.

    Serves an API as `konstat serve` does, installs the CRDs of TARGET and runs its controllers.
    When a Python file beside TARGET or in its package changes, the operator is stopped and started
    anew, its CRDs included; while the file cannot be loaded the error is shown and it stays
    stopped. Objects stay over reloads, and go when the command ends.

    TARGET is file.py or package.module, and :attribute if not all of its controllers are meant.

    \b
    Example:
        konstat dev webapp.py --kubeconfig dev.kubeconfig
        kubectl --kubeconfig dev.kubeconfig apply -f webapp.yaml
    """
    verbosity = settings_of(ctx).verbosity
    start_logging(ctx)
    files = SourceFiles(Target.parse(target).source)
    wanted = Served.of(**options)
    asyncio.run(_develop(target, files, wanted, verbosity=verbosity))


async def _develop(target: str, files: SourceFiles, wanted: Served, *, verbosity: int) -> None:
    with ended_by_signals():
        async with (
            served(wanted) as (api, kubeconfig),
            api.client() as client,
            open_tasks() as tasks,
        ):
            tell(api, kubeconfig, wanted.runtime)
            click.echo(f"watching    {files}")
            click.echo("Ctrl-C stops it, and nothing is kept")
            tasks.start(_tell_kinds(client, kubeconfig), name="what is printed of kinds")
            command = _run_command(target, api.kubeconfig, verbosity=verbosity)
            await _reload_forever(files, command)


def _run_command(target: str, kubeconfig: Path, *, verbosity: int) -> list[str]:
    options = ["-v"] * verbosity
    run = ["run", target, "--install-crds", "--kubeconfig", str(kubeconfig)]
    return [sys.executable, "-m", "konstat.cli.main", *options, *run]


async def _reload_forever(files: SourceFiles, command: Sequence[str]) -> Never:
    """Run the operator again and again, each time until a file changes."""
    while True:
        async with _operator(command):
            changed = await _wait_changed(files)
        shown = ", ".join(changed[:_SHOWN_FILES]) + (", …" if len(changed) > _SHOWN_FILES else "")
        click.echo(f"── {shown} changed: the operator is started anew")


async def _wait_changed(files: SourceFiles) -> list[str]:
    """The files that changed, once they have come to rest: editors write in several steps."""
    changed: set[str] = set()
    while True:
        await clock.sleep(limits.DEV_LOOK_SECONDS)
        now = files.changed()
        if changed and not now:
            return sorted(changed)
        changed.update(now)


@asynccontextmanager
async def _operator(command: Sequence[str]) -> AsyncIterator[None]:
    """An operator's process for the length of a block; it may end by itself before."""
    # The guard ends it when we are killed; in a session of its own Ctrl-C reaches us only, and
    # the API lives until the operator has ended.
    guard = [sys.executable, "-I", "-S", rig_guard.__file__]
    process = await asyncio.create_subprocess_exec(
        *guard, *command, stdin=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        async with open_tasks() as tasks:
            tasks.start(_tell_end(process), name="what is printed of the operator's end")
            yield
    finally:
        await _stop(process)


async def _tell_end(process: asyncio.subprocess.Process) -> None:
    code = await process.wait()
    click.echo(f"── the operator has ended (exit code {code}): it is started anew on a change")


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the process: by SIGTERM, and by SIGKILL when that is not enough."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(limits.DEV_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        click.echo(
            f"── the operator did not end within {limits.DEV_STOP_SECONDS:g} s of SIGTERM: killed"
            " (does it catch CancelledError, or block the event loop?)"
        )
    finally:
        # After the time-out, and when a second signal cancels the wait.
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()


async def _tell_kinds(client: Client, kubeconfig: Path) -> None:
    """Print what to try, once the operator has installed its kinds."""
    told: set[str] = set()
    while True:
        try:
            found = await client.list(CustomResourceDefinition)
        except KonstatError as error:
            click.echo(f"the kinds cannot be listed: {error}", err=True)
            return
        for name in sorted({f"{d.spec.names.plural}.{d.spec.group}" for d in found} - told):
            told.add(name)
            click.echo(f"first try   {KUBECTL} --kubeconfig {kubeconfig} get {name}")
        await clock.sleep(limits.DEV_LOOK_SECONDS)
