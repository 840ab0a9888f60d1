"""The table of built-in kinds: how each is served, and which functions prepare it.

One `Entry` per kind; `catalog.builtin_types` adds schemas, defaults, validation and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from konstat.embedded.builtin import names, pods, services, volumes, workloads
from konstat.embedded.registry import Host, Object, ScalePaths

Both = Callable[[Object, Object | None, Host], None]
ALL: Final = ("all",)
EXTENSIONS: Final = ("api-extensions",)
SPEC: Final = ("spec",)


def _nothing(new: Object, old: Object | None, host: Host) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How one kind is served and prepared.

    ``moved_by`` names what moves the generation (None: the kind has none; some begin to count at
    their first change only); ``prepare`` serves creates (without an old object) and updates.
    """

    group: str
    version: str = "v1"
    kind: str
    plural: str
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    scale: ScalePaths | None = None
    moved_by: Sequence[str] | None = None
    born_with_generation: bool = True
    resets_status: bool = True
    prepare: Both = _nothing
    prepare_status: Callable[[Object, Object, Host], None] | None = None
    name_problems: Callable[[str], list[str]] | None = None
    unconditional_update: bool = True
    create_on_put: bool = False
    selectable: Mapping[str, str] = field(default_factory=dict)
    grace: bool = False
    store: str = ""
    deletes_collection: bool = True


def _service(new: Object, old: Object | None, host: Host) -> None:
    if old is None:
        services.prepare_create(new, host)
    else:
        services.prepare_update(new, old, host)


def _pod(new: Object, old: Object | None, host: Host) -> None:
    if old is None:
        pods.prepare_create(new, host)
    else:
        pods.prepare_update(new, old, host)


def _fields(*paths: str) -> dict[str, str]:
    return {path: path for path in paths}


