"""Items 58 to 72: deletion, finalizers, propagation, namespaces, definitions."""

from __future__ import annotations

import pytest
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

GONE = {"metadata": {"finalizers": None}}


async def test_C58_nothing_holds_it(server: Subject) -> None:
    made = await server.make(server.widgets, widget())
    answer = await server.delete(f"{server.widgets}/a")
    assert answer.code == 200
    assert answer.content == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": "a",
            "group": GROUP,
            "kind": "widgets",
            "uid": made["metadata"]["uid"],
        },
    }
    answer = await server.delete(f"{server.widgets}/a")
    assert answer.refusal == (404, "NotFound", f'widgets.{GROUP} "a" not found')


async def test_C59_C60_finalizers_hold_it(server: Subject) -> None:
    made = await server.make(server.widgets, widget(finalizers=["a.example/b"]))
    path = f"{server.widgets}/a"
    version = made["metadata"]["resourceVersion"]
    async with server.watch(server.widgets, resourceVersion=version) as watch:
        first = await server.delete(path)
        assert first.code == 200
        assert first.metadata["deletionGracePeriodSeconds"] == 0
        assert await watch.take(1) == [("MODIFIED", "a")]
        second = await server.delete(path)
        assert second.content == first.content
        assert await watch.is_silent(0.3)


async def test_C61_no_new_finalizers_while_terminating(server: Subject) -> None:
    await server.make(server.widgets, widget(finalizers=["a.example/b"]))
    path = f"{server.widgets}/a"
    await server.delete(path)
    answer = await server.patch(path, {"metadata": {"finalizers": ["a.example/b", "c.example/d"]}})
    assert answer.code == 422
    assert set(answer.causes) == {("FieldValueForbidden", "metadata.finalizers")}
    assert 'found new finalizers []string{"c.example/d"}' in answer.message


async def test_C62_C63_the_last_finalizer_goes(server: Subject) -> None:
    await server.make(server.widgets, widget(finalizers=["a.example/b"]))
    path = f"{server.widgets}/a"
    marked = await server.delete(path)
    async with server.watch(server.widgets, resourceVersion=marked.version) as watch:
        answer = await server.patch(
            path, {"metadata": {"finalizers": None, "labels": {"last": "words"}}}
        )
        assert (answer.code, answer.metadata["labels"]) == (200, {"last": "words"})
        assert "finalizers" not in answer.metadata
        event = await watch.next()
        assert event is not None
        assert event["type"] == "DELETED"
        last = event["object"]["metadata"]
        assert last["finalizers"] == ["a.example/b"]
        assert int(last["resourceVersion"]) > int(marked.version)
    assert (await server.get(path)).code == 404


async def test_C64_the_mark_stays(server: Subject) -> None:
    await server.make(server.widgets, widget(finalizers=["a.example/b"]))
    path = f"{server.widgets}/a"
    moment = (await server.delete(path)).metadata["deletionTimestamp"]
    for given in (None, "2020-01-01T00:00:00Z"):
        answer = await server.patch(path, {"metadata": {"deletionTimestamp": given}})
        assert (answer.code, answer.metadata["deletionTimestamp"]) == (200, moment)


async def test_C64_a_mark_cannot_be_set(server: Subject) -> None:
    await server.make(server.configmaps, configmap())
    mark = {"deletionTimestamp": "2020-01-01T00:00:00Z"}
    answer = await server.put(f"{server.configmaps}/a", configmap(**mark))
    assert set(answer.causes) == {("FieldValueInvalid", "metadata.deletionTimestamp")}


async def test_C65_preconditions(server: Subject) -> None:
    made = await server.make(server.widgets, widget())
    path = f"{server.widgets}/a"
    answer = await server.delete(path, {"preconditions": {"uid": "other"}})
    assert (answer.code, answer.reason) == (409, "Conflict")
    assert "the UID in the precondition (other) does not match the UID in record" in answer.message
    answer = await server.delete(path, {"preconditions": {"resourceVersion": "1"}})
    assert (answer.code, answer.reason) == (409, "Conflict")
    good = {name: made["metadata"][name] for name in ("uid", "resourceVersion")}
    assert (await server.delete(path, {"preconditions": good})).code == 200


async def test_C66_propagation(server: Subject) -> None:
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        await server.make(server.widgets, widget(policy.lower(), finalizers=["a.example/b"]))
        path = f"{server.widgets}/{policy.lower()}"
        answer = await server.delete(path, {"propagationPolicy": policy})
        assert answer.metadata["finalizers"] == ["a.example/b", finalizer]
    await server.make(server.widgets, widget("legacy", finalizers=["a.example/b"]))
    answer = await server.delete(f"{server.widgets}/legacy", {"orphanDependents": False})
    assert answer.code == 202
    answer = await server.delete(f"{server.widgets}/legacy", {"propagationPolicy": "Sideways"})
    assert answer.causes == [("FieldValueNotSupported", "propagationPolicy")]


