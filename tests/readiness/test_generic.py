"""The rule for kinds that have none: conditions of the current generation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness import Readiness, Reason, State, Turn, compute
from konstat.readiness.conditiontypes import role_of

STATUSES = ("True", "Unknown", "False")
GOOD = ("Ready", "Available", "Healthy", "Succeeded", "Synced")
BAD = ("Stalled", "Failed", "Degraded", "Reconciling")


def custom(*conditions: Any, generation: int = 2, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web", "uid": "w", "generation": generation},
        "spec": {"image": "web:1"},
        "status": {"conditions": list(conditions), **status},
    }


def condition(name: str, status: Any = "True", **more: Any) -> dict[str, Any]:
    return {"type": name, "status": status, **more}


def seen(readiness: Readiness) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def test_S2a_custom_resource_without_status_is_unknown() -> None:
    for status in (None, {}, "x"):
        bare = {**custom(), "status": status}
        assert seen(compute(bare)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


def test_S2a_stale_condition_generation_is_progressing() -> None:
    stale = condition("Ready", observedGeneration=1)
    verdict = compute(custom(stale))
    assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)
    assert "generation 1" in verdict.message
    # kstatus reads only the status as a whole, and calls this Current
    assert not compute(custom(stale, observedGeneration=2)).ready


def test_S2a_observed_ahead_of_generation_is_not_current() -> None:
    for restored in (
        custom(condition("Ready"), observedGeneration=7),
        custom(condition("Ready", observedGeneration=7)),
    ):
        verdict = compute(restored)
        assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)
        assert "generation 7" in verdict.message


def test_S2a_reconciling_and_stalled_together_are_failed() -> None:
    for order in ((0, 1), (1, 0)):
        pair = [condition("Reconciling"), condition("Stalled")]
        verdict = compute(custom(*(pair[i] for i in order), observedGeneration=2))
        assert seen(verdict) == (State.FAILED, Reason.STALLED)
        assert "contradicts" in verdict.message


@pytest.mark.parametrize("status", ["", None, "Sideways", 1, [], "yes"])
def test_S2a_a_status_that_is_no_status_is_unknown(status: Any) -> None:
    assert seen(compute(custom(condition("Ready", status)))) == (
        State.UNKNOWN,
        Reason.CONDITION_UNKNOWN,
    )


def test_ready_true_for_this_generation_is_ready() -> None:
    verdict = compute(custom(condition("Ready", observedGeneration=2)))
    assert seen(verdict) == (State.READY, Reason.CONDITIONS_MET)
    assert verdict.message == "condition Ready is True"


def test_ready_of_no_generation_is_believed_and_told() -> None:
    assert "for which generation" in compute(custom(condition("Ready"))).message
    for dated in (
        custom(condition("Ready"), generation=1),
        custom(condition("Ready"), observedGeneration=2),
    ):
        assert compute(dated).message == "condition Ready is True"


def test_ready_false_tells_why() -> None:
    verdict = compute(custom(condition("Ready", "False", reason="DiskBought", message="by lorry")))
    assert seen(verdict) == (State.PROGRESSING, Reason.CONDITION_NOT_MET)
    assert verdict.message == "condition Ready is False (DiskBought): by lorry"


def test_kstatus_pair() -> None:
    assert seen(compute(custom(condition("Reconciling"), condition("Ready")))) == (
        State.PROGRESSING,
        Reason.RECONCILING,
    )
    stalled = compute(custom(condition("Stalled"), condition("Ready", "False")))
    assert seen(stalled) == (State.FAILED, Reason.STALLED)
    assert stalled.turn is Turn.USER


def test_a_stalled_of_an_older_generation_does_not_doom_the_new_one() -> None:
    old = custom(condition("Stalled", observedGeneration=1), condition("Ready", "False"))
    assert seen(compute(old)) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)


def test_synced_false_is_not_hidden_by_ready_true() -> None:
    """Bug 15."""
    assert not compute(custom(condition("Ready"), condition("Synced", "False"))).ready
    assert seen(compute(custom(condition("Synced")))) == (State.UNKNOWN, Reason.NO_RULE)


def test_bounded_work() -> None:
    assert seen(compute(custom(condition("Succeeded")))) == (State.READY, Reason.COMPLETED)
    assert compute(custom(condition("Succeeded", "Unknown"))).reason is Reason.RUNNING
    assert compute(custom(condition("Succeeded", "False"))).state is State.FAILED


def test_nothing_that_decides_is_unknown_and_named() -> None:
    verdict = compute(custom(condition("Shiny"), condition("Stalled", "False")))
    assert seen(verdict) == (State.UNKNOWN, Reason.NO_RULE)
    assert "Shiny" in verdict.message
    assert seen(compute(custom(phase="Shiny"))) == (State.UNKNOWN, Reason.NO_RULE)


def test_of_contradicting_duplicates_the_worse_counts() -> None:
    for order in ((0, 1), (1, 0)):
        pair = [condition("Ready"), condition("Ready", "False")]
        assert not compute(custom(*(pair[i] for i in order))).ready


def test_foreign_texts_are_steady() -> None:
    messages = {
        compute(custom(condition("Ready", "False", message=f"tried at {at}"))).message
        for at in ("2026-03-01T12:00:00Z", "2026-03-01T12:00:30Z")
    }
    assert len(messages) == 1


known = st.dictionaries(st.sampled_from(GOOD + BAD), st.sampled_from(STATUSES), max_size=5)
unknown = st.dictionaries(
    st.text(max_size=8).filter(lambda name: role_of(name, "WebApp") == "foreign"),
    st.sampled_from(STATUSES),
    max_size=3,
)


def listed(conditions: dict[str, str]) -> list[dict[str, Any]]:
    return [condition(name, status) for name, status in conditions.items()]


@given(known, st.data())
def test_worsening_a_condition_never_improves_the_verdict(
    conditions: dict[str, str], data: st.DataObject
) -> None:
    if not conditions:
        return
    name = data.draw(st.sampled_from(sorted(conditions)))
    scale = STATUSES if name in GOOD else STATUSES[::-1]
    place = scale.index(conditions[name])
    worse = {**conditions, name: data.draw(st.sampled_from(scale[place:]))}
    before, after = compute(custom(*listed(conditions))), compute(custom(*listed(worse)))
    assert after.state.severity >= before.state.severity


@given(known, unknown)
def test_a_condition_that_nobody_knows_makes_nothing_ready(
    conditions: dict[str, str], more: dict[str, str]
) -> None:
    before = compute(custom(*listed(conditions)))
    after = compute(custom(*listed({**conditions, **more})))
    assert after.state is before.state


@given(known, unknown, st.data())
def test_order_of_conditions_changes_nothing(
    conditions: dict[str, str], more: dict[str, str], data: st.DataObject
) -> None:
    entries = listed({**conditions, **more})
    shuffled = data.draw(st.permutations(entries))
    assert compute(custom(*entries)) == compute(custom(*shuffled))


def test_what_an_operator_says_of_the_turn_goes_before_the_words_of_its_reason() -> None:
    told = {"reason": "ValueError", "message": "ValueError: not found"}
    refused = compute(custom(condition("Ready", "False", **told)))
    assert (refused.reason, refused.turn) == (Reason.CONFIGURATION_REFUSED, Turn.USER)
    told["message"] += " (the operator's owner must act)"
    reported = compute(custom(condition("Ready", "False", **told)))
    assert (reported.reason, reported.turn) == (Reason.FAILURE_REPORTED, Turn.OWNER)
    assert "correct the spec" not in reported.message
