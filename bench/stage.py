"""Where a job is done: a fresh control plane with the kind installed, and one contender's operator.

Before: `bench.processes` and `bench.environments`. After: the benches measure on it.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import processes
from bench.environments import PEERS, python_of
from bench.operators.widgets import Widget
from bench.settings import Settings
from konstat.base import clock
from konstat.controller.run import install_manifest
from konstat.objects.crd import crd
from konstat.testing import AuditEvent, ControlPlane, User, control_plane
from konstat.testing.rig_module import load_module
from konstat.testing.rig_process import Program

OPERATORS: Final = Path(__file__).parent / "operators"
# The identity under which the audit log knows the operator.
USER: Final = "operator"
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_LOG_SECONDS: Final = 0.3


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A framework with its operator, which finds the control plane by $KUBECONFIG."""

    name: str
    command: tuple[str, ...]

    def line(self, kubeconfig: Path) -> list[str]:
        # env becomes the operator, so that the pid is the operator's.
        return ["/usr/bin/env", f"KUBECONFIG={kubeconfig}", *self.command]


def konstat() -> Contender:
    """The job in konstat, with the Python that runs the bench."""
    target = str(OPERATORS / "widgets.py")
    return Contender(
        name="konstat", command=(sys.executable, "-m", "konstat.cli.main", "run", target)
    )


async def kopf(settings: Settings) -> Contender:
    """The job in kopf with its fastest settings, in its own environment."""
    python = await python_of("kopf", settings)
    options = ("--standalone", "--all-namespaces", "--quiet")
    target = str(PEERS / "kopf/widgets.py")
    return Contender(name="kopf", command=(str(python), "-m", "kopf", "run", *options, target))


async def kopf_defaults(settings: Settings) -> Contender:
    """The same with kopf's own choice of event loop and of the place for its record."""
    tuned = await kopf(settings)
    loop = ("-c", "import sys; sys.modules['uvloop'] = None; from kopf.cli import main; main()")
    command = ("/usr/bin/env", "KOPF_DEFAULTS=1", tuned.command[0], *loop, *tuned.command[3:])
    return Contender(name="kopf, default settings", command=command)


class Stage:
    """One control plane with one contender; its operator may come and go."""

    def __init__(self, plane: ControlPlane, contender: Contender) -> None:
        self.plane = plane
        self.contender = contender
        self._started = 0

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Program]:
        """The operator for the length of a block."""
        self._started += 1
        log = self.plane.folder / f"operator-{self._started}.log"
        command = self.contender.line(self.plane.access(USER).kubeconfig)
        async with processes.running(self.contender.name, command, log=log) as program:
            yield program

    async def drive(self, command: str, **options: float) -> dict[str, Any]:
        """What `bench.driver` gives for a command."""
        words = [f"--{name}={value}" for name, value in options.items()]
        return await processes.ask(
            "bench.driver", f"--kubeconfig={self.plane.kubeconfig}", command, *words
        )

    async def mark(self) -> int:
        """How many requests of the operator are logged, once the log has come to rest."""
        count = -1
        while count != (now := len(self._events())):
            count = now
            await clock.sleep(_LOG_SECONDS)
        return count

    async def requests(self, since: int) -> list[AuditEvent]:
        """What the operator asked since that mark and is done, watches included."""
        await self.mark()
        return self._events()[since:]

    def _events(self) -> list[AuditEvent]:
        events = self.plane.audit_events(users=[USER])
        return [event for event in events if event.stage == "ResponseComplete"]


@asynccontextmanager
async def stage(contender: Contender) -> AsyncIterator[Stage]:
    """A stage of its own, on which nothing else runs: no controllers but the contender's."""
    async with contextlib.AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            control_plane(
                audit=True,
                controller_manager=False,
                scheduler=False,
                users=[User(name=USER, groups=("system:masters",))],
            )
        )
        async with plane.client() as client:
            await install_manifest(client, manifest())
        yield Stage(plane, contender)


def manifest() -> dict[str, Any]:
    """The CustomResourceDefinition of the job, the same for every contender.

    It has a place in the status where kopf may keep what it has seen last.
    """
    made = crd(Widget)
    for version in made["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        status["properties"]["kopf"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
    return made


def server_version() -> str:
    """The version of Kubernetes that the rig builds."""
    return load_module().kubernetes


def count_requests(events: list[AuditEvent]) -> Counter[str]:
    """Requests by what they do, as ``patch widgets/status``; those refused carry their code."""
    found: Counter[str] = Counter()
    for event in events:
        what = f"{event.resource}/{event.subresource}" if event.subresource else event.resource
        refused = f" ({event.code})" if event.code >= 400 else ""
        found[f"{event.verb} {what}{refused}"] += 1
    return found
