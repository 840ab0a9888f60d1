"""What the server does to volumes and claims before they are stored."""

from __future__ import annotations

from typing import Any, Final

from konstat.base import clock
from konstat.embedded.registry import Host

Object = dict[str, Any]

DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_LEGACY_CLASS: Final = "storageclass.beta.kubernetes.io/is-default-class"
_CLAIM_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def claim(new: Object, old: Object | None, host: Host) -> None:
    """A claim is protected while in use, has a class, and names its source twice."""
    spec = new["spec"]
    if "dataSource" in spec:
        source = dict(spec["dataSource"])
        if source.get("kind") in ("PersistentVolumeClaim", "VolumeSnapshot"):
            spec.setdefault("dataSourceRef", source)
    elif "dataSourceRef" in spec and not spec["dataSourceRef"].get("namespace"):
        reference = spec["dataSourceRef"]
        if reference.get("kind") in ("PersistentVolumeClaim", "VolumeSnapshot"):
            spec["dataSource"] = dict(reference)
    if old is None:
        _protect(new, "kubernetes.io/pvc-protection")
        annotated = _CLAIM_CLASS in (new["metadata"].get("annotations") or {})
        name = None if annotated or "storageClassName" in spec else _default_class(host)
        if name is not None:
            spec["storageClassName"] = name


def volume(new: Object, old: Object | None, host: Host) -> None:
    """A volume is protected while bound."""
    if old is None:
        _protect(new, "kubernetes.io/pv-protection")
        new["status"]["lastPhaseTransitionTime"] = clock.timestamp(host.now())


def volume_status(new: Object, old: Object, host: Host) -> None:
    """The time of a phase is the server's, unless its writer knows better."""
    status, before = new.setdefault("status", {}), old.get("status", {})
    key = "lastPhaseTransitionTime"
    if status.get("phase") == before.get("phase"):
        if key in before:
            status.setdefault(key, before[key])
    elif status.get(key) in (None, before.get(key)):
        status[key] = clock.timestamp(host.now())


def _protect(new: Object, finalizer: str) -> None:
    finalizers = new["metadata"].get("finalizers", [])
    if finalizer not in finalizers:
        new["metadata"]["finalizers"] = [*finalizers, finalizer]


def _default_class(host: Host) -> str | None:
    found = [
        one
        for one in host.objects("storage.k8s.io", "storageclasses")
        if "true"
        in (
            (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS),
            (one["metadata"].get("annotations") or {}).get(_LEGACY_CLASS),
        )
    ]
    if not found:
        return None
    newest = max(one["metadata"].get("creationTimestamp", "") for one in found)
    names = [
        one["metadata"]["name"]
        for one in found
        if one["metadata"].get("creationTimestamp", "") == newest
    ]
    return min(names)
