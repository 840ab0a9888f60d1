"""Printer columns of apps, batch, autoscaling and policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from konstat.embedded.builtin import times
from konstat.embedded.builtin.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    at,
    column,
    containers,
    duration,
    joined,
    labels,
    read,
    selector,
    since,
    text,
)
from konstat.embedded.registry import Column, Object


def _of(ready: str, wanted: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        return f"{at(obj, ready, 0)}/{at(obj, wanted, 0)}"

    return cell


def _count(path: str) -> Any:
    return read(path, 0)


def _selector(path: str, *, nothing: str = NONE) -> Column:
    return column("Selector", lambda obj, now: selector(at(obj, path), nothing=nothing), wide=True)


def _controller(obj: Object, now: datetime) -> str:
    owners = at(obj, "metadata.ownerReferences", [])
    owner = next((one for one in owners if one.get("controller")), None)
    if owner is None:
        return NONE
    group = owner.get("apiVersion", "").rpartition("/")[0]
    kind = owner.get("kind", "").lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


# --- jobs -------------------------------------------------------------------------------------


def _completions(obj: Object, now: datetime) -> str:
    done = at(obj, "status.succeeded", 0)
    if (wanted := at(obj, "spec.completions")) is not None:
        return f"{done}/{wanted}"
    parallelism = at(obj, "spec.parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(obj: Object, now: datetime) -> str:
    begun = times.moment(at(obj, "status.startTime"))
    if begun is None:
        return ""
    ended = times.moment(at(obj, "status.completionTime")) or now
    return duration((ended - begun).total_seconds())


def _job_status(obj: Object, now: datetime) -> str:
    true = {
        one.get("type") for one in at(obj, "status.conditions", []) if one.get("status") == "True"
    }
    for kind in ("Complete", "Failed"):
        if kind in true:
            return kind
    if at(obj, "metadata.deletionTimestamp") is not None:
        return "Terminating"
    found = (k for k in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if k in true)
    return next(found, "Running")


def _last_schedule(obj: Object, now: datetime) -> str:
    last = at(obj, "status.lastScheduleTime")
    return NONE if last is None else since(last, now)


def _suspended(obj: Object, now: datetime) -> str:
    found = at(obj, "spec.suspend")
    return UNSET if found is None else ("True" if found else "False")


# --- autoscalers ------------------------------------------------------------------------------


def _metrics(obj: Object, now: datetime) -> str:
    specs, statuses = at(obj, "spec.metrics", []), at(obj, "status.currentMetrics") or []
    if not specs:
        return NONE
    shown = [
        _metric(spec, statuses[index] if index < len(statuses) else {})
        for index, spec in enumerate(specs)
    ]
    text = joined(shown[:2], ", ")
    return f"{text} + {len(shown) - 2} more..." if len(shown) > 2 else text


_SOURCES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: Object, status: Object) -> str:
    source = _SOURCES.get(spec.get("type", ""))
    if source is None:
        return "<unknown type>"
    target = at(spec, f"{source}.target", {})
    current = at(status, f"{source}.current", {})
    if source in ("resource", "containerResource"):
        name = at(spec, f"{source}.name", "")
        if "averageValue" in target:
            return f"{name}: {current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
        return f"{name}: {_percent(current, UNKNOWN)}/{_percent(target, '<auto>')}"
    if source == "pods":
        return f"{current.get('averageValue', UNKNOWN)}/{target.get('averageValue', '0')}"
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '0')}"


def _percent(values: Object, empty: str) -> str:
    found = values.get("averageUtilization")
    return empty if found is None else f"{found}%"


def _reference(obj: Object, now: datetime) -> str:
    return f"{at(obj, 'spec.scaleTargetRef.kind', '')}/{at(obj, 'spec.scaleTargetRef.name', '')}"


def _minimum(obj: Object, now: datetime) -> str:
    return text(at(obj, "spec.minReplicas", UNSET))


def _amount(path: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        return text(at(obj, path, "N/A"))

    return cell


_TEMPLATE: Final = "spec.template.spec"
_APPS: Final = "apps"
_BATCH: Final = "batch"
COLUMNS: Final[Mapping[tuple[str, str], tuple[Column, ...]]] = {
    (_APPS, "ControllerRevision"): (
        NAME,
        column("Controller", _controller),
        column("Revision", _count("revision")),
        AGE,
    ),
    (_APPS, "DaemonSet"): (
        NAME,
        column("Desired", _count("status.desiredNumberScheduled"), kind="integer"),
        column("Current", _count("status.currentNumberScheduled"), kind="integer"),
        column("Ready", _count("status.numberReady"), kind="integer"),
        column("Up-to-date", _count("status.updatedNumberScheduled"), kind="integer"),
        column("Available", _count("status.numberAvailable"), kind="integer"),
        column("Node Selector", lambda obj, now: labels(at(obj, f"{_TEMPLATE}.nodeSelector"))),
        AGE,
        *containers(_TEMPLATE),
        _selector("spec.selector"),
    ),
    (_APPS, "Deployment"): (
        NAME,
        column("Ready", _of("status.readyReplicas", "spec.replicas")),
        column("Up-to-date", _count("status.updatedReplicas")),
        column("Available", _count("status.availableReplicas")),
        AGE,
        *containers(_TEMPLATE),
        _selector("spec.selector", nothing=""),
    ),
    (_APPS, "ReplicaSet"): (
        NAME,
        column("Desired", _count("spec.replicas"), kind="integer"),
        column("Current", _count("status.replicas"), kind="integer"),
        column("Ready", _count("status.readyReplicas"), kind="integer"),
        AGE,
        *containers(_TEMPLATE),
        _selector("spec.selector"),
    ),
    (_APPS, "StatefulSet"): (
        NAME,
        column("Ready", _of("status.readyReplicas", "spec.replicas")),
        AGE,
        *containers(_TEMPLATE),
    ),
    (_BATCH, "CronJob"): (
        NAME,
        column("Schedule", read("spec.schedule")),
        column("Timezone", read("spec.timeZone", NONE)),
        column("Suspend", _suspended, kind="boolean"),
        column("Active", lambda obj, now: len(at(obj, "status.active", [])), kind="integer"),
        column("Last Schedule", _last_schedule),
        AGE,
        *containers("spec.jobTemplate.spec.template.spec"),
        _selector("spec.jobTemplate.spec.selector"),
    ),
    (_BATCH, "Job"): (
        NAME,
        column("Status", _job_status),
        column("Completions", _completions),
        column("Duration", _job_duration),
        AGE,
        *containers(_TEMPLATE),
        _selector("spec.selector"),
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        column("Reference", _reference),
        column("Targets", _metrics),
        column("MinPods", _minimum),
        column("MaxPods", _count("spec.maxReplicas")),
        column("Replicas", _count("status.currentReplicas")),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        column("Min Available", _amount("spec.minAvailable")),
        column("Max Unavailable", _amount("spec.maxUnavailable")),
        column("Allowed Disruptions", _count("status.disruptionsAllowed"), kind="integer"),
        AGE,
    ),
}
