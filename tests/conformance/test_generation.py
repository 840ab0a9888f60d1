"""Items 16 to 30: generation, status, scale, optimistic locking."""

from __future__ import annotations

from both_servers import GROUP, JSON_PATCH, Subject, configmap, plain, widget


async def test_C16_any_change_outside_metadata_and_status_counts(server: Subject) -> None:
    await server.make(server.plains, plain(spec={"a": 1}, extra={"b": 1}))
    path = f"{server.plains}/a"
    assert (await server.patch(path, {"extra": {"b": 2}})).metadata["generation"] == 2
    assert (await server.patch(path, {"spec": {"a": 2}})).metadata["generation"] == 3
    labelled = await server.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.metadata["generation"] == 3


async def test_C17_without_a_status_subresource(server: Subject) -> None:
    await server.make(server.plains, plain(status={"phase": "x"}))
    path = f"{server.plains}/a"
    answer = await server.patch(path, {"status": {"phase": "y"}})
    assert (answer.content["status"], answer.metadata["generation"]) == ({"phase": "y"}, 2)
    answer = await server.get(f"{path}/status")
    assert answer.refusal == (404, "NotFound", f'plains.{GROUP} "a" not found')


async def test_C18_the_main_resource_leaves_status_alone(server: Subject) -> None:
    made = await server.make(server.widgets, {**widget(), "status": {"phase": "sent"}})
    assert "status" not in made
    path = f"{server.widgets}/a"
    await server.patch(f"{path}/status", {"status": {"phase": "real"}})
    answer = await server.patch(path, {"status": {"phase": "fake"}, "spec": {"size": 3}})
    assert (answer.code, answer.content["status"]) == (200, {"phase": "real"})
    current = (await server.get(path)).content
    answer = await server.put(path, {**current, "status": {"phase": "fake"}})
    assert (answer.code, answer.content["status"]) == (200, {"phase": "real"})


async def test_C19_status_writes_change_status_alone(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 1}))
    answer = await server.patch(
        f"{server.widgets}/a/status",
        {
            "status": {"phase": "new"},
            "spec": {"size": 9},
            "metadata": {"labels": {"a": "b"}, "finalizers": ["a.example/b"]},
        },
    )
    content = answer.content
    assert (answer.code, content["status"]) == (200, {"phase": "new"})
    assert content["spec"]["size"] == 1
    assert {"labels", "finalizers"}.isdisjoint(content["metadata"])
    assert content["metadata"]["generation"] == 1


async def test_C20_a_status_put_needs_the_version(server: Subject) -> None:
    made = await server.make(server.widgets, widget())
    path = f"{server.widgets}/a/status"
    answer = await server.put(path, {**widget(), "status": {"phase": "x"}})
    assert answer.code == 422
    assert answer.causes == [("FieldValueInvalid", "metadata.resourceVersion")]
    answer = await server.put(path, {**made, "status": {"phase": "x"}})
    assert answer.content["status"] == {"phase": "x"}
    answer = await server.put(path, {**made, "status": {"phase": "y"}})
    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_C21_status_is_validated(server: Subject) -> None:
    await server.make(server.widgets, widget())
    answer = await server.patch(f"{server.widgets}/a/status", {"status": {"phase": "x" * 21}})
    assert answer.code == 422
    assert answer.causes == [("FieldValueTooLong", "status.phase")]


async def test_C22_status_gives_the_whole_object(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 1}))
    assert (await server.get(f"{server.widgets}/a/status")).content == made


async def test_C23_scale(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"replicas": 2}))
    path = f"{server.widgets}/a/scale"
    scale = (await server.get(path)).content
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 0})
    assert scale["metadata"]["uid"] == made["metadata"]["uid"]
    answer = await server.patch(path, {"spec": {"replicas": 5}})
    assert answer.content["spec"] == {"replicas": 5}
    answer = await server.put(path, {**answer.content, "spec": {"replicas": 6}})
    assert answer.code == 200
    whole = (await server.get(f"{server.widgets}/a")).content
    assert (whole["spec"]["replicas"], whole["metadata"]["generation"]) == (6, 3)
    answer = await server.put(path, {**scale, "spec": {"replicas": 1}})
    assert (answer.code, answer.reason) == (409, "Conflict")
    answer = await server.patch(path, {"spec": {"replicas": -1}})
    assert answer.causes == [("FieldValueInvalid", ".spec.replicas")]


