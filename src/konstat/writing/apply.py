"""Apply one child so that it is what its owner wants, sending nothing when it already is.

Whether it already is, is decided from two things: the hash of the manifest that we applied last,
kept on the child as an annotation, shows that our wish changed (removed fields included); the
comparison of every applied field with the cached child shows that somebody else changed it.

Server-side apply, first without force: where another manager holds a field the server names it,
we report it and take the field back (design §3). A child is written only if our owner's uid
controls it, and only under the uid that was judged.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from konstat.base import clock, limits
from konstat.cache import Store
from konstat.client import Client
from konstat.errors import Conflict, FieldReverted, FormerChild, Invalid, ManifestError
from konstat.objects import codec
from konstat.objects.diff import Difference, differences
from konstat.objects.kind import Kind
from konstat.objects.shape import Shape
from konstat.objects.snapshot import Snapshot
from konstat.writing.delete import delete_child
from konstat.writing.live import read_live
from konstat.writing.manifest import Owner, hash_of, hash_on, prepare, refuse_namesake
from konstat.writing.values import find_unwritable, refuse_unwritable

# As the server words an apply conflict: conflict with "kubectl" with subresource "scale" using …
_MANAGER = re.compile(r'conflict with "([^"]+)"')

APPLY_PATCH = "application/apply-patch+yaml"

OnConflict = Literal["take", "report"]
OnImmutable = Literal["fail", "recreate"]


class Note(msgspec.Struct, frozen=True):
    """Something that people should hear of: becomes an Event on the owner."""

    reason: str
    message: str
    warning: bool = False


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """A child as it is now, and what was done to make it so."""

    snapshot: Snapshot
    action: Literal["held", "created", "updated", "corrected", "recreating", "recreated"]
    notes: tuple[Note, ...] = ()


class _History(msgspec.Struct):
    """What we know of earlier writes to one child: reverts, and recent corrections."""

    reverted_hash: str = ""
    reverted: tuple[Difference, ...] = ()
    corrections: deque[float] = msgspec.field(default_factory=deque)


class _Wish(msgspec.Struct, frozen=True, kw_only=True):
    """One prepared manifest and how it may be brought about."""

    wanted: dict[str, Any]
    store: Store
    shape: Shape | None
    on_conflict: OnConflict
    on_immutable: OnImmutable

    @property
    def hash(self) -> str:
        return hash_of(self.wanted)

    def drift(self, live: Snapshot) -> list[Difference]:
        """The applied fields that the child does not hold."""
        return differences(self.wanted, live.content, shape=self.shape)


class Applier:
    """Applies children of one controller under one field manager."""

    def __init__(self, client: Client, *, field_manager: str) -> None:
        self._client = client
        self._field_manager = field_manager
        self._histories: OrderedDict[str, _History] = OrderedDict()

    async def apply(
        self,
        manifest: Mapping[str, Any],
        *,
        kind: Kind,
        owner: Owner,
        store: Store,
        shape: Shape | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
    ) -> Applied:
        """Make the child hold ``manifest`` and return it as it is now.

        ``shape`` tells which lists of a kind that is not built in are maps or sets.
        Raises ManifestError, NamesakeError (the name is taken by an object that another uid
        controls), FieldReverted (the server or a rival undoes what we apply), and the server's
        APIError, with ``on_conflict="report"`` also Conflict naming the other manager.
        """
        wish = _Wish(
            wanted=prepare(manifest, kind=kind, owner=owner),
            store=store,
            shape=shape,
            on_conflict=on_conflict,
            on_immutable=on_immutable,
        )
        metadata = wish.wanted["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        live = store.get(namespace, name)
        for _ in range(limits.APPLY_TRIES):
            if live is None:
                live = await read_live(self._client, kind, namespace, name)
            try:
                if live is not None:
                    refuse_namesake(live, owner)
                return await self._converge(wish, live)
            except FormerChild:
                assert live is not None
                await self._remove_former(live, owner, store)
                live = None
            except (Conflict, Invalid) as error:
                if not _is_moved(error):
                    raise
                live = None
        raise Conflict(
            f"{kind.kind} {name} changed under {limits.APPLY_TRIES} tries in a row",
            code=409,
            reason="Conflict",
        )

    async def _converge(self, wish: _Wish, live: Snapshot | None) -> Applied:
        if live is None:
            snapshot, notes = await self._write(wish, None)
            return await self._verify(
                wish, Applied(snapshot=snapshot, action="created", notes=notes)
            )
        if live.deleting:
            return Applied(snapshot=live, action="held")
        same_wish = hash_on(live) == wish.hash
        drift: list[Difference] = []
        if same_wish:  # otherwise there is something to send whatever the child holds
            drift = wish.drift(live)
            if not drift:
                return Applied(snapshot=live, action="held")
            self._refuse_endless(wish, live, drift)
        try:
            snapshot, notes = await self._write(wish, live)
        except Invalid as error:
            if _is_moved(error) or not _is_immutable(error):
                raise
            if wish.on_immutable == "fail":
                raise _unchangeable(live, error) from error
            return await self._recreate(wish, live, error)
        if same_wish:
            # Only what we did put back counts: an apply that is refused is no fight.
            self._history(live.uid).corrections.append(clock.monotonic())
            notes = (_correction_note(live, drift, notes),)
            return await self._verify(
                wish, Applied(snapshot=snapshot, action="corrected", notes=notes)
            )
        self._histories.pop(snapshot.uid, None)
        return await self._verify(wish, Applied(snapshot=snapshot, action="updated", notes=notes))

    async def _write(self, wish: _Wish, live: Snapshot | None) -> tuple[Snapshot, tuple[Note, ...]]:
        """Send one apply; where another manager holds a field, take it and say so."""
        body = wish.wanted
        refuse_unwritable(body, f"{body['kind']} {body['metadata']['name']}")
        if live is not None:
            # A uid makes the apply refuse to recreate, or to land on a recreated namesake.
            body = {**body, "metadata": {**body["metadata"], "uid": live.uid}}
        metadata, store = body["metadata"], wish.store
        notes: tuple[Note, ...] = ()
        with store.writing(
            metadata.get("namespace", ""), metadata["name"], writer=self._field_manager
        ):
            try:
                snapshot = await self._send(body, store.kind, force=False)
            except Conflict as error:
                managers = _managers(error)
                if not managers or wish.on_conflict == "report":
                    raise
                snapshot = await self._send(body, store.kind, force=True)
                text = f"{store.kind.kind} {snapshot.name}: took back {managers}"
                notes = (Note("FieldsTaken", text, warning=True),)
            store.put_own(snapshot, writer=self._field_manager)
        return snapshot, notes

    async def _send(self, body: dict[str, Any], kind: Kind, *, force: bool) -> Snapshot:
        metadata = body["metadata"]
        answer = await self._client.exchange(
            "PATCH",
            kind.path(metadata.get("namespace", ""), metadata["name"]),
            query=(
                ("fieldManager", self._field_manager),
                ("force", "true" if force else "false"),
                ("fieldValidation", "Strict"),
            ),
            body=codec.encode(body),
            content_type=APPLY_PATCH,
            request=f"apply {kind.kind} {metadata['name']}",
        )
        return Snapshot.from_json(kind, answer)

    async def _verify(self, wish: _Wish, applied: Applied) -> Applied:
        """Does the answer hold what we sent? If not, try once more; then stop and report."""
        if not wish.drift(applied.snapshot):
            return applied
        again, _ = await self._write(wish, applied.snapshot)
        drift = wish.drift(again)
        if not drift:
            return msgspec.structs.replace(applied, snapshot=again)
        find_unwritable(wish.wanted, f"{again.kind.kind} {again.name}")
        history = self._history(again.uid)
        history.reverted_hash, history.reverted = wish.hash, tuple(drift)
        raise _reverted(again, drift)

    def _refuse_endless(self, wish: _Wish, live: Snapshot, drift: list[Difference]) -> None:
        """Do not repeat what was undone twice, nor fight a rival without end."""
        history = self._history(live.uid)
        if history.reverted_hash == wish.hash and history.reverted == tuple(drift):
            raise _reverted(live, drift)
        corrections, present = history.corrections, clock.monotonic()
        while corrections and corrections[0] < present - limits.CONTESTED_WINDOW_SECONDS:
            corrections.popleft()
        if len(corrections) >= limits.CONTESTED_CORRECTIONS:
            raise FieldReverted(
                f"{live.ref}: {_paths(drift)} was changed {len(corrections)} times within"
                f" {limits.CONTESTED_WINDOW_SECONDS:.0f} s by another writer: find out who writes"
                " it, or stop applying the field"
            )

    async def _remove_former(self, live: Snapshot, owner: Owner, store: Store) -> None:
        """Delete what a deleted resource of our name left behind, as garbage collection would.

        The name tells nothing about who came first: only if the server, asked now, has our uid
        under the name, the other uid is dead (S2). Raises FormerChild otherwise, and while
        finalizers hold the child.
        """
        name = owner.reference.name
        present = await read_live(self._client, owner.kind, owner.namespace, name)
        if present is None or present.uid != owner.reference.uid:
            raise FormerChild(
                f"{live.ref} belongs to another {owner.kind.kind} {name}: we are late"
            )
        if not await delete_child(self._client, live, store, writer=self._field_manager):
            refuse_namesake(live, owner)

    async def _recreate(self, wish: _Wish, live: Snapshot, error: Invalid) -> Applied:
        """Delete a child whose immutable field must change, and make it anew.

        While finalizers hold the old one, its end triggers the next attempt.
        """
        fields = ", ".join(cause.field for cause in error.causes) or error.message
        text = f"{live.ref}: an immutable field must change ({fields})"
        notes = (Note("Recreating", text, warning=True),)
        if not await delete_child(self._client, live, wish.store, writer=self._field_manager):
            return Applied(snapshot=live, action="recreating", notes=notes)
        snapshot, _ = await self._write(wish, None)
        return Applied(snapshot=snapshot, action="recreated", notes=notes)

    def _history(self, uid: str) -> _History:
        history = self._histories.setdefault(uid, _History())
        self._histories.move_to_end(uid)
        while len(self._histories) > limits.APPLY_HISTORIES:
            self._histories.popitem(last=False)
        return history


def _managers(error: Conflict) -> str:
    """``.spec.replicas from kubectl-edit``, for each apply conflict; empty for other conflicts."""
    texts: list[str] = []
    for cause in error.causes:
        if cause.reason == "FieldManagerConflict":
            found = _MANAGER.search(cause.message)
            texts.append(f"{cause.field} from {found[1] if found else 'another manager'}")
    shown = texts[: limits.MESSAGE_CAUSES]
    rest = len(texts) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _is_moved(error: Conflict | Invalid) -> bool:
    """Whether the child was deleted (409) or recreated (422 on the uid) under us."""
    if isinstance(error, Conflict):
        return not _managers(error)
    return any(cause.field == "metadata.uid" for cause in error.causes)


def _is_immutable(error: Invalid) -> bool:
    return any("immutable" in cause.message for cause in error.causes)


def _unchangeable(live: Snapshot, error: Invalid) -> ManifestError:
    """The server's text holds the whole field in Go's words; what helps is which and what to do."""
    fields = ", ".join(c.field for c in error.causes if "immutable" in c.message)
    return ManifestError(
        f"{live.ref}: {fields} cannot be changed once it is set: keep the old value, or pass"
        ' on_immutable="recreate" to context.apply to delete and re-create the object'
    )


def _correction_note(live: Snapshot, drift: list[Difference], taken: tuple[Note, ...]) -> Note:
    by = f" ({taken[0].message.partition(': ')[2]})" if taken else ""
    return Note(
        "Corrected", f"{live.ref}: {_paths(drift)} did not hold and was put back{by}", warning=True
    )


def _paths(drift: list[Difference]) -> str:
    shown = ", ".join(d.path for d in drift[: limits.MESSAGE_CAUSES])
    rest = len(drift) - limits.MESSAGE_CAUSES
    return shown + (f" and {rest} more" if rest > 0 else "")


def _reverted(live: Snapshot, drift: list[Difference]) -> FieldReverted:
    first = drift[0]
    values = ""
    if live.kind.kind != "Secret":  # values of Secrets never reach a message
        values = (
            f" ({first.path} is sent as {_short(first.wanted)}, read back as {_short(first.live)})"
        )
    return FieldReverted(
        f"{live.ref}: {_paths(drift)} was undone twice by the server or a webhook{values}:"
        " apply what the server keeps, or find the webhook that changes it"
    )


def _short(value: Any) -> str:
    text = codec.encode(value).decode() if value is not None else "absent"
    return text if len(text) <= 60 else text[:59] + "…"
