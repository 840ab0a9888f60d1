"""The web_app example without a cluster: what it applies, and what its status says."""

from __future__ import annotations

import pytest

from konstat import Stalled
from konstat.kinds import Deployment
from konstat.testing import FakeContext, attempt
from web_app import WebApp, reconcile


def app(image: str = "nginx:1.27", replicas: int = 3) -> WebApp:
    return WebApp.named("shop", namespace="default", image=image, replicas=replicas)


async def test_one_call_applies_both_children() -> None:
    context: FakeContext[WebApp] = FakeContext()
    await reconcile(app(), context)
    assert [child["kind"] for child in context.applied] == ["Deployment", "Service"]
    deployment = context.get(Deployment, "shop")
    assert deployment is not None
    assert deployment.spec.replicas == 3
    assert context.status.ready_replicas == 3


async def test_ready_when_its_children_are() -> None:
    settled = await attempt(reconcile, app())
    assert settled.says("Ready") == ("True", "Ready")
    assert settled.says("WorkloadReady") == ("True", "Available")
    assert settled.status["readyReplicas"] == 3


async def test_reconciling_while_the_deployment_is_new() -> None:
    settled = await attempt(reconcile, app(), FakeContext(children="new"))
    assert settled.says("Ready") == ("False", "GenerationNotObserved")
    assert settled.says("Reconciling") == ("True", "GenerationNotObserved")


async def test_an_untagged_image_stalls_and_says_whose_turn_it_is() -> None:
    settled = await attempt(reconcile, app(image="nginx"))
    assert settled.says("Stalled") == ("True", "ImageUntagged")
    stalled = settled.condition("Stalled")
    assert stalled is not None
    assert "write it as name:tag (the user must act)" in stalled["message"]
    with pytest.raises(Stalled):
        await reconcile(app(image="nginx"), FakeContext())
