"""`Shape`: how the server merges and compares the parts of a kind, as a small tree of data.

A comparison needs to know which lists are maps (and by which keys), which are sets, and which
values are quantities. For our own kinds that follows from the schema (`shape_of_schema`); for
built-in kinds a declared table holds what matters (`shape_of`). What has no shape is atomic.
Comes after the schema vocabulary and before `konstat.objects.diff`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from konstat.objects.quantity import QUANTITY_PATTERN


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one place in an object.

    ``fields`` are the shapes of named members, ``each`` that of list entries or of the values of
    a map. ``list_type`` and ``keys`` say how a list is merged; ``key_defaults`` are the values
    that the server gives to absent keys. ``drops`` names members that the server leaves out when
    they are false or zero (Go's omitempty on plain values).
    """

    fields: Mapping[str, Shape] = {}
    each: Shape | None = None
    list_type: Literal["atomic", "set", "map"] = "atomic"
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = {}
    drops: frozenset[str] = frozenset()
    quantity: bool = False
    base64: bool = False

    def field(self, name: str) -> Shape:
        """The shape of one member of an object or map."""
        return self.fields.get(name) or self.each or UNKNOWN

    @property
    def entry(self) -> Shape:
        """The shape of the entries of a list."""
        return self.each or UNKNOWN


UNKNOWN: Final = Shape()
AMOUNT: Final = Shape(quantity=True)
AMOUNTS: Final = Shape(each=AMOUNT)
SET: Final = Shape(list_type="set")


def _map(*keys: str, each: Shape | None = None, **defaults: Any) -> Shape:
    return Shape(list_type="map", keys=keys, each=each, key_defaults=defaults)


METADATA: Final = Shape(fields={"finalizers": SET, "ownerReferences": _map("uid")})
_PORT = Shape(drops=frozenset({"hostPort", "nodePort"}))
_FIELD_REF = Shape(fields={"resourceFieldRef": Shape(fields={"divisor": AMOUNT})})
_RESOURCES = Shape(fields={"limits": AMOUNTS, "requests": AMOUNTS, "claims": _map("name")})
_PROBE = Shape(drops=frozenset({"initialDelaySeconds"}))
_CONTAINER = Shape(
    fields={
        "env": _map("name", each=Shape(fields={"valueFrom": _FIELD_REF})),
        "ports": _map("containerPort", "protocol", each=_PORT, protocol="TCP"),
        "volumeMounts": _map("mountPath", each=Shape(drops=frozenset({"readOnly"}))),
        "volumeDevices": _map("devicePath"),
        "resources": _RESOURCES,
        "livenessProbe": _PROBE,
        "readinessProbe": _PROBE,
        "startupProbe": _PROBE,
    },
    drops=frozenset({"stdin", "stdinOnce", "tty"}),
)
_PLACED = Shape(drops=frozenset({"readOnly"}))
_SOURCES = [
    "nfs",
    "csi",
    "iscsi",
    "rbd",
    "cephfs",
    "glusterfs",
    "persistentVolumeClaim",
    "fc",
    "azureDisk",
]
_DOWNWARD = Shape(fields={"items": Shape(each=_FIELD_REF)})
_CLAIM_SPEC = Shape(fields={"resources": _RESOURCES})
_CLAIM_TEMPLATE = Shape(fields={"metadata": METADATA, "spec": _CLAIM_SPEC})
_VOLUME = Shape(
    fields={
        **dict.fromkeys(_SOURCES, _PLACED),
        "emptyDir": Shape(fields={"sizeLimit": AMOUNT}),
        "downwardAPI": _DOWNWARD,
        "ephemeral": Shape(fields={"volumeClaimTemplate": _CLAIM_TEMPLATE}),
        "projected": Shape(
            fields={"sources": Shape(each=Shape(fields={"downwardAPI": _DOWNWARD}))}
        ),
    }
)
_CONTAINERS = _map("name", each=_CONTAINER)
POD_SPEC: Final = Shape(
    fields={
        "containers": _CONTAINERS,
        "initContainers": _CONTAINERS,
        "ephemeralContainers": _CONTAINERS,
        "volumes": _map("name", each=_VOLUME),
        "imagePullSecrets": _map("name"),
        "hostAliases": _map("ip"),
        "topologySpreadConstraints": _map("topologyKey", "whenUnsatisfiable"),
        "schedulingGates": _map("name"),
        "resourceClaims": _map("name"),
        "overhead": AMOUNTS,
        "resources": _RESOURCES,
    },
    drops=frozenset({"hostNetwork", "hostPID", "hostIPC"}),
)
_TEMPLATE = Shape(fields={"metadata": METADATA, "spec": POD_SPEC})
# Admission adds tolerations to Pods (not to templates), so others' entries must not count.
_LIVING_POD = Shape(fields={**POD_SPEC.fields, "tolerations": SET}, drops=POD_SPEC.drops)
_CONDITIONS = _map("type")


