from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from konstat.testing.rig_audit import read_audit_log


def line(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "x",
        "stage": "ResponseComplete",
        "requestURI": "/apis/apps/v1/namespaces/a/deployments/b/status?fieldManager=k",
        "verb": "patch",
        "user": {"username": "alice", "groups": ["system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "konstat/0.1",
        "objectRef": {
            "resource": "deployments",
            "namespace": "a",
            "name": "b",
            "apiGroup": "apps",
            "apiVersion": "v1",
            "subresource": "status",
        },
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-11-30T12:00:00.000001Z",
        "stageTimestamp": "2026-11-30T12:00:00.002Z",
        **changes,
    }


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    return path


def test_an_event_has_what_tests_ask_for(tmp_path: Path) -> None:
    (event,) = read_audit_log(write(tmp_path / "log", line()))
    assert event.verb == "patch"
    assert (event.group, event.resource, event.subresource) == ("apps", "deployments", "status")
    assert (event.namespace, event.name) == ("a", "b")
    assert (event.user, event.user_agent, event.code) == ("alice", "konstat/0.1", 200)
    assert event.request_uri.endswith("?fieldManager=k")
    assert event.stage == "ResponseComplete"
    assert event.time == datetime(2026, 11, 30, 12, 0, 0, 1, tzinfo=UTC)


def test_a_request_without_object_and_answer(tmp_path: Path) -> None:
    bare = line(objectRef=None, responseStatus=None, stage="Panic")
    (event,) = read_audit_log(write(tmp_path / "log", bare))
    assert (event.resource, event.name, event.code) == ("", "", 0)


def test_an_impersonated_user_is_the_one_that_acted(tmp_path: Path) -> None:
    acting = line(user={"username": "admin"}, impersonatedUser={"username": "bob"})
    (event,) = read_audit_log(write(tmp_path / "log", acting))
    assert event.user == "bob"


@pytest.mark.parametrize(
    ("user", "own"),
    [
        ("system:apiserver", True),
        ("system:kube-scheduler", True),
        ("system:kube-controller-manager", True),
        ("system:serviceaccount:kube-system:deployment-controller", True),
        ("system:serviceaccount:demo:operator", False),
        ("admin", False),
    ],
)
def test_requests_of_the_control_plane_are_told_apart(
    tmp_path: Path, user: str, *, own: bool
) -> None:
    (event,) = read_audit_log(write(tmp_path / "log", line(user={"username": user})))
    assert event.of_control_plane is own


def test_only_the_users_asked_for(tmp_path: Path) -> None:
    log = write(tmp_path / "log", line(), line(user={"username": "bob"}))
    assert [event.user for event in read_audit_log(log, users=["bob"])] == ["bob"]


def test_a_log_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert list(read_audit_log(tmp_path / "log")) == []


@given(st.integers(min_value=0, max_value=2000))
@settings(max_examples=50, deadline=None)
def test_a_line_that_is_still_being_written_is_left(cut: int) -> None:
    whole = msgspec.json.encode(line()) + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(whole + whole[: min(cut, len(whole) - 1)])
        assert len(list(read_audit_log(log))) == 1


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_garbage_is_refused_and_nothing_else_happens(garbage: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(garbage)
        if b"\n" not in garbage:
            assert list(read_audit_log(log)) == []
        else:
            with pytest.raises(msgspec.DecodeError):
                list(read_audit_log(log))
