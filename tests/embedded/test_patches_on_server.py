"""Patches on the real server and through our functions: the same result, or the same error."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import apply_rig
import pytest
from apply_rig import API_VERSION, JSON, KIND, MERGE, STRATEGIC, Object, Wire

from konstat.base import chance
from konstat.embedded.builtin import definitions
from konstat.embedded.patches import PatchError, json_patch, json_patch_problems, merge_patch
from konstat.embedded.strategic import strategic_merge_patch
from konstat.errors import TransportError
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

MIXTURES = f"/apis/{API_VERSION}/namespaces/default/mixtures"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def wire(control_plane: ControlPlane) -> AsyncIterator[Wire]:
    async with apply_rig.wire_to(control_plane.config) as opened:
        await opened.define()
        yield opened


async def created(wire: Wire, folder: str, content: Object) -> tuple[str, Object]:
    name = f"p-{chance.suffix(8)}"
    body = {**content, "metadata": {**content.get("metadata", {}), "name": name}}
    answer = await wire.send("POST", folder, body)
    assert answer.code == 201, answer.body
    return f"{folder}/{name}", answer.body


MIXTURE: Object = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "spec": {
        "text": "1",
        "number": 1.5,
        "list": ["p", "q"],
        "free": {"s": "<é>", "l": [1, None, 2], "o": {"a": 1}, "big": 1e21, "small": 1e-7, "i": 3},
    },
}
BROKEN_JSON = [
    b"",
    b"x",
    b"{",
    b"[",
    b'{"a":1} x',
    b"[] x",
    b'[{"op":"add","path":"/spec/text","value":}]',
    b"[{'op':1}]",
    b'["\\x"]',
    b'["\\u12g4"]',
    b'{"a" 1}',
    b'{"a":1 "b"}',
    b"[1 2]",
    b"[tru]",
    b"[nulL]",
    b"[-]",
    b"[1.]",
    b"[1e]",
    b"[1e+]",
    b"[01]",
    b'["a\nb"]',
    b'{"a":1,}',
    b"[1,]",
    "[é]".encode(),
    b'"s',
    b"\xff",
]
BAD_SHAPES = [
    b"[1]",
    b"{}",
    b'"s"',
    b"3",
    b"true",
    b'[{"op":1}]',
    b'[{"path":{}}]',
    b'[{"from":[]}]',
]


@pytest.mark.parametrize("body", [*BROKEN_JSON, *BAD_SHAPES, b"[]", b"null"], ids=repr)
async def test_C32_broken_documents_of_a_json_patch(wire: Wire, body: bytes) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    answer = await wire.send("PATCH", path, body, kind=JSON)
    if answer.code == 200:
        assert json_patch(live, body) == live
        return
    with pytest.raises(PatchError) as caught:
        json_patch(live, body)
    assert json.loads(caught.value.body()) == answer.body


MERGES = [
    {"spec": None},
    {"spec": {"list": None, "free": {"l": [{"a": None}], "o": [None, {"b": None}]}}},
    {"spec": {"free": {"n": {"c": None, "d": [{"e": None}, None]}}}},
    {"spec": {"free": {"o": [{"b": None}]}}},
    {"spec": {"free": {"o": {"a": {"b": None}}}}},
    {"spec": {"free": {"l": {"b": None}}}},
    {},
]


@pytest.mark.parametrize("patch", MERGES, ids=repr)
async def test_C31_merge_patches(wire: Wire, patch: Object) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    answer = await wire.send("PATCH", path, patch, kind=MERGE)
    assert answer.code == 200
    assert merge_patch(live, patch).get("spec") == answer.body.get("spec")


@pytest.mark.parametrize("body", [*BROKEN_JSON, b"[]", b"null", b'"s"', b"3"], ids=repr)
async def test_C31_broken_documents_of_a_merge_patch(wire: Wire, body: bytes) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    answer = await wire.send("PATCH", path, body, kind=MERGE)
    with pytest.raises(PatchError) as caught:
        merge_patch(live, body)
    assert json.loads(caught.value.body()) == answer.body


def op(op: str, path: str, **further: Any) -> Object:
    return {"op": op, "path": path, **further}


def moved(path: str, source: str, how: str = "move") -> Object:
    return {"op": how, "from": source, "path": path}


OPERATIONS: list[list[Object]] = [
    [op("test", "/spec/free/s", value="<é>")],
    [op("test", "/spec/number", value=1.5)],
    [op("test", "/spec/number", value=1.50)],
    [op("test", "/spec/free/l", value=[1, 2])],
    [op("test", "/spec/free/o", value={"a": 1})],
    [op("test", "/spec/free/o", value={"a": 1, "b": None})],
    [op("test", "/spec/free/big", value=1e21)],
    [op("test", "/spec/free/small", value=1e-7)],
    [op("test", "/spec/free/i", value=3)],
    [op("test", "/spec/free/i", value=3.0)],
    [op("replace", "", value=None)],
    [op("replace", "", value=3)],
    [op("add", "", value={})],
    [op("remove", "")],
    [op("test", "", value={})],
    [op("add", "spec", value={})],
    [op("remove", "/spec/list/-1")],
    [op("add", "/spec/list/-1", value="z")],
    [op("add", "/spec/list/-3", value="z")],
    [op("add", "/spec/list/-4", value="z")],
    [op("add", "/spec/list/+1", value="z")],
    [op("add", "/spec/list/01", value="z")],
    [op("add", "/spec/list/x", value="z")],
    [op("replace", "/spec/list/-", value="z")],
    [op("add", "/spec/list/-", value="z")],
    [op("remove", "/spec/list/-3")],
    [op("add", "/spec/list/3", value="z")],
    [op("add", "/spec/list/2", value="z")],
    [op("replace", "/spec/list/2", value="z")],
    [op("replace", "/spec/list/-1", value="z")],
    [op("add", "/spec/list")],
    [moved("/spec/text", "/spec/nope", "copy")],
    [moved("/spec/set", "/spec/list", "copy")],
    [moved("/spec/free/copy", "/spec/free/l/1", "copy"), op("test", "/spec/free/copy", value=None)],
    [moved("/spec/list/0", "/spec/list")],
    [moved("/spec/list/0", "/spec/list/1")],
    [moved("/spec/text", "/spec/nope")],
    [op("move", "/spec/text")],
    [op("replace", "/spec/set", value=["q"])],
    [op("replace", "/nope/x", value=["q"])],
    [op("add", "/spec/text/x", value=1)],
    [op("test", "/spec/x/y", value=None)],
    [op("test", "/spec/x", value=None)],
    [op("test", "/spec/x")],
    [op("test", "/spec/text")],
    [op("test", "/spec/free/l/1", value=None)],
    [op("test", "/spec/free/l/7", value=None)],
    [op("add", "/spec/free/q", value=5.0), op("test", "/spec/free/q", value=5)],
    [op("add", "/spec/free/q", value=5), op("test", "/spec/free/q", value=5)],
    [op("add", "/spec/free/q", value={"r": [1]}), op("add", "/spec/free/q/r/-", value=2)],
    [op("add", "/spec/free/a~1b~0c", value=1), op("test", "/spec/free/a~1b~0c", value=1)],
    [op("add", "/spec/free/", value=1)],
    [op("remove", "/spec/text"), op("add", "/spec/text", value="new")],
    [op("add", "/spec/text", value="new"), op("test", "/spec/text", value="old")],
    [op("nope", "/spec/text")],
    [{"path": "/spec/text"}],
    [{"op": "add", "value": 1}],
    [op("test", "/metadata/uid", value="another")],
    [op("test", "/status", value=None), op("add", "/spec/text", value="first status")],
]


@pytest.mark.parametrize("operations", OPERATIONS, ids=repr)
async def test_C32_operations(wire: Wire, operations: list[Object]) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    body = json.dumps(operations, ensure_ascii=False).encode()
    answer = await wire.send("PATCH", path, body, kind=JSON)
    if answer.code >= 300:
        with pytest.raises(PatchError) as caught:
            json_patch(live, body)
        assert json.loads(caught.value.body()) == answer.body
        return
    spec = json_patch(live, body)["spec"]
    assert {k: v for k, v in spec.items() if v is not None} == answer.body["spec"]


async def test_C32_too_many_operations(wire: Wire) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    body = json.dumps([op("test", "/spec/x", value=None)] * 10_001).encode()
    answer = await wire.send("PATCH", path, body, kind=JSON)
    with pytest.raises(PatchError) as caught:
        json_patch(live, body)
    assert json.loads(caught.value.body()) == answer.body


@pytest.mark.parametrize(
    "operations",
    [[op("test", "/spec/free/l", value=[1, None, 2])], [op("replace", "")]],
    ids=repr,
)
async def test_C32_what_breaks_the_real_server_is_refused(
    wire: Wire, operations: list[Object]
) -> None:
    path, live = await created(wire, MIXTURES, MIXTURE)
    with pytest.raises(TransportError):
        await wire.send("PATCH", path, operations, kind=JSON)
    with pytest.raises(PatchError, match="breaks the connection"):
        json_patch(live, operations)


async def test_C46_strict_problems_of_a_json_patch(wire: Wire) -> None:
    path, _ = await created(wire, MIXTURES, MIXTURE)
    value = b'{"a":1,"a":[{"b":1,"b":2}]}'
    body = b'[{"op":"add","path":"/spec/free/x","foo":1,"op":"add","value":%b}]' % value
    answer = await wire.send("PATCH", f"{path}?fieldValidation=Strict", body, kind=JSON)
    assert answer.code == 422
    found = ", ".join(json_patch_problems(body))
    assert f"strict decoding error: {found}" in answer.body["details"]["causes"][0]["message"]


# --- strategic merge ----------------------------------------------------------------------------

POD: Object = {
    "volumes": [{"name": "v", "emptyDir": {}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "containers": [
        {
            "name": "c",
            "image": "i",
            "args": ["x"],
            "ports": [{"containerPort": 80}, {"containerPort": 81, "name": "q"}],
            "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}],
        },
        {"name": "d", "image": "i"},
    ],
}
DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"labels": {"a": "1"}, "finalizers": ["x.y/z", "x.y/w"], "annotations": {"q": "1"}},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "1"}},
        "template": {"metadata": {"labels": {"a": "1"}}, "spec": POD},
    },
}


def pod(**parts: Any) -> Object:
    return {"spec": {"template": {"spec": parts}}}


def container(**parts: Any) -> Object:
    return pod(containers=[{"name": "c", **parts}])


STRATEGIES: list[Any] = [
    b"",
    b"x",
    b"[]",
    b"null",
    b'"s"',
    pod(containers=[{"image": "x"}]),
    pod(containers=[{"name": "c", "image": "j"}, {"name": "e", "image": "k"}]),
    pod(containers=[{"name": "e", "image": "k"}, {"name": "c", "image": "j"}]),
    pod(containers=[{"name": "c", "$patch": "delete"}, {"name": "z", "image": "y"}]),
    pod(containers=[{"$patch": "replace"}, {"name": "z", "image": "y"}]),
    pod(containers=[{"$patch": "merge"}]),
    pod(containers=[{"$patch": "zip", "name": "c"}]),
    pod(containers=[{"$patch": "delete"}]),
    pod(containers=["c"]),
    pod(containers=[["c"]]),
    pod(containers=[None]),
    pod(containers=[]),
    pod(**{"$patch": "replace", "containers": [{"name": "z", "image": "y"}]}),
    pod(tolerations=[{"key": "b"}]),
    pod(nodeSelector={"a": "b", "c": None}),
    pod(nodeSelector=None),
    pod(topologySpreadConstraints=[]),
    pod(imagePullSecrets=[{"name": "a"}, {"name": "b"}]),
    pod(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]),
    container(ports=[{"containerPort": 80, "protocol": "UDP"}]),
    container(ports=[{"containerPort": 81, "$patch": "delete"}]),
    container(env=[{"name": "E", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]),
    container(args=["a", "x"]),
    container(args=None),
    {"metadata": {"labels": {"$patch": "replace", "z": "1"}}},
    {"metadata": {"labels": {"$patch": "bad"}}},
    {"metadata": {"labels": {"$patch": "delete"}}},
    {"metadata": {"annotations": {"q": None, "r": "2"}}},
    {"metadata": {"finalizers": ["a.b/c", "x.y/z"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.y/z"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": "x.y/z"}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": None}},
    {"metadata": {"$deleteFromPrimitiveList/nope": ["x"]}},
    {"metadata": {"$deleteFromPrimitiveList": ["x"]}},
    {"metadata": {"$setElementOrder": ["x"]}},
    {"metadata": {"$setElementOrder/finalizers": ["q.r/s", "x.y/z"], "finalizers": ["q.r/s"]}},
    {"metadata": {"$setElementOrder/finalizers": ["x.y/w", "x.y/z"]}},
    pod(
        **{
            "$setElementOrder/containers": [{"name": "e"}, {"name": "c"}],
            "containers": [{"name": "e", "image": "k"}],
        }
    ),
    pod(**{"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}),
    pod(
        **{
            "$setElementOrder/containers": [{"name": "c"}],
            "containers": [{"name": "e", "image": "k"}],
        }
    ),
    pod(
        **{
            "$setElementOrder/containers": [{"name": "e"}, {"name": "d"}],
            "containers": [{"name": "c", "$patch": "delete"}, {"name": "e", "image": "k"}],
        }
    ),
    pod(**{"$setElementOrder/containers": "x"}),
    pod(**{"$setElementOrder/containers": [{"nam": "e"}], "containers": [{"name": "e"}]}),
    pod(**{"$setElementOrder/containers": ["e"], "containers": [{"name": "e"}]}),
    pod(**{"$setElementOrder/initContainers": [{"name": "e"}]}),
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {}}}},
    {"spec": {"strategy": {"$retainKeys": "type"}}},
    {"spec": {"replicas": None}},
    {"spec": {"paused": True}},
]


def outcome(live: Object, patch: Any, schema: Object) -> Object:
    """Our result, or the Status of our error."""
    try:
        return strategic_merge_patch(live, patch, schema)
    except PatchError as error:
        return error.status()


def settled(obj: Object) -> Object:
    """An object without what changes with every write, and what controllers report."""
    volatile = ("managedFields", "resourceVersion", "generation")
    metadata = {k: v for k, v in obj["metadata"].items() if k not in volatile}
    annotations = dict(metadata.pop("annotations", {}))
    annotations.pop("deployment.kubernetes.io/revision", None)
    metadata["annotations"] = annotations
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}


async def same_outcome(wire: Wire, path: str, live: Object, patch: Any, schema: Object) -> None:
    """Our result, put in the place of the object, is what the server makes of the patch."""
    answer = await wire.send("PATCH", f"{path}?dryRun=All", patch, kind=STRATEGIC)
    made = outcome(live, patch, schema)
    if made["kind"] == "Status":
        assert made == answer.body
        return
    put = await wire.send("PUT", f"{path}?dryRun=All", settled(made))
    if answer.code >= 300:
        assert put.body == answer.body
        return
    assert settled(put.body) == settled(answer.body)


@pytest.mark.parametrize("patch", STRATEGIES, ids=repr)
async def test_C34_strategic_patches_of_a_deployment(wire: Wire, patch: Any) -> None:
    path, live = await created(wire, DEPLOYMENTS, DEPLOYMENT)
    await same_outcome(wire, path, live, patch, definitions.schema("io.k8s.api.apps.v1.Deployment"))


SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "spec": {
        "selector": {"a": "1"},
        "ports": [
            {"port": 80, "name": "a"},
            {"port": 81, "protocol": "UDP", "name": "b"},
            {"port": 82, "name": "c"},
        ],
    },
}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"ports": [{"port": 81, "name": "zz"}, {"port": 90, "name": "n"}]}},
        {
            "spec": {
                "$setElementOrder/ports": [{"port": 81}, {"port": 90}, {"port": 80}],
                "ports": [{"port": 90, "name": "n"}, {"port": 81, "$patch": "delete"}],
            }
        },
        {"spec": {"$setElementOrder/ports": [{"port": 82}, {"port": 80}]}},
        {"spec": {"selector": {"a": None, "b": "2"}}},
        {"spec": {"selector": {"$patch": "replace", "c": "2"}}},
    ],
    ids=repr,
)
async def test_C34_strategic_patches_of_a_service(wire: Wire, patch: Object) -> None:
    path, live = await created(wire, SERVICES, SERVICE)
    await same_outcome(wire, path, live, patch, definitions.schema("io.k8s.api.core.v1.Service"))


@pytest.mark.parametrize(
    "patch",
    [
        {"data": {"a": None, "b": "2"}},
        {"data": {"$patch": "delete"}},
        {"data": None},
        {"metadata": {"labels": {"a": "b"}}},
        {"immutable": True},
    ],
    ids=repr,
)
async def test_C34_strategic_patches_of_a_config_map(wire: Wire, patch: Object) -> None:
    content = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "c": "3"}}
    path, live = await created(wire, CONFIG_MAPS, content)
    await same_outcome(wire, path, live, patch, definitions.schema("io.k8s.api.core.v1.ConfigMap"))
