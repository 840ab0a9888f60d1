"""Random histories of writes by several managers: ours and the real server's results are equal.

Each step takes the object as the real server has it, runs the write through our functions and on
the server, and compares the whole object with its managedFields, times included, or the error.
"""

from __future__ import annotations

from typing import Any

import apply_rig
import pytest
from apply_rig import API_VERSION, APPLY, JSON, KIND, MERGE, SCHEMA, Answer, Object, Wire
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from konstat.base import chance, clock
from konstat.embedded.apply import apply
from konstat.embedded.managed import keep_times, track_update
from konstat.embedded.managed_resets import reset_fields
from konstat.embedded.patches import json_patch, merge_patch
from konstat.embedded.status_errors import StatusError
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

WORDS = st.sampled_from(["1", "2", "é<"])
SMALL = st.integers(1, 2)
TEXTS = st.dictionaries(st.sampled_from("xyz"), WORDS, max_size=2)
SUBSET = st.lists(st.sampled_from("abc"), unique=True, max_size=3)
LEAF = WORDS | SMALL | st.booleans() | st.sampled_from([1.5, 2.0])
OPEN = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pq"), inner, max_size=2)
    ),
    max_leaves=5,
)


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


def _port_key(port: Object) -> tuple[str, str]:
    return port["name"], port.get("proto", "TCP")


PORT = st.fixed_dictionaries(
    {"name": st.sampled_from("pq")},
    optional={"proto": st.sampled_from(["TCP", "UDP"]), "weight": SMALL, "tags": SUBSET},
)
NESTED = some_of(
    {
        "a": SMALL,
        "b": st.booleans(),
        "rows": st.dictionaries(
            st.sampled_from("rs"), some_of({"x": WORDS, "y": WORDS}), max_size=2
        ),
    }
)
INNER = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("Inner")},
    optional={
        "metadata": some_of({"labels": TEXTS, "finalizers": st.just(["a.example.com/b"])}),
        "spec": OPEN,
    },
)
SPEC = some_of(
    {
        "text": WORDS,
        "number": SMALL | st.just(1.5),
        "either": SMALL | st.sampled_from(["1", "50%"]),
        "texts": TEXTS,
        "whole": TEXTS,
        "list": st.lists(WORDS, max_size=2),
        "set": SUBSET,
        "ports": st.lists(PORT, unique_by=_port_key, max_size=3),
        "nested": NESTED,
        "free": st.dictionaries(st.sampled_from("pq"), OPEN, max_size=2),
        "any": OPEN,
        "inner": INNER,
    }
)
METADATA = some_of(
    {
        "labels": TEXTS.filter(lambda labels: "é<" not in labels.values()),
        "annotations": TEXTS,
        "finalizers": SUBSET.map(lambda words: [f"{word}.example.com/x" for word in words]),
    }
)
CONDITION = st.fixed_dictionaries(
    {"type": st.sampled_from(["A", "B"])}, optional={"status": st.sampled_from(["True", "False"])}
)
STATUS = some_of(
    {
        "phase": WORDS,
        "conditions": st.lists(CONDITION, unique_by=lambda c: c["type"], max_size=2),
    }
)
OBJECT = some_of({"metadata": METADATA, "spec": SPEC, "status": STATUS})
MANAGER = st.sampled_from(["m1", "m2", "kubectl"])
FORCE = st.booleans()
GONE = st.none()
MERGE_PATCH = some_of(
    {
        "metadata": some_of({"labels": GONE, "annotations": TEXTS | GONE}),
        "spec": SPEC
        | st.dictionaries(
            st.sampled_from(["text", "texts", "set", "ports", "nested", "free", "any"]), GONE
        ),
        "status": STATUS,
    }
)
OPERATION = st.sampled_from(
    [
        {"op": "add", "path": "/spec/text", "value": "2"},
        {"op": "remove", "path": "/spec/ports"},
        {"op": "remove", "path": "/spec/texts/x"},
        {"op": "add", "path": "/spec/set/-", "value": "d"},
        {"op": "remove", "path": "/spec/set/0"},
        {"op": "add", "path": "/spec/nested", "value": {"a": 2, "rows": {"r": {}}}},
        {"op": "replace", "path": "/spec/ports/0/weight", "value": 2},
        {"op": "test", "path": "/spec/text", "value": "2"},
        {"op": "move", "from": "/spec/whole", "path": "/spec/texts"},
        {"op": "copy", "from": "/spec/list", "path": "/spec/any"},
    ]
)
STEP = st.one_of(
    st.tuples(st.just("apply"), MANAGER, FORCE, OBJECT),
    st.tuples(st.just("apply"), MANAGER, FORCE, OBJECT),
    st.tuples(st.just("apply status"), MANAGER, FORCE, OBJECT),
    st.tuples(st.just("merge"), MANAGER, FORCE, MERGE_PATCH),
    st.tuples(st.just("merge status"), MANAGER, FORCE, MERGE_PATCH),
    st.tuples(st.just("json"), MANAGER, FORCE, st.lists(OPERATION, min_size=1, max_size=2)),
    st.tuples(st.just("put"), MANAGER, FORCE, OBJECT),
    st.tuples(st.just("reset"), MANAGER, FORCE, st.just({"metadata": {"managedFields": [{}]}})),
)


