"""Which checks a kind has: a table from the kind to its `Checks`.

The modules beside this one hold the checks, by group. Metadata that all kinds share is checked
by `konstat.embedded.metadata` before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from konstat.embedded.builtin.validation import (
    autoscalers,
    claims,
    core,
    jobs,
    networking,
    pods,
    rbac,
    resources,
    services,
    storage,
    workloads,
)
from konstat.embedded.status_errors import FieldError

Object = dict[str, Any]
Check = Callable[[Object, Object | None], Iterable[FieldError]]
StatusCheck = Callable[[Object, Object], Iterable[FieldError]]


def _valid(new: Object, old: Object | None) -> Iterable[FieldError]:
    return ()


def _valid_status(new: Object, old: Object) -> Iterable[FieldError]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Checks:
    """The checks of a kind's main resource and of its status."""

    spec: Check = _valid
    status: StatusCheck = _valid_status

    def validate(self, new: Object, old: Object | None) -> list[FieldError]:
        """What is wrong with a new object, or with an update of ``old``."""
        return list(self.spec(new, old))

    def validate_status(self, new: Object, old: Object) -> list[FieldError]:
        """What is wrong with a new status."""
        return list(self.status(new, old))


_DEPLOYMENT_COUNTS: Final = (
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
    "unavailableReplicas", "terminatingReplicas", "collisionCount",
)  # fmt: skip
_REPLICA_COUNTS: Final = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
)  # fmt: skip
_STATEFUL_COUNTS: Final = (
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
    "observedGeneration", "collisionCount",
)  # fmt: skip
_RBAC: Final = rbac.GROUP
_NETWORK: Final = "networking.k8s.io"
_STATEFUL: Final = workloads.counts(_STATEFUL_COUNTS, ready_word="status.readyReplicas")
_CHECKS: Final[Mapping[tuple[str, str], Checks]] = {
    ("", "ConfigMap"): Checks(spec=core.config_map),
    ("", "Endpoints"): Checks(spec=services.endpoints),
    ("", "Event"): Checks(spec=core.core_event),
    ("", "LimitRange"): Checks(spec=resources.limit_range),
    ("", "Namespace"): Checks(spec=core.namespace),
    ("", "Node"): Checks(spec=core.node),
    ("", "PersistentVolume"): Checks(spec=storage.volume),
    ("", "PersistentVolumeClaim"): Checks(spec=claims.claim),
    ("", "Pod"): Checks(spec=pods.pod),
    ("", "ResourceQuota"): Checks(spec=resources.quota),
    ("", "Secret"): Checks(spec=core.secret),
    ("", "Service"): Checks(spec=services.service, status=services.service_status),
    ("apiregistration.k8s.io", "APIService"): Checks(spec=core.api_service),
    ("apps", "ControllerRevision"): Checks(spec=workloads.revision),
    ("apps", "DaemonSet"): Checks(spec=workloads.daemon_set),
    ("apps", "Deployment"): Checks(
        spec=workloads.deployment, status=workloads.counts(_DEPLOYMENT_COUNTS)
    ),
    ("apps", "ReplicaSet"): Checks(
        spec=workloads.replica_set, status=workloads.counts(_REPLICA_COUNTS)
    ),
    ("apps", "StatefulSet"): Checks(spec=workloads.stateful_set, status=_STATEFUL),
    ("autoscaling", "HorizontalPodAutoscaler"): Checks(
        spec=autoscalers.autoscaler, status=autoscalers.autoscaler_status
    ),
    ("batch", "CronJob"): Checks(spec=jobs.cron_job),
    ("batch", "Job"): Checks(spec=jobs.job),
    ("coordination.k8s.io", "Lease"): Checks(spec=core.lease),
    ("discovery.k8s.io", "EndpointSlice"): Checks(spec=services.endpoint_slice),
    ("events.k8s.io", "Event"): Checks(spec=core.new_event),
    (_NETWORK, "Ingress"): Checks(spec=networking.ingress, status=networking.ingress_status),
    (_NETWORK, "IngressClass"): Checks(spec=networking.ingress_class),
    (_NETWORK, "NetworkPolicy"): Checks(spec=networking.network_policy),
    ("policy", "PodDisruptionBudget"): Checks(
        spec=autoscalers.budget, status=autoscalers.budget_status
    ),
    (_RBAC, "ClusterRole"): Checks(spec=rbac.cluster_role),
    (_RBAC, "ClusterRoleBinding"): Checks(spec=rbac.cluster_role_binding),
    (_RBAC, "Role"): Checks(spec=rbac.role),
    (_RBAC, "RoleBinding"): Checks(spec=rbac.role_binding),
    ("scheduling.k8s.io", "PriorityClass"): Checks(spec=core.priority_class),
    ("storage.k8s.io", "CSIDriver"): Checks(spec=storage.driver),
    ("storage.k8s.io", "StorageClass"): Checks(spec=storage.storage_class),
}
_NONE: Final = Checks()


def of(group: str, kind: str) -> Checks:
    """The checks of a kind; ServiceAccounts and a few others have none of their own."""
    return _CHECKS.get((group, kind), _NONE)
