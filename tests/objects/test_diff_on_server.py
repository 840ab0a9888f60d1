"""Comparison on a real server: what we apply holds once it is applied, however it is spelled."""

from __future__ import annotations

import base64
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from konstat.client.api import Client
from konstat.objects.diff import differences
from konstat.objects.kind import Kind
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

CONTAINER: dict[str, Any] = {
    "name": "app",
    "image": "web:1",
    "command": ["run", ""],
    "stdin": False,
    "tty": False,
    "stdinOnce": False,
    "env": [
        {"name": "B", "value": ""},
        {"name": "A", "value": "1"},
        {
            "name": "CPU",
            "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}},
        },
    ],
    "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 0, "protocol": "UDP"}],
    "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": "0.25"}},
    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp", "readOnly": False}],
    "readinessProbe": {"httpGet": {"port": "http", "path": "/"}, "initialDelaySeconds": 0},
    "securityContext": {},
    "envFrom": [],
    "workingDir": "",
}
POD_SPEC: dict[str, Any] = {
    "containers": [CONTAINER],
    "initContainers": [],
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
    "nodeSelector": {},
    "serviceAccountName": "",
    "automountServiceAccountToken": False,
    "imagePullSecrets": [{"name": "b"}, {"name": "a"}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
    "volumes": [
        {"name": "tmp", "emptyDir": {"sizeLimit": "1024Ki"}},
        {"name": "conf", "configMap": {"name": "c", "items": []}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "c", "readOnly": False}},
        {
            "name": "info",
            "downwardAPI": {
                "items": [
                    {
                        "path": "cpu",
                        "resourceFieldRef": {
                            "containerName": "app",
                            "resource": "limits.cpu",
                            "divisor": "1000m",
                        },
                    }
                ]
            },
        },
    ],
}
LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS, "creationTimestamp": None}, "spec": POD_SPEC}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
}
JOB_POD = {**POD_SPEC, "restartPolicy": "Never"}
JOB = {"template": {"metadata": {"labels": LABELS}, "spec": JOB_POD}}


def manifest(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    metadata = {"name": "web", "labels": LABELS, "annotations": {}, "finalizers": []}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    base = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "minReadySeconds": 0}
    return manifest("apps/v1", kind, spec={**base, **spec})


HANDLER = {"name": "web.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
WEBHOOK = {
    **HANDLER,
    "clientConfig": {"service": {"name": "web", "namespace": "default", "path": "/x"}},
    "failurePolicy": "Ignore",
    "rules": [
        {
            "apiGroups": ["objects.example.com"],
            "apiVersions": ["*"],
            "operations": ["CREATE"],
            "resources": ["things"],
        }
    ],
}
METRIC = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "load"},
        "target": {"type": "AverageValue", "averageValue": "1500m"},
    },
}
MANIFESTS = {
    "deployments": workload("Deployment", paused=False, strategy={}, replicas=2),
    "replicasets": workload("ReplicaSet", replicas=0),
    "daemonsets": workload("DaemonSet"),
    "statefulsets": workload("StatefulSet", serviceName="web", volumeClaimTemplates=[CLAIM]),
    "jobs": manifest("batch/v1", "Job", spec=JOB),
    "cronjobs": manifest(
        "batch/v1",
        "CronJob",
        spec={"schedule": "0 0 * * *", "suspend": False, "jobTemplate": {"spec": JOB}},
    ),
    "services": manifest(
        "v1",
        "Service",
        spec={
            "selector": LABELS,
            "publishNotReadyAddresses": False,
            "externalIPs": [],
            "ports": [
                {"name": "b", "port": 81, "targetPort": "http"},
                {"name": "a", "port": 80, "nodePort": 0},
                {"name": "c", "port": 80, "protocol": "UDP", "targetPort": 80},
            ],
        },
    ),
    "secrets": manifest(
        "v1",
        "Secret",
        data={"a": base64.b64encode(b"1").decode(), "e": ""},
        stringData={"b": "zwei", "a": "wins"},
    ),
    "configmaps": manifest("v1", "ConfigMap", data={"a": "1", "b": ""}, binaryData={"c": "YQ=="}),
    "serviceaccounts": manifest("v1", "ServiceAccount", imagePullSecrets=[{"name": "a"}]),
    "persistentvolumeclaims": manifest("v1", "PersistentVolumeClaim", spec=CLAIM["spec"]),
    "resourcequotas": manifest("v1", "ResourceQuota", spec={"hard": {"cpu": "1000m", "pods": 5}}),
    "limitranges": manifest(
        "v1",
        "LimitRange",
        spec={"limits": [{"type": "Container", "default": {"cpu": "1000m"}}]},
    ),
    "horizontalpodautoscalers": manifest(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 3,
            "metrics": [METRIC],
        },
    ),
    "ingresses": manifest(
        "networking.k8s.io/v1",
        "Ingress",
        spec={
            "rules": [
                {
                    "host": "",
                    "http": {
                        "paths": [
                            {
                                "pathType": "Prefix",
                                "path": "/",
                                "backend": {"service": {"name": "web", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    ),
    "networkpolicies": manifest(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        spec={"podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress"]},
    ),
    "poddisruptionbudgets": manifest(
        "policy/v1",
        "PodDisruptionBudget",
        spec={"minAvailable": "50%", "selector": {"matchLabels": LABELS}},
    ),
    "roles": manifest(
        "rbac.authorization.k8s.io/v1",
        "Role",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": []}],
    ),
    # Admission fills in an empty serviceAccountName of a Pod, though not of a template.
    "pods": manifest("v1", "Pod", spec={**POD_SPEC, "serviceAccountName": "default"}),
    "validatingwebhookconfigurations": manifest(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[WEBHOOK]
    ),
}
CLUSTER_SCOPED = ("validatingwebhookconfigurations",)


def kind_of(plural: str, content: dict[str, Any]) -> Kind:
    group, _, version = content["apiVersion"].rpartition("/")
    return Kind(
        group=group,
        version=version,
        kind=content["kind"],
        plural=plural,
        namespaced=plural not in CLUSTER_SCOPED,
    )


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with control_plane.client() as client:
        yield client


@pytest.mark.parametrize("plural", MANIFESTS)
async def test_what_was_applied_holds(client: Client, namespace: str, plural: str) -> None:
    wanted = copy.deepcopy(MANIFESTS[plural])
    kind = kind_of(plural, wanted)
    place = namespace if kind.namespaced else ""
    live = await client.apply(kind, without_null(wanted), namespace=place, dry_run=True)
    assert differences(wanted, live) == []


async def test_a_hand_edit_is_found(client: Client, namespace: str) -> None:
    wanted = copy.deepcopy(MANIFESTS["deployments"])
    kind = kind_of("deployments", wanted)
    await client.apply(kind, without_null(wanted), namespace=namespace)
    edit = {
        "spec": {
            "replicas": 5,
            "template": {
                "spec": {
                    "automountServiceAccountToken": None,
                    "containers": [
                        {"name": "app", "resources": {"limits": {"memory": "2Gi"}}},
                        {"name": "sidecar", "image": "proxy:1"},
                    ],
                }
            },
        }
    }
    live = await client.patch(kind, "web", edit, type="strategic", namespace=namespace)
    pod = "spec.template.spec"
    assert sorted(d.path for d in differences(wanted, live)) == [
        "spec.replicas",
        f"{pod}.automountServiceAccountToken",
        f'{pod}.containers[name="app"].resources.limits.memory',
    ]


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_null(v) for k, v in value.items() if v is not None}
    return [without_null(v) for v in value] if isinstance(value, list) else value
