"""`QuotaActor`: what a ResourceQuota allows and how much of it is used.

The API server admits by the numbers in the status; this actor fills them in. Played are counts of
objects (``pods``, ``services``, ``count/<plural>.<group>`` and so on), and requests and limits of
pods. *Not played*: scopes, and storage by class; such a quota gets an event of type Warning and no
status, so that the server admits by it what it would without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from konstat.actors import content, placement, pods
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.everything import Everything
from konstat.actors.world import World
from konstat.base import limits
from konstat.cache.store import Change
from konstat.kinds import Pod
from konstat.objects.kind import Kind

RESOURCE_QUOTA: Final = Kind(group="", version="v1", kind="ResourceQuota", plural="resourcequotas")
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = {
    "pods": "Pod",
    "services": "Service",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "replicationcontrollers": "ReplicationController",
    "resourcequotas": "ResourceQuota",
}


class QuotaActor(Actor):
    """Keyed by uid of the quota."""

    name: ClassVar[str] = "resourcequota-controller"

    def __init__(self, world: World, everything: Everything) -> None:
        super().__init__(world)
        self._everything = everything
        everything.listen(self._on_any)

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {RESOURCE_QUOTA: self.add_itself, Pod.kind: lambda change: None}

    def _on_any(self, kind: Kind, change: Change) -> None:
        """What ends frees its share; what begins is counted by the server, and seen here later."""
        found = change.new or change.old
        if found is None or not found.namespace:
            return
        ended = kind == Pod.kind and change.new is not None and pods.finished(change.new.content)
        if change.new is None or change.old is None or ended:
            for quota in self.known(RESOURCE_QUOTA).list(found.namespace):
                self.queue.add_after(quota.uid, limits.QUOTA_DELAY_SECONDS)

    async def attempt(self, key: str) -> float | None:
        quota = self.world.by_uid(RESOURCE_QUOTA, key)
        if quota is None or content.deleting(quota) or not self._everything.known.is_set():
            return None if quota is None else 1.0
        hard: Mapping[str, str] = content.spec(quota).get("hard") or {}
        scoped = content.spec(quota).get("scopes") or content.spec(quota).get("scopeSelector")
        used = {name: self._used(name, content.namespace(quota)) for name in hard}
        unplayed = sorted(name for name, amount in used.items() if amount is None)
        if scoped or unplayed:
            note = f"not played here: {'scopes' if scoped else ', '.join(unplayed)}"
            self.world.event(self.name, RESOURCE_QUOTA, quota, "NotPlayed", note, type="Warning")
            return None
        status = {"hard": dict(hard), "used": used}
        if not _same_amounts(content.status(quota), status):
            await self.world.write_status(RESOURCE_QUOTA, quota, status)
        return None

    def _used(self, resource: str, namespace: str) -> str | None:
        """How much of a resource is used; None for one that is not played."""
        plural, _, group = resource.removeprefix("count/").partition(".")
        if resource.startswith("count/"):
            for kind in self._everything.kinds():
                if (kind.plural, kind.group) == (plural, group) and kind.namespaced:
                    return str(self._count(kind, namespace))
            return None
        if resource in _COUNTED:
            kind = self._everything.served("", _COUNTED[resource])
            return None if kind is None else str(self._count(kind, namespace))
        side, dot, name = resource.partition(".")
        if not dot:
            side, name = "requests", resource
        if side in ("requests", "limits") and (name in _COMPUTE):
            living = [p for p in self.world.list(Pod.kind, namespace) if not pods.finished(p)]
            return _total(living, side, name)
        if resource == "requests.storage":
            claims = self._everything.served("", "PersistentVolumeClaim")
            found = self.world.list(claims, namespace) if claims is not None else []
            return _text(sum(_storage(claim) for claim in found))
        return None

    def _count(self, kind: Kind, namespace: str) -> int:
        found = self.world.list(kind, namespace)
        if kind == Pod.kind:
            return sum(not pods.finished(pod) for pod in found)
        return len(found)


def _storage(claim: Obj) -> int:
    asked = (content.spec(claim).get("resources") or {}).get("requests") or {}
    return placement.nanos(str(asked.get("storage") or "0"))


def _total(living: Iterable[Obj], side: str, name: str) -> str:
    if side == "requests":
        return _text(sum(placement.requests(pod).get(name, 0) for pod in living))
    total = 0
    for pod in living:
        for container in content.spec(pod).get("containers") or ():
            found = (container.get("resources") or {}).get("limits") or {}
            total += placement.nanos(str(found.get(name) or "0"))
    return _text(total)


def _text(nanos: int) -> str:
    """An amount as a quantity: whole units, or thousandths."""
    units, rest = divmod(nanos, 10**9)
    return str(units) if not rest else f"{-(-nanos // 10**6)}m"


def _same_amounts(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for side in ("hard", "used"):
        before, after = stored.get(side) or {}, wanted[side]
        if before.keys() != after.keys():
            return False
        if any(placement.nanos(before[k]) != placement.nanos(after[k]) for k in after):
            return False
    return True
