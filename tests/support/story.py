"""What the end-to-end tests share: an operator as a process, and looks at the world."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.nodes import NodeActor
from konstat.status import contract
from konstat.status.condition import find

if TYPE_CHECKING:
    from konstat.testing import ControlPlane, EmbeddedApi

    Plane = ControlPlane | EmbeddedApi

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/web_app/web_app.py"
PATIENCE_SECONDS = 60.0
# Between two looks; a poll, not a wait for something to have happened.
LOOK_SECONDS = 0.05

T = TypeVar("T")
Said = dict[str, tuple[str, str, int | None]]


async def eventually(
    look: Callable[[], Awaitable[T]],
    right: Callable[[T], bool],
    *,
    within_seconds: float = PATIENCE_SECONDS,
) -> T:
    """What ``look`` gives once it is ``right``; AssertionError with the last look otherwise."""
    deadline = clock.monotonic() + within_seconds
    while True:
        seen = await look()
        if right(seen):
            return seen
        if clock.monotonic() > deadline:
            shown = json.dumps(seen, indent=1, default=str)
            raise AssertionError(f"not within {within_seconds} s; the last look:\n{shown}")
        await clock.sleep(LOOK_SECONDS)


def said(content: Mapping[str, Any]) -> Said:
    """Conditions as ``{type: (status, reason, observedGeneration)}``."""
    conditions = (content.get("status") or {}).get("conditions") or []
    return {c["type"]: (c["status"], c["reason"], c.get("observedGeneration")) for c in conditions}


def message(content: Mapping[str, Any], type: str) -> str:
    entry = find((content.get("status") or {}).get("conditions") or [], type)
    return "" if entry is None else str(entry["message"])


def keeps_contract(content: Mapping[str, Any]) -> bool:
    """Every status that is ever seen obeys the contract; foreign conditions are not judged."""
    broken = [v for v in contract.check(content) if "Theirs" not in v.path]
    assert broken == [], [str(v) for v in broken]
    return True


class Operator:
    """``konstat run`` as a process of its own, which tests stop, kill and start again."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str, target: Path = EXAMPLE) -> None:
        self._command = [
            sys.executable,
            "-m",
            "konstat.cli.main",
            "run",
            str(target),
            "--kubeconfig",
            str(kubeconfig),
            *options,
        ]
        self.log = log
        self._running: asyncio.subprocess.Process | None = None

    async def start(self, *options: str) -> None:
        with self.log.open("ab") as log:
            self._running = await asyncio.create_subprocess_exec(
                *self._command,
                *options,
                stdout=log,
                stderr=log,
                env={**os.environ, "NO_COLOR": "1"},
            )

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send one signal and wait for the end; returns the exit code."""
        process = self._running
        assert process is not None
        self._running = None
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        async with asyncio.timeout(30):
            return await process.wait()

    def text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    async def aclose(self) -> None:
        if self._running is not None:
            await self.stop(signal.SIGKILL)


@contextlib.asynccontextmanager
async def operator(plane: Plane, log: Path, *options: str) -> AsyncIterator[Operator]:
    """The web_app example running as a process, with its CRD installed."""
    process = Operator(plane.kubeconfig, log, *options)
    await process.start("--install-crds")
    try:
        yield process
    finally:
        await process.aclose()


@contextlib.asynccontextmanager
async def nodes(client: Client) -> AsyncIterator[NodeActor]:
    """Nodes and kubelets for the length of a block."""
    actor = NodeActor(client)
    async with open_tasks() as tasks:
        tasks.start(actor.run(), name="nodes")
        yield actor


class Kubectl:
    """kubectl against one server; answers are its standard output."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace

    async def __call__(self, *arguments: str, stdin: str = "", ok: bool = True) -> str:
        command = self._plane.kubectl_command("-n", self._namespace, *arguments)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        assert (process.returncode == 0) == ok, f"{arguments}: {out.decode()}{err.decode()}"
        return out.decode()

    async def json(self, *arguments: str) -> dict[str, Any]:
        return json.loads(await self("get", *arguments, "-o", "json"))
