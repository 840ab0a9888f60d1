"""`konstat wait` and `konstat explain` beside both servers, as processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from story import PATIENCE_SECONDS, Kubectl, eventually, nodes

from konstat.client import Client
from konstat.kinds import ConfigMap, CustomResourceDefinition, Deployment
from konstat.objects.kind import Kind

if TYPE_CHECKING:
    from story import Plane

GADGET = Kind(group="wait.konstat.dev", version="v1", kind="WaitGadget", plural="waitgadgets")


class Cluster:
    """A server with nodes, and `konstat` called for one namespace of it."""

    def __init__(self, client: Client, plane: Plane, place: str) -> None:
        self.client = client
        self.place = place
        self._plane = plane

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        place = ("-n", self.place, "--kubeconfig", str(self._plane.kubeconfig))
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "konstat.cli.main", *arguments, *place),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def konstat(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        return await ended(await self.start(*arguments))

    async def create_deployment(self, name: str, *, image: str) -> None:
        labels = {"app": name}
        spec = {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        }
        metadata = {"name": name, "namespace": self.place}
        await self.client.create(Deployment, {"metadata": metadata, "spec": spec})


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    """Exit status, and what is still to be read of standard output and standard error."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


@pytest.fixture
async def cluster(plane: Plane, place: str) -> AsyncIterator[Cluster]:
    async with plane.client() as client, nodes(client):
        yield Cluster(client, plane, place)


async def test_ready_comes_about_also_for_what_is_created_later(cluster: Cluster) -> None:
    waiting = await cluster.start("wait", "deploy/web", "--timeout=50s")
    assert waiting.stderr is not None
    first = (await waiting.stderr.readline()).decode()
    assert first.startswith(f"waiting: Deployment web does not exist in namespace {cluster.place}")
    await cluster.create_deployment("web", image="nginx:1")
    status, out, errors = await ended(waiting)
    assert (status, out) == (0, f"Deployment {cluster.place}/web is ready\n"), errors
    status, out, _ = await cluster.konstat("explain", "deploy", "web")
    assert status == 0
    assert out.startswith(f"+ Deployment {cluster.place}/web is Ready (Available)\n")


async def test_a_wait_ends_early_when_it_is_doomed(cluster: Cluster) -> None:
    await cluster.create_deployment("bad", image="registry.invalid/nope:1")
    status, out, errors = await cluster.konstat(
        "wait", "deployments", "--timeout=50s", "--patience=0.2s"
    )
    assert (status, out) == (1, "")
    assert f"{cluster.place}/bad will not be ready: Failed (ImagePullFailed)" in errors
    assert errors.rstrip().endswith("(the user must act)")
    status, out, _ = await cluster.konstat("explain", "deploy/bad")
    assert status == 1
    assert "because\n  `- x ReplicaSet bad-" in out


async def test_a_stuck_deletion_runs_into_the_timeout_and_names_the_finalizer(
    cluster: Cluster,
) -> None:
    name, place = "guarded", cluster.place
    metadata = {"name": name, "namespace": place, "finalizers": ["example.com/guard"]}
    await cluster.client.create(ConfigMap, {"metadata": metadata})
    await cluster.client.delete(ConfigMap, name, namespace=place)
    status, _, errors = await cluster.konstat("wait", f"cm/{name}", "--for=gone", "--timeout=0.5s")
    assert status == 2
    assert "not gone within 0.5s:\n" in errors
    assert "example.com/guard" in errors
    patch = {"metadata": {"finalizers": None}}
    await cluster.client.patch(ConfigMap, name, patch, type="merge", namespace=place)
    status, out, _ = await cluster.konstat("wait", f"cm/{name}", "--for=gone")
    assert (status, out) == (0, f"ConfigMap {name} does not exist in namespace {place}\n")


async def test_what_is_absent_is_missing_and_words_nobody_knows_are_errors(
    cluster: Cluster,
) -> None:
    status, out, _ = await cluster.konstat("explain", "deploy", "absent")
    assert status == 1
    assert out.startswith(f"! Deployment {cluster.place}/absent is Missing (NotFound)")
    for command in ("explain", "wait"):
        status, _, errors = await cluster.konstat(command, "deploymnt")
        assert status == 3
        assert "did you mean deployment" in errors
    status, _, errors = await cluster.konstat("wait", "deploy/absent", "--timeout=0")
    assert status == 2
    assert f"Deployment absent does not exist in namespace {cluster.place}" in errors


def _definition() -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": GADGET.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": anything},
    }
    return {
        "metadata": {"name": f"{GADGET.plural}.{GADGET.group}"},
        "spec": {
            "group": GADGET.group,
            "scope": "Namespaced",
            "names": {"plural": GADGET.plural, "singular": "waitgadget", "kind": GADGET.kind},
            "versions": [version],
        },
    }


async def test_generations_count_where_kubectl_wait_is_content(
    cluster: Cluster, plane: Plane
) -> None:
    """After a restore the observed generation is ahead of the object's own."""
    client, place = cluster.client, cluster.place
    await client.create(CustomResourceDefinition, _definition())

    async def serves() -> bool:
        found = await client.get(CustomResourceDefinition, f"{GADGET.plural}.{GADGET.group}")
        return any(c.type == "Established" and c.status == "True" for c in found.status.conditions)

    await eventually(serves, bool)
    metadata = {"name": "restored", "namespace": place}
    await client.create(GADGET, {"metadata": metadata, "spec": {"size": 1}})
    status = {"observedGeneration": 7, "conditions": [{"type": "Ready", "status": "True"}]}
    body = {"status": status}
    await client.patch(
        GADGET, "restored", body, type="merge", subresource="status", namespace=place
    )
    kubectl = Kubectl(plane, place)
    await kubectl("wait", "--for=condition=Ready", "waitgadget/restored", "--timeout=5s")
    for goal in ("ready", "condition=Ready"):
        code, _, errors = await cluster.konstat(
            "wait", "waitgadgets/restored", f"--for={goal}", "--timeout=0"
        )
        assert code == 2, errors
        assert "generation" in errors
    status["observedGeneration"] = 1
    await client.patch(
        GADGET, "restored", body, type="merge", subresource="status", namespace=place
    )
    for goal in ("ready", "condition=Ready"):
        code, _, errors = await cluster.konstat("wait", "waitgadgets/restored", f"--for={goal}")
        assert code == 0, errors
    await client.delete(CustomResourceDefinition, f"{GADGET.plural}.{GADGET.group}")
