"""Processes as containers on a real control plane: what its controllers make of them."""

from __future__ import annotations

import asyncio
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from live_processes import FAMILY, family, python, runs
from live_processes import until as until_here

from konstat.base import clock
from konstat.client.api import Client
from konstat.errors import NotFound, UserError
from konstat.kinds import BY_KIND, ConfigMap, Deployment, Job, Pod, Secret, Service
from konstat.nodes import LogQuery, NodeActor

pytestmark = pytest.mark.realapi

EVENT = BY_KIND["events.k8s.io", "Event"]
WAIT = "import signal; print('here'); signal.pause()"
# Ready (GET /) once the file in its first argument is there; binds the pod's own address.
SERVER = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists(sys.argv[1]) else 503)
        self.end_headers()
        self.wfile.write(os.environ['HOSTNAME'].encode())
http.server.HTTPServer((sys.argv[2], 8080), Answer).serve_forever()
"""


def state(pod: dict[str, Any]) -> dict[str, Any]:
    """The status of the first container; empty before there is one."""
    return (pod.get("status", {}).get("containerStatuses") or [{}])[0]


async def get(client: Client, kind: Any, name: str) -> dict[str, Any]:
    try:
        return await client.get(kind.kind, name)
    except NotFound:
        return {}


async def ended(client: Client, name: str, until: Any) -> dict[str, Any]:
    """How the first container of a pod has ended."""

    async def look() -> Any:
        return (state(await get(client, Pod, name)).get("state") or {}).get("terminated")

    return await until(look, what=f"the end of {name}")


async def running(client: Client, name: str, until: Any) -> dict[str, Any]:
    async def look() -> Any:
        pod = await get(client, Pod, name)
        return pod if state(pod).get("ready") else None

    return await until(look, what=f"{name} to be ready")


async def warned(client: Client, reason: str, text: str, until: Any) -> None:
    async def look() -> bool:
        events = await client.list(EVENT.kind)
        return any(e["reason"] == reason and text in e.get("note", "") for e in events)

    await until(look, what=f"event {reason}: {text}")


async def log_of(actor: NodeActor, client: Client, pod: str, **query: Any) -> str:
    pieces = actor.logs(pod, LogQuery(**query), namespace=client.namespace)
    return b"".join([piece async for piece in pieces]).decode()


async def test_a_deployment_is_available_when_its_probes_pass_and_its_pods_answer(
    client: Client, play: Any, until: Any, tmp_path: Path
) -> None:
    gate = tmp_path / "open"
    probe = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1}
    container = {
        "name": "main",
        "image": "example.com/web:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": probe,
    }
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    async with play(client, web=(*python(SERVER), str(gate), "$(podIP)")):
        await client.create(Deployment.kind, {"metadata": {"name": "web"}, "spec": spec})
        await warned(client, "Unhealthy", "statuscode: 503", until)
        before = await get(client, Deployment, "web")
        assert not before["status"].get("availableReplicas")
        gate.touch()

        async def available() -> bool:
            found = await get(client, Deployment, "web")
            return found["status"].get("availableReplicas") == 2

        await until(available, what="two available replicas")
        pods = await client.list(Pod.kind)
        answers = {await asyncio.to_thread(_fetch, pod["status"]["podIP"]) for pod in pods}
        assert answers == {pod["metadata"]["name"] for pod in pods}


def _fetch(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}:8080/", timeout=10) as answer:
        return answer.read().decode()


async def test_a_crash_shows_its_exit_code_and_backs_off_more_and_more(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    crash = python("import os; print('no database'); os._exit(3)")
    async with play(client, crash=crash) as actor:
        options = {"terminationMessagePolicy": "FallbackToLogsOnError"}
        await client.create(Pod.kind, pod_of("crash", "crash", **options))
        told: set[str] = set()

        async def backed_off() -> bool:
            found = state(await get(client, Pod, "crash"))
            waiting = (found.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") == "CrashLoopBackOff":
                told.add(waiting["message"].split(" restarting")[0])
                last = found["lastState"]["terminated"]
                assert (last["exitCode"], last["reason"]) == (3, "Error")
                assert last["message"] == "no database\n"
            return {"back-off 400ms", "back-off 800ms", "back-off 1.6s"} <= told

        await until(backed_off, what="growing back-offs")
        # The log of the run before the present one can be asked for.
        assert await log_of(actor, client, "crash", previous=True) == "no database\n"


async def test_jobs_complete_and_fail_by_real_exit_codes(
    client: Client, play: Any, until: Any
) -> None:
    async with play(client, good=python("print('done')"), bad=python("raise SystemExit(1)")):
        for name in ("good", "bad"):
            container = {"name": "main", "image": f"example.com/{name}"}
            template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
            spec = {"backoffLimit": 0, "template": template}
            await client.create(Job.kind, {"metadata": {"name": name}, "spec": spec})

        async def verdict(name: str) -> set[str]:
            found = (await get(client, Job, name)).get("status", {}).get("conditions") or ()
            types = {c["type"] for c in found if c["status"] == "True"}
            return types & {"Complete", "Failed"}

        assert await until(lambda: verdict("good"), what="the good job") == {"Complete"}
        assert await until(lambda: verdict("bad"), what="the bad job") == {"Failed"}
        codes = {
            pod["metadata"]["labels"]["job-name"]: state(pod)["state"]["terminated"]["exitCode"]
            for pod in await client.list(Pod.kind)
        }
        assert codes == {"good": 0, "bad": 1}


async def test_a_deleted_pod_has_its_grace_and_is_killed_after_it(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    polite = python(
        "import os, signal; signal.signal(15, lambda *_: os._exit(0)); print('here')\n"
        "while 1: signal.pause()"
    )
    deaf = python("import signal; signal.signal(15, signal.SIG_IGN); print('here')\n"
                  "while 1: signal.pause()")  # fmt: skip
    async with play(client, polite=polite, deaf=deaf) as actor:
        for name in ("polite", "deaf"):
            # The finalizer lets the end be seen.
            metadata = {"finalizers": ["example.com/keep"]}
            await client.create(Pod.kind, pod_of(name, name, metadata=metadata))
            await running(client, name, until)
            await _said(actor, client, name, "here", until)
            await client.delete(Pod.kind, name, grace_period_seconds=2)
        ends = {name: await ended(client, name, until) for name in ("polite", "deaf")}
        assert {name: end["exitCode"] for name, end in ends.items()} == {"polite": 0, "deaf": 137}
        pod = await get(client, Pod, "deaf")
        killed = clock.parse_timestamp(ends["deaf"]["finishedAt"])
        assert killed >= clock.parse_timestamp(pod["metadata"]["deletionTimestamp"]).replace(
            microsecond=0
        )
        for name in ends:
            await client.patch(Pod.kind, name, {"metadata": {"finalizers": None}}, type="merge")

        async def gone() -> bool:
            return not await client.list(Pod.kind)

        await until(gone, what="the end of the pods")


async def _said(actor: NodeActor, client: Client, pod: str, text: str, until: Any) -> None:
    async def look() -> bool:
        return text in await log_of(actor, client, pod)

    await until(look, what=f"{pod} to say {text!r}")


async def test_variables_and_volumes_arrive(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    text = """
import os, pathlib, signal
print(os.environ['COLOR'], os.environ['TOKEN'], os.environ['NAME'], os.environ['P_COLOR'])
mounts = {k: pathlib.Path(v) for k, v in os.environ.items() if k.startswith('KONSTAT_MOUNT_')}
print((mounts['KONSTAT_MOUNT_SETTINGS'] / 'COLOR').read_text())
print((mounts['KONSTAT_MOUNT_SECRET'] / 'deep/token').read_text())
print((mounts['KONSTAT_MOUNT_POD'] / 'name').read_text())
(mounts['KONSTAT_MOUNT_SCRATCH'] / 'x').touch()
print(os.environ['KONSTAT_POD_IP'] == os.environ['IP'], 'KUBECONFIG' in os.environ)
signal.pause()
"""
    env = [
        {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "COLOR"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "TOKEN"}}},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    items = [{"key": "TOKEN", "path": "deep/token"}]
    fields = [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
    volumes = [
        {"name": "settings", "configMap": {"name": "c"}},
        {"name": "secret", "secret": {"secretName": "s", "items": items}},
        {"name": "pod", "downwardAPI": {"items": fields}},
        {"name": "scratch", "emptyDir": {}},
    ]
    pod = pod_of(
        "env",
        "env",
        env=env,
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "c"}}],
        spec={"volumes": volumes},
    )
    async with play(client, env=python(text)) as actor:
        await client.create(Pod.kind, pod)
        # The sources come later; the pod waits for them.
        await warned(client, "FailedMount", 'configmap "c" not found', until)
        await client.create(Secret.kind, {"metadata": {"name": "s"}, "stringData": {"TOKEN": "t"}})
        await client.create(ConfigMap.kind, {"metadata": {"name": "c"}, "data": {"COLOR": "red"}})
        await running(client, "env", until)
        await _said(actor, client, "env", "True False", until)
        said = await log_of(actor, client, "env")
        assert said.split() == ["red", "t", "env", "red", "red", "t", "env", "True", "False"]


async def test_what_a_process_cannot_have_holds_the_pod_up(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    env = [{"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]
    async with play(client, wait=python(WAIT), lost=("no-such-program",)):
        await client.create(Pod.kind, pod_of("cpu", "wait", env=env))
        volumes = [{"name": "host", "hostPath": {"path": "/"}}]
        await client.create(Pod.kind, pod_of("host", "wait", spec={"volumes": volumes}))
        await client.create(Pod.kind, pod_of("lost", "lost", spec={"restartPolicy": "Never"}))
        await warned(client, "Failed", "variable CPU takes its value from a source", until)
        await warned(client, "FailedMount", 'volume "host" : its kind is not played', until)

        async def waits() -> bool:
            waiting = (state(await get(client, Pod, "cpu")).get("state") or {}).get("waiting") or {}
            return waiting.get("reason") == "CreateContainerConfigError"

        await until(waits, what="CreateContainerConfigError")
        assert (await ended(client, "lost", until))["exitCode"] == 127


async def test_pods_name_commands_only_where_that_is_allowed(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    line = f"{sys.executable} -c 'raise SystemExit(9)'"
    metadata = {"annotations": {"nodes.konstat.dev/command.main": line}}
    spec = {"restartPolicy": "Never"}
    async with play(client, wait=python(WAIT)) as actor:
        await client.create(Pod.kind, pod_of("strict", "other", metadata=metadata, spec=spec))
        await warned(client, "CommandNotAllowed", "nodes.konstat.dev/command.main", until)
        pod = await running(client, "strict", until)
        assert pod["status"]["podIP"].startswith("10.244.")
        with pytest.raises(UserError, match="is pretended, so it says nothing"):
            await log_of(actor, client, "strict")
    async with play(client, allow_commands=True):
        await client.create(Pod.kind, pod_of("open", "other", metadata=metadata, spec=spec))
        assert (await ended(client, "open", until))["exitCode"] == 9


async def test_an_init_container_and_a_sidecar_are_processes_too(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    note = python("import os; open(os.environ['KONSTAT_MOUNT_D'] + '/note', 'w').write('x')")
    read = python("import os; print(os.listdir(os.environ['KONSTAT_MOUNT_D']))")
    init = [
        {"name": "setup", "image": "example.com/note"},
        {"name": "side", "image": "example.com/wait", "restartPolicy": "Always"},
    ]
    spec = {
        "initContainers": init,
        "volumes": [{"name": "d", "emptyDir": {}}],
        "restartPolicy": "Never",
    }
    async with play(client, note=note, read=read, wait=python(WAIT)) as actor:
        await client.create(Pod.kind, pod_of("both", "read", spec=spec))

        async def succeeded() -> bool:
            return (await get(client, Pod, "both"))["status"].get("phase") == "Succeeded"

        await until(succeeded, what="the end of the pod")
        pod = await get(client, Pod, "both")
        codes = [
            s["state"]["terminated"]["exitCode"] for s in pod["status"]["initContainerStatuses"]
        ]
        assert codes == [0, 143]
        assert await log_of(actor, client, "both", container="main") == "['note']\n"
        with pytest.raises(UserError, match="container name must be specified"):
            await log_of(actor, client, "both")


async def test_a_log_can_be_followed_to_its_end(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    text = "import os, signal\nsignal.signal(15, lambda *_: print('bye') or os._exit(0))\n" + WAIT
    async with play(client, wait=python(text)) as actor:
        await client.create(Pod.kind, pod_of("said", "wait"))
        await running(client, "said", until)
        await _said(actor, client, "said", "here", until)
        pieces = actor.logs("said", LogQuery(follow=True), namespace=client.namespace)
        assert await anext(pieces) == b"here\n"
        await client.delete(Pod.kind, "said")
        assert [piece async for piece in pieces] == [b"bye\n"]


async def test_a_process_that_ended_with_its_actor_is_started_again(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    prefix = f"kept-{client.namespace[-5:]}"
    async with play(client, prefix=prefix, keep=True, wait=python(WAIT)):
        await client.create(Pod.kind, pod_of("again", "wait"))
        await running(client, "again", until)
    async with play(client, prefix=prefix, wait=python(WAIT)):

        async def restarted() -> Any:
            found = state(await get(client, Pod, "again"))
            return found if found["restartCount"] == 1 and found["ready"] else None

        last = (await until(restarted, what="a restart"))["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (137, "ContainerStatusUnknown")


async def test_nothing_is_left_when_the_actor_ends(
    client: Client, play: Any, pod_of: Any, until: Any, tmp_path: Path
) -> None:
    text = FAMILY + "print('here'); signal.pause()"
    async with play(client, family=(*python(text), str(tmp_path))) as actor:
        await client.create(Pod.kind, pod_of("one", "family"))
        await running(client, "one", until)
        await until_here(lambda: len(family(tmp_path)) == 3, what="the family")
        assert actor.statistics().pods == 1
    assert not any(map(runs, family(tmp_path).values()))


async def test_a_pod_that_is_deleted_by_force_leaves_nothing(
    client: Client, play: Any, pod_of: Any, until: Any, tmp_path: Path
) -> None:
    text = FAMILY + "signal.signal(15, signal.SIG_IGN)\nwhile 1: signal.pause()"
    async with play(client, family=(*python(text), str(tmp_path))):
        await client.create(Pod.kind, pod_of("one", "family"))
        await until_here(lambda: len(family(tmp_path)) == 3, what="the family")
        await client.delete(Pod.kind, "one", grace_period_seconds=0)
        await until_here(lambda: not any(map(runs, family(tmp_path).values())), what="the end")


async def test_programs_find_services_by_name_in_a_file(
    client: Client, play: Any, pod_of: Any, until: Any
) -> None:
    text = """
import os, select
while True:
    lines = open(os.environ['KONSTAT_HOSTS']).read().splitlines()
    found = [line.split()[0] for line in lines if ' db ' in line]
    if found:
        print('found', *found)
        break
    select.select([], [], [], 0.05)
"""
    async with play(client, wait=python(WAIT), look=python(text)) as actor:
        await client.create(Pod.kind, pod_of("look", "look", spec={"restartPolicy": "Never"}))
        metadata = {"labels": {"app": "db"}}
        await client.create(Pod.kind, pod_of("db", "wait", metadata=metadata))
        address = (await running(client, "db", until))["status"]["podIP"]
        spec = {"selector": {"app": "db"}, "ports": [{"port": 80}]}
        await client.create(Service.kind, {"metadata": {"name": "db"}, "spec": spec})
        assert (await ended(client, "look", until))["exitCode"] == 0
        assert await log_of(actor, client, "look") == f"found {address}\n"
