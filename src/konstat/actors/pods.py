"""What the actors want to know of pods, and the pods that they make. Pure.

Before: `konstat.actors.content`. After: every actor that owns pods.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from konstat.actors import content
from konstat.actors.content import Obj
from konstat.objects.kind import Kind

_FINISHED: Final = ("Succeeded", "Failed")
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_NAME_PREFIX_CHARACTERS: Final = 58  # the server cuts what generateName may hold


def phase(pod: Mapping[str, Any]) -> str:
    return content.status(pod).get("phase") or "Pending"


def finished(pod: Mapping[str, Any]) -> bool:
    return phase(pod) in _FINISHED


def active(pod: Mapping[str, Any]) -> bool:
    """Neither finished nor being deleted."""
    return not finished(pod) and not content.deleting(pod)


def terminating(pod: Mapping[str, Any]) -> bool:
    """Being deleted, and not finished yet (KEP-3973)."""
    return not finished(pod) and content.deleting(pod)


def ready(pod: Mapping[str, Any]) -> bool:
    return content.is_true(pod, "Ready")


def running_and_ready(pod: Mapping[str, Any]) -> bool:
    return phase(pod) == "Running" and ready(pod)


def node_name(pod: Mapping[str, Any]) -> str:
    return content.spec(pod).get("nodeName") or ""


def seconds_to_available(
    pod: Mapping[str, Any], min_ready_seconds: int, now: datetime
) -> float | None:
    """0.0 for an available pod, else how long it must stay ready; None when it is not ready."""
    if not ready(pod):
        return None
    if not min_ready_seconds:
        return 0.0
    found = content.condition(content.status(pod), "Ready") or {}
    since = content.seconds_since(found.get("lastTransitionTime"), now)
    return None if since is None else max(0.0, min_ready_seconds - since)


def available(pod: Mapping[str, Any], min_ready_seconds: int, now: datetime) -> bool:
    return seconds_to_available(pod, min_ready_seconds, now) == 0.0


def next_available(
    pods: Iterable[Mapping[str, Any]], min_ready_seconds: int, now: datetime
) -> float | None:
    """Seconds until the first ready pod becomes available; None when none is on the way."""
    waits = (seconds_to_available(pod, min_ready_seconds, now) for pod in pods)
    return content.earliest(wait for wait in waits if wait)


def restarts(pod: Mapping[str, Any]) -> int:
    entries = content.status(pod).get("containerStatuses") or ()
    return max((entry.get("restartCount") or 0 for entry in entries), default=0)


def from_template(
    template: Mapping[str, Any], *, owner_kind: Kind, owner: Mapping[str, Any], prefix: str = ""
) -> Obj:
    """A pod of ``template`` that ``owner`` controls; the server finishes its name."""
    template = copy.deepcopy(dict(template))
    given = content.metadata(template)
    metadata: Obj = {
        "generateName": (prefix or f"{content.name(owner)}-")[:_NAME_PREFIX_CHARACTERS],
        "namespace": content.namespace(owner),
        "labels": dict(given.get("labels") or {}),
        "annotations": dict(given.get("annotations") or {}),
        "finalizers": list(given.get("finalizers") or ()),
        "ownerReferences": [content.controller_reference(owner_kind, owner)],
    }
    return {"metadata": content.without_empty(metadata), "spec": content.spec(template)}


def deletion_order(pods: Sequence[Obj], *, related: Sequence[Obj], now: datetime) -> list[Obj]:
    """``pods`` with those first that are missed least.

    Unassigned before assigned; pending, unknown, running; unready before ready; by the annotation
    ``controller.kubernetes.io/pod-deletion-cost``; from nodes with more of the ``related`` pods;
    ready for a shorter time; more restarts; younger. Ages are compared by their order of
    magnitude (KEP-2185).
    """
    crowd: dict[str, int] = {}
    for pod in related:
        if active(pod):
            crowd[node_name(pod)] = crowd.get(node_name(pod), 0) + 1

    def rank(pod: Obj) -> tuple[Any, ...]:
        is_ready = ready(pod)
        since = (content.condition(content.status(pod), "Ready") or {}).get("lastTransitionTime")
        return (
            bool(node_name(pod)),
            {"Pending": 0, "Unknown": 1}.get(phase(pod), 2),
            is_ready,
            deletion_cost(pod),
            -crowd.get(node_name(pod), 0),
            _magnitude(since, now) if is_ready else 0,
            -restarts(pod),
            _magnitude(content.created(pod), now),
            content.uid(pod),
        )

    return sorted(pods, key=rank)


def deletion_cost(pod: Mapping[str, Any]) -> int:
    """The annotated cost; 0 where there is none, or one that the server would not read either."""
    text = content.annotations(pod).get(_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _magnitude(since: str | None, now: datetime) -> int:
    seconds = content.seconds_since(since, now)
    return 0 if seconds is None else int(math.log2(max(seconds, 0.0) + 1.0))
