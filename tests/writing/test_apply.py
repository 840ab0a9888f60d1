"""Applying children against a real API server: what is sent, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from widgets import FaultyTransport, Widget

from konstat.base import clock, limits
from konstat.cache import Store
from konstat.client import Client
from konstat.errors import (
    BadRequest,
    Conflict,
    FieldReverted,
    FormerChild,
    ManifestError,
    NamesakeError,
    NotFound,
    TransportError,
)
from konstat.kinds import ConfigMap, Deployment, Job, Secret
from konstat.objects.resource import Resource
from konstat.writing import Applied, Applier, Owner

pytestmark = pytest.mark.realapi

ADMISSION = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"


class Bench:
    """An owner, an applier, and a store that only our own writes fill."""

    def __init__(
        self, client: Client, transport: FaultyTransport, owner: Widget, namespace: str
    ) -> None:
        self.client = client
        self.transport = transport
        self.namespace = namespace
        self.owner = owned_by(owner)
        self.applier = Applier(client, field_manager="tests")
        self.stores: dict[str, Store] = {}

    def store(self, cls: type[Resource[Any, Any]]) -> Store:
        return self.stores.setdefault(cls.kind.kind, Store(cls.kind))

    async def apply(self, item: Resource[Any, Any], **options: Any) -> Applied:
        self.transport.sent.clear()
        return await self.applier.apply(
            item.content,
            kind=item.kind,
            owner=self.owner,
            store=self.store(type(item)),
            **options,
        )

    @property
    def requests(self) -> list[str]:
        return [request.method for request in self.transport.sent]

    async def by_hand(self, item: Resource[Any, Any], patch: dict[str, Any]) -> None:
        """Another manager edits, and our cache sees it."""
        await self.client.patch(
            item.kind,
            item.name,
            patch,
            type="merge",
            namespace=self.namespace,
            field_manager="by-hand",
        )
        await self.refresh(type(item), item.name)

    async def refresh(self, cls: type[Resource[Any, Any]], name: str) -> None:
        from konstat.objects.snapshot import Snapshot

        content = await self.client.get(cls.kind, name, namespace=self.namespace)
        self.store(cls).apply(Snapshot.from_content(cls.kind, content))

    async def live(self, cls: type[Resource[Any, Any]], name: str) -> dict[str, Any]:
        return await self.client.get(cls.kind, name, namespace=self.namespace)


@pytest.fixture
async def bench(faulty: tuple[Client, FaultyTransport], namespace: str) -> Bench:
    client, transport = faulty
    owner = await client.create(Widget.named("owner", namespace=namespace, size=1))
    return Bench(client, transport, owner, namespace)


def owned_by(owner: Widget) -> Owner:
    return Owner(kind=Widget.kind, reference=owner.owner_reference(), namespace=owner.namespace)


def config(**data: str) -> ConfigMap:
    return ConfigMap(metadata={"name": "child", "labels": {"a": "b"}}, data=data)


def workload(**spec: Any) -> Deployment:
    labels = {"app": "child"}
    container = {
        "name": "web",
        "image": "nginx:1",
        "resources": {"limits": {"cpu": "0.50", "memory": "1024Mi"}},
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": ""}],
    }
    return Deployment(
        metadata={"name": "child"},
        spec={
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    )


async def test_a_child_is_created_owned_and_then_left_alone(bench: Bench) -> None:
    made = await bench.apply(config(k="v"))
    assert made.action == "created"
    assert bench.requests == ["GET", "PATCH"]
    assert made.snapshot.controller_uid == bench.owner.reference.uid
    held = await bench.apply(config(k="v"))
    assert (held.action, bench.requests) == ("held", [])


async def test_after_a_restart_nothing_is_sent(bench: Bench) -> None:
    for item in (config(k="v"), workload()):
        await bench.apply(item)
        # The API server's defaulting and a controller's annotations come on top.
        await bench.refresh(type(item), "child")
    bench.applier = Applier(bench.client, field_manager="tests")
    for item in (config(k="v"), workload()):
        held = await bench.apply(item)
        assert (held.action, bench.requests) == ("held", [])


async def test_a_changed_wish_is_one_request(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    updated = await bench.apply(config(k="w"))
    assert (updated.action, bench.requests) == ("updated", ["PATCH"])
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "w"}


async def test_a_field_no_longer_wanted_is_removed(bench: Bench) -> None:
    await bench.apply(config(k="v", gone="x"))
    await bench.apply(config(k="v"))
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "v"}


async def test_fields_of_others_stay(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"theirs": "x"}, "metadata": {"labels": {"t": "u"}}})
    assert (await bench.apply(config(k="v"))).action == "held"
    await bench.apply(config(k="w"))
    live = await bench.live(ConfigMap, "child")
    assert live["data"] == {"k": "w", "theirs": "x"}
    assert live["metadata"]["labels"] == {"a": "b", "t": "u"}


async def test_F51_an_edit_by_hand_is_put_back_naming_the_manager(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"k": "hacked"}})
    corrected = await bench.apply(config(k="v"))
    assert corrected.action == "corrected"
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "v"}
    [note] = corrected.notes
    assert (note.reason, note.warning) == ("Corrected", True)
    assert "data.k" in note.message
    assert "by-hand" in note.message


async def test_F51_a_removal_by_hand_is_put_back(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"k": None}})
    assert (await bench.apply(config(k="v"))).action == "corrected"
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "v"}


async def test_F19_a_conflict_is_reported_instead_of_taken_where_asked(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"k": "hacked"}})
    with pytest.raises(Conflict, match="by-hand"):
        await bench.apply(config(k="v"), on_conflict="report")
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "hacked"}


async def test_a_namesake_of_nobody_is_not_adopted(bench: Bench) -> None:
    foreign = ConfigMap(metadata={"name": "child", "namespace": bench.namespace}, data={"k": "1"})
    await bench.client.create(foreign)
    with pytest.raises(NamesakeError, match="controlled by nobody"):
        await bench.apply(config(k="v"))
    live = await bench.live(ConfigMap, "child")
    assert live["data"] == {"k": "1"}
    assert "ownerReferences" not in live["metadata"]


async def test_F52_what_a_former_owner_left_is_replaced(bench: Bench) -> None:
    former = (await bench.apply(config(k="v"))).snapshot
    # Orphaned by hand and given back, so that garbage collection does not come before us.
    await bench.client.delete(Widget, "owner", namespace=bench.namespace, propagation="Orphan")
    await _until_gone(bench)
    owner = await bench.client.create(Widget.named("owner", namespace=bench.namespace, size=1))
    references = [msgspec.to_builtins(bench.owner.reference)]
    await bench.by_hand(config(), {"metadata": {"ownerReferences": references}})
    bench.owner = owned_by(owner)
    made = await bench.apply(config(k="v"))
    assert made.snapshot.uid != former.uid
    assert made.snapshot.controller_uid == owner.uid


async def test_S2_a_child_of_a_newer_namesake_is_left_alone(bench: Bench) -> None:
    made = await bench.apply(config(k="v"))
    # Our own view is old: another uid has our name, and the child is its.
    stale = msgspec.structs.replace(bench.owner.reference, uid="former")
    bench.owner = msgspec.structs.replace(bench.owner, reference=stale)
    with pytest.raises(FormerChild, match="we are late"):
        await bench.apply(config(k="w"))
    assert (await bench.live(ConfigMap, "child"))["metadata"]["uid"] == made.snapshot.uid


async def _until_gone(bench: Bench) -> None:
    deadline = clock.monotonic() + 60
    while clock.monotonic() < deadline:
        try:
            await bench.client.get(Widget, "owner", namespace=bench.namespace)
        except NotFound:
            return
        await clock.sleep(0.05)
    raise AssertionError("the owner is still there")


async def test_F47_an_apply_never_lands_on_a_recreated_child(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.client.delete(ConfigMap, "child", namespace=bench.namespace)
    foreign = ConfigMap(metadata={"name": "child", "namespace": bench.namespace}, data={"k": "1"})
    await bench.client.create(foreign)
    # The cache still shows ours; the uid in the apply makes the server refuse.
    with pytest.raises(NamesakeError):
        await bench.apply(config(k="w"))
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "1"}


async def test_a_child_deleted_behind_the_cache_is_made_anew(bench: Bench) -> None:
    await bench.apply(config(k="v"))
    await bench.client.delete(ConfigMap, "child", namespace=bench.namespace)
    assert (await bench.apply(config(k="w"))).action == "created"
    assert (await bench.live(ConfigMap, "child"))["data"] == {"k": "w"}


async def test_quantities_spelled_differently_hold(bench: Bench) -> None:
    made = await bench.apply(workload())
    limits_kept = made.snapshot.content["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert limits_kept["limits"] == {"cpu": "500m", "memory": "1Gi"}
    assert (await bench.apply(workload())).action == "held"


async def test_a_secrets_string_data_holds(bench: Bench) -> None:
    secret = Secret(metadata={"name": "child"}, stringData={"password": "hunter2"})
    await bench.apply(secret)
    assert (await bench.apply(secret)).action == "held"
    changed = Secret(metadata={"name": "child"}, stringData={"password": "other"})
    assert (await bench.apply(changed)).action == "updated"


async def test_an_immutable_field_fails_or_recreates(bench: Bench) -> None:
    def job(image: str) -> Job:
        container = {"name": "main", "image": image}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        return Job(metadata={"name": "child"}, spec={"suspend": True, "template": template})

    first = await bench.apply(job("a:1"))
    with pytest.raises(ManifestError, match=r"spec\.template\S* cannot be changed.*recreate"):
        await bench.apply(job("a:2"))
    again = await bench.apply(job("a:2"), on_immutable="recreate")
    assert again.action in ("recreated", "recreating")
    if again.action == "recreating":  # finalizers of the Job controller hold the old one
        return
    assert again.snapshot.uid != first.snapshot.uid


async def test_F65_what_the_server_undoes_is_reported_and_not_sent_again(bench: Bench) -> None:
    await _revert_data_key(bench)
    try:
        with pytest.raises(FieldReverted, match=r"data\.reverted.*undone twice"):
            await _until_reverted(bench)
        for sent in (["PATCH", "PATCH"], []):
            with pytest.raises(FieldReverted):
                await bench.apply(config(reverted="mine"))
            assert bench.requests == sent
        # Another wish begins anew.
        assert (await bench.apply(config(k="v"))).action == "updated"
    finally:
        for path in (ADMISSION, ADMISSION.replace("policies", "policybindings")):
            await bench.client.exchange("DELETE", f"{path}/revert.{bench.namespace}")


async def _until_reverted(bench: Bench) -> None:
    """A new admission policy takes a moment to act."""
    deadline = clock.monotonic() + 30
    count = 0
    while clock.monotonic() < deadline:
        count += 1
        await bench.apply(config(reverted="mine", count=str(count)))
        await clock.sleep(0.05)


async def _revert_data_key(bench: Bench) -> None:
    name = f"revert.{bench.namespace}"
    expression = "Object{data: {'reverted': 'theirs'}}"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": bench.namespace}
                },
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                        "operations": ["CREATE", "UPDATE"],
                    }
                ],
            },
            "matchConditions": [
                {"name": "has", "expression": "has(object.data) && 'reverted' in object.data"}
            ],
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": expression},
                }
            ],
        },
    }
    binding = {
        "apiVersion": policy["apiVersion"],
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    from konstat.objects import codec

    await bench.client.exchange("POST", ADMISSION, body=codec.encode(policy))
    path = ADMISSION.replace("policies", "policybindings")
    await bench.client.exchange("POST", path, body=codec.encode(binding))


async def test_a_rival_that_never_stops_is_reported(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONTESTED_CORRECTIONS", 3)
    await bench.apply(config(k="v"))
    for turn in range(3):
        await bench.by_hand(config(), {"data": {"k": f"rival {turn}"}})
        await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"k": "rival again"}})
    with pytest.raises(FieldReverted, match="changed 3 times"):
        await bench.apply(config(k="v"))
    assert bench.requests == []


async def test_unknown_fields_are_refused_for_good_with_their_path(bench: Bench) -> None:
    item = ConfigMap(metadata={"name": "child"}, dataa={"k": "v"})
    with pytest.raises(BadRequest, match=r"dataa"):
        await bench.apply(item)


async def test_an_apply_that_is_refused_is_no_fight(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONTESTED_CORRECTIONS", 2)
    await bench.apply(config(k="v"))
    await bench.by_hand(config(), {"data": {"k": "hacked"}})
    bench.transport.fault = lambda r: "refuse" if r.method == "PATCH" else ""
    for _ in range(5):
        with pytest.raises(TransportError):
            await bench.apply(config(k="v"))
    bench.transport.fault = lambda _: ""
    assert (await bench.apply(config(k="v"))).action == "corrected"