_REPLICAS: Final = partial(
    ScalePaths, spec_replicas="spec.replicas", status_replicas="status.replicas"
)
_EVENT_FIELDS: Final = {
    **{
        f"involvedObject.{name}": f"involvedObject.{name}"
        for name in (
            "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
        )
    },
    **_fields("reason", "type"),
    "reportingComponent": "reportingComponent",
    "source": "source.component",
}  # fmt: skip
_STATUS: Final = ("status",)
_RBAC: Final[dict[str, Any]] = {
    "group": "rbac.authorization.k8s.io",
    "name_problems": names.path_segment_problems,
    "create_on_put": True,
}
_CORE: Final = (
    Entry(
        group="", kind="ConfigMap", plural="configmaps", short=("cm",),
    ),
    Entry(group="", kind="Endpoints", plural="endpoints", short=("ep",), create_on_put=True),
    Entry(
        group="", kind="Event", plural="events", short=("ev",), create_on_put=True,
        selectable=_EVENT_FIELDS, name_problems=names.any_name,
    ),
    Entry(group="", kind="LimitRange", plural="limitranges", short=("limits",), create_on_put=True),
    Entry(
        group="", kind="Namespace", plural="namespaces", short=("ns",), namespaced=False,
        subresources=("status", "finalize"), prepare=workloads.namespace,
        name_problems=names.label_problems, selectable={"status.phase": "status.phase"},
        deletes_collection=False,
    ),
    Entry(
        group="", kind="Node", plural="nodes", short=("no",), namespaced=False,
        subresources=("status", "proxy"), prepare=workloads.node, resets_status=False,
        selectable={"spec.unschedulable": "spec.unschedulable"},
    ),
    Entry(
        group="", kind="PersistentVolume", plural="persistentvolumes", short=("pv",),
        namespaced=False, subresources=_STATUS, prepare=volumes.volume,
        prepare_status=volumes.volume_status,
    ),
    Entry(
        group="", kind="PersistentVolumeClaim", plural="persistentvolumeclaims", short=("pvc",),
        subresources=_STATUS, prepare=volumes.claim,
    ),
    Entry(
        group="", kind="Pod", plural="pods", short=("po",), categories=ALL, moved_by=SPEC,
        subresources=("status", "log", "binding", "eviction", "exec", "attach", "portforward",
                      "proxy", "ephemeralcontainers", "resize"),
        prepare=_pod, prepare_status=pods.prepare_status, grace=True,
        selectable=_fields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                           "spec.serviceAccountName", "spec.hostNetwork", "status.phase",
                           "status.podIP", "status.nominatedNodeName"),
    ),
    Entry(
        group="", kind="ResourceQuota", plural="resourcequotas", short=("quota",),
        subresources=_STATUS,
    ),
    Entry(
        group="", kind="Secret", plural="secrets", prepare=workloads.secret,
        selectable={"type": "type"},
    ),
    Entry(
        group="", kind="Service", plural="services", short=("svc",), categories=ALL,
        subresources=("status", "proxy"), prepare=_service, create_on_put=True,
        name_problems=names.label_problems,
        selectable=_fields("spec.clusterIP", "spec.type"),
    ),
    Entry(
        group="", kind="ServiceAccount", plural="serviceaccounts", short=("sa",),
        subresources=("token",), prepare=workloads.service_account,
    ),
)  # fmt: skip
_APPS: Final = (
    Entry(group="apps", kind="ControllerRevision", plural="controllerrevisions"),
    Entry(
        group="apps", kind="DaemonSet", plural="daemonsets", short=("ds",), categories=ALL,
        subresources=_STATUS, moved_by=SPEC, prepare=workloads.daemon_set,
    ),
    Entry(
        group="apps", kind="Deployment", plural="deployments", short=("deploy",), categories=ALL,
        subresources=("scale", "status"), scale=_REPLICAS(selector="spec.selector"),
        moved_by=("spec", "metadata.annotations"), prepare=workloads.deployment,
        prepare_status=workloads.keep_labels,
    ),
    Entry(
        group="apps", kind="ReplicaSet", plural="replicasets", short=("rs",), categories=ALL,
        subresources=("scale", "status"), scale=_REPLICAS(selector="spec.selector"),
        moved_by=SPEC, prepare=workloads.deployment,
    ),
    Entry(
        group="apps", kind="StatefulSet", plural="statefulsets", short=("sts",), categories=ALL,
        name_problems=names.label_problems,
        subresources=("scale", "status"), scale=_REPLICAS(selector="spec.selector"),
        moved_by=SPEC, prepare=workloads.stateful_set,
    ),
)  # fmt: skip
_BATCH: Final = (
    Entry(
        group="batch", kind="CronJob", plural="cronjobs", short=("cj",), categories=ALL,
        subresources=_STATUS, moved_by=SPEC, prepare=workloads.cron_job,
    ),
    Entry(
        group="batch", kind="Job", plural="jobs", categories=ALL, subresources=_STATUS,
        moved_by=SPEC, prepare=workloads.job,
        selectable={"status.successful": "status.succeeded"},
    ),
    Entry(
        group="autoscaling", version="v2", kind="HorizontalPodAutoscaler",
        plural="horizontalpodautoscalers", short=("hpa",), categories=ALL, subresources=_STATUS,
    ),
    Entry(
        group="policy", kind="PodDisruptionBudget", plural="poddisruptionbudgets", short=("pdb",),
        subresources=_STATUS, moved_by=SPEC, unconditional_update=False,
    ),
)  # fmt: skip
_NETWORKING: Final = (
    Entry(
        group="networking.k8s.io", kind="Ingress", plural="ingresses", short=("ing",),
        subresources=_STATUS, moved_by=SPEC, prepare=workloads.ingress,
    ),
    Entry(
        group="networking.k8s.io", kind="IngressClass", plural="ingressclasses", namespaced=False,
        moved_by=SPEC,
    ),
    Entry(
        group="networking.k8s.io", kind="NetworkPolicy", plural="networkpolicies",
        short=("netpol",), moved_by=SPEC,
    ),
    Entry(
        group="discovery.k8s.io", kind="EndpointSlice", plural="endpointslices",
        moved_by=("*", "metadata.labels"),
    ),
)  # fmt: skip
_OTHERS: Final = (
    Entry(kind="Role", plural="roles", **_RBAC),
    Entry(kind="RoleBinding", plural="rolebindings", **_RBAC),
    Entry(kind="ClusterRole", plural="clusterroles", namespaced=False, **_RBAC),
    Entry(kind="ClusterRoleBinding", plural="clusterrolebindings", namespaced=False, **_RBAC),
    Entry(
        group="coordination.k8s.io", kind="Lease", plural="leases", create_on_put=True,
        unconditional_update=False,
    ),
    Entry(
        group="events.k8s.io", kind="Event", plural="events", short=("ev",), create_on_put=True,
        store="events", name_problems=names.any_name,
        selectable={
            **{
                path.replace("involvedObject", "regarding"): path
                for path in _EVENT_FIELDS
                if path.startswith("involvedObject")
            },
            "reason": "reason", "type": "type",
            "reportingController": "reportingComponent",
        },
    ),
    Entry(
        group="storage.k8s.io", kind="StorageClass", plural="storageclasses", short=("sc",),
        namespaced=False,
    ),
    Entry(
        group="storage.k8s.io", kind="CSIDriver", plural="csidrivers", namespaced=False,
        unconditional_update=False, moved_by=SPEC, born_with_generation=False,
    ),
    Entry(
        group="scheduling.k8s.io", kind="PriorityClass", plural="priorityclasses", short=("pc",),
        namespaced=False, moved_by=(),
    ),
    Entry(
        group="admissionregistration.k8s.io", kind="MutatingWebhookConfiguration",
        plural="mutatingwebhookconfigurations", categories=EXTENSIONS, namespaced=False,
        moved_by=("webhooks",), unconditional_update=False,
    ),
    Entry(
        group="admissionregistration.k8s.io", kind="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations", categories=EXTENSIONS, namespaced=False,
        moved_by=("webhooks",), unconditional_update=False,
    ),
    Entry(
        group="apiextensions.k8s.io", kind="CustomResourceDefinition",
        plural="customresourcedefinitions", short=("crd", "crds"), categories=EXTENSIONS,
        namespaced=False, subresources=_STATUS, moved_by=SPEC, unconditional_update=False,
    ),
    Entry(
        group="apiregistration.k8s.io", kind="APIService", plural="apiservices",
        categories=EXTENSIONS, namespaced=False, subresources=_STATUS, unconditional_update=False,
        prepare=workloads.api_service, name_problems=names.path_segment_problems,
    ),
)  # fmt: skip
ENTRIES: Final = (*_CORE, *_APPS, *_BATCH, *_NETWORKING, *_OTHERS)
