"""`DeploymentActor`: replica sets for Deployments, as kube-controller-manager's controller.

Sizes come from `konstat.actors.rollout`, conditions from `konstat.actors.deployment_status`; here
are the writes and their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from konstat.actors import claims, content, deployment_status, patch, pods, rollout
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.deployment_status import PROGRESSING, entry
from konstat.actors.replicaset_plan import replicas_of
from konstat.actors.replicasets import namespace_is_terminating, text_of
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import AlreadyExists, APIError
from konstat.kinds import Deployment, Pod, ReplicaSet
from konstat.objects.kind import Kind

_DEPLOYMENT = Deployment.kind
_SET = ReplicaSet.kind


class DeploymentActor(Actor):
    """Rolls Deployments out, scales them, and keeps their history short.

    `spec.paused`, both strategies and the progress deadline are played. *Caveat.* The hash in
    names is not the value that the real controller computes.
    """

    name: ClassVar[str] = "deployment-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_DEPLOYMENT: self.add_itself, _SET: self._on_set, Pod.kind: self._on_pod}

    def _on_set(self, change: Change) -> None:
        self.add_controller(change)
        found = change.new
        if found is not None and not found.controller_uid:
            self.add_namespace(_DEPLOYMENT, found)

    def _on_pod(self, change: Change) -> None:
        """A Recreate waits for the end of the last old pod."""
        if change.new is not None or change.old is None:
            return
        found = self.known(_SET).by_uid(change.old.controller_uid)
        if found is not None and found.controller_uid:
            self.queue.add(found.controller_uid)

    async def attempt(self, key: str) -> float | None:
        deployment = self.world.by_uid(_DEPLOYMENT, key)
        if deployment is None:
            return None
        selector = content.selector(deployment)
        if selector is None or not selector.requirements:
            note = "This deployment is selecting all pods. A non-empty selector is required."
            self._event(deployment, "SelectingAll", note, warning=True)
            return None
        sets = await claims.claim(
            self.world,
            _DEPLOYMENT,
            deployment,
            _SET,
            self.world.list(_SET, content.namespace(deployment)),
            selector=selector,
        )
        if content.deleting(deployment):
            await self._write(deployment, sets, plain=True)
            return None
        deployment = await self._tell_pause(deployment)
        if content.spec(deployment).get("paused") or rollout.is_scaling(deployment, sets):
            return await self._scale(deployment, sets)
        if rollout.strategy(deployment) == "Recreate":
            return await self._recreate(deployment, sets)
        return await self._roll(deployment, sets)

    # --- ways of an attempt -------------------------------------------------------------------

    async def _scale(self, deployment: Obj, sets: list[Obj]) -> None:
        deployment, sets, new = await self._find_new(deployment, sets)
        sizes = rollout.scale(deployment, _others(sets, new), new)
        for one in sets:
            size = sizes.get(content.name(one))
            if size is not None:
                sets = _replaced(sets, await self._resize(deployment, one, size))
        new = _same(sets, new)
        if content.spec(deployment).get("paused"):
            sets = await self._trim(deployment, sets, new)
        await self._write(deployment, sets, plain=True)

    async def _roll(self, deployment: Obj, sets: list[Obj]) -> float | None:
        deployment, sets, new = await self._find_new(deployment, sets, create=True)
        assert new is not None
        size = rollout.new_size(deployment, sets, new)
        if size != replicas_of(new):
            sets = _replaced(sets, await self._resize(deployment, new, size))
            return await self._write(deployment, sets)
        sizes = rollout.shrink_old(deployment, _others(sets, new), new)
        for one in _others(sets, new):
            if content.name(one) in sizes:
                shrunk = await self._resize(deployment, one, sizes[content.name(one)])
                sets = _replaced(sets, shrunk)
        if not sizes:
            sets = await self._trim_if_complete(deployment, sets, new)
        return await self._write(deployment, sets)

    async def _recreate(self, deployment: Obj, sets: list[Obj]) -> float | None:
        deployment, sets, new = await self._find_new(deployment, sets)
        used = [one for one in _others(sets, new) if replicas_of(one)]
        for one in used:
            sets = _replaced(sets, await self._resize(deployment, one, 0))
        if used or self._old_pods_run(sets, new):
            return await self._write(deployment, sets)
        deployment, sets, new = await self._find_new(deployment, sets, create=True)
        assert new is not None
        if replicas_of(new) != replicas_of(deployment):
            grown = await self._resize(deployment, new, replicas_of(deployment))
            sets = _replaced(sets, grown)
        sets = await self._trim_if_complete(deployment, sets, new)
        return await self._write(deployment, sets)

    def _old_pods_run(self, sets: list[Obj], new: Obj | None) -> bool:
        return any(
            not pods.finished(pod)
            for one in _others(sets, new)
            for pod in self.world.controlled(Pod.kind, content.uid(one))
        )

    async def _trim_if_complete(self, deployment: Obj, sets: list[Obj], new: Obj) -> list[Obj]:
        if not deployment_status.complete(deployment, content.status(deployment)):
            return sets
        return await self._trim(deployment, sets, new)

    async def _trim(self, deployment: Obj, sets: list[Obj], new: Obj | None) -> list[Obj]:
        """Delete history beyond its limit."""
        gone = rollout.superfluous(deployment, _others(sets, new))
        for one in gone:
            await self.world.delete(_SET, one)
        names = {content.name(one) for one in gone}
        return [one for one in sets if content.name(one) not in names]

    # --- the new replica set ------------------------------------------------------------------

    async def _find_new(
        self, deployment: Obj, sets: list[Obj], *, create: bool = False
    ) -> tuple[Obj, list[Obj], Obj | None]:
        """The Deployment, all sets and the new one, with revision and condition written."""
        new = rollout.new_set(deployment, sets)
        revision = max((rollout.revision(o) for o in _others(sets, new)), default=0) + 1
        if new is None:
            if not create:
                return deployment, sets, None
            new, created = await self._create(deployment, sets, revision)
            sets = [*sets, new]
        else:
            created = False
            new = await self._update_new(deployment, new, revision)
            sets = _replaced(sets, new)
        deployment = await self._note_new(deployment, new, created=created)
        return deployment, sets, new

    async def _update_new(self, deployment: Obj, new: Obj, revision: int) -> Obj:
        wanted = rollout.set_annotations(deployment, new, next_revision=revision, exists=True)
        operations = patch.metadata_patch(new, annotations=wanted)
        least = content.spec(deployment).get("minReadySeconds") or 0
        if least != (content.spec(new).get("minReadySeconds") or 0):
            operations = operations or patch.guard(new)
            operations.append({"op": "add", "path": "/spec/minReadySeconds", "value": least})
        return await self.world.change(_SET, new, operations)

    async def _note_new(self, deployment: Obj, new: Obj, *, created: bool) -> Obj:
        """Write the revision, and that a new set was created or found.

        Both go through the status: an annotation that changes otherwise is a new generation.
        """
        annotations = dict(content.annotations(deployment))
        found = content.annotations(new).get(rollout.REVISION)
        if found is not None:
            annotations[rollout.REVISION] = found
        operations = patch.metadata_patch(deployment, annotations=annotations)
        condition = self._condition_of_new(deployment, content.name(new), created=created)
        if condition is not None:
            before = deployment_status.conditions_of(deployment)
            status = content.status(deployment)
            wanted = {**status, "conditions": deployment_status.put(before, condition)}
            changes = patch.members("/status", status, wanted)
            operations = [*(operations or patch.guard(deployment)), *changes]
        return await self.world.change(_DEPLOYMENT, deployment, operations, subresource="status")

    @staticmethod
    def _condition_of_new(deployment: Obj, name: str, *, created: bool) -> Obj | None:
        if deployment_status.deadline_seconds(deployment) is None:
            return None
        current = content.condition(content.status(deployment), PROGRESSING)
        now = clock.now()
        if created and (current or {}).get("reason") != deployment_status.RESUMED:
            text = f'Created new replica set "{name}"'
            return entry(PROGRESSING, "True", deployment_status.CREATED, text, now)
        if current is None:
            text = f'Found new replica set "{name}"'
            return entry(PROGRESSING, "True", deployment_status.FOUND, text, now)
        return None

    async def _create(self, deployment: Obj, sets: list[Obj], revision: int) -> tuple[Obj, bool]:
        """The new set, and whether it was made just now."""
        wanted = self._new_content(deployment, sets, revision)
        try:
            made = await self.world.create(_SET, wanted)
        except AlreadyExists:
            return await self._take_namesake(deployment, wanted), False
        except APIError as error:
            if not namespace_is_terminating(error):
                await self._tell_create_error(deployment, content.name(wanted), error)
            raise
        if replicas_of(made):
            note = f"Scaled up replica set {content.name(made)} from 0 to {replicas_of(made)}"
            self._event(deployment, "ScalingReplicaSet", note)
        return made, True

    def _new_content(self, deployment: Obj, sets: list[Obj], revision: int) -> Obj:
        spec = content.spec(deployment)
        template = spec.get("template") or {}
        mark = content.template_hash(template, content.status(deployment).get("collisionCount"))
        labels = {**content.labels(template), rollout.HASH_LABEL: mark}
        selector = dict(spec.get("selector") or {})
        matched = {**(selector.get("matchLabels") or {}), rollout.HASH_LABEL: mark}
        annotations = rollout.set_annotations(deployment, {}, next_revision=revision, exists=False)
        return {
            "metadata": {
                "name": content.name_with(content.name(deployment), mark, most=253),
                "namespace": content.namespace(deployment),
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [content.controller_reference(_DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": rollout.new_size(deployment, sets, None),
                "minReadySeconds": spec.get("minReadySeconds") or 0,
                "selector": {**selector, "matchLabels": matched},
                "template": {
                    **template,
                    "metadata": {**content.metadata(template), "labels": labels},
                },
            },
        }

    async def _take_namesake(self, deployment: Obj, wanted: Obj) -> Obj:
        """The set of that name if it is the one we want; else count a collision and raise."""
        live = await self.world.client.get(
            _SET, content.name(wanted), namespace=content.namespace(deployment)
        )
        template = content.spec(deployment).get("template") or {}
        if content.controlled_by(live, content.uid(deployment)) and rollout.same_template(
            content.spec(live).get("template") or {}, template
        ):
            return live
        collisions = (content.status(deployment).get("collisionCount") or 0) + 1
        status = {**content.status(deployment), "collisionCount": collisions}
        await self.world.write_status(_DEPLOYMENT, deployment, status)
        raise AlreadyExists(
            f"replica set {content.name(wanted)} is another's: its Deployment takes another hash",
            code=409,
            reason="AlreadyExists",
        )

    async def _tell_create_error(self, deployment: Obj, name: str, error: APIError) -> None:
        text = f'Failed to create new replica set "{name}": {text_of(error)}'
        self._event(deployment, deployment_status.CREATE_ERROR, text, warning=True)
        if deployment_status.deadline_seconds(deployment) is not None:
            condition = entry(
                PROGRESSING, "False", deployment_status.CREATE_ERROR, text, clock.now()
            )
            await self._put_condition(deployment, condition)

    # --- writes -------------------------------------------------------------------------------

    async def _resize(self, deployment: Obj, replica_set: Obj, size: int) -> Obj:
        """Write the size and what it was computed for, and record it."""
        before = replicas_of(replica_set)
        annotations = dict(content.annotations(replica_set))
        annotations |= rollout.size_annotations(deployment)
        operations = patch.metadata_patch(replica_set, annotations=annotations)
        if size != before:
            operations = operations or patch.guard(replica_set)
            operations.append({"op": "replace", "path": "/spec/replicas", "value": size})
        resized = await self.world.change(_SET, replica_set, operations)
        if size != before:
            way = "up" if size > before else "down"
            name = content.name(replica_set)
            note = f"Scaled {way} replica set {name} from {before} to {size}"
            self._event(deployment, "ScalingReplicaSet", note)
        return resized

    async def _tell_pause(self, deployment: Obj) -> Obj:
        """Condition Progressing of a Deployment that has just been paused or resumed."""
        if deployment_status.deadline_seconds(deployment) is None:
            return deployment
        current = content.condition(content.status(deployment), PROGRESSING) or {}
        if current.get("reason") == deployment_status.TIMED_OUT:
            return deployment
        paused = bool(content.spec(deployment).get("paused"))
        if paused == (current.get("reason") == deployment_status.PAUSED):
            return deployment
        reason = deployment_status.PAUSED if paused else deployment_status.RESUMED
        text = "Deployment is paused" if paused else "Deployment is resumed"
        condition = entry(PROGRESSING, "Unknown", reason, text, clock.now())
        return await self._put_condition(deployment, condition)

    async def _put_condition(self, deployment: Obj, condition: Obj) -> Obj:
        before = deployment_status.conditions_of(deployment)
        conditions = deployment_status.put(before, condition)
        status = {**content.status(deployment), "conditions": conditions}
        return await self.world.write_status(_DEPLOYMENT, deployment, status)

    async def _write(
        self, deployment: Obj, sets: list[Obj], *, plain: bool = False
    ) -> float | None:
        """Write the status; seconds to the deadline of what it says then.

        ``plain`` leaves condition Progressing as it is.
        """
        compute = deployment_status.counts if plain else deployment_status.progress
        new = rollout.new_set(deployment, sets)
        status = compute(deployment, sets, new, now=clock.now())
        deployment = await self.world.write_status(_DEPLOYMENT, deployment, status)
        if plain or deployment_status.complete(deployment, content.status(deployment)):
            return None
        left = deployment_status.seconds_to_deadline(deployment, now=clock.now())
        # Times are kept in whole seconds.
        return None if left is None else max(left, 0.0) + 1.0

    def _event(self, deployment: Obj, reason: str, note: str, *, warning: bool = False) -> None:
        self.world.event(
            self.name,
            _DEPLOYMENT,
            deployment,
            reason,
            note,
            type="Warning" if warning else "Normal",
        )


def _others(sets: list[Obj], new: Obj | None) -> list[Obj]:
    return [one for one in sets if new is None or content.uid(one) != content.uid(new)]


def _replaced(sets: list[Obj], changed: Obj) -> list[Obj]:
    return [changed if content.uid(one) == content.uid(changed) else one for one in sets]


def _same(sets: list[Obj], new: Obj | None) -> Obj | None:
    if new is None:
        return None
    return next((one for one in sets if content.uid(one) == content.uid(new)), None)