class History:
    """One object under random writes, on the server and through our functions."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.name = f"h-{chance.suffix(8)}"
        self.folder = f"/apis/{API_VERSION}/namespaces/default/mixtures"
        self.live: Object | None = None

    async def step(self, how: str, manager: str, force: bool, content: Any) -> None:
        verb, _, subresource = how.partition(" ")
        if verb == "put" and self.live is None:
            verb = "post"
        if self.live is None and verb not in ("apply", "post"):
            return
        if subresource and self.live is None:
            return
        body = self.body(verb, content)
        answer = await self.send(verb, subresource, manager, force, body)
        note(f"{how} by {manager} (force={force}): {body}\n-> {answer.code} {answer.body}")
        if answer.code == 422 and "causes" in (answer.body.get("details") or {}):
            return  # validation is not ours; the object is as it was
        expected = self.outcome(verb, subresource, manager, force, body, answer)
        if expected["kind"] == "Status":
            assert apply_rig.told(expected) == answer.error()
            return
        assert answer.code < 300, (answer.body, expected)
        assert apply_rig.comparable(expected) == apply_rig.comparable(answer.body)
        self.live = answer.body

    def body(self, verb: str, content: Any) -> Any:
        if verb not in ("apply", "put", "post"):
            return content
        metadata = {**content.get("metadata", {}), "name": self.name}
        if verb == "put" and self.live is not None:
            metadata["resourceVersion"] = self.live["metadata"]["resourceVersion"]
        return {"apiVersion": API_VERSION, "kind": KIND, **content, "metadata": metadata}

    async def send(
        self, verb: str, subresource: str, manager: str, force: bool, body: Any
    ) -> Answer:
        path = f"{self.folder}/{self.name}" + (f"/{subresource}" if subresource else "")
        query = f"?fieldManager={manager}"
        if verb == "apply":
            forced = "&force=true" if force else ""
            return await self.wire.send("PATCH", path + query + forced, body, kind=APPLY)
        if verb == "post":
            return await self.wire.send("POST", self.folder + query, body)
        if verb == "put":
            return await self.wire.send("PUT", path + query, body)
        kind = JSON if verb == "json" else MERGE
        return await self.wire.send("PATCH", path + query, body, kind=kind)

    def outcome(self, *given: Any) -> Object:
        """The object that our functions give, or the Status of their error."""
        try:
            return self.ours(*given)
        except StatusError as error:
            return error.status()

    def ours(
        self, verb: str, subresource: str, manager: str, force: bool, body: Any, answer: Answer
    ) -> Object:
        """The object that our functions give, once the resource has done its part."""
        known = apply_rig.times(answer.body) if answer.code < 300 else []
        options: dict[str, Any] = {
            "manager": manager,
            "api_version": API_VERSION,
            "subresource": subresource,
            "schema": SCHEMA,
            "now": max(known, default=clock.timestamp(clock.now())),
            "reset": reset_fields("", KIND, subresource, custom=True),
        }
        if verb == "apply":
            made = apply(self.live, body, force=force, kind=KIND, **options)
        else:
            made = track_update(self.live, self.patched(verb, body), **options)
        return self.stored(apply_rig.decoded(made), subresource)

    def patched(self, verb: str, body: Any) -> Object:
        assert self.live is not None or verb == "post"
        if verb in ("put", "post"):
            return apply_rig.decoded(body)
        assert self.live is not None
        if verb == "json":
            return apply_rig.decoded(json_patch(self.live, body))
        return apply_rig.decoded(merge_patch(self.live, body))

    def stored(self, made: Object, subresource: str) -> Object:
        """What the resource does with a write: it keeps what the request may not change."""
        made["metadata"].setdefault("namespace", "default")
        if self.live is None:
            made.pop("status", None)
            return made
        keep = ("spec",) if subresource else ("status",)
        for name in keep:
            made.pop(name, None)
            if name in self.live:
                made[name] = self.live[name]
        if subresource:
            entries = made["metadata"].get("managedFields")
            made["metadata"] = {**self.live["metadata"], "managedFields": entries}
            if not entries:
                del made["metadata"]["managedFields"]
        return keep_times(self.live, made)


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEP, min_size=3, max_size=10))
def test_C36_to_C44_histories_of_a_custom_resource(
    control_plane: ControlPlane, steps: list[tuple[str, str, bool, Any]]
) -> None:
    async def run(wire: Wire) -> None:
        await wire.define()
        history = History(wire)
        for how, manager, force, content in steps:
            await history.step(how, manager, force, content)

    apply_rig.with_wire(control_plane.config, run)
