"""Field ownership of built-in kinds, and through /scale, is that of the real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import apply_rig
import pytest
from apply_rig import APPLY, JSON, MERGE, STRATEGIC, Answer, Object, Wire
from hypothesis import HealthCheck, currently_in_test_context, given, note, settings
from hypothesis import strategies as st

from konstat.base import chance, clock
from konstat.embedded.apply import apply
from konstat.embedded.builtin import definitions
from konstat.embedded.managed import entries_of, track_update
from konstat.embedded.managed_resets import reset_fields
from konstat.embedded.managed_scale import SCALE_SCHEMA, SCALE_VERSION, to_parent, to_scale
from konstat.embedded.status_errors import StatusError
from konstat.testing import ControlPlane, Options
from konstat.testing.plugin import StartControlPlane

pytestmark = pytest.mark.realapi

KINDS = {
    "deployments": ("apps/v1", "Deployment", "io.k8s.api.apps.v1.Deployment"),
    "services": ("v1", "Service", "io.k8s.api.core.v1.Service"),
    "configmaps": ("v1", "ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
}
ALONE = Options(controller_manager=False, scheduler=False)


def told(text: str) -> None:
    """Shows a step in the report of a failing history."""
    if currently_in_test_context():
        note(text)


def folder(plural: str) -> str:
    version = KINDS[plural][0]
    return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/default/{plural}"


class Writes:
    """One object of a built-in kind, written on the server; our functions follow its owners."""

    def __init__(self, wire: Wire, plural: str) -> None:
        self.wire = wire
        self.api_version, self.kind, definition = KINDS[plural]
        self.schema = definitions.schema(definition)
        self.folder = folder(plural)
        self.path = f"{self.folder}/w-{chance.suffix(8)}"
        self.live: Object | None = None

    def options(self, manager: str, subresource: str, answer: Answer) -> dict[str, Any]:
        known = apply_rig.times(answer.body) if answer.code < 300 else []
        group = self.api_version.rpartition("/")[0]
        return {
            "manager": manager,
            "api_version": self.api_version,
            "subresource": subresource,
            "schema": self.schema,
            "now": max(known, default=clock.timestamp(clock.now())),
            "reset": reset_fields(group, self.kind, subresource),
        }

    async def write(
        self, manager: str, content: Any, *, how: str = "", subresource: str = ""
    ) -> None:
        """A plain write; what the server made of the content is what we track."""
        name = self.path.rpartition("/")[2]
        path = self.path + (f"/{subresource}" if subresource else "")
        query = f"?fieldManager={manager}"
        if self.live is None:
            metadata = {**content.get("metadata", {}), "name": name}
            body = {"apiVersion": self.api_version, "kind": self.kind, **content}
            answer = await self.wire.send(
                "POST", self.folder + query, {**body, "metadata": metadata}
            )
        else:
            answer = await self.wire.send("PATCH", path + query, content, kind=how)
        told(f"{manager} {how} {content} -> {answer.code} {answer.body}")
        if answer.code >= 300:
            return
        new = {**answer.body, "metadata": dict(answer.body["metadata"])}
        new["metadata"].pop("managedFields", None)
        if isinstance(content, dict) and "managedFields" in content.get("metadata", {}):
            new["metadata"]["managedFields"] = content["metadata"]["managedFields"]
        if self.kind == "Service" and self.live is None:
            # Addresses are given out after ownership is known.
            new["spec"] = {
                k: v for k, v in new["spec"].items() if k not in ("clusterIP", "clusterIPs")
            }
            new["spec"] = {k: v for k, v in new["spec"].items() if not k.startswith("ipFamil")}
        tracked = track_update(self.live, new, **self.options(manager, subresource, answer))
        assert entries_of(tracked) == entries_of(answer.body)
        self.live = answer.body

    async def apply(self, manager: str, content: Object, *, force: bool) -> None:
        """An apply; our object, put in the place of the server's, makes no difference to it."""
        metadata = {**content.get("metadata", {}), "name": self.path.rpartition("/")[2]}
        body = {"apiVersion": self.api_version, "kind": self.kind, **content, "metadata": metadata}
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        answer = await self.wire.send("PATCH", self.path + query, body, kind=APPLY)
        told(f"apply {manager} {force} {body} -> {answer.code} {answer.body}")
        if answer.code == 422:
            return
        made = outcome(self.live, body, force=force, **self.options(manager, "", answer))
        if made["kind"] == "Status":
            assert apply_rig.told(made) == answer.error()
            return
        assert answer.code < 300, answer.body
        assert entries_of(made) == entries_of(answer.body)
        await self.same_content(made, answer.body)
        self.live = answer.body

    async def same_content(self, made: Object, served: Object) -> None:
        metadata = dict(made["metadata"])
        metadata["resourceVersion"] = served["metadata"]["resourceVersion"]
        body = {**made, "metadata": metadata}
        put = await self.wire.send("PUT", f"{self.path}?dryRun=All", body)
        assert put.code == 200, put.body
        for place in ("spec", "data", "binaryData", "immutable"):
            assert put.body.get(place) == served.get(place)
        for place in ("labels", "annotations", "finalizers", "ownerReferences"):
            assert put.body["metadata"].get(place) == served["metadata"].get(place)


