"""Typed views of objects: nothing is lost, and what does not fit is named by its path."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import pytest

from konstat.errors import ModelError, SpecInvalid
from konstat.objects.constraint import Length, Range
from konstat.objects.kind import Kind
from konstat.objects.model import Model, PerAttempt, Spec, Status, StatusField, StatusPart
from konstat.objects.resource import Resource, Unstructured, plural_of


class Part(StatusPart):
    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def begin(cls, field: StatusField) -> StatusPart:
        return cls(field.name)


class Port(Model):
    port: Annotated[int, Range(1, 65535)]


class WebSpec(Spec):
    image: str
    ports: list[Port] = []
    limits: dict[Annotated[str, Length(1)], int] = {}


class WebStatus(Status):
    work: Part
    ready_replicas: int = 0
    tried: Annotated[int, PerAttempt] = 0


class Web(Resource[WebSpec, WebStatus], group="demo.example.com", version="v1"):
    """A web."""


def stored(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "Web",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "generation": 2},
        "spec": {"image": "x:1", **spec},
        "status": {"readyReplicas": 3, "tried": 9, "foreign": {"kept": True}},
        "extra": [1],
    }


@pytest.mark.parametrize("build", [Web.from_content, lambda c: Web.from_json(json.dumps(c))])
def test_an_object_is_read_by_type_and_loses_nothing(build: Any) -> None:
    content = stored(unknown={"deep": [1]})
    web = build(content)
    assert (web.name, web.namespace, web.uid, web.generation) == ("a", "n", "u", 2)
    assert web.spec.image == "x:1"
    assert web.status.ready_replicas == 3
    assert web.status.tried == 0  # begins anew
    assert web.status.work.name == "work"
    assert web.content == content  # fields that no type names are all there
    assert not web.deleting
    assert repr(web) == "<Web n/a>"
    assert web.ref == web.ref
    assert web.owner_reference().uid == "u"


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"image": 5}, "spec.image"),
        ({"ports": [{"port": 1}, {"port": 0}]}, "spec.ports[1].port"),
        ({"ports": [{}]}, "spec.ports[0]"),
        ({"limits": {"": 1}}, "spec.limits"),
    ],
)
def test_a_spec_that_does_not_fit_names_its_path(
    spec: dict[str, Any], path: str, raw: bool
) -> None:
    content = stored(**spec)
    web = Web.from_json(json.dumps(content).encode()) if raw else Web.from_content(content)
    with pytest.raises(SpecInvalid) as refused:
        _ = web.spec
    assert refused.value.path == path
    assert refused.value.problem
    assert web.status.ready_replicas == 3  # the rest of the object is still readable


def test_an_absent_spec_names_what_is_missing() -> None:
    with pytest.raises(SpecInvalid, match=r"spec: .*image"):
        _ = Web.from_content({"metadata": {"name": "a"}}).spec


def test_an_unreadable_status_field_reads_as_its_default() -> None:
    web = Web.from_content({**stored(), "status": {"readyReplicas": "many"}})
    assert web.status.ready_replicas == 0
    assert Web.from_content({**stored(), "status": "odd"}).status.ready_replicas == 0


def test_objects_are_frozen() -> None:
    web: Any = Web.named("a", image="x")
    with pytest.raises(AttributeError, match="frozen"):
        web.spec = None


def test_an_object_to_apply_is_built_by_name_or_by_yaml_words() -> None:
    web = Web.named("a", namespace="n", image="x:1", ports=[Port(port=1)])
    assert web.content == {
        "apiVersion": "demo.example.com/v1",
        "kind": "Web",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"image": "x:1", "ports": [{"port": 1}], "limits": {}},
    }
    same = Web(metadata={"name": "a", "namespace": "n"}, spec={"image": "x:1"}, data={"k": "v"})
    assert same.raw("data") == {"k": "v"}
    with pytest.raises(ModelError):
        Web(metadata={"name": 5})


def test_a_type_that_cannot_be_decoded_is_the_authors_mistake() -> None:
    class Odd(Spec):
        word: Annotated[str, Range(1)] = "x"

    with pytest.raises(ModelError, match="Odd"):
        Web.from_content(stored()).part("spec", Odd)


def test_type_arguments_must_be_structs() -> None:
    with pytest.raises(ModelError, match="Spec class"):

        class Bad(Resource[int, WebStatus], group="g.x", version="v1"):  # type: ignore[type-var]
            pass


def test_an_unstructured_object_has_the_kind_it_was_given() -> None:
    kind = Kind(group="", version="v1", kind="Odd", plural="odds")
    odd = Unstructured.of(kind, {"metadata": {"name": "a"}, "data": {"x": 1}})
    assert odd.content["kind"] == "Odd"
    assert odd.raw("data") == {"x": 1}


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("WebApp", "webapps"), ("Policy", "policies"), ("Gateway", "gateways"),
     ("Ingress", "ingresses"), ("Box", "boxes"), ("Mesh", "meshes")],
)  # fmt: skip
def test_plurals(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


def test_from_json_refuses_what_is_no_object() -> None:
    for data in (b"[]", b"{", b'{"metadata": 5}'):
        with pytest.raises(msgspec.MsgspecError):
            Web.from_json(data)
