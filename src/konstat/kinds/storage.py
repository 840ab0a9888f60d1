"""Typed views of claims, volumes and their classes."""

from __future__ import annotations

import msgspec

from konstat.kinds.view import BuiltIn, Condition, ObjectReference, View
from konstat.objects.model import NoSpec, NoStatus


class VolumeResources(View):
    """What a claim asks for: ``requests["storage"]`` is a quantity."""

    requests: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(View):
    """``storage_class_name`` None means the default class, empty means no class."""

    access_modes: tuple[str, ...] = ()
    resources: VolumeResources = VolumeResources()
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""


class PersistentVolumeClaimStatus(View):
    """``phase`` is Pending, Bound or Lost."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(
    BuiltIn[PersistentVolumeClaimSpec, PersistentVolumeClaimStatus],
    group="",
    version="v1",
    short_names=("pvc",),
):
    """A request for storage."""

    __slots__ = ()


class PersistentVolumeSpec(View):
    """What a volume is, and who has it."""

    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""


class PersistentVolumeStatus(View):
    """``phase`` is Pending, Available, Bound, Released or Failed."""

    phase: str = ""
    message: str = ""
    reason: str = ""


class PersistentVolume(
    BuiltIn[PersistentVolumeSpec, PersistentVolumeStatus],
    group="",
    version="v1",
    scope="Cluster",
    short_names=("pv",),
):
    """A piece of storage."""

    __slots__ = ()


class StorageClass(
    BuiltIn[NoSpec, NoStatus],
    group="storage.k8s.io",
    version="v1",
    scope="Cluster",
    short_names=("sc",),
):
    """How claims of a class get their volumes."""

    __slots__ = ()

    @property
    def provisioner(self) -> str:
        return self.scalar("provisioner", "")

    @property
    def volume_binding_mode(self) -> str:
        """``Immediate``, or ``WaitForFirstConsumer``: claims are Pending until a pod uses them."""
        return self.scalar("volumeBindingMode", "Immediate")
