"""Typed views of built-in kinds: the fields that konstat or operators read; all others are kept.

`kind_named` finds the class of a group and kind. No rules live here (see `konstat.readiness`) and
nothing talks to a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from konstat.kinds.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from konstat.kinds.batch import CronJob, Job
from konstat.kinds.bookkeeping import CoreEvent, Event, Lease
from konstat.kinds.core import (
    ConfigMap,
    Namespace,
    Node,
    Secret,
    Service,
    ServiceAccount,
)
from konstat.kinds.extension import CustomResourceDefinition
from konstat.kinds.networking import EndpointSlice, Ingress, NetworkPolicy
from konstat.kinds.pods import Pod
from konstat.kinds.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from konstat.kinds.scaling import HorizontalPodAutoscaler, PodDisruptionBudget
from konstat.kinds.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from konstat.kinds.view import BuiltIn, Condition
from konstat.objects.resource import Resource

__all__ = [
    "BY_KIND",
    "BuiltIn",
    "ClusterRole",
    "ClusterRoleBinding",
    "Condition",
    "ConfigMap",
    "CoreEvent",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "EndpointSlice",
    "Event",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "Lease",
    "Namespace",
    "NetworkPolicy",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
    "StorageClass",
    "kind_named",
]

_ALL: tuple[type[Resource[Any, Any]], ...] = (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CoreEvent,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    EndpointSlice,
    Event,
    HorizontalPodAutoscaler,
    Ingress,
    Job,
    Lease,
    Namespace,
    NetworkPolicy,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    StorageClass,
)

BY_KIND: Mapping[tuple[str, str], type[Resource[Any, Any]]] = MappingProxyType(
    {(cls.kind.group, cls.kind.kind): cls for cls in _ALL}
)
"""Every class of this package by group (empty for the core group) and kind."""


def kind_named(kind: str, *, group: str = "") -> type[Resource[Any, Any]] | None:
    """The class of a built-in kind; None when this package has none.

    ``group`` is empty for the core group.
    """
    return BY_KIND.get((group, kind))
