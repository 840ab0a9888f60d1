"""The stage of `konstat demo`: an API, an operator as a process of its own, and eyes on both.

`konstat.cli.demo` plays the story on it. What the user would do with kubectl is done through the
client, so kubectl need not be there. In a terminal the status tree is live while something is being
waited for; in a pipe it is printed once it is right.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, Protocol

import click

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.cli.status.gather import gather
from konstat.cli.status.live import follow
from konstat.cli.status.plan import Plan, make_plan
from konstat.cli.status.screen import open_screen
from konstat.client.api import Client
from konstat.client.discovery import Discovery
from konstat.errors import InternalError, KonstatError, NotFound
from konstat.objects.kind import Kind
from konstat.status.condition import find
from konstat.testing.rig_process import Program

NAMESPACE: Final = "default"
NAME: Final = "shop"
WEB_APP: Final = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")

Content = dict[str, Any]


class Plane(Protocol):
    """What the stage needs of a server: the embedded API and the rig have it."""

    @property
    def server(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def kubeconfig(self) -> Path: ...
    def client(self) -> AbstractAsyncContextManager[Client]: ...


class StepFailed(KonstatError):
    """A step of the demo did not come out as told."""


class Stage:
    """One WebApp called shop, and what can be done and seen.

    ``pause_seconds`` is for a reader, after each step; nothing waits for it.
    """

    def __init__(self, plane: Plane, client: Client, *, pause_seconds: float) -> None:
        self.client = client
        self._server = plane.server
        self._pause_seconds = pause_seconds
        log = plane.folder / "operator.log"
        self._operator = Program("operator", _operator_command(plane.kubeconfig), log=log)
        self._plan: Plan | None = None

    # --- telling ------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Begin a step."""
        if self._plan is not None:
            await clock.sleep(self._pause_seconds)
        click.echo(f"\n── {text}")

    def command(self, text: str) -> None:
        """Show what a user would type for what comes now."""
        click.echo(f"$ {text}")

    async def show(self) -> None:
        """Print the status tree as it is now."""
        self.command(f"konstat status webapp {NAME}")
        with open_screen(**self._screen(watch=False)) as screen:
            screen.show(await gather(self.client, await self._made_plan()))

    # --- acting -------------------------------------------------------------------------------

    async def start_operator(self) -> None:
        """Start the operator's process and wait until its kind is served."""
        self.command("konstat run web_app.py --install-crds &")
        self._operator.start()
        await self._wait(self._is_served, "the CustomResourceDefinition is served")

    async def stop_operator(self) -> None:
        """Stop the operator's process, if it runs, as a shell's ``kill`` does."""
        await self._operator.stop()

    async def patch(self, spec: Content, *, shown: str) -> None:
        """Change the spec as ``kubectl patch --type=merge`` does."""
        self.command(f"kubectl patch webapp {NAME} --type=merge -p '{shown}'")
        await self.client.patch(
            WEB_APP,
            NAME,
            {"spec": spec},
            type="merge",
            namespace=NAMESPACE,
            field_manager="kubectl-patch",
        )

    # --- looking ------------------------------------------------------------------------------

    async def until(self, told: str, right: Callable[[Content], bool]) -> None:
        """Wait until the WebApp is as told, and show it; StepFailed when it never is."""

        async def look() -> bool:
            return right(await self._read())

        if not sys.stdout.isatty():
            await self._wait(look, told)
            if await self._read():
                await self.show()
            return
        self.command(f"konstat status webapp {NAME} --watch")
        plan = await self._made_plan()
        with open_screen(**self._screen(watch=True)) as screen:
            async with open_tasks() as tasks:
                tasks.start(follow(self.client, plan, screen.show), name="the live tree")
                await self._wait(look, told)
            if await self._read():
                screen.show(await gather(self.client, plan))

    async def wait(self, told: str, right: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something else is as told; StepFailed when it never is."""
        await self._wait(right, told)

    async def _read(self) -> Content:
        try:
            return await self.client.get(WEB_APP, NAME, namespace=NAMESPACE)
        except NotFound:
            return {}

    async def _is_served(self) -> bool:
        try:
            await self.client.list(WEB_APP, namespace=None)
        except NotFound:
            return False
        return True

    async def _wait(self, right: Callable[[], Awaitable[bool]], told: str) -> None:
        deadline = clock.monotonic() + limits.DEMO_STEP_SECONDS
        while not await right():
            if clock.monotonic() > deadline:
                raise StepFailed(
                    f"not within {limits.DEMO_STEP_SECONDS:.0f} s: {told}; the operator's log ends"
                    f" with:\n{self._operator.tail()}"
                )
            await clock.sleep(limits.DEMO_LOOK_SECONDS)

    async def _made_plan(self) -> Plan:
        if self._plan is None:
            self._plan = await make_plan(
                self.client,
                Discovery(self.client),
                word=WEB_APP.plural,
                name=NAME,
                namespace=NAMESPACE,
            )
        return self._plan

    def _screen(self, *, watch: bool) -> Any:
        return {
            "json": False,
            "watch": watch,
            "server": self._server,
            "namespaces": False,
            "empty": f"there is no WebApp {NAME}",
        }


def says(content: Content, type: str, status: str, reason: str = "") -> bool:
    """Whether a condition has that status (and reason), for the generation that is current."""
    stored = content.get("status") or {}
    entry = find(stored.get("conditions") or [], type)
    if entry is None or stored.get("observedGeneration") != content["metadata"]["generation"]:
        return False
    return entry["status"] == status and (not reason or entry["reason"] == reason)


def is_ready(content: Content) -> bool:
    """Whether the WebApp is Ready for its current generation."""
    return says(content, "Ready", "True")


def example(name: str) -> Path:
    """A file of the example ``web_app``: in the wheel it is beside us, in a checkout in examples/.

    Raises InternalError when it is in neither place.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "_web_app", here.parents[3] / "examples" / "web_app"):
        if (folder / name).is_file():
            return folder / name
    raise InternalError(f"the demo's {name} is neither beside {here.name} nor in examples/web_app")


def _operator_command(kubeconfig: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "konstat.cli.main",
        "run",
        str(example("web_app.py")),
        "--install-crds",
        "--kubeconfig",
        str(kubeconfig),
    ]
