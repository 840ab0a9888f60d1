"""`DisruptionActor`: how many pods a PodDisruptionBudget lets go, for the eviction API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from konstat.actors import content, pods
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.replicaset_plan import replicas_of
from konstat.base import clock
from konstat.cache.store import Change
from konstat.kinds import Deployment, Pod, PodDisruptionBudget, ReplicaSet, StatefulSet
from konstat.objects.kind import Kind

_BUDGET = PodDisruptionBudget.kind
_EVICTED_SECONDS = 120.0  # an eviction that deleted no pod within this time is forgotten
_SCALED = {("apps", kind.kind): kind for kind in (ReplicaSet.kind, StatefulSet.kind)}


class DisruptionActor(Actor):
    """Counts pods of Deployments, ReplicaSets and StatefulSets, and lone pods.

    *Not played*: the scale of other owners; a percentage then counts the pods that are there.
    """

    name: ClassVar[str] = "controllermanager"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _BUDGET: self.add_itself,
            Pod.kind: self._on_pod,
            ReplicaSet.kind: self._on_owner,
            StatefulSet.kind: self._on_owner,
            Deployment.kind: self._on_owner,
        }

    def _on_pod(self, change: Change) -> None:
        found = change.new or change.old
        if found is not None:
            self.add_namespace(_BUDGET, found)

    def _on_owner(self, change: Change) -> None:
        if (
            change.old is None
            or change.new is None
            or (change.old.generation != change.new.generation)
        ):
            self._on_pod(change)

    async def attempt(self, key: str) -> float | None:
        budget = self.world.by_uid(_BUDGET, key)
        if budget is None:
            return None
        selector = content.selector(budget)
        found = [
            pod
            for pod in self.world.list(Pod.kind, content.namespace(budget))
            if selector is not None and selector.matches(content.labels(pod))
        ]
        if not found:
            self.world.event(self.name, _BUDGET, budget, "NoPods", "No matching pods found")
        living = [pod for pod in found if pods.active(pod)]
        expected, desired = _numbers(budget, living, self._expected_scale(living))
        await self._write(budget, found, expected=expected, desired=desired)
        return None

    def _expected_scale(self, living: list[Obj]) -> int:
        """How many pods the owners of these pods want together."""
        owners: dict[str, int] = {}
        for pod in living:
            owner = content.controller(pod)
            if owner is None:
                owners[content.uid(pod)] = 1
                continue
            uid, size = self._scale_of(owner)
            owners[uid] = size if size is not None else owners.get(uid, 0) + 1
        return sum(owners.values())

    def _scale_of(self, owner: Obj) -> tuple[str, int | None]:
        group, _, _ = str(owner.get("apiVersion")).rpartition("/")
        kind = _SCALED.get((group, str(owner.get("kind"))))
        found = self.world.by_uid(kind, owner["uid"]) if kind is not None else None
        if found is None:
            return owner["uid"], None
        above = content.controller(found)
        if above is not None and above.get("kind") == Deployment.kind.kind:
            deployment = self.world.by_uid(Deployment.kind, above["uid"])
            if deployment is not None:
                return above["uid"], replicas_of(deployment)
        return owner["uid"], replicas_of(found)

    async def _write(self, budget: Obj, found: list[Obj], *, expected: int, desired: int) -> None:
        now = clock.now()
        there = {content.name(pod): pod for pod in found}
        evicted = {
            name: moment
            for name, moment in (content.status(budget).get("disruptedPods") or {}).items()
            if name in there
            and not content.deleting(there[name])
            and (content.moment(moment) or now) + timedelta(seconds=_EVICTED_SECONDS) > now
        }
        healthy = sum(
            pods.active(pod) and pods.ready(pod) and content.name(pod) not in evicted
            for pod in found
        )
        allowed = max(0, healthy - desired) if expected else 0
        status: Obj = {
            "observedGeneration": content.generation(budget),
            **content.without_empty({"disruptedPods": evicted}),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": _conditions(budget, allowed),
        }
        await self.world.write_status(_BUDGET, budget, status)


def _numbers(budget: Obj, living: list[Obj], scale: int) -> tuple[int, int]:
    """How many pods there should be, and how many must stay healthy."""
    spec = content.spec(budget)
    most_away = spec.get("maxUnavailable")
    if most_away is not None:
        away = content.scaled(most_away, scale, round_up=True)
        return scale, max(0, scale - away)
    least = spec.get("minAvailable")
    if isinstance(least, str):
        return scale, content.scaled(least, scale, round_up=True)
    return len(living), least or 0


def _conditions(budget: Obj, allowed: int) -> list[Obj]:
    stored = list(content.status(budget).get("conditions") or ())
    before = content.condition(content.status(budget), "DisruptionAllowed") or {}
    status = "True" if allowed else "False"
    same = before.get("status") == status
    since = before.get("lastTransitionTime") if same else None
    condition = {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": content.generation(budget),
        "lastTransitionTime": since or clock.timestamp(clock.now()),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    return [*(c for c in stored if c.get("type") != "DisruptionAllowed"), condition]