def outcome(live: Object | None, config: Object, **options: Any) -> Object:
    try:
        return apply(live, config, **options)
    except StatusError as error:
        return error.status()


WORDS = st.sampled_from(["1", "2"])
TEXTS = st.dictionaries(st.sampled_from("xyz"), WORDS, max_size=2)
MANAGER = st.sampled_from(["m1", "m2", "kubectl"])
OWNER = st.sampled_from(["u1", "u2"]).map(
    lambda uid: {"apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid}
)


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


METADATA = some_of(
    {
        "labels": TEXTS,
        "annotations": TEXTS,
        "ownerReferences": st.lists(OWNER, unique_by=lambda owner: owner["uid"], max_size=2),
        "finalizers": st.lists(st.sampled_from(["a.io/b", "c.io/d"]), unique=True, max_size=2),
    }
)
CONTAINER_PORT = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([80, 81])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"])},
)
CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from("cd"), "image": WORDS},
    optional={
        "env": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("EF"), "value": WORDS}),
            unique_by=lambda env: env["name"],
            max_size=2,
        ),
        "args": st.lists(WORDS, max_size=2),
        "ports": st.lists(
            CONTAINER_PORT,
            unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
            max_size=2,
        ),
        "resources": some_of({"limits": st.just({"cpu": "1"})}),
    },
)
LABELS = {"app": "a"}
DEPLOYMENT = st.builds(
    lambda containers, spec, metadata, pod: {
        "metadata": metadata,
        "spec": {
            **spec,
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {"containers": containers, **pod},
            },
        },
    },
    st.lists(CONTAINER, min_size=1, max_size=2, unique_by=lambda c: c["name"]),
    some_of(
        {
            "replicas": st.integers(0, 2),
            "paused": st.booleans(),
            "minReadySeconds": st.integers(0, 1),
            "strategy": st.just({"rollingUpdate": {"maxSurge": 1}}),
        }
    ),
    METADATA,
    some_of(
        {
            "nodeSelector": TEXTS,
            "tolerations": st.just([{"key": "a", "operator": "Exists"}]),
            "volumes": st.just([{"name": "v", "emptyDir": {}}]),
            "securityContext": st.just({"runAsUser": 1}),
        }
    ),
)
SERVICE_PORT = st.fixed_dictionaries(
    {"port": st.sampled_from([80, 81]), "name": st.sampled_from("pq")},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "targetPort": st.just("web")},
)
SERVICE = st.builds(
    lambda ports, selector, metadata: {
        "metadata": metadata,
        "spec": {"ports": ports, "selector": selector},
    },
    st.lists(SERVICE_PORT, min_size=1, max_size=2, unique_by=lambda p: p["name"]),
    TEXTS,
    METADATA,
)
CONFIG_MAP = some_of({"data": TEXTS, "binaryData": st.just({"b": "YQ=="}), "metadata": METADATA})
SMALL_PATCH = st.sampled_from(
    [
        {"metadata": {"labels": {"x": "9"}}},
        {"metadata": {"labels": None}},
        {"metadata": {"annotations": {"x": None, "y": "9"}}},
        {"metadata": {"managedFields": [{}]}},
        {"spec": {"replicas": 1}},
        {"spec": {"selector": {"x": "2"}}},
        {"data": {"x": "3"}},
        {"data": None},
        {"spec": {"template": {"spec": {"nodeSelector": {"x": "2"}, "volumes": None}}}},
        {"status": {"conditions": [{"type": "A", "status": "True"}], "replicas": 1}},
    ]
)


def steps(content: st.SearchStrategy[Object]) -> st.SearchStrategy[list[Any]]:
    step = st.one_of(
        st.tuples(st.just("apply"), MANAGER, st.booleans(), content),
        st.tuples(st.just("apply"), MANAGER, st.booleans(), content),
        st.tuples(st.just("merge"), MANAGER, st.just(False), SMALL_PATCH),
        st.tuples(st.just("strategic"), MANAGER, st.just(False), SMALL_PATCH | content),
        st.tuples(st.just("status"), MANAGER, st.just(False), SMALL_PATCH),
    )
    return st.tuples(st.sampled_from(["apply", "create"]), content).flatmap(
        lambda first: st.lists(step, min_size=2, max_size=7).map(
            lambda rest: [(first[0], "m1", False, first[1]), *rest]
        )
    )


