"""What holds for every object that is read in general: worse is never better, nothing raises.

The mutated objects are the corpus's samples with parts replaced, removed, doubled and swapped.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from status_corpus import samples

from konstat.readiness import Readiness, Reason, Rules, State, Turn, compute
from konstat.readiness.conditiontypes import role_of

PLAIN = Rules(builtin=False)
KIND = "WebApp"

# A dimension is a scale of values of one part of the status, from good to bad.
POSITIVE = ("Ready", "Available", "Synced", "DatabaseReady", "Accepted", "Complete")
NEGATIVE = ("Degraded", "Stalled", "StorageFailed", "Progressing", "Reconciling", "Migrating")
FOREIGN = ("Shiny", "UpgradeHint", "Sunny")
REASONS = ("", "Fine", "InstallFailed", "Provisioning", "SecretNotFound", "NotReady", "Halfway")
MESSAGES = ("", "all is well", "cannot reach the server", "waiting for a volume")
FIELDS: dict[str, tuple[Any, ...]] = {
    "phase": ("Running", None, "Creating", "Failed"),
    "ready": (True, None, False),
    "databaseReady": (None, False),
    "readyReplicas": (3, 2, 0),
    "unavailableReplicas": (0, 1),
    "error": (None, "boom"),
    "lastOperation": (None, {"state": "Processing"}, {"state": "Failed"}),
    "observedGeneration": (2,),
    "components": (None, [{"ready": False}], [{"phase": "Failed"}]),
}
SCALES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(POSITIVE, ("True", "Unknown", "False")),
    **dict.fromkeys(NEGATIVE, ("False", "Unknown", "True")),
    **FIELDS,
}
WORDS = st.tuples(st.sampled_from(REASONS), st.sampled_from(MESSAGES))
Point = dict[str, tuple[Any, tuple[str, str]]]


@st.composite
def points(draw: st.DrawFn) -> Point:
    names = draw(st.lists(st.sampled_from(sorted(SCALES)), unique=True, min_size=1, max_size=5))
    return {name: (draw(st.sampled_from(SCALES[name])), draw(WORDS)) for name in names}


def web_app(point: Point, *extra: Any) -> dict[str, Any]:
    listed: list[Any] = [
        {"type": name, "status": value, "reason": reason, "message": message}
        for name, (value, (reason, message)) in point.items()
        if name not in FIELDS
    ]
    fields = {name: value for name, (value, _) in point.items() if name in FIELDS}
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": KIND,
        "metadata": {"name": "web", "generation": 2},
        "spec": {"replicas": 3},
        "status": {"conditions": [*listed, *extra], **fields},
    }


def judged(content: dict[str, Any]) -> Readiness:
    return compute(content, rules=PLAIN)


@given(points(), st.data())
def test_worsening_any_signal_never_improves_the_verdict(point: Point, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(point)))
    value, words = point[name]
    scale = SCALES[name]
    worse = data.draw(st.sampled_from(scale[scale.index(value) :]))
    before, after = judged(web_app(point)), judged(web_app({**point, name: (worse, words)}))
    assert after.state.severity >= before.state.severity


@given(points(), st.sampled_from(FOREIGN), st.sampled_from(("True", "False", "Unknown")), WORDS)
def test_a_condition_that_nobody_knows_never_makes_ready(
    point: Point, name: str, status: str, words: tuple[str, str]
) -> None:
    assert role_of(name, KIND) in ("foreign", "aside")
    entry = {"type": name, "status": status, "reason": words[0], "message": words[1]}
    before, after = judged(web_app(point)), judged(web_app(point, entry))
    assert before.ready or not after.ready
    assert after.state.severity >= before.state.severity


@given(points(), st.sampled_from(POSITIVE), WORDS)
def test_more_good_news_does_not_outweigh_bad_news(
    point: Point, name: str, words: tuple[str, str]
) -> None:
    before = judged(web_app(point))
    entry = {"type": name, "status": "True", "reason": words[0], "message": words[1]}
    if before.state in (State.FAILED, State.PROGRESSING):
        assert judged(web_app(point, entry)).state.severity >= before.state.severity


@given(points())
def test_another_generation_is_never_ready(point: Point) -> None:
    for observed in (1, 3, "1"):
        verdict = judged(web_app({**point, "observedGeneration": (observed, ("", ""))}))
        assert verdict.state is State.PROGRESSING


@given(points(), st.data())
def test_order_changes_nothing(point: Point, data: st.DataObject) -> None:
    names = data.draw(st.permutations(sorted(point)))
    assert judged(web_app({name: point[name] for name in names})) == judged(web_app(point))


@given(points(), st.dictionaries(st.text(alphabet="qxzwv", min_size=3), st.integers() | st.text()))
def test_unknown_fields_change_nothing(point: Point, novel: dict[str, Any]) -> None:
    before = judged(web_app(point))
    content = web_app(point)
    content["status"].update({f"q{key}": value for key, value in novel.items()})
    content["spec"]["novel"] = novel
    content["novel"] = novel
    assert judged(content) == before


# --- mutated objects ------------------------------------------------------------------------

MUTATIONS = 10_000
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 2**70, 1.5, "", "True", "Failed", "3/3", "x" * 5000, [], {}, [[]],
    {"type": "Ready", "status": "True"}, [{"type": 1, "status": []}], [None, 1, "a"],
    {"a": {"b": {}}},
)  # fmt: skip


def mutated(content: Any, chance: random.Random) -> Any:
    """``content`` with one to four changes at random places; also of the wrong types."""
    for _ in range(chance.randint(1, 4)):
        place, key = _place(content, chance)
        if place is None:
            continue
        change = chance.randrange(4)
        if change == 0:
            place[key] = copy.deepcopy(chance.choice(VALUES))
        elif change == 1 and isinstance(place, dict):
            del place[key]
        elif change == 2:
            other, name = _place(content, chance)
            place[key] = copy.deepcopy(place[key] if other is None else other[name])
        elif isinstance(place, dict):
            place[str(chance.choice(("phase", "conditions", "status", "error", "x")))] = place[key]
    return content


def _place(content: Any, chance: random.Random) -> tuple[Any, Any]:
    """A container inside ``content``, by chance, and one of its keys."""
    found: tuple[Any, Any] = (None, None)
    while isinstance(content, dict | list) and content:
        keys = list(content) if isinstance(content, dict) else range(len(content))
        key = chance.choice(list(keys))
        found = (content, key)
        if chance.random() < 0.2:
            break
        content = content[key]
    return found


def test_ten_thousand_mutated_objects_give_a_verdict() -> None:
    chance = random.Random(20260301)
    given_samples = [sample.object for sample in samples()]
    for _ in range(MUTATIONS):
        content = mutated(copy.deepcopy(dict(chance.choice(given_samples))), chance)
        before = copy.deepcopy(content)
        for rules in (None, PLAIN):
            verdict = compute(content, rules=rules)
            assert isinstance(verdict.state, State)
            assert isinstance(verdict.reason, Reason)
            assert isinstance(verdict.turn, Turn)
            assert 0 < len(verdict.message) <= 1024
            assert len(verdict.evidence) <= 8
        assert content == before
