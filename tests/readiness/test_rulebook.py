"""Rules as data and as functions: their files, which one counts, and what they can say."""

from __future__ import annotations

import contextlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat import readiness
from konstat.errors import RuleError
from konstat.readiness import Readiness, Reason, Rules, State, Subject, Turn, compute
from konstat.readiness.kindrule import KindRule, merged, read_rules
from konstat.readiness.rulebook import DEFAULT

FOLDER = resources.files("konstat.readiness") / "rules"
BUILT_IN = sorted(entry.name for entry in FOLDER.iterdir())


def widget(status: Any = None, *, group: str = "demo.example.com", **more: Any) -> dict[str, Any]:
    metadata = {"name": "w", "generation": 2, **more.pop("metadata", {})}
    head = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": metadata}
    return {**head, "status": status, **more} if status is not None else {**head, **more}


def told(text: str, group: str = "demo.example.com") -> Rules:
    """Rules of one file, whose kinds are given as YAML."""
    rules = Rules(builtin=False)
    indented = "\n".join("  " + line for line in text.splitlines())
    rules.add(read_rules(f"group: {group}\nkinds:\n{indented}\n", source="widgets.yaml"))
    return rules


def seen(verdict: Readiness) -> tuple[State, str]:
    return verdict.state, verdict.reason


# --- the files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_file_is_valid_and_names_its_documentation(name: str) -> None:
    assert name.endswith(".yaml")
    file = read_rules((FOLDER / name).read_text(encoding="utf-8"), source=name)
    assert f"{file.group}.yaml" == name
    assert file.kinds
    assert all((rule.docs or file.docs).startswith("https://") for rule in file.kinds.values())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("group: [", "w.yaml is not usable YAML"),
        ("- a", "w.yaml: expected a mapping, got a list"),
        ("kinds: {}", "w.yaml: it lacks the field `group`"),
        (
            "group: g.x\nkind: {}",
            "w.yaml: there is no field `kind`: choose from group, kinds, docs",
        ),
        (
            "group: g.x\nkinds: {A: {}, W: {states: x}}",
            "w.yaml: kinds.W: there is no field `states`: choose from docs, status, work,",
        ),
        (
            "group: g.x\nkinds: {W: {status: maybe}}",
            "kinds.W.status: it cannot be 'maybe': choose from expected, optional, none",
        ),
        (
            "group: g.x\nkinds: {W: {conditions: {Done: work, Ready: good}}}",
            "kinds.W.conditions.Ready: it cannot be 'good': choose from summary, supporting,",
        ),
        (
            "group: g.x\nkinds: {W: {conditions: {Ready: {role: good}}}}",
            "kinds.W.conditions.Ready.role: it cannot be 'good': choose from summary,",
        ),
        (
            "group: g.x\nkinds: {W.sub.g.x: {conditions: {Ready: {no: Failed}}}}",
            "kinds[W.sub.g.x].conditions.Ready: there is no field `no`: choose from role, true,",
        ),
        (
            "group: g.x\nkinds: {W: {phases: {status.mood: {Sunny: Redy}}}}",
            "kinds.W.phases[status.mood].Sunny: it cannot be 'Redy': choose from Ready, Completed,",
        ),
        (
            "group: g.x\nkinds: {W: {reasons: {NoWax: {state: Failed, turn: me}}}}",
            "kinds.W.reasons.NoWax.turn: it cannot be 'me': choose from user, owner, nobody",
        ),
        (
            "group: g.x\nkinds: {W: {reasons: {NoWax: {text: x}}}}",
            "kinds.W.reasons.NoWax: there is no field `text`: choose from state, turn, say",
        ),
        (
            "group: g.x\nkinds: {W: {when: [{if: [{paht: a}], state: Ready}]}}",
            "kinds.W.when[0].if[0]: there is no field `paht`: choose from path, exists, equals,",
        ),
        (
            "group: g.x\nkinds: {W: {when: [{if: [], state: Ready}]}}",
            "kinds.W.when[0].if: expected a list that is not empty",
        ),
        (
            "group: g.x\nkinds: {W: {when: [{iff: [], state: Ready}]}}",
            "kinds.W.when[0]: there is no field `iff`: choose from if, state, say, turn",
        ),
        (
            "group: g.x\nkinds: {W: {suspended: [{path: a, equals: [1]}]}}",
            "kinds.W.suspended[0].equals: expected true or false or a number or text or nothing",
        ),
        (
            "group: g.x\nkinds: {W: {counts: [{hav: a}]}}",
            "kinds.W.counts[0]: there is no field `hav`: choose from have, wanted,",
        ),
        ("group: g.x\nkinds: {W: {ignore: [a..b]}}", "kinds.W: the path 'a..b' has an empty step"),
        ("group: g.x\nkinds: {W: {errors: ['a[b']}}", "bracket that is not closed"),
        ("group: g.x\nkinds: {W: {phases: {'a.': {}}}}", "ends with a dot"),
    ],
)
def test_a_faulty_file_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        read_rules(text, source="w.yaml")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


