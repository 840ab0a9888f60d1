"""What built-in controllers would write once they have done their work; for `FakeContext`."""

from __future__ import annotations

from typing import Any


def pretend_ready(content: dict[str, Any]) -> dict[str, Any]:
    """``content`` with the status of an object whose controller has finished, where it has one."""
    status = _status_of(content)
    return {**content, "status": status} if status else content


def _status_of(content: dict[str, Any]) -> dict[str, Any]:
    spec = content.get("spec") or {}
    generation = content["metadata"]["generation"]
    replicas = spec.get("replicas", 1)
    match content["kind"]:
        case "Deployment":
            return {
                "observedGeneration": generation,
                "replicas": replicas,
                "updatedReplicas": replicas,
                "readyReplicas": replicas,
                "availableReplicas": replicas,
                "conditions": [
                    _condition("Available", "MinimumReplicasAvailable"),
                    _condition("Progressing", "NewReplicaSetAvailable"),
                ],
            }
        case "StatefulSet":
            return {
                "observedGeneration": generation,
                "replicas": replicas,
                "readyReplicas": replicas,
                "currentReplicas": replicas,
                "updatedReplicas": replicas,
                "availableReplicas": replicas,
                "currentRevision": "pretended-1",
                "updateRevision": "pretended-1",
            }
        case "ReplicaSet":
            return {
                "observedGeneration": generation,
                "replicas": replicas,
                "fullyLabeledReplicas": replicas,
                "readyReplicas": replicas,
                "availableReplicas": replicas,
            }
        case "DaemonSet":
            return {
                "observedGeneration": generation,
                "desiredNumberScheduled": 1,
                "currentNumberScheduled": 1,
                "updatedNumberScheduled": 1,
                "numberAvailable": 1,
                "numberReady": 1,
                "numberMisscheduled": 0,
            }
        case "Job":
            return {"succeeded": 1, "conditions": [_condition("Complete", "CompletionsReached")]}
        case "PersistentVolumeClaim":
            return {"phase": "Bound"}
        case "Service" if spec.get("type") == "LoadBalancer":
            return {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        case _:
            return {}


def _condition(type: str, reason: str) -> dict[str, str]:
    return {"type": type, "status": "True", "reason": reason, "message": ""}
