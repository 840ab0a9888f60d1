"""Root causes end to end: a real control plane, its controllers, and nodes that play pods.

All cases live on one server at once; what is checked is the verdict on live objects, computed from
lists of what is around them: class, cause and whose turn it is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from live_processes import python

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.kinds import BY_KIND
from konstat.nodes import (
    NodeActor,
    NodeOptions,
    Pace,
    PretendedRuntime,
    ProcessCommand,
    ProcessRuntime,
)
from konstat.objects.kind import Kind
from konstat.readiness import Manifests, Readiness, Reason, State, Turn, compute
from konstat.testing import ControlPlane, Options

pytestmark = pytest.mark.realapi

DEADLINE_SECONDS = 90.0
# A node is called silent soon after its last lease, which is renewed every ten seconds.
OPTIONS = Options(
    controller_manager_flags=("--node-monitor-period=1s", "--node-monitor-grace-period=13s")
)
QUICK = Pace(
    backoff_first_seconds=0.4, backoff_maximum_seconds=1.6, shown_seconds=0.2, recheck_seconds=0.1
)
CRASH = python("import os, sys; print('no database at db:5432'); sys.stdout.flush(); os._exit(3)")
WAIT = python("import signal; signal.pause()")
QUOTA = Kind(group="", version="v1", kind="ResourceQuota", plural="resourcequotas")
HOME = "pretended-0"  # where pods run that name no other node
AROUND = (
    ("", "Event"),
    ("", "Node"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("apps", "ReplicaSet"),
    ("storage.k8s.io", "StorageClass"),
)
KINDS = {
    "ConfigMap": ("", "ConfigMap"),
    "Deployment": ("apps", "Deployment"),
    "Pod": ("", "Pod"),
    "StatefulSet": ("apps", "StatefulSet"),
}


class Case(NamedTuple):
    """One object in trouble: what is made, and what must be said of it."""

    kind: str
    spec: Mapping[str, Any]
    state: State
    reason: Reason
    turn: Turn
    words: str
    namespace: str = "default"
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()


def workload(name: str, *, annotations: Any = None, spec: Any = None, **container: Any) -> Any:
    """The spec of a Deployment or StatefulSet of one pod."""
    labels = {"app": name}
    return {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels, "annotations": annotations or {}},
            "spec": pod(spec=spec, **container),
        },
    }


def pod(*, spec: Any = None, **container: Any) -> Any:
    main = {"name": "main", "image": "example.com/app:1", **container}
    return {
        "automountServiceAccountToken": False,
        "containers": [main],
        "nodeSelector": {"kubernetes.io/hostname": HOME},
        **(spec or {}),
    }


def secret_key(name: str, key: str) -> Any:
    source = {"secretKeyRef": {"name": name, "key": key}}
    return [{"name": "PASSWORD", "valueFrom": source}]


FAILED, PROGRESSING = State.FAILED, State.PROGRESSING
USER, OWNER, NOBODY = Turn.USER, Turn.OWNER, Turn.NOBODY


def on(node: str, **more: Any) -> Any:
    """Spec of a pod that runs on one node alone."""
    return {"nodeSelector": {"kubernetes.io/hostname": node}, **more}


def cases(*, local: str, lost: str) -> dict[str, Case]:
    """By name; ``local`` is the node that runs processes, ``lost`` the one that falls silent."""
    return {**refused(), **unplaced(lost), **failing(local), **waiting(local)}


def refused() -> dict[str, Case]:
    """Pods that the server does not take."""
    return {
        "quota": Case(
            "Deployment", workload("quota", resources={"requests": {"cpu": "1"}}),
            FAILED, Reason.QUOTA_EXCEEDED, USER, "quota small leaves no room", "tight",
        ),
        "quota-set": Case(
            "StatefulSet", workload("quota-set", resources={"requests": {"cpu": "1"}}),
            FAILED, Reason.QUOTA_EXCEEDED, USER, "quota small leaves no room", "tight",
        ),
        "insecure": Case(
            "Deployment", workload("insecure", spec={"hostNetwork": True}),
            FAILED, Reason.POD_SECURITY_VIOLATED, USER, "violates PodSecurity", "strict",
        ),
        "nobody": Case(
            "Deployment", workload("nobody", spec={"serviceAccountName": "absent"}),
            FAILED, Reason.SERVICE_ACCOUNT_MISSING, USER, 'serviceaccount "absent" not found',
        ),
    }  # fmt: skip


def unplaced(lost: str) -> dict[str, Case]:
    """Pods without a node, and one that lost its own."""
    claimed = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    return {
        "huge": Case(
            "Deployment", workload("huge", resources={"requests": {"cpu": "1000"}}),
            PROGRESSING, Reason.UNSCHEDULABLE, USER, "Insufficient cpu",
        ),
        "claimless": Case(
            "Deployment", workload("claimless", spec=claimed),
            PROGRESSING, Reason.STORAGE_CLASS_NOT_FOUND, USER,
            "claim data StorageClass fast does not exist",
        ),
        "lost": Case(
            "Deployment", workload("lost", spec=on(lost)),
            FAILED, Reason.NODE_NOT_READY, OWNER, f"node {lost} does not answer",
        ),
    }  # fmt: skip


def failing(local: str) -> dict[str, Case]:
    """Containers that do not come up or do not stay."""
    return {
        "pull": Case(
            "Deployment", workload("pull", image="registry.invalid/app:1"),
            FAILED, Reason.IMAGE_PULL_FAILED, USER,
            "image registry.invalid/app:1 of container main cannot be pulled: the registry cannot",
        ),
        "crash": Case(
            "Deployment",
            workload("crash", image="example.com/crash:1", spec=on(local),
                     terminationMessagePolicy="FallbackToLogsOnError"),
            FAILED, Reason.CRASH_LOOPING, USER,
            "container main keeps crashing: exit code 3: no database at db:5432",
        ),
        "memory": Case(
            "Deployment",
            workload("memory", annotations={"nodes.konstat.dev/crash": "main=137:OOMKilled"}),
            FAILED, Reason.CRASH_LOOPING, USER, "out of memory (OOMKilled, exit code 137)",
        ),
        "keyless": Case(
            "Deployment", workload("keyless", env=secret_key("db", "password")),
            FAILED, Reason.CONTAINER_CONFIG_INVALID, USER, "couldn't find key password",
        ),
    }  # fmt: skip


def waiting(local: str) -> dict[str, Case]:
    """What is held by something else."""
    volume = {"volumes": [{"name": "keys", "secret": {"secretName": "absent"}}]}
    gates = {"readinessGates": [{"conditionType": "lb.example.com/registered"}]}
    probe = {"httpGet": {"path": "/", "port": 9}, "periodSeconds": 1}
    return {
        "unmounted": Case(
            "Pod", pod(spec=volume),
            PROGRESSING, Reason.VOLUME_NOT_MOUNTED, USER, 'secret "absent" not found',
        ),
        "gated": Case(
            "Pod", pod(spec=gates),
            PROGRESSING, Reason.READINESS_GATE_NOT_MET, NOBODY,
            "lb.example.com/registered, which the controller of lb.example.com must set",
        ),
        "probed": Case(
            "Pod", pod(image="example.com/wait:1", readinessProbe=probe, spec=on(local)),
            PROGRESSING, Reason.PODS_NOT_READY, NOBODY,
            "container main runs, but its readiness probe fails",
        ),
        "stuck": Case(
            "ConfigMap", {}, State.TERMINATING, Reason.DELETING, NOBODY,
            "waits for finalizers: example.com/hold", finalizers=("example.com/hold",),
        ),
    }  # fmt: skip


async def make(client: Client, kind: Any, name: str, namespace: str, **content: Any) -> None:
    metadata = {"name": name, **content.pop("metadata", {})}
    await client.create(kind.kind, {"metadata": metadata, **content}, namespace=namespace)


async def prepare(client: Client) -> None:
    """Namespaces with a quota and a pod security standard, a Secret and a claim."""
    strict = {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    for name, metadata in (("tight", {}), ("strict", strict)):
        await make(client, BY_KIND["", "Namespace"], name, "", metadata=metadata)
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "500m"}}}
    await client.create(QUOTA, quota, namespace="tight")
    await make(client, BY_KIND["", "Secret"], "db", "default", stringData={"user": "me"})
    claim = {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await make(client, BY_KIND["", "PersistentVolumeClaim"], "data", "default", spec=claim)


@asynccontextmanager
async def played(client: Client) -> AsyncIterator[tuple[NodeActor, str]]:
    """An actor with two pretended nodes, and the name of a node that runs processes."""
    commands = [
        ProcessCommand(image="example.com/crash", command=CRASH),
        ProcessCommand(image="example.com/wait", command=WAIT),
    ]
    pretending = NodeActor(
        client,
        NodeOptions(nodes=2, name_prefix="pretended"),
        runtime=PretendedRuntime(run_seconds=0.2),
        pace=QUICK,
    )
    local = NodeActor(
        client,
        NodeOptions(name_prefix="local"),
        runtime=ProcessRuntime(commands),
        pace=QUICK,
    )
    async with open_tasks() as tasks:
        for actor in (pretending, local):
            tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
        yield pretending, local.node_names[0]


class Judge:
    """Verdicts on the cases, from lists of all that is around them."""

    def __init__(self, client: Client, wanted: Mapping[str, Case]) -> None:
        self.client = client
        self.wanted = wanted

    async def look(self) -> dict[str, Readiness]:
        """The verdict on each case now."""
        lists: list[dict[str, Any]] = []
        for group, kind in {*AROUND, *KINDS.values()}:
            known = BY_KIND[group, kind].kind
            items = await self.client.list(known, namespace=None)
            named = {"apiVersion": known.api_version, "kind": f"{kind}List"}
            lists.append({**named, "items": items})
        around = Manifests(lists, complete=AROUND)
        return {
            name: compute(
                around.find(*KINDS[case.kind], case.namespace, name),
                related=around,
                now=clock.now(),
                kind=BY_KIND[KINDS[case.kind]].kind,
            )
            for name, case in self.wanted.items()
        }

    async def wait(self) -> dict[str, Readiness]:
        """The verdicts, once each case has had the one that is wanted."""
        deadline = clock.monotonic() + DEADLINE_SECONDS
        right: dict[str, Readiness] = {}
        while True:
            now = await self.look()
            right |= {name: v for name, v in now.items() if self._is_right(name, v)}
            wrong = {name: v for name, v in now.items() if name not in right}
            if not wrong:
                return right
            assert clock.monotonic() < deadline, f"still {wrong}"
            await clock.sleep(0.2)

    def _is_right(self, name: str, verdict: Readiness) -> bool:
        case = self.wanted[name]
        got = (verdict.state, verdict.reason, verdict.turn)
        return got == (case.state, case.reason, case.turn) and case.words in verdict.message


async def test_causes_of_live_objects(start_control_plane: Any) -> None:
    plane: ControlPlane = start_control_plane(OPTIONS)
    async with plane.client() as client, played(client) as (actor, local):
        lost = actor.node_names[1]
        wanted = cases(local=local, lost=lost)
        await prepare(client)
        for name, case in wanted.items():
            metadata = {"finalizers": list(case.finalizers)}
            content = {"spec": case.spec} if case.spec else {}
            kind = BY_KIND[KINDS[case.kind]]
            await make(client, kind, name, case.namespace, metadata=metadata, **content)
        await client.delete(BY_KIND["", "ConfigMap"].kind, "stuck", namespace="default")
        await _running_on(client, lost)
        actor.fail_node(lost)
        judge = Judge(client, wanted)
        await judge.wait()
        await _reads_the_same(judge)
        await _stuck_in_the_end(client)


async def _running_on(client: Client, node: str) -> None:
    deadline = clock.monotonic() + DEADLINE_SECONDS
    while True:
        pods = await client.list(BY_KIND["", "Pod"].kind, field_selector=f"spec.nodeName={node}")
        if any(
            p["status"].get("phase") == "Running" and "lost" in p["metadata"]["name"] for p in pods
        ):
            return
        assert clock.monotonic() < deadline, f"no pod runs on {node}"
        await clock.sleep(0.1)


async def _reads_the_same(judge: Judge) -> None:
    """Back-offs alternate between reasons and phases; the verdict and its text do not."""
    seen: dict[str, set[tuple[State, str]]] = {}
    for _ in range(15):
        for name, verdict in (await judge.look()).items():
            # Restarts are told in steps of ten.
            text = re.sub(", restarted at least [0-9]+ times", "", verdict.message)
            seen.setdefault(name, set()).add((verdict.state, text))
        await clock.sleep(0.2)
    for name in ("pull", "crash", "memory", "quota", "quota-set", "keyless"):
        assert len(seen[name]) == 1, seen[name]


async def _stuck_in_the_end(client: Client) -> None:
    kind = BY_KIND["", "ConfigMap"].kind
    content = await client.get(kind, "stuck", namespace="default")
    later = clock.now() + timedelta(seconds=400)
    verdict = compute(content, now=later, kind=kind)
    assert (verdict.state, verdict.reason) == (State.TERMINATING, Reason.DELETION_STUCK)
    assert verdict.turn is Turn.OWNER
    assert f"since {content['metadata']['deletionTimestamp']}" in verdict.message
    free = {"metadata": {"finalizers": None}}
    await client.patch(kind, "stuck", free, type="merge", namespace="default")