async def test_C66_a_graceful_deletion_of_a_pod(server: Subject) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await server.post(server.core("serviceaccounts"), account)
    await server.make(server.core("pods"), pod)
    path = f"{server.core('pods')}/p"
    answer = await server.delete(path)
    assert answer.metadata["deletionGracePeriodSeconds"] == 30
    answer = await server.delete(path, {"gracePeriodSeconds": 60})
    assert answer.metadata["deletionGracePeriodSeconds"] == 30
    answer = await server.delete(path, {"gracePeriodSeconds": 5})
    assert answer.metadata["deletionGracePeriodSeconds"] == 5
    assert (await server.delete(path, {"gracePeriodSeconds": 0})).code == 200
    assert (await server.get(path)).code == 404


async def test_C69_a_collection(server: Subject) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {})):
        finalizers = ["a.example/b"] if name == "b" else []
        await server.make(server.widgets, widget(name, labels=labels, finalizers=finalizers))
    answer = await server.delete(server.widgets, labelSelector="x=1")
    assert answer.code == 200
    left = (await server.get(server.widgets)).content["items"]
    assert [item["metadata"]["name"] for item in left] == ["b", "c"]
    assert "deletionTimestamp" in left[0]["metadata"]


async def test_C70_a_namespace_ends_through_its_finalizers(server: Subject) -> None:
    if server.is_real:
        # A real controller empties it at once: the order is seen from outside.
        await server.make(server.configmaps, configmap())
        await server.delete(f"/api/v1/namespaces/{server.namespace}")
        await server.until(
            f"/api/v1/namespaces/{server.namespace}", lambda found: found.code == 404
        )
        return
    path = f"/api/v1/namespaces/{server.namespace}"
    answer = await server.delete(path)
    assert (answer.code, answer.content["status"]["phase"]) == (200, "Terminating")
    content = answer.content
    content["spec"]["finalizers"] = []
    answer = await server.put(f"{path}/finalize", content)
    assert answer.code == 200
    assert (await server.get(path)).code == 404


async def test_C70_system_namespaces_stay(server: Subject) -> None:
    answer = await server.delete("/api/v1/namespaces/kube-system")
    message = 'namespaces "kube-system" is forbidden: this namespace may not be deleted'
    assert answer.refusal == (403, "Forbidden", message)


async def test_C71_a_definition_takes_its_instances_along(server: Subject) -> None:
    plural = fresh("kinds")
    kind = "Kind" + plural[5:]
    await server.post(CRDS, definition(plural, kind, OPEN_SCHEMA))
    path = f"/apis/{GROUP}/v1/namespaces/{server.namespace}/{plural}"
    await server.until(path, lambda found: found.code == 200)
    for name, finalizers in (("free", []), ("held", ["a.example/b"])):
        metadata = {"name": name, "finalizers": finalizers}
        await server.make(path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata})
    crd = f"{CRDS}/{plural}.{GROUP}"
    answer = await server.delete(crd)
    assert "deletionTimestamp" in answer.metadata
    await server.until(f"{path}/free", lambda found: found.code == 404)
    assert "deletionTimestamp" in (await server.get(f"{path}/held")).metadata
    late = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "late"}}
    answer = await server.post(path, late)
    assert answer.refusal == (
        403,
        "Forbidden",
        f'{plural}.{GROUP} "late" is forbidden: create not allowed while custom resource'
        " definition is terminating",
    )
    await server.patch(f"{path}/held", GONE)
    await server.until(crd, lambda found: found.code == 404)
    await server.until(path, lambda found: found.code == 404)


@pytest.mark.parametrize("names", [(), ("free",)], ids=["empty", "full"])
async def test_C71_watches_of_a_kind_end_with_its_definition(
    server: Subject, names: tuple[str, ...]
) -> None:
    plural = fresh("kinds")
    kind = "Kind" + plural[5:]
    await server.post(CRDS, definition(plural, kind, OPEN_SCHEMA))
    path = f"/apis/{GROUP}/v1/namespaces/{server.namespace}/{plural}"
    version = (await server.until(path, lambda found: found.code == 200)).version
    for name in names:
        metadata = {"name": name}
        await server.make(path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata})
    async with server.watch(path, resourceVersion=version) as watch:
        await server.delete(f"{CRDS}/{plural}.{GROUP}")
        events = [(e["type"], e["object"]["metadata"]["name"]) for e in await watch.rest()]
    assert events[: len(names)] == [("ADDED", name) for name in names]
    assert events[len(names) :] in ([], [("DELETED", name) for name in names])


async def test_C72_a_recreated_object_is_another(server: Subject) -> None:
    first = await server.make(server.widgets, widget())
    await server.delete(f"{server.widgets}/a")
    second = await server.make(server.widgets, widget())
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
