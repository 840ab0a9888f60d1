"""What asks a controller to leave an object alone."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, Rules, State, compute

RULES = Rules(builtin=False)
FAILED = {"conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed"}]}


def web_app(
    spec: Any = None, annotations: Any = None, status: Any = None, **metadata: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "w", "generation": 2, "annotations": annotations, **metadata},
        "spec": spec,
        "status": status or {"phase": "Running"},
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"suspend": True},
        {"paused": True},
        {"paused": "true"},
        {"hibernate": True},
        {"enabled": False},
        {"state": "Stopped"},
        {"runStrategy": "Halted"},
    ],
)
def test_a_wish_of_the_spec(spec: Any) -> None:
    verdict = compute(web_app(spec), rules=RULES)
    assert verdict.state is State.SUSPENDED
    assert verdict.evidence[0].path == f"spec.{next(iter(spec))}"


@pytest.mark.parametrize("spec", [{"suspend": False}, {"paused": None}, {"enabled": True}, "x"])
def test_no_wish_of_the_spec(spec: Any) -> None:
    assert compute(web_app(spec), rules=RULES).ready


@pytest.mark.parametrize(
    ("annotation", "value", "held"),
    [
        ("demo.example.com/paused", "true", True),
        ("demo.example.com/paused", "", True),  # as Cluster API: to be there is enough
        ("demo.example.com/pause-reconciliation", "yes", True),
        ("demo.example.com/hibernation", "on", True),
        ("demo.example.com/reconcile", "disabled", True),
        ("demo.example.com/managed", "false", True),
        ("demo.example.com/paused", "false", False),
        ("demo.example.com/hibernation", "off", False),
        ("demo.example.com/reconcile", "enabled", False),
        ("demo.example.com/reconcile", "2026-03-01T12:00:00Z", False),
        ("demo.example.com/note", "paused", False),
        ("demo.example.com/paused", 1, False),
    ],
)
def test_annotations(annotation: str, value: Any, held: bool) -> None:
    verdict = compute(web_app(annotations={annotation: value}), rules=RULES)
    assert verdict.state is (State.SUSPENDED if held else State.READY)


def test_a_wish_stands_before_failures_and_generations_but_not_before_deletion() -> None:
    stale = {**FAILED, "observedGeneration": 1}
    verdict = compute(web_app({"suspend": True}, status=stale), rules=RULES)
    assert (verdict.state, verdict.reason) == (State.SUSPENDED, Reason.SUSPENDED)
    assert "before that: condition Ready is False (BuildFailed)" in verdict.message
    leaving = web_app({"suspend": True}, deletionTimestamp="2026-03-01T12:00:00Z")
    assert compute(leaving, rules=RULES).state is State.TERMINATING
