"""The closed set of reasons, and the bounds of what a verdict carries."""

from __future__ import annotations

import re
from pathlib import Path

import konstat.readiness
from konstat.base import limits
from konstat.readiness import Reason, State, Turn, compute

SOURCES = Path(konstat.readiness.__file__).parent


def test_every_reason_is_fit_for_a_condition_and_documented() -> None:
    for reason in Reason:
        assert re.fullmatch(r"[A-Z][A-Za-z]{1,63}", reason)
        assert reason.name == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", reason).upper()
        assert isinstance(reason.turn, Turn)
        assert reason.meaning[0].islower()
        assert not reason.meaning.endswith(".")
        assert Reason(str(reason)) is reason


def test_every_reason_is_given_by_some_rule() -> None:
    rules = "".join(p.read_text() for p in SOURCES.glob("*.py") if p.name != "verdict.py")
    unused = [reason.name for reason in Reason if f"Reason.{reason.name}" not in rules]
    assert unused == []


def test_states_are_ordered_from_best_to_worst() -> None:
    assert [state.severity for state in State] == list(range(7))
    assert State.READY.severity < State.SUSPENDED.severity < State.UNKNOWN.severity
    assert max(State, key=lambda state: state.severity) is State.FAILED


def test_evidence_holds_no_more_of_a_text_than_a_message() -> None:
    status = {"phase": "x" * 2**20, "conditions": [{"type": "Ready" + "y" * 2**20, "status": "?"}]}
    content = {"apiVersion": "example.com/v1", "kind": "Widget", "status": status}
    for kind in ("Widget", "Pod"):
        verdict = compute({**content, "kind": kind})
        sizes = [len(str(e.value)) + len(e.path) for e in verdict.evidence]
        assert max(sizes, default=0) <= 2 * limits.MESSAGE_CHARACTERS
    failed = {**status, "phase": "Failed " + "x" * 2**20}
    verdict = compute({**content, "status": failed})
    assert all(len(str(e.value)) <= limits.MESSAGE_CHARACTERS for e in verdict.evidence)
