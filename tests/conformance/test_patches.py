"""Items 31 to 46: the patch types, apply and field ownership, dry run, field validation."""

from __future__ import annotations

from typing import Any

from both_servers import (
    GROUP,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Subject,
    configmap,
    widget,
)

REFUSED = "the server rejected our request due to an error in our request"


def _managers(metadata: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in metadata.get("managedFields", [])
    ]


async def test_C31_merge_patch(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 1, "words": ["a", "b"], "color": "x"}))
    answer = await server.patch(f"{server.widgets}/a", {"spec": {"size": None, "words": ["c"]}})
    assert answer.content["spec"] == {"words": ["c"], "color": "x"}


async def test_C32_json_patch(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 1, "words": ["a"]}))
    path = f"{server.widgets}/a"
    good = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/words/-", "value": "b"},
        {"op": "remove", "path": "/spec/size"},
    ]
    answer = await server.patch(path, good, JSON_PATCH)
    assert answer.content["spec"] == {"words": ["a", "b"], "color": "red"}
    answer = await server.patch(path, "{bad", JSON_PATCH)
    assert (answer.code, answer.reason) == (400, "BadRequest")
    for failing in (
        {"op": "test", "path": "/spec/color", "value": "blue"},
        {"op": "remove", "path": "/spec/absent"},
        {"op": "add", "path": "/absent/deep", "value": 1},
    ):
        answer = await server.patch(path, [failing], JSON_PATCH)
        assert answer.refusal == (422, "Invalid", REFUSED)
        assert answer.content["details"] == {}
    many = [{"op": "test", "path": "/spec/color", "value": "red"}] * 10_001
    answer = await server.patch(path, many, JSON_PATCH)
    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")


async def test_C32_a_test_compares_text(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"bag": {"n": 1000, "t": "a<b", "e": "€"}}))

    async def passes(member: str, value: str) -> bool:
        patch = f'[{{"op":"test","path":"/spec/bag/{member}","value":{value}}}]'
        return (await server.patch(f"{server.widgets}/a", patch, JSON_PATCH)).code == 200

    assert await passes("n", "1000")
    assert not await passes("n", "1000.0")
    assert await passes("t", '"a\\u003cb"')
    assert not await passes("t", '"a<b"')
    assert await passes("e", '"€"')
    assert not await passes("e", '"\\u20ac"')
    assert await passes("absent", "null")


async def test_C33_content_types_that_are_no_patch(server: Subject) -> None:
    await server.make(server.widgets, widget())
    await server.make(server.configmaps, configmap())
    answer = await server.patch(f"{server.configmaps}/a", {}, "application/json")
    message = "415: Unsupported Media Type"
    assert answer.refusal == (415, "UnsupportedMediaType", message)
    for path in ("a", "a/scale", "a/status"):
        for content_type in (STRATEGIC, "application/json"):
            answer = await server.patch(f"{server.widgets}/{path}", {}, content_type)
            assert answer.refusal == (
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include:"
                " application/json-patch+json, application/merge-patch+json,"
                " application/apply-patch+yaml",
            )
            assert "details" not in answer.content


async def test_C34_strategic_merge_by_key(server: Subject) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
    }
    await server.make(server.core("services"), service)
    patch = {
        "spec": {"ports": [{"port": 2, "targetPort": 22}, {"port": 1, "$patch": "delete"}]},
    }
    answer = await server.patch(f"{server.core('services')}/s", patch, STRATEGIC)
    ports = answer.content["spec"]["ports"]
    assert ports == [{"name": "b", "protocol": "TCP", "port": 2, "targetPort": 22}]


async def test_C35_options_of_apply(server: Subject) -> None:
    path = f"{server.widgets}/a"
    answer = await server.patch(path, widget(), "application/apply-patch+yaml")
    assert answer.causes == [("FieldValueRequired", "fieldManager")]
    answer = await server.patch(path, {}, MERGE, force="true", fieldManager="x")
    assert answer.causes == [("FieldValueForbidden", "force")]


