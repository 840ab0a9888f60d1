"""Items 1 to 15: names, identity, owners, no-op writes."""

from __future__ import annotations

import re

from both_servers import (
    CRDS,
    GROUP,
    OPEN_SCHEMA,
    Subject,
    configmap,
    definition,
    fresh,
    widget,
)


async def test_C1_create_fills_metadata(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 1}))
    metadata = made["metadata"]
    assert (made["apiVersion"], made["kind"]) == (f"{GROUP}/v1", "Widget")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["generation"] == 1
    assert metadata["namespace"] == server.namespace


async def test_C2_what_the_client_may_not_set_is_wiped(server: Subject) -> None:
    sent = {
        "uid": "mine",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 7,
        "selfLink": "/x",
    }
    made = await server.make(server.configmaps, configmap(**sent))
    metadata = made["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] != sent["creationTimestamp"]
    gone = {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"}
    assert gone.isdisjoint(metadata)


async def test_C3_versions_are_decimal_and_grow(server: Subject) -> None:
    versions = [
        (await server.make(server.configmaps, configmap(f"c{i}")))["metadata"]["resourceVersion"]
        for i in range(3)
    ]
    assert all(re.fullmatch(r"[1-9][0-9]*", version) for version in versions)
    assert sorted(set(map(int, versions))) == list(map(int, versions))


async def test_C4_a_version_on_create_is_a_500(server: Subject) -> None:
    message = "resourceVersion should not be set on objects to be created"
    for path, obj in (
        (server.configmaps, configmap(resourceVersion="5")),
        (server.widgets, widget(resourceVersion="5")),
    ):
        assert (await server.post(path, obj)).refusal == (500, "", message)


async def test_C5_a_taken_name(server: Subject) -> None:
    await server.make(server.widgets, widget())
    answer = await server.post(server.widgets, widget())
    assert answer.refusal == (409, "AlreadyExists", f'widgets.{GROUP} "a" already exists')
    assert answer.content["details"] == {"name": "a", "group": GROUP, "kind": "widgets"}
    await server.make(server.configmaps, configmap())
    answer = await server.post(server.configmaps, configmap())
    assert answer.content["details"] == {"name": "a", "kind": "configmaps"}


async def test_C6_generated_names(server: Subject) -> None:
    names = set()
    for _ in range(3):
        sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
        made = await server.make(server.configmaps, sent)
        assert made["metadata"]["generateName"] == "gen-"
        names.add(made["metadata"]["name"])
    assert len(names) == 3
    assert all(re.fullmatch(r"gen-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


async def test_C7_no_name(server: Subject) -> None:
    answer = await server.post(server.configmaps, {"apiVersion": "v1", "kind": "ConfigMap"})
    message = (
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )
    assert answer.refusal == (422, "Invalid", message)
    assert answer.causes == [("FieldValueRequired", "metadata.name")]


async def test_C8_another_namespace_in_the_body(server: Subject) -> None:
    answer = await server.post(server.configmaps, configmap(namespace="elsewhere"))
    message = (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    assert answer.refusal == (400, "BadRequest", message)
    made = await server.make(server.configmaps, configmap())
    assert made["metadata"]["namespace"] == server.namespace


async def test_C8_a_namespace_in_a_cluster_scoped_object(server: Subject) -> None:
    plural = fresh("kinds")
    kind = plural.capitalize()
    crd = definition(plural, kind, OPEN_SCHEMA, scope="Cluster")
    assert (await server.post(CRDS, crd)).code == 201
    path = f"/apis/{GROUP}/v1/{plural}"
    await server.until(path, lambda found: found.code == 200)
    metadata = {"name": fresh("a"), "namespace": "zz"}
    custom = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
    made = await server.make(path, custom)
    assert "namespace" not in made["metadata"]
    built_in = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    made = await server.make("/api/v1/namespaces", built_in)
    assert "namespace" not in made["metadata"]
    await server.delete(f"/api/v1/namespaces/{made['metadata']['name']}")
    await server.delete(f"{CRDS}/{plural}.{GROUP}")


async def test_C9_a_missing_namespace(server: Subject) -> None:
    name = fresh("absent-")
    answer = await server.post(f"/api/v1/namespaces/{name}/configmaps", configmap())
    assert answer.refusal == (404, "NotFound", f'namespaces "{name}" not found')
    answer = await server.get(f"/api/v1/namespaces/{name}/configmaps")
    assert answer.content["items"] == []


async def test_C10_a_terminating_namespace(server: Subject) -> None:
    kept = await server.make(server.configmaps, configmap("kept", finalizers=["a.example/b"]))
    answer = await server.delete(f"/api/v1/namespaces/{server.namespace}")
    assert answer.content["status"]["phase"] == "Terminating"
    answer = await server.post(server.configmaps, configmap("late"))
    assert answer.refusal == (
        403,
        "Forbidden",
        f'configmaps "late" is forbidden: unable to create new content in namespace'
        f" {server.namespace} because it is being terminated",
    )
    assert answer.causes == [("NamespaceTerminating", "metadata.namespace")]
    kept_path = f"{server.configmaps}/{kept['metadata']['name']}"
    assert (await server.patch(kept_path, {"data": {"still": "writable"}})).code == 200
    assert (await server.patch(kept_path, {"metadata": {"finalizers": None}})).code == 200


async def test_C11_bad_names_labels_and_annotations(server: Subject) -> None:
    answer = await server.post(server.configmaps, configmap("Bad_", labels={"a b": "c d"}))
    assert answer.code == 422
    assert answer.causes == [
        ("FieldValueInvalid", "metadata.name"),
        ("FieldValueInvalid", "metadata.labels"),
        ("FieldValueInvalid", "metadata.labels"),
    ]
    assert "a lowercase RFC 1123 subdomain must consist of" in answer.message
    answer = await server.post(server.configmaps, configmap(annotations={"a": "x" * 262_145}))
    message = (
        'ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144'
        " bytes"
    )
    assert answer.refusal == (422, "Invalid", message)


async def test_C12_identity_on_update(server: Subject) -> None:
    made = await server.make(server.configmaps, configmap(data={"a": "1"}))
    path = f"{server.configmaps}/a"
    answer = await server.put(path, configmap(uid="other"))
    assert (answer.code, answer.reason) == (409, "Conflict")
    assert "Precondition failed: UID in precondition: other, UID in object meta" in answer.message
    answer = await server.put(path, configmap("b"))
    message = "the name of the object (b) does not match the name on the URL (a)"
    assert answer.refusal == (400, "BadRequest", message)
    answer = await server.put(path, configmap(creationTimestamp="2020-01-01T00:00:00Z"))
    assert answer.metadata["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    answer = await server.patch(path, {"metadata": {"uid": "other"}})
    message = 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'
    assert answer.refusal == (422, "Invalid", message)


async def test_C13_a_generation_that_is_sent_is_ignored(server: Subject) -> None:
    made = await server.make(server.widgets, widget(generation=7))
    assert made["metadata"]["generation"] == 1
    answer = await server.patch(f"{server.widgets}/a", {"metadata": {"generation": 9}})
    assert answer.metadata["generation"] == 1


async def test_C14_owners(server: Subject) -> None:
    def owner(uid: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "X", "name": uid, "uid": uid, "controller": True}

    answer = await server.post(
        server.configmaps, configmap(ownerReferences=[owner("a"), owner("b")])
    )
    assert answer.causes == [("FieldValueInvalid", "metadata.ownerReferences")]
    assert "Only one reference can have Controller set to true" in answer.message
    answer = await server.post(
        server.configmaps, configmap(ownerReferences=[owner("a"), owner("a")])
    )
    assert (answer.code, len(answer.metadata["ownerReferences"])) == (201, 1)
    assert "contains duplicate entries" in answer.headers["warning"]


async def test_C15_a_write_without_change_is_no_write(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 1}))
    path = f"{server.widgets}/a"
    version = made["metadata"]["resourceVersion"]
    async with server.watch(server.widgets, resourceVersion=version) as watch:
        assert (await server.put(path, made)).version == version
        assert (await server.patch(path, {"spec": {"size": 1}})).version == version
        await server.patch(path, {"spec": {"size": 2}})
        event = await watch.next()
        assert event is not None
        assert event["object"]["spec"]["size"] == 2


async def test_C15_times_of_managers_alone_are_no_change(server: Subject) -> None:
    made = await server.make(server.configmaps, configmap(data={"a": "1"}))
    for entry in made["metadata"]["managedFields"]:
        entry["time"] = "2021-01-01T00:00:00Z"
    answer = await server.put(f"{server.configmaps}/a", made)
    assert answer.code == 200
    assert answer.content["data"] == {"a": "1"}
