from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from konstat.cli.explain.manifests import gathered_from, read_manifests
from konstat.errors import UserError

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "uid": "1"}}
OWNED = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "b", "uid": "2", "ownerReferences": [{"uid": "1"}]},
}


def _names(objects) -> list[str]:
    return [content["metadata"]["name"] for content in objects]


def _list(items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [DEPLOYMENT, OWNED]}),
        json.dumps([DEPLOYMENT, OWNED]),
        f"---\n{json.dumps(DEPLOYMENT)}\n---\n\n---\n{json.dumps(OWNED)}\n",
        "\ufeff" + json.dumps([DEPLOYMENT, OWNED]),
        json.dumps(_list([_list([DEPLOYMENT]), OWNED, _list(None)])),
    ],
    ids=["list", "array", "documents", "byte order mark", "lists in a list"],
)
def test_every_form_of_several_objects_is_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(text, encoding="utf-8")
    assert _names(read_manifests([str(file)])) == ["a", "b"]


def test_items_of_a_typed_list_get_its_kind(tmp_path: Path) -> None:
    item = {"metadata": {"name": "p"}}
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [item]}))
    assert read_manifests([str(file)]) == [{"apiVersion": "v1", "kind": "Pod", **item}]


def test_a_folder_stands_for_its_manifests_in_order(tmp_path: Path) -> None:
    (tmp_path / "2.json").write_text(json.dumps(OWNED))
    (tmp_path / "1.yml").write_text(json.dumps(DEPLOYMENT))
    (tmp_path / "notes.txt").write_text("no manifest")
    assert _names(read_manifests([str(tmp_path)])) == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "not usable YAML"),
        (b"a: [", "not usable YAML: line 2, column 1"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"just text", "document 1 is no Kubernetes object but a text"),
        (b"- 5", "document 1, item 1 is no Kubernetes object but a number"),
        (b"kind: Pod", "document 1 has no apiVersion"),
        (b"apiVersion: v1\nkind: 5", "document 1 has no kind"),
        (b"apiVersion: v1\nkind: List\nitems: [null]", "item 1 is no Kubernetes object but a null"),
        (b"apiVersion: v1\nkind: List\nitems: {a: 1}", "is a List whose items are a mapping"),
        (b'{"kind":"List","items":[' * 10 + b"]}" * 10, "has lists in lists too deeply"),
        (b"[" * 100_000, "not usable YAML"),
        (b'{"a":' * 100_000, "not usable YAML"),
    ],
)
def test_what_is_no_object_is_refused_with_its_place(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(data)
    with pytest.raises(UserError) as failure:
        read_manifests([str(file)])
    assert str(file) in str(failure.value)
    assert problem in str(failure.value)


@pytest.mark.parametrize("name", ["absent.yaml", "bad\0name"])
def test_a_file_that_cannot_be_read_is_named(name: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_manifests([name])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no \.yaml"):
        read_manifests([str(tmp_path)])


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_bytes_are_objects_or_refused(tmp_path_factory: pytest.TempPathFactory, data) -> None:
    file = tmp_path_factory.mktemp("any") / "any.yaml"
    file.write_bytes(data)
    try:
        found = read_manifests([str(file)])
    except UserError:
        return
    assert all(isinstance(content["kind"], str) for content in found)


def test_what_no_other_object_owns_is_told() -> None:
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}}
    assert _names(gathered_from([OWNED, DEPLOYMENT, event]).resources) == ["a"]
    assert _names(gathered_from([OWNED]).resources) == ["b"]


def test_objects_that_own_each_other_are_told_too() -> None:
    ring = [_ringed("x", owner="y"), _ringed("y", owner="x")]
    below = _ringed("z", owner="y")
    assert _names(gathered_from([DEPLOYMENT, OWNED, *ring]).resources) == ["a", "x", "y"]
    assert _names(gathered_from([_ringed("x", owner="x")]).resources) == ["x"]
    # What hangs below the circle is not below a root either: better told twice than not at all.
    assert "z" in _names(gathered_from([*ring, below]).resources)


def _ringed(name: str, *, owner: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, "ownerReferences": [{"uid": owner}]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize(
    "word", ["replicaset", "ReplicaSet", "replicasets", "rs", "replicasets.apps"]
)
def test_a_kind_may_be_named_in_every_form(word: str) -> None:
    assert _names(gathered_from([DEPLOYMENT, OWNED], word=word).resources) == ["b"]


@pytest.mark.parametrize(
    ("kind", "word"),
    [("Policy", "policies"), ("Ingress", "ingresses"), ("Widget", "widget.example.com")],
)
def test_plurals_of_kinds_that_nobody_knows_are_regular(kind: str, word: str) -> None:
    content = {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}}
    assert gathered_from([content], word=word).resources == (content,)
    assert gathered_from([content], word="widget.example.org").resources == ()
