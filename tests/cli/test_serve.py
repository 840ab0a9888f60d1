"""`konstat serve`: an API at once, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result
from story import eventually

from konstat.client import Client
from konstat.client.config import load_config
from konstat.kinds import Deployment, Node, Pod

PROGRAM = [sys.executable, "-W", "error", "-m", "konstat.cli.main"]


@contextmanager
def serving(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROGRAM, "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": ""},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def told(running: subprocess.Popen[str]) -> dict[str, str]:
    """What is printed at the start, by its first word."""
    assert running.stdout is not None
    seen: dict[str, str] = {}
    for line in running.stdout:
        if line.startswith("Ctrl-C"):
            return seen
        word, _, rest = line.partition("  ")
        seen[word] = rest.strip()
    assert running.stderr is not None
    raise AssertionError(f"it ended after {seen}: {running.stderr.read()}")


def deployment() -> Deployment:
    labels = {"app": "web"}
    return Deployment(
        metadata={"name": "web"},
        spec={
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
            },
        },
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_deployments_become_available_until_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    target = tmp_path / "kubeconfig"
    with serving("--kubeconfig", str(target)) as running:
        lines = told(running)
        assert lines["first try"] == f"kubectl --kubeconfig {target} get nodes"
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        config = load_config(kubeconfig=target)
        assert config.server == lines["server"]
        assert config.server.startswith("http://127.0.0.1:")
        async with Client.connect(config) as client:
            assert len(await client.list(Node)) == 2
            await client.create(deployment())

            async def available() -> int:
                return (await client.get(Deployment, "web")).status.available_replicas

            await eventually(available, lambda count: count == 2)
        running.send_signal(number)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")
    assert not target.exists()


def test_its_own_folder_goes_with_it() -> None:
    with serving("--no-nodes") as running:
        kubeconfig = Path(told(running)["kubeconfig"])
        assert kubeconfig.is_file()
        running.send_signal(signal.SIGTERM)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")
    assert not kubeconfig.parent.exists()


async def test_the_port_is_as_asked_for_and_nodes_may_be_left_out() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with serving("--no-nodes", "--port", str(port)) as running:
        lines = told(running)
        assert lines["server"] == f"http://127.0.0.1:{port}"
        async with Client.connect(load_config(kubeconfig=lines["kubeconfig"])) as client:
            assert await client.list(Node) == []


async def test_containers_may_be_processes_of_this_machine() -> None:
    program = "import signal; print(40 + 2, flush=True); signal.pause()"
    say = f"example.com/say={sys.executable} -c '{program}'"
    with serving("--nodes", "1", "--logs", "--process", say) as running:
        kubeconfig = told(running)["kubeconfig"]
        async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
            spec = {"containers": [{"name": "main", "image": "example.com/say:1"}]}
            await client.create(Pod(metadata={"name": "p"}, spec=spec))
        assert running.stdout is not None
        assert await asyncio.to_thread(running.stdout.readline) == "[default/p/main] 42\n"
        running.send_signal(signal.SIGTERM)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--no-nodes", "--process", "a=b"], "processes run on nodes"),
        (["--logs"], "give --process too"),
        (["--process", "a"], "IMAGE=COMMAND"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    run_konstat: Callable[..., Result], options: list[str], problem: str
) -> None:
    result = run_konstat("serve", *options)
    assert result.exit_code == 2
    assert problem in result.output


def test_a_port_that_is_taken_is_said(run_konstat: Callable[..., Result]) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        result = run_konstat("serve", "--port", str(port))
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in result.output


@pytest.mark.parametrize("content", ["clusters: [{name: production}]", "clusters: []", "{"])
def test_it_does_not_write_over_another_kubeconfig(
    run_konstat: Callable[..., Result], tmp_path: Path, content: str
) -> None:
    mine = tmp_path / "config"
    mine.write_text(content)
    result = run_konstat("serve", "--kubeconfig", str(mine))
    assert result.exit_code == 2
    assert "name another file" in result.output
    assert mine.read_text() == content


@pytest.mark.parametrize("command", ["serve", "dev", "demo"])
def test_every_command_has_help_with_an_example(
    run_konstat: Callable[..., Result], command: str
) -> None:
    result = run_konstat(command, "--help")
    assert result.exit_code == 0
    assert re.search(rf"Example:\s+konstat {command}", result.output)
