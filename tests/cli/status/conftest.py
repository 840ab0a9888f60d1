"""A small world for the tests of `konstat status`: a WebApp whose pods cannot pull their image."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from konstat.base import clock
from konstat.cli.status.tree import Gathered

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CAUSE = 'image "nginx:nope" of container app cannot be pulled'

Make = Callable[..., dict[str, Any]]


def ago(seconds: float) -> str:
    return clock.timestamp(NOW - timedelta(seconds=seconds))


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def make() -> Make:
    """Makes an object: apiVersion, kind and name, then what it says."""
    return _object


@pytest.fixture
def condition() -> Callable[..., dict[str, Any]]:
    """Makes a condition of two minutes' age."""
    return _condition


def _object(
    api_version: str,
    kind: str,
    name: str,
    *,
    owner: str = "",
    generation: int = 1,
    age_seconds: float = 200,
    annotations: dict[str, str] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "demo",
        "uid": f"uid-{name}",
        "generation": generation,
        "creationTimestamp": ago(age_seconds),
        "annotations": annotations or {},
    }
    if owner:
        metadata["ownerReferences"] = [{"uid": f"uid-{owner}", "controller": True}]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def _condition(
    type: str, status: str, reason: str, message: str = "", *, generation: int = 3
) -> dict[str, Any]:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": ago(120),
        "observedGeneration": generation,
    }


def _pod(name: str) -> dict[str, Any]:
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nginx:nope"'}
    return _object(
        "v1",
        "Pod",
        name,
        owner="shop-new",
        spec={"containers": [{"name": "app", "image": "nginx:nope"}]},
        status={
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [
                {"name": "app", "image": "nginx:nope", "state": {"waiting": waiting}}
            ],
        },
    )


@pytest.fixture
def broken_shop() -> Gathered:
    """WebApp shop → Deployment shop → ReplicaSets shop-new (two pods) and shop-old; a Service."""
    text = f"workload: {CAUSE} (the user must act)"
    shop = _object(
        "demo.example.com/v1",
        "WebApp",
        "shop",
        generation=3,
        status={
            "observedGeneration": 3,
            "conditions": [
                _condition("Ready", "False", "ImagePullFailed", text),
                _condition("WorkloadReady", "False", "ImagePullFailed", CAUSE),
                _condition("NetworkReady", "True", "Available", "fine", generation=2),
                _condition("Stalled", "True", "ImagePullFailed", text),
            ],
        },
    )
    revision = {"deployment.kubernetes.io/revision": "2"}
    deployment = _object(
        "apps/v1",
        "Deployment",
        "shop",
        owner="shop",
        annotations=revision,
        spec={"replicas": 2},
        status={"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2},
    )
    deployment["metadata"]["uid"] = "uid-deployment"
    sets = [
        _object(
            "apps/v1",
            "ReplicaSet",
            "shop-new",
            owner="deployment",
            annotations=revision,
            spec={"replicas": 2},
            status={"observedGeneration": 1, "replicas": 2},
        ),
        _object(
            "apps/v1",
            "ReplicaSet",
            "shop-old",
            owner="deployment",
            spec={"replicas": 0},
            status={"observedGeneration": 1, "replicas": 0},
        ),
    ]
    service = _object("v1", "Service", "shop-web", owner="shop", spec={"type": "ClusterIP"})
    return Gathered(
        resources=(shop,),
        objects={
            ("apps", "Deployment"): [deployment],
            ("apps", "ReplicaSet"): sets,
            ("", "Pod"): [_pod("shop-new-b"), _pod("shop-new-a")],
            ("", "Service"): [service],
        },
    )