async def test_C36_apply_creates_and_updates(server: Subject) -> None:
    path = f"{server.widgets}/a"
    for absent in (path, f"{server.configmaps}/a"):
        kind = widget() if absent == path else configmap()
        for metadata in ({}, {"metadata": {}}):
            body = {"apiVersion": kind["apiVersion"], "kind": kind["kind"], **metadata}
            answer = await server.apply(absent, body, "x")
            assert (answer.code, answer.message) == (
                400,
                "the name of the object (a based on URL) was undeterminable: name must be provided",
            )
    made = await server.apply(path, widget(spec={"size": 1}), "x")
    assert (made.code, made.content["spec"]) == (201, {"size": 1, "color": "red"})
    text = f"apiVersion: {GROUP}/v1\nkind: Widget\nspec:\n  size: 2\n"
    answer = await server.apply(path, text, "x")
    assert (answer.code, answer.content["spec"]["size"]) == (200, 2)
    answer = await server.apply(f"{server.widgets}/b/status", widget("b"), "x")
    assert answer.code == 404


async def test_C37_conflicts_and_force(server: Subject) -> None:
    path = f"{server.widgets}/a"
    await server.apply(path, widget(spec={"size": 1}), "first")
    answer = await server.apply(path, widget(spec={"size": 2}), "second")
    assert answer.refusal == (
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "first": .spec.size',
    )
    assert answer.causes == [("FieldManagerConflict", ".spec.size")]
    answer = await server.apply(path, widget(spec={"size": 2}), "second", force="true")
    assert _managers(answer.metadata) == [("second", "Apply", "")]


async def test_C38_the_same_value_is_owned_together(server: Subject) -> None:
    path = f"{server.widgets}/a"
    await server.apply(path, widget(spec={"size": 1}), "first")
    answer = await server.apply(path, widget(spec={"size": 1}), "second")
    assert sorted(_managers(answer.metadata)) == [("first", "Apply", ""), ("second", "Apply", "")]


async def test_C39_what_is_left_out_goes_with_its_last_owner(server: Subject) -> None:
    path = f"{server.widgets}/a"
    await server.apply(path, widget(spec={"size": 1, "mode": "slow"}), "first")
    await server.apply(path, widget(spec={"size": 1}), "second")
    answer = await server.apply(path, widget(spec={"mode": "slow"}), "first")
    assert answer.content["spec"]["size"] == 1
    answer = await server.apply(path, widget(spec={}), "second")
    assert "size" not in answer.content["spec"]


async def test_C40_lists_merge_by_their_type(server: Subject) -> None:
    path = f"{server.widgets}/a"
    first = {"parts": [{"name": "a", "count": 1}], "tags": ["x"], "words": ["p"]}
    second = {"parts": [{"name": "b", "count": 2}], "tags": ["y"]}
    await server.apply(path, widget(spec=first), "first")
    answer = await server.apply(path, widget(spec=second), "second")
    spec = answer.content["spec"]
    assert [part["name"] for part in spec["parts"]] == ["a", "b"]
    assert spec["tags"] == ["x", "y"]
    answer = await server.apply(path, widget(spec={**second, "words": ["q"]}), "second")
    assert answer.causes == [("FieldManagerConflict", ".spec.words")]


async def test_C41_entries_of_managers(server: Subject) -> None:
    await server.make(server.configmaps, configmap(data={"a": "1"}))
    answer = await server.patch(
        f"{server.configmaps}/a", {"data": {"b": "2"}}, MERGE, fieldManager="patcher"
    )
    entries = {entry["manager"]: entry for entry in answer.metadata["managedFields"]}
    entry = entries["patcher"]
    assert entry["fieldsV1"] == {"f:data": {"f:b": {}}}
    assert (entry["operation"], entry["apiVersion"]) == ("Update", "v1")
    assert (entry["fieldsType"], set(entry) - set(entries["patcher"])) == ("FieldsV1", set())


