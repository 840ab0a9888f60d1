"""Our finalizer: added before the first side effect, removed after confirmed cleanup.

Both are guarded JSON Patches: they cannot land on a recreated object, the finalizer is never
added to one that is being deleted (S4), and other finalizers are untouched.
"""

from __future__ import annotations

from typing import Any

from konstat.base import limits
from konstat.client import Client
from konstat.errors import Conflict, NotFound, PatchRefused
from konstat.objects import codec
from konstat.objects.snapshot import Snapshot
from konstat.writing.live import read_live
from konstat.writing.overlay import Overlay
from konstat.writing.status_writer import JSON_PATCH


class Finalizer:
    """One finalizer name on objects of one kind."""

    def __init__(self, client: Client, name: str, *, field_manager: str, overlay: Overlay) -> None:
        self.name = name
        self._overlay = overlay
        self._client = client
        self._field_manager = field_manager

    def is_on(self, snapshot: Snapshot) -> bool:
        return self.name in _finalizers(snapshot)

    async def add(self, snapshot: Snapshot) -> Snapshot | None:
        """The object with our finalizer; None when it is gone, recreated or being deleted."""
        return await self._write(snapshot, wanted=True)

    async def remove(self, snapshot: Snapshot) -> Snapshot | None:
        """The object without our finalizer; None when it is gone, which is the usual end."""
        return await self._write(snapshot, wanted=False)

    async def _write(self, base: Snapshot, *, wanted: bool) -> Snapshot | None:
        view: Snapshot | None = base
        for _ in range(limits.FINALIZER_WRITE_TRIES):
            if view is None or view.uid != base.uid or (wanted and view.deleting):
                return None
            if self.is_on(view) == wanted:
                return view
            try:
                return await self._send(view, wanted=wanted)
            except NotFound:
                return None
            except PatchRefused:
                view = await read_live(self._client, base.kind, base.namespace, base.name)
        raise Conflict(
            f"finalizers of {base.ref} changed under {limits.FINALIZER_WRITE_TRIES} tries in a row",
            code=409,
            reason="Conflict",
        )

    async def _send(self, view: Snapshot, *, wanted: bool) -> Snapshot:
        with self._overlay.writing(view.kind, view.namespace, view.name):
            body = await self._client.exchange(
                "PATCH",
                view.kind.path(view.namespace, view.name),
                query=(("fieldManager", self._field_manager),),
                body=codec.encode(self._operations(view, wanted=wanted)),
                content_type=JSON_PATCH,
                request=f"{'add' if wanted else 'remove'} finalizer {self.name} of {view.ref}",
            )
            answer = Snapshot.from_json(view.kind, body)
            self._overlay.put_own(answer)
        return answer

    def _operations(self, view: Snapshot, *, wanted: bool) -> list[dict[str, Any]]:
        present = _finalizers(view)
        guard = {"op": "test", "path": "/metadata/uid", "value": view.uid}
        if not wanted:
            index = present.index(self.name)
            path = f"/metadata/finalizers/{index}"
            return [
                guard,
                {"op": "test", "path": path, "value": self.name},
                {"op": "remove", "path": path},
            ]
        alive = {"op": "test", "path": "/metadata/deletionTimestamp", "value": None}
        if present:
            return [
                guard,
                alive,
                {"op": "add", "path": "/metadata/finalizers/-", "value": self.name},
            ]
        path = "/metadata/finalizers"
        return [
            guard,
            alive,
            {"op": "test", "path": path, "value": None},
            {"op": "add", "path": path, "value": [self.name]},
        ]


def finalizers_of(snapshot: Snapshot) -> tuple[str, ...]:
    """The finalizers of an object in order."""
    return tuple(_finalizers(snapshot))


def _finalizers(snapshot: Snapshot) -> list[str]:
    return list(codec.split(snapshot.data)[0].finalizers or ())
