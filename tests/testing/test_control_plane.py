"""The control plane as its users see it; most tests share the session's."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from konstat.base import clock
from konstat.client.api import Client
from konstat.errors import (
    ControlPlaneError,
    Forbidden,
    MissingToolError,
    TransportError,
    UserError,
)
from konstat.objects.kind import Kind
from konstat.testing import Binaries, ControlPlane, Options, Rule, User, control_plane
from konstat.testing.plugin import StartControlPlane

POD = Kind(group="", version="v1", kind="Pod", plural="pods")
CONFIG_MAP = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")
NAMESPACE = Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
DEPLOYMENT = Kind(group="apps", version="v1", kind="Deployment", plural="deployments")
READ_PODS = Rule(verbs=("get", "list"), resources=("pods",))
SMALL = Options(controller_manager=False, scheduler=False)


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "web", "image": "web:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": spec,
    }


async def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = clock.monotonic() + seconds
    while not condition():
        assert clock.monotonic() < deadline, "it did not happen in time"
        await clock.sleep(0.05)


def run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout


# --- the session's control plane ------------------------------------------------------------


async def test_the_version_is_the_modules(control_plane: ControlPlane) -> None:
    async with control_plane.client() as client:
        version = json.loads(await client.exchange("GET", "/version"))
    assert version["gitVersion"].startswith("v1.")


async def test_controllers_and_scheduler_act(control_plane: ControlPlane, namespace: str) -> None:
    async with control_plane.client() as client:
        await client.create(DEPLOYMENT, deployment("web"), namespace=namespace)
        deadline = clock.monotonic() + 30
        while True:
            pods = await client.list(POD, namespace=namespace)
            conditions = [one for pod in pods for one in pod["status"].get("conditions", ())]
            # There is no node: the scheduler says so.
            if any(one["reason"] == "Unschedulable" for one in conditions):
                break
            assert clock.monotonic() < deadline, pods
            await clock.sleep(0.05)


async def test_a_namespace_goes_when_it_is_deleted(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with control_plane.client() as client:
        await client.create(CONFIG_MAP, config_map("one"), namespace=namespace)
        await client.delete(NAMESPACE, namespace)
        deadline = clock.monotonic() + 30
        while namespace in [one["metadata"]["name"] for one in await client.list(NAMESPACE)]:
            assert clock.monotonic() < deadline
            await clock.sleep(0.1)


def test_the_kubeconfig_lets_kubectl_in(control_plane: ControlPlane, namespace: str) -> None:
    shown = run(control_plane.kubectl_command("get", "namespace", namespace, "-o", "name"))
    assert shown.strip() == f"namespace/{namespace}"
    by_environment = run(
        [str(control_plane.kubectl), "auth", "whoami", "-o", "json"],
        KUBECONFIG=str(control_plane.kubeconfig),
    )
    assert json.loads(by_environment)["status"]["userInfo"]["username"] == "admin"


def test_clients_verify_the_server(control_plane: ControlPlane) -> None:
    config = control_plane.config
    assert config.insecure_skip_tls_verify is False
    address = ("127.0.0.1", int(config.server.rpartition(":")[2]))
    trusting = ssl.create_default_context(cadata=config.ca_data.decode())
    with (
        socket.create_connection(address, timeout=10) as plain,
        trusting.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        assert secure.getpeercert()
    with (
        socket.create_connection(address, timeout=10) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context().wrap_socket(plain, server_hostname="127.0.0.1")


def test_every_listener_is_on_loopback(control_plane: ControlPlane) -> None:
    pids = set(control_plane.pids().values())
    assert len(pids) == 4
    addresses: set[str] = set()
    for pid in pids:
        inodes = set()
        for link in Path(f"/proc/{pid}/fd").iterdir():
            target = os.readlink(link) if link.is_symlink() else ""
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[9] in inodes and fields[3] == "0A":  # LISTEN
                    addresses.add(fields[1].partition(":")[0])
    assert addresses == {"0100007F"}  # 127.0.0.1, the bytes reversed


async def test_a_user_may_do_what_its_rules_say(
    control_plane: ControlPlane, namespace: str
) -> None:
    user = User(name=f"reader-{namespace}", rules=(READ_PODS,), namespaces=(namespace,))
    access = await control_plane.add_user(user)
    assert access.kubeconfig.stat().st_mode & 0o077 == 0
    async with control_plane.client(user=user.name) as client:
        assert await client.list(POD, namespace=namespace) == []
        with pytest.raises(Forbidden, match=user.name):
            await client.list(POD, namespace="default")
        with pytest.raises(Forbidden):
            await client.create(CONFIG_MAP, config_map("one"), namespace=namespace)


def test_an_unknown_user_has_no_access(control_plane: ControlPlane) -> None:
    with pytest.raises(UserError, match="has no user 'nobody'"):
        control_plane.access("nobody")


async def test_the_audit_log_tells_who_did_what(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with control_plane.client() as client:
        await client.create(CONFIG_MAP, config_map("one"), namespace=namespace)

    def creations() -> list[tuple[str, str, int, bool]]:
        return [
            (event.user, event.verb, event.code, event.of_control_plane)
            for event in control_plane.audit_events(users=["admin"])
            if event.resource == "configmaps" and event.namespace == namespace
        ]

    await eventually(lambda: bool(creations()))
    assert creations() == [("admin", "create", 201, False)]
    others = {event.user for event in control_plane.audit_events() if event.of_control_plane}
    assert "system:apiserver" in others
    assert "system:kube-scheduler" in others
    assert "system:serviceaccount:kube-system:namespace-controller" in others


# --- control planes of their own ------------------------------------------------------------


async def test_users_flags_and_an_end_without_rest(rig_binaries: Binaries) -> None:
    reader = User(name="alice", groups=("team",), rules=(READ_PODS,))
    async with control_plane(
        controller_manager=False,
        scheduler=False,
        users=[reader],
        apiserver_flags=["--max-requests-inflight=77"],
        binaries=rig_binaries,
    ) as plane:
        pids, folder = plane.pids(), plane.folder
        assert set(pids) == {"etcd", "kube-apiserver"}
        async with plane.client(user="alice") as client:
            assert await client.list(POD, namespace=None) == []
            with pytest.raises(Forbidden):
                await client.list(NAMESPACE)
        assert "--max-requests-inflight=77" in command_line(pids["kube-apiserver"])
        with pytest.raises(UserError, match="audit=True"):
            plane.audit_events()
    assert not folder.exists()
    assert not any(runs(pid) for pid in pids.values())


def command_line(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


async def test_pods_need_no_service_account_without_a_controller_manager(
    start_control_plane: StartControlPlane,
) -> None:
    plane = start_control_plane(SMALL)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one"},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
    async with plane.client() as client:
        created = await client.create(POD, pod, namespace="default")
    assert created["metadata"]["name"] == "one"


async def test_outages(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(SMALL)
    server = plane.server
    async with plane.client() as client:
        await client.create(CONFIG_MAP, config_map("kept"), namespace="default")
        for stop in (plane.stop_apiserver, kill(plane)):
            await stop()
            with pytest.raises(TransportError) as caught:
                await client.exchange("GET", "/version", retry=False)
            assert caught.value.sent is False
            with pytest.raises(ControlPlaneError, match="kube-apiserver is stopped"):
                plane.check()
            await plane.start_apiserver()
            plane.check()
        assert plane.server == server
        assert await is_there(client, "kept")
        plane.pause_apiserver()
        assert await falls_silent(client)
        plane.resume_apiserver()
        assert await is_there(client, "kept")


async def falls_silent(client: Client) -> bool:
    """Whether an answer fails to come; those that are on their way at a pause may still arrive."""
    for _ in range(10):
        try:
            await client.exchange("GET", "/version", retry=False, timeout_seconds=0.5)
        except TransportError:
            return True
    return False


def kill(plane: ControlPlane) -> Any:
    async def stop() -> None:
        plane.kill_apiserver()

    return stop


async def is_there(client: Client, name: str) -> bool:
    found = await client.list(CONFIG_MAP, namespace="default")
    return name in [one["metadata"]["name"] for one in found]


async def test_a_named_data_folder_goes_on_where_it_was(
    rig_binaries: Binaries, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"controller_manager": False, "scheduler": False}
    async with control_plane(**options, data=tmp_path, binaries=rig_binaries) as plane:
        await plane.add_user(User(name="bob"))
        async with plane.client() as client:
            await client.create(CONFIG_MAP, config_map("kept"), namespace="default")
        with pytest.raises(ControlPlaneError, match="belongs to a control plane that runs"):
            async with control_plane(**options, data=tmp_path, binaries=rig_binaries):
                pass
    async with control_plane(**options, data=tmp_path, binaries=rig_binaries) as plane:
        async with plane.client() as client:
            assert await is_there(client, "kept")
        with pytest.raises(UserError, match="no user 'bob'"):  # who came by an old token
            plane.access("bob")
    assert (tmp_path / "logs" / "kube-apiserver.log").exists()


async def test_a_flag_that_is_wrong_shows_in_the_error(rig_binaries: Binaries) -> None:
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver ended.*unknown flag: --nons"):
        async with control_plane(apiserver_flags=["--nonsense"], binaries=rig_binaries):
            pass


async def test_a_program_that_dies_shows_its_last_words(
    start_control_plane: StartControlPlane,
) -> None:
    plane = start_control_plane(SMALL)
    os.kill(plane.pids()["etcd"], 9)
    await eventually(lambda: "etcd" not in plane.pids())
    with pytest.raises(ControlPlaneError, match="etcd ended with SIGKILL"):
        plane.check()


OWNER = """
import asyncio, signal
from konstat.testing import control_plane