async def run_steps(wire: Wire, plural: str, given_steps: list[Any]) -> None:
    writes = Writes(wire, plural)
    for how, manager, force, content in given_steps:
        if how == "apply":
            await writes.apply(manager, content, force=force)
        elif writes.live is None:
            if how == "create":
                await writes.write(manager, content)
        elif how == "status":
            if plural != "configmaps":
                await writes.write(manager, content, how=MERGE, subresource="status")
        else:
            await writes.write(manager, content, how=MERGE if how == "merge" else STRATEGIC)


HISTORIES = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def quiet_plane(start_control_plane: StartControlPlane) -> ControlPlane:
    """A server without controllers, which would write too."""
    return start_control_plane(ALONE)


@HISTORIES
@given(given_steps=steps(CONFIG_MAP))
def test_C36_to_C44_histories_of_a_config_map(
    quiet_plane: ControlPlane, given_steps: list[Any]
) -> None:
    apply_rig.with_wire(quiet_plane.config, lambda wire: run_steps(wire, "configmaps", given_steps))


@HISTORIES
@given(given_steps=steps(SERVICE))
def test_C36_to_C44_histories_of_a_service(
    quiet_plane: ControlPlane, given_steps: list[Any]
) -> None:
    apply_rig.with_wire(quiet_plane.config, lambda wire: run_steps(wire, "services", given_steps))


@HISTORIES
@given(given_steps=steps(DEPLOYMENT))
def test_C36_to_C44_histories_of_a_deployment(
    quiet_plane: ControlPlane, given_steps: list[Any]
) -> None:
    apply_rig.with_wire(
        quiet_plane.config, lambda wire: run_steps(wire, "deployments", given_steps)
    )


# --- scale --------------------------------------------------------------------------------------

POD = {"containers": [{"name": "c", "image": "i"}]}
SCALED: Object = {
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": POD},
    }
}
SCALES = [
    [("merge", "b", 1), ("merge", "b", 2), ("merge", "c", 3), ("merge", "c", 4)],
    [("merge", "b", 2), ("merge", "c", 3), ("force", "d", 3), ("merge", "c", 3)],
    [("apply", "d", 2), ("force", "d", 2), ("apply", "e", 2), ("apply", "d", 2)],
    [("force", "d", 2), ("merge", "b", 3), ("apply", "d", 3), ("force", "e", 4)],
]


@pytest.fixture
async def wire(quiet_plane: ControlPlane) -> AsyncIterator[Wire]:
    async with apply_rig.wire_to(quiet_plane.config) as opened:
        yield opened


@pytest.mark.parametrize("scales", SCALES, ids=repr)
async def test_C23_ownership_through_scale(wire: Wire, scales: list[tuple[str, str, int]]) -> None:
    writes = Writes(wire, "deployments")
    await writes.write("a", SCALED)
    for how, manager, replicas in scales:
        assert writes.live is not None
        served = await wire.send("GET", f"{writes.path}/scale")
        live = served.body
        live["metadata"]["managedFields"] = to_scale(writes.live, replicas="spec.replicas")
        path = f"{writes.path}/scale?fieldManager={manager}"
        options: dict[str, Any] = {
            "manager": manager,
            "api_version": SCALE_VERSION,
            "subresource": "scale",
            "schema": SCALE_SCHEMA,
            "now": clock.timestamp(clock.now()),
        }
        if how == "merge":
            answer = await wire.send("PATCH", path, {"spec": {"replicas": replicas}}, kind=MERGE)
            scaled = track_update(live, {**live, "spec": {"replicas": replicas}}, **options)
        else:
            config = {
                "apiVersion": SCALE_VERSION,
                "kind": "Scale",
                "metadata": {"name": writes.path.rpartition("/")[2]},
                "spec": {"replicas": replicas},
            }
            forced = "&force=true" if how == "force" else ""
            answer = await wire.send("PATCH", path + forced, config, kind=APPLY)
            scaled = outcome(live, config, force=how == "force", **options)
        if scaled["kind"] == "Status":
            assert apply_rig.told(scaled) == answer.error()
            continue
        assert answer.code == 200
        after = await wire.send("GET", writes.path)
        made = to_parent(writes.live, scaled, api_version="apps/v1", replicas="spec.replicas")
        assert entries_of(made) == entries_of(after.body)
        writes.live = after.body


async def test_C42_many_updaters_become_one(wire: Wire) -> None:
    writes = Writes(wire, "configmaps")
    await writes.write("m00", {"data": {"a": "0"}})
    for number in range(1, 14):
        label = {"metadata": {"labels": {f"l{number}": "x"}}}
        await writes.write(f"m{number:02d}", label, how=MERGE)
    names = [entry["manager"] for entry in entries_of(writes.live)]
    assert len(names) == 10
    assert "ancient-changes" in names


async def test_C41_json_patch_of_managed_fields(wire: Wire) -> None:
    writes = Writes(wire, "configmaps")
    await writes.write("a", {"data": {"a": "0", "b": "1"}})
    operations = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    answer = await wire.send("PATCH", f"{writes.path}?fieldManager=b", operations, kind=JSON)
    assert entries_of(answer.body) is None
