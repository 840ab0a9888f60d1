"""`VolumeActor`: binds claims to volumes, pretends to provision, and protects what is in use.

Plays the persistent volume controller and both protection controllers. *Pretended*: for every
StorageClass with a provisioner (other than ``kubernetes.io/no-provisioner``) it makes volumes
itself, which hold nothing. *Not played*: resizing, snapshots as sources, attachments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from konstat.actors import content, patch, volume_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import AlreadyExists, APIError, NotFound
from konstat.kinds import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from konstat.objects.kind import Kind

_CLAIM = PersistentVolumeClaim.kind
_VOLUME = PersistentVolume.kind


class VolumeActor(Actor):
    """Keyed by uid of a claim or a volume."""

    name: ClassVar[str] = "persistentvolume-controller"
    workers: ClassVar[int] = 1  # two claims must not take one volume

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _CLAIM: self._on_claim,
            _VOLUME: self._on_volume,
            StorageClass.kind: self._on_class,
            Pod.kind: self._on_pod,
        }

    def _on_claim(self, change: Change) -> None:
        self.add_itself(change)
        if change.new is None:
            for volume in self.known(_VOLUME).list():
                self.queue.add(volume.uid)

    def _on_volume(self, change: Change) -> None:
        self.add_itself(change)
        for claim in self.known(_CLAIM).list():
            self.queue.add(claim.uid)

    def _on_class(self, change: Change) -> None:
        for claim in self.known(_CLAIM).list():
            self.queue.add(claim.uid)

    def _on_pod(self, change: Change) -> None:
        """A claim that is being deleted waits for its pods; a late one for its first."""
        found = change.new or change.old
        if found is None:
            return
        for volume in content.spec(found.content).get("volumes") or ():
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            claim = self.known(_CLAIM).get(found.namespace, name) if name else None
            if claim is not None and (claim.deleting or change.old is None):
                self.queue.add(claim.uid)

    async def attempt(self, key: str) -> float | None:
        claim = self.world.by_uid(_CLAIM, key)
        if claim is not None:
            await (self._end_claim(claim) if content.deleting(claim) else self._bind(claim))
            return None
        volume = self.world.by_uid(_VOLUME, key)
        if volume is not None:
            await self._tend(volume)
        return None

    # --- claims -------------------------------------------------------------------------------

    async def _bind(self, claim: Obj) -> None:
        status = content.status(claim)
        if status.get("phase") == "Bound":
            await self._notice_loss(claim)
            return
        classes = self.world.list(StorageClass.kind)
        late = volume_plan.needs_consumer(claim, classes)
        node = content.annotations(claim).get(volume_plan.SELECTED_NODE)
        if late and not node and not content.spec(claim).get("volumeName"):
            note = "waiting for first consumer to be created before binding"
            self._event(claim, "WaitForFirstConsumer", note)
            return
        volume = volume_plan.matching_volume(claim, self.world.list(_VOLUME))
        if volume is None:
            volume = await self._provision(claim, volume_plan.class_of(claim, classes))
            if volume is None:
                return
        elif not self._is_free_for(volume, claim):
            note = f'volume "{content.name(volume)}" already bound to a different claim.'
            self._event(claim, "FailedBinding", note, warning=True)
            return
        await self._join(claim, volume)

    @staticmethod
    def _is_free_for(volume: Obj, claim: Obj) -> bool:
        taken = content.spec(volume).get("claimRef")
        return not taken or volume_plan.is_claimed_by(volume, claim)

    async def _provision(self, claim: Obj, storage_class: Obj | None) -> Obj | None:
        """A new volume, or None after saying why there is none."""
        named = content.spec(claim).get("storageClassName")
        if storage_class is None:
            if named:
                note = f'storageclass.storage.k8s.io "{named}" not found'
                self._event(claim, "ProvisioningFailed", note, warning=True)
            else:
                note = "no persistent volumes available for this claim and no storage class is set"
                self._event(claim, "FailedBinding", note)
            return None
        if storage_class.get("provisioner") == volume_plan.NO_PROVISIONER:
            note = "no persistent volumes available for this claim and its class makes none"
            self._event(claim, "FailedBinding", note)
            return None
        try:
            made = await self.world.create(_VOLUME, volume_plan.new_volume(claim, storage_class))
        except AlreadyExists:
            return self.world.get(_VOLUME, f"pvc-{content.uid(claim)}")
        except APIError as error:
            self._event(claim, "ProvisioningFailed", error.message, warning=True)
            raise
        note = f"Successfully provisioned volume {content.name(made)} (pretended)"
        self._event(claim, "ProvisioningSucceeded", note)
        return made

    async def _join(self, claim: Obj, volume: Obj) -> None:
        """Write both sides of the binding, the volume first."""
        reference = content.spec(volume).get("claimRef") or {}
        if reference.get("uid") != content.uid(claim):
            operations = patch.set_members(
                volume, ("/spec/claimRef", volume_plan.claim_reference(claim))
            )
            volume = await self.world.change(_VOLUME, volume, operations)
        await self._set_phase(volume, "Bound")
        annotations = {**content.annotations(claim), volume_plan.BIND_COMPLETED: "yes"}
        changes: list[tuple[str, Any]] = []
        if not content.spec(claim).get("volumeName"):
            annotations[volume_plan.BOUND_BY_CONTROLLER] = "yes"
            changes.append(("/spec/volumeName", content.name(volume)))
        if annotations != content.annotations(claim):
            changes.append(("/metadata/annotations", annotations))
        operations = patch.set_members(claim, *changes) if changes else []
        claim = await self.world.change(_CLAIM, claim, operations)
        status = {
            **content.status(claim),
            "phase": "Bound",
            "accessModes": content.spec(volume).get("accessModes"),
            "capacity": content.spec(volume).get("capacity"),
        }
        await self.world.write_status(_CLAIM, claim, status)

    async def _notice_loss(self, claim: Obj) -> None:
        name = content.spec(claim).get("volumeName") or ""
        if self.world.get(_VOLUME, name) is not None:
            return
        try:
            await self.world.client.get(_VOLUME, name)
            return
        except NotFound:
            status = {**content.status(claim), "phase": "Lost"}
        await self.world.write_status(_CLAIM, claim, status)
        note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        self._event(claim, "ClaimLost", note, warning=True)

    async def _end_claim(self, claim: Obj) -> None:
        """Lift the protection of a claim that is being deleted and that no pod uses."""
        if volume_plan.CLAIM_PROTECTION not in content.finalizers(claim):
            return
        there = self.world.list(Pod.kind, content.namespace(claim))
        if volume_plan.users(claim, there):
            return
        await self._lift(_CLAIM, claim, volume_plan.CLAIM_PROTECTION)

    # --- volumes ------------------------------------------------------------------------------

    async def _tend(self, volume: Obj) -> None:
        """Phase, release and protection of a volume."""
        reference = content.spec(volume).get("claimRef") or {}
        bound = self.world.by_uid(_CLAIM, reference.get("uid") or "") is not None
        if content.deleting(volume):
            if not bound and volume_plan.VOLUME_PROTECTION in content.finalizers(volume):
                await self._lift(_VOLUME, volume, volume_plan.VOLUME_PROTECTION)
            return
        if not reference.get("uid"):
            await self._set_phase(volume, "Available")
        elif not bound and await self._claim_is_gone(reference):
            volume = await self._set_phase(volume, "Released")
            policy = content.spec(volume).get("persistentVolumeReclaimPolicy")
            pretended = volume_plan.PROVISIONED_BY in content.annotations(volume)
            if policy == "Delete" and pretended:
                await self.world.delete(_VOLUME, volume)

    async def _claim_is_gone(self, reference: Obj) -> bool:
        try:
            live = await self.world.client.get(
                _CLAIM, reference.get("name") or "", namespace=reference.get("namespace") or ""
            )
        except NotFound:
            return True
        return content.uid(live) != reference.get("uid")

    async def _set_phase(self, volume: Obj, phase: str) -> Obj:
        status = content.status(volume)
        if status.get("phase") == phase:
            return volume
        moment = clock.timestamp(clock.now())
        wanted = {**status, "phase": phase, "lastPhaseTransitionTime": moment}
        return await self.world.write_status(_VOLUME, volume, wanted)

    async def _lift(self, kind: Kind, obj: Obj, finalizer: str) -> None:
        left = [found for found in content.finalizers(obj) if found != finalizer]
        try:
            await self.world.change(kind, obj, patch.metadata_patch(obj, finalizers=left))
        except NotFound:
            return

    def _event(self, claim: Obj, reason: str, note: str, *, warning: bool = False) -> None:
        kind = "Warning" if warning else "Normal"
        self.world.event(self.name, _CLAIM, claim, reason, note, type=kind)
