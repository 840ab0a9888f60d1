"""What the server and the built-in controllers write into a status; for `FakeContext`.

`begin` is the status of an object that was just created, `pretend_ready` that of one whose
controller has done its work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from konstat.kinds import kind_named

Content = Mapping[str, Any]


def begin(content: Content) -> dict[str, Any]:
    """``content`` as the server stores it at first: some kinds start in a phase."""
    match _group_and_kind(content):
        case ("", "Pod" | "PersistentVolumeClaim" | "PersistentVolume"):
            return {**content, "status": {"phase": "Pending"}}
        case ("", "Namespace"):
            return {**content, "status": {"phase": "Active"}}
        case _:
            return dict(content)


def pretend_ready(content: Content) -> dict[str, Any]:
    """``content`` with the status of an object whose controller has finished, where it has one.

    A kind that is not built in gets what most controllers write: a condition Ready.
    """
    status = _status_of(content)
    return {**content, "status": status} if status else dict(content)


def _group_and_kind(content: Content) -> tuple[str, str]:
    return (str(content["apiVersion"]).rpartition("/")[0], str(content["kind"]))


def _status_of(content: Content) -> dict[str, Any]:
    group, kind = _group_and_kind(content)
    spec = content.get("spec") or {}
    generation = content["metadata"]["generation"]
    match (group, kind):
        case ("apps", _):
            return {"observedGeneration": generation, **_workload(kind, spec.get("replicas", 1))}
        case ("batch", "Job"):
            return _job(spec)
        case ("policy", "PodDisruptionBudget"):
            return {
                "observedGeneration": generation,
                "currentHealthy": 1,
                "desiredHealthy": 0,
                "disruptionsAllowed": 1,
                "expectedPods": 1,
                "conditions": [_condition("DisruptionAllowed", "SufficientPods")],
            }
        case ("autoscaling", "HorizontalPodAutoscaler"):
            replicas = spec.get("minReplicas", 1)
            return {
                "observedGeneration": generation,
                "currentReplicas": replicas,
                "desiredReplicas": replicas,
                "conditions": [
                    _condition("AbleToScale", "ReadyForNewScale"),
                    _condition("ScalingActive", "ValidMetricFound"),
                ],
            }
        case ("apiextensions.k8s.io", "CustomResourceDefinition"):
            return {
                "conditions": [
                    _condition("NamesAccepted", "NoConflicts"),
                    _condition("Established", "InitialNamesAccepted"),
                ]
            }
        case ("", _):
            return _core(kind, spec)
        case _ if kind_named(kind, group=group) is None:
            return {"observedGeneration": generation, "conditions": [_condition("Ready", "Ready")]}
        case _:
            return {}


def _core(kind: str, spec: Content) -> dict[str, Any]:
    match kind:
        case "Namespace":
            return {"phase": "Active"}
        case "PersistentVolumeClaim":
            return {"phase": "Bound"}
        case "PersistentVolume":
            return {"phase": "Bound" if spec.get("claimRef") else "Available"}
        case "Node":
            return {"conditions": [_condition("Ready", "KubeletReady")]}
        case "Service" if spec.get("type") == "LoadBalancer":
            return {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        case "Pod":
            return {
                "phase": "Running",
                "conditions": [
                    _condition(type, "")
                    for type in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
                ],
                "containerStatuses": [
                    {"name": c.get("name"), "ready": True, "restartCount": 0, "state": _RUNNING}
                    for c in spec.get("containers") or ()
                ],
            }
        case _:
            return {}


_RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def _workload(kind: str, replicas: int) -> dict[str, Any]:
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
    match kind:
        case "Deployment":
            return {
                **counts,
                "updatedReplicas": replicas,
                "conditions": [
                    _condition("Available", "MinimumReplicasAvailable"),
                    _condition("Progressing", "NewReplicaSetAvailable"),
                ],
            }
        case "StatefulSet":
            return {
                **counts,
                "currentReplicas": replicas,
                "updatedReplicas": replicas,
                "currentRevision": "pretended-1",
                "updateRevision": "pretended-1",
            }
        case "ReplicaSet":
            return {**counts, "fullyLabeledReplicas": replicas}
        case "DaemonSet":
            return {
                "desiredNumberScheduled": 1,
                "currentNumberScheduled": 1,
                "updatedNumberScheduled": 1,
                "numberAvailable": 1,
                "numberReady": 1,
                "numberMisscheduled": 0,
            }
        case _:
            return {}


def _job(spec: Content) -> dict[str, Any]:
    if spec.get("suspend"):
        return {"conditions": [_condition("Suspended", "JobSuspended")]}
    return {
        "succeeded": spec.get("completions", 1),
        "conditions": [
            _condition("SuccessCriteriaMet", "CompletionsReached"),
            _condition("Complete", "CompletionsReached"),
        ],
    }


def _condition(type: str, reason: str) -> dict[str, str]:
    return {"type": type, "status": "True", "reason": reason, "message": ""}