async def test_C42_managed_fields_cannot_be_applied_but_be_reset(server: Subject) -> None:
    path = f"{server.configmaps}/a"
    answer = await server.apply(path, configmap(managedFields=[]), "x")
    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert "metadata.managedFields must be nil" in answer.message
    made = await server.make(server.configmaps, configmap(data={"a": "1"}))
    made["metadata"]["managedFields"] = [{}]
    answer = await server.put(path, made)
    assert "managedFields" not in answer.metadata


async def test_C43_status_apply_owns_status_alone(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 1}))
    sent = {
        **widget(spec={"size": 5}, labels={"a": "b"}),
        "status": {"phase": "x"},
    }
    answer = await server.apply(f"{server.widgets}/a/status", sent, "operator")
    assert answer.content["spec"]["size"] == 1
    entry = next(e for e in answer.metadata["managedFields"] if e["manager"] == "operator")
    assert (entry["fieldsV1"], entry["subresource"]) == ({"f:status": {"f:phase": {}}}, "status")


async def test_C44_a_repeated_apply_is_no_write(server: Subject) -> None:
    path = f"{server.widgets}/a"
    first = await server.apply(path, widget(spec={"size": 1}), "x")
    again = await server.apply(path, widget(spec={"size": 1}), "x")
    assert (again.code, again.version) == (200, first.version)


async def test_C45_dry_run(server: Subject) -> None:
    listed = await server.get(server.configmaps)
    # A controller may put kube-root-ca.crt into the new namespace meanwhile.
    others = "metadata.name!=kube-root-ca.crt"
    async with server.watch(
        server.configmaps, resourceVersion=listed.version, fieldSelector=others
    ) as watch:
        answer = await server.post(server.configmaps, configmap("dry"), dryRun="All")
        assert (answer.code, "resourceVersion" in answer.metadata) == (201, False)
        assert (await server.get(f"{server.configmaps}/dry")).code == 404
        await server.make(server.configmaps, configmap(data={"a": "1"}))
        path = f"{server.configmaps}/a"
        changed = await server.patch(path, {"data": {"a": "2"}}, MERGE, dryRun="All")
        assert changed.content["data"] == {"a": "2"}
        assert (await server.delete(path, dryRun="All")).code == 200
        assert (await server.get(path)).content["data"] == {"a": "1"}
        assert await watch.take(1) == [("ADDED", "a")]
        assert await watch.is_silent(0.3)
    answer = await server.post(server.configmaps, configmap("dry"), dryRun="Some")
    assert answer.causes == [("FieldValueNotSupported", "dryRun")]


async def test_C46_field_validation(server: Subject) -> None:
    text = (
        f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a","bogus":1}},'
        '"spec":{"size":1,"size":2,"zap":3},"x":1}'
    )
    problems = (
        'duplicate field "spec.size"',
        'unknown field "metadata.bogus"',
        'unknown field "spec.zap"',
        'unknown field "x"',
    )
    answer = await server.post(server.widgets, text, fieldValidation="Strict")
    assert answer.refusal == (
        400,
        "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        + ", ".join(problems),
    )
    answer = await server.post(server.widgets, text, fieldValidation="Warn", dryRun="All")
    warned = answer.headers["warning"].replace('\\"', '"')
    assert [problem for problem in problems if f'299 - "{problem}"' in warned] == list(problems)
    answer = await server.post(server.widgets, text, fieldValidation="Ignore")
    assert ("warning" in answer.headers, answer.code) == (False, 201)
    assert answer.content["spec"] == {"size": 2, "color": "red"}
    answer = await server.post(server.widgets, text, fieldValidation="Maybe")
    assert answer.causes == [("FieldValueNotSupported", "fieldValidation")]


async def test_C46_field_validation_of_built_in_kinds(server: Subject) -> None:
    answer = await server.post(
        server.configmaps, {**configmap(data={"a": "b"}), "bogus": 1}, fieldValidation="Strict"
    )
    assert answer.refusal == (
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error:'
        ' unknown field "bogus"',
    )
    answer = await server.post(server.configmaps, {**configmap(data={"a": "b"}), "bogus": 1})
    assert answer.headers["warning"] == '299 - "unknown field \\"bogus\\""'
