"""Annotations that make pretended containers misbehave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.nodes.script import CRASH, EXIT, UNREADY, ScriptedEnding, read_script

NAMES = ("main", "side")


def test_endings_are_read() -> None:
    annotations = {
        CRASH: "main=137:OOMKilled, side = 1:Error:the database: gone",
        EXIT: "side=0",
        UNREADY: "main , side",
    }
    script = read_script(annotations, containers=NAMES)
    assert script.problems == ()
    assert script.crashes == {
        "main": ScriptedEnding(exit_code=137, reason="OOMKilled"),
        "side": ScriptedEnding(exit_code=1, reason="Error", message="the database: gone"),
    }
    assert script.exits == {"side": ScriptedEnding(exit_code=0, reason="Completed")}
    assert script.unready == {"main", "side"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("other=1", "names container 'other', and the pod has main, side"),
        ("main", "'' is not an exit code"),
        ("main=-1", "'-1' is not an exit code"),
        ("main=256", "exit code 256 is above 255"),
        ("main=1:no reason", "'no reason' is not a reason in CamelCase"),
        ("main=²", "'²' is not an exit code"),
    ],
)
def test_what_makes_no_sense_is_told_and_left_out(entry: str, problem: str) -> None:
    script = read_script({CRASH: f"{entry},side=2"}, containers=NAMES)
    assert list(script.crashes) == ["side"]
    assert len(script.problems) == 1
    assert problem in script.problems[0]
    assert CRASH in script.problems[0]


@pytest.mark.parametrize("annotations", [None, {}, {"example.com/other": "main=1"}])
def test_without_our_annotations_there_is_no_script(annotations: dict[str, str] | None) -> None:
    script = read_script(annotations, containers=NAMES)
    assert (script.crashes, script.exits, script.unready, script.problems) == ({}, {}, set(), ())


@given(st.dictionaries(st.sampled_from([CRASH, EXIT, UNREADY]), st.text(max_size=40)))
def test_any_text_is_read_or_told(annotations: dict[str, str]) -> None:
    script = read_script(annotations, containers=NAMES)
    for ending in [*script.crashes.values(), *script.exits.values()]:
        assert 0 <= ending.exit_code <= 255
    assert {*script.crashes, *script.exits, *script.unready} <= set(NAMES)
