"""Items 47 to 57: CustomResourceDefinitions and what their schemas do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from both_servers import (
    CRDS,
    GROUP,
    OPEN_SCHEMA,
    Subject,
    definition,
    fresh,
    widget,
)

from konstat.base import clock
from konstat.base.waiting import wait_at_most


async def _define(
    server: Subject, schema: dict[str, Any], **version: Any
) -> tuple[str, dict[str, Any]]:
    """A definition of its own for one test: the path of its objects, and an empty object."""
    plural = fresh("kinds")
    kind = plural.capitalize()
    answer = await server.post(CRDS, definition(plural, kind, schema, **version))
    assert answer.code == 201, answer
    path = f"/apis/{GROUP}/v1/namespaces/{server.namespace}/{plural}"
    await server.until(path, lambda found: found.code == 200)
    obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}}
    return path, obj


def _spec(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }


async def test_C47_names_and_structural_schemas(server: Subject) -> None:
    crd = definition(fresh("kinds"), "Kind", OPEN_SCHEMA)
    crd["metadata"]["name"] = f"other.{GROUP}"
    answer = await server.post(CRDS, crd)
    assert answer.refusal == (
        422,
        "Invalid",
        f'CustomResourceDefinition.apiextensions.k8s.io "other.{GROUP}" is invalid: metadata.name:'
        f' Invalid value: "other.{GROUP}": must be spec.names.plural+"."+spec.group',
    )
    plural = fresh("kinds")
    answer = await server.post(
        CRDS, definition(plural, "Kind", {"type": "object", "properties": {"a": {}}})
    )
    assert (answer.code, answer.reason) == (422, "Invalid")
    place = "spec.validation.openAPIV3Schema.properties[a].type"
    assert answer.causes == [("FieldValueRequired", place)]


async def test_C48_a_definition_is_established(server: Subject) -> None:
    plural = fresh("kinds")
    await server.post(CRDS, definition(plural, "Kind" + plural[5:], OPEN_SCHEMA))

    def established(answer: Any) -> bool:
        conditions = answer.content.get("status", {}).get("conditions") or []
        return {c["type"] for c in conditions if c["status"] == "True"} == {
            "NamesAccepted",
            "Established",
        }

    answer = await server.until(f"{CRDS}/{plural}.{GROUP}", established)
    assert answer.content["status"]["storedVersions"] == ["v1"]
    assert answer.content["status"]["acceptedNames"]["plural"] == plural


async def test_C48_names_that_another_definition_has(server: Subject) -> None:
    first = definition(fresh("kinds"), fresh("Kind"), OPEN_SCHEMA)
    kind, plural = first["spec"]["names"]["kind"], fresh("kinds")
    name, path = f"{plural}.{GROUP}", f"/apis/{GROUP}/v1/{plural}"
    assert (await server.post(CRDS, first)).code == 201
    await server.until(
        f"/apis/{GROUP}/v1/{first['spec']['names']['plural']}", lambda a: a.code == 200
    )
    second = definition(plural, kind, OPEN_SCHEMA)
    second["spec"]["names"] |= {"listKind": fresh("Kind"), "singular": fresh("kind")}
    assert (await server.post(CRDS, second)).code == 201
    answer = await server.until(
        f"{CRDS}/{name}", lambda found: len(found.content["status"]["conditions"] or ()) == 2
    )
    status = answer.content["status"]
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in status["conditions"]] == [
        ("NamesAccepted", "False", "KindConflict", f'"{kind}" is already in use'),
        ("Established", "False", "NotAccepted", "not all names are accepted"),
    ]
    assert status["acceptedNames"] == {**second["spec"]["names"], "kind": ""}
    assert (await server.get(path)).code == 404
    await server.delete(f"{CRDS}/{first['metadata']['name']}")
    await server.until(path, lambda found: found.code == 200)


async def test_C49_unknown_fields_are_pruned(server: Subject) -> None:
    sent = widget(spec={"size": 1, "unknown": 2, "bag": {"kept": {"deep": 1}}})
    made = await server.make(server.widgets, {**sent, "more": 1})
    assert made["spec"] == {"size": 1, "color": "red", "bag": {"kept": {"deep": 1}}}
    assert "more" not in made


async def test_C50_defaults_on_write_and_read(server: Subject) -> None:
    path, obj = await _define(server, _spec(a={"type": "string", "default": "x"}))
    made = await server.make(path, {**obj, "spec": {"a": None}})
    assert made["spec"] == {"a": "x"}
    name = f"{path.rpartition('/')[2]}.{GROUP}"
    crd = (await server.get(f"{CRDS}/{name}")).content
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["b"] = {"type": "string", "default": "late"}
    assert (await server.put(f"{CRDS}/{name}", crd)).code == 200
    await server.until(f"{path}/a", lambda found: "b" in found.content.get("spec", {}))
    answer = await server.until(path, lambda found: found.code == 200)
    assert answer.content["items"][0]["spec"] == {"a": "x", "b": "late"}


async def test_C50_the_default_of_a_status(server: Subject) -> None:
    phase = {"type": "string", "default": "Pending"}
    schema = _spec()
    schema["properties"]["status"] = {
        "type": "object",
        "default": {},
        "properties": {"phase": phase},
    }
    path, obj = await _define(server, schema, subresources={"status": {}})
    made = await server.make(path, {**obj, "status": {"phase": "Given"}})
    assert made["status"] == {"phase": "Pending"}
    for read in (f"{path}/a", f"{path}/a/status"):
        assert (await server.get(read)).content["status"] == {"phase": "Pending"}
    assert (await server.get(path)).content["items"][0]["status"] == {"phase": "Pending"}


async def test_C51_all_causes_at_once(server: Subject) -> None:
    sent = {"size": 101, "mode": "medium", "words": [1], "parts": [{"count": 1}]}
    answer = await server.post(server.widgets, widget(spec=sent))
    assert (answer.code, answer.reason) == (422, "Invalid")
    assert sorted(answer.causes) == [
        ("FieldValueInvalid", "spec.size"),
        ("FieldValueNotSupported", "spec.mode"),
        ("FieldValueRequired", "spec.parts[0].name"),
        ("FieldValueTypeInvalid", "spec.words[0]"),
    ]


RULED = _spec(
    a={"type": "integer", "x-kubernetes-validations": [{"rule": "self < 10"}]},
    b={
        "type": "string",
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "b is fixed"}],
    },
)


@pytest.fixture
def needs_rules(server_name: str) -> None:
    if server_name == "embedded":
        pytest.importorskip("cel_expr_python")


@pytest.mark.usefixtures("needs_rules")
async def test_C52_rules_wait_for_the_schema(server: Subject) -> None:
    path, obj = await _define(server, RULED)
    answer = await server.post(path, {**obj, "spec": {"a": 10, "b": "x"}})
    assert answer.causes == [("FieldValueInvalid", "spec.a")]
    answer = await server.post(path, {**obj, "spec": {"a": "ten", "b": "x"}})
    assert answer.causes[0] == ("FieldValueTypeInvalid", "spec.a")
    assert "some validation rules were not checked" in answer.message


@pytest.mark.usefixtures("needs_rules")
async def test_C53_transition_rules(server: Subject) -> None:
    path, obj = await _define(server, RULED)
    await server.make(path, {**obj, "spec": {"b": "x"}})
    answer = await server.patch(f"{path}/a", {"spec": {"b": "y"}})
    assert answer.causes == [("FieldValueInvalid", "spec.b")]
    assert "b is fixed" in answer.message


async def test_C54_an_unchanged_bad_value_blocks_nothing(server: Subject) -> None:
    path, obj = await _define(server, _spec(a={"type": "integer"}, b={"type": "integer"}))
    await server.make(path, {**obj, "spec": {"a": 50, "b": 1}})
    name = f"{path.rpartition('/')[2]}.{GROUP}"
    crd = (await server.get(f"{CRDS}/{name}")).content
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["a"]["maximum"] = 10
    assert (await server.put(f"{CRDS}/{name}", crd)).code == 200

    probe = {**obj, "metadata": {"name": "probe"}, "spec": {"a": 11}}
    deadline = clock.monotonic() + 10
    while (await server.post(path, probe, dryRun="All")).code != 422:
        assert clock.monotonic() < deadline
        await wait_at_most(asyncio.Event(), timeout_seconds=0.05)
    assert (await server.patch(f"{path}/a", {"spec": {"b": 2}})).code == 200
    answer = await server.patch(f"{path}/a", {"spec": {"a": 51}})
    assert answer.causes == [("FieldValueInvalid", "spec.a")]


async def test_C55_duplicates_in_sets_and_maps(server: Subject) -> None:
    parts = [{"name": "p"}, {"name": "q"}, {"name": "p"}]
    answer = await server.post(server.widgets, widget(spec={"parts": parts}))
    assert answer.causes == [("FieldValueDuplicate", "spec.parts[2]")]
    answer = await server.post(server.widgets, widget(spec={"tags": ["x", "x"]}))
    assert answer.causes == [("FieldValueDuplicate", "spec.tags[1]")]


async def test_C56_selectable_fields(server: Subject) -> None:
    await server.make(server.widgets, widget("a", spec={"color": "blue"}))
    await server.make(server.widgets, widget("b"))
    answer = await server.get(server.widgets, fieldSelector="spec.color=blue")
    assert [item["metadata"]["name"] for item in answer.content["items"]] == ["a"]
    answer = await server.get(server.widgets, fieldSelector="spec.size=1")
    assert answer.refusal == (400, "BadRequest", "field label not supported: spec.size")


async def test_C57_two_versions_of_one_object(server: Subject) -> None:
    plural = fresh("kinds")
    crd = definition(plural, "Kind" + plural[5:], OPEN_SCHEMA)
    second = {**crd["spec"]["versions"][0], "name": "v2", "storage": False}
    crd["spec"]["versions"].append(second)
    await server.post(CRDS, crd)
    path = f"/apis/{GROUP}/v1/namespaces/{server.namespace}/{plural}"
    await server.until(path.replace("/v1/", "/v2/"), lambda found: found.code == 200)
    kind = crd["spec"]["names"]["kind"]
    made = await server.make(
        path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "x": 1}
    )
    other = (await server.get(f"{path.replace('/v1/', '/v2/')}/a")).content
    assert other["apiVersion"] == f"{GROUP}/v2"
    for name in ("uid", "resourceVersion"):
        assert other["metadata"][name] == made["metadata"][name]


async def test_C57_a_deprecated_version_warns(server: Subject) -> None:
    plural = fresh("kinds")
    kind = plural.capitalize()
    crd = definition(plural, kind, OPEN_SCHEMA)
    version = {**crd["spec"]["versions"][0], "storage": False, "deprecated": True}
    crd["spec"]["versions"] += [
        {**version, "name": "v1beta1"},
        {**version, "name": "v1alpha1", "deprecationWarning": "too old"},
    ]
    assert (await server.post(CRDS, crd)).code == 201
    answer = await server.until(f"/apis/{GROUP}/v1/{plural}", lambda found: found.code == 200)
    assert _warning(answer.headers) == ""
    for old, text in (
        ("v1beta1", f"{GROUP}/v1beta1 {kind} is deprecated; use {GROUP}/v1 {kind}"),
        ("v1alpha1", "too old"),
    ):
        for path in (plural, f"namespaces/{server.namespace}/{plural}/absent"):
            answer = await server.get(f"/apis/{GROUP}/{old}/{path}")
            assert _warning(answer.headers) == f'299 - "{text}"'
        path = f"/apis/{GROUP}/{old}/{plural}"
        answer = await server.get(path, accept="text/csv")
        assert (answer.code, _warning(answer.headers)) == (406, f'299 - "{text}"')
        async with server.watch(path, timeoutSeconds=1) as watch:
            assert _warning(watch.headers) == f'299 - "{text}"'


def _warning(headers: Mapping[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "warning"), "")
