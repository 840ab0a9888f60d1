"""Deleting objects: preconditions, grace, finalizers, propagation, namespaces.

What is deleted at once answers with a Status, what stays for its finalizers or its grace answers
with the object (C58 to C66). Dependents are the garbage collector's work, not the server's: here
only the finalizers that ask it for it are put on. Before: `verbs_write`. After: `verbs`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, NamedTuple

from konstat.base import clock
from konstat.embedded import status_errors as errors
from konstat.embedded.options import DeleteOptions
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.state import State
from konstat.embedded.storage import clone
from konstat.embedded.verbs_write import Target, Writer, same

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_PERMANENT_NAMESPACES: Final = ("default", "kube-system", "kube-public")
JOB_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to"
    " remove them or set propagationPolicy=Orphan to suppress this warning"
)


class Deleted(NamedTuple):
    """The outcome: ``gone`` tells that nothing is left; then the answer is a Status."""

    content: Object
    gone: bool
    accepted: bool = False


class Deleter:
    """Deletes from one state."""

    def __init__(self, state: State, writer: Writer) -> None:
        self._state = state
        self._writer = writer

    def delete(self, target: Target, options: DeleteOptions, warnings: list[str]) -> Deleted:
        """Delete one object, or begin to; raises the server's 404 and 409."""
        kind = target.kind
        if kind.storage_name == "namespaces" and target.name in _PERMANENT_NAMESPACES:
            problem = "this namespace may not be deleted"
            raise errors.forbidden(kind.plural, target.name, problem)
        old = self._state.require(kind, target.namespace, target.name)
        _check_preconditions(kind, old, options)
        undecided = not options.propagation and options.orphan is None
        if kind.orphan_by_default and undecided:
            warnings.append(JOB_WARNING)
        new = clone(old)
        _set_finalizers(kind, new, options)
        grace = _grace(kind, new, options)
        if kind.storage_name == "namespaces":
            return self._delete_namespace(target, old, new, options)
        if kind.storage_name == DEFINITIONS:
            return self._delete_definition(target, old, new, options)
        if not new["metadata"].get("finalizers") and grace == 0:
            return self._remove(target, old, new, options)
        return self._mark(target, old, new, grace, options)

    def _remove(self, target: Target, old: Object, new: Object, options: DeleteOptions) -> Deleted:
        if not options.dry_run:
            self._writer.remove(target.kind, old)
        if target.kind.grace_seconds is None:
            return Deleted(old, gone=True)
        # A kind with graceful deletion answers with the object, marked as deleted.
        if old["metadata"].get("deletionTimestamp") is None and "generation" in old["metadata"]:
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        _stamp(new, 0)
        return Deleted(new, gone=False)

    def _mark(
        self, target: Target, old: Object, new: Object, grace: int, options: DeleteOptions
    ) -> Deleted:
        """Put or move the mark; a later, longer grace does not move it (C60)."""
        before = old["metadata"]
        had = before.get("deletionGracePeriodSeconds")
        if before.get("deletionTimestamp") is None:
            if "generation" in before:
                new["metadata"]["generation"] = before["generation"] + 1
            _stamp(new, grace)
        elif had is not None and grace < had:
            _stamp(new, grace)
        accepted = options.orphan is False and not options.propagation
        if same(new, old):
            return Deleted(old, gone=False, accepted=accepted)
        if options.dry_run:
            return Deleted(new, gone=False, accepted=accepted)
        return Deleted(self._writer.put(target.kind, old, new), gone=False, accepted=accepted)

    def _delete_namespace(
        self, target: Target, old: Object, new: Object, options: DeleteOptions
    ) -> Deleted:
        """A namespace becomes Terminating and goes when ``spec.finalizers`` are emptied (C70)."""
        metadata = new["metadata"]
        if metadata.get("deletionTimestamp") is None:
            metadata["deletionTimestamp"] = clock.timestamp(clock.now())
            new.setdefault("status", {})["phase"] = "Terminating"
        if not new.get("spec", {}).get("finalizers") and not metadata.get("finalizers"):
            return self._remove(target, old, new, options)
        if same(new, old) or options.dry_run:
            return Deleted(new, gone=False)
        return Deleted(self._writer.put(target.kind, old, new), gone=False)

    def _delete_definition(
        self, target: Target, old: Object, new: Object, options: DeleteOptions
    ) -> Deleted:
        """A CustomResourceDefinition stays until its instances are gone (C71)."""
        metadata = new["metadata"]
        if metadata.get("deletionTimestamp") is None:
            moment = clock.timestamp(clock.now())
            metadata["deletionTimestamp"] = moment
            finalizers = metadata.setdefault("finalizers", [])
            if CLEANUP not in finalizers:
                finalizers.append(CLEANUP)
            conditions = new.setdefault("status", {}).get("conditions") or []
            new["status"]["conditions"] = [*conditions, _terminating(moment)]
        if same(new, old) or options.dry_run:
            return Deleted(new, gone=False)
        return Deleted(self._writer.put(target.kind, old, new), gone=False)


def _terminating(moment: str) -> Object:
    return {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": moment,
        "reason": "InstanceDeletionPending",
        "message": (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        ),
    }


def _stamp(obj: Object, grace: int) -> None:
    metadata = obj["metadata"]
    moment = clock.now() + timedelta(seconds=grace)
    begun = metadata.get("deletionTimestamp")
    had = metadata.get("deletionGracePeriodSeconds")
    if begun is not None and had is not None:
        # A shorter grace counts from when the deletion was asked for.
        moment = clock.parse_timestamp(begun) + timedelta(seconds=grace - had)
    metadata["deletionTimestamp"] = clock.timestamp(moment)
    metadata["deletionGracePeriodSeconds"] = grace


def _grace(kind: ResourceType, obj: Object, options: DeleteOptions) -> int:
    if kind.grace_seconds is None:
        return 0
    natural = kind.grace_seconds(obj)
    if natural == 0:
        return 0
    given = options.grace_seconds
    if given is None:
        return natural
    return given if given >= 0 else 1


def _check_preconditions(kind: ResourceType, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        detail = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind.kind, metadata["name"], group=kind.group, detail=detail)
    version = options.resource_version
    if version is not None and version != metadata["resourceVersion"]:
        detail = (
            f"the ResourceVersion in the precondition ({version}) does not match the"
            f" ResourceVersion in record ({metadata['resourceVersion']}). The object might have"
            " been modified"
        )
        raise errors.conflict(kind.kind, metadata["name"], group=kind.group, detail=detail)


def _set_finalizers(kind: ResourceType, obj: Object, options: DeleteOptions) -> None:
    """Put on the finalizer that the propagation asks for, and take off the other ones."""
    metadata: dict[str, Any] = obj["metadata"]
    finalizers: list[str] = list(metadata.get("finalizers") or ())
    wanted = _wanted(kind, finalizers, options)
    kept = [one for one in finalizers if one not in (FOREGROUND, ORPHAN)]
    if wanted:
        kept = [*finalizers] if wanted in finalizers and len(kept) + 1 == len(finalizers) else kept
        if wanted not in kept:
            kept.append(wanted)
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)


def _wanted(kind: ResourceType, finalizers: list[str], options: DeleteOptions) -> str:
    if options.propagation:
        return {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(options.propagation, "")
    if options.orphan is not None:
        return ORPHAN if options.orphan else ""
    for name in (FOREGROUND, ORPHAN):
        if name in finalizers:
            return name
    return ORPHAN if kind.orphan_by_default else ""
