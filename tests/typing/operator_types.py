"""What type checkers see of an operator: controller, context, children and outcomes.

Each ``pyright: ignore`` stands on a line that must be an error: without the error the ignore
itself is reported.
"""

from __future__ import annotations

from typing import Any, assert_type

from konstat import (
    Component,
    Context,
    Controller,
    RequeueAfter,
    Resource,
    Spec,
    Stalled,
    Status,
    Watch,
)
from konstat.client import Client
from konstat.kinds import ConfigMap, Deployment, Pod, Secret, Service
from konstat.testing import Attempted, FakeContext, attempt


class AppSpec(Spec):
    image: str
    replicas: int = 1


class AppStatus(Status):
    workload: Component
    extra: Component | None = None
    ready_replicas: int = 0


class App(Resource[AppSpec, AppStatus], group="typing.example.com", version="v1"):
    """An application."""


apps = Controller(
    App,
    owns=[Deployment, Service],
    watches=[Watch(Secret, lambda secret: [secret.name])],
    optional=[ConfigMap],
)
assert_type(apps, Controller[App])


@apps.reconcile
async def reconcile(app: App, context: Context[App]) -> RequeueAfter | None:
    assert_type(app.spec, AppSpec)
    assert_type(app.spec.image, str)
    assert_type(context.status, AppStatus)
    assert_type(context.resource, App)
    status = context.status
    assert_type(status.workload, Component)
    workload = await context.apply(
        Deployment(metadata={"name": app.name}), component=status.workload
    )
    assert_type(workload, Deployment)
    assert_type(workload.status.ready_replicas, int)
    status.ready_replicas = workload.status.ready_replicas
    plain = await context.apply({"apiVersion": "v1", "kind": "Service", "metadata": {}})
    assert_type(plain, Resource[Any, Any])
    assert_type(context.get(Secret, "a"), Secret | None)
    assert_type(context.list(Pod, namespace=None), list[Pod])
    await context.apply(ConfigMap(metadata={"name": "a"}), component=status.extra)
    status.wrokload.good()  # pyright: ignore[reportAttributeAccessIssue]
    status.ready_replicas = "three"  # pyright: ignore[reportAttributeAccessIssue]
    app.spec.image = "b"  # pyright: ignore[reportAttributeAccessIssue]
    context.apply(Service(metadata={}))  # pyright: ignore[reportUnusedCoroutine]
    if app.spec.replicas == 0:
        raise Stalled("NoReplicas", "spec.replicas is 0")
    return RequeueAfter(seconds=60)


class OtherStatus(Status):
    pass


class Other(Resource[AppSpec, OtherStatus], group="typing.example.com", version="v1"):
    """Another kind."""


async def wrong(other: Other, context: Context[Other]) -> None:
    pass


apps.cleanup(wrong)  # pyright: ignore[reportArgumentType]


async def tested() -> None:
    assert_type(await attempt(reconcile, App.named("a", image="b:1")), Attempted[App])
    context: FakeContext[App] = FakeContext()
    assert_type(context.status, AppStatus)


async def through_a_client(client: Client) -> None:
    assert_type(await client.get(App, "a"), App)
    assert_type(await client.get(App.kind, "a"), dict[str, Any])
    assert_type(await client.list(Pod), list[Pod])
