"""`konstat nodes`: its refusals, what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from konstat.base import chance
from konstat.cli.main import konstat
from konstat.client.api import Client
from konstat.kinds import Node
from konstat.testing import ControlPlane

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "konstat.cli.main", "nodes", *arguments]


def test_help_has_an_example() -> None:
    shown = CliRunner().invoke(konstat, ["nodes", "--help"])
    assert shown.exit_code == 0
    assert "konstat nodes --kubeconfig rig.kubeconfig --nodes 3" in shown.output


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--nodes", "0", "nodes is 0: give a number from 1 to"),
        ("--pods", "9999", "pods is 9999: give a number from 1 to"),
        ("--cpu", "many", "--cpu many: "),
        ("--memory", "64GB", "--memory 64GB: "),
    ],
)
def test_what_no_node_can_have_is_refused(
    tmp_path: Path, option: str, value: str, text: str
) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    shown = CliRunner().invoke(konstat, ["nodes", "--kubeconfig", str(file), option, value])
    assert (shown.exit_code, text in shown.output) == (2, True), shown.output


@pytest.mark.realapi
async def test_it_plays_nodes_until_a_signal(control_plane: ControlPlane) -> None:
    prefix = f"played-{chance.suffix()}"
    arguments = ["--kubeconfig", str(control_plane.kubeconfig), "--name-prefix", prefix]
    process = await asyncio.create_subprocess_exec(
        *command(*arguments, "--nodes", "2", "--cpu", "3"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode() for _ in range(4)]
    assert lines[0].split() == ["server", control_plane.server]
    assert f"{prefix}-0 … {prefix}-1 (each 3 CPUs, 64Gi, 110 pods)" in lines[1]
    async with control_plane.client() as client:
        found = await client.get(Node, f"{prefix}-1")
        assert found.status.allocatable["cpu"] == "3"
        process.send_signal(signal.SIGTERM)
        _, complaints = await process.communicate()
        assert (process.returncode, complaints) == (0, b"")
        assert not [node for node in await client.list(Node) if node.name.startswith(prefix)]


@pytest.mark.realapi
async def test_a_cluster_with_real_nodes_is_refused(control_plane: ControlPlane) -> None:
    name = f"real-{chance.suffix()}"
    async with control_plane.client() as client:
        await client.create(Node.kind, {"metadata": {"name": name}})
        try:
            process = await asyncio.create_subprocess_exec(
                *command("--kubeconfig", str(control_plane.kubeconfig)),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            shown, complaints = await process.communicate()
        finally:
            await _delete(client, name)
    assert (process.returncode, shown) == (2, b"")
    assert f"1 real node ({name})".encode() in complaints
    assert b"--beside-real-nodes" in complaints


async def _delete(client: Client, name: str) -> None:
    await client.delete(Node, name)
