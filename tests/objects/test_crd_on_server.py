"""CRDs on a real server: accepted, structural, and of one mind with our decoder."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

import enum
import itertools
import json
import subprocess
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
import pytest

from konstat.client.api import Client
from konstat.errors import BadRequest, Invalid
from konstat.objects import codec
from konstat.objects.constraint import (
    Duration,
    Immutable,
    IntOrString,
    Length,
    ListMap,
    Pattern,
    Range,
    Rule,
)
from konstat.objects.crd import crd, resource_schema
from konstat.objects.kind import Kind
from konstat.objects.model import Model, Spec, Status
from konstat.objects.quantity import Quantity
from konstat.objects.resource import Column, Resource, Scale
from konstat.objects.schema import Place, value_schema
from konstat.objects.violation import violations
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi
CRDS = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
)


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


class Port(Model, rules=[Rule("self.port != 81", message="81 is taken")]):
    name: Annotated[str, Length(1, 15), Pattern("^[a-z]+$")]
    port: Annotated[int, Range(1, 65535)] = 80
    target: IntOrString | None = None


class Left(Model, tag="left"):
    x: int


class Right(Model, tag="right"):
    y: str


class WideSpec(Spec, rules=[Rule("self.low <= self.high", message="low is above high")]):
    """All that a spec can be made of."""

    low: Annotated[int, Range(0, 50)] = 1
    high: Annotated[int, Range(exclusive_maximum=100)] = 50
    even: Annotated[int, Range(multiple_of=2)] = 0
    ratio: Annotated[float, Range(0, exclusive_maximum=1)] = 0.5
    word: Annotated[str, Length(1, 3)] = "a"
    path: Annotated[str, Pattern(r"^\S+/\d$")] = "a/1"
    mode: Mode = Mode.FAST
    maybe: Mode | None = None
    level: Literal[1, 2] | None = None
    ports: Annotated[list[Port], ListMap("name"), Length(maximum=3)] = []
    tags: Annotated[set[str], Length(maximum=3)] = set()
    labels: Annotated[dict[str, int], Length(maximum=2)] = {}
    pair: tuple[int, int] = (1, 2)
    memory: Quantity = Quantity("1Gi")
    percent: IntOrString = "25%"
    every: Duration = "1m"
    variant: Left | Right | None = None
    data: bytes | None = None
    flag: bool = False
    extra: dict[str, Any] = {}
    any: Any = None
    first_port: Port = Port(name="x")
    fixed: Annotated[str, Immutable("fixed may not change")] = "f"


class WideStatus(Status):
    ready_replicas: int = 0
    selector: str = ""
    ports: Annotated[list[Port], ListMap("name")] = []


class OldWide(
    Resource[WideSpec, WideStatus],
    group="objects.example.com",
    version="v1beta1",
    kind="Wide",
    deprecation="objects.example.com/v1beta1 Wide is deprecated",
):
    pass


class Wide(
    Resource[WideSpec, WideStatus],
    group="objects.example.com",
    version="v1",
    short_names=["wd"],
    categories=["objecttests"],
    columns=[Column(name="Low", path=".spec.low", type="integer")],
    served=[OldWide],
    rules=[Rule("self.metadata.name != 'bad'", message="a bad name")],
    scale=Scale(spec=".spec.low", status=".status.readyReplicas", selector=".status.selector"),
):
    """An object with one field of each type."""


class NeedySpec(Spec):
    image: str
    port: Port


class Needy(Resource[NeedySpec, WideStatus], group="objects.example.com", version="v1"):
    pass


EXPRESSIONS = [
    *[r"^\d$", r"^\w$", r"^\s$", r"^\S$", r"^[\s]$", "^.$", "^a$", "a", "(?i)^ab$", "(?s)^.$"],
    *["^[]a]$", "^[[a]$", r"^\x41\z", "^(?P<x>a|b){2,3}?$", r"^a\$b$", r"\bb\b", r"^[^\s]+$"],
    *["^é+$", "^[à-ü]$", "a|b$", "^$", r"^\W$", r"^[\w.-]+$", "^[a-z]([-a-z0-9]*[a-z0-9])?$"],
]
TEXTS = [
    *["", "a", "b", "ab", "AB", "aa", "aba", "a\n", "\n", " ", "\v", "\f", "\t", "\x1c", "\u00a0"],
    *["5", "٣", "é", "éé", "É", "_", "-", "]", "[", "A", "a$b", "a b", "b.", "ß", "ſ", "a-1", "-a"],
]


class PatternSpec(Spec):
    extra: dict[str, Any] = {}


class Patterned(Resource[PatternSpec, WideStatus], group="objects.example.com", version="v1"):
    pass


def patterned_manifest() -> dict[str, Any]:
    manifest = crd(Patterned)
    schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {
        f"p{number}": value_schema(Annotated[str, Pattern(expression)], Place("PatternSpec"))
        for number, expression in enumerate(EXPRESSIONS)
    }
    return manifest


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    command = plane.kubectl_command(*arguments)
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with control_plane.client() as client:
        for manifest in (crd(Wide), crd(Needy), patterned_manifest()):
            await client.apply(CRDS, manifest, force=True)
            name = f"crd/{manifest['metadata']['name']}"
            kubectl(control_plane, "wait", "--for=condition=Established", "--timeout=30s", name)
        yield client


async def accepted(client: Client, kind: Kind, namespace: str, spec: Any) -> dict[str, Any] | None:
    """What the server would store of an object with ``spec``, or None when it refuses it."""
    content = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"generateName": "a-"},
        "spec": spec,
    }
    try:
        return await client.create(kind, content, namespace=namespace, dry_run=True)
    except (BadRequest, Invalid):
        return None


async def test_47_crds_are_established_and_structural(client: Client) -> None:
    for resource in (Wide, Needy, Patterned):
        found = await client.get(CRDS, resource.kind.resource)
        conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
        assert conditions["Established"] == "True"
        assert "NonStructuralSchema" not in conditions


CANDIDATES: dict[str, list[Any]] = {
    "low": [0, 50, -1, 51, "1", 1.5, True, None, 2**63],
    "high": [99, 100, 2**40],
    "even": [0, 3, 4, -2],
    "ratio": [0, 0.999, 1, -0.1, "0.5", 1e-9],
    "word": ["", "a", "äöü", "abcd", "\U0001f600" * 3, 5, None],
    "path": ["a/1", "a/b", "a b/1", "x/1\n", "/1"],
    "mode": ["fast", "FAST", "", None, 1],
    "maybe": ["safe", None, "no"],
    "level": [1, 2, 3, None, "1"],
    "ports": [
        [],
        [{"name": "a"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "a"}],
        [{"name": c} for c in "abcd"],
        [{}],
        [{"name": None}],
        [{"name": "a", "port": 0}],
        [{"name": "A"}],
        [{"name": "a", "target": "http"}],
        [{"name": "a", "target": None}],
        [{"name": "a", "target": 1.5}],
        [None],
        {"name": "a"},
    ],
    "tags": [[], ["a", "b"], ["a", "a"], ["a", "b", "c", "d"], [1], [None], "a"],
    "labels": [{}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, {"a": "1"}, {"a": None}, []],
    "pair": [[1, 2], [1], [1, 2, 3], ["a", "b"]],
    "memory": ["1Gi", "500m", ".5", "1.", "1e3", "1E", "-1", "1K", "", "1 Gi", 5, "1e2.5", "1\n"],
    "percent": ["25%", 5, 0.5, True, None, []],
    "every": ["1m", "1h30m", "", "1", "1d", "-1s", "1.5h", "1µs"],
    "variant": [
        {"type": "left", "x": 1},
        {"type": "left"},
        {"type": "right", "y": "a"},
        {"type": "left", "y": "a"},
        {"x": 1},
        {"type": "up"},
        None,
    ],
    "data": ["YQ==", "YQ", "%", None, 5, "YWI=\n"],
    "flag": [True, False, "true", 1, None],
    "extra": [{}, {"a": [None, {"b": 1}]}, {"a": None}, [], "x"],
    "any": [None, 1, "a", {"b": None}, [1]],
    "firstPort": [{"name": "b"}, {}, None, {"name": "b", "port": 70000}],
}


async def test_the_server_and_we_are_of_one_mind(client: Client, namespace: str) -> None:
    schema = resource_schema(Wide)["properties"]["spec"]
    disputed: list[str] = []
    for name, values in CANDIDATES.items():
        for value in values:
            spec = {name: value}
            stored = await accepted(client, Wide.kind, namespace, spec)
            if (violations(spec, schema) == []) is not (stored is not None):
                disputed.append(f"violations and the server on {spec}")
            if stored is not None and not decodes(stored["spec"], WideSpec):
                disputed.append(f"the server accepts and our types refuse {spec}")
    assert disputed == []


def decodes(spec: Any, spec_type: type[Any]) -> bool:
    try:
        codec.typed(spec, spec_type)
    except msgspec.ValidationError:
        return False
    return True


# What only a schema can refuse: duplicates, which a decoder folds or keeps; members of another
# variant are unknown to a variant's decoder; and numbers and texts that Python reads more freely.
DECODER_IS_FREER = [
    {"low": 2**63},
    {"ports": [{"name": "a"}, {"name": "a"}]},
    {"tags": ["a", "a"]},
    {"tags": ["a", "b", "c", "d"]},
    {"percent": None},
    {"data": "YQ"},
]


async def test_what_the_server_refuses_our_types_refuse(client: Client, namespace: str) -> None:
    freer: list[Any] = []
    for name, values in CANDIDATES.items():
        for value in values:
            spec = {name: value}
            if await accepted(client, Wide.kind, namespace, spec) is None and decodes(
                spec, WideSpec
            ):
                freer.append(spec)
    assert [spec for spec in freer if spec not in DECODER_IS_FREER] == []


async def test_required_fields(client: Client, namespace: str) -> None:
    schema = resource_schema(Needy)["properties"]["spec"]
    parts = {"image": ["x", None, 5], "port": [{"name": "a"}, {}, None]}
    for chosen in itertools.product(*([*values, ...] for values in parts.values())):
        spec = {k: v for k, v in zip(parts, chosen, strict=True) if v is not ...}
        stored = await accepted(client, Needy.kind, namespace, spec)
        assert (stored is not None) is decodes(spec, NeedySpec), spec
        assert (stored is not None) is (violations(spec, schema) == []), spec


async def test_patterns_match_alike(client: Client, namespace: str) -> None:
    disputed: list[Any] = []
    for text in TEXTS:
        spec = {f"p{number}": text for number in range(len(EXPRESSIONS))}
        content = {"metadata": {"generateName": "a-"}, "spec": spec}
        refused: set[str] = set()
        try:
            await client.create(Patterned, content, namespace=namespace, dry_run=True)
        except Invalid as error:
            refused = {cause.field for cause in error.causes}
        for number, expression in enumerate(EXPRESSIONS):
            ours = decodes(text, Annotated[str, Pattern(expression)])  # type: ignore[arg-type]
            if ours is (f"spec.p{number}" in refused):
                disputed.append((expression, text, ours))
    assert disputed == []


async def test_defaults_are_those_of_our_types(client: Client, namespace: str) -> None:
    stored = await accepted(client, Wide.kind, namespace, {})
    assert stored is not None
    assert stored["spec"]["low"] == 1
    assert stored["spec"]["memory"] == "1Gi"
    assert stored["spec"]["firstPort"] == {"name": "x", "port": 80}
    assert "tags" not in stored["spec"]  # absent and empty mean the same
    assert codec.typed(stored["spec"], WideSpec) == WideSpec()


async def test_rules_are_the_servers(client: Client, namespace: str) -> None:
    async def refusal(name: str, **spec: Any) -> str:
        with pytest.raises(Invalid) as refused:
            await client.create(
                Wide, {"metadata": {"name": name}, "spec": spec}, namespace=namespace
            )
        return str(refused.value)

    assert "low is above high" in await refusal("a", low=5, high=4)
    assert "81 is taken" in await refusal("a", ports=[{"name": "a", "port": 81}])
    assert "a bad name" in await refusal("bad", low=5)
    await client.create(Wide, {"metadata": {"name": "a"}, "spec": {}}, namespace=namespace)
    with pytest.raises(Invalid, match="fixed may not change"):
        await client.patch(Wide, "a", {"spec": {"fixed": "g"}}, type="merge", namespace=namespace)


async def test_57_a_second_version_serves_the_same_object(client: Client, namespace: str) -> None:
    new = await client.create(
        Wide, {"metadata": {"name": "a"}, "spec": {"low": 7}}, namespace=namespace
    )
    old = await client.get(OldWide, "a", namespace=namespace)
    assert (old.uid, old.spec.low) == (new.uid, 7)
    assert old.content["apiVersion"] == "objects.example.com/v1beta1"


async def test_98_columns_show_in_kubectl(
    client: Client, control_plane: ControlPlane, namespace: str
) -> None:
    await client.create(Wide, {"metadata": {"name": "a"}, "spec": {"low": 7}}, namespace=namespace)
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "ImageUntagged",
        "message": "write it as name:tag",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await client.patch(
        Wide,
        "a",
        {"status": {"conditions": [condition], "readyReplicas": 2, "selector": "a=b"}},
        type="merge",
        namespace=namespace,
        subresource="status",
    )
    narrow = kubectl(control_plane, "get", "wd", "-n", namespace).splitlines()
    assert narrow[0].split() == ["NAME", "READY", "REASON", "LOW", "AGE"]
    assert narrow[1].split()[:4] == ["a", "False", "ImageUntagged", "7"]
    wide = kubectl(control_plane, "get", "objecttests", "-n", namespace, "-o", "wide")
    assert "write it as name:tag" in wide
    scale = json.loads(
        kubectl(
            control_plane,
            *["get", "--raw"],
            Wide.kind.path(namespace, "a", "scale"),
        )
    )
    assert scale["spec"]["replicas"] == 7
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}


async def test_fields_that_our_types_do_not_know_survive_apply_and_patch(
    client: Client, namespace: str
) -> None:
    """A newer schema has fields that this program's types lack; no write of ours drops them."""
    name = {"metadata": {"name": "a"}}
    content = {**name, "spec": {"low": 7, "high": 60}}
    await client.create(Wide, content, namespace=namespace, field_manager="user")

    class NarrowSpec(Spec):
        low: int = 1

    class Narrow(
        Resource[NarrowSpec, WideStatus],
        group="objects.example.com",
        version="v1",
        kind="Wide",
    ):
        pass

    seen = await client.get(Narrow, "a", namespace=namespace)
    assert seen.content["spec"]["high"] == 60
    mine = Narrow.named("a", namespace=namespace, low=8)
    await client.apply(mine, force=True)
    await client.patch(Narrow, "a", {"spec": {"low": 9}}, type="merge", namespace=namespace)
    after = await client.get(Wide, "a", namespace=namespace)
    assert (after.spec.low, after.spec.high) == (9, 60)
    with pytest.raises(TypeError):
        await client.replace(Narrow, after)  # type: ignore[arg-type]


