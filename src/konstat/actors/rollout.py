"""How a Deployment moves its pods from old replica sets to the new one. Pure arithmetic.

`konstat.actors.deployments` asks here how large each replica set should be; conditions and counts
are in `konstat.actors.deployment_status`. Names follow kube-controller-manager's behaviour, which
was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from konstat.actors import content
from konstat.actors.content import Obj
from konstat.actors.replicaset_plan import replicas_of
from konstat.objects.diff import same

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"
HASH_LABEL: Final = "pod-template-hash"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED,
        MAXIMUM,
    }
)
_HISTORY_CHARACTERS: Final = 2000

Sizes = dict[str, int]
"""Wanted ``spec.replicas`` by name of the replica set."""


# --- which set is which -----------------------------------------------------------------------


def same_template(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two pod templates are equal but for the label of their hash."""
    return same(_without_hash(first), _without_hash(second))


def _without_hash(template: Mapping[str, Any]) -> Obj:
    metadata = dict(content.metadata(template))
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    metadata["labels"] = labels
    return {**template, "metadata": content.without_empty(metadata)}


def new_set(deployment: Obj, sets: Sequence[Obj]) -> Obj | None:
    """The oldest replica set with the Deployment's template."""
    template = content.spec(deployment).get("template") or {}
    equal = [s for s in sets if same_template(content.spec(s).get("template") or {}, template)]
    return min(equal, key=content.by_age, default=None)


def revision(obj: Mapping[str, Any]) -> int:
    text = content.annotations(obj).get(REVISION, "0")
    return int(text) if text.isdecimal() else 0


# --- bounds of a rolling update ---------------------------------------------------------------


def strategy(deployment: Obj) -> str:
    return (content.spec(deployment).get("strategy") or {}).get("type") or "RollingUpdate"


def bounds(deployment: Obj) -> tuple[int, int]:
    """How many pods may be there too many, and how many may be unavailable.

    Percentages of the surge are rounded up, of the unavailable down; never are both 0.
    """
    if strategy(deployment) != "RollingUpdate":
        return 0, 0
    rolling = (content.spec(deployment).get("strategy") or {}).get("rollingUpdate") or {}
    wanted = replicas_of(deployment)
    surge = content.scaled(rolling.get("maxSurge"), wanted, round_up=True, default="25%")
    away = content.scaled(rolling.get("maxUnavailable"), wanted, round_up=False, default="25%")
    if not surge and not away:
        away = 1
    return surge, min(away, wanted)


def total(sets: Sequence[Obj]) -> int:
    return sum(replicas_of(one) for one in sets)


def available(sets: Sequence[Obj]) -> int:
    return sum(content.status(one).get("availableReplicas") or 0 for one in sets)


def new_size(deployment: Obj, sets: Sequence[Obj], new: Obj | None) -> int:
    """How large the new set should be now; ``sets`` are all of them, ``new`` None if not made."""
    wanted = replicas_of(deployment)
    present = 0 if new is None else replicas_of(new)
    if strategy(deployment) != "RollingUpdate" or present >= wanted:
        return wanted
    surge, _ = bounds(deployment)
    room = wanted + surge - total(sets)
    return present if room <= 0 else present + min(room, wanted - present)


def shrink_old(deployment: Obj, old: Sequence[Obj], new: Obj) -> Sizes:
    """Smaller sizes for old sets: first by pods that are not available, then by others.

    Never are fewer pods left available than the Deployment allows.
    """
    every = [*old, new]
    wanted = replicas_of(deployment)
    _, away = bounds(deployment)
    least = wanted - away
    new_unavailable = replicas_of(new) - available([new])
    room = total(every) - least - new_unavailable
    if not total(old) or room <= 0:
        return {}
    sizes = {content.name(one): replicas_of(one) for one in old}
    before = dict(sizes)
    oldest_first = sorted(old, key=content.by_age)
    for one in oldest_first:
        unhealthy = replicas_of(one) - available([one])
        taken = max(0, min(room, unhealthy, sizes[content.name(one)]))
        sizes[content.name(one)] -= taken
        room -= taken
    spare = available(every) - least
    for one in oldest_first:
        taken = max(0, min(spare, sizes[content.name(one)]))
        sizes[content.name(one)] -= taken
        spare -= taken
    return {name: size for name, size in sizes.items() if size != before[name]}


# --- scaling of a Deployment that is not rolling ----------------------------------------------


