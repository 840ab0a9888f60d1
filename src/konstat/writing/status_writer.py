"""One guarded write of ``/status`` per attempt, and none when nothing changed.

Comes after `konstat.status.settle`; the patch itself is planned by `konstat.status.patch`.
A refusal without causes means that the world is not as it was read: the object is read again and
the patch planned anew, a bounded number of times. A write whose answer was lost is treated the
same way, so it is never sent blindly twice (F25).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.client import Client
from konstat.errors import (
    APIError,
    Conflict,
    Invalid,
    NotFound,
    PatchRefused,
    RequestTooLarge,
    ServerTimeout,
    TransportError,
    UserError,
)
from konstat.objects import codec
from konstat.objects.snapshot import Snapshot
from konstat.status import Plan, Settlement, plan, refused
from konstat.writing.live import read_live
from konstat.writing.overlay import Overlay

log = logging.getLogger("konstat.status")

JSON_PATCH = "application/json-patch+json"


class Written(StrEnum):
    """What became of a status write."""

    UNCHANGED = "unchanged"  # the stored status says it already: no request
    WRITTEN = "written"
    REDUCED = "reduced"  # the server refused the whole; the smaller honest status is stored
    GONE = "gone"  # the object is deleted or recreated under another uid
    SUPERSEDED = "superseded"  # another instance knows of a newer generation, or knows more of ours


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a write; ``problem`` says why it is not simply WRITTEN."""

    written: Written
    problem: str = ""


class StatusSubresourceMissing(UserError):
    """The CRD on the cluster has no status subresource, so status cannot be told from spec."""


class StatusWriter:
    """Writes settled statuses of one kind.

    ``overlay`` shows the server's answers to the next attempts.
    """

    def __init__(self, client: Client, *, field_manager: str, overlay: Overlay) -> None:
        self._client = client
        self._field_manager = field_manager
        self._overlay = overlay
        # Fields that this cluster's CRD does not declare are pruned silently with 200 (F57).
        self._pruned: set[str] = set()

    @property
    def pruned(self) -> frozenset[str]:
        """Encoded names of status fields that the server's schema does not keep."""
        return frozenset(self._pruned)

    async def write(self, base: Snapshot, settlement: Settlement) -> WriteResult:
        """Bring the stored status of ``base`` to ``settlement``.

        Raises APIError or TransportError when the server cannot be written to at all, and
        StatusSubresourceMissing.
        """
        view = base
        problem = ""
        for _ in range(limits.STATUS_WRITE_TRIES):
            if view.uid != base.uid:
                return WriteResult(written=Written.GONE)
            wanted = self._plan(view, settlement)
            if wanted is None:
                return WriteResult(written=Written.SUPERSEDED)
            if not wanted.operations:
                written = Written.REDUCED if problem else Written.UNCHANGED
                return WriteResult(written=written, problem=problem)
            try:
                answer = await self._send(base, wanted)
            except (PatchRefused, Conflict, ServerTimeout, TransportError) as error:
                if isinstance(error, TransportError) and not error.sent:
                    raise
                log.debug("status of %s moved or its answer was lost: %s", base.ref, error)
            except NotFound:
                return await self._explain_absence(base)
            except (Invalid, RequestTooLarge) as error:
                if not _is_duplicate(error):
                    if problem:
                        raise
                    problem = str(error)
                    settlement = _reduced(settlement, error)
                    continue
            else:
                self._notice_pruning(answer, wanted)
                written = Written.REDUCED if problem else Written.WRITTEN
                return WriteResult(written=written, problem=problem)
            again = await read_live(self._client, base.kind, base.namespace, base.name)
            if again is None:
                return WriteResult(written=Written.GONE)
            view = again
        raise Conflict(
            f"status of {base.ref} changed under {limits.STATUS_WRITE_TRIES} tries in a row",
            code=409,
            reason="Conflict",
        )

    def _plan(self, view: Snapshot, settlement: Settlement) -> Plan | None:
        """None when what is stored is later knowledge than ours."""
        stored = view.status
        if stored is not None and _is_superseded(stored, settlement, view.generation):
            return None
        if self._pruned:
            fields = {k: v for k, v in settlement.fields.items() if k not in self._pruned}
            settlement = msgspec.structs.replace(settlement, fields=fields)
        return plan(stored, settlement, uid=view.uid, now=clock.now())

    async def _send(self, base: Snapshot, wanted: Plan) -> Snapshot:
        with self._overlay.writing(base.kind, base.namespace, base.name):
            body = await self._client.exchange(
                "PATCH",
                base.kind.path(base.namespace, base.name, "status"),
                query=(("fieldManager", self._field_manager),),
                body=codec.encode(wanted.operations),
                content_type=JSON_PATCH,
                request=f"write the status of {base.ref}",
            )
            answer = Snapshot.from_json(base.kind, body)
            self._overlay.put_own(answer)
        return answer

    async def _explain_absence(self, base: Snapshot) -> WriteResult:
        """404 on ``/status``: the object is gone, or the kind has no such subresource."""
        there = await read_live(self._client, base.kind, base.namespace, base.name)
        if there is None or there.uid != base.uid:
            return WriteResult(written=Written.GONE)
        raise StatusSubresourceMissing(
            f"{base.kind.resource} is installed without a status subresource: install the CRD that"
            " `konstat crd` prints (or run with --install-crds)"
        )

    def _notice_pruning(self, answer: Snapshot, wanted: Plan) -> None:
        kept = answer.status or {}
        lost = {name for name in wanted.status if name not in kept} - self._pruned
        if not lost:
            return
        self._pruned |= lost
        log.error(
            "%s: the CRD on the cluster does not declare status field(s) %s, so the server drops"
            " them; install the CRD that `konstat crd` prints",
            answer.kind.resource,
            ", ".join(sorted(lost)),
        )


def _is_superseded(stored: Mapping[str, Any], settlement: Settlement, generation: int) -> bool:
    """Whether another instance knows more: of a newer generation, or of the one we only begin.

    The conditions count too, as an attempt that takes its time writes them first (promise 1).
    """
    observed = stored.get("observedGeneration")
    if settlement.observed_generation is None and observed == settlement.generation:
        return True
    ours = {*(condition.type for condition in settlement.conditions), *settlement.absent}
    listed = stored.get("conditions")
    entries = [
        entry
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, Mapping) and entry.get("type") in ours
    ]
    known = [observed, *(entry.get("observedGeneration") for entry in entries)]
    # A restored object may carry generations beyond its own.
    return any(isinstance(one, int) and settlement.generation < one <= generation for one in known)


def _is_duplicate(error: APIError) -> bool:
    """Another writer added our condition's key meanwhile: the world moved."""
    return any(cause.reason == "FieldValueDuplicate" for cause in error.causes)


def _reduced(settlement: Settlement, error: APIError) -> Settlement:
    reason = "StatusTooLarge" if isinstance(error, RequestTooLarge) else "StatusRefused"
    causes = "; ".join(f"{c.field}: {c.message}" for c in error.causes[: limits.MESSAGE_CAUSES])
    text = f"the server refused the whole status: {causes or error.message}"
    return refused(settlement.generation, reason=reason, message=text)
