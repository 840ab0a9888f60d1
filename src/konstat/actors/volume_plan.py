"""Which volume a claim gets. Pure.

Before: `konstat.actors.placement` (quantities). After: `konstat.actors.volumes`,
`konstat.actors.scheduler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from konstat.actors import content
from konstat.actors.content import Obj
from konstat.actors.placement import nanos
from konstat.kinds import PersistentVolumeClaim

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


def class_of(claim: Obj, classes: Sequence[Obj]) -> Obj | None:
    wanted = content.spec(claim).get("storageClassName")
    return next((one for one in classes if wanted and content.name(one) == wanted), None)


def needs_consumer(claim: Obj, classes: Sequence[Obj]) -> bool:
    """Whether the claim waits for a pod that uses it to have a node."""
    found = class_of(claim, classes)
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def capacity(holder: Mapping[str, Any]) -> int:
    return nanos(str((holder or {}).get("storage") or "0"))


def is_claimed_by(volume: Obj, claim: Obj) -> bool:
    """Whether the volume is bound to this claim, or set aside for its name."""
    reference = content.spec(volume).get("claimRef") or {}
    named = (reference.get("namespace"), reference.get("name"))
    return named == (content.namespace(claim), content.name(claim)) and (
        reference.get("uid") in (None, "", content.uid(claim))
    )


def matching_volume(claim: Obj, volumes: Sequence[Obj]) -> Obj | None:
    """The smallest free volume that fits; one that is set aside for the claim goes first."""
    spec = content.spec(claim)
    if spec.get("volumeName"):
        return next((v for v in volumes if content.name(v) == spec["volumeName"]), None)
    reserved = [v for v in volumes if is_claimed_by(v, claim)]
    if reserved:
        return reserved[0]
    wanted = capacity((spec.get("resources") or {}).get("requests") or {})
    selector = content.selector(claim)
    fitting = [
        volume
        for volume in volumes
        if not content.spec(volume).get("claimRef")
        and not content.deleting(volume)
        and (content.status(volume).get("phase") or "Available") in ("Available", "Pending")
        and (content.spec(volume).get("storageClassName") or "")
        == (spec.get("storageClassName") or "")
        and (content.spec(volume).get("volumeMode") or "Filesystem")
        == (spec.get("volumeMode") or "Filesystem")
        and set(spec.get("accessModes") or ()) <= set(content.spec(volume).get("accessModes") or ())
        and capacity(content.spec(volume).get("capacity") or {}) >= wanted
        and (selector is None or selector.matches(content.labels(volume)))
    ]
    return min(
        fitting,
        key=lambda v: (capacity(content.spec(v).get("capacity") or {}), content.name(v)),
        default=None,
    )


def claim_reference(claim: Obj) -> Obj:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": PersistentVolumeClaim.kind.api_version,
        "namespace": content.namespace(claim),
        "name": content.name(claim),
        "uid": content.uid(claim),
        "resourceVersion": content.metadata(claim).get("resourceVersion"),
    }


def new_volume(claim: Obj, storage_class: Obj) -> Obj:
    """The volume that a pretended provisioner makes: it holds nothing."""
    spec = content.spec(claim)
    name = f"pvc-{content.uid(claim)}"
    provisioner = str(storage_class.get("provisioner") or "")
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
        "spec": {
            "capacity": {"storage": (spec.get("resources") or {}).get("requests", {})["storage"]},
            "accessModes": list(spec.get("accessModes") or ()),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
            "storageClassName": content.name(storage_class),
            "volumeMode": spec.get("volumeMode") or "Filesystem",
            "claimRef": claim_reference(claim),
            "hostPath": {"path": f"/pretended/{name}", "type": ""},
        },
    }


def users(claim: Obj, pods_there: Sequence[Obj]) -> list[Obj]:
    """The pods that use the claim and have not ended."""
    name = content.name(claim)
    return [
        pod
        for pod in pods_there
        if (content.status(pod).get("phase") not in ("Succeeded", "Failed"))
        and any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == name
            for volume in content.spec(pod).get("volumes") or ()
        )
    ]