WORDS = st.sampled_from(
    ("group", "kinds", "W", "a.b", "...", "status", "conditions", "phases", "when", "if", "turn")
)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(CONTENT)
def test_any_content_is_read_or_refused(kinds: Any) -> None:
    with contextlib.suppress(RuleError):
        read_rules(json.dumps({"group": "g.x", "kinds": {"W": kinds}}), source="w.yaml")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot be read"):
        Rules().load(tmp_path / "none.yaml")
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(b"\xff")
    with pytest.raises(RuleError, match="not text in UTF-8"):
        Rules().load(odd)


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(RuleError, match="it has more than"):
        Rules().load("/dev/zero")


def test_a_faulty_file_adds_nothing(tmp_path: Path) -> None:
    rules = Rules(builtin=False)
    file = tmp_path / "w.yaml"
    file.write_text("group: demo.example.com\nkinds: {Widget: {status: none}, Gadget: {no: 1}}\n")
    with pytest.raises(RuleError):
        rules.load(file)
    assert not compute(widget(), rules=rules).ready


# --- which rule counts ----------------------------------------------------------------------


def test_a_file_serves_the_groups_below_its_own() -> None:
    rules = told("Widget: {status: none}\nGadget.sub.demo.example.com: {status: none}")
    assert compute(widget(group="a.b.demo.example.com"), rules=rules).ready
    assert not compute(widget(group="example.com"), rules=rules).ready
    assert not compute(widget(group="xdemo.example.com"), rules=rules).ready
    gadget = {**widget(), "kind": "Gadget"}
    assert not compute(gadget, rules=rules).ready
    assert compute({**gadget, "apiVersion": "sub.demo.example.com/v1"}, rules=rules).ready


def test_a_users_rule_stands_before_a_built_in_one() -> None:
    certificate = {**widget(group="cert-manager.io"), "kind": "Certificate"}
    assert compute(certificate).reason is Reason.STATUS_AWAITED
    own = told("Certificate: {status: none}", group="cert-manager.io")
    assert compute(certificate, rules=own).ready
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    assert not compute(deployment).ready
    assert compute(deployment, rules=told("Deployment: {status: none}", group="apps")).ready


def test_built_in_files_can_be_left_out() -> None:
    certificate = {**widget(group="cert-manager.io"), "kind": "Certificate"}
    assert compute(certificate, rules=Rules(without=["cert-manager.io"])).state is State.UNKNOWN
    assert compute(certificate, rules=Rules(builtin=False)).state is State.UNKNOWN


def test_the_rule_of_all_kinds_is_completed_by_that_of_one() -> None:
    text = """
"*":
  status: expected
  conditions: {Shiny: summary, Dull: bad}
Widget:
  conditions: {Dull: ignored}
  required: [Shiny]
"""
    base, over = KindRule(status="expected", required=["A"]), KindRule(required=["B"])
    assert merged(base, over).required == ["B"]
    assert merged(base, KindRule()).required == ["A"]
    assert merged(base, KindRule(required=[])).required == []
    rules = Rules(builtin=False)
    rules.add(read_rules(f"group: g.example\nkinds:\n{_indented(text)}", source="w"))
    gadget = {**widget(group="g.example"), "kind": "Gadget"}
    assert compute(gadget, rules=rules).reason is Reason.STATUS_AWAITED


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


@pytest.fixture
def registry() -> Rules:
    return Rules()


def test_a_function_judges_or_leaves_it_to_the_reading(registry: Rules) -> None:
    @registry.rule("demo.example.com", "Widget")
    def judge(widget: Subject) -> Readiness | None:
        if widget.spec.get("easy"):
            return widget.verdict(State.READY, Reason.AVAILABLE, "it is easy")
        return None

    assert seen(compute(widget(spec={"easy": True}), rules=registry)) == (
        State.READY,
        Reason.AVAILABLE,
    )
    assert compute(widget(), rules=registry).reason is Reason.STATUS_NOT_REPORTED
    leaving = widget(spec={"easy": True}, metadata={"deletionTimestamp": "2026-03-01T12:00:00Z"})
    assert compute(leaving, rules=registry).state is State.TERMINATING


