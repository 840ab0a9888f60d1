"""What a StatefulSet controller does next: one decision from the set and its pods. Pure.

The order, as measured: repair and fill ordinals upwards, remove surplus
ones downwards, then replace pods of an old revision downwards. With ``OrderedReady`` at most one
pod is on its way; with ``Parallel`` creations and deletions do not wait. Before:
`konstat.actors.pods`. After: `konstat.actors.statefulsets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from konstat.actors import content, pods
from konstat.actors.content import Obj
from konstat.actors.replicaset_plan import replicas_of
from konstat.actors.revisions import HASH_LABEL
from konstat.kinds import StatefulSet

POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"


class Revisions(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the current and of the update revision (equal when none is under way)."""

    current: str
    update: str


class Step(msgspec.Struct, kw_only=True):
    """Ordinals to create pods for, and pods to delete; ``replaced`` are deleted to be updated."""

    create: list[int] = msgspec.field(default_factory=list)
    delete: list[Obj] = msgspec.field(default_factory=list)
    replaced: list[Obj] = msgspec.field(default_factory=list)


def ordinal(stateful_set: Mapping[str, Any], pod: Mapping[str, Any]) -> int | None:
    """The number at the end of a pod's name; None for a name that is not of the set."""
    prefix, dash, number = content.name(pod).rpartition("-")
    if not dash or prefix != content.name(stateful_set) or not number.isdecimal():
        return None
    return int(number) if str(int(number)) == number else None


def first_ordinal(stateful_set: Obj) -> int:
    return (content.spec(stateful_set).get("ordinals") or {}).get("start") or 0


def ordinals(stateful_set: Obj) -> range:
    """The ordinals that should have a pod."""
    first = first_ordinal(stateful_set)
    return range(first, first + replicas_of(stateful_set))


def is_parallel(stateful_set: Obj) -> bool:
    return content.spec(stateful_set).get("podManagementPolicy") == "Parallel"


def min_ready_seconds(stateful_set: Obj) -> int:
    return content.spec(stateful_set).get("minReadySeconds") or 0


def rolling(stateful_set: Obj) -> Obj:
    """The bounds of a rolling update."""
    strategy = content.spec(stateful_set).get("updateStrategy") or {}
    return strategy.get("rollingUpdate") or {}


def rolls(stateful_set: Obj) -> bool:
    strategy = content.spec(stateful_set).get("updateStrategy") or {}
    return (strategy.get("type") or "RollingUpdate") == "RollingUpdate"


def partition(stateful_set: Obj) -> int:
    return rolling(stateful_set).get("partition") or 0


def revision_for(stateful_set: Obj, number: int, revisions: Revisions) -> str:
    """The revision that a new pod with ordinal ``number`` gets."""
    kept = first_ordinal(stateful_set) + partition(stateful_set)
    if rolls(stateful_set) and number < kept:
        return revisions.current
    return revisions.update


def revision_of(pod: Mapping[str, Any]) -> str:
    return content.labels(pod).get(HASH_LABEL, "")


def plan(stateful_set: Obj, owned: Sequence[Obj], revisions: Revisions, *, now: datetime) -> Step:
    """The next writes; nothing when all is well or something must be waited for."""
    step = Step()
    by_ordinal = {n: p for p in owned if (n := ordinal(stateful_set, p)) is not None}
    wanted = ordinals(stateful_set)
    condemned = sorted((n for n in by_ordinal if n not in wanted), reverse=True)
    if content.deleting(stateful_set):
        return step
    if not _fill(stateful_set, by_ordinal, wanted, step, now=now):
        return step
    if not _remove(stateful_set, by_ordinal, condemned, step, now=now):
        return step
    if rolls(stateful_set):
        _replace(stateful_set, by_ordinal, wanted, revisions, step, now=now)
    return step


def _healthy(stateful_set: Obj, pod: Obj, now: datetime) -> bool:
    return (
        pods.running_and_ready(pod)
        and not content.deleting(pod)
        and pods.available(pod, min_ready_seconds(stateful_set), now)
    )


def _fill(
    stateful_set: Obj, by_ordinal: dict[int, Obj], wanted: range, step: Step, *, now: datetime
) -> bool:
    """Create and repair upwards; whether to go on."""
    parallel = is_parallel(stateful_set)
    for number in wanted:
        pod = by_ordinal.get(number)
        if pod is None:
            step.create.append(number)
        elif pods.finished(pod):
            if not content.deleting(pod):
                step.delete.append(pod)
        elif _healthy(stateful_set, pod, now):
            continue
        if not parallel:
            return False
    return not (step.create or step.delete)


