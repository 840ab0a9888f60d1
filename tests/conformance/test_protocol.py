"""Items 95 to 104: errors, sizes, forms of answers, discovery, special kinds."""

from __future__ import annotations

import gzip
from typing import Any

from both_servers import (
    GROUP,
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Subject,
    configmap,
    fresh,
    widget,
)

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_C95_errors_are_statuses(server: Subject) -> None:
    answer = await server.get(f"{server.configmaps}/absent")
    assert answer.content == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "absent" not found',
        "reason": "NotFound",
        "details": {"name": "absent", "kind": "configmaps"},
        "code": 404,
    }


async def test_C97_large_bodies_and_objects(server: Subject) -> None:
    answer = await server.post(server.widgets, widget(spec={"color": "x" * 3_200_000}))
    message = "Request entity too large: limit is 3145728"
    assert answer.refusal == (413, "RequestEntityTooLarge", message)
    answer = await server.post(server.widgets, widget(spec={"color": "x" * 2_000_000}))
    assert answer.refusal == (500, "", "etcdserver: request is too large")
    answer = await server.post(server.widgets, widget(spec={"color": "x" * 2_500_000}))
    assert answer.code == 500
    assert answer.message.startswith("rpc error: code = ResourceExhausted desc = ")
    assert (await server.post(server.widgets, widget(spec={"color": "x" * 1_400_000}))).code == 201


async def test_C98_tables(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 3}))
    table = (await server.get(server.widgets, accept=TABLE)).content
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [(c["name"], c["type"], c["priority"]) for c in table["columnDefinitions"]]
    assert columns == [("Name", "string", 0), ("Size", "integer", 0), ("Age", "date", 0)]
    row = table["rows"][0]
    assert row["cells"][:2] == ["a", 3]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    single = (await server.get(f"{server.widgets}/a", accept=TABLE, includeObject="None")).content
    assert single["rows"][0]["object"] is None
    whole = (await server.get(f"{server.widgets}/a", accept=TABLE, includeObject="Object")).content
    assert whole["rows"][0]["object"]["kind"] == "Widget"


async def test_C98_tables_of_built_in_kinds(server: Subject) -> None:
    await server.make(server.configmaps, configmap(data={"a": "1", "b": "2"}))
    table = (await server.get(f"{server.configmaps}/a", accept=TABLE)).content
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 2]


async def test_C98_metadata_alone(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 3}))
    partial = (await server.get(f"{server.widgets}/a", accept=PARTIAL)).content
    assert set(partial) == {"kind", "apiVersion", "metadata"}
    assert partial["metadata"]["uid"] == made["metadata"]["uid"]
    listed = (await server.get(server.widgets, accept=PARTIAL_LIST)).content
    assert listed["kind"] == "PartialObjectMetadataList"
    answer = await server.get(server.widgets, accept=PARTIAL)
    assert (answer.code, answer.reason) == (406, "NotAcceptable")


async def test_C98_forms_that_are_not_there(server: Subject) -> None:
    await server.make(server.configmaps, configmap())
    for accept in ("text/html", "application/json;as=Table;v=v9;g=meta.k8s.io"):
        answer = await server.get(f"{server.configmaps}/a", accept=accept)
        assert (answer.code, answer.reason) == (406, "NotAcceptable")
    for accept in ("text/csv", "application/json;as=None;v=v1;g=meta.k8s.io"):
        answer = await server.get(server.widgets, accept=accept)
        assert answer.refusal == (
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml,"
            " application/vnd.kubernetes.protobuf",
        )
        assert "details" not in answer.content
    answer = await server.get(f"{server.configmaps}/a", accept="application/yaml")
    assert b"kind: ConfigMap\n" in answer.body


async def test_C30_a_timeout_is_a_duration(server: Subject) -> None:
    for text, problem in (
        ("abc", 'invalid duration "abc"'),
        ("5", 'missing unit in duration "5"'),
        ("1x", 'unknown unit "x" in duration "1x"'),
        ("1s.", 'invalid duration "1s."'),
    ):
        for path in (server.widgets, server.configmaps, "/version"):
            answer = await server.get(path, timeout=text)
            message = f"invalid timeout specified in the request URL - time: {problem}"
            assert answer.refusal == (400, "BadRequest", message)
    for text in ("", "1m", "-5s", "1h2.5s"):
        assert (await server.get(server.widgets, timeout=text)).code == 200
    async with server.watch(server.widgets, timeout="abc", timeoutSeconds=1) as watch:
        assert watch.status == 200


async def test_C99_discovery_in_the_old_form(server: Subject) -> None:
    assert (await server.get("/api")).content["versions"] == ["v1"]
    groups = {group["name"]: group for group in (await server.get("/apis")).content["groups"]}
    assert groups["apps"]["preferredVersion"]["groupVersion"] == "apps/v1"
    assert GROUP in groups
    resources = (await server.get(f"/apis/{GROUP}/v1")).content["resources"]
    names = [resource["name"] for resource in resources]
    assert {"widgets", "widgets/status", "widgets/scale"} <= set(names)
    widgets = next(resource for resource in resources if resource["name"] == "widgets")
    assert (widgets["kind"], widgets["namespaced"], widgets["singularName"]) == (
        "Widget",
        True,
        "widget",
    )
    assert (await server.get(f"/apis/{GROUP}")).content["kind"] == "APIGroup"
    core = (await server.get("/api/v1")).content["resources"]
    pods = next(resource for resource in core if resource["name"] == "pods")
    assert (pods["shortNames"], pods["categories"]) == (["po"], ["all"])


