"""`embedded_api`: ready when it is yielded, gone when its block ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from story import eventually

from konstat.client import Client
from konstat.errors import (
    BadRequest,
    MissingToolError,
    NotFound,
    ServerError,
    TransportError,
    UserError,
)
from konstat.kinds import ConfigMap, Namespace, Node, Pod, ServiceAccount
from konstat.nodes import ProcessCommand, ProcessRuntime
from konstat.testing import embedded_api
from konstat.testing.embedded_plane import CLUSTER


def pod() -> Pod:
    return Pod(
        metadata={"name": "p"},
        spec={"containers": [{"name": "main", "image": "nginx:1.27"}]},
    )


async def test_what_is_yielded_is_ready() -> None:
    async with embedded_api(nodes=2) as api, api.client() as client:
        assert len(await client.list(Node)) == 2
        assert (await client.get(ServiceAccount, "default")).name == "default"
        await client.create(pod())

        async def phase() -> str:
            return (await client.get(Pod, "p")).status.phase

        await eventually(phase, lambda seen: seen == "Running")


async def test_other_programs_come_in_over_http() -> None:
    async with embedded_api(nodes=0) as api, api.client() as near:
        await near.create(ConfigMap(metadata={"name": "a"}, data={"k": "v"}))
        assert api.config.context == CLUSTER
        async with Client.connect(api.config) as far:
            assert (await far.get(ConfigMap, "a")).data == {"k": "v"}
        folder, config = api.folder, api.config
    assert not folder.exists()
    with pytest.raises(TransportError):
        async with Client.connect(config) as far:
            await far.get(ConfigMap, "a")


async def test_two_at_once_know_nothing_of_each_other() -> None:
    async with (
        embedded_api(nodes=0) as one,
        embedded_api(nodes=0) as two,
        one.client() as first,
        two.client() as second,
    ):
        assert one.server != two.server
        await first.create(ConfigMap(metadata={"name": "a"}))
        with pytest.raises(NotFound):
            await second.get(ConfigMap, "a")


async def test_without_actors_nothing_acts() -> None:
    async with embedded_api(nodes=0, actors=False) as api, api.client() as client:
        await client.create(Namespace(metadata={"name": "n"}))
        assert await client.list(ServiceAccount, namespace=None) == []


async def test_a_named_folder_is_kept(tmp_path: Path) -> None:
    async with embedded_api(nodes=0, actors=False, data=tmp_path / "d") as api:
        assert api.kubeconfig == tmp_path / "d" / "kubeconfig"
    assert (tmp_path / "d").is_dir()


async def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(UserError, match="nodes is 1000"):
        async with embedded_api(nodes=1000):
            raise AssertionError("it was served")


async def test_kubectl_is_of_the_rig_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("KONSTAT_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    async with embedded_api(nodes=0, actors=False) as api:
        with pytest.raises(MissingToolError, match="no kubectl on the path"):
            api.kubectl_command("get", "pods")
        kubectl = tmp_path / "kubectl"
        await asyncio.to_thread(kubectl.write_text, "#!/bin/sh\n")
        kubectl.chmod(0o755)
        assert api.kubectl_command("get", "pods") == [
            str(kubectl),
            f"--kubeconfig={api.kubeconfig}",
            f"--cache-dir={api.folder / 'kubectl-cache'}",
            "get",
            "pods",
        ]


SAY = "import signal; print('one'); print('two', flush=True); signal.pause()"


@pytest.fixture
async def speaking() -> AsyncIterator[Client]:
    """An API on which a process says two lines, as pod p."""
    command = ProcessCommand(image="example.com/say", command=(sys.executable, "-c", SAY))
    async with (
        embedded_api(runtime=ProcessRuntime([command])) as api,
        api.client() as client,
    ):
        spec = {"containers": [{"name": "main", "image": "example.com/say:1"}]}
        await client.create(Pod(metadata={"name": "p"}, spec=spec))
        yield client


async def log(client: Client, query: dict[str, str] | None = None) -> str:
    path = "/api/v1/namespaces/default/pods/p/log"
    data = await client.exchange("GET", path, query=query or {}, request="read a log")
    return data.decode()


async def test_logs_of_processes_are_served(speaking: Client) -> None:
    async def whole() -> str:
        try:
            return await log(speaking)
        except BadRequest:  # it does not run yet
            return ""

    await eventually(whole, lambda text: text == "one\ntwo\n")
    assert await log(speaking, {"tailLines": "1", "follow": "false"}) == "two\n"
    assert await log(speaking, {"limitBytes": "2", "container": "main"}) == "on"
    for query, problem in (
        ({"container": "other"}, "other"),
        ({"tailLines": "-1"}, "tailLines is -1"),
        ({"previous": "true"}, "previous terminated container"),
    ):
        with pytest.raises(BadRequest, match=problem):
            await log(speaking, query)
    with pytest.raises(ServerError, match="does not implement following logs"):
        await log(speaking, {"follow": "true"})


async def test_a_pretended_container_has_no_log() -> None:
    async with embedded_api() as api, api.client() as client:
        await client.create(pod())
        with pytest.raises(BadRequest, match="have no log"):
            await log(client)
