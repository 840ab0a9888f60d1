"""What one verdict costs, as a multiple of decoding the objects that it looks at.

The objects are as a server hands them out (managedFields included), taken from the embedded API:
a Deployment with its ReplicaSet and three pods, ready and with an image that cannot be pulled, and
a custom resource of 7 KB (the object of the other benches) with five conditions. Decoding is
msgspec's, into plain dicts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from bench.settings import Settings
from bench.tables import Bound, Figure, Report, Table
from konstat.base import clock, limits
from konstat.client import Client
from konstat.kinds import CustomResourceDefinition, Deployment, Pod, ReplicaSet
from konstat.objects.kind import Kind
from konstat.readiness import Manifests, State, compute
from konstat.testing import embedded_api
from konstat.testing.rig_health import wait_until

NAME = "readiness"
TITLE = "One verdict beside decoding its objects"

_PODS: Final = 3
_CONTAINERS: Final = 11  # in the template of the custom resource: they make it 7 KB
_REPEATS: Final = 2000  # of each measurement in one round
_WIDGET: Final = Kind(group="bench.konstat.dev", version="v1", kind="Widget", plural="widgets")
_TYPES: Final = ("Ready", "Reconciling", "WorkloadReady", "NetworkReady", "StorageReady")

Content = dict[str, Any]


async def run(settings: Settings) -> Report:
    """Measure in turns, so that all see the same machine."""
    async with embedded_api() as api, api.client() as client:
        ready = await _deployment(client, "ready", image="nginx:1")
        broken = await _deployment(client, "broken", image="registry.invalid/nginx:1")
        widget = [await _widget(client)]
    cases = {
        f"Deployment with {_PODS} ready pods": ready,
        f"Deployment with {_PODS} pods that cannot pull": broken,
        "custom resource with 5 conditions": widget,
    }
    rounds = {
        name: [_round(objects) for _ in range(settings.rounds)] for name, objects in cases.items()
    }
    rows: list[list[str | int | Figure]] = []
    bounds: list[Bound] = []
    for name, measured in rounds.items():
        times = Figure.of((judged / decoded for decoded, judged in measured), unit="×")
        rows.append(
            [
                name,
                sum(map(len, cases[name])),
                Figure.of((decoded * 1e6 for decoded, _ in measured), unit="µs", digits=1),
                Figure.of((judged * 1e6 for _, judged in measured), unit="µs", digits=1),
                times,
            ]
        )
        bounds.append(Bound.at_most(name, 1.0 if cases[name] is widget else 2.0, times))
    table = Table(
        title="One verdict",
        columns=["object", "bytes of JSON", "decode", "compute", "multiple"],
        rows=rows,
        notes=[
            "Decoding is that of every object the verdict looks at; compute includes finding them.",
        ],
    )
    return Report(tables=[table], bounds=bounds)


def _round(objects: Sequence[bytes]) -> tuple[float, float]:
    """Seconds for decoding all, and for one verdict on the first."""
    decode = msgspec.json.Decoder().decode
    contents: list[Content] = [decode(data) for data in objects]
    related = Manifests(contents)
    subject = contents[0]
    decoded = _seconds(lambda: [decode(data) for data in objects])
    judged = _seconds(lambda: compute(subject, related=related))
    return decoded, judged


def _seconds(work: Callable[[], object]) -> float:
    """What one call takes, in processor time."""
    began = time.process_time()
    for _ in range(_REPEATS):
        work()
    return (time.process_time() - began) / _REPEATS


async def _deployment(client: Client, name: str, *, image: str) -> list[bytes]:
    """The JSON of a Deployment, its ReplicaSet and pods, once they have come to rest."""
    labels = {"app": name}
    containers = [_container("app", image=image)]
    spec = {
        "replicas": _PODS,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    metadata = {"name": name, "namespace": "default"}
    await client.create(Deployment, {"metadata": metadata, "spec": spec})
    wanted = State.FAILED if "invalid" in image else State.READY
    found: list[Content] = []

    async def is_settled() -> bool:
        found[:] = [await client.get(Deployment.kind, name)]
        for kind in (ReplicaSet.kind, Pod.kind):
            found.extend(await client.list(kind, label_selector=f"app={name}"))
        return compute(found[0], related=Manifests(found)).state is wanted

    await wait_until(
        is_settled,
        what=f"a Deployment that is {wanted}",
        programs=(),
        deadline=clock.monotonic() + limits.RIG_START_SECONDS,
    )
    return [msgspec.json.encode(content) for content in found]


def _container(name: str, *, image: str) -> Content:
    return {
        "name": name,
        "image": image,
        "ports": [{"containerPort": 8080}],
        "env": [{"name": f"SETTING_{n}", "value": "value"} for n in range(6)],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
    }


async def _widget(client: Client) -> bytes:
    """The JSON of a custom resource that an operator has settled."""
    await client.create(CustomResourceDefinition, _definition())
    await wait_until(
        lambda: _is_established(client),
        what="serving the CRD",
        programs=(),
        deadline=clock.monotonic() + limits.RIG_START_SECONDS,
    )
    containers = [_container(f"container-{n}", image="nginx:1") for n in range(_CONTAINERS)]
    spec = {"replicas": 3, "template": {"spec": {"containers": containers}}}
    content = {"metadata": {"name": "w", "labels": {"app": "w", "team": "bench"}}, "spec": spec}
    made = await client.create(_WIDGET, content)
    generation = made["metadata"]["generation"]
    conditions = [
        {
            "type": type,
            "status": "False" if type == "Reconciling" else "True",
            "reason": "Available",
            "message": f"{type}: all parts of it are as they should be",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": generation,
        }
        for type in _TYPES
    ]
    status = {"observedGeneration": generation, "conditions": conditions, "readyReplicas": 3}
    await client.patch(_WIDGET, "w", {"status": status}, type="merge", subresource="status")
    settled = await client.get(_WIDGET, "w")
    assert compute(settled).state is State.READY
    return msgspec.json.encode(settled)


async def _is_established(client: Client) -> bool:
    found = await client.get(CustomResourceDefinition, f"{_WIDGET.plural}.{_WIDGET.group}")
    return any(c.type == "Established" and c.status == "True" for c in found.status.conditions)


def _definition() -> Content:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": _WIDGET.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "metadata": {"name": f"{_WIDGET.plural}.{_WIDGET.group}"},
        "spec": {
            "group": _WIDGET.group,
            "scope": "Namespaced",
            "names": {"plural": _WIDGET.plural, "kind": _WIDGET.kind},
            "versions": [version],
        },
    }
