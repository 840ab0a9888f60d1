"""Deletion with a cleanup that waits: shown while it lasts, and ended when it is confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from story import Kubectl, Operator, eventually, keeps_contract, message, said

from konstat.client import Client
from konstat.errors import NotFound
from konstat.objects.kind import Kind

if TYPE_CHECKING:
    from story import Plane

ACCOUNTS = Path(__file__).parent / "operators/accounts.py"
ACCOUNT = Kind(group="e2e.example.com", version="v1", kind="Account", plural="accounts")
FINALIZER = "e2e.example.com/accounts"
THEIRS = "elsewhere.example.com/hold"


async def test_a_deletion_waits_for_its_cleanup_and_then_for_others(
    plane: Plane, place: str, tmp_path: Path
) -> None:
    kubectl = Kubectl(plane, place)
    running = Operator(plane.kubeconfig, tmp_path / "operator.log", target=ACCOUNTS)
    await running.start("--install-crds")
    async with plane.client() as client:
        try:
            await _lives(client, kubectl, place)
            await _waits(client, kubectl, place)
            await _goes(client, kubectl, place)
            assert await running.stop() == 0
            assert "Traceback" not in running.text()
        finally:
            await running.aclose()


async def _look(client: Client, namespace: str) -> dict[str, Any]:
    try:
        content = await client.get(ACCOUNT, "a", namespace=namespace)
    except NotFound:
        return {}
    assert keeps_contract(content)
    return content


async def _lives(client: Client, kubectl: Kubectl, namespace: str) -> None:
    async def create() -> bool:
        content = {
            "apiVersion": ACCOUNT.api_version,
            "kind": "Account",
            "metadata": {"name": "a", "finalizers": [THEIRS]},
            "spec": {},
        }
        try:
            await client.create(ACCOUNT, content, namespace=namespace)
        except NotFound:
            return False
        return True

    await eventually(create, bool)
    seen = await eventually(
        lambda: _look(client, namespace), lambda c: said(c) == {"Ready": ("True", "Ready", 1)}
    )
    # S4: the finalizer stood before the first side effect.
    assert seen["metadata"]["finalizers"] == [THEIRS, FINALIZER]
    assert seen["status"]["opened"] is True


async def _waits(client: Client, kubectl: Kubectl, namespace: str) -> None:
    await kubectl("delete", "account", "a", "--wait=false")
    seen = await eventually(
        lambda: _look(client, namespace),
        lambda c: (
            said(c)
            == {"Ready": ("False", "NotReleased", 2), "Reconciling": ("True", "NotReleased", 2)}
        ),
    )
    assert "create it to release" in message(seen, "Ready")
    assert FINALIZER in seen["metadata"]["finalizers"]


async def _goes(client: Client, kubectl: Kubectl, namespace: str) -> None:
    # The watched ConfigMap wakes the cleanup; then the foreign finalizer is what is left.
    await kubectl("create", "configmap", "a")
    seen = await eventually(
        lambda: _look(client, namespace),
        lambda c: (
            c != {}
            and c["metadata"].get("finalizers") == [THEIRS]
            and "Ready" in said(c)
            and said(c)["Ready"][1] == "Terminating"
        ),
    )
    assert said(seen)["Reconciling"] == ("True", "Terminating", 2)
    assert THEIRS in message(seen, "Ready")
    patch = json.dumps([{"op": "remove", "path": "/metadata/finalizers/0"}])
    await kubectl("patch", "account", "a", "--type=json", "-p", patch)
    await eventually(lambda: _look(client, namespace), lambda c: c == {})
