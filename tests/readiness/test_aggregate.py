"""Many verdicts as one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness import Evidence, Readiness, Reason, State, Turn, aggregate

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def part(state: State, reason: Reason, message: str = "text", **more: object) -> Readiness:
    given = {"turn": reason.turn, "generation": 3, **more}
    return Readiness(state=state, reason=reason, message=message, **given)  # pyright: ignore


READY = part(State.READY, Reason.AVAILABLE, "all pods are available")
BROKEN = part(State.FAILED, Reason.IMAGE_PULL_FAILED, "image web:1 cannot be pulled")
WAITING = part(State.PROGRESSING, Reason.ROLLING_OUT, "not all pods are of the new revision yet")


def test_no_parts_are_unknown() -> None:
    assert (aggregate([]).state, aggregate([]).reason) == (State.UNKNOWN, Reason.NOTHING_TO_JUDGE)


def test_one_part_keeps_its_words() -> None:
    one = aggregate([("Deployment web", BROKEN)])
    assert (one.state, one.reason, one.turn) == (State.FAILED, Reason.IMAGE_PULL_FAILED, Turn.USER)
    assert one.message == "Deployment web: image web:1 cannot be pulled"
    assert one.generation == 3


def test_all_ready() -> None:
    other = part(State.READY, Reason.EXISTS)
    assert aggregate([("a", READY), ("b", other)]).reason is Reason.ALL_READY
    same = aggregate([("a", READY), ("b", READY)])
    assert (same.reason, same.message) == (Reason.AVAILABLE, "all parts are ready")
    assert same.generation == 0


def test_the_worst_comes_first_and_ready_parts_are_silent() -> None:
    whole = aggregate([("a", READY), ("b", WAITING), ("c", BROKEN)])
    assert whole.reason is Reason.IMAGE_PULL_FAILED
    assert whole.message == f"c: {BROKEN.message}; b: {WAITING.message}"


def test_different_reasons_of_the_worst_are_multiple_issues() -> None:
    denied = part(State.FAILED, Reason.PODS_FORBIDDEN, "the server refuses the pods")
    whole = aggregate([("a", denied), ("b", BROKEN)])
    assert (whole.reason, whole.turn) == (Reason.MULTIPLE_ISSUES, Turn.USER)


def test_equal_texts_are_grouped_and_all_is_bounded() -> None:
    same = [(f"w{i}", BROKEN) for i in range(5)]
    whole = aggregate([*same, ("x", READY)])
    assert whole.message == f"5 of 6 (w0, w1, w2 and 2 more): {BROKEN.message}"
    different = [
        (f"w{i}", part(State.FAILED, Reason.STALLED, f"{i} " + "x" * 1000)) for i in range(9)
    ]
    message = aggregate(different).message
    assert len(message) <= 1024
    assert message.endswith("; and 6 more")
    assert message.count("(cut)") == 3


def test_evidence_and_recheck_are_kept() -> None:
    crash = part(
        State.FAILED,
        Reason.CRASH_LOOPING,
        evidence=(Evidence("status.phase", "Running"),),
        recheck_at=NOW + timedelta(seconds=5),
    )
    sooner = part(State.PROGRESSING, Reason.PODS_NOT_READY, recheck_at=NOW)
    whole = aggregate([("a", crash), ("b", sooner)])
    assert whole.evidence == (Evidence("a: status.phase", "Running"),)
    assert whole.recheck_at == NOW


parts = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "c", "d")),
        st.builds(
            part,
            st.sampled_from(list(State)),
            st.sampled_from(list(Reason)),
            st.sampled_from("xyz"),
        ),
    ),
    min_size=1,
    max_size=6,
)


@given(parts, st.data())
def test_order_changes_nothing_and_no_part_is_worse(
    named: list[tuple[str, Readiness]], data: st.DataObject
) -> None:
    whole = aggregate(named)
    assert aggregate(data.draw(st.permutations(named))) == whole
    assert whole.state.severity == max(r.state.severity for _, r in named)


@given(parts, st.sampled_from(list(State)))
def test_a_worse_part_never_improves_the_whole(
    named: list[tuple[str, Readiness]], state: State
) -> None:
    (name, first), *rest = named
    if state.severity < first.state.severity:
        return
    worse = [(name, part(state, first.reason)), *rest]
    assert aggregate(worse).state.severity >= aggregate(named).state.severity