async def main():
    async with control_plane(controller_manager=False, scheduler=False) as plane:
        print(*plane.pids().values(), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def start_owner(binaries: Binaries, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(binaries.folder), "TMPDIR": str(folder)},
    )


async def test_nothing_outlives_an_owner_that_was_killed(
    rig_binaries: Binaries, tmp_path: Path
) -> None:
    with start_owner(rig_binaries, tmp_path) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert len(pids) == 2
        owner.kill()
    await eventually(lambda: not any(runs(pid) for pid in pids))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# --- without a server -----------------------------------------------------------------------


def fill(folder: Path, *programs: str) -> Path:
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return folder


def test_missing_programs_are_told_before_anything_starts(tmp_path: Path) -> None:
    binaries = Binaries(
        folder=fill(tmp_path, "etcd", "kube-apiserver"), source="KUBEBUILDER_ASSETS"
    )
    with pytest.raises(MissingToolError, match="kube-controller-manager"):
        ControlPlane(binaries=binaries)
    with pytest.raises(MissingToolError, match="kube-scheduler"):
        ControlPlane(Options(controller_manager=False), binaries=binaries)
    plane = ControlPlane(SMALL, binaries=binaries)
    with pytest.raises(MissingToolError, match="kubectl"):
        _ = plane.kubectl


def test_one_that_is_not_started_says_so(tmp_path: Path) -> None:
    binaries = Binaries(folder=fill(tmp_path, "etcd", "kube-apiserver"), source="a test")
    plane = ControlPlane(SMALL, binaries=binaries)
    with pytest.raises(ControlPlaneError, match="not started"):
        _ = plane.kubeconfig
    with pytest.raises(ControlPlaneError, match="not started"):
        _ = plane.server