def _remove(
    stateful_set: Obj,
    by_ordinal: dict[int, Obj],
    condemned: list[int],
    step: Step,
    *,
    now: datetime,
) -> bool:
    """Delete surplus downwards; whether to go on."""
    parallel = is_parallel(stateful_set)
    unhealthy = [n for n in by_ordinal if not _healthy(stateful_set, by_ordinal[n], now)]
    for number in condemned:
        pod = by_ordinal[number]
        if content.deleting(pod):
            if not parallel:
                return False
            continue
        waits = not pods.running_and_ready(pod) and number != min(unhealthy, default=number)
        if waits and not parallel:
            return False
        step.delete.append(pod)
        if not parallel:
            return False
    return not step.delete


def _replace(
    stateful_set: Obj,
    by_ordinal: dict[int, Obj],
    wanted: range,
    revisions: Revisions,
    step: Step,
    *,
    now: datetime,
) -> None:
    """Delete pods of another revision downwards, as far as the partition and the bound allow."""
    budget = max(
        1,
        content.scaled(
            rolling(stateful_set).get("maxUnavailable"), len(wanted), round_up=True, default=1
        ),
    )
    lowest = first_ordinal(stateful_set) + partition(stateful_set)
    for number in reversed(wanted):
        pod = by_ordinal.get(number)
        if number < lowest or pod is None or budget <= 0:
            return
        if revision_of(pod) != revisions.update and not content.deleting(pod):
            step.replaced.append(pod)
            budget -= 1
        elif not _healthy(stateful_set, pod, now):
            budget -= 1


# --- the status -------------------------------------------------------------------------------


def status(
    stateful_set: Obj,
    owned: Sequence[Obj],
    revisions: Revisions,
    *,
    deleted: Sequence[str] = (),
    now: datetime,
) -> Obj:
    """The status that follows from ``owned``; ``deleted`` are uids that were deleted just now."""
    named = [pod for pod in owned if ordinal(stateful_set, pod) is not None]
    least = min_ready_seconds(stateful_set)
    staying = [p for p in named if not content.deleting(p) and content.uid(p) not in deleted]
    ready = [pod for pod in named if pods.running_and_ready(pod)]
    numbers = {
        "readyReplicas": len(ready),
        "currentReplicas": sum(revision_of(p) == revisions.current for p in staying),
        "updatedReplicas": sum(revision_of(p) == revisions.update for p in staying),
    }
    current = revisions.current
    total = len(named)
    if rolls(stateful_set) and numbers["updatedReplicas"] == total == len(ready) == replicas_of(
        stateful_set
    ):
        numbers["currentReplicas"] = numbers["updatedReplicas"]
        current = revisions.update
    return {
        "observedGeneration": content.generation(stateful_set),
        "replicas": total,
        **content.without_empty(numbers),
        "currentRevision": current,
        "updateRevision": revisions.update,
        "collisionCount": content.status(stateful_set).get("collisionCount") or 0,
        "availableReplicas": sum(pods.available(p, least, now) for p in ready),
    }


# --- pods and their claims --------------------------------------------------------------------


def new_pod(stateful_set: Obj, number: int, *, template: Obj, revision: str) -> Obj:
    """The pod with ordinal ``number``, its name, its host name and its volumes."""
    name = f"{content.name(stateful_set)}-{number}"
    pod = pods.from_template(template, owner_kind=StatefulSet.kind, owner=stateful_set)
    metadata = pod["metadata"]
    metadata["name"] = name
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        HASH_LABEL: revision,
        POD_NAME_LABEL: name,
        POD_INDEX_LABEL: str(number),
    }
    spec = pod["spec"]
    spec["hostname"] = name
    spec["subdomain"] = content.spec(stateful_set).get("serviceName") or ""
    claimed = {content.name(claim): claim for claim in claim_templates(stateful_set)}
    volumes = [v for v in spec.get("volumes") or () if v.get("name") not in claimed]
    volumes += [
        {"name": of, "persistentVolumeClaim": {"claimName": claim_name(of, name)}} for of in claimed
    ]
    if volumes:
        spec["volumes"] = volumes
    return pod


def claim_templates(stateful_set: Obj) -> list[Obj]:
    return list(content.spec(stateful_set).get("volumeClaimTemplates") or ())


def claim_name(template_name: str, pod_name: str) -> str:
    return f"{template_name}-{pod_name}"


def new_claims(stateful_set: Obj, number: int) -> list[Obj]:
    """The PersistentVolumeClaims of the pod with ordinal ``number``; nobody owns them."""
    pod_name = f"{content.name(stateful_set)}-{number}"
    selector = content.spec(stateful_set).get("selector") or {}
    matched = selector.get("matchLabels") or {}
    made: list[Obj] = []
    for template in claim_templates(stateful_set):
        metadata = {
            "name": claim_name(content.name(template), pod_name),
            "namespace": content.namespace(stateful_set),
            "labels": {**content.labels(template), **matched},
            "annotations": dict(content.annotations(template)),
        }
        made.append({"metadata": content.without_empty(metadata), "spec": content.spec(template)})
    return made
