"""`FakeContext` and `attempt`: what a test of an operator can arrange and see.

That they agree with a cluster is shown in test_fakes_on_server.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from stepped_clock import SteppedClock
from trials import Absent, Part, Trial, TrialContext, config, deployment

from konstat.base import clock as base_clock
from konstat.controller.controller import Controller
from konstat.errors import (
    KindForbidden,
    KindNotInstalled,
    KindUnavailable,
    ManifestError,
    ModelError,
    NamesakeError,
    StatusInvalid,
    UserError,
)
from konstat.kinds import BY_KIND, ConfigMap, Deployment, Pod, ReplicaSet, Secret
from konstat.objects.resource import Resource
from konstat.readiness import State, compute
from konstat.status import RequeueAfter, Waiting, contract
from konstat.testing import Attempted, FakeContext, FakeEvent, attempt
from konstat.testing.pretend import pretend_ready


def trial(size: int = 1, **metadata: Any) -> Trial:
    content = {"metadata": {"name": "trial", **metadata}, "spec": {"scenario": "", "size": size}}
    return Trial.from_content(content)


async def one_deployment(trial: Trial, context: TrialContext) -> None:
    context.status.hidden.good()
    child = await context.apply(deployment(replicas=trial.spec.size), component=context.status.main)
    context.status.count = child.status.ready_replicas


async def all_good(trial: Trial, context: TrialContext) -> None:
    context.status.hidden.good()
    context.status.main.good()


def with_status(child: Resource[Any, Any], **status: Any) -> Any:
    return type(child).from_content({**child.content, "status": status})


@pytest.fixture
async def clock() -> AsyncIterator[SteppedClock]:
    stepped = SteppedClock()
    with base_clock.use_clock(stepped):
        yield stepped


# --- how children look ------------------------------------------------------------------------


async def test_children_are_ready_at_once() -> None:
    settled = await attempt(one_deployment, trial(size=2))
    assert settled.says("Ready") == ("True", "Ready")
    assert settled.status["count"] == 2
    assert settled.status["observedGeneration"] == 1


async def test_new_children_are_as_the_server_has_them_at_first() -> None:
    settled = await attempt(one_deployment, trial(), FakeContext(children="new"))
    assert settled.says("MainReady") == ("False", "GenerationNotObserved")


@pytest.mark.parametrize("cls", BY_KIND.values(), ids=lambda cls: cls.kind.resource)
def test_every_built_in_kind_can_be_pretended_ready(cls: type[Resource[Any, Any]]) -> None:
    content = {
        "apiVersion": cls.kind.api_version,
        "kind": cls.kind.kind,
        "metadata": {"name": "x", "generation": 3},
        "spec": {},
    }
    assert compute(pretend_ready(content)).state is State.READY


def test_another_groups_service_is_not_taken_for_the_core_one() -> None:
    content = {
        "apiVersion": "serving.example.com/v1",
        "kind": "Service",
        "metadata": {"name": "x", "generation": 1},
        "spec": {"type": "LoadBalancer"},
    }
    assert [c["type"] for c in pretend_ready(content)["status"]["conditions"]] == ["Ready"]


async def test_a_child_follows_its_spec_from_attempt_to_attempt() -> None:
    context: FakeContext[Trial] = FakeContext()
    await attempt(one_deployment, trial(size=2), context)
    settled = await attempt(one_deployment, trial(size=5), context)
    assert settled.says("Ready") == ("True", "Ready")
    assert settled.status["count"] == 5
    child = context.get(Deployment, "child")
    assert child is not None
    assert (child.spec.replicas, child.generation, child.status.observed_generation) == (5, 2, 2)


async def test_a_status_that_came_with_a_child_stays() -> None:
    short = {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 1,
    }
    context: FakeContext[Trial] = FakeContext(owned=[with_status(deployment(), **short)])
    settled = await attempt(one_deployment, trial(size=2), context)
    assert settled.says("MainReady") == ("False", "PodsNotReady")
    assert settled.status["count"] == 1
    # Its controller has seen a change of its spec, too.
    settled = await attempt(one_deployment, trial(size=3), context)
    assert settled.says("MainReady") == ("False", "RollingOut")


async def test_pods_behind_a_child_give_the_cause() -> None:
    deployed = Deployment.from_content(
        {
            **deployment().content,
            "metadata": {"name": "child", "uid": "d"},
            "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1},
        }
    )
    replica_set = ReplicaSet.from_content(
        {"metadata": {"name": "child-1", "uid": "r", "ownerReferences": [_owner("d")]}}
    )
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    entry = {"name": "main", "image": "app:1", "ready": False, "restartCount": 0, "state": state}
    pod = Pod.from_content(
        {
            "metadata": {"name": "child-1-a", "ownerReferences": [_owner("r")]},
            "spec": {"containers": [{"name": "main", "image": "app:1"}], "nodeName": "n"},
            "status": {"phase": "Pending", "containerStatuses": [entry]},
        }
    )
    context: FakeContext[Trial] = FakeContext(existing=[replica_set, pod], owned=[deployed])
    settled = await attempt(one_deployment, trial(), context)
    assert settled.says("Ready") == ("False", "ImagePullFailed")


def _owner(uid: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "X", "name": "x", "uid": uid, "controller": True}


# --- the world --------------------------------------------------------------------------------


async def test_objects_stand_beside_the_resource_unless_they_say_else() -> None:
    context: FakeContext[Trial] = FakeContext(
        existing=[Secret(metadata={"name": "a"}), Secret(metadata={"name": "a", "namespace": "z"})]
    )
    await attempt(all_good, trial(namespace="demo"), context)
    assert [o["metadata"]["namespace"] for o in context.objects] == ["demo", "z"]
    assert context.get(Secret, "a") is not None
    assert [s.namespace for s in context.list(Secret, namespace=None)] == ["demo", "z"]


async def test_the_resource_is_completed_as_a_server_does() -> None:
    seen: list[Trial] = []

    async def reconcile(trial: Trial, context: TrialContext) -> None:
        assert context.resource is trial
        seen.append(trial)
        await all_good(trial, context)

    await attempt(reconcile, trial())
    await attempt(reconcile, trial(uid="u", namespace="n", generation=7))
    assert [(t.uid, t.namespace, t.generation) for t in seen] == [
        ("uid-of-trial-trial", "default", 1),
        ("u", "n", 7),
    ]


async def test_a_function_can_be_called_without_any_framework() -> None:
    controller = Controller(Trial, owns=[Deployment])
    reconcile = controller.reconcile(one_deployment)
    context: FakeContext[Trial] = FakeContext()
    await reconcile(trial(size=4), context)
    assert context.status.count == 4
    assert [child["kind"] for child in context.applied] == ["Deployment"]
    with pytest.raises(NamesakeError):
        await reconcile(trial(), FakeContext(existing=[deployment()]))


async def test_a_context_before_its_first_attempt_says_so() -> None:
    context: FakeContext[Trial] = FakeContext()
    assert context.objects == ()
    with pytest.raises(UserError, match="call the reconcile function with it first"):
        _ = context.status
    with pytest.raises(UserError, match="call the reconcile function with it first"):
        context.get(Secret, "a")
    with pytest.raises(UserError, match="has no server"):
        _ = context.client


async def test_what_an_attempt_did_is_kept_until_the_next() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        if trial.spec.size == 1:
            await context.apply(config("a"), component=context.status.main)
        await context.apply(config("b"), component=context.status.main)
        await context.prune([ConfigMap])
        context.event("Went well", f"size {trial.spec.size}")

    context: FakeContext[Trial] = FakeContext()
    await attempt(reconcile, trial(size=1), context)
    assert [c["metadata"]["name"] for c in context.applied] == ["a", "b"]
    assert (context.deleted, len(context.objects)) == ([], 2)
    await attempt(reconcile, trial(size=2), context)
    assert [c["metadata"]["name"] for c in context.applied] == ["b"]
    assert context.deleted == ["ConfigMap a"]
    assert context.events == [FakeEvent("WentWell", "size 2")]
    assert [o["metadata"]["name"] for o in context.objects] == ["b"]


async def test_what_an_attempt_failed_to_apply_is_not_forgotten() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        with pytest.raises(ManifestError):
            await context.apply(ConfigMap(metadata={"name": "a", "namespace": "elsewhere"}))
        await all_good(trial, context)

    settled = await attempt(reconcile, trial())
    assert settled.says("Ready") == ("False", "ManifestError")


async def test_a_recreated_child_has_another_uid() -> None:
    uids: list[str] = []

    async def reconcile(trial: Trial, context: TrialContext) -> None:
        uids.append((await context.apply(config())).uid)
        await context.delete(ConfigMap, "child")
        uids.append((await context.apply(config())).uid)

    await attempt(reconcile, trial())
    assert len(set(uids)) == 2


@pytest.mark.parametrize(
    ("unavailable", "error"),
    [([Absent], KindNotInstalled), ({Absent: KindForbidden}, KindForbidden)],
)
async def test_kinds_that_cannot_be_read(unavailable: Any, error: type[KindUnavailable]) -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        await all_good(trial, context)
        context.get(Absent, "x")

    settled = await attempt(reconcile, trial(), FakeContext(unavailable=unavailable))
    assert isinstance(settled.error, error)
    assert settled.says("Ready") == ("Unknown", error.__name__)


async def test_without_a_controller_every_class_is_accepted() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        await context.apply(Part.named("p", size=1), component=context.status.main)
        context.status.hidden.good()

    assert (await attempt(reconcile, trial())).says("Ready") == ("True", "Ready")


async def test_with_a_controller_undeclared_kinds_are_refused() -> None:
    controller = Controller(Trial, owns=[ConfigMap])
    controller.reconcile(one_deployment)
    settled = await attempt(controller, trial())
    assert settled.says("MainReady") == ("False", "ManifestError")
    assert "add it to owns=" in settled.message("Ready")


async def test_a_mapping_of_an_unknown_kind_says_what_to_do() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        content = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "x"}}
        await context.apply(content, component=context.status.main)

    settled = await attempt(reconcile, trial())
    assert "pass the Controller to konstat.testing.attempt" in settled.message("Ready")


# --- statuses ---------------------------------------------------------------------------------


async def test_the_status_is_carried_and_transitions_are_kept(clock: SteppedClock) -> None:
    first = await attempt(all_good, trial())
    await clock.advance(60)
    foreign = {"type": "Theirs", "status": "True", "reason": "R", "message": ""}
    conditions = [*first.status["conditions"], {**foreign, "lastTransitionTime": "t"}]
    stored = {**first.status, "conditions": conditions, "note": "carried", "count": 3}
    carried = Trial.from_content({**first.resource.content, "status": stored})
    second = await attempt(all_good, carried)
    assert second.status == stored
    await clock.advance(60)

    async def bad(trial: Trial, context: TrialContext) -> None:
        await all_good(trial, context)
        context.status.main.bad("Broken", "it is")

    third = await attempt(bad, second.resource)
    assert third.condition("Theirs") == conditions[-1]
    assert _transition(third, "MainReady") == "2026-01-01T00:18:40Z"
    assert third.status["note"] == "carried"
    await clock.advance(60)
    fourth = await attempt(bad, third.resource)
    assert fourth.status == third.status
    assert contract.check(first.resource.content) == []
    assert contract.check_step(second.resource.content, third.resource.content) == []


def _transition(settled: Attempted[Any], type: str) -> str:
    entry = settled.condition(type)
    assert entry is not None
    return entry["lastTransitionTime"]


async def test_a_value_that_the_status_refuses_settles_and_is_told() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        await all_good(trial, context)
        context.status.count = 2**70

    before = await attempt(all_good, trial())
    settled = await attempt(reconcile, before.resource)
    assert settled.says("Ready") == ("Unknown", "StatusInvalid")
    assert settled.says("MainReady") == ("True", "Good")  # as it was
    assert isinstance(settled.error, StatusInvalid)
    assert "status.count" in settled.message("Ready")


async def test_a_spec_that_the_types_refuse_is_settled_without_an_attempt() -> None:
    async def never(trial: Trial, context: TrialContext) -> None:
        raise AssertionError("must not be called")

    bad = Trial.from_content({"metadata": {"name": "t"}, "spec": {"scenario": 7}})
    settled = await attempt(never, bad)
    assert settled.says("Stalled") == ("True", "SpecInvalid")
    assert "spec.scenario" in settled.message("Ready")


async def test_an_attempt_that_hangs_times_out() -> None:
    async def hang(trial: Trial, context: TrialContext) -> None:
        await asyncio.Event().wait()

    settled = await attempt(hang, trial(), timeout_seconds=0.01)
    assert settled.says("Ready") == ("Unknown", "AttemptTimeout")


async def test_coming_back_is_told() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> RequeueAfter:
        await all_good(trial, context)
        return RequeueAfter(seconds=30)

    assert (await attempt(reconcile, trial())).requeue_seconds == 30


# --- cleanup ----------------------------------------------------------------------------------

DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["trials/x"]}


@pytest.mark.parametrize(
    ("cleanup_ends", "says"),
    [
        (None, None),
        (RequeueAfter(seconds=5), ("False", "Terminating")),
        (Waiting("NotReleased", "still in use"), ("False", "NotReleased")),
        (OSError("no route"), ("Unknown", "OSError")),
    ],
)
async def test_a_deleting_resource_is_cleaned_up(
    cleanup_ends: Any, says: tuple[str, str] | None
) -> None:
    controller = Controller(Trial)
    controller.reconcile(all_good)

    @controller.cleanup
    async def cleanup(trial: Trial, context: TrialContext) -> Any:
        if isinstance(cleanup_ends, Exception):
            raise cleanup_ends
        return cleanup_ends

    settled = await attempt(controller, trial(**DELETING))
    assert settled.says("Ready") == says


async def test_a_controller_without_cleanup_attempts_nothing_on_a_deleting_resource() -> None:
    controller = Controller(Trial)
    controller.reconcile(all_good)
    with pytest.raises(ModelError, match="has no cleanup function"):
        await attempt(controller, trial(**DELETING))


# --- what a failing assertion shows -----------------------------------------------------------


async def test_an_attempt_shows_itself_in_one_line() -> None:
    settled = await attempt(one_deployment, trial(), FakeContext(children="new"))
    shown = repr(settled)
    assert shown.startswith("<observed; Ready=False (GenerationNotObserved): main: Deployment")
    assert "MainReady=False (GenerationNotObserved)" in shown
    assert "'count': 0" in shown
    assert "\n" not in shown


async def test_an_error_is_shown_first() -> None:
    async def reconcile(trial: Trial, context: TrialContext) -> None:
        raise ValueError("no such thing")

    shown = repr(await attempt(reconcile, trial()))
    assert shown.startswith("<error ValueError('no such thing'); Ready=Unknown (ValueError), ")


async def test_conditions_that_are_not_there() -> None:
    settled = await attempt(all_good, trial())
    assert settled.condition("Stalled") is None
    assert settled.says("Stalled") is None
    assert settled.message("Stalled") == ""