async def test_88_to_90_conditions_are_validated_by_the_server(
    client: Client, namespace: str
) -> None:
    await client.create(Wide, {"metadata": {"name": "a"}, "spec": {}}, namespace=namespace)
    status_schema = resource_schema(Wide)["properties"]["status"]
    good = {
        "type": "Ready",
        "status": "True",
        "reason": "AllGood",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    lists: list[list[dict[str, Any]]] = [
        [good],
        [good, good],
        [{**good, "message": "é" * 32768}],
        [{**good, "message": "x" * 32769}],
        *([{**good, "type": word}] for word in ("", "a b", "x.y/Ready", "a" * 316, "a" * 317)),
        *([{**good, "reason": word}] for word in ("", "A-B", "A,", "A_b", "A\n", "A" * 1025)),
        *([{**good, "lastTransitionTime": t}] for t in ("", "now", "2026-01-01T24:00:00Z")),
        *([{**good, "observedGeneration": number}] for number in (0, -1, 5)),
        [{**good, "status": "true"}],
        [{k: v for k, v in good.items() if k != "message"}],
    ]
    for conditions in lists:
        status = {"conditions": conditions}
        try:
            await client.patch(
                Wide,
                "a",
                {"status": status},
                type="merge",
                namespace=namespace,
                subresource="status",
                dry_run=True,
            )
            fits = True
        except Invalid:
            fits = False
        assert fits is (violations(status, status_schema) == []), conditions
