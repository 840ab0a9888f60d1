"""The closed set of reasons."""

from __future__ import annotations

import re
from pathlib import Path

import konstat.readiness
from konstat.readiness import Reason, State, Turn

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
