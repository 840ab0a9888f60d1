"""Every verb and every class of error on a real control plane."""

from __future__ import annotations

import json

import msgspec
import pytest

from konstat import errors
from konstat.client.api import Client
from konstat.client.cluster import Impersonation
from konstat.client.config import load_config
from konstat.client.discovery import Discovery
from konstat.errors import APIError
from konstat.kinds import ConfigMap
from konstat.objects.kind import Kind
from konstat.testing import Options

pytestmark = pytest.mark.realapi

MAPS = ConfigMap.kind
PODS = Kind(group="", version="v1", kind="Pod", plural="pods")
NAMESPACES = Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
BUDGETS = Kind(
    group="policy", version="v1", kind="PodDisruptionBudget", plural="poddisruptionbudgets"
)
CRDS = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
)
GADGETS = Kind(group="client.example.com", version="v1", kind="Gadget", plural="gadgets")
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def client(control_plane, namespace):
    """A client of the administrator whose own namespace is the test's."""
    config = load_config(kubeconfig=control_plane.kubeconfig)
    async with Client.connect(msgspec.structs.replace(config, namespace=namespace)) as client:
        yield client


@pytest.fixture
async def gadgets(client, until_asked) -> Kind:
    """A kind with a status subresource and a list-map of conditions."""
    text = {"type": "string"}
    condition = {"type": "object", "required": ["type"], "properties": {"type": text, "s": text}}
    conditions = {
        "type": "array",
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    size = {"type": "integer", "maximum": 9}
    open_fields = {"x-kubernetes-preserve-unknown-fields": True}
    properties = {
        "spec": {"type": "object", "properties": {"size": size}, **open_fields},
        "status": {"type": "object", "properties": {"conditions": conditions}},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    content = {
        "metadata": {"name": GADGETS.resource},
        "spec": {
            "group": GADGETS.group,
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gdg"]},
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }
    await client.apply(CRDS, content)

    async def is_served() -> bool:
        try:
            await client.list(GADGETS)
        except errors.NotFound:
            return False
        return True

    await until_asked(is_served)
    return GADGETS


def config_map(name: str, **data: str) -> dict:
    return {"metadata": {"name": name}, "data": data}


async def failure(work) -> APIError:
    with pytest.raises(APIError) as caught:
        await work
    return caught.value


# --- verbs ----------------------------------------------------------------------------------------


async def test_an_object_from_its_creation_to_its_end(client, namespace):
    made = await client.create(ConfigMap(metadata={"name": "a"}, data={"x": "1"}))
    assert (made.namespace, made.raw("data")) == (namespace, {"x": "1"})
    assert (await client.get(ConfigMap, "a")).uid == made.uid

    content = await client.get(MAPS, "a")
    content["data"] = {"x": "2"}
    replaced = await client.replace(MAPS, content)
    assert replaced["data"] == {"x": "2"}
    merged = await client.patch(ConfigMap, "a", {"data": {"y": "3"}}, type="merge")
    assert merged.raw("data") == {"x": "2", "y": "3"}
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": made.uid},
        {"op": "remove", "path": "/data/y"},
    ]
    assert (await client.patch(MAPS, "a", operations, type="json"))["data"] == {"x": "2"}
    strategic = {"metadata": {"finalizers": ["example.com/hold"]}}
    held = await client.patch(ConfigMap, "a", strategic, type="strategic")
    assert held.metadata.finalizers == ("example.com/hold",)

    lingering = await client.delete(MAPS, "a", uid=made.uid)
    assert "deletionTimestamp" in lingering["metadata"]
    await client.patch(MAPS, "a", {"metadata": {"finalizers": None}}, type="merge")
    assert type(await failure(client.get(MAPS, "a"))) is errors.NotFound


async def test_apply_creates_and_owns(client):
    made = await client.apply(ConfigMap(metadata={"name": "a"}, data={"x": "1"}))
    again = await client.apply(MAPS, config_map("a", x="1"))
    assert again["metadata"]["resourceVersion"] == made.metadata.resource_version
    [owner] = again["metadata"]["managedFields"]
    assert (owner["manager"], owner["operation"]) == ("konstat", "Apply")

    conflict = await failure(client.apply(MAPS, config_map("a", x="2"), field_manager="other"))
    assert type(conflict) is errors.Conflict
    assert [cause.field for cause in conflict.causes] == [".data.x"]
    forced = await client.apply(MAPS, config_map("a", x="2"), field_manager="other", force=True)
    assert forced["data"] == {"x": "2"}


async def test_a_dry_run_changes_nothing(client):
    assert (await client.create(MAPS, config_map("a"), dry_run=True))["metadata"]["uid"]
    assert type(await failure(client.get(MAPS, "a"))) is errors.NotFound
    await client.create(MAPS, config_map("a"))
    await client.patch(MAPS, "a", {"data": {"x": "1"}}, type="merge", dry_run=True)
    await client.delete(MAPS, "a", dry_run=True)
    assert "data" not in await client.get(MAPS, "a")


async def test_74_75_76_lists(client, namespace):
    for name in ("c", "a", "b"):
        await client.create(MAPS, {"metadata": {"name": name, "labels": {"mine": "yes"}}})
    found = await client.list(ConfigMap, label_selector="mine=yes", limit=1)
    assert [each.name for each in found] == ["a", "b", "c"]
    [one] = await client.list(MAPS, field_selector="metadata.name=b")
    assert (one["kind"], one["metadata"]["name"]) == ("ConfigMap", "b")
    everywhere = await client.list(ConfigMap, namespace=None)
    assert {namespace, "kube-system"} <= {each.namespace for each in everywhere}

    page = await client.list_page(MAPS, namespace=namespace, limit=1)
    assert page.remaining == 3  # and kube-root-ca.crt
    following = await client.list_page(
        MAPS, namespace=namespace, limit=9, continue_token=page.continue_token
    )
    assert len(following.items) == 3
    assert following.resource_version == page.resource_version
    assert following.continue_token == ""

    await client.delete_collection(MAPS, namespace=namespace, label_selector="mine=yes")
    assert await client.list(MAPS, label_selector="mine=yes") == []


async def test_83_87_watches(client, namespace):
    start = await client.list_page(MAPS, namespace=namespace)
    await client.create(MAPS, config_map("a", x="1"))
    await client.patch(MAPS, "a", {"data": {"x": "€" * 100_000}}, type="merge")
    await client.delete(MAPS, "a")
    seen = []
    async with client.watch(
        MAPS, namespace=namespace, resource_version=start.resource_version, timeout_seconds=30
    ) as events:
        async for event in events:
            seen.append((event.type, json.loads(bytes(event.object))["metadata"]["name"]))
            if event.type == "DELETED":
                break
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    async with client.watch(
        MAPS,
        namespace=namespace,
        resource_version="",
        timeout_seconds=30,
        send_initial_events=True,
    ) as events:
        types = [event.type async for event in _until_bookmark(events)]
    assert types == ["ADDED", "BOOKMARK"]  # kube-root-ca.crt


async def _until_bookmark(events):
    async for event in events:
        yield event
        if event.type == "BOOKMARK":
            return


async def test_89_the_server_ends_a_watch_cleanly(client, namespace):
    async with client.watch(
        PODS, namespace=namespace, resource_version=None, timeout_seconds=1, bookmarks=False
    ) as events:
        assert [event async for event in events] == []


async def test_status_is_written_by_its_subresource(client, gadgets):
    made = await client.create(gadgets, {"metadata": {"name": "g"}, "spec": {"size": 1}})
    ready = {"conditions": [{"type": "Ready", "s": "True"}]}
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": made["metadata"]["uid"]},
        {"op": "test", "path": "/status", "value": None},
        {"op": "add", "path": "/status", "value": ready},
    ]
    await client.patch(gadgets, "g", operations, type="json", subresource="status")
    assert (await client.get(gadgets, "g", subresource="status"))["status"] == ready
    moved = await failure(client.patch(gadgets, "g", operations, type="json", subresource="status"))
    assert type(moved) is errors.PatchRefused
    applied = {"metadata": {"name": "g"}, "status": {"conditions": [{"type": "Other", "s": "x"}]}}
    both = await client.apply(gadgets, applied, subresource="status")
    assert len(both["status"]["conditions"]) == 2
    absent = {**applied, "metadata": {"name": "absent"}}
    assert type(await failure(client.apply(gadgets, absent, subresource="status"))) is (
        errors.NotFound
    )


async def test_discovery(client, gadgets):
    found = Discovery(client)
    assert await found.find("gdg") == gadgets
    assert await found.find("cm") == MAPS
    assert (await found.find("events")).group == ""
    assert (await found.find("ns")) == NAMESPACES
    served = await found.served(gadgets.group, "Gadget")
    assert served is not None
    assert served.subresources == ("status",)
    assert found.unavailable == ()


# --- errors ---------------------------------------------------------------------------------------


async def test_104_401_403_404_405(client, control_plane, namespace):
    config = load_config(kubeconfig=control_plane.kubeconfig)
    async with Client.connect(msgspec.structs.replace(config, token="wrong")) as stranger:
        error = await failure(stranger.get(MAPS, "a"))
        assert (type(error), error.reason) == (errors.Unauthorized, "Unauthorized")
    nobody = Impersonation(user="nobody", groups=("none",))
    async with Client.connect(msgspec.structs.replace(config, impersonation=nobody)) as other:
        error = await failure(other.get(MAPS, "a"))
        assert (type(error), error.reason) == (errors.Forbidden, "Forbidden")
        assert 'User "nobody" cannot get resource "configmaps"' in str(error)
    error = await failure(client.get(MAPS, "absent"))
    assert (type(error), error.status["details"]["name"]) == (errors.NotFound, "absent")
    for kind in (
        Kind(group="no.example.com", version="v1", kind="X", plural="xs"),
        Kind(group="apps", version="v1", kind="X", plural="xs"),
    ):
        assert type(await failure(client.get(kind, "a"))) is errors.NotFound
    error = await failure(client.delete_collection(NAMESPACES))
    assert type(error) is errors.MethodNotAllowed


async def test_impersonation_is_understood(client, control_plane):
    config = load_config(kubeconfig=control_plane.kubeconfig)
    who = Impersonation(
        user="jane", groups=("devs", "ops"), uid="17", extra=(("a.b/c d", ("x", "y")),)
    )
    review = json.dumps({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"})
    async with Client.connect(msgspec.structs.replace(config, impersonation=who)) as jane:
        answer = json.loads(await jane.exchange("POST", SELF, body=review.encode()))
    user = answer["status"]["userInfo"]
    assert (user["username"], user["uid"]) == ("jane", "17")
    assert user["groups"] == ["devs", "ops", "system:authenticated"]
    assert user["extra"] == {"a.b/c d": ["x", "y"]}


async def test_409_in_its_forms(client):
    made = await client.create(MAPS, config_map("a", x="1"))
    assert type(await failure(client.create(MAPS, config_map("a")))) is errors.AlreadyExists
    await client.patch(MAPS, "a", {"data": {"x": "2"}}, type="merge")
    assert type(await failure(client.replace(MAPS, made))) is errors.Conflict
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    assert type(await failure(client.patch(MAPS, "a", stale, type="merge"))) is errors.Conflict
    error = await failure(client.delete(MAPS, "a", uid="another"))
    assert type(error) is errors.Conflict
    assert not error.retryable


async def test_400_and_strict_validation(client):
    unknown = {"metadata": {"name": "a"}, "dota": {}}
    error = await failure(client.create(MAPS, unknown))
    assert type(error) is errors.BadRequest
    assert 'unknown field "dota"' in str(error)
    await client.create(MAPS, unknown, field_validation="Ignore")
    assert type(await failure(client.list(MAPS, label_selector="=("))) is errors.BadRequest
    assert type(await failure(client.patch(MAPS, "a", b"{", type="json"))) is errors.BadRequest


async def test_422_with_causes_and_without(client, gadgets):
    error = await failure(client.create(gadgets, {"metadata": {"name": "g"}, "spec": {"size": 10}}))
    assert type(error) is errors.Invalid
    assert [cause.field for cause in error.causes] == ["spec.size"]
    await client.create(gadgets, {"metadata": {"name": "g"}, "spec": {"size": 1}})
    error = await failure(client.patch(gadgets, "g", {"spec": {"size": 10}}, type="merge"))
    assert type(error) is errors.Invalid
    refused = [{"op": "remove", "path": "/spec/absent"}]
    error = await failure(client.patch(gadgets, "g", refused, type="json"))
    assert type(error) is errors.PatchRefused
    error = await failure(client.patch(gadgets, "g", {}, type="strategic"))
    assert type(error) is errors.UnsupportedMediaType


async def test_406_and_415(client):
    error = await failure(client.exchange("GET", "/api/v1/namespaces", accept="text/html"))
    assert type(error) is errors.NotAcceptable
    error = await failure(
        client.exchange("POST", "/api/v1/namespaces", body=b"{}", content_type="text/html")
    )
    assert type(error) is errors.UnsupportedMediaType


@pytest.mark.parametrize(("size", "code"), [(2_000_000, 500), (3_120_000, 500), (4_000_000, 413)])
async def test_97_objects_that_are_too_large(client, gadgets, size, code):
    # Built-in kinds check sizes of their own; a custom resource goes down to etcd.
    body = {"metadata": {"name": "g"}, "spec": {"size": 1, "filling": "x" * size}}
    error = await failure(client.create(gadgets, body))
    assert (type(error), error.code) == (errors.RequestTooLarge, code)
    assert not error.retryable


async def test_F23_the_500_that_is_permanent(client):
    content = {"metadata": {"name": "a", "resourceVersion": "5"}}
    error = await failure(client.create(MAPS, content))
    assert (type(error), error.code, error.retryable) == (errors.ServerError, 500, False)


async def test_81_a_version_ahead_of_the_server_times_out(client, namespace):
    error = await failure(
        client.list_page(
            MAPS,
            namespace=namespace,
            resource_version="99999999999",
            resource_version_match="NotOlderThan",
        )
    )
    assert (type(error), error.retry_after_seconds) == (errors.ServerTimeout, 1)
    assert [cause.reason for cause in error.causes] == ["ResourceVersionTooLarge"]


async def test_F60_a_namespace_that_terminates_lets_nothing_in(client, until_asked):
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "ending-"}})
    name = made["metadata"]["name"]
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await client.create(MAPS, held, namespace=name)
    await client.delete(NAMESPACES, name)
    error = await failure(client.create(MAPS, config_map("a"), namespace=name))
    assert type(error) is errors.Forbidden
    assert [cause.reason for cause in error.causes] == ["NamespaceTerminating"]
    await client.patch(
        MAPS, "held", {"metadata": {"finalizers": None}}, type="merge", namespace=name
    )


