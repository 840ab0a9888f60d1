"""What happened in a namespace, in a form that two control planes can be compared by.

A `Story` watches kinds and keeps the sequence of conditions of each object; `plain` strips an
object of what differs from run to run (names that are random, times, addresses, nodes).
"""

from __future__ import annotations

import asyncio
import difflib
import json
import pprint
import re
from collections.abc import Awaitable, Callable
from typing import Any

from konstat.base import clock
from konstat.base.tasks import Tasks
from konstat.client.api import Client
from konstat.errors import NotFound
from konstat.nodes import NodeActor
from konstat.objects.kind import Kind

EVENT = Kind(group="events.k8s.io", version="v1", kind="Event", plural="events")

_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]"
_HASHES = re.compile(rf"-{_LETTERS}{{8,10}}(?={_LETTERS}|\b)")
_SUFFIXES = re.compile(rf"-{_LETTERS}{{5}}\b")
_UIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESSES = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")
_NODES = re.compile(r"\bnode-[a-z0-9]{5}-\d+\b")
_BARE_HASHES = re.compile(rf'"{_LETTERS}{{8,10}}"')
_DROPPED = {
    "uid",
    "resourceVersion",
    "managedFields",
    "creationTimestamp",
    "serviceAccount",
    "serviceAccountName",
    "volumeMounts",
    "containerID",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "clusterIP",
    "clusterIPs",
}


async def until(
    look: Callable[[], Awaitable[Any]], *, what: str = "", seconds: float = 60.0
) -> Any:
    """Wait until ``look`` gives something true; an object that is not there counts as not yet."""
    deadline = clock.monotonic() + seconds
    while True:
        try:
            found = await look()
        except NotFound:
            found = None
        if found:
            return found
        assert clock.monotonic() < deadline, f"not within {seconds:.0f} s: {what or look}"
        await clock.sleep(0.05)


def difference(expected: Any, found: Any) -> str:
    """Where two results differ, line by line."""
    texts = [pprint.pformat(value, width=120).splitlines() for value in (expected, found)]
    lines = difflib.unified_diff(*texts, "real", "actors", lineterm="", n=8)
    return "\n".join(lines)


def plain(obj: Any, *, namespace: str = "") -> Any:
    """``obj`` without what differs from run to run."""
    text = json.dumps(_without(obj))
    for pattern, word in (
        (_UIDS, "UID"),
        (_TIMES, "TIME"),
        (_ADDRESSES, "ADDRESS"),
        (_NODES, "NODE"),
        (_BARE_HASHES, '"HASH"'),
        (_HASHES, "-HASH"),
        (_SUFFIXES, "-SUFFIX"),
    ):
        text = pattern.sub(word, text)
    return json.loads(text.replace(namespace, "NAMESPACE") if namespace else text)


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {
            key: _without(entry)
            for key, entry in value.items()
            if key not in _DROPPED and not (key == "volumes" and _is_token(entry))
        }
        return {key: entry for key, entry in kept.items() if entry not in (None, {}, [])}
    return [_without(entry) for entry in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _is_token(volumes: Any) -> bool:
    return all(str(v.get("name", "")).startswith("kube-api-access-") for v in volumes)


class Story:
    """Watches kinds in one namespace from its start."""

    def __init__(self, client: Client, tasks: Tasks, *, nodes: NodeActor) -> None:
        self.client = client
        self.nodes = nodes
        self.node_prefix = nodes.options.name_prefix
        self.namespace = client.namespace
        self._tasks = tasks
        self._conditions: dict[tuple[str, str], dict[str, list[tuple[str, ...]]]] = {}

    async def watch(self, *kinds: Kind) -> None:
        """Keep the conditions that objects of ``kinds`` have from now on."""
        for kind in kinds:
            opened = asyncio.Event()
            self._tasks.start(self._follow(kind, opened), name=f"story of {kind.kind}")
            await opened.wait()

    async def _follow(self, kind: Kind, opened: asyncio.Event) -> None:
        async with self.client.watch(
            kind, namespace=self.namespace, resource_version="0", timeout_seconds=300
        ) as events:
            opened.set()
            async for event in events:
                if event.type in ("ADDED", "MODIFIED"):
                    self._take(kind, json.loads(bytes(event.object)))

    def _take(self, kind: Kind, obj: dict[str, Any]) -> None:
        named = (kind.kind, plain({"n": obj["metadata"]["name"]})["n"])
        kept = self._conditions.setdefault(named, {})
        for condition in (obj.get("status") or {}).get("conditions") or ():
            step = (condition["status"], condition.get("reason", ""))
            sequence = kept.setdefault(condition["type"], [])
            if not sequence or sequence[-1] != step:
                sequence.append(step)

    @property
    def conditions(self) -> dict[tuple[str, str], dict[str, list[tuple[str, ...]]]]:
        """The sequence of (status, reason) of each condition of each object.

        Without the steps that a fast rollout passes unseen.
        """
        return {
            named: {
                type: [step for step in steps if step[1] != "ReplicaSetUpdated"]
                for type, steps in kept.items()
            }
            for named, kept in self._conditions.items()
        }

    async def objects(self, *kinds: Kind) -> list[Any]:
        """The objects that are there, as `plain`, in an order of their own."""
        found = [
            plain(obj, namespace=self.namespace)
            for kind in kinds
            for obj in await self.client.list(kind, namespace=self.namespace)
        ]
        for obj in found:
            obj.get("endpoints", []).sort(key=_text)
        return sorted(found, key=_text)

    async def events(self, *reasons: str) -> set[tuple[str, ...]]:
        """What events say: kind, name, type, reason and note, each once."""
        found: set[tuple[str, ...]] = set()
        for event in await self.client.list(EVENT, namespace=self.namespace):
            about = plain(event["regarding"])
            note = str(plain({"n": event.get("note")}, namespace=self.namespace).get("n"))
            if reasons and event["reason"] not in reasons:
                continue
            note = note.removeprefix("(combined from similar events): ")
            found.add((about["kind"], about["name"], event["type"], event["reason"], note))
        return found
