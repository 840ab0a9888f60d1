"""The status of a Deployment: counts, and the conditions of a rollout with its deadline. Pure.

Before: `konstat.actors.rollout`. After: `konstat.actors.deployments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from konstat.actors import content, rollout
from konstat.actors.content import Obj
from konstat.actors.replicaset_plan import REPLICA_FAILURE, replicas_of
from konstat.base import clock

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
UPDATED: Final = "ReplicaSetUpdated"
COMPLETE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
CREATE_ERROR: Final = "ReplicaSetCreateError"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"

Conditions = list[Obj]


# --- one condition ----------------------------------------------------------------------------


def entry(
    type: str, status: Literal["True", "False", "Unknown"], reason: str, message: str, now: datetime
) -> Obj:
    moment = clock.timestamp(now)
    return {
        "type": type,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def put(conditions: Conditions, new: Obj, *, renew: bool = False) -> Conditions:
    """``conditions`` with ``new`` at the end; as they are when status and reason hold already.

    ``renew`` writes it all the same, with a new update time. A transition time moves only when
    the status flips (H4).
    """
    before = next((c for c in conditions if c.get("type") == new["type"]), None)
    if before is not None and before.get("status") == new["status"]:
        if before.get("reason") == new["reason"] and not renew:
            return conditions
        since = before.get("lastTransitionTime") or new["lastTransitionTime"]
        new = {**new, "lastTransitionTime": since}
    return [*without(conditions, new["type"]), new]


def without(conditions: Conditions, type: str) -> Conditions:
    return [c for c in conditions if c.get("type") != type]


def conditions_of(deployment: Obj) -> Conditions:
    return list(content.status(deployment).get("conditions") or ())


def deadline_seconds(deployment: Obj) -> int | None:
    """The progress deadline; None when there is none (the largest number means none)."""
    found = content.spec(deployment).get("progressDeadlineSeconds")
    return None if found is None or found >= 2**31 - 1 else found


# --- the whole status -------------------------------------------------------------------------


def counts(deployment: Obj, sets: Sequence[Obj], new: Obj | None, *, now: datetime) -> Obj:
    """Counts over all replica sets, and condition Available."""
    wanted = replicas_of(deployment)
    available = rollout.available(sets)
    _, away = rollout.bounds(deployment)
    if available >= wanted - away:
        text = "Deployment has minimum availability."
        condition = entry(AVAILABLE, "True", "MinimumReplicasAvailable", text, now)
    else:
        text = "Deployment does not have minimum availability."
        condition = entry(AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)
    numbers = {
        "observedGeneration": content.generation(deployment),
        "replicas": _sum(sets, "replicas"),
        "updatedReplicas": 0 if new is None else _sum([new], "replicas"),
        "readyReplicas": _sum(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, rollout.total(sets) - available),
    }
    stored = content.status(deployment)
    rest = {"collisionCount": stored.get("collisionCount")} if "collisionCount" in stored else {}
    return {
        **content.without_empty(numbers),
        "terminatingReplicas": _sum(sets, "terminatingReplicas"),
        **rest,
        "conditions": put(conditions_of(deployment), condition),
    }


def _sum(sets: Sequence[Obj], field: str) -> int:
    return sum(content.status(one).get(field) or 0 for one in sets)


def progress(deployment: Obj, sets: Sequence[Obj], new: Obj | None, *, now: datetime) -> Obj:
    """`counts`, with condition Progressing of a rollout and the failures of replica sets."""
    status = counts(deployment, sets, new, now=now)
    conditions: Conditions = status["conditions"]
    current = content.condition(content.status(deployment), PROGRESSING)
    rests = (
        current is not None
        and current.get("reason") == COMPLETE
        and status.get("replicas") == status.get("updatedReplicas")
    )
    if deadline_seconds(deployment) is None:
        conditions = without(conditions, PROGRESSING)
    elif not rests:
        conditions = _advanced(deployment, status, conditions, new, now=now)
    failure = _first_failure(sets, new)
    conditions = (
        without(conditions, REPLICA_FAILURE) if failure is None else put(conditions, failure)
    )
    return {**status, "conditions": conditions}


def _advanced(
    deployment: Obj, status: Obj, conditions: Conditions, new: Obj | None, *, now: datetime
) -> Conditions:
    kind, name = ("Deployment", content.name(deployment))
    if new is not None:
        kind, name = "ReplicaSet", content.name(new)
    if complete(deployment, status):
        text = f'{kind} "{name}" has successfully progressed.'
        return put(conditions, entry(PROGRESSING, "True", COMPLETE, text, now))
    if progressed(content.status(deployment), status):
        text = f'{kind} "{name}" is progressing.'
        return put(conditions, entry(PROGRESSING, "True", UPDATED, text, now), renew=True)
    if timed_out(deployment, now=now):
        text = f'{kind} "{name}" has timed out progressing.'
        return put(conditions, entry(PROGRESSING, "False", TIMED_OUT, text, now))
    return conditions


def complete(deployment: Obj, status: Obj) -> bool:
    """Whether all pods are of the new set and available, as of the current generation."""
    wanted = replicas_of(deployment)
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    return all((status.get(field) or 0) == wanted for field in fields) and (
        status.get("observedGeneration") or 0
    ) >= content.generation(deployment)


def progressed(before: Obj, after: Obj) -> bool:
    """Whether anything has become better."""

    def number(status: Obj, field: str) -> int:
        return status.get(field) or 0

    def old(status: Obj) -> int:
        return number(status, "replicas") - number(status, "updatedReplicas")

    more = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(after) < old(before) or any(
        number(after, field) > number(before, field) for field in more
    )


def timed_out(deployment: Obj, *, now: datetime) -> bool:
    """Whether nothing has become better for longer than the deadline."""
    left = seconds_to_deadline(deployment, now=now)
    current = content.condition(content.status(deployment), PROGRESSING) or {}
    if current.get("reason") == TIMED_OUT:
        return True
    return left is not None and left < 0


def seconds_to_deadline(deployment: Obj, *, now: datetime) -> float | None:
    """How long the rollout may still stand still; None where no deadline runs."""
    deadline = deadline_seconds(deployment)
    current = content.condition(content.status(deployment), PROGRESSING)
    if deadline is None or current is None or current.get("reason") in (COMPLETE, TIMED_OUT):
        return None
    since = content.moment(current.get("lastUpdateTime"))
    return None if since is None else (since + timedelta(seconds=deadline) - now).total_seconds()


def _first_failure(sets: Sequence[Obj], new: Obj | None) -> Obj | None:
    """Condition ReplicaFailure of the new set, or of any."""
    ordered = [*([new] if new is not None else []), *sets]
    for one in ordered:
        found = content.condition(content.status(one), REPLICA_FAILURE)
        if found is not None:
            return {
                "lastUpdateTime": found.get("lastTransitionTime"),
                **found,
            }
    return None
