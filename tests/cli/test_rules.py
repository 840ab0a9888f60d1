"""``--rules FILE`` and KONSTAT_RULES: a user's rules in the commands that judge objects."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from konstat.readiness.rulebook import DEFAULT

DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs/readiness.md").read_text()
OBJECTS = """
    apiVersion: rules.example.com/v1
    kind: Widget
    metadata: {name: a, namespace: demo}
    status: {mood: Sunny}
    ---
    apiVersion: rules.example.com/v1
    kind: Widget
    metadata: {name: b, namespace: demo}
    spec: {size: 0}
"""
DATA = """
    group: rules.example.com
    kinds:
      Widget:
        status: expected
        phases: {status.mood: {Sunny: Ready}}
"""
FUNCTION = """
    from konstat import readiness
    from konstat.readiness import Reason, State

    @readiness.rule("rules.example.com", "Widget")
    def widget(subject):
        if subject.spec.get("size") == 0:
            return subject.verdict(State.READY, Reason.SCALED_TO_ZERO, "no widget is wanted")
        return None
"""


@pytest.fixture(autouse=True)
def files(write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a user; what is added to the rules of this Python is forgotten afterwards."""
    write("objects.yaml", OBJECTS)
    write("widgets.yaml", DATA)
    write("widget_rules.py", FUNCTION)
    for table in ("_functions", "_data"):
        monkeypatch.setattr(DEFAULT, table, dict(getattr(DEFAULT, table)))
    DEFAULT.rule("elsewhere.example.com", "Nothing")(lambda subject: None)  # forgets what was found
    monkeypatch.delenv("KONSTAT_RULES", raising=False)


def headlines(run_konstat, *options: str) -> list[str]:
    result = run_konstat("explain", "-f", "objects.yaml", *options)
    assert not result.stderr
    lines = [line for line in result.stdout.splitlines() if line[2:].startswith("Widget ")]
    return [line.partition(" is ")[2].partition(")")[0] + ")" for line in lines]


def test_without_rules_nothing_decides(run_konstat) -> None:
    assert headlines(run_konstat) == ["Unknown (NoRule)", "Unknown (StatusNotReported)"]


def test_rules_as_data(run_konstat) -> None:
    found = headlines(run_konstat, "--rules", "widgets.yaml")
    assert found == ["Ready (ConditionsMet)", "Progressing (StatusAwaited)"]


def test_rules_as_data_and_as_a_function(run_konstat) -> None:
    found = headlines(run_konstat, "--rules", "widgets.yaml", "--rules", "widget_rules.py")
    assert found == ["Ready (ConditionsMet)", "Ready (ScaledToZero)"]


def test_rules_from_the_environment(run_konstat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONSTAT_RULES", os.pathsep.join(["widget_rules.py", "widgets.yaml"]))
    assert headlines(run_konstat) == ["Ready (ConditionsMet)", "Ready (ScaledToZero)"]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("none.yaml", "the rules in none.yaml cannot be read: no such file or directory"),
        ("none.py", "none.py does not exist"),
        ("", "it is empty: name a file"),
        ("empty.py", "empty.py adds no rule: decorate a function with @readiness.rule"),
        ("raises.py", "raises.py, line 1: ZeroDivisionError"),
        ("faulty.yaml", "faulty.yaml: kinds.Widget.status: it cannot be 'maybe': choose from"),
        ("faulty.py", "the rule widget of Widget raised KeyError: 'size', for 'a'"),
    ],
)
def test_mistakes_are_told_in_words(run_konstat, write, file: str, says: str) -> None:
    write("empty.py", "x = 1\n")
    write("raises.py", "1 / 0\n")
    write("faulty.yaml", DATA.replace("expected", "maybe"))
    write("faulty.py", FUNCTION.replace('.get("size")', '["size"]'))
    result = run_konstat("explain", "-f", "objects.yaml", "--rules", file)
    assert (result.exit_code, result.stdout) == (3, "")
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("command", "status"), [("status", 2), ("explain", 3), ("wait", 3)])
def test_every_command_that_judges_takes_them(run_konstat, command: str, status: int) -> None:
    result = run_konstat(command, "widget/a", "--rules", "none.yaml")
    assert result.exit_code == status
    assert "the rules in none.yaml cannot be read" in result.stderr


def test_there_may_not_be_any_number(run_konstat, folder: Path) -> None:
    many = [option for number in range(101) for option in ("--rules", f"{number}.yaml")]
    result = run_konstat("explain", "-f", "objects.yaml", *many)
    assert result.exit_code == 3
    assert "101 files are given, and at most 100 are taken" in result.stderr


def test_the_example_of_the_documentation(run_konstat, write) -> None:
    page = DOCUMENTED.partition("## Rules of your own")[2]

    def shown(language: str) -> str:
        return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)[0]

    write("widgets.yaml", shown("yaml"))
    write("widget_rules.py", shown("python"))
    polished = '{type: Polished, status: "False", reason: NoWax, message: the jar is empty}'
    head = "apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {name: blue, namespace: demo}"
    write("widget.yaml", f"{head}\nstatus: {{conditions: [{polished}]}}\n")
    command, _, output = shown("console").partition("\n")
    result = run_konstat(*command.removeprefix("$ konstat ").split())
    assert result.stdout == output
    write("widget.yaml", f"{head}\nspec: {{size: 0}}\n")
    result = run_konstat("explain", "-f", "widget.yaml", "--rules", "widget_rules.py")
    assert "is Ready (ScaledToZero)" in result.stdout


def test_the_first_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = dict(re.findall(r"^```(python|text)\n(.*?)^```$", DOCUMENTED, re.M | re.S)[:2])
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "generation": 3},
        "status": {"observedGeneration": 2},
    }
    exec(blocks["python"], {"deployment": deployment})
    assert capsys.readouterr().out == blocks["text"]