def is_scaling(deployment: Obj, sets: Sequence[Obj]) -> bool:
    """Whether ``spec.replicas`` is another than when the sets in use were last sized."""
    return any(
        desired_of(one) not in (None, replicas_of(deployment)) for one in sets if replicas_of(one)
    )


def desired_of(replica_set: Obj) -> int | None:
    text = content.annotations(replica_set).get(DESIRED, "")
    return int(text) if text.isdecimal() else None


def scale(deployment: Obj, old: Sequence[Obj], new: Obj | None) -> Sizes:
    """Sizes for a Deployment that is paused or has just been scaled.

    A single set in use gets all; if the new one is complete the old ones get none; otherwise the
    difference is shared out in proportion.
    """
    wanted = replicas_of(deployment)
    every = [*old, new] if new is not None else list(old)
    used = [one for one in every if replicas_of(one)]
    if len(used) <= 1:
        latest = max(old, key=content.by_age, default=None)
        chosen = used[0] if used else (new if new is not None else latest)
        return {} if chosen is None else {content.name(chosen): wanted}
    if new is not None and _saturated(deployment, new):
        return {content.name(one): 0 for one in old if replicas_of(one)}
    if strategy(deployment) != "RollingUpdate":
        return {}
    surge, _ = bounds(deployment)
    difference = (wanted + surge if wanted else 0) - total(used)
    return _in_proportion(deployment, used, difference)


def _saturated(deployment: Obj, new: Obj) -> bool:
    wanted = replicas_of(deployment)
    return (desired_of(new), replicas_of(new), available([new])) == (wanted, wanted, wanted)


def _in_proportion(deployment: Obj, used: Sequence[Obj], difference: int) -> Sizes:
    """Larger sets get more; of equal ones the newer grows first and the older shrinks first."""
    ordered = sorted(used, key=content.by_age, reverse=difference > 0)
    ordered.sort(key=replicas_of, reverse=True)
    left = difference
    sizes: Sizes = {}
    for one in ordered:
        share = _share(deployment, one)
        part = max(0, min(share, left)) if difference > 0 else min(0, max(share, left))
        sizes[content.name(one)] = replicas_of(one) + part
        left -= part
    if ordered:
        first = content.name(ordered[0])
        sizes[first] = max(0, sizes[first] + left)
    return sizes


def _share(deployment: Obj, one: Obj) -> int:
    """By how much a set changes if it keeps its share of all pods."""
    wanted = replicas_of(deployment)
    if not wanted:
        return -replicas_of(one)
    surge, _ = bounds(deployment)
    text = content.annotations(one).get(MAXIMUM, "")
    status_replicas = content.status(deployment).get("replicas") or 0
    before = int(text) if text.isdecimal() and int(text) else status_replicas
    if not before:
        return 0
    size = math.floor(replicas_of(one) * (wanted + surge) / before + 0.5)
    return size - replicas_of(one)


# --- annotations and history ------------------------------------------------------------------


def set_annotations(
    deployment: Obj, replica_set: Mapping[str, Any], *, next_revision: int, exists: bool
) -> dict[str, str]:
    """The annotations that the new replica set should have."""
    found = dict(content.annotations(replica_set))
    copied = {k: v for k, v in content.annotations(deployment).items() if k not in _NOT_COPIED}
    found.update(copied)
    before = revision(replica_set)
    if before < next_revision:
        found[REVISION] = str(next_revision)
        if before:
            history = [*filter(None, found.get(REVISION_HISTORY, "").split(",")), str(before)]
            while len(",".join(history)) > _HISTORY_CHARACTERS:
                history.pop(0)
            found[REVISION_HISTORY] = ",".join(history)
    return found if exists else found | size_annotations(deployment)


def size_annotations(deployment: Obj) -> dict[str, str]:
    """For what size of the Deployment a set was last sized."""
    surge, _ = bounds(deployment)
    wanted = replicas_of(deployment)
    return {DESIRED: str(wanted), MAXIMUM: str(wanted + surge)}


def superfluous(deployment: Obj, old: Sequence[Obj]) -> list[Obj]:
    """Old sets beyond ``spec.revisionHistoryLimit`` that nothing holds any more."""
    limit = content.spec(deployment).get("revisionHistoryLimit")
    limit = 10 if limit is None else limit
    alive = [one for one in old if not content.deleting(one)]
    excess = len(alive) - limit
    if excess <= 0:
        return []
    return [
        one
        for one in sorted(alive, key=revision)[:excess]
        if not replicas_of(one)
        and not content.status(one).get("replicas")
        and content.generation(one) <= (content.status(one).get("observedGeneration") or 0)
    ]
