"""The life of a WebApp on a real control plane, to watch: ``make demo``.

Starts etcd, kube-apiserver, controller-manager and scheduler, plays two nodes, runs the operator
of ``web_app.py`` as a process of its own, and takes a WebApp through creation, mistakes, repair,
loss and deletion. Each step shows the command and what ``konstat status`` says then. Needs no key
press and ends by itself; exit code 0 when every step came out as told.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.errors import KonstatError, NotFound
from konstat.kinds import Deployment, Pod
from konstat.nodes import NodeActor, NodeOptions
from konstat.objects.kind import Kind
from konstat.status.condition import find
from konstat.testing import ControlPlane, control_plane

HERE = Path(__file__).resolve().parent
WEB_APP = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
STEP_SECONDS = 60.0
LOOK_SECONDS = 0.1
MANIFEST = """\
apiVersion: demo.example.com/v1
kind: WebApp
metadata: {name: shop}
spec: {image: "nginx:1.27", replicas: 3}
"""

Content = dict[str, Any]


class StepFailed(Exception):
    """A step did not come out as told."""


class Demo:
    """The stage: a control plane, an operator process, and the eyes on them."""

    def __init__(self, plane: ControlPlane, client: Client) -> None:
        self.plane = plane
        self.client = client
        self.operator: subprocess.Popen[bytes] | None = None
        self.log = plane.folder / "operator.log"

    # --- telling ------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        print(f"\n── {text}", flush=True)

    async def kubectl(self, *arguments: str, stdin: str = "") -> None:
        print(f"$ kubectl {' '.join(arguments)}", flush=True)
        command = self.plane.kubectl_command(*arguments)
        await asyncio.to_thread(
            subprocess.run, command, input=stdin.encode(), check=True, stdout=subprocess.DEVNULL
        )

    async def show(self) -> None:
        command = self._konstat("status", "webapp", "shop")
        print("$ konstat status webapp shop", flush=True)
        await asyncio.to_thread(subprocess.run, command, check=False)

    def _konstat(self, *arguments: str) -> list[str]:
        kubeconfig = ("--kubeconfig", str(self.plane.kubeconfig))
        return [sys.executable, "-m", "konstat.cli.main", *arguments, *kubeconfig]

    # --- acting -------------------------------------------------------------------------------

    def start_operator(self) -> None:
        print("$ konstat run web_app.py --install-crds &", flush=True)
        command = self._konstat("run", str(HERE / "web_app.py"), "--install-crds")
        with self.log.open("ab") as log:
            self.operator = subprocess.Popen(command, stdout=log, stderr=log)

    async def stop_operator(self) -> None:
        if self.operator is not None:
            self.operator.terminate()
            await asyncio.to_thread(self.operator.wait)
            self.operator = None

    # --- looking ------------------------------------------------------------------------------

    async def until(self, told: str, right: Callable[[Content], bool]) -> Content:
        """Look until the WebApp is as told; StepFailed when it does not come to that."""
        deadline = clock.monotonic() + STEP_SECONDS
        while clock.monotonic() < deadline:
            try:
                content = await self.client.get(WEB_APP, "shop", namespace="default")
            except NotFound:
                content = {}
            if right(content):
                return content
            await clock.sleep(LOOK_SECONDS)
        raise StepFailed(f"not within {STEP_SECONDS:.0f} s: {told}\n{self.log.read_text()[-4000:]}")


def says(content: Content, type: str, status: str, reason: str = "") -> bool:
    """Whether a current condition has that status (and reason)."""
    stored = content.get("status") or {}
    entry = find(stored.get("conditions") or [], type)
    if entry is None or stored.get("observedGeneration") != content["metadata"]["generation"]:
        return False
    return entry["status"] == status and (not reason or entry["reason"] == reason)


def is_ready(content: Content) -> bool:
    return says(content, "Ready", "True")


async def patch(demo: Demo, **spec: Any) -> None:
    await demo.kubectl("patch", "webapp", "shop", "--type=merge", "-p", json.dumps({"spec": spec}))


async def create(demo: Demo) -> None:
    demo.say("The operator installs its CRD and waits for WebApps.")
    demo.start_operator()
    await _served(demo)
    demo.say("A WebApp is created. It is reconciling until its pods run, then Ready.")
    await demo.kubectl("apply", "-f", "-", stdin=MANIFEST)
    await demo.until("Ready", is_ready)
    await demo.show()


async def _served(demo: Demo) -> None:
    deadline = clock.monotonic() + STEP_SECONDS
    while clock.monotonic() < deadline:
        try:
            await demo.client.list(WEB_APP, namespace=None)
        except NotFound:
            await clock.sleep(LOOK_SECONDS)
            continue
        return
    raise StepFailed(f"the CRD was not installed\n{demo.log.read_text()[-4000:]}")


async def mistakes(demo: Demo) -> None:
    demo.say("A spec that cannot work stalls, and says whose turn it is.")
    await patch(demo, image="nginx")
    await demo.until("Stalled", lambda c: says(c, "Stalled", "True", "ImageUntagged"))
    await demo.show()
    demo.say("An image that cannot be pulled: not ready, with the cause from the pods.")
    await patch(demo, image="registry.invalid/shop:1.0")
    await demo.until("ImagePullFailed", lambda c: says(c, "Ready", "False", "ImagePullFailed"))
    await demo.show()
    demo.say("Repaired.")
    await patch(demo, image="nginx:1.28")
    await demo.until("Ready", is_ready)
    await demo.show()


async def losses(demo: Demo) -> None:
    demo.say("A pod is killed: not ready, then ready again.")
    pods = await demo.client.list(Pod, namespace="default")
    await demo.kubectl("delete", "pod", pods[0].name, "--grace-period=0", "--force")
    await demo.until("Ready again", is_ready)
    demo.say("The Deployment is scaled by hand: put back, with an Event that names the writer.")
    await demo.kubectl("scale", "deployment", "shop", "--replicas=1")
    deadline = clock.monotonic() + STEP_SECONDS
    while (await demo.client.get(Deployment, "shop", namespace="default")).spec.replicas != 3:
        if clock.monotonic() > deadline:
            raise StepFailed("the Deployment was not put back")
        await clock.sleep(LOOK_SECONDS)
    await demo.until("Ready", is_ready)
    command = demo.plane.kubectl_command("events", "--for", "webapp/shop")
    print("$ kubectl events --for webapp/shop", flush=True)
    await asyncio.to_thread(subprocess.run, command, check=True)


async def absence(demo: Demo) -> None:
    demo.say("The operator is down while the spec changes: the status says that it is not current.")
    await demo.stop_operator()
    await patch(demo, replicas=5)
    await demo.show()
    demo.say("It comes back, and catches up.")
    demo.start_operator()
    await demo.until("Ready with five", is_ready)
    await demo.show()


async def end(demo: Demo) -> None:
    demo.say("Deleted, children first.")
    await demo.kubectl("delete", "webapp", "shop", "--cascade=foreground", "--timeout=60s")
    await demo.until("gone", lambda content: not content)
    await demo.stop_operator()
    demo.say("Done: every step came out as told.")


async def main() -> None:
    print("Starting a control plane (etcd, kube-apiserver, controller-manager, scheduler) …")
    # A folder that is removed at the end, whatever happens.
    with tempfile.TemporaryDirectory(prefix="konstat-demo-") as folder:
        async with control_plane(data=Path(folder)) as plane, plane.client() as client:
            demo = Demo(plane, client)
            async with open_tasks() as tasks:
                tasks.start(NodeActor(client, NodeOptions(nodes=2)).run(), name="nodes")
                try:
                    for part in (create, mistakes, losses, absence, end):
                        await part(demo)
                finally:
                    await demo.stop_operator()


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    try:
        asyncio.run(main())
    except (StepFailed, KonstatError) as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
