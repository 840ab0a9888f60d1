"""The cache against a real control plane: what it shows is what kubectl would see."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from konstat.base import chance, clock
from konstat.base.tasks import open_tasks
from konstat.cache import Informer, Informers
from konstat.cache.states import Output, Streaming, Watching
from konstat.cache.watcher import Watcher
from konstat.client import Client
from konstat.errors import APIError, KindForbidden, KindNotInstalled
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot
from konstat.testing import ControlPlane, User
from konstat.testing.rig_commands import Options

pytestmark = pytest.mark.realapi

CONFIG_MAP = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")
CRD = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
)
CLUSTER_ROLE = Kind(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    namespaced=False,
)
CLUSTER_ROLE_BINDING = Kind(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
)
PATIENCE_SECONDS = 60.0


async def until(right: Callable[[], bool], what: str) -> None:
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while not right():
        assert clock.monotonic() < deadline, f"not within {PATIENCE_SECONDS} s: {what}"
        await clock.sleep(0.02)


@asynccontextmanager
async def informing(
    plane: ControlPlane, kind: Kind, *, namespace: str = "", user: str = "admin"
) -> AsyncIterator[tuple[Client, Informer]]:
    async with plane.client(user=user) as client, open_tasks() as tasks:
        yield client, Informers(client, tasks).informer(kind, namespace=namespace)
    # A cancelled stream says goodbye to the server's TLS; its loop must not end before that.
    await until(lambda: not open_connections(), "the connections are closed")


def open_connections() -> list[asyncio.Transport]:
    loop = asyncio.get_running_loop()
    return [
        one
        for one in gc.get_objects()
        if isinstance(one, asyncio.Transport)
        and getattr(one, "_loop", None) is loop
        and getattr(one, "_sock", None) is not None
    ]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def same_as_server(client: Client, informer: Informer) -> bool:
    listed = await client.list(informer.kind, namespace=informer.namespace or None)
    held = {s.uid: s.content for s in informer.store.list()}
    wanted = {
        s.uid: s.content for s in (Snapshot.from_content(informer.kind, item) for item in listed)
    }
    return held == wanted


async def until_same(client: Client, informer: Informer) -> None:
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while not await same_as_server(client, informer):
        assert clock.monotonic() < deadline, (
            f"the cache of {informer.kind} lags: {informer.problem}"
        )
        await clock.sleep(0.05)


async def test_what_is_there_and_what_comes(control_plane, namespace):
    async with control_plane.client() as client:
        for number in range(120):
            await client.create(CONFIG_MAP, config_map(f"a{number}"), namespace=namespace)
    async with informing(control_plane, CONFIG_MAP, namespace=namespace) as (client, informer):
        await informer.wait_synced(PATIENCE_SECONDS)
        assert await same_as_server(client, informer)
        heard: list[tuple[str, str]] = []
        informer.subscribe(
            lambda c: heard.append(("gone" if c.new is None else "is", (c.new or c.old).name))
        )
        del heard[:]
        await client.create(CONFIG_MAP, config_map("b"), namespace=namespace)
        await client.patch(CONFIG_MAP, "b", {"data": {"x": "1"}}, type="merge", namespace=namespace)
        await client.delete(CONFIG_MAP, "b", namespace=namespace)
        await until(lambda: ("gone", "b") in heard, "the deletion is told")
        assert heard == [("is", "b"), ("is", "b"), ("gone", "b")]
        assert await same_as_server(client, informer)
        assert informer.statistics().watcher.lists == 1


async def test_pages_show_the_same_as_initial_events(control_plane, namespace):
    async with control_plane.client() as client:
        for number in range(30):
            await client.create(CONFIG_MAP, config_map(f"a{number}"), namespace=namespace)
    async with informing(control_plane, CONFIG_MAP, namespace=namespace) as (client, informer):
        # As if the server had said that it offers no initial events.
        informer._watcher._initial_events = False
        await informer.wait_synced(PATIENCE_SECONDS)
        paged = {s.uid: s.data for s in informer.store.list()}
    async with informing(control_plane, CONFIG_MAP, namespace=namespace) as (client, informer):
        await informer.wait_synced(PATIENCE_SECONDS)
        assert {s.uid: s.data for s in informer.store.list()} == paged


async def test_F35_own_writes_are_read_at_once_and_their_echoes_are_silent(
    control_plane, namespace
):
    async with informing(control_plane, CONFIG_MAP, namespace=namespace) as (client, informer):
        await informer.wait_synced(PATIENCE_SECONDS)
        store = informer.require()
        heard: list[str] = []
        store.subscribe(lambda change: heard.append((change.new or change.old).name))
        del heard[:]  # what a namespace has from its beginning
        for number in range(50):
            with store.writing(namespace, "own"):
                answer = await client.apply(
                    CONFIG_MAP,
                    config_map("own", n=str(number)),
                    namespace=namespace,
                    field_manager="test",
                )
                store.put_own(Snapshot.from_content(CONFIG_MAP, answer))
            found = store.get(namespace, "own")
            assert found is not None
            assert found.content["data"] == {"n": str(number)}
        await until(lambda: store.pending == 0, "the watch catches up")
        assert "own" not in heard
        assert await same_as_server(client, informer)
        deleted = store.get(namespace, "own")
        assert deleted is not None
        await client.delete(CONFIG_MAP, "own", namespace=namespace, uid=deleted.uid)
        store.own_deletion(deleted.uid)
        assert store.get(namespace, "own") is None
        await client.create(CONFIG_MAP, config_map("next"), namespace=namespace)
        await until(lambda: store.get(namespace, "next") is not None, "the watch has gone on")
        assert store.get(namespace, "own") is None


def widget_crd(plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"{plural}.cache.example.com"},
        "spec": {
            "group": "cache.example.com",
            "scope": "Namespaced",
            "names": {"kind": plural.capitalize(), "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


async def create_when_served(client: Client, kind: Kind, name: str, namespace: str) -> None:
    content = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            await client.create(kind, content, namespace=namespace)
        except APIError:
            assert clock.monotonic() < deadline
            await clock.sleep(0.1)
        else:
            return


async def test_F55_a_crd_that_goes_and_comes_back(control_plane, namespace):
    plural = f"w{chance.suffix(6)}"
    kind = Kind(group="cache.example.com", version="v1", kind=plural.capitalize(), plural=plural)
    async with informing(control_plane, kind) as (client, informer):
        with pytest.raises(KindNotInstalled, match="CustomResourceDefinition"):
            await informer.wait_synced(PATIENCE_SECONDS)
        await client.create(CRD, widget_crd(plural))
        await create_when_served(client, kind, "a", namespace)
        await until(lambda: informer.state == "synced", "the kind is there")
        await until(lambda: informer.store.get(namespace, "a") is not None, "the object is there")
        first = informer.require().get(namespace, "a")
        assert first is not None
        await client.delete(CRD, f"{plural}.cache.example.com")
        await until(lambda: informer.state == "not installed", "the kind is gone")
        with pytest.raises(KindNotInstalled):
            informer.require()
        await client.create(CRD, widget_crd(plural))
        await create_when_served(client, kind, "a", namespace)
        await until(lambda: informer.state == "synced", "the kind is back")
        await until(
            lambda: (
                (found := informer.store.get(namespace, "a")) is not None and found.uid != first.uid
            ),
            "the new object is there",
        )
        assert informer.store.by_uid(first.uid) is None
        await client.delete(CRD, f"{plural}.cache.example.com")


def reading(user: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A role that lets ``user`` list and watch ConfigMaps, and its binding."""
    role = {
        "apiVersion": CLUSTER_ROLE.api_version,
        "kind": CLUSTER_ROLE.kind,
        "metadata": {"name": user},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
    }
    binding = {
        "apiVersion": CLUSTER_ROLE_BINDING.api_version,
        "kind": CLUSTER_ROLE_BINDING.kind,
        "metadata": {"name": user},
        "roleRef": {"apiGroup": CLUSTER_ROLE.group, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": CLUSTER_ROLE.group, "kind": "User", "name": user}],
    }
    return role, binding


async def test_F61_rights_granted_revoked_and_granted_again(start_control_plane):
    plane = start_control_plane(
        Options(controller_manager=False, scheduler=False, users=(User(name="reader"),))
    )
    role, binding = reading("reader")
    async with (
        informing(plane, CONFIG_MAP, user="reader") as (_, informer),
        plane.client() as admin,
    ):
        with pytest.raises(KindForbidden, match="grant it"):
            await informer.wait_synced(PATIENCE_SECONDS)
        await admin.create(CLUSTER_ROLE, role)
        await admin.create(CLUSTER_ROLE_BINDING, binding)
        await until(lambda: informer.state == "synced", "the right was granted")
        await admin.delete(CLUSTER_ROLE_BINDING, "reader")
        # The server lets an open stream be: only the next request is refused.
        await plane.restart_apiserver()
        await until(lambda: informer.state == "forbidden", "the right was revoked")
        await admin.create(CONFIG_MAP, config_map("a"), namespace="default")
        await admin.create(CLUSTER_ROLE_BINDING, binding)
        await until(lambda: informer.state == "synced", "the right was granted again")
        assert informer.require().get("default", "a") is not None


async def test_F29_F6_the_server_restarts_with_the_same_data(start_control_plane):
    plane = start_control_plane(Options(controller_manager=False, scheduler=False))
    async with informing(plane, CONFIG_MAP) as (client, informer):
        await informer.wait_synced(PATIENCE_SECONDS)
        await client.create(CONFIG_MAP, config_map("a"), namespace="default")
        await until(lambda: informer.store.get("default", "a") is not None, "a is there")
        lists = informer.statistics().watcher.lists
        await plane.restart_apiserver()
        await client.create(CONFIG_MAP, config_map("b"), namespace="default")
        await until(lambda: informer.store.get("default", "b") is not None, "b is there")
        await until_same(client, informer)
        assert (informer.state, informer.problem) == ("synced", "")
        # A server that has just started may not know our version any more; then once.
        assert informer.statistics().watcher.lists <= lists + 1
        await expect_too_old(client)


async def expect_too_old(client: Client) -> None:
    """F6, C85: a server that has restarted keeps no history of before."""

    async def ignore(output: Output) -> None: ...

    watcher = Watcher(client, CONFIG_MAP, emit=ignore)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await watcher.step(Watching("1")) == Streaming()
    assert "too old resource version" in watcher.problem
