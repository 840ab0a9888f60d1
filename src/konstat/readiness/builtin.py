"""The rules of the built-in kinds and of the Gateway API, in one table.

`compute` looks here by group and kind; the version does not choose the rule. Kinds of
`EXISTING` have nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from konstat.readiness import (
    cluster,
    gateway,
    jobs,
    machinery,
    networking,
    pods,
    storage,
    workloads,
)
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Readiness

Rule = Callable[[Subject], Readiness]

_SNAPSHOTS: Final = "snapshot.storage.k8s.io"
_GROUP_SNAPSHOTS: Final = "groupsnapshot.storage.k8s.io"

EXISTING: Final = frozenset(
    {
        ("", "Endpoints"),
        ("", "Event"),
        ("", "LimitRange"),
        ("", "PodTemplate"),
        ("", "ServiceAccount"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apps", "ControllerRevision"),
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("coordination.k8s.io", "Lease"),
        ("coordination.k8s.io", "LeaseCandidate"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("extensions", "NetworkPolicy"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("metrics.k8s.io", "NodeMetrics"),
        ("metrics.k8s.io", "PodMetrics"),
        ("networking.k8s.io", "IPAddress"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
        ("resource.k8s.io", "ResourceSlice"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("scheduling.k8s.io", "Workload"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttributesClass"),
        (_SNAPSHOTS, "VolumeSnapshotClass"),
        (_GROUP_SNAPSHOTS, "VolumeGroupSnapshotClass"),
        *gateway.EXISTING,
    }
)
"""Kinds without a status that anybody could wait for."""

RULES: Final[Mapping[tuple[str, str], Rule]] = MappingProxyType(
    {
        ("", "ComponentStatus"): machinery.component,
        ("", "ConfigMap"): machinery.keyed,
        ("", "Namespace"): cluster.namespace,
        ("", "Node"): cluster.node,
        ("", "PersistentVolume"): storage.volume,
        ("", "PersistentVolumeClaim"): storage.claim,
        ("", "Pod"): pods.pod,
        ("", "ReplicationController"): workloads.replica_set,
        ("", "ResourceQuota"): machinery.resource_quota,
        ("", "Secret"): machinery.keyed,
        ("", "Service"): networking.service,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): machinery.admission_policy,
        ("apiextensions.k8s.io", "CustomResourceDefinition"): machinery.definition,
        ("apiregistration.k8s.io", "APIService"): machinery.api_service,
        ("apps", "DaemonSet"): workloads.daemon_set,
        ("apps", "Deployment"): workloads.deployment,
        ("apps", "ReplicaSet"): workloads.replica_set,
        ("apps", "StatefulSet"): workloads.stateful_set,
        ("autoscaling", "HorizontalPodAutoscaler"): cluster.autoscaler,
        ("batch", "CronJob"): jobs.cron_job,
        ("batch", "Job"): jobs.job,
        ("certificates.k8s.io", "CertificateSigningRequest"): machinery.signing_request,
        ("certificates.k8s.io", "PodCertificateRequest"): machinery.signing_request,
        ("extensions", "DaemonSet"): workloads.daemon_set,
        ("extensions", "Deployment"): workloads.deployment,
        ("extensions", "Ingress"): networking.ingress,
        ("extensions", "ReplicaSet"): workloads.replica_set,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"): machinery.flow_schema,
        ("internal.apiserver.k8s.io", "StorageVersion"): machinery.storage_version,
        ("networking.k8s.io", "Ingress"): networking.ingress,
        ("networking.k8s.io", "ServiceCIDR"): machinery.service_cidr,
        ("policy", "PodDisruptionBudget"): cluster.budget,
        ("resource.k8s.io", "DeviceTaintRule"): cluster.taint_rule,
        ("resource.k8s.io", "ResourceClaim"): cluster.resource_claim,
        ("resource.k8s.io", "ResourcePoolStatusRequest"): machinery.bounded,
        ("scheduling.k8s.io", "PodGroup"): cluster.pod_group,
        ("storage.k8s.io", "VolumeAttachment"): storage.attachment,
        ("storagemigration.k8s.io", "StorageVersionMigration"): machinery.bounded,
        (_SNAPSHOTS, "VolumeSnapshot"): storage.snapshot,
        (_SNAPSHOTS, "VolumeSnapshotContent"): storage.snapshot,
        (_GROUP_SNAPSHOTS, "VolumeGroupSnapshot"): storage.snapshot,
        (_GROUP_SNAPSHOTS, "VolumeGroupSnapshotContent"): storage.snapshot,
        **gateway.RULES,
        **dict.fromkeys(EXISTING, cluster.existing),
    }
)
"""The rule of each kind that has one, by group (empty for the core group) and kind."""

OBSERVING: Final = frozenset(
    {
        ("", "ReplicationController"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("policy", "PodDisruptionBudget"),
    }
)
"""Kinds whose controller always writes status.observedGeneration: where it is absent, nobody has
looked at the object yet."""
