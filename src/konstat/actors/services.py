"""`EndpointSliceActor` and `EndpointsActor`: where Services lead, for new and for old readers.

Contents are in `konstat.actors.slice_plan`. Both are keyed by namespace and name, as Endpoints of
a Service that is gone must be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from konstat.actors import content, patch, pods, slice_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.slice_plan import Group
from konstat.cache.store import Change
from konstat.errors import AlreadyExists
from konstat.kinds import EndpointSlice, Node, Pod, Service
from konstat.objects.diff import same
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot

ENDPOINTS: Final = Kind(group="", version="v1", kind="Endpoints", plural="endpoints")
_SLICE = EndpointSlice.kind
_SERVICE = Service.kind


class _ServiceKeyed(Actor):
    """Triggers that lead from pods to the names of the Services that select them."""

    def add_name(self, change: Change) -> None:
        found = change.new or change.old
        if found is not None:
            self.queue.add(f"{found.namespace}/{found.name}")

    def on_pod(self, change: Change) -> None:
        """Services that select the pod, or did; nothing that traffic does not care about."""
        old, new = change.old, change.new
        if old is not None and new is not None and _traffic(old) == _traffic(new):
            return
        for snapshot in (old, new):
            if snapshot is None:
                continue
            labels = (snapshot.labels or {}).items()
            for service in self.known(_SERVICE).list(snapshot.namespace):
                selector = content.spec(service.content).get("selector") or {}
                if selector and selector.items() <= labels:
                    self.queue.add(f"{service.namespace}/{service.name}")

    def service_of(self, key: str) -> tuple[str, str, Obj | None]:
        namespace, _, name = key.partition("/")
        return namespace, name, self.world.get(_SERVICE, name, namespace=namespace)

    def pods_of(self, service: Obj) -> list[Obj]:
        return slice_plan.selected(service, self.world.list(Pod.kind, content.namespace(service)))


def _traffic(snapshot: Snapshot) -> Any:
    """What of a pod changes where traffic goes."""
    pod = snapshot.content
    return (
        content.labels(pod),
        pods.ready(pod),
        pods.finished(pod),
        snapshot.deleting,
        slice_plan.addresses(pod),
        pods.node_name(pod),
    )


class EndpointSliceActor(_ServiceKeyed):
    """Slices of the Services with a selector, and mirrors of Endpoints that users wrote.

    *Difference.* The annotation with the time of the last change is not written, hints are not
    computed.
    """

    name: ClassVar[str] = "endpoint-slice-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _SERVICE: self.add_name,
            Pod.kind: self.on_pod,
            _SLICE: self._on_slice,
            ENDPOINTS: self.add_name,
            Node.kind: lambda change: None,
        }

    def _on_slice(self, change: Change) -> None:
        for snapshot in (change.old, change.new):
            if snapshot is not None:
                name = (snapshot.labels or {}).get(slice_plan.SERVICE_LABEL)
                if name:
                    self.queue.add(f"{snapshot.namespace}/{name}")

    async def attempt(self, key: str) -> float | None:
        namespace, name, service = self.service_of(key)
        if service is not None and content.deleting(service):
            return None
        present = [
            one
            for one in self.world.list(_SLICE, namespace)
            if content.labels(one).get(slice_plan.SERVICE_LABEL) == name
            and not content.deleting(one)
        ]
        wanted: list[Group] = []
        if service is not None and slice_plan.selects(service):
            nodes = {content.name(node): node for node in self.world.list(Node.kind)}
            wanted = slice_plan.groups(service, self.pods_of(service), nodes)
            await self._keep(
                service, _SERVICE, wanted, present, manager=slice_plan.SLICE_CONTROLLER
            )
        await self._mirror(namespace, name, service, present)
        return None

    async def _mirror(
        self, namespace: str, name: str, service: Obj | None, present: list[Obj]
    ) -> None:
        endpoints = self.world.get(ENDPOINTS, name, namespace=namespace)
        if endpoints is not None and slice_plan.is_mirrored(service, endpoints):
            wanted = slice_plan.mirrored_groups(endpoints)
            manager = slice_plan.MIRROR_CONTROLLER
            await self._keep(endpoints, ENDPOINTS, wanted, present, manager=manager)
            return
        for one in present:
            if content.labels(one).get(slice_plan.MANAGED_BY) == slice_plan.MIRROR_CONTROLLER:
                await self.world.delete(_SLICE, one)

    async def _keep(
        self, owner: Obj, kind: Kind, wanted: list[Group], present: list[Obj], *, manager: str
    ) -> None:
        mine = [s for s in present if content.labels(s).get(slice_plan.MANAGED_BY) == manager]
        labels = slice_plan.labels(owner, manager=manager)
        mirrors = manager == slice_plan.MIRROR_CONTROLLER
        plan = slice_plan.plan(
            content.controller_reference(kind, owner),
            owner,
            wanted,
            mine,
            slice_labels=labels,
            types=() if mirrors else slice_plan.address_types(owner),
        )
        for one in plan.create:
            await self.world.create(_SLICE, one)
        for one, changed in plan.change:
            operations = patch.set_members(
                one,
                *((f"/{field}", changed[field]) for field in changed if field != "labels"),
                *((("/metadata/labels", changed["labels"]),) if "labels" in changed else ()),
            )
            await self.world.change(_SLICE, one, operations)
        for one in plan.delete:
            await self.world.delete(_SLICE, one)


class EndpointsActor(_ServiceKeyed):
    """Endpoints of the Services with a selector, for readers of the deprecated kind."""

    name: ClassVar[str] = "endpoint-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_SERVICE: self.add_name, Pod.kind: self.on_pod, ENDPOINTS: self.add_name}

    async def attempt(self, key: str) -> float | None:
        namespace, name, service = self.service_of(key)
        present = self.world.get(ENDPOINTS, name, namespace=namespace)
        if service is None or content.deleting(service):
            managed = content.labels(present or {}).get(slice_plan.ENDPOINTS_MANAGED_BY)
            if present is not None and managed == slice_plan.ENDPOINTS_CONTROLLER:
                await self.world.delete(ENDPOINTS, present)
            return None
        if not slice_plan.selects(service):
            return None
        wanted = slice_plan.endpoints_content(service, self.pods_of(service))
        if present is None:
            try:
                await self.world.create(ENDPOINTS, wanted)
            except AlreadyExists:
                return 1.0
            return None
        changes: list[tuple[str, Any]] = []
        if not same(present.get("subsets") or [], wanted["subsets"]):
            changes.append(("/subsets", wanted["subsets"]))
        if content.labels(present) != content.labels(wanted):
            changes.append(("/metadata/labels", content.labels(wanted)))
        annotations = dict(content.annotations(present))
        annotations.pop(slice_plan.OVER_CAPACITY, None)
        annotations |= content.annotations(wanted)
        if annotations != content.annotations(present):
            changes.append(("/metadata/annotations", annotations))
        if changes:
            await self.world.change(ENDPOINTS, present, patch.set_members(present, *changes))
        return None
