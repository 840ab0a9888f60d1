"""The small readers: JSON paths, selectors, protobuf, Accept headers, options. Each is fuzzed."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.embedded import negotiate, protobuf
from konstat.embedded.crds import version_priority
from konstat.embedded.jsonpath import PathError, compile_path
from konstat.embedded.protobuf import ProtobufError
from konstat.embedded.routes import Query
from konstat.embedded.selectors import read_labels
from konstat.embedded.status_errors import StatusError, quoted
from konstat.embedded.structural.gotime import go_duration_problem, parse_go_duration
from konstat.embedded.table import custom_columns

OBJECT: dict[str, Any] = {
    "spec": {"size": 1, "list": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]},
    "metadata": {"annotations": {"a.b/c": "x"}},
}


@contextlib.contextmanager
def refused_with(code: int) -> Iterator[None]:
    """What is in the block succeeds or is refused with one code."""
    caught: StatusError | None = None
    try:
        yield
    except StatusError as error:
        caught = error
    assert caught is None or caught.code == code


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [1]),
        ("{.spec.size}", [1]),
        (".spec.absent", []),
        (".spec.list[0].n", ["a"]),
        (".spec.list[-1].n", ["b"]),
        (".spec.list[5].n", []),
        (".spec.list[*].v", [1, 2]),
        ('.spec.list[?(@.n=="b")].v', [2]),
        (".spec.list[?(@.v==1)].n", ["a"]),
        (".spec.list[?(@.n!='b')].v", [1]),
        (r".metadata.annotations.a\.b/c", ["x"]),
        (".metadata.annotations['a.b/c']", ["x"]),
    ],
)
def test_json_paths(path: str, found: list[Any]) -> None:
    assert compile_path(path).find(OBJECT) == found


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    with contextlib.suppress(PathError):
        compile_path(text).find(OBJECT)


@given(st.text(st.sampled_from("ab=!,() <>innot1-"), max_size=20))
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    with refused_with(400):
        assert all(isinstance(one.matches({"a": "1"}), bool) for one in read_labels(text))


def _field(number: int, data: bytes | int) -> bytes:
    if isinstance(data, int):
        return bytes((number << 3, data))
    return bytes((number << 3 | 2, len(data))) + data


def _envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    about = _field(1, api_version.encode()) + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, about) + _field(2, raw)


def test_protobuf_bodies() -> None:
    metadata = _field(1, b"name") + _field(8, _field(1, 5))
    entry = _field(1, b"k") + _field(2, b"\x00\x01")
    raw = _field(1, metadata) + _field(2, entry) + _field(3, b"Opaque")
    made = protobuf.decode(_envelope("v1", "Secret", raw))
    assert made == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "name", "creationTimestamp": "1970-01-01T00:00:05Z"},
        "data": {"k": base64.b64encode(b"\x00\x01").decode()},
        "type": "Opaque",
    }


def test_protobuf_writes_some_members_inline() -> None:
    empty_dir = _field(2, _field(2, b""))
    volume = _field(1, b"v") + empty_dir
    raw = _field(2, _field(1, volume))
    made = protobuf.decode(_envelope("v1", "Pod", raw))
    assert made["spec"] == {"volumes": [{"name": "v", "emptyDir": {}}]}


def test_protobuf_of_unknown_kinds_is_refused() -> None:
    with pytest.raises(ProtobufError, match="cannot be read from protobuf"):
        protobuf.decode(_envelope("example.com/v1", "Widget", b""))


@given(st.binary(max_size=60), st.sampled_from(["Pod", "Secret", "ConfigMap", "Node"]))
def test_any_bytes_are_a_message_or_refused(data: bytes, kind: str) -> None:
    for body in (data, _envelope("v1", kind, data[:100])):
        with contextlib.suppress(ProtobufError):
            protobuf.decode(body)


@given(st.text(alphabet="0123456789.-+smhnµx", max_size=12))
def test_any_duration_is_taken_or_refused_with_a_reason(text: str) -> None:
    problem = go_duration_problem(text)
    assert (problem == "") == (parse_go_duration(text) is not None)
    assert problem == "" or quoted(text) in problem


@given(st.text(max_size=40))
def test_any_accept_header_is_answered_or_refused(text: str) -> None:
    with refused_with(406):
        assert negotiate.accepted(text).media_type in negotiate.MEDIA_TYPES


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", ("application/json", "")),
        ("*/*", ("application/json", "")),
        ("application/yaml", ("application/yaml", "")),
        ("application/yaml;q=0.5, application/json", ("application/json", "")),
        ("application/vnd.kubernetes.protobuf,application/json", ("application/json", "")),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", ("application/json", "Table")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", ("application/json", "")),
    ],
)
def test_accept_headers(header: str, form: tuple[str, str]) -> None:
    assert negotiate.accepted(header)[:2] == form


@given(st.text(max_size=20))
def test_queries(text: str) -> None:
    with refused_with(400):
        Query(f"limit={quote(text)}").number("limit")


def test_versions_are_preferred_as_by_the_server() -> None:
    names = ["v1alpha1", "foo", "v2", "v10", "v1beta2", "v1", "v1beta10", "bar"]
    ordered = sorted(names, key=version_priority)
    assert ordered == ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("integer", 3, 3),
        ("integer", 3.7, 3),
        ("integer", "3", None),
        ("number", 3, 3.0),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("string", "x", "x"),
        ("string", True, "true"),
        ("string", {"a": 1}, '{"a":1}'),
        ("date", "2026-01-01T00:00:00Z", "61s"),
        ("date", "nonsense", "<invalid>"),
    ],
)
def test_cells_of_custom_columns(kind: str, value: Any, cell: Any) -> None:
    columns = custom_columns([{"name": "X", "type": kind, "jsonPath": ".x"}])
    now = datetime(2026, 1, 1, 0, 1, 1, tzinfo=UTC)
    assert columns[1].cells({"x": value}, now) == cell
    assert columns[1].cells({}, now) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a", '"a"'), ('"', '"\\""'), ("é\x01", '"é\\x01"'), ("\u200b", '"\\u200b"')],
)
def test_texts_are_quoted_as_by_go(text: str, shown: str) -> None:
    assert quoted(text) == shown
