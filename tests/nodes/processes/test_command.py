"""`konstat nodes --process`: refusals, what is printed, and that nothing outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from live_processes import FAMILY, family, runs, until

from konstat.base import chance
from konstat.cli.main import konstat
from konstat.client.api import Client
from konstat.kinds import Node, Pod
from konstat.testing import ControlPlane


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--process", "web"], "process 'web' has no command"),
        (["--process", "web=$(command)"], "give --allow-commands"),
        (["--process", "web=a", "--process", "web=b"], "mapped to two processes"),
        (["--process", "web=a", "--pod-network", "10.0.0.1/8"], "--pod-network 10.0.0.1/8: "),
        (
            ["--process", "web=a", "--pod-network", "192.0.2.0/24"],
            "does not answer on 192.0.2.0/24",
        ),
        (["--process", "web=a", "--pod-network", "127.0.9.0/30"], "give at least a /28"),
        (["--processes", "/no/such.yaml"], "processes file /no/such.yaml cannot be read"),
        (["--logs"], "give --process too"),
    ],
)
def test_what_cannot_be_played_is_refused(options: list[str], text: str) -> None:
    shown = CliRunner().invoke(konstat, ["nodes", *options])
    assert (shown.exit_code, text in shown.output) == (2, True), shown.output


def test_help_has_an_example() -> None:
    shown = CliRunner().invoke(konstat, ["nodes", "--help"])
    assert "--process 'example.com/web=python3 -m http.server" in shown.output


@asynccontextmanager
async def nodes(
    control_plane: ControlPlane, folder: Path, *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command, whose temporary files are below ``folder``."""
    prefix = f"node-{chance.suffix()}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "konstat.cli.main", "nodes"),
        *("--kubeconfig", str(control_plane.kubeconfig), "--name-prefix", prefix),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
        async with control_plane.client() as client:
            for node in await client.list(Node):
                if node.name.startswith(prefix):
                    await client.delete(Node, node.name)


async def lines_until(process: asyncio.subprocess.Process, text: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(60):
        while not lines or text not in lines[-1]:
            line = (await process.stdout.readline()).decode()
            assert line, lines
            lines.append(line.rstrip())
    return lines


@pytest.fixture
async def client(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Client]:
    async with control_plane.client() as connected:
        connected.namespace = namespace
        yield connected


@pytest.mark.realapi
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_nothing_outlives_the_command(
    control_plane: ControlPlane, client: Client, pod_of: Any, tmp_path: Path, ending: signal.Signals
) -> None:
    notes, folder = tmp_path / "notes", tmp_path / "own"
    notes.mkdir()
    folder.mkdir()
    script = tmp_path / "family.py"
    script.write_text(FAMILY + "print('all here')\nsignal.pause()\n")
    command = f"example.com/family={sys.executable} -u {script} {notes}"
    async with nodes(control_plane, folder, "--process", command, "--logs") as process:
        lines = await lines_until(process, "Ctrl-C")
        assert any(line.startswith("process 1 mapped image; their pods are at") for line in lines)
        await client.create(Pod.kind, pod_of("one", "family"))
        shown = await lines_until(process, "all here")
        assert shown[-1] == f"[{client.namespace}/one/main] all here"
        await until(lambda: len(family(notes)) == 3, what="the family")
        process.send_signal(ending)
        _, complaints = await process.communicate()
        if ending is signal.SIGTERM:
            assert (process.returncode, complaints) == (0, b"")
    await until(lambda: not any(map(runs, family(notes).values())), what="their end")
    await until(lambda: not list(folder.iterdir()), what="the end of the folder")
