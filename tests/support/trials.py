"""Attempts that are run both through a `FakeContext` and through a manager on a real server.

Each scenario is a reconcile function, with the world that it finds. What it learns on the way it
puts into ``seen``; all of that must be the same in both worlds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from konstat.controller.context import Context
from konstat.controller.controller import Controller, Watch
from konstat.errors import KonstatError
from konstat.kinds import (
    ConfigMap,
    CronJob,
    DaemonSet,
    Deployment,
    HorizontalPodAutoscaler,
    Ingress,
    Job,
    NetworkPolicy,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
)
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component, RequeueAfter

GROUP = "trials.example.com"


class TrialSpec(Spec):
    scenario: str
    size: int = 1


class TrialStatus(Status):
    main: Component
    side: Component | None = None
    hidden: Component = Component(published=False)
    note: str = ""
    count: int = 0


class Trial(Resource[TrialSpec, TrialStatus], group=GROUP, version="v1"):
    """One scenario to be lived through."""


class PartSpec(Spec):
    size: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Part(Resource[PartSpec, TrialStatus], group=GROUP, version="v1"):
    """A child of an author's own kind."""


class Zone(Resource[PartSpec, TrialStatus], group=GROUP, version="v1", scope="Cluster"):
    """An object at cluster scope."""


class Absent(Resource[PartSpec, TrialStatus], group=GROUP, version="v1", plural="absences"):
    """A kind that is never installed."""


TrialContext = Context[Trial]
Seen = list[Any]
Reconcile = Callable[[Trial, TrialContext, Seen], Awaitable[RequeueAfter | None]]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A reconcile function, and the objects that it finds in its namespace."""

    reconcile: Reconcile
    existing: tuple[Resource[Any, Any], ...] = ()
    owned: tuple[Resource[Any, Any], ...] = ()


SCENARIOS: dict[str, Scenario] = {}

LABELS = {"app": "trial"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "main", "image": "app:1"}], "restartPolicy": "Always"},
}
ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]
SELECTOR = {"matchLabels": LABELS}


def config(name: str = "child", **data: str) -> ConfigMap:
    return ConfigMap(metadata={"name": name, "labels": LABELS}, data=data)


def deployment(name: str = "child", **spec: Any) -> Deployment:
    full = {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE, **spec}
    return Deployment(metadata={"name": name}, spec=full)


def scenario(
    *, existing: tuple[Resource[Any, Any], ...] = (), owned: tuple[Resource[Any, Any], ...] = ()
) -> Callable[[Reconcile], Reconcile]:
    """Add a function to the scenarios; hidden parts are good unless it says else."""

    def add(function: Reconcile) -> Reconcile:
        async def reconcile(trial: Trial, context: TrialContext, seen: Seen) -> RequeueAfter | None:
            context.status.hidden.good()
            return await function(trial, context, seen)

        SCENARIOS[function.__name__] = Scenario(reconcile=reconcile, existing=existing, owned=owned)
        return function

    return add


async def caught(seen: Seen, work: Awaitable[Any]) -> None:
    """Put what became of ``work`` into ``seen``: a value, or the type of konstat's error."""
    try:
        seen.append(await work)
    except KonstatError as error:
        seen.append(type(error).__name__)


def asked(seen: Seen, read: Callable[[], Any]) -> None:
    """As `caught`, for reads, which give objects: their names are kept."""
    try:
        found = read()
    except KonstatError as error:
        seen.append(type(error).__name__)
        return
    names = [item.name for item in found] if isinstance(found, list) else found and found.name
    seen.append(names)


# --- children of every kind, just made --------------------------------------------------------

CHILDREN: dict[str, Resource[Any, Any]] = {
    "config_map": config(text="hello"),
    "secret": Secret(metadata={"name": "child"}, stringData={"key": "value"}),
    "service_account": ServiceAccount(metadata={"name": "child"}),
    "role": Role(
        metadata={"name": "child"},
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
    "role_binding": RoleBinding(
        metadata={"name": "child"},
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "child"},
        subjects=[],
    ),
    "deployment": deployment(),
    "deployment_scaled_to_zero": deployment(replicas=0),
    "deployment_paused": deployment(paused=True),
    "stateful_set": StatefulSet(
        metadata={"name": "child"},
        spec={"serviceName": "child", "selector": SELECTOR, "template": TEMPLATE},
    ),
    "daemon_set": DaemonSet(
        metadata={"name": "child"}, spec={"selector": SELECTOR, "template": TEMPLATE}
    ),
    "replica_set": ReplicaSet(
        metadata={"name": "child"}, spec={"selector": SELECTOR, "template": TEMPLATE}
    ),
    "job": Job(metadata={"name": "child"}, spec={"template": ONCE}),
    "job_suspended": Job(metadata={"name": "child"}, spec={"template": ONCE, "suspend": True}),
    "cron_job": CronJob(
        metadata={"name": "child"},
        spec={"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": ONCE}}},
    ),
    "pod": Pod(metadata={"name": "child"}, spec=ONCE["spec"]),
    "claim": PersistentVolumeClaim(
        metadata={"name": "child"},
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    "service": Service(
        metadata={"name": "child"}, spec={"selector": LABELS, "ports": [{"port": 80}]}
    ),
    "service_headless": Service(
        metadata={"name": "child"},
        spec={"clusterIP": "None", "selector": LABELS, "ports": [{"port": 80}]},
    ),
    "service_external": Service(
        metadata={"name": "child"}, spec={"type": "ExternalName", "externalName": "example.com"}
    ),
    "service_load_balancer": Service(
        metadata={"name": "child"},
        spec={"type": "LoadBalancer", "selector": LABELS, "ports": [{"port": 80}]},
    ),
    "ingress": Ingress(
        metadata={"name": "child"},
        spec={"defaultBackend": {"service": {"name": "child", "port": {"number": 80}}}},
    ),
    "network_policy": NetworkPolicy(metadata={"name": "child"}, spec={"podSelector": {}}),
    "budget": PodDisruptionBudget(
        metadata={"name": "child"}, spec={"minAvailable": 1, "selector": SELECTOR}
    ),
    "autoscaler": HorizontalPodAutoscaler(
        metadata={"name": "child"},
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "child"},
            "maxReplicas": 3,
        },
    ),
    "own_kind": Part.named("child", size=3),
}


def _add_child(word: str, child: Resource[Any, Any]) -> None:
    async def reconcile(trial: Trial, context: TrialContext, seen: Seen) -> None:
        applied = await context.apply(child, component=context.status.main)
        seen.append((applied.name, applied.namespace == trial.namespace, bool(applied.uid)))

    reconcile.__name__ = f"new_{word}"
    scenario()(reconcile)


for _word, _child in CHILDREN.items():
    _add_child(_word, _child)


# Objects at cluster scope, for every scenario.
ZONES = (
    Zone(metadata={"name": "north", "labels": {"far": "yes"}}, spec={"size": 1}),
    Zone(metadata={"name": "south"}, spec={"size": 2}),
)

OWNED = tuple({type(child): None for child in CHILDREN.values()})


def controller(record: Callable[[Trial, Seen], None]) -> Controller[Trial]:
    """A controller that lives through whatever scenario a Trial names, and records what it saw."""
    trials = Controller(
        Trial, owns=OWNED, optional=[Absent], watches=[Watch(Zone, lambda _: [])], concurrency=4
    )

    @trials.reconcile
    async def reconcile(trial: Trial, context: TrialContext) -> RequeueAfter | None:
        seen: Seen = []
        try:
            return await SCENARIOS[trial.spec.scenario].reconcile(trial, context, seen)
        finally:
            record(trial, seen)

    return trials
