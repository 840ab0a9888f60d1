"""What a ReplicaSet controller decides: pods to make or delete, and the status. Pure.

Before: `konstat.actors.pods`. After: `konstat.actors.replicasets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from konstat.actors import content, pods
from konstat.actors.content import Obj
from konstat.base import clock, limits

REPLICA_FAILURE: Final = "ReplicaFailure"


class ReplicaPlan(msgspec.Struct, frozen=True, kw_only=True):
    """``create`` new pods, or delete ``surplus``, which are those that are missed least."""

    create: int = 0
    surplus: Sequence[Obj] = ()


def replicas_of(owner: Mapping[str, Any]) -> int:
    found = content.spec(owner).get("replicas")
    return 1 if found is None else found


def plan(
    replica_set: Obj, owned: Sequence[Obj], *, related: Sequence[Obj], now: datetime
) -> ReplicaPlan:
    """Bring the active pods of ``owned`` to the wanted number, a bounded number at a time.

    ``related`` are the pods of all replica sets of the same Deployment, for the choice of those
    to delete.
    """
    active = [pod for pod in owned if pods.active(pod)]
    missing = replicas_of(replica_set) - len(active)
    if missing >= 0:
        return ReplicaPlan(create=min(missing, limits.ACTOR_BURST_OBJECTS))
    count = min(-missing, limits.ACTOR_BURST_OBJECTS)
    if count == len(active):
        return ReplicaPlan(surplus=active)
    return ReplicaPlan(surplus=pods.deletion_order(active, related=related, now=now)[:count])


def status(replica_set: Obj, owned: Sequence[Obj], *, failure: Obj | None, now: datetime) -> Obj:
    """The status that follows from ``owned``.

    ``failure`` is condition ReplicaFailure of this attempt: one that is there already stays as it
    is, and without a failure it goes.
    """
    spec = content.spec(replica_set)
    active = [pod for pod in owned if pods.active(pod)]
    wanted = content.labels(spec.get("template") or {}).items()
    min_ready = spec.get("minReadySeconds") or 0
    counts = {
        "fullyLabeledReplicas": sum(wanted <= content.labels(pod).items() for pod in active),
        "readyReplicas": sum(pods.ready(pod) for pod in active),
        "availableReplicas": sum(pods.available(pod, min_ready, now) for pod in active),
    }
    stored = content.status(replica_set)
    conditions = [c for c in stored.get("conditions") or () if c.get("type") != REPLICA_FAILURE]
    present = content.condition(stored, REPLICA_FAILURE)
    if failure is not None:
        conditions.append(present or failure)
    return {
        "replicas": len(active),
        **content.without_empty(counts),
        "terminatingReplicas": sum(pods.terminating(pod) for pod in owned),
        "observedGeneration": content.generation(replica_set),
        **({"conditions": conditions} if conditions else {}),
    }


def failure(reason: str, message: str, *, now: datetime) -> Obj:
    """Condition ReplicaFailure; ``reason`` is FailedCreate or FailedDelete."""
    return {
        "type": REPLICA_FAILURE,
        "status": "True",
        "lastTransitionTime": clock.timestamp(now),
        "reason": reason,
        "message": message,
    }
