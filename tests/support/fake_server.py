"""A scripted server for the cache, and objects of its kind.

`FakeServer` keeps a history of revisions like etcd and answers lists and watches from it; a test
breaks it on purpose: ends streams, refuses, forgets its history, goes back in time, tells lies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import msgspec

from konstat.client.calls import Page
from konstat.client.watch import WatchEvent
from konstat.errors import Expired
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot

KIND = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")


def content_of(name: str, version: object, *, uid: str = "", namespace: str = "n", **parts: Any):
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
        **parts.pop("metadata", {}),
    }
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata, **parts}


class Stream:
    """One open watch."""

    def __init__(self, position: int, *, initial: bool, timeout_seconds: int) -> None:
        self.position = position
        self.initial = initial
        self.timeout_seconds = timeout_seconds
        self.extra: list[WatchEvent] = []
        self.failure: Exception | None = None
        self.ended = False
        self.news = asyncio.Event()

    def send(self, type_: str, content: dict[str, Any]) -> None:
        """Send an event that is not in the history."""
        self.extra.append(WatchEvent(type_, msgspec.Raw(msgspec.json.encode(content))))
        self.news.set()

    def bookmark(self, version: int, **annotations: str) -> None:
        metadata = {"resourceVersion": str(version), "annotations": annotations}
        self.send("BOOKMARK", {"kind": KIND.kind, "metadata": metadata})

    def end(self) -> None:
        self.ended = True
        self.news.set()

    def break_with(self, error: Exception) -> None:
        self.failure = error
        self.news.set()


class FakeServer:
    """Stands in for `konstat.client.Client`: its two verbs that a watcher uses."""

    def __init__(self) -> None:
        self.revision = 100
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.compacted = 0
        self.initial_events = True
        self.page_size = 1000
        self.held = False  # watches tell nothing new
        self.hidden: set[int] = set()  # revisions that watches never tell
        self.failures: list[Exception] = []  # the next requests fail with these, in order
        self.failure: Exception | None = None  # every request fails with this
        self.requests: list[str] = []
        self.streams: list[Stream] = []
        self._uids = count(1)

    # --- the world ---

    def put(self, name: str, *, namespace: str = "n", **parts: Any) -> Snapshot:
        self.revision += 1
        present = self.objects.get((namespace, name))
        uid = present["metadata"]["uid"] if present else f"uid-{next(self._uids)}"
        content = content_of(name, self.revision, uid=uid, namespace=namespace, **parts)
        self.objects[namespace, name] = content
        self._record("MODIFIED" if present else "ADDED", content)
        return Snapshot.from_content(KIND, content)

    def remove(self, name: str, *, namespace: str = "n") -> Snapshot:
        self.revision += 1
        content = self.objects.pop((namespace, name))
        metadata = {**content["metadata"], "resourceVersion": str(self.revision)}
        content = {**content, "metadata": metadata}
        self._record("DELETED", content)
        return Snapshot.from_content(KIND, content)

    def _record(self, type_: str, content: dict[str, Any]) -> None:
        self.history.append((self.revision, type_, content))
        self.wake()

    def wake(self) -> None:
        for stream in self.streams:
            stream.news.set()

    def compact(self) -> None:
        self.compacted = self.revision

    def restore(self, revision: int) -> None:
        """Go back to ``revision``, as etcd does from a backup; the history is lost."""
        self.history = [entry for entry in self.history if entry[0] <= revision]
        self.objects = {}
        for _, type_, content in self.history:
            key = (content["metadata"]["namespace"], content["metadata"]["name"])
            if type_ == "DELETED":
                self.objects.pop(key, None)
            else:
                self.objects[key] = content
        self.revision = revision

    def end_streams(self) -> None:
        for stream in self.streams:
            stream.end()

    @property
    def stream(self) -> Stream:
        return self.streams[-1]

    def asked(self, word: str) -> int:
        return sum(request.startswith(word) for request in self.requests)

    def _request(self, words: str) -> None:
        self.requests.append(words)
        if self.failures:
            raise self.failures.pop(0)
        if self.failure is not None:
            raise self.failure

    # --- the verbs ---

    async def list_page(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        limit: int = 500,
        continue_token: str = "",
        resource_version: str | None = None,
    ) -> Page:
        assert resource_version is None, "a list must be consistent (F33)"
        self._request(f"list {limit} {continue_token}".rstrip())
        version, start = (int(p) for p in (continue_token or f"{self.revision}:0").split(":"))
        if continue_token and version < self.compacted:
            raise Expired("the continue token is too old", code=410, reason="Expired")
        objects = self._objects_at(version, namespace)
        end = start + min(limit, self.page_size)
        items = [msgspec.Raw(msgspec.json.encode(content)) for content in objects[start:end]]
        more = end < len(objects)
        return Page(
            resource_version=str(version),
            continue_token=f"{version}:{end}" if more else "",
            remaining=None,
            items=items,
        )

    def _objects_at(self, version: int, namespace: str) -> list[dict[str, Any]]:
        objects: dict[tuple[str, str], dict[str, Any]] = {}
        for revision, type_, content in self.history:
            key = (content["metadata"]["namespace"], content["metadata"]["name"])
            if revision > version:
                break
            if type_ == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = content
        return [objects[key] for key in sorted(objects) if namespace in ("", key[0])]

    @asynccontextmanager
    async def watch(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        resource_version: str | None,
        timeout_seconds: int,
        send_initial_events: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        words = "stream" if send_initial_events else f"watch {resource_version}"
        self._request(words)
        position = int(resource_version or self.revision)
        stream = Stream(position, initial=send_initial_events, timeout_seconds=timeout_seconds)
        self.streams.append(stream)
        events = self._events(stream, namespace)
        try:
            yield events
        finally:
            await events.aclose()
            self.streams.remove(stream)

    async def _events(self, stream: Stream, namespace: str):
        if stream.initial:
            for content in self._objects_at(stream.position, namespace):
                yield _event("ADDED", content)
            if self.initial_events:
                metadata = {
                    "resourceVersion": str(stream.position),
                    "annotations": {"k8s.io/initial-events-end": "true"},
                }
                yield _event("BOOKMARK", {"kind": KIND.kind, "metadata": metadata})
        elif stream.position < self.compacted:
            raise Expired("too old resource version", code=410, reason="Expired")
        while True:
            stream.news.clear()
            while stream.extra:
                yield stream.extra.pop(0)
            if not self.held:
                for revision, type_, content in tuple(self.history):
                    if revision > stream.position:
                        stream.position = revision
                        inside = namespace in ("", content["metadata"]["namespace"])
                        if inside and revision not in self.hidden:
                            yield _event(type_, content)
            if stream.failure is not None:
                raise stream.failure
            if stream.ended:
                return
            await stream.news.wait()


def _event(type_: str, content: dict[str, Any]) -> WatchEvent:
    return WatchEvent(type_, msgspec.Raw(msgspec.json.encode(content)))
