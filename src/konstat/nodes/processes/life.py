"""`Life`: one run of a container as a process, from its start to its ending.

It starts the program, keeps its log, tries its probes, and ends it when it is asked to or when its
liveness probe has failed. `konstat.nodes.processes.runtime` begins lives by what a kubelet
remembers, and reports what became of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.base.waiting import wait_at_most
from konstat.nodes.podspec import PlayedContainer, Probe
from konstat.nodes.processes.logs import RunLog
from konstat.nodes.processes.plan import Plan
from konstat.nodes.processes.prober import Prober
from konstat.nodes.processes.probing import ProbeKind, Verdict, at_first, first_try_seconds, judge
from konstat.nodes.processes.spawn import Kept
from konstat.nodes.runtime import Ending, Report, Warning

log = logging.getLogger("konstat.nodes")

_CANNOT_START = 128


class LifeShape(msgspec.Struct, frozen=True, kw_only=True):
    """What a life needs to know. ``grace_seconds`` is the pod's, for an end by a probe.

    ``commands_allowed`` says that commands of the pod (exec probes, hooks) may be run.
    """

    container: PlayedContainer
    address: str
    work: Path
    termination_log: Path
    grace_seconds: float
    commands_allowed: bool


class Life:
    """One run.

    ``changed`` is called when `report` has news, ``tell`` with what people should know.
    """

    def __init__(
        self,
        shape: LifeShape,
        *,
        log: RunLog,
        changed: Callable[[], None],
        tell: Callable[[Warning], None],
    ) -> None:
        self.log = log
        self.ending: Ending | None = None
        self.task: asyncio.Task[None] | None = None
        self._shape = shape
        self._changed = changed
        self._tell = tell
        self._started = False
        self._ready = False
        self._born = clock.monotonic()
        self._deadline: float | None = None
        self._asked = asyncio.Event()

    # --- orders and reports -------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()

    def start(self, plan: Plan, tasks: Tasks) -> None:
        """Begin to run."""
        self.task = tasks.start(self._live(plan), name=f"container {self._shape.container.name}")

    def report(self) -> Report:
        """What a kubelet sees of it now."""
        if self.ending is not None:
            return Report(started=False, ready=False, ending=self.ending)
        return Report(started=self._started, ready=self._started and self._ready)

    def stop(self, *, grace_seconds: float) -> None:
        """Ask it to end; a later call can only shorten the time that it has."""
        deadline = clock.monotonic() + grace_seconds
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline
            self._asked.set()

    def refuse(self, problem: str) -> None:
        """Let it end before it began."""
        self._end(_CANNOT_START, reason="StartError", message=problem)

    # --- parts --------------------------------------------------------------------------------

    async def _live(self, plan: Plan) -> None:
        try:
            kept = await Kept.start(plan.command, env=plan.env, folder=self._shape.work)
        except (OSError, ValueError) as error:
            self.refuse(f"failed to start {plan.command[0]!r}: {error}")
            return
        try:
            code = await self._accompany(kept, plan)
        finally:
            await kept.end()
            self.log.close()
        self._end(code)

    async def _accompany(self, kept: Kept, plan: Plan) -> int:
        shape = self._shape
        prober = Prober(
            address=shape.address, ports=shape.container.ports, env=plan.env, folder=shape.work
        )
        async with open_tasks() as tasks:
            listening = tasks.start(self._listen(kept), name="its output")
            tasks.start(self._probe(prober), name="its probes")
            tasks.start(self._stop_when_asked(kept, prober), name="its end")
            code = await kept.wait()
            await listening
        return code

    async def _listen(self, kept: Kept) -> None:
        storing = True
        while data := await kept.read():
            if not storing:
                continue
            try:
                self.log.append(data)
            except OSError as error:
                # The program goes on, as in a cluster; only its log ends here.
                log.warning("the log %s ends early: %s", self.log.path, error)
                storing = False

    def _end(self, code: int, *, reason: str = "", message: str = "") -> None:
        self.log.close()
        self.ending = Ending(
            exit_code=code,
            reason=reason or ("Error" if code else "Completed"),
            message=message or self._last_words(code),
            finished_at=clock.now(),
        )
        self._changed()

    def _last_words(self, code: int) -> str:
        """What the program left for people, else the end of its log where the pod wants that."""
        try:
            with self._shape.termination_log.open("rb") as file:
                text = file.read(limits.TERMINATION_MESSAGE_BYTES).decode(errors="replace")
        except OSError:
            text = ""
        wants_log = self._shape.container.termination_message_policy == "FallbackToLogsOnError"
        if text or code == 0 or not wants_log:
            return text
        return self.log.tail(lines=limits.TERMINATION_LOG_LINES, bytes=limits.TERMINATION_LOG_BYTES)

    # --- the end ------------------------------------------------------------------------------

    async def _stop_when_asked(self, kept: Kept, prober: Prober) -> None:
        await self._asked.wait()
        await self._before_stop(prober)
        kept.terminate()
        while True:
            self._asked.clear()
            left = self._left()
            if left <= 0:
                break
            await wait_at_most(self._asked, timeout_seconds=left)
        kept.kill()

    def _left(self) -> float:
        assert self._deadline is not None
        return self._deadline - clock.monotonic()

    async def _before_stop(self, prober: Prober) -> None:
        """Run the preStop hook, within the grace."""
        lifecycle = self._shape.container.lifecycle
        hook = lifecycle.pre_stop if lifecycle is not None else None
        if hook is None or self._left() <= 0:
            return
        if hook.sleep is not None:
            await clock.sleep(min(float(hook.sleep.seconds), self._left()))
            return
        if hook.exec is not None and not self._shape.commands_allowed:
            return  # told when the pod came
        if hook.exec is None and hook.http_get is None:
            return
        failure = await prober.act(
            exec=hook.exec, http_get=hook.http_get, timeout_seconds=self._left()
        )
        if failure:
            text = f"PreStopHook failed: {failure[: limits.PROBE_TEXT_CHARACTERS]}"
            self._tell(Warning("FailedPreStopHook", text))

    # --- probes -------------------------------------------------------------------------------

    async def _probe(self, prober: Prober) -> None:
        container = self._shape.container
        if container.startup_probe is not None:
            await self._watch(prober, ProbeKind.STARTUP, container.startup_probe)
        self._started = True
        self._ready = container.readiness_probe is None
        self._changed()
        async with open_tasks() as tasks:
            watches = [
                tasks.start(self._watch(prober, kind, probe), name=f"{kind} probe")
                for kind, probe in (
                    (ProbeKind.READINESS, container.readiness_probe),
                    (ProbeKind.LIVENESS, container.liveness_probe),
                )
                if probe is not None
            ]
            if watches:
                await asyncio.wait(watches)

    async def _watch(self, prober: Prober, kind: ProbeKind, probe: Probe) -> None:
        """Try a probe again and again: startup until it passes, others until the end."""
        if not is_played(probe, commands_allowed=self._shape.commands_allowed):
            if kind is not ProbeKind.LIVENESS:
                await asyncio.Event().wait()  # it never passes
            return
        verdict = at_first(kind)
        await clock.sleep(first_try_seconds(probe, age_seconds=clock.monotonic() - self._born))
        while True:
            failure = await prober.probe(probe)
            if failure:
                text = f"{kind} probe failed: {failure[: limits.PROBE_TEXT_CHARACTERS]}"
                self._tell(Warning("Unhealthy", text))
            before, verdict = verdict, judge(probe, verdict, success=not failure)
            if self._follow(kind, probe, before, verdict):
                return
            await clock.sleep(max(1, probe.period_seconds))

    def _follow(self, kind: ProbeKind, probe: Probe, before: Verdict, verdict: Verdict) -> bool:
        """Act on a verdict; whether the probe has done its work."""
        if verdict.passed == before.passed:
            return False
        if kind is ProbeKind.READINESS:
            self._ready = verdict.passed is True
            self._changed()
            return False
        if verdict.passed:
            return kind is ProbeKind.STARTUP
        name = self._shape.container.name
        text = f"Container {name} failed {kind.lower()} probe, will be restarted"
        self._tell(Warning("Killing", text))
        own = probe.termination_grace_period_seconds
        self.stop(grace_seconds=self._shape.grace_seconds if own is None else float(own))
        return kind is ProbeKind.LIVENESS


def is_played(probe: Probe, *, commands_allowed: bool) -> bool:
    """Whether a probe can be tried here."""
    if probe.exec is not None:
        return commands_allowed
    return probe.http_get is not None or probe.tcp_socket is not None
