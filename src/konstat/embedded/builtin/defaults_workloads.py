"""Defaults of apps, batch, autoscaling and policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Object = dict[str, Any]

CPU_UTILIZATION: Final = 80
_MAXIMUM_INT32: Final = 2**31 - 1


def _deployment(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _daemon_set(obj: Object) -> None:
    strategy = obj["spec"]["updateStrategy"]
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    obj["spec"].setdefault("revisionHistoryLimit", 10)


def _stateful_set(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)


def _replica_set(obj: Object) -> None:
    obj["spec"].setdefault("replicas", 1)


def _job(obj: Object) -> None:
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAXIMUM_INT32 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    replacement = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replacement)
    spec.setdefault("manualSelector", False)


def _cron_job(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def _failure_condition(obj: Object) -> None:
    if not obj.get("status"):
        obj["status"] = "True"


def _autoscaler(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": CPU_UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        up, down = _scaling_up(), _scaling_down()
        for direction, rules in (("scaleUp", up), ("scaleDown", down)):
            given = spec["behavior"].get(direction, {})
            spec["behavior"][direction] = {**rules, **given}


def _scaling_up() -> Object:
    policies = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _scaling_down() -> Object:
    policies = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    return {"selectPolicy": "Max", "policies": policies}


DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    "io.k8s.api.apps.v1.DaemonSet": _daemon_set,
    "io.k8s.api.apps.v1.Deployment": _deployment,
    "io.k8s.api.apps.v1.ReplicaSet": _replica_set,
    "io.k8s.api.apps.v1.StatefulSet": _stateful_set,
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": _autoscaler,
    "io.k8s.api.batch.v1.CronJob": _cron_job,
    "io.k8s.api.batch.v1.Job": _job,
    "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern": _failure_condition,
}
