"""Resource classes to CustomResourceDefinitions."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

from typing import Annotated, Any

import pytest

from konstat.errors import ModelError
from konstat.objects.constraint import ListMap, Range, Rule
from konstat.objects.crd import conditions_schema, crd, resource_schema, status_schema
from konstat.objects.model import Model, NoSpec, PerAttempt, Spec, Status, StatusPart
from konstat.objects.resource import Column, Resource, Scale


class Part(StatusPart):
    """Stands for a component: published as a condition, not as a field."""


class WebAppSpec(Spec):
    image: str
    replicas: Annotated[int, Range(0, 50)] = 1


class WebAppStatus(Status):
    workload: Part
    network: Part
    ready_replicas: int = 0


class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
    """A stateless web application: one Deployment behind one Service."""


GOLDEN_SPEC = {
    "type": "object",
    "properties": {
        "image": {"type": "string"},
        "replicas": {
            "type": "integer",
            "format": "int64",
            "minimum": 0,
            "maximum": 50,
            "default": 1,
        },
    },
    "required": ["image"],
}
GOLDEN_CONDITIONS = {
    "type": "array",
    "description": "What is known of the object, one entry per aspect.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "message": {"type": "string", "maxLength": 32768},
        },
        "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    },
}
READY = '.status.conditions[?(@.type=="Ready")]'
GOLDEN = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "webapps.demo.example.com",
        "labels": {"app.kubernetes.io/managed-by": "konstat"},
    },
    "spec": {
        "group": "demo.example.com",
        "names": {
            "kind": "WebApp",
            "listKind": "WebAppList",
            "plural": "webapps",
            "singular": "webapp",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A stateless web application:"
                        " one Deployment behind one Service.",
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object"},
                            "spec": GOLDEN_SPEC,
                            "status": {
                                "type": "object",
                                "properties": {
                                    "observedGeneration": {
                                        "type": "integer",
                                        "format": "int64",
                                        "minimum": 0,
                                        "description": "The newest generation whose outcome"
                                        " is shown here.",
                                    },
                                    "conditions": GOLDEN_CONDITIONS,
                                    "readyReplicas": {"type": "integer", "format": "int64"},
                                },
                            },
                        },
                        "required": ["spec"],
                    }
                },
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": f"{READY}.status"},
                    {"name": "Reason", "type": "string", "jsonPath": f"{READY}.reason"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    {
                        "name": "Message",
                        "type": "string",
                        "jsonPath": f"{READY}.message",
                        "priority": 1,
                    },
                ],
            }
        ],
    },
}


def test_the_front_door_gives_the_golden_manifest() -> None:
    assert crd(WebApp) == GOLDEN


class Entry(Model):
    name: str
    size: int = 1


class WideStatus(Status, rules=[Rule("self.total >= 0")]):
    total: Annotated[int, PerAttempt] = 0
    """All of them."""
    entries: Annotated[list[Entry], ListMap("name")] = []
    default: Entry | None = None
    selector: str = ""


class OldWide(
    Resource[NoSpec, WideStatus],
    group="demo.example.com",
    version="v1beta1",
    kind="Wide",
    scope="Cluster",
    deprecation="demo.example.com/v1beta1 Wide is deprecated: use v1",
):
    pass


class Wide(
    Resource[NoSpec, WideStatus],
    group="demo.example.com",
    version="v1",
    scope="Cluster",
    short_names=["wd"],
    categories=["all"],
    columns=[
        Column(name="Total", path=".status.total", type="integer", description="All of them."),
        Column(name="Age", path=".metadata.creationTimestamp", type="date", priority=1),
    ],
    served=[OldWide],
    rules=[Rule("self.metadata.name != 'bad'", message="a bad name")],
    scale=Scale(spec=".spec.n", status=".status.total", selector=".status.selector"),
):
    pass


def test_what_the_class_declares_beyond_types() -> None:
    spec = crd(Wide)["spec"]
    assert spec["scope"] == "Cluster"
    assert spec["names"]["shortNames"] == ["wd"]
    assert spec["names"]["categories"] == ["all"]
    new, old = spec["versions"]
    assert (new["name"], new["storage"], new["served"]) == ("v1", True, True)
    assert (old["name"], old["storage"], old["served"]) == ("v1beta1", False, True)
    assert old["deprecated"]
    assert "use v1" in old["deprecationWarning"]
    assert [c["name"] for c in new["additionalPrinterColumns"]] == [
        *["Ready", "Reason", "Total", "Age", "Message"]
    ]
    assert new["subresources"]["scale"] == {
        "specReplicasPath": ".spec.n",
        "statusReplicasPath": ".status.total",
        "labelSelectorPath": ".status.selector",
    }
    schema = new["schema"]["openAPIV3Schema"]
    assert "spec" not in schema["properties"]
    assert "required" not in schema
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self.metadata.name != 'bad'", "message": "a bad name"}
    ]


def test_a_status_has_no_defaults_and_no_required_fields() -> None:
    schema = status_schema(WideStatus)
    assert "required" not in schema
    assert schema["properties"]["total"] == {
        "type": "integer",
        "format": "int64",
        "description": "All of them.",
    }
    size = schema["properties"]["entries"]["items"]["properties"]["size"]
    assert size == {"type": "integer", "format": "int64"}
    assert schema["properties"]["default"]["type"] == "object"  # a field of this very name
    assert schema["x-kubernetes-validations"] == [{"rule": "self.total >= 0"}]
    assert schema["properties"]["conditions"] == conditions_schema() == GOLDEN_CONDITIONS


def test_the_schema_is_of_one_version() -> None:
    assert resource_schema(WebApp)["properties"]["spec"] == GOLDEN_SPEC


def declare(**options: Any) -> type[Resource[Any, Any]]:
    words: dict[str, Any] = {"group": "demo.example.com", "version": "v1", **options}

    class Thing(Resource[NoSpec, WideStatus], **words):
        pass

    return Thing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group": "demo"}, "dot"),
        ({"group": "Demo.example.com"}, "group"),
        ({"version": "1"}, "version"),
        ({"version": "v1.0"}, "version"),
        ({"kind": "Th_ing"}, "kind"),
        ({"plural": "Things"}, "plural"),
        ({"short_names": ["T"]}, "short name"),
        ({"categories": ["A B"]}, "category"),
        ({"columns": [Column(name="A", path="spec.a")]}, "column"),
        ({"columns": [Column(name="A", path=".a"), Column(name="A", path=".b")]}, "one name"),
        ({"served": [WebApp]}, "differ"),
        ({"served": [declare()]}, "twice"),
    ],
)
def test_names_that_the_server_refuses(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        crd(declare(**options))


def test_a_class_without_a_kind_is_refused() -> None:
    class Loose(Resource[NoSpec, WideStatus]):
        pass

    with pytest.raises(ModelError, match="group="):
        crd(Loose)


def test_a_constraint_that_does_not_fit_names_class_and_field() -> None:
    class OddSpec(Spec):
        word: Annotated[str, Range(1)] = "x"

    class Odd(Resource[OddSpec, WideStatus], group="demo.example.com", version="v1"):
        pass

    with pytest.raises(ModelError, match=r"^OddSpec\.word: Range fits int and float only"):
        crd(Odd)


def test_a_bad_declaration_is_refused_at_once() -> None:
    for options in ({"version": ""}, {"scope": "Global"}):
        with pytest.raises(ModelError):
            declare(**options)
