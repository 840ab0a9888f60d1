from __future__ import annotations

import msgspec
import pytest

from konstat.cli.explain.hints import next_steps
from konstat.cli.explain.story import missing_node
from konstat.cli.status.tree import TreeNode
from konstat.readiness import Reason, State


def _node(kind: str, reason: Reason, *, api_version: str = "v1", name: str = "x") -> TreeNode:
    node = missing_node(api_version, kind=kind, namespace="demo", name=name)
    return msgspec.structs.replace(node, state=State.FAILED, reason=str(reason))


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_every_reason_that_is_not_good_leads_to_a_place_to_look_at(reason: Reason) -> None:
    assert next_steps([_node("Pod", reason)])


def test_a_crash_leads_to_the_log_before_it() -> None:
    steps = next_steps([_node("Pod", Reason.CRASH_LOOPING)])
    assert steps[0] == "kubectl logs x --all-containers --previous -n demo"


def test_a_stuck_deletion_leads_to_the_finalizers() -> None:
    for reason in (Reason.DELETING, Reason.DELETION_STUCK):
        assert next_steps([_node("Pod", reason)]) == (
            "kubectl get pod x -n demo -o jsonpath='{.metadata.finalizers}'",
        )


def test_custom_kinds_are_named_with_their_group() -> None:
    node = _node("Widget", Reason.STALLED, api_version="example.com/v1")
    assert next_steps([node]) == ("kubectl describe widget.example.com x -n demo",)


def test_a_silent_controller_is_asked_for() -> None:
    node = _node("Widget", Reason.STATUS_NOT_REPORTED, api_version="example.com/v1")
    assert next_steps([node])[-1].endswith("responsible for Widget: is it running?")


def test_where_nothing_decides_a_rule_can_be_given() -> None:
    node = _node("Widget", Reason.NO_RULE, api_version="example.com/v1")
    assert next_steps([node])[-1].endswith("--rules FILE takes a rule")


def test_names_of_files_cannot_smuggle_commands_in() -> None:
    assert next_steps([_node("Pod", Reason.STALLED, name="x; rm -rf /")]) == (
        "kubectl describe pod 'x; rm -rf /' -n demo",
    )


def test_what_is_ready_needs_no_look() -> None:
    ready = msgspec.structs.replace(_node("Pod", Reason.AVAILABLE), state=State.READY)
    assert next_steps([ready]) == ()
