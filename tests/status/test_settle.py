"""The table of `konstat.status.settle`, row by row, and its properties."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.errors import ModelError, StatusInvalid
from konstat.objects.model import Model, PerAttempt, Status, status_fields
from konstat.objects.resource import stored_status
from konstat.readiness import Readiness, State, Turn
from konstat.status import (
    Component,
    Ending,
    Failed,
    Finding,
    Outcome,
    Settlement,
    Stalled,
    Waiting,
    refused,
    settle,
    started,
)


class Shard(Model):
    name: str
    lag: float = 0.0


class ShopStatus(Status):
    workload: Component
    network: Component
    extra: Component | None = None
    hidden: Component = Component(published=False)
    certificates: Component = Component(type="CertsReady")
    ready_replicas: int = 0
    url: str | None = None
    shards: list[Shard] = []  # noqa: RUF012
    since: datetime | None = None


def draft(**fields: Any) -> ShopStatus:
    made = stored_status(ShopStatus, fields)
    assert isinstance(made, ShopStatus)
    return made


def good(status: ShopStatus) -> ShopStatus:
    for part in (status.workload, status.network, status.hidden, status.certificates):
        part.good()
    return status


def says(settlement: Settlement) -> dict[str, tuple[str, str]]:
    return {c.type: (c.status, c.reason) for c in settlement.conditions}


def observed(status: Status, **options: Any) -> Settlement:
    return settle(status, Outcome.observed(), generation=3, **options)


def test_all_good_is_ready_and_names_nothing_else() -> None:
    settlement = observed(good(draft()))
    assert says(settlement) == {
        "Ready": ("True", "Ready"),
        "WorkloadReady": ("True", "Good"),
        "NetworkReady": ("True", "Good"),
        "CertsReady": ("True", "Good"),
    }
    assert settlement.observed_generation == 3
    assert {c.observed_generation for c in settlement.conditions} == {3}
    assert set(settlement.absent) == {"ExtraReady", "Reconciling", "Stalled"}


def test_no_evidence_at_all_is_ready_only_for_a_status_without_parts() -> None:
    class Bare(Status):
        value: str = ""

    assert says(observed(stored_status(Bare, None)))["Ready"] == ("True", "Ready")


def test_a_part_not_reported_is_the_authors_mistake_and_never_green() -> None:
    status = draft()
    status.workload.good()
    settlement = observed(status)
    assert says(settlement)["Ready"] == ("Unknown", "ComponentNotReported")
    assert says(settlement)["NetworkReady"] == ("Unknown", "NotObserved")
    assert "component=status.network" in settlement.ready.message
    assert "the operator's owner must act" in settlement.ready.message


def test_bad_beats_unknown_beats_good() -> None:
    status = good(draft())
    status.network.unknown("Unread", "cannot read")
    assert says(observed(status))["Ready"] == ("Unknown", "Unread")
    status.workload.bad("Broken", "it is broken")
    settlement = observed(status)
    assert says(settlement)["Ready"] == ("False", "Broken")
    assert says(settlement)["Stalled"] == ("True", "Broken")
    assert "Reconciling" in settlement.absent
    expected = "workload: it is broken; network: cannot read (the user must act)"
    assert settlement.ready.message == expected


def test_progress_is_reconciling_and_nobodys_turn() -> None:
    status = good(draft())
    status.workload.progressing("RollingOut", "1 of 3 are ready")
    settlement = observed(status)
    assert says(settlement)["Ready"] == ("False", "RollingOut")
    assert says(settlement)["Reconciling"] == ("True", "RollingOut")
    assert settlement.ready.message.endswith("(nobody must act: waiting)")


def test_an_unpublished_part_counts_but_is_no_condition() -> None:
    status = good(draft())
    status.hidden.bad("Dark", "dark matter")
    settlement = observed(status)
    assert says(settlement)["Ready"] == ("False", "Dark")
    assert "HiddenReady" not in says(settlement)


def test_a_finding_counts_without_a_component() -> None:
    bad = Readiness(
        state=State.FAILED, reason="Odd", message="odd", turn=Turn.USER, evidence=(), generation=0
    )
    settlement = observed(good(draft()), findings=[Finding("ConfigMap a", bad)])
    assert says(settlement)["Ready"] == ("False", "Odd")


def test_two_equally_bad_parts_are_multiple_issues() -> None:
    status = good(draft())
    status.workload.bad("A", "a")
    status.network.bad("B", "b")
    assert says(observed(status))["Ready"] == ("False", "MultipleIssues")


@pytest.mark.parametrize(
    ("error", "ready", "second"),
    [
        (Stalled("ImageUntagged", "no tag"), ("False", "ImageUntagged"), "Stalled"),
        (Waiting("NoSecret", "waits"), ("False", "NoSecret"), "Reconciling"),
        (Failed("NoQuota", "failed"), ("False", "NoQuota"), "Reconciling"),
        (ValueError("boom"), ("Unknown", "ValueError"), "Reconciling"),
    ],
)
def test_a_raised_outcome_leaves_unobserved_parts_unknown(
    error: Exception, ready: tuple[str, str], second: str
) -> None:
    settlement = settle(draft(), Outcome.of(error), generation=2)
    assert says(settlement)["Ready"] == ready
    assert says(settlement)[second] == ("True", ready[1])
    assert says(settlement)["WorkloadReady"] == ("Unknown", "NotObserved")
    assert settlement.observed_generation == 2


def test_an_error_beside_bad_evidence_is_false() -> None:
    status = draft()
    status.workload.bad("Broken", "it is")
    settlement = settle(status, Outcome.of(ValueError("boom")), generation=2)
    assert says(settlement)["Ready"] == ("False", "ValueError")


def test_the_innermost_cause_is_named() -> None:
    try:
        try:
            raise OSError("disk on fire")
        except OSError as inner:
            raise RuntimeError("could not store") from inner
    except RuntimeError as error:
        outcome = Outcome.of(error)
    assert (outcome.reason, outcome.message) == ("OSError", "OSError: disk on fire")
    group = ExceptionGroup("tasks", [ValueError("one"), ValueError("two")])
    assert Outcome.of(group).message == "ValueError: one"


def test_an_overdue_wait_is_stalled() -> None:
    outcome = Outcome(
        ending=Ending.OVERDUE, reason="DeadlineExceeded", message="m", turn=Turn.OWNER
    )
    assert says(settle(draft(), outcome, generation=1))["Stalled"] == ("True", "DeadlineExceeded")


def test_a_reset_claims_nothing_and_keeps_the_old_observed_generation() -> None:
    settlement = started(5)
    assert says(settlement) == {
        "Ready": ("Unknown", "NewGeneration"),
        "Reconciling": ("True", "NewGeneration"),
    }
    assert settlement.observed_generation is None
    assert settlement.fields == {}


def test_a_refused_status_is_told_in_a_smaller_one() -> None:
    settlement = refused(4, reason="StatusRefused", message="spec.x: Invalid")
    assert says(settlement)["Ready"] == ("Unknown", "StatusRefused")
    assert settlement.fields == {}
    assert settlement.observed_generation == 4


def test_whose_turn_survives_a_long_cause() -> None:
    outcome = Outcome.of(Stalled("Long", "x" * 5000))
    message = settle(draft(), outcome, generation=1).ready.message
    assert message.endswith("… (the user must act)")
    assert len(message) <= 1024


def test_fields_are_published_under_their_wire_names() -> None:
    status = good(draft(readyReplicas=2, url="http://a"))
    status.shards = [Shard(name="a")]
    fields = observed(status).fields
    assert fields["readyReplicas"] == 2
    assert fields["url"] == "http://a"
    assert fields["shards"] == [{"name": "a", "lag": 0.0}]
    assert fields["since"] is None


def test_fields_are_carried_or_begin_anew_per_attempt() -> None:
    class Counted(Status):
        carried: int = 0
        fresh: Annotated[int, PerAttempt] = 7

    made = stored_status(Counted, {"carried": 3, "fresh": 3})
    assert isinstance(made, Counted)
    assert (made.carried, made.fresh) == (3, 7)


def test_an_unreadable_stored_field_begins_at_its_default() -> None:
    assert draft(readyReplicas="many").ready_replicas == 0


def test_mutable_defaults_are_not_shared() -> None:
    one, two = draft(), draft()
    one.shards.append(Shard(name="a"))
    assert two.shards == []


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("ready_replicas", "three", "status.readyReplicas"),
        ("ready_replicas", 2**70, "status.readyReplicas"),
        ("ready_replicas", float("nan"), "status.readyReplicas"),
        ("url", b"bytes", "status.url"),
        ("shards", [Shard(name="a", lag=float("inf"))], "status.shards[0].lag"),
        ("shards", [{"name": 3}], "status.shards[0].name"),
        ("since", datetime(2026, 1, 1), "status.since"),  # noqa: DTZ001
        ("url", object(), "status.url"),
    ],
)
def test_F71_values_that_are_no_status_are_refused_with_their_path(
    name: str, value: object, path: str
) -> None:
    status = good(draft())
    setattr(status, name, value)
    with pytest.raises(StatusInvalid) as caught:
        observed(status)
    assert caught.value.path == path


def test_a_plain_status_field_needs_a_default() -> None:
    class Wrong(Status):
        replicas: int

    with pytest.raises(ModelError, match=r"Wrong\.replicas.*default"):
        status_fields(Wrong)


def test_konstats_own_fields_are_reserved() -> None:
    class Wrong(Status):
        observed_generation: int = 0

    with pytest.raises(ModelError, match="observedGeneration"):
        status_fields(Wrong)


STATES = st.sampled_from(list(State))


def verdict(state: State) -> Readiness:
    return Readiness(
        state=state, reason=state.value, message="", turn=Turn.NOBODY, evidence=(), generation=0
    )


ORDER = {"True": 0, "Unknown": 1, "False": 2}


def badness(state: State) -> tuple[int, int]:
    """Bad beats unknown beats good; within bad, the more severe one."""
    words = {State.READY: "True", State.UNKNOWN: "Unknown"}
    return ORDER[words.get(state, "False")], state.severity


@given(STATES, STATES, STATES)
def test_worsening_a_part_never_improves_the_summary(one: State, two: State, worse: State) -> None:
    def summary(a: State, b: State) -> int:
        status = good(draft())
        status.workload.observe("a", verdict(a))
        status.network.observe("b", verdict(b))
        return ORDER[observed(status).ready.status]

    before, after = sorted((one, worse), key=badness)
    assert summary(before, two) <= summary(after, two)


@given(STATES, STATES)
def test_ready_is_never_greener_than_a_part_and_exclusive(one: State, two: State) -> None:
    status = good(draft())
    status.workload.observe("a", verdict(one))
    status.network.observe("b", verdict(two))
    said = says(observed(status))
    assert (said["Ready"][0] == "True") == (one is two is State.READY)
    extra = {"Reconciling", "Stalled"} & set(said)
    assert len(extra) == (said["Ready"][0] != "True")


def test_waiting_for_what_cannot_come_tells_the_cause_and_whose_turn_it_is() -> None:
    status = good(draft())
    status.workload.bad("ImagePullFailed", "image x cannot be pulled")
    settlement = settle(status, Outcome.of(Waiting("JobRunning", "waits")), generation=1)
    assert says(settlement)["Ready"] == ("False", "ImagePullFailed")
    assert says(settlement)["Stalled"] == ("True", "ImagePullFailed")
    assert settlement.ready.message.endswith("(the user must act)")
