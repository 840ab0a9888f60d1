"""`ServiceAccountActor` and `RootCertificateActor`: what every namespace holds from its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from konstat.actors import content, patch
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.replicasets import namespace_is_terminating
from konstat.actors.world import World
from konstat.cache.store import Change
from konstat.errors import AlreadyExists, APIError
from konstat.kinds import ConfigMap, Namespace, ServiceAccount
from konstat.objects.kind import Kind

ACCOUNT_NAME: Final = "default"
CERTIFICATE_NAME: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = {
    "kubernetes.io/description": "The authority that signed the certificate of the API server."
}


class _PerNamespace(Actor):
    """Keyed by uid of the namespace; keeps one object in each that is not going."""

    kept_kind: ClassVar[Kind]
    kept_name: ClassVar[str]

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {Namespace.kind: self.add_itself, self.kept_kind: self._on_kept}

    def _on_kept(self, change: Change) -> None:
        found = change.new or change.old
        if found is None or found.name != self.kept_name:
            return
        namespace = self.known(Namespace.kind).get("", found.namespace)
        if namespace is not None:
            self.queue.add(namespace.uid)

    async def attempt(self, key: str) -> float | None:
        namespace = self.world.by_uid(Namespace.kind, key)
        if namespace is None or content.deleting(namespace):
            return None
        wanted = self.wanted(content.name(namespace))
        present = self.world.get(self.kept_kind, self.kept_name, namespace=content.name(namespace))
        if present is not None:
            await self.correct(present, wanted)
            return None
        try:
            await self.world.create(self.kept_kind, wanted)
        except AlreadyExists:
            return 1.0
        except APIError as error:
            if not namespace_is_terminating(error):
                raise
        return None

    def wanted(self, namespace: str) -> Obj:
        """The object to create."""
        return {"metadata": {"name": self.kept_name, "namespace": namespace}}

    async def correct(self, present: Obj, wanted: Obj) -> None:
        """Bring the object that is there to what it should be; nothing by default."""


class ServiceAccountActor(_PerNamespace):
    """ServiceAccount ``default`` in every namespace."""

    name: ClassVar[str] = "serviceaccount-controller"
    kept_kind: ClassVar[Kind] = ServiceAccount.kind
    kept_name: ClassVar[str] = ACCOUNT_NAME


class RootCertificateActor(_PerNamespace):
    """ConfigMap ``kube-root-ca.crt`` in every namespace, with the certificate that it is given."""

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"
    kept_kind: ClassVar[Kind] = ConfigMap.kind
    kept_name: ClassVar[str] = CERTIFICATE_NAME

    def __init__(self, world: World, certificate: str) -> None:
        super().__init__(world)
        self._data = {"ca.crt": certificate}

    def wanted(self, namespace: str) -> Obj:
        found = super().wanted(namespace)
        found["metadata"]["annotations"] = dict(_DESCRIPTION)
        return {**found, "data": self._data}

    async def correct(self, present: Obj, wanted: Obj) -> None:
        if present.get("data") == self._data:
            return
        operations = patch.set_members(present, ("/data", self._data))
        await self.world.change(ConfigMap.kind, present, operations)
