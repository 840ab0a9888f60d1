"""Who takes part in the storm beside the operator: the editor, the foreign writer, the record.

`bench.storm` and the end-to-end tests put them together on one object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from bench.storm_operator import Stone
from konstat.base import clock
from konstat.client import Client
from konstat.errors import Conflict, TransportError
from konstat.objects import codec
from konstat.status import contract
from konstat.status.condition import find

KIND: Final = Stone.kind
THEIRS: Final = "SeenByTheirs"
WATCH_SECONDS: Final = 600
# Several times what a busy controller does to one object.
FOREIGN_PER_SECOND: Final = 50.0


class Editor:
    """Changes the spec of one object; ``value`` is what it said last."""

    def __init__(self, client: Client, name: str, *, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self.value = 0
        self.generation = 1

    async def create(self) -> None:
        """The object to begin with."""
        content = {"metadata": {"name": self._name}, "spec": {"value": self.value}}
        await self._client.create(KIND, content, namespace=self._namespace)

    async def edit(self, count: int, *, per_second: float = 0.0) -> float:
        """That many edits, at that rate or (0) one after the other; how long they took."""
        begun = clock.monotonic()
        for number in range(count):
            if per_second:
                await clock.sleep(max(0.0, begun + number / per_second - clock.monotonic()))
            self.value += 1
            patch = {"spec": {"value": self.value}}
            answer = await self._client.patch(
                KIND, self._name, patch, type="merge", namespace=self._namespace
            )
            self.generation = answer["metadata"]["generation"]
        return clock.monotonic() - begun

    async def read(self) -> dict[str, Any]:
        """The object as the server has it."""
        return await self._client.get(KIND, self._name, namespace=self._namespace)

    def is_right(self, content: Mapping[str, Any]) -> bool:
        """Whether the status is that of the last spec, all of it."""
        status = content.get("status") or {}
        ours = [c for c in status.get("conditions") or [] if c["type"] != THEIRS]
        ready = find(ours, "Ready") or {}
        return (
            content["metadata"]["generation"] == self.generation
            and status.get("observedGeneration") == self.generation
            and status.get("value") == self.value
            and ready.get("status") == "True"
            and all(c.get("observedGeneration") == self.generation for c in ours)
        )


class ForeignWriter:
    """Adds and removes a condition of its own, under the lock of the resourceVersion.

    Each read shows whether what it wrote last is still so: ``lost`` counts entries that it added
    and finds gone or changed, ``brought_back`` those that it removed and finds there again.
    """

    def __init__(self, client: Client, name: str, *, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._wrote: dict[str, Any] | None = None
        self._stopped = False
        self.writes = self.conflicts = self.lost = self.brought_back = 0

    async def run(self) -> None:
        """Write, up to so many times a second, until stopped; the last look only judges."""
        while not self._stopped:
            due = clock.monotonic() + 1 / FOREIGN_PER_SECOND
            await self._turn()
            await clock.sleep(max(0.0, due - clock.monotonic()))
        self._judge(find((await self._read()).get("status", {}).get("conditions") or [], THEIRS))

    def stop(self) -> None:
        """End after the write in hand: one whose answer is not awaited cannot be judged."""
        self._stopped = True

    async def _read(self) -> dict[str, Any]:
        return await self._client.get(KIND, self._name, namespace=self._namespace)

    async def _turn(self) -> None:
        """Read, judge, and write the other of the two states."""
        content = await self._read()
        status = content.setdefault("status", {})
        conditions = status.get("conditions") or []
        present = find(conditions, THEIRS)
        self._judge(present)
        self._wrote = present if present is None else dict(present)
        wanted = None if present is not None else self._entry()
        others = [c for c in conditions if c["type"] != THEIRS]
        status["conditions"] = others if wanted is None else [*others, wanted]
        try:
            await self._client.replace(
                KIND, content, namespace=self._namespace, subresource="status"
            )
        except Conflict:
            self.conflicts += 1
        else:
            self._wrote = wanted
            self.writes += 1

    def _judge(self, present: Mapping[str, Any] | None) -> None:
        if self._wrote is None:
            self.brought_back += present is not None
        else:
            self.lost += present != self._wrote

    def _entry(self) -> dict[str, Any]:
        return {
            "type": THEIRS,
            "status": "True",
            "reason": "Seen",
            "message": f"write {self.writes}",
            "lastTransitionTime": clock.timestamp(clock.now()),
        }


class Record:
    """Watches one object and judges every step of its status.

    ``status_writes`` counts the changes of what the operator owns; ``backwards`` says where
    observedGeneration or the generation of a condition went back, ``broken`` which rules of
    `konstat.status.contract` a state or a step broke.
    """

    def __init__(self, client: Client, name: str, *, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._last: dict[str, Any] = {}
        self.steps = self.status_writes = 0
        self.backwards: list[str] = []
        self.broken: Counter[str] = Counter()

    async def run(self) -> None:
        """Watch until cancelled; raises Expired when it was too slow to see everything."""
        content = await self._client.get(KIND, self._name, namespace=self._namespace)
        self._last = content
        version = content["metadata"]["resourceVersion"]
        while True:
            with suppress(TransportError):
                async with self._client.watch(
                    KIND,
                    namespace=self._namespace,
                    resource_version=version,
                    timeout_seconds=WATCH_SECONDS,
                    field_selector=f"metadata.name={self._name}",
                ) as events:
                    async for event in events:
                        content = codec.decode(event.object)
                        version = content["metadata"]["resourceVersion"]
                        if event.type != "BOOKMARK":
                            self._step(content)

    def _step(self, content: dict[str, Any]) -> None:
        self.steps += 1
        before, self._last = self._last, content
        if _ours(before) != _ours(content):
            self.status_writes += 1
        was, now = _generations(before), _generations(content)
        for name in was.keys() & now.keys():
            if now[name] < was[name]:
                self.backwards.append(f"{name} went from {was[name]} to {now[name]}")
        for violation in (*contract.check(content), *contract.check_step(before, content)):
            if THEIRS not in violation.path:
                self.broken[str(violation)] += 1


def _ours(content: Mapping[str, Any]) -> dict[str, Any]:
    status = dict(content.get("status") or {})
    status["conditions"] = [c for c in status.get("conditions") or [] if c["type"] != THEIRS]
    return status


def _generations(content: Mapping[str, Any]) -> dict[str, int]:
    status = content.get("status") or {}
    found = {"observedGeneration": status.get("observedGeneration")}
    for entry in status.get("conditions") or []:
        if entry["type"] != THEIRS:
            found[entry["type"]] = entry.get("observedGeneration")
    return {name: value for name, value in found.items() if isinstance(value, int)}
