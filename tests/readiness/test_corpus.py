"""The verdicts on the corpus of statuses: none too good, nearly all decided, nearly all exact."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import pytest
import status_corpus
from status_corpus import CorpusError, Outcome, Tally

from konstat.readiness import Readiness, State, Turn, compute
from konstat.readiness.builtin import RULES
from konstat.readiness.rulebook import Rules

RULE_FILES = sorted(
    entry.name.removesuffix(".yaml")
    for entry in (resources.files("konstat.readiness") / "rules").iterdir()
    if entry.name.endswith(".yaml")
)
# Without the samples whose words mean in their kind what they mean nowhere else.
GENERAL = [sample for sample in status_corpus.samples() if not sample.needs_rule]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return status_corpus.judged(compute)


def too_good(outcomes: list[Outcome]) -> list[str]:
    return [str(outcome) for outcome in outcomes if outcome.false_green]


def test_the_corpus_is_large_and_balanced():
    samples = status_corpus.samples()
    assert len(samples) >= 1400
    assert len({(sample.group, sample.kind) for sample in samples}) >= 500
    ready = sum(sample.state is State.READY for sample in samples)
    assert 0.3 <= ready / len(samples) <= 0.5
    assert len(samples) - len(GENERAL) <= len(samples) / 100


def test_no_verdict_is_too_good(outcomes: list[Outcome]):
    sys.stdout.write(f"\n{status_corpus.table(outcomes)}\n")
    assert too_good(outcomes) == []


def test_nearly_all_are_decided(outcomes: list[Outcome]):
    open_ones = [str(o) for o in outcomes if o.decidable and not o.decided]
    assert Tally.of(outcomes).decided >= 95, "\n".join(open_ones)


def test_nearly_all_are_exact(outcomes: list[Outcome]):
    wrong = [str(o) for o in outcomes if not o.exact]
    assert Tally.of(outcomes).exact >= 90, "\n".join(wrong)


def test_it_is_nearly_always_told_right_whose_turn_it_is(outcomes: list[Outcome]):
    wrong = [
        f"{o}, turn {o.verdict.turn} instead of {o.sample.turn}"
        for o in outcomes
        if o.first and not o.right_turn
    ]
    assert Tally.of(outcomes).turns >= 90, "\n".join(wrong)


def of(file: str) -> list[status_corpus.Sample]:
    return [sample for sample in GENERAL if f".{sample.group}".endswith(f".{file}")]


# Files without a sample have rows beside the corpus (`test_rules_of_operators`).
@pytest.mark.parametrize("file", [file for file in RULE_FILES if of(file)])
def test_no_verdict_is_too_good_without_the_rules_of(file: str):
    of_file = of(file)
    rules = Rules(without=[file])
    assert too_good(status_corpus.judged(lambda o: compute(o, rules=rules), of_file)) == []


def test_no_verdict_of_the_general_reading_is_too_good():
    # More than the above: it also leaves out the functions for custom kinds of Kubernetes itself.
    custom = [s for s in GENERAL if (s.group, s.kind) not in RULES or s.group.count(".") > 2]
    assert too_good(status_corpus.judged(status_corpus.general, custom)) == []


# --- each ready sample made worse -------------------------------------------------------------

READY = [sample for sample in status_corpus.samples() if sample.state is State.READY]
# Newer versions of these kinds have no status, or it is written by an option only.
WITHOUT_STATUS = {
    ("notification.toolkit.fluxcd.io", "Provider"),
    ("networking.istio.io", "VirtualService"),
    ("networking.istio.io", "ServiceEntry"),
}
SUMMARIES = {"Accepted", "Available", "Healthy", "Programmed", "Ready", "Succeeded", "Synced"}


def worse(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """The ready samples that ``change`` applies to and leaves Ready, by its own account or not."""
    left: list[str] = []
    for sample in READY:
        changed = copy.deepcopy(dict(sample.object))
        if change(changed) is False:
            continue
        for reading, judge in (("all rules", compute), ("no rules", status_corpus.general)):
            if judge(changed).ready:
                left.append(f"{sample.group} {sample.kind} {sample.name} by {reading}")
    return left


def conditions(value: Any) -> Iterator[dict[str, Any]]:
    """Every condition of a status, also those of parents, listeners and the like."""
    if isinstance(value, list):
        for item in value:
            yield from conditions(item)
    elif isinstance(value, dict):
        if "type" in value and "status" in value:
            yield value
        for member in value.values():
            yield from conditions(member)


def test_a_ready_sample_is_not_ready_for_a_newer_generation():
    def change(content: dict[str, Any]) -> object:
        status = content.get("status", {})
        known = "observedGeneration" in status or any(
            "observedGeneration" in c for c in conditions(status)
        )
        content["metadata"]["generation"] = content["metadata"].get("generation", 0) + 1
        return known

    assert worse(change) == []


def test_a_ready_sample_is_not_ready_while_it_is_deleted():
    def change(content: dict[str, Any]) -> None:
        content["metadata"]["deletionTimestamp"] = "2026-02-05T10:00:00Z"

    assert worse(change) == []


def test_a_ready_sample_is_not_ready_without_what_its_status_says():
    def change(content: dict[str, Any]) -> bool:
        status = content.pop("status", {})
        said = any(True for _ in conditions(status)) or bool({"phase", "state"} & set(status))
        group = content["apiVersion"].rpartition("/")[0]
        return said and (group, content["kind"]) not in WITHOUT_STATUS

    assert worse(change) == []


@pytest.mark.parametrize("status", ["False", "Unknown"])
@pytest.mark.parametrize("place", range(4))
def test_a_ready_sample_is_not_ready_when_one_summary_turns(place: int, status: str):
    def change(content: dict[str, Any]) -> bool:
        found = [c for c in conditions(content.get("status")) if c["type"] in SUMMARIES]
        if place < len(found):
            found[place]["status"] = status
        return place < len(found)

    assert worse(change) == []


@pytest.mark.parametrize("type_", ["Degraded", "Stalled"])
def test_a_ready_sample_is_not_ready_beside_trouble(type_: str):
    def change(content: dict[str, Any]) -> bool:
        listed = content.get("status", {}).get("conditions")
        group = content["apiVersion"].rpartition("/")[0]
        if (group, content["kind"]) in RULES:  # the conditions of these kinds are a closed set
            return False
        if not listed or not isinstance(listed, list):  # some kinds write a map
            return False
        listed.append({"type": type_, "status": "True", "reason": "QuotaExceeded", "message": "no"})
        return True

    assert worse(change) == []


# --- the figures themselves -------------------------------------------------------------------


def outcome(state: str, computed: State, *, accept: tuple[State, ...] = ()) -> Outcome:
    sample = status_corpus.Sample(
        group="example.com",
        name="x",
        state=State(state),
        accept=accept,
        turn=Turn.USER,
        why="it is so",
        object={"kind": "Thing"},
    )
    verdict = Readiness(state=computed, reason="R", message="m", turn=Turn.NOBODY)
    return Outcome(sample, verdict)


def test_figures():
    tally = Tally.of(
        [
            outcome("Ready", State.READY),
            outcome("Ready", State.FAILED),
            outcome("Failed", State.READY),
            outcome("Failed", State.PROGRESSING, accept=(State.PROGRESSING,)),
            outcome("Failed", State.UNKNOWN),
            outcome("Unknown", State.UNKNOWN),
        ]
    )
    assert (tally.count, tally.kinds, tally.false_green, tally.false_red) == (6, 1, 1, 1)
    assert (tally.decided, tally.exact, tally.turns) == (80.0, 50.0, 0.0)
    assert tally.first == pytest.approx(100 / 3)


# --- the form of the files --------------------------------------------------------------------


def entry(**changes: Any) -> dict[str, Any]:
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    return {"name": "a", "state": "Failed", "why": "it is so", "object": thing, **changes}


def file_of(*entries: Any, **changes: Any) -> dict[str, Any]:
    return {"group": "example.com", "source": "nowhere", "samples": list(entries), **changes}


def test_a_file_is_read():
    group, read = status_corpus.parse(
        file_of(entry(accept=["Progressing"], turn="user")), "example.com.yaml"
    )
    assert group == "example.com"
    assert read[0].honest == (State.FAILED, State.PROGRESSING)
    assert (read[0].turn, read[0].kind) == (Turn.USER, "Thing")


NAMELESS = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {}}
STRANGER = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (file_of(entry(), notes="x"), "with the keys"),
        (file_of(entry(), group="example.org"), "its name"),
        (file_of(), "not empty"),
        (file_of(entry(), entry()), "stand twice"),
        (file_of("text"), "must be a mapping"),
        (file_of(entry(comment="x")), "unknown keys"),
        (file_of({"name": "a"}), "missing keys"),
        (file_of(entry(why="")), "must be text"),
        (file_of(entry(state="Green")), "no states"),
        (file_of(entry(state="Missing")), "no states"),
        (file_of(entry(accept=["Failed"])), "a verdict stands twice"),
        (file_of(entry(accept=["Ready"])), "nothing stands beside"),
        (file_of(entry(accept=[])), "list of states"),
        (file_of(entry(turn="me")), "no turn"),
        (file_of(entry(needs_rule=False)), "true or not there"),
        (file_of(entry(object={})), "with a kind"),
        (file_of(entry(object=NAMELESS)), "needs a name"),
        (file_of(entry(object=STRANGER)), "not of the group"),
    ],
)
def test_malformed_files_are_refused(content: Any, said: str):
    with pytest.raises(CorpusError, match=said):
        status_corpus.parse(content, "example.com.yaml")