def test_a_function_that_raises_or_answers_nonsense_is_named(registry: Rules) -> None:
    @registry.rule("demo.example.com", "Widget")
    def judge(widget: Subject) -> Any:
        return widget.spec["answer"]

    with pytest.raises(RuleError, match=r"judge of Widget raised KeyError: 'answer', for 'w'"):
        compute(widget(metadata={"name": "w"}), rules=registry)
    with pytest.raises(RuleError, match="judge of Widget answered with bool for 'w': return"):
        compute(widget(metadata={"name": "w"}, spec={"answer": True}), rules=registry)


def test_a_function_that_would_wait_is_refused(registry: Rules) -> None:
    async def judge(widget: Subject) -> Any:
        return None

    with pytest.raises(RuleError, match=r"judge of Widget is `async def`: .* write `def`"):
        registry.rule("demo.example.com", "Widget")(judge)  # type: ignore[arg-type]


def test_the_module_registers_in_the_default_rules(tmp_path: Path) -> None:
    assert readiness.rule == DEFAULT.rule
    file = tmp_path / "w.yaml"
    file.write_text("group: loaded.example.com\nkinds: {Widget: {status: none}}\n")
    readiness.load_rules(file)
    assert compute(widget(group="loaded.example.com")).reason is Reason.EXISTS


# --- what a rule can say --------------------------------------------------------------------


def conditions(**values: str) -> dict[str, Any]:
    return {"conditions": [{"type": name, "status": value} for name, value in values.items()]}


def test_status_expected_and_none() -> None:
    expected, none = told("Widget: {status: expected}"), told("Widget: {status: none}")
    assert seen(compute(widget(), rules=expected)) == (State.PROGRESSING, Reason.STATUS_AWAITED)
    assert seen(compute(widget(), rules=none)) == (State.READY, Reason.EXISTS)
    # and yet what the status says against it counts
    failed = widget({"phase": "Failed"})
    assert compute(failed, rules=none).state is State.FAILED
    assert compute(widget({"note": 1}), rules=none).reason is Reason.EXISTS


def test_roles_of_conditions() -> None:
    rules = told(
        """
Widget:
  conditions:
    Shiny: summary
    Dusty: bad
    Polishing: ignored
    Turned: {role: supporting, unknown: Progressing, false: Failed}
"""
    )
    assert compute(widget(conditions(Shiny="True", Polishing="True")), rules=rules).ready
    assert not compute(widget(conditions(Polishing="False")), rules=rules).ready
    for more, state in (
        ({"Dusty": "True"}, State.FAILED),
        ({"Turned": "False"}, State.FAILED),
        ({"Turned": "Unknown"}, State.PROGRESSING),
    ):
        assert compute(widget(conditions(Shiny="True", **more)), rules=rules).state is state


def test_required_conditions_are_waited_for() -> None:
    rules = told("Widget: {required: [Polished]}")
    verdict = compute(widget(conditions(Ready="True")), rules=rules)
    assert seen(verdict) == (State.PROGRESSING, Reason.STATUS_AWAITED)
    assert "Polished" in verdict.message
    assert compute(widget(conditions(Ready="True", Polished="True")), rules=rules).ready


def test_reasons_mean_what_the_rule_says() -> None:
    rules = told(
        """
Widget:
  reasons:
    Gloomy: {state: Failed, turn: user, say: it needs light}
    Ready/Feigned: Progressing
"""
    )

    def judged(status: str, reason: str) -> Readiness:
        entry = {"type": "Ready", "status": status, "reason": reason}
        return compute(widget({"conditions": [entry]}), rules=rules)

    gloomy = judged("False", "Gloomy")
    assert (gloomy.state, gloomy.turn) == (State.FAILED, Turn.USER)
    assert gloomy.message.startswith("it needs light")
    assert judged("True", "Gloomy").ready
    assert judged("True", "Feigned").state is State.PROGRESSING


def test_phases_mean_what_the_rule_says_and_others_what_the_words_say() -> None:
    rules = told("Widget: {phases: {'status.parts[].mood': {Sunny: Ready, Grey: Ignored}}}")

    def judged(*moods: str) -> Readiness:
        return compute(widget({"parts": [{"mood": mood} for mood in moods]}), rules=rules)

    assert judged("Sunny", "Grey").ready
    assert judged("Sunny", "Failed").state is State.FAILED
    assert judged("Sunny", "Failed").evidence[0].path == "status.parts[1].mood"
    assert judged("Grey").state is State.UNKNOWN