async def test_429_of_an_eviction(client, namespace, until_asked):
    container = {"name": "c", "image": "example.com/none:1"}
    pod = {
        "metadata": {"name": "p", "labels": {"app": "p"}},
        "spec": {"containers": [container], "nodeName": "no-node"},
    }
    await client.create(PODS, pod)
    ready = {"type": "Ready", "status": "True"}
    status = {"status": {"phase": "Running", "conditions": [ready]}}
    await client.patch(PODS, "p", status, type="strategic", subresource="status")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    await client.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})

    async def is_counted() -> bool:
        budget = await client.get(BUDGETS, "b")
        return budget.get("status", {}).get("currentHealthy") == 1

    await until_asked(is_counted)
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}}
    error = await failure(
        client.exchange(
            "POST",
            PODS.path(namespace, "p", "eviction"),
            body=json.dumps(eviction).encode(),
            retry=False,
        )
    )
    assert type(error) is errors.TooManyRequests
    assert [cause.reason for cause in error.causes] == ["DisruptionBudget"]
    await client.delete(PODS, "p", grace_period_seconds=0)


async def test_77_85_F6_what_etcd_has_forgotten_is_expired(start_control_plane, until_asked):
    plane = start_control_plane(
        Options(
            controller_manager=False,
            scheduler=False,
            apiserver_flags=("--etcd-compaction-interval=1s", "--watch-cache=false"),
        )
    )
    async with Client.connect(load_config(kubeconfig=plane.kubeconfig)) as client:
        for name in ("a", "b", "c"):
            await client.create(MAPS, config_map(name))
        page = await client.list_page(MAPS, namespace="default", limit=1)
        # A watch from a version is still possible when that version alone is forgotten.
        await client.create(MAPS, config_map("d"))
        later = await client.create(MAPS, config_map("e"))
        version = later["metadata"]["resourceVersion"]

        async def is_forgotten() -> bool:
            await client.patch(MAPS, "a", {"data": {"x": "1"}}, type="merge")
            await client.patch(MAPS, "a", {"data": {"x": "2"}}, type="merge")
            try:
                await client.list_page(
                    MAPS, resource_version=version, resource_version_match="Exact"
                )
            except errors.Expired:
                return True
            return False

        await until_asked(is_forgotten)
        with pytest.raises(errors.Expired):
            await client.list_page(
                MAPS, namespace="default", limit=1, continue_token=page.continue_token
            )
        with pytest.raises(errors.Expired) as caught:
            async with client.watch(
                MAPS, resource_version=page.resource_version, timeout_seconds=20
            ) as events:
                assert [event async for event in events] == []
        assert caught.value.code == 410