async def test_C23_scale_without_replicas(server: Subject) -> None:
    await server.make(server.widgets, widget())
    path = f"{server.widgets}/a/scale"
    problem = 'the spec replicas field ".spec.replicas" does not exist'
    answer = await server.get(path)
    assert answer.refusal == (500, "InternalError", f"Internal error occurred: {problem}")
    answer = await server.patch(path, {"spec": {"replicas": 2}})
    assert (answer.code, answer.content["spec"]) == (200, {"replicas": 2})
    whole = (await server.get(f"{server.widgets}/a")).content
    assert (whole["spec"]["replicas"], whole["metadata"]["generation"]) == (2, 2)


async def test_C23_scale_of_a_deployment(server: Subject) -> None:
    await server.make(server.apps("deployments"), _deployment())
    path = f"{server.apps('deployments')}/d/scale"
    assert (await server.get(path)).content["status"]["selector"] == "app=d"
    assert (await server.patch(path, {"spec": {"replicas": 4}})).code == 200
    whole = (await server.get(f"{server.apps('deployments')}/d")).content
    assert (whole["spec"]["replicas"], whole["metadata"]["generation"]) == (4, 2)


def _deployment() -> dict[str, object]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


async def test_C24_the_first_mark_of_deletion_counts_once(server: Subject) -> None:
    await server.make(server.widgets, widget(finalizers=["a.example/b"]))
    path = f"{server.widgets}/a"
    assert (await server.delete(path)).metadata["generation"] == 2
    assert (await server.delete(path)).metadata["generation"] == 2


async def test_C25_a_stale_put(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 1}))
    path = f"{server.widgets}/a"
    await server.patch(path, {"spec": {"size": 2}})
    answer = await server.put(path, made)
    assert answer.refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on widgets.{GROUP} "a": the object has been modified;'
        " please apply your changes to the latest version and try again",
    )
    assert answer.content["details"] == {"name": "a", "group": GROUP, "kind": "widgets"}


async def test_C26_a_put_without_version(server: Subject) -> None:
    await server.make(server.widgets, widget())
    answer = await server.put(f"{server.widgets}/a", widget(spec={"size": 2}))
    assert answer.refusal == (
        422,
        "Invalid",
        f'widgets.{GROUP} "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be'
        " specified for an update",
    )
    await server.make(server.configmaps, configmap())
    answer = await server.put(f"{server.configmaps}/a", configmap(data={"a": "2"}))
    assert (answer.code, answer.content["data"]) == (200, {"a": "2"})


async def test_C27_patches_do_not_conflict_with_each_other(server: Subject) -> None:
    await server.make(server.widgets, widget(spec={"size": 1}))
    path = f"{server.widgets}/a"
    for number in range(5):
        assert (await server.patch(path, {"spec": {"size": number}})).code == 200
        assert (await server.patch(f"{path}/status", {"status": {"replicas": number}})).code == 200


async def test_C28_a_version_in_a_patch_is_a_condition(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 1}))
    path = f"{server.widgets}/a"
    version = made["metadata"]["resourceVersion"]
    good = {"metadata": {"resourceVersion": version}, "spec": {"size": 2}}
    assert (await server.patch(path, good)).code == 200
    answer = await server.patch(path, {**good, "spec": {"size": 3}})
    assert (answer.code, answer.reason) == (409, "Conflict")
    stale = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
    answer = await server.patch(path, stale, JSON_PATCH)
    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_C29_a_put_of_an_absent_object(server: Subject) -> None:
    answer = await server.put(f"{server.widgets}/a", widget(resourceVersion="1"))
    assert answer.refusal == (404, "NotFound", f'widgets.{GROUP} "a" not found')
    answer = await server.put(f"{server.configmaps}/a", configmap())
    assert answer.refusal == (404, "NotFound", 'configmaps "a" not found')