def test_counts_generations_errors_and_ignored_paths() -> None:
    rules = told(
        """
Widget:
  counts: [{have: status.lit, wanted: spec.lamps, absent: 0, default: 1}]
  generation: [status.seen.generation]
  errors: [status.trouble]
  ignore: [status.old]
"""
    )
    good = {**conditions(Ready="True"), "lit": 1, "seen": {"generation": 2}}
    assert compute(widget(good), rules=rules).ready
    dark = {**good, "lit": None}
    assert compute(widget(dark), rules=rules).reason is Reason.COUNTS_NOT_MET
    assert compute(widget(good, spec={"lamps": 2}), rules=rules).reason is Reason.COUNTS_NOT_MET
    stale = {**good, "seen": {"generation": 1}}
    assert compute(widget(stale), rules=rules).reason is Reason.GENERATION_NOT_OBSERVED
    assert compute(widget({**good, "trouble": "no wire"}), rules=rules).state is State.FAILED
    assert compute(widget({**good, "old": {"phase": "Failed"}}), rules=rules).ready


def test_a_kind_that_observes_is_not_ready_without_a_generation() -> None:
    rules = told("Widget: {observes: true}")
    assert compute(widget(conditions(Ready="True")), rules=rules).state is State.PROGRESSING


@pytest.mark.parametrize(
    ("test", "status", "holds"),
    [
        ("exists: true", {"a": 1}, True),
        ("exists: true", {"a": ""}, False),
        ("exists: false", {}, True),
        ("equals: true", {"a": True}, True),
        ("equals: true", {"a": 1}, False),
        ("equals: null", {}, True),
        ("differs: x", {"a": "x"}, False),
        ("differs: x", {"a": "y"}, True),
        ("in: [x, y]", {"a": "y"}, True),
        ("in: [x, y]", {"a": "z"}, False),
        ("contains: ell", {"a": "hello"}, True),
        ("contains: x", {"a": ["x"]}, True),
        ("contains: x", {"a": 1}, False),
        ("less_than: status.b", {"a": 1, "b": 2}, True),
        ("less_than: status.b", {"a": 2, "b": 2}, False),
        ("less_than: status.b", {"a": "1", "b": 2}, False),
        ("differs_from: status.b", {"a": "1", "b": "2"}, True),
        ("differs_from: status.b", {"a": "1", "b": "1"}, False),
    ],
)
def test_the_questions_of_when(test: str, status: dict[str, Any], holds: bool) -> None:
    rules = told(f"Widget: {{when: [{{if: [{{path: status.a, {test}}}], state: Failed}}]}}")
    assert (compute(widget(status), rules=rules).state is State.FAILED) is holds


def test_when_needs_all_and_says_what_it_is_told() -> None:
    rules = told(
        """
Widget:
  when:
    - if: [{path: status.lamp, equals: 'on'}, {path: 'status.parts[].kind', equals: bulb}]
      state: Ready
    - if: [{path: status.dust, exists: true}]
      state: Failed
      say: it is dusty
      turn: user
"""
    )
    lit = {"lamp": "on", "parts": [{"kind": "wire"}, {"kind": "bulb"}]}
    verdict = compute(widget(lit), rules=rules)
    assert verdict.ready
    assert verdict.message.startswith("status.parts[1].kind is bulb")
    dusty = compute(widget({**lit, "dust": 1}), rules=rules)
    assert (dusty.state, dusty.turn) == (State.FAILED, Turn.USER)
    assert dusty.message.startswith("it is dusty")
    assert compute(widget({"lamp": "on"}), rules=rules).state is State.UNKNOWN


def test_suspended_by_a_tested_path() -> None:
    rules = told(
        "Widget: {suspended: [{path: 'metadata.annotations[w.example/rest]', exists: true}]}"
    )
    resting = widget({"phase": "Failed"}, metadata={"annotations": {"w.example/rest": "now"}})
    verdict = compute(resting, rules=rules)
    assert seen(verdict) == (State.SUSPENDED, Reason.SUSPENDED)
    assert "before that" in verdict.message


def test_work_says_whether_running_is_ready() -> None:
    running = widget({"phase": "Running"})
    assert compute(running, rules=Rules(builtin=False)).ready
    assert seen(compute(running, rules=told("Widget: {work: true}"))) == (
        State.PROGRESSING,
        Reason.RUNNING,
    )
