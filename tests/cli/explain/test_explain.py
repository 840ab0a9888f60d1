"""`konstat explain` over files, as a user calls it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from konstat.cli.main import konstat

POD_WAITS = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}


def _object(api_version: str, kind: str, name: str, *, owner: str = "", **parts: Any) -> Any:
    owners = [{"uid": owner}] if owner else []
    metadata = {
        "name": name,
        "namespace": "demo",
        "uid": name,
        "generation": 1,
        "ownerReferences": owners,
        "annotations": {"deployment.kubernetes.io/revision": "1"},
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def _pod(name: str) -> Any:
    return _object(
        "v1",
        "Pod",
        name,
        owner="set",
        spec={"containers": [{"name": "app", "image": "nginx:nope"}]},
        status={
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [{"name": "app", "image": "nginx:nope", "state": POD_WAITS}],
        },
    )


def _broken() -> list[Any]:
    status = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}
    return [
        _object("apps/v1", "Deployment", "web", spec={"replicas": 2}, status=status),
        _object(
            "apps/v1",
            "ReplicaSet",
            "set",
            owner="web",
            spec={"replicas": 2},
            status={"observedGeneration": 1, "replicas": 2},
        ),
        _pod("a"),
        _pod("b"),
    ]


CONFIG = _object("v1", "ConfigMap", "settings")
UNKNOWN = _object("example.com/v1", "Widget", "new")

Explain = Callable[..., Result]


@pytest.fixture
def explain(tmp_path: Path) -> Explain:
    """Runs `konstat explain` on a file of objects."""

    def run(objects: list[Any], *arguments: str) -> Result:
        file = tmp_path / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        return CliRunner().invoke(
            konstat, ["explain", *arguments, "-f", str(file)], prog_name="konstat"
        )

    return run


def test_the_verdict_comes_first_then_cause_evidence_and_where_to_look(explain: Explain) -> None:
    result = explain(_broken())
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "x Deployment demo/web is Failed (ImagePullFailed): the user must act"
    because = lines.index("because")
    assert lines[because + 1] == "  `- x ReplicaSet set  Failed  ImagePullFailed"
    assert lines[because + 2] == "     `- x Pod a and 1 more  Failed  ImagePullFailed"
    assert any(
        'Pod a: status.containerStatuses[name="app"].state.waiting.reason = ImagePullBackOff'
        in line
        for line in lines
    )
    assert lines[-1].strip() == "kubectl describe pod a -n demo"


def test_the_example_of_the_documentation_is_what_comes_out(explain: Explain) -> None:
    text = json.dumps(_broken()).replace('"set"', '"web-5d4"')
    for name in ("a", "b"):
        text = text.replace(f'"{name}"', f'"web-5d4-{name}"')
    page = (Path(__file__).resolve().parents[3] / "docs/command-line.md").read_text()
    [shown] = re.findall(r"^```text\n(x Deployment.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert explain(json.loads(text)).stdout == shown


@pytest.mark.parametrize(
    ("objects", "status"),
    [([CONFIG], 0), ([CONFIG, UNKNOWN], 2), ([CONFIG, UNKNOWN, *_broken()], 1)],
    ids=["all ready", "nothing decides", "one not ready"],
)
def test_the_exit_status_tells_the_worst(explain: Explain, objects, status: int) -> None:
    assert explain(objects).exit_code == status


def test_suspended_is_not_ready(explain: Explain) -> None:
    job = _object("batch/v1", "CronJob", "nightly", spec={"suspend": True}, status={})
    result = explain([job])
    assert result.exit_code == 1
    assert "is Suspended" in result.stdout


def test_the_json_has_the_chain_of_causes(explain: Explain) -> None:
    result = explain(_broken(), "-o", "json")
    document = json.loads(result.stdout)
    assert document["format"] == 1
    web = document["objects"][0]
    assert (web["name"], web["state"], web["reason"], web["turn"]) == (
        "web",
        "Failed",
        "ImagePullFailed",
        "user",
    )
    pod = web["causes"][0]["causes"][0]
    assert (pod["kind"], pod["name"], pod["alike"]) == ("Pod", "a", 1)
    assert web["next"] == ["kubectl describe pod a -n demo"]
    assert web["evidence"][0]["path"].startswith("Pod a: ")


def test_one_object_of_a_file_may_be_named(explain: Explain) -> None:
    for words in (["rs", "set"], ["replicasets/set"]):
        result = explain(_broken(), *words)
        assert result.stdout.startswith("x ReplicaSet demo/set is Failed")
    result = explain(_broken(), "deploy", "other")
    assert result.exit_code == 3
    assert "none of the 4 objects is a deploy called 'other'" in result.stderr


def test_standard_input_is_read() -> None:
    for words in (["-"], ["configmap", "-"], ["-f", "-"]):
        result = CliRunner().invoke(
            konstat, ["explain", *words], input=json.dumps(CONFIG), prog_name="konstat"
        )
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("+ ConfigMap demo/settings is Ready")


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain"],
        ["explain", "--bad"],
        ["explain", "-f", "absent.yaml"],
        ["explain", "-f", "absent.yaml", "-n", "demo"],
        ["explain", "pods", "--kubeconfig", "absent"],
    ],
)
def test_errors_exit_with_3(folder: Path, run_konstat, arguments: list[str]) -> None:
    result = run_konstat(*arguments)
    assert result.exit_code == 3
    assert "Error: " in result.stderr
    assert result.stdout == ""


def test_escape_sequences_of_a_file_do_not_reach_the_terminal(explain: Explain) -> None:
    widget = _object("example.com/v1", "Widget", "x\x1b[31m", status={"phase": "\x1b]0;owned\x07"})
    result = explain([widget])
    assert "\x1b" not in result.output
