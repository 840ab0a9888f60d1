"""The rules for the Gateway API: bugs 16 and 17, and rules 24 and 25 of the rule book."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn
from konstat.readiness.gateway import POLICIES, ROUTES

GROUP = "gateway.networking.k8s.io/v1"


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def dated(condition: Any, generation: int = 1) -> Any:
    return {**condition, "observedGeneration": generation}


class Parts:
    """Conditions and entries as controllers write them."""

    def __init__(self, build: Any) -> None:
        self.build = build

    def good(self, *names: str) -> list[Any]:
        return [dated(self.build.condition(name)) for name in names]

    def but(self, conditions: list[Any], name: str, status: str, reason: str = "X") -> list[Any]:
        rest = [c for c in conditions if c["type"] != name]
        return [*rest, dated(self.build.condition(name, status, reason, "why"))]

    def gateway_class(self, *conditions: Any) -> Any:
        return self.build.thing(GROUP, "GatewayClass", {"conditions": list(conditions)})

    def gateway(self, *, own: Any = None, kind: str = "Gateway", **listeners: Any) -> Any:
        """A gateway whose spec names each listener; an absent entry is None."""
        return self.build.thing(
            GROUP,
            kind,
            {
                "conditions": self.good("Accepted", "Programmed") if own is None else own,
                "listeners": [
                    {"name": name, "conditions": conditions}
                    for name, conditions in listeners.items()
                    if conditions is not None
                ],
            },
            spec={"listeners": [{"name": name} for name in listeners]},
        )

    def parent(self, name: str = "web", conditions: Any = None, **ref: Any) -> Any:
        if conditions is None:
            conditions = self.good("Accepted", "ResolvedRefs")
        return {
            "parentRef": {"name": name, **ref},
            "controllerName": "example.com/gateway",
            "conditions": conditions,
        }

    def route(self, refs: Any, *entries: Any, kind: str = "HTTPRoute") -> Any:
        status = {"parents": list(entries)}
        return self.build.thing(GROUP, kind, status, spec={"parentRefs": refs})


@pytest.fixture
def parts(build: Any) -> Parts:
    return Parts(build)


LISTENER = ("Accepted", "Programmed", "ResolvedRefs")


# --- GatewayClass ----------------------------------------------------------------------------


def test_gateway_classes(build: Any, parts: Parts) -> None:
    def judged(*conditions: Any) -> Any:
        return build.judge(parts.gateway_class(*conditions))

    assert judged(*parts.good("Accepted")).ready
    refused = judged(build.condition("Accepted", "False", "InvalidParameters", "no such map"))
    assert seen(refused) == (State.FAILED, Reason.NOT_ACCEPTED)
    assert refused.turn is Turn.USER
    pending = judged(build.condition("Accepted", "Unknown", "Pending", "Waiting for controller"))
    assert seen(pending) == (State.PROGRESSING, Reason.NOT_PICKED_UP)
    assert seen(judged()) == (State.PROGRESSING, Reason.CONDITION_NOT_MET)
    best_effort = judged(
        *parts.good("Accepted"), build.condition("SupportedVersion", "False", "UnsupportedVersion")
    )
    assert best_effort.ready
    assert "SupportedVersion" in best_effort.message


# --- Gateway and listeners -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Gateway", "ListenerSet"])
def test_a_gateway_is_ready_with_all_its_listeners(build: Any, parts: Parts, kind: str) -> None:
    good = parts.good(*LISTENER)
    ready = build.judge(parts.gateway(kind=kind, http=good, https=good))
    assert seen(ready) == (State.READY, Reason.CONDITIONS_MET)
    assert "2 listeners" in ready.message


@pytest.mark.parametrize(
    ("name", "status", "reason", "expected"),
    [
        ("Accepted", "False", "PortUnavailable", (State.FAILED, Reason.NOT_ACCEPTED)),
        ("Programmed", "False", "Invalid", (State.FAILED, Reason.NOT_ACCEPTED)),
        ("Programmed", "False", "Pending", (State.PROGRESSING, Reason.CONDITION_NOT_MET)),
        ("Programmed", "Unknown", "X", (State.UNKNOWN, Reason.CONDITION_UNKNOWN)),
        ("ResolvedRefs", "False", "InvalidCertificateRef",
         (State.FAILED, Reason.REFERENCE_NOT_RESOLVED)),
        ("Conflicted", "True", "HostnameConflict", (State.FAILED, Reason.NOT_ACCEPTED)),
        ("Conflicted", "False", "NoConflicts", (State.READY, Reason.CONDITIONS_MET)),
        ("Ready", "False", "X", (State.PROGRESSING, Reason.CONDITION_NOT_MET)),
        ("OverlappingTLSConfig", "True", "X", (State.READY, Reason.CONDITIONS_MET)),
    ],
)  # fmt: skip
def test_one_listener_decides_for_a_programmed_gateway(
    build: Any, parts: Parts, name: str, status: str, reason: str, expected: Any
) -> None:
    good = parts.good(*LISTENER)
    verdict = build.judge(parts.gateway(http=good, https=parts.but(good, name, status, reason)))
    assert seen(verdict) == expected
    if not verdict.ready:
        assert verdict.message.startswith(
            f"listener https: condition {name} is {status} ({reason})"
        )
        assert verdict.evidence[0].path == (
            f'status.listeners[name="https"].conditions[type="{name}"].status'
        )


def test_a_listener_that_nobody_answered_for_is_not_ready(build: Any, parts: Parts) -> None:
    good = parts.good(*LISTENER)
    verdict = build.judge(parts.gateway(http=good, https=None))
    assert seen(verdict) == (State.PROGRESSING, Reason.NOT_PICKED_UP)
    assert verdict.message.startswith("listener https")
    assert build.judge(parts.gateway(http=[])).reason is Reason.CONDITION_NOT_MET


def test_a_listener_that_left_the_spec_says_nothing(build: Any, parts: Parts) -> None:
    gateway = parts.gateway(http=parts.good(*LISTENER))
    left = parts.but([], "Accepted", "False")
    gateway["status"]["listeners"].append({"name": "old", "conditions": left})
    assert build.judge(gateway).ready


@pytest.mark.parametrize("name", ["Accepted", "Programmed"])
def test_a_gateways_own_conditions_count(build: Any, parts: Parts, name: str) -> None:
    own = parts.good("Accepted", "Programmed")
    http = parts.good(*LISTENER)
    assert build.judge(parts.gateway(own=parts.but(own, name, "False"), http=http)).state is (
        State.FAILED
    )
    absent = [c for c in own if c["type"] != name]
    verdict = build.judge(parts.gateway(own=absent, http=http))
    assert seen(verdict) == (State.PROGRESSING, Reason.CONDITION_NOT_MET)
    stale = [{**c, "observedGeneration": 7} if c["type"] == name else c for c in own]
    verdict = build.judge(parts.gateway(own=stale, http=http))
    assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)


def test_a_gateway_without_an_address_is_progressing(build: Any, parts: Parts) -> None:
    own = parts.but(parts.good("Accepted"), "Programmed", "False", "AddressNotAssigned")
    assert build.judge(parts.gateway(own=own)).state is State.PROGRESSING
    own = parts.but(parts.good("Accepted"), "Programmed", "False", "NoResources")
    assert build.judge(parts.gateway(own=own)).turn is Turn.OWNER


# --- routes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ROUTES)
def test_routes_are_ready_when_their_parent_accepts(build: Any, parts: Parts, kind: str) -> None:
    refs = [{"name": "web"}]
    assert build.judge(parts.route(refs, parts.parent(), kind=kind)).ready
    refused = parts.but(parts.good("ResolvedRefs"), "Accepted", "False", "NotAllowedByListeners")
    verdict = build.judge(parts.route(refs, parts.parent(conditions=refused), kind=kind))
    assert seen(verdict) == (State.FAILED, Reason.NOT_ACCEPTED)
    assert verdict.message.startswith(
        "parent Gateway n/web: condition Accepted is False (NotAllowedByListeners): why;"
    )


@pytest.mark.parametrize(
    ("name", "status", "reason", "expected"),
    [
        ("Accepted", "False", "Pending", State.PROGRESSING),
        ("Accepted", "Unknown", "X", State.UNKNOWN),
        ("ResolvedRefs", "False", "BackendNotFound", State.FAILED),
        ("PartiallyInvalid", "True", "UnsupportedValue", State.FAILED),
        ("PartiallyInvalid", "False", "X", State.READY),
        ("Programmed", "False", "Pending", State.PROGRESSING),
        ("example.com/Vendor", "False", "X", State.READY),
    ],
)
def test_conditions_of_a_parent(
    build: Any, parts: Parts, name: str, status: str, reason: str, expected: State
) -> None:
    conditions = parts.but(parts.good("Accepted", "ResolvedRefs"), name, status, reason)
    verdict = build.judge(parts.route([{"name": "web"}], parts.parent(conditions=conditions)))
    assert verdict.state is expected


def test_the_worst_parent_decides(build: Any, parts: Parts) -> None:
    refs = [{"name": "a"}, {"name": "b"}]
    refused = parts.but(parts.good("ResolvedRefs"), "Accepted", "False")
    verdict = build.judge(parts.route(refs, parts.parent("a"), parts.parent("b", refused)))
    assert verdict.state is State.FAILED
    assert verdict.message.startswith("parent Gateway n/b")
    assert build.judge(parts.route(refs, parts.parent("a"))).reason is Reason.NOT_PICKED_UP


def test_bug16_an_entry_of_a_former_parent_says_nothing(build: Any, parts: Parts) -> None:
    refused = parts.but(parts.good("ResolvedRefs"), "Accepted", "False")
    old = parts.parent("old", refused)
    assert build.judge(parts.route([{"name": "web"}], parts.parent(), old)).ready
    green = parts.parent("old")
    verdict = build.judge(parts.route([{"name": "web"}], green))
    assert seen(verdict) == (State.PROGRESSING, Reason.NOT_PICKED_UP)


def test_bug17_two_controllers_of_one_parent_must_agree(build: Any, parts: Parts) -> None:
    refused = parts.but(parts.good("ResolvedRefs"), "Accepted", "False")
    entries = [parts.parent(), parts.parent(conditions=refused)]
    for order in (entries, entries[::-1]):
        assert build.judge(parts.route([{"name": "web"}], *order)).state is State.FAILED


def test_a_parent_is_recognized_with_and_without_its_defaults(build: Any, parts: Parts) -> None:
    full = {
        "group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "n", "name": "web",
    }  # fmt: skip
    for ref, entry in (({"name": "web"}, full), (full, {"name": "web"})):
        assert build.judge(parts.route([ref], parts.parent(**entry))).ready
    for other in (
        {"namespace": "m"}, {"sectionName": "s"}, {"port": 80}, {"kind": "Service", "group": ""},
    ):  # fmt: skip
        assert not build.judge(parts.route([{"name": "web", **other}], parts.parent())).ready


def test_a_parent_of_another_generation_is_not_current(build: Any, parts: Parts) -> None:
    for generation in (3, 0):
        stale = [
            {**c, "observedGeneration": generation} for c in parts.good("Accepted", "ResolvedRefs")
        ]
        verdict = build.judge(parts.route([{"name": "web"}], parts.parent(conditions=stale)))
        assert verdict.ready is (generation == 0)
    # A refusal of a former generation is no verdict on this one.
    old = parts.but(parts.good("ResolvedRefs"), "Accepted", "False")
    old[-1]["observedGeneration"] = 9
    verdict = build.judge(parts.route([{"name": "web"}], parts.parent(conditions=old)))
    assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)


def test_absent_conditions_of_a_parent_are_not_green(build: Any, parts: Parts) -> None:
    for names in ((), ("Accepted",), ("ResolvedRefs",)):
        entry = parts.parent(conditions=parts.good(*names))
        assert build.judge(parts.route([{"name": "web"}], entry)).state is State.PROGRESSING


def test_a_route_without_parents_is_unknown(build: Any, parts: Parts) -> None:
    for refs in (None, [], "x"):
        assert seen(build.judge(parts.route(refs))) == (State.UNKNOWN, Reason.NOTHING_TO_JUDGE)


# --- policies --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", POLICIES)
def test_policies(build: Any, parts: Parts, kind: str) -> None:
    def judged(*entries: Any) -> Any:
        return build.judge(build.thing(GROUP, kind, {"ancestors": list(entries)}))

    def ancestor(conditions: Any, name: str = "web") -> Any:
        return {"ancestorRef": {"name": name}, "conditions": conditions}

    assert judged(ancestor(parts.good("Accepted"))).ready
    assert seen(judged()) == (State.PROGRESSING, Reason.NOT_PICKED_UP)
    refused = judged(
        ancestor(parts.good("Accepted")),
        ancestor(parts.but([], "Accepted", "False", "TargetNotFound"), "other"),
    )
    assert seen(refused) == (State.FAILED, Reason.NOT_ACCEPTED)
    assert refused.message.startswith("ancestor Gateway n/other")


def test_reference_grants_exist(build: Any) -> None:
    assert build.judge(build.thing(GROUP, "ReferenceGrant")).reason is Reason.EXISTS


def test_experimental_kinds(build: Any, parts: Parts) -> None:
    group = "gateway.networking.x-k8s.io/v1alpha1"
    accepted = {"conditions": parts.good("Accepted")}
    assert build.judge(build.thing(group, "XMesh", accepted)).ready
    assert not build.judge(build.thing(group, "XMesh", {})).ready
