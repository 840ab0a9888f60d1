"""`StatefulSetActor`: numbered pods, as kube-controller-manager's controller.

Decisions are in `konstat.actors.statefulset_plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from konstat.actors import claims, content, pods, revisions, statefulset_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.replicasets import text_of
from konstat.actors.revisions import CONTROLLER_REVISION
from konstat.actors.statefulset_plan import Revisions
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import AlreadyExists, APIError
from konstat.kinds import PersistentVolumeClaim, Pod, StatefulSet
from konstat.objects.kind import Kind

_SET = StatefulSet.kind
_CLAIM = PersistentVolumeClaim.kind
_REVISION_HASH = "controller.kubernetes.io/hash"


class StatefulSetActor(Actor):
    """Fills, shrinks and updates StatefulSets; makes the claims of their pods.

    *Not played.* ``persistentVolumeClaimRetentionPolicy`` other than Retain: an event of type
    Warning says so, and the claims stay.
    """

    name: ClassVar[str] = "statefulset-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _SET: self.add_itself,
            Pod.kind: self._on_pod,
            CONTROLLER_REVISION: self.add_controller,
            _CLAIM: lambda change: None,
        }

    def _on_pod(self, change: Change) -> None:
        self.add_controller(change)
        pod = change.new
        if pod is not None and not pod.controller_uid and pod.label_items:
            self.add_namespace(_SET, pod)

    async def attempt(self, key: str) -> float | None:
        stateful_set = self.world.by_uid(_SET, key)
        if stateful_set is None:
            return None
        selector = content.selector(stateful_set)
        if selector is None or not selector.requirements:
            return None
        kept = await revisions.owned_revisions(self.world, _SET, stateful_set)
        owned = await claims.claim(
            self.world,
            _SET,
            stateful_set,
            Pod.kind,
            self._own_names(stateful_set),
            selector=selector,
        )
        if content.deleting(stateful_set):
            return None
        self._tell_retention(stateful_set)
        kept, update = await revisions.keep_revisions(
            self.world, _SET, stateful_set, kept, hash_label=_REVISION_HASH
        )
        stored = content.status(stateful_set).get("currentRevision") or ""
        known = {content.name(one) for one in kept}
        current = stored if stored in known else content.name(update)
        names = Revisions(current=current, update=content.name(update))
        seconds = await self._step(stateful_set, owned, kept, names)
        used = [current, content.name(update), *map(statefulset_plan.revision_of, owned)]
        await revisions.trim_revisions(self.world, stateful_set, kept, used=used)
        return seconds

    def _own_names(self, stateful_set: Obj) -> list[Obj]:
        """The pods whose names could be of the set: others are not adopted."""
        found = self.world.list(Pod.kind, content.namespace(stateful_set))
        return [pod for pod in found if statefulset_plan.ordinal(stateful_set, pod) is not None]

    async def _step(
        self, stateful_set: Obj, owned: list[Obj], kept: list[Obj], names: Revisions
    ) -> float | None:
        """Do what is next, and write the status even when that fails."""
        now = clock.now()
        step = statefulset_plan.plan(stateful_set, owned, names, now=now)
        templates = {content.name(one): revisions.template_of(one) for one in kept}
        numbered: list[Obj] = [{"number": number} for number in step.create]
        error = await self.world.slow_start(
            numbered, lambda entry: self._create(stateful_set, entry["number"], templates, names)
        )
        doomed = [*step.delete, *step.replaced]
        error = await self.world.each(doomed, lambda pod: self._delete(stateful_set, pod)) or error
        status = statefulset_plan.status(
            stateful_set, owned, names, deleted=[content.uid(p) for p in doomed], now=now
        )
        await self.world.write_status(_SET, stateful_set, status)
        if error is not None:
            raise error
        return pods.next_available(owned, statefulset_plan.min_ready_seconds(stateful_set), now)

    async def _create(
        self, stateful_set: Obj, number: int, templates: Mapping[str, Obj], names: Revisions
    ) -> None:
        revision = statefulset_plan.revision_for(stateful_set, number, names)
        pod = statefulset_plan.new_pod(
            stateful_set, number, template=templates[revision], revision=revision
        )
        name, of = content.name(pod), content.name(stateful_set)
        for claim in statefulset_plan.new_claims(stateful_set, number):
            await self._create_claim(stateful_set, claim, pod_name=name)
        try:
            await self.world.create(Pod.kind, pod)
        except APIError as error:
            note = f"create Pod {name} in StatefulSet {of} failed error: {text_of(error)}"
            self._event(stateful_set, "FailedCreate", note, warning=True)
            raise
        note = f"Create Pod {name} in StatefulSet {of} successful"
        self._event(stateful_set, "SuccessfulCreate", note)

    async def _create_claim(self, stateful_set: Obj, claim: Obj, *, pod_name: str) -> None:
        name, of = content.name(claim), content.name(stateful_set)
        present = self.world.get(_CLAIM, name, namespace=content.namespace(claim))
        if present is not None:
            return
        try:
            await self.world.create(_CLAIM, claim)
        except AlreadyExists:
            return
        except APIError as error:
            note = (
                f"create Claim {name} for Pod {pod_name} in StatefulSet {of} failed error:"
                f" {text_of(error)}"
            )
            self._event(stateful_set, "FailedCreate", note, warning=True)
            raise
        note = f"Create Claim {name} Pod {pod_name} in StatefulSet {of} success"
        self._event(stateful_set, "SuccessfulCreate", note)

    async def _delete(self, stateful_set: Obj, pod: Obj) -> None:
        if await self.world.delete(Pod.kind, pod):
            name, of = content.name(pod), content.name(stateful_set)
            note = f"Delete Pod {name} in StatefulSet {of} successful"
            self._event(stateful_set, "SuccessfulDelete", note)

    def _tell_retention(self, stateful_set: Obj) -> None:
        seen = content.status(stateful_set).get("observedGeneration")
        if seen == content.generation(stateful_set):
            return
        policy = content.spec(stateful_set).get("persistentVolumeClaimRetentionPolicy") or {}
        asked = [f"{when}={what}" for when, what in sorted(policy.items()) if what != "Retain"]
        if asked:
            note = (
                f"persistentVolumeClaimRetentionPolicy {', '.join(asked)} is not played here:"
                " the claims stay"
            )
            self._event(stateful_set, "NotPlayed", note, warning=True)

    def _event(self, stateful_set: Obj, reason: str, note: str, *, warning: bool = False) -> None:
        kind = "Warning" if warning else "Normal"
        self.world.event(self.name, _SET, stateful_set, reason, note, type=kind)
