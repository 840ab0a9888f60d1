"""The job in kopf: each Widget has a ConfigMap with its value, and a status that says so.

Written as a good user of kopf would: one idempotent function for creation, change and resumption;
children are watched, compared before they are applied, and put right when somebody changes them;
kopf posts no events, scans nothing, runs on uvloop and keeps its record of the last spec in the
status, which saves it a third request per change.
"""

import datetime
import os
from typing import Any

import aiohttp
import kopf

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "widgets"
LABELS = {"app.kubernetes.io/managed-by": "widgets"}
MANAGER = "kopf-widgets"
SELECTOR = ",".join(f"{name}={value}" for name, value in LABELS.items())
Key = tuple[str, str]
# As kopf is without being told otherwise, to compare.
DEFAULTS = "KOPF_DEFAULTS" in os.environ


class Children:
    """ConfigMaps: what there is, what is wanted of it, and the way to make it so."""

    def __init__(self, info: kopf.ConnectionInfo) -> None:
        self._session = aiohttp.ClientSession(
            base_url=info.server,
            connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
            headers=info.as_http_headers(),
        )
        self._present: dict[Key, tuple[int, str]] = {}
        self._wanted: dict[Key, str] = {}

    async def close(self) -> None:
        await self._session.close()

    async def read(self) -> None:
        """Learn which children there are before the first Widget is looked at."""
        query = {"labelSelector": SELECTOR}
        async with self._session.get("/api/v1/configmaps", params=query) as answer:
            answer.raise_for_status()
            for child in (await answer.json())["items"]:
                self.see(child)

    def see(self, child: Any) -> None:
        """Note what a child is like, unless that is older than what is known."""
        metadata = child["metadata"]
        key = (metadata["namespace"], metadata["name"])
        version = int(metadata["resourceVersion"])
        if version >= self._present.get(key, (0, ""))[0]:
            self._present[key] = (version, (child.get("data") or {}).get("value", ""))

    async def apply(self, body: Any, value: str) -> None:
        """Create or correct the child of a Widget; nothing is sent when it is as wanted."""
        metadata = body["metadata"]
        key = (metadata["namespace"], metadata["name"])
        self._wanted[key] = value
        if self._present.get(key, (0, ""))[1] == value:
            return
        child = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": key[1], "namespace": key[0], "labels": LABELS},
            "data": {"value": value},
        }
        kopf.append_owner_reference(child, owner=body)
        async with self._session.patch(
            f"/api/v1/namespaces/{key[0]}/configmaps/{key[1]}",
            params={"fieldManager": MANAGER, "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            json=child,
        ) as answer:
            answer.raise_for_status()
            self.see(await answer.json())

    async def changed(self, key: Key, child: Any, *, gone: bool) -> None:
        """A child is seen; one that its Widget wants otherwise is put right."""
        if gone:
            self._present.pop(key, None)
        else:
            self.see(child)
        wanted = self._wanted.get(key)
        if wanted is None or self._present.get(key, (0, ""))[1] == wanted:
            return
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{key[0]}/{PLURAL}/{key[1]}"
        async with self._session.get(path) as answer:
            if answer.status == 404:
                self._wanted.pop(key, None)
                return
            answer.raise_for_status()
            owner = await answer.json()
        await self.apply(owner, str(owner["spec"].get("value", 0)))


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.label_selectors["configmaps"] = SELECTOR
    if not DEFAULTS:
        # Saves a request per change: the default keeps it in an annotation, apart from the status.
        settings.persistence.diffbase_storage = kopf.StatusDiffBaseStorage()
    info = kopf.login_with_kubeconfig(settings=settings)
    if info is None:
        raise kopf.PermanentError("there is no kubeconfig: set KUBECONFIG")
    memo.children = Children(info)
    await memo.children.read()


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:
    await memo.children.close()


@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec")
async def reconcile(body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:
    value = int(body.spec.get("value", 0))
    await memo.children.apply(body, str(value))
    status = {
        "observedGeneration": body.metadata["generation"],
        "value": value,
        "conditions": [
            condition(body, "Ready", "Ready", "all parts are ready"),
            condition(body, "ContentReady", "Available", "the ConfigMap is as wanted"),
        ],
    }
    if any(body.status.get(field) != said for field, said in status.items()):
        patch.status.update(status)


def condition(body: kopf.Body, kind: str, reason: str, message: str) -> dict[str, Any]:
    """A condition that is True, since when it is."""
    last = {one["type"]: one for one in body.status.get("conditions", [])}.get(kind, {})
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "observedGeneration": body.metadata["generation"],
        "lastTransitionTime": last["lastTransitionTime"] if last.get("status") == "True" else now,
    }


@kopf.on.event("", "v1", "configmaps", labels=LABELS)
async def child_changed(event: Any, namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    gone = event["type"] == "DELETED"
    await memo.children.changed((namespace, name), event["object"], gone=gone)
