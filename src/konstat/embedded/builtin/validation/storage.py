"""Checks of PersistentVolumes, StorageClasses and CSIDrivers."""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded.builtin.validation import basics, claims, volumes
from konstat.embedded.builtin.validation.basics import Errors, Object, absent, one_of
from konstat.embedded.builtin.validation.printed import difference
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)

_POLICIES: Final = ("Delete", "Recycle", "Retain")
# In the order of the server's checks.
_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip


def volume(new: Object, old: Object | None) -> Errors:
    """A PersistentVolume; its source and mode stay as they are."""
    spec = new["spec"]
    yield from absent("spec.accessModes", spec.get("accessModes"))
    yield from claims.access_modes("spec.accessModes", spec.get("accessModes"))
    yield from _capacity(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from one_of("spec.persistentVolumeReclaimPolicy", policy, _POLICIES, required=False)
    yield from _source(spec)
    if spec.get("storageClassName"):
        yield from basics.subdomain("spec.storageClassName", spec["storageClassName"])
    yield from one_of("spec.volumeMode", spec.get("volumeMode"), claims.VOLUME_MODES)
    if old is not None:
        yield from _source_unchanged(spec, old["spec"])


def _capacity(given: Any) -> Errors:
    yield from absent("spec.capacity", given)
    if set(given or {}) != {"storage"}:
        yield not_supported("spec.capacity", given, ("storage",))
    for name, amount in sorted((given or {}).items()):
        yield from claims.positive(f"spec.capacity[{name}]", amount)


def _source(spec: Object) -> Errors:
    found = 0
    for name in _SOURCES:
        if name not in spec:
            continue
        found += 1
        if found > 1 and name != "flexVolume":
            problem = "may not specify more than 1 volume type"
            yield forbidden_field(f"spec.{name}", problem)
        elif name == "hostPath":
            yield from volumes.host_path("spec.hostPath", spec[name])
        elif name == "nfs":
            yield from volumes.nfs("spec.nfs", spec[name])
        elif name == "local":
            yield from absent("spec.local.path", spec[name].get("path"))
            if "nodeAffinity" not in spec:
                yield required_value("spec.nodeAffinity", "Local volume requires node affinity")
        elif name == "csi":
            yield from absent("spec.csi.driver", spec[name].get("driver"))
            yield from absent("spec.csi.volumeHandle", spec[name].get("volumeHandle"))
    if not found:
        yield required_value("spec", "must specify a volume type")


def _source_unchanged(new: Object, old: Object) -> Errors:
    after = {name: new[name] for name in _SOURCES if name in new}
    before = {name: old[name] for name in _SOURCES if name in old}
    if after != before:
        where = "spec.persistentvolumesource"
        shown = difference(before, after, "PersistentVolumeSource")
        yield forbidden_field(where, f"{where} is immutable after creation\n{shown}")
    yield from basics.unchanged("volumeMode", new.get("volumeMode"), old.get("volumeMode"))
    if "nodeAffinity" in old:
        yield from basics.unchanged("nodeAffinity", new.get("nodeAffinity"), old["nodeAffinity"])


def storage_class(new: Object, old: Object | None) -> Errors:
    """A StorageClass; most of it stays as it is."""
    if old is not None:
        yield from basics.unchanged("parameters", new.get("parameters"), old.get("parameters"))
        yield from basics.unchanged("provisioner", new["provisioner"], old["provisioner"])
        for name in ("reclaimPolicy", "volumeBindingMode"):
            yield from basics.unchanged(name, new.get(name), old.get(name))
        return
    provisioner = new.get("provisioner", "")
    if not provisioner:
        yield required_value("provisioner")
    else:
        yield from basics.qualified("provisioner", provisioner.lower())
    yield from one_of("reclaimPolicy", new.get("reclaimPolicy"), ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    yield from one_of("volumeBindingMode", new.get("volumeBindingMode"), modes)


def driver(new: Object, old: Object | None) -> Errors:
    """A CSIDriver."""
    spec = new["spec"]
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    yield from one_of("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), policies, required=False)
    seen: set[str] = set()
    for index, one in enumerate(spec.get("tokenRequests") or ()):
        if one.get("audience", "") in seen:
            yield duplicate_value(f"spec.tokenRequests[{index}].audience", one.get("audience", ""))
        seen.add(one.get("audience", ""))
        seconds = one.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            where = f"spec.tokenRequests[{index}].expirationSeconds"
            problem = "may not specify a duration less than 10 minutes"
            yield invalid_value(where, seconds, problem)
    for mode in spec.get("volumeLifecycleModes") or ():
        yield from one_of("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))
    if old is not None:
        before = old["spec"]
        yield from basics.unchanged(
            "spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired")
        )
        modes = "volumeLifecycleModes"
        yield from basics.unchanged(f"spec.{modes}", spec.get(modes), before.get(modes))
