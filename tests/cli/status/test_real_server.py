"""`konstat status` and `konstat crd` against a real control plane."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from story import eventually

from konstat.base import chance
from konstat.client import Client
from konstat.kinds import Deployment, Pod, Secret
from konstat.objects.kind import Kind
from konstat.testing import ControlPlane, Rule, User

pytestmark = pytest.mark.realapi

WEB_APP = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
MANAGED = "app.kubernetes.io/managed-by"
PATIENCE_SECONDS = 60.0

Status = Callable[..., Result]


@pytest.fixture
def installed(control_plane: ControlPlane, webapp: Path, run_konstat) -> Iterator[None]:
    """The CRD of webapp.py, as `konstat crd | kubectl apply` installs it."""
    _kubectl(control_plane, "apply", "--server-side", "-f", "-", stdin=_crd(run_konstat))
    _kubectl(control_plane, "wait", "--for=condition=Established", "crd", WEB_APP.resource)
    yield
    _kubectl(control_plane, "delete", "crd", WEB_APP.resource)


@pytest.fixture
async def shop(installed: None, control_plane: ControlPlane, namespace: str) -> str:
    """WebApp shop with a status, a Deployment whose pods find no node, and a Secret."""
    async with control_plane.client() as client:
        shop = await client.create(WEB_APP, _shop(), namespace=namespace)
        owner = {
            "apiVersion": WEB_APP.api_version,
            "kind": WEB_APP.kind,
            "name": "shop",
            "uid": shop["metadata"]["uid"],
            "controller": True,
        }
        metadata = {"name": "shop", "namespace": namespace, "ownerReferences": [owner]}
        await client.create(Deployment, {"metadata": metadata, "spec": _deployment_spec()})
        secret = {"metadata": metadata, "stringData": {"password": "do-not-show"}}
        await client.create(Secret, secret)
        await _settled_pod(client, namespace)
    return namespace


async def _settled_pod(client: Client, namespace: str) -> None:
    """Wait until the scheduler has said that no node takes the pod."""

    async def reasons() -> list[str]:
        pods = await client.list(Pod, namespace=namespace)
        return [c.reason for pod in pods for c in pod.status.conditions]

    await eventually(reasons, lambda seen: "Unschedulable" in seen)


def _shop() -> dict[str, Any]:
    return {"metadata": {"name": "shop"}, "spec": {"image": "nginx:1"}}


def _deployment_spec() -> dict[str, Any]:
    labels = {"app": "shop"}
    container = {"name": "app", "image": "nginx:1"}
    return {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }


@pytest.fixture
def status(control_plane: ControlPlane, run_konstat) -> Status:
    def run(*arguments: str, user: str = "admin") -> Result:
        kubeconfig = control_plane.access(user).kubeconfig
        return run_konstat("status", *arguments, "--kubeconfig", str(kubeconfig))

    return run


def _crd(run_konstat) -> str:
    return run_konstat("crd", "webapp.py").stdout


def _kubectl(plane: ControlPlane, *arguments: str, stdin: str = "") -> str:
    ran = subprocess.run(
        plane.kubectl_command(*arguments), input=stdin, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


async def test_a_tree_reaches_from_the_resource_to_the_cause_in_a_pod(
    status: Status, shop: str
) -> None:
    result = await asyncio.to_thread(status, "webapp", "shop", "-n", shop)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1].split()[:4] == ["?", "WebApp", "shop", "Unknown"]
    assert lines[2].strip(" |") == "no status yet: is its operator running?"
    drawn = re.findall(r"- . (\w+) shop", result.stdout)
    assert drawn == ["Deployment", "ReplicaSet", "Pod", "Secret"]
    pod = next(line for line in lines if " Pod shop" in line)
    assert pod.split()[-1] == "Unschedulable"
    assert "do-not-show" not in result.output


async def test_every_word_for_a_kind_and_slashes_are_understood(status: Status, shop: str) -> None:
    for words in (["webapps", "shop"], ["WebApp/shop"], ["webapp.demo.example.com", "shop"]):
        result = await asyncio.to_thread(status, *words, "-n", shop, "-o", "json")
        assert result.exit_code == 0, result.output
        content = json.loads(result.stdout)
        assert [r["name"] for r in content["resources"]] == ["shop"]
        assert [c["kind"] for c in content["resources"][0]["children"]] == ["Deployment", "Secret"]
        assert content["unread"] == []


async def test_without_a_kind_the_managed_ones_are_shown(
    status: Status, shop: str, control_plane: ControlPlane
) -> None:
    _kubectl(control_plane, "label", "--overwrite", "crd", WEB_APP.resource, f"{MANAGED}=konstat")
    result = await asyncio.to_thread(status, "-A", "-o", "json")
    assert result.exit_code == 0, result.output
    names = {(r["namespace"], r["name"]) for r in json.loads(result.stdout)["resources"]}
    assert (shop, "shop") in names
    # Operators of other tests may have left managed kinds behind.
    _kubectl(control_plane, "label", "crd", "-l", f"{MANAGED}=konstat", f"{MANAGED}-")
    result = await asyncio.to_thread(status)
    assert result.exit_code == 2
    assert "give a KIND" in result.stderr


async def test_what_is_not_there_exits_with_1(status: Status, shop: str) -> None:
    for place in (["-n", shop], ["-A"]):
        result = await asyncio.to_thread(status, "webapps", "absent", *place)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert "absent" in result.stderr


def test_no_resources_are_said_to_be_none(status: Status, installed: None, namespace: str) -> None:
    result = status("webapps", "-n", namespace)
    assert result.exit_code == 0
    assert result.stdout == f"there are no {WEB_APP.resource} in namespace {namespace}\n"


def test_a_kind_that_is_not_served_exits_with_2(status: Status) -> None:
    result = status("deploymnt")
    assert result.exit_code == 2
    assert "deployment" in result.stderr


async def test_kinds_that_may_not_be_read_are_named(
    status: Status, shop: str, control_plane: ControlPlane
) -> None:
    everything = {"verbs": ("get", "list")}
    rules = (
        Rule(**everything, groups=(WEB_APP.group,), resources=("webapps",)),
        Rule(**everything, groups=("apps",), resources=("deployments", "replicasets")),
    )
    name = f"reader-{chance.suffix(5)}"
    await control_plane.add_user(User(name=name, rules=rules, namespaces=(shop,)))

    def run() -> Result:
        return status("webapps", "shop", "-n", shop, user=name)

    result = await asyncio.to_thread(run)
    assert result.exit_code == 0, result.output
    assert "Deployment shop" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("not read: ")
    assert "secrets (forbidden)" in last
    assert "pods (forbidden)" in last
    assert "storageclasses" not in last


async def test_watch_tells_each_change_once_and_ends_with_ctrl_c(
    shop: str, control_plane: ControlPlane
) -> None:
    async with _watching(control_plane, "webapps", "shop", "-n", shop) as program:
        first = await _next(program)
        assert first["resources"][0]["generation"] == 1
        async with control_plane.client() as client:
            patch = {"spec": {"image": "nginx:2"}}
            await client.patch(WEB_APP, "shop", patch, type="merge", namespace=shop)
            while (seen := await _next(program))["resources"][0]["generation"] != 2:
                assert seen["resources"][0]["generation"] == 1
            await client.delete(WEB_APP, "shop", namespace=shop)
            while (await _next(program))["resources"]:
                pass
        program.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await program.wait() == 130


@contextlib.asynccontextmanager
async def _watching(
    plane: ControlPlane, *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "konstat.cli.main",
        "status",
        *arguments,
        "--watch",
        "-o",
        "json",
        "--kubeconfig",
        str(plane.kubeconfig),
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    try:
        yield program
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def _next(program: asyncio.subprocess.Process) -> dict[str, Any]:
    assert program.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        return json.loads(await program.stdout.readline())