async def test_C99_discovery_in_the_aggregated_form(server: Subject) -> None:
    answer = await server.get("/apis", accept=AGGREGATED)
    document = answer.content
    assert (document["kind"], document["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    ours = next(item for item in document["items"] if item["metadata"].get("name") == GROUP)
    version = ours["versions"][0]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    widgets = next(r for r in version["resources"] if r["resource"] == "widgets")
    assert widgets["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert [s["subresource"] for s in widgets["subresources"]] == ["status", "scale"]
    core = (await server.get("/api", accept=AGGREGATED)).content
    assert core["items"][0]["metadata"] == {}


async def test_C99_openapi_version_health(server: Subject) -> None:
    index = (await server.get("/openapi/v3")).content["paths"]
    document = (await server.get(index[f"apis/{GROUP}/v1"]["serverRelativeURL"])).content
    name = f"{'.'.join(reversed(GROUP.split('.')))}.v1.Widget"
    schema = document["components"]["schemas"][name]
    kind = {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert schema["x-kubernetes-group-version-kind"] == [kind]
    assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 100
    path = document["paths"][f"/apis/{GROUP}/v1/namespaces/{{namespace}}/widgets/{{name}}"]
    parameters = {parameter["name"] for parameter in path["patch"]["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation"} <= parameters
    version = (await server.get("/version")).content
    assert (version["major"], version["minor"]) == ("1", "36")
    for health in ("/livez", "/readyz", "/healthz"):
        assert (await server.get(health)).body == b"ok"


async def test_C100_long_answers_are_compressed(server: Subject) -> None:
    await server.make(server.configmaps, configmap(data={"a": "x" * 200_000}))
    answer = await server.get(f"{server.configmaps}/a", headers={"Accept-Encoding": "gzip"})
    # Both transports unpack it; what is asked is that the content is right.
    body = gzip.decompress(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
    assert body.count(b"x" * 200_000) == 1


async def test_C101_leases(server: Subject) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{server.namespace}/leases"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.500000Z"},
    }
    made = await server.make(path, lease)
    assert made["spec"]["renewTime"] == "2026-01-01T00:00:00.500000Z"
    made["spec"]["holderIdentity"] = "b"
    assert (await server.put(f"{path}/l", made)).code == 200
    answer = await server.put(f"{path}/l", made)
    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_C102_two_views_of_events(server: Subject) -> None:
    event: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": server.namespace},
        "involvedObject": {
            "kind": "Pod",
            "name": "p",
            "namespace": server.namespace,
            "apiVersion": "v1",
        },
        "reason": "Because",
        "message": "text",
        "type": "Normal",
    }
    await server.make(server.core("events"), event)
    other = f"/apis/events.k8s.io/v1/namespaces/{server.namespace}/events"
    seen = (await server.get(f"{other}/e")).content
    assert (seen["note"], seen["regarding"]["name"]) == ("text", "p")
    for selector, count in (("involvedObject.name=p", 1), ("involvedObject.name=q", 0)):
        found = (await server.get(server.core("events"), fieldSelector=selector)).content
        assert len(found["items"]) == count


async def test_C103_config_maps(server: Subject) -> None:
    answer = await server.post(server.configmaps, configmap(data={"a": 1}))
    assert answer.refusal == (
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number'
        " into Go struct field ConfigMap.data of type string",
    )
    await server.make(server.configmaps, {**configmap(data={"a": "1"}), "immutable": True})
    answer = await server.patch(f"{server.configmaps}/a", {"data": {"a": "2"}})
    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.causes == [("FieldValueForbidden", "data")]


async def test_C104_what_is_not_there(server: Subject) -> None:
    plain = (404, b"404 page not found\n")
    for path in (
        f"/apis/{GROUP}/v1/namespaces/{server.namespace}/gadgets",
        f"/apis/{GROUP}/v9",
        "/apis/nowhere.example/v1/things",
        "/nowhere",
    ):
        answer = await server.get(path)
        assert (answer.code, answer.body) == plain, path
    for path in ("/api/v1/things", "/apis/apps/v9/deployments", f"{server.configmaps}/a/status"):
        answer = await server.get(path)
        message = "the server could not find the requested resource"
        assert answer.refusal == (404, "NotFound", message), path


async def test_C104_methods_that_are_not_there(server: Subject) -> None:
    message = "the server does not allow this method on the requested resource"
    for method, path in (
        ("PATCH", server.configmaps),
        ("PUT", server.configmaps),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", f"{server.configmaps}/a"),
        ("POST", "/api/v1/configmaps"),
    ):
        answer = await server.send(method, path, configmap())
        assert answer.refusal == (405, "MethodNotAllowed", message), (method, path)
    answer = await server.put(server.widgets, widget())
    assert answer.refusal == (400, "BadRequest", "name must be provided")
    await server.make(f"{server.widgets}/named", widget("named"))
    answer = await server.post(f"{server.widgets}/named/status", widget("named"))
    message = f'create is not supported on resources of kind "widgets.{GROUP}"'
    assert answer.refusal == (405, "MethodNotAllowed", message)


async def test_bodies_that_are_no_objects(server: Subject) -> None:
    prefix = "the object provided is unrecognized (must be of type ConfigMap): "
    expected = {
        "{bad": "couldn't get version/kind; json parse error: invalid character 'b' looking for"
        " beginning of object key string ({bad)",
        "": "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
    }
    for body, message in expected.items():
        answer = await server.post(server.configmaps, body)
        assert answer.refusal == (400, "BadRequest", prefix + message)
    answer = await server.post(server.configmaps, "x", content_type="text/plain")
    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")
    answer = await server.post(server.widgets, {"metadata": {"name": fresh("a")}})
    assert "Object 'Kind' is missing in" in answer.message


async def test_access_reviews(server: Subject) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    answer = await server.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (answer.code, answer.content["status"]["allowed"]) == (201, True)