def _kind(spec: Shape, *, drops: frozenset[str] = frozenset(), **parts: Shape) -> Shape:
    return Shape(
        fields={
            "metadata": METADATA,
            "spec": spec,
            "status": Shape(fields={"conditions": _CONDITIONS}),
            **parts,
        },
        drops=drops,
    )


def _workload(*drops: str, **fields: Shape) -> Shape:
    return _kind(Shape(fields={"template": _TEMPLATE, **fields}, drops=frozenset(drops)))


_SERVICE_SPEC = Shape(
    fields={"ports": _map("port", "protocol", each=_PORT, protocol="TCP")},
    drops=frozenset({"publishNotReadyAddresses", "healthCheckNodePort"}),
)
_JOB_SPEC = Shape(fields={"template": _TEMPLATE})
_METRIC = Shape(fields={"target": Shape(fields={"averageValue": AMOUNT, "value": AMOUNT})})
_METRIC_SOURCES = ["resource", "containerResource", "pods", "object", "external"]
_SCALER_SPEC = Shape(
    fields={"metrics": Shape(each=Shape(fields=dict.fromkeys(_METRIC_SOURCES, _METRIC)))}
)
_WEBHOOKS = Shape(fields={"metadata": METADATA, "webhooks": _map("name")})
_ENCODED = Shape(each=Shape(base64=True))
_LIMIT_NAMES = ["default", "defaultRequest", "max", "min", "maxLimitRequestRatio"]

BUILT_IN: Final[Mapping[tuple[str, str], Shape]] = {
    ("", "Pod"): _kind(_LIVING_POD),
    ("", "ReplicationController"): _workload("minReadySeconds"),
    ("", "PodTemplate"): Shape(fields={"metadata": METADATA, "template": _TEMPLATE}),
    ("", "Service"): _kind(_SERVICE_SPEC),
    ("", "Secret"): Shape(fields={"metadata": METADATA, "data": _ENCODED}),
    ("", "ConfigMap"): Shape(fields={"metadata": METADATA, "binaryData": _ENCODED}),
    ("", "ServiceAccount"): Shape(
        fields={
            "metadata": METADATA,
            "secrets": _map("name"),
        }
    ),
    ("", "Node"): _kind(
        Shape(fields={"podCIDRs": SET}, drops=frozenset({"unschedulable"})),
    ),
    ("", "Namespace"): _kind(UNKNOWN),
    ("", "PersistentVolumeClaim"): _kind(_CLAIM_SPEC),
    ("", "PersistentVolume"): _kind(Shape(fields={"capacity": AMOUNTS, **_VOLUME.fields})),
    ("", "ResourceQuota"): _kind(Shape(fields={"hard": AMOUNTS})),
    ("", "LimitRange"): _kind(
        Shape(fields={"limits": Shape(each=Shape(fields=dict.fromkeys(_LIMIT_NAMES, AMOUNTS)))})
    ),
    ("apps", "Deployment"): _workload("minReadySeconds", "paused"),
    ("apps", "ReplicaSet"): _workload("minReadySeconds"),
    ("apps", "DaemonSet"): _workload("minReadySeconds"),
    ("apps", "StatefulSet"): _workload(
        "minReadySeconds", volumeClaimTemplates=Shape(each=_CLAIM_TEMPLATE)
    ),
    ("batch", "Job"): _kind(_JOB_SPEC),
    ("batch", "CronJob"): _kind(
        Shape(fields={"jobTemplate": Shape(fields={"metadata": METADATA, "spec": _JOB_SPEC})})
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): _kind(_SCALER_SPEC),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
}
ANY_KIND: Final = Shape(
    fields={"metadata": METADATA, "status": Shape(fields={"conditions": _CONDITIONS})}
)


def shape_of(group: str, kind: str) -> Shape:
    """The declared shape of a built-in kind; of any other kind only that of its metadata."""
    return BUILT_IN.get((group, kind), ANY_KIND)


def shape_of_schema(schema: Mapping[str, Any]) -> Shape:
    """The shape that a structural OpenAPI schema declares; metadata is that of every object."""
    shape = _of_node(schema)
    return Shape(fields={**shape.fields, "metadata": METADATA}, each=shape.each)


def _of_node(node: Mapping[str, Any]) -> Shape:
    fields = {name: _of_node(child) for name, child in node.get("properties", {}).items()}
    inner = node.get("items") or node.get("additionalProperties")
    keys = tuple(node.get("x-kubernetes-list-map-keys", ()))
    properties = node.get("items", {}).get("properties", {}) if keys else {}
    quantity = bool(
        node.get("x-kubernetes-int-or-string") and node.get("pattern") == QUANTITY_PATTERN
    )
    return Shape(
        fields={k: v for k, v in fields.items() if v != UNKNOWN},
        each=_of_node(inner) if isinstance(inner, Mapping) else None,
        list_type=node.get("x-kubernetes-list-type", "atomic"),
        keys=keys,
        key_defaults={
            k: properties[k]["default"] for k in keys if "default" in properties.get(k, {})
        },
        quantity=quantity,
    )
