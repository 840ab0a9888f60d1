"""Builders of Kubernetes objects for the readiness tests, and a dict-backed `Related`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from konstat.base.clock import timestamp
from konstat.errors import KindUnsynced
from konstat.readiness import Readiness, compute

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOT_FOUND = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/web:1":'
    ' failed to resolve reference "docker.io/library/web:1": docker.io/library/web:1: not found'
)
QUOTA = (
    'pods "web-5d4f-{}" is forbidden: exceeded quota: small, requested: pods=1, used: pods={},'
    " limited: pods=2"
)


class World:
    """A `Related` over a list of objects; kinds in ``unsynced`` cannot be read."""

    def __init__(self, objects: Iterable[Mapping[str, Any]] = (), unsynced: Sequence[str] = ()):
        self.objects = list(objects)
        self.unsynced = unsynced

    def _of(self, kind: str) -> list[Mapping[str, Any]]:
        if kind in self.unsynced:
            raise KindUnsynced(f"the first list of {kind} has not arrived")
        return [o for o in self.objects if o["kind"] == kind]

    def owned_by(self, uid: str, group: str, kind: str) -> list[Mapping[str, Any]]:
        return [
            o
            for o in self._of(kind)
            if any(r["uid"] == uid for r in o["metadata"].get("ownerReferences", ()))
        ]

    def find(self, group: str, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        return next((o for o in self._of(kind) if o["metadata"]["name"] == name), None)

    def events_of(self, uid: str) -> list[Mapping[str, Any]]:
        return [o for o in self._of("Event") if o["involvedObject"]["uid"] == uid]


class Builders:
    """Fixtures as plain dicts, complete enough for each rule to see what a server would send."""

    now = NOW
    not_found = NOT_FOUND

    def ago(self, seconds: float) -> str:
        return timestamp(NOW - timedelta(seconds=seconds))

    def condition(
        self, name: str, status: str = "True", reason: str = "", message: str = ""
    ) -> Any:
        return {"type": name, "status": status, "reason": reason, "message": message}

    def owned(self, uid: str) -> list[dict[str, Any]]:
        return [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid, "controller": True}]

    def thing(
        self, api_version: str, kind: str, status: Any = None, **content: Any
    ) -> dict[str, Any]:
        """An object of any kind at generation 1; ``content`` are its other parts."""
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "x", "namespace": "n", "uid": "x", "generation": 1},
            "status": status,
            **content,
        }

    def deployment(self, wanted: int = 3, **status: Any) -> dict[str, Any]:
        """A complete Deployment of ``wanted`` pods; ``status`` changes fields of its status."""
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "web",
                "namespace": "n",
                "uid": "d",
                "generation": 2,
                "annotations": {"deployment.kubernetes.io/revision": "2"},
            },
            "spec": {"replicas": wanted, "progressDeadlineSeconds": 600},
            "status": {
                "observedGeneration": 2,
                "replicas": wanted,
                "updatedReplicas": wanted,
                "readyReplicas": wanted,
                "availableReplicas": wanted,
                "conditions": [
                    self.condition("Available", reason="MinimumReplicasAvailable"),
                    self.condition("Progressing", reason="NewReplicaSetAvailable"),
                ],
                **status,
            },
        }

    def rolling(self, wanted: int = 3, **status: Any) -> dict[str, Any]:
        """A Deployment none of whose new pods is ready."""
        given = {
            "readyReplicas": 0,
            "availableReplicas": 0,
            "conditions": [
                self.condition("Available", "False", "MinimumReplicasUnavailable"),
                self.condition("Progressing", "True", "ReplicaSetUpdated"),
            ],
        }
        return self.deployment(wanted, **{**given, **status})

    def stateful_set(
        self, wanted: int = 3, *, strategy: Any = None, **status: Any
    ) -> dict[str, Any]:
        """A complete StatefulSet of ``wanted`` pods; ``status`` changes fields of its status."""
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "db", "uid": "s", "generation": 1},
            "spec": {"replicas": wanted, "updateStrategy": strategy},
            "status": {
                "observedGeneration": 1,
                "replicas": wanted,
                "readyReplicas": wanted,
                "availableReplicas": wanted,
                "updatedReplicas": wanted,
                "currentRevision": "r1",
                "updateRevision": "r1",
                **status,
            },
        }

    def daemon_set(self, desired: int = 2, **status: Any) -> dict[str, Any]:
        """A complete DaemonSet on ``desired`` nodes; ``status`` changes fields of its status."""
        return {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": "agent",
                "uid": "ds",
                "generation": 1,
                "annotations": {"deprecated.daemonset.template.generation": "2"},
            },
            "spec": {},
            "status": {
                "observedGeneration": 1,
                "desiredNumberScheduled": desired,
                "updatedNumberScheduled": desired,
                "numberReady": desired,
                "numberAvailable": desired,
                **status,
            },
        }

    def replica_set(self, uid: str = "rs2", revision: int = 2, conditions: Any = ()) -> Any:
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"web-{uid}",
                "uid": uid,
                "generation": 1,
                "annotations": {"deployment.kubernetes.io/revision": str(revision)},
                "ownerReferences": self.owned("d"),
            },
            "spec": {"replicas": 3},
            "status": {"observedGeneration": 1, "conditions": list(conditions)},
        }

    def pod(self, name: str = "web-1", owner: str = "rs2", *containers: Any, **status: Any) -> Any:
        """A running pod; ready when all its container statuses are."""
        reported = list(containers) or [self.running()]
        ready = "True" if all(c.get("ready") for c in reported) else "False"
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name, "ownerReferences": self.owned(owner)},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            "status": {
                "phase": "Running",
                "conditions": [
                    self.condition("PodScheduled"),
                    self.condition("Initialized"),
                    self.condition("ContainersReady", ready),
                    self.condition("Ready", ready),
                ],
                "containerStatuses": reported,
                **status,
            },
        }

    def waiting(self, reason: str, message: str = "", **status: Any) -> dict[str, Any]:
        waiting = {"reason": reason, "message": message}
        return {"name": "web", "ready": False, "state": {"waiting": waiting}, **status}

    def running(self, *, ready: bool = True, **status: Any) -> dict[str, Any]:
        state = {"running": {"startedAt": self.ago(3600)}}
        return {"name": "web", "ready": ready, "restartCount": 0, "state": state, **status}

    def ending(self, exit_code: int = 1, message: str = "", ago: float = 5, **more: Any) -> Any:
        return {
            "terminated": {
                "exitCode": exit_code,
                "reason": "Error",
                "message": message,
                "startedAt": self.ago(ago + 3),
                "finishedAt": self.ago(ago),
                **more,
            }
        }

    def crashing(self, phase: str = "waiting", **ending: Any) -> dict[str, Any]:
        """A crash-looping container in one of the three phases of its loop."""
        ended = self.ending(**ending)
        common: dict[str, Any] = {"name": "web", "ready": False, "restartCount": 4}
        if phase == "waiting":
            text = "back-off 40s restarting failed container=web pod=web-1_n(8fd0)"
            waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
            return {**common, "state": waiting, "lastState": ended}
        if phase == "running":
            running = {"running": {"startedAt": self.ago(2)}}
            return {**common, "state": running, "lastState": ended}
        return {**common, "state": ended, "lastState": ended}

    def node(self, ready: str = "True", *, name: str = "n1", version: str = "v1.36.0") -> Any:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": name},
            "status": {
                "conditions": [self.condition("Ready", ready)],
                "nodeInfo": {"kubeletVersion": version},
            },
        }

    def event(
        self,
        uid: str,
        reason: str,
        message: str,
        *,
        ago: float = 10,
        since: float = 10,
        **more: Any,
    ) -> Any:
        """A core Event about ``uid``, first told ``since`` and last told ``ago`` seconds ago."""
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e-{uid}-{reason}-{ago}-{len(message)}"},
            "involvedObject": {"uid": uid, **more},
            "reason": reason,
            "message": message,
            "type": "Warning",
            "firstTimestamp": self.ago(since),
            "lastTimestamp": self.ago(ago),
        }

    def quota_failure(self, word: str = "abcde", used: int = 2) -> Any:
        text = QUOTA.format(word, used)
        return self.condition("ReplicaFailure", "True", "FailedCreate", text)

    def world(self, *objects: Any, unsynced: Sequence[str] = ()) -> World:
        return World(objects, unsynced)

    def judge(self, obj: Any, *objects: Any, now: datetime | None = NOW) -> Readiness:
        """The verdict on ``obj`` in a world of ``objects``, on copies."""
        return compute(copy.deepcopy(obj), related=World(copy.deepcopy(objects)), now=now)


@pytest.fixture(scope="session")
def build() -> Builders:
    """Builders of objects; without state, so shared by all tests."""
    return Builders()
