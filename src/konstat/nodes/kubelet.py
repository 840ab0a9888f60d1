"""One step of a kubelet with one pod: what runs, what waits and why, when to look again. Pure.

`next_status` takes the pod, what is remembered of it and the present moment, begins and ends runs
as far as they can go now, and gives the status that follows. It reads a `ContainerRuntime` and
never orders it: a run is begun or asked to end by being remembered so.

The order is a kubelet's: volumes; init containers one after the other, sidecars among them
staying; then all others at once. Images are pulled before each start. When nothing more is to be
done (deletion, deadline, all ended for good) main containers end first, then sidecars backwards.
`konstat.nodes.podstatus` writes the outcome down.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from konstat.base import clock
from konstat.nodes import podstatus
from konstat.nodes.configuration import Configuration
from konstat.nodes.memory import ContainerMemory, Pace, PodMemory
from konstat.nodes.podspec import PlayedContainer, PlayedPod, full_name, is_regular_init, is_sidecar
from konstat.nodes.runtime import ContainerRuntime, Ending, Problem, Report, Run, Warning

_replace = msgspec.structs.replace
_NOTHING_KNOWN = ContainerMemory()
_EVERYTHING_THERE = Configuration()


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one step.

    ``status`` holds the fields that are a kubelet's; its conditions are only those of a kubelet
    and carry no transition time. ``wake_seconds`` is when to step again without any change, None
    for never. ``stopped`` says that nothing runs and nothing will: a deleted pod may go.
    """

    memory: PodMemory
    status: dict[str, Any]
    wake_seconds: float | None
    stopped: bool
    warnings: tuple[Warning, ...]


def next_status(
    pod: PlayedPod,
    memory: PodMemory,
    *,
    runtime: ContainerRuntime,
    now: datetime,
    configuration: Configuration = _EVERYTHING_THERE,
    pace: Pace,
) -> Step:
    """Bring a pod as far as it can get now.

    The same arguments give the same step, and a step that is repeated with the memory it gave, at
    the same moment, gives the same status.
    """
    turn = _Turn(pod, memory, runtime=runtime, now=now, configuration=configuration, pace=pace)
    turn.observe()
    # Each round begins or ends at least one run, and at one moment no run is begun twice.
    for _ in range(2 * len(pod.spec.all_containers) + 2):
        if not turn.act():
            break
        turn.observe()
    else:
        raise AssertionError(f"pod {pod.namespace}/{pod.name} comes to no rest at one moment")
    return turn.outcome()


def is_over(phase: Any) -> bool:
    """Whether a pod in this phase never runs again."""
    return phase in ("Succeeded", "Failed")


class _Turn:
    """The working state of one step."""

    def __init__(
        self,
        pod: PlayedPod,
        memory: PodMemory,
        *,
        runtime: ContainerRuntime,
        now: datetime,
        configuration: Configuration,
        pace: Pace,
    ) -> None:
        self.pod, self.spec, self.memory, self.pace = pod, pod.spec, memory, pace
        self.runtime, self.now, self.configuration = runtime, now, configuration
        self.containers = dict(memory.containers)
        self.sandbox = memory.sandbox
        self.reports: dict[str, Report] = {}
        self.waiting: dict[str, Problem] = {}
        self.wakes: list[datetime] = []
        self.warnings: list[Warning] = []

    # --- looking ------------------------------------------------------------------------------

    def observe(self) -> None:
        """Ask the runtime about every run that has not ended."""
        for container in self.spec.all_containers:
            known = self.known(container)
            if known.run is None or known.run.ending is not None:
                self.reports.pop(container.name, None)
                continue
            report = self.runtime.report(self.pod, container, known.run, now=self.now)
            self.reports[container.name] = report
            if report.ending is not None:
                run = _replace(known.run, ending=report.ending)
                self.containers[container.name] = _replace(known, run=run)
                del self.reports[container.name]

    def known(self, container: PlayedContainer) -> ContainerMemory:
        return self.containers.get(container.name, _NOTHING_KNOWN)

    @property
    def initialized(self) -> bool:
        """Whether a main container has run: from then on init containers do not hold it up."""
        return any(self.known(container).run for container in self.spec.containers)

    @property
    def deadline(self) -> datetime | None:
        seconds = self.spec.active_deadline_seconds
        if seconds is None:
            return None
        return self.memory.started_at + timedelta(seconds=seconds)

    @property
    def deadline_passed(self) -> bool:
        return self.deadline is not None and self.now >= self.deadline

    @property
    def ending(self) -> bool:
        """Whether the pod as a whole comes to its end, so that nothing is started any more."""
        return (
            self.pod.deleting
            or self.deadline_passed
            or is_over(self.pod.stored_status.get("phase"))
            or all(map(self._done, self.spec.containers))
            or any(
                self._done(c) and not _ended_well(self.known(c)) for c in self.spec.init_containers
            )
        )

    def _done(self, container: PlayedContainer) -> bool:
        """Whether a container has ended and its restart policy lets it rest."""
        ended = self.known(container).ended
        return ended is not None and not self.restarts(container, ended)

    def restarts(self, container: PlayedContainer, ended: Ending) -> bool:
        policy = container.restart_policy or self.spec.restart_policy
        if is_regular_init(self.pod, container) and ended.exit_code == 0:
            return False
        return policy == "Always" or (policy == "OnFailure" and ended.exit_code != 0)

    # --- acting -------------------------------------------------------------------------------

    def act(self) -> bool:
        """Begin or ask to end what can be now; whether anything was."""
        self.waiting.clear()
        self.wakes.clear()
        if self.ending:
            return self._stop()
        if not self.sandbox and not self._set_up():
            return False
        acted = False
        # A tuple, as what is wanted follows from how things stood before.
        for container in tuple(self._wanted()):
            acted |= self._run(container)
        return acted

    def _set_up(self) -> bool:
        if self.configuration.volume:
            self._warn("FailedMount", self.configuration.volume)
            self.wakes.append(self.now + self.pace.recheck)
            return False
        self.sandbox = True
        return True

    def _wanted(self) -> Iterator[PlayedContainer]:
        """The containers that should run now."""
        if self.initialized:
            yield from self.spec.sidecars
        else:
            for container in self.spec.init_containers:
                sidecar = is_sidecar(self.pod, container)
                if not sidecar and _ended_well(self.known(container)):
                    continue
                yield container
                report = self.reports.get(container.name)
                if not sidecar or report is None or not report.started:
                    return
        yield from self.spec.containers

    def _run(self, container: PlayedContainer) -> bool:
        """Begin a run of ``container`` unless one goes on or something is in its way."""
        known = self.known(container)
        if known.running:
            return False
        if known.ended is not None and not self._may_restart(container, known, known.ended):
            return False
        if not self._has_image(container) or not self._has_configuration(container):
            return False
        known = self.known(container)
        run = Run(attempt=known.run.attempt + 1 if known.run else 0, started_at=self.now)
        crashes = 0 if known.run is None else self._crashes(known) + 1
        self.containers[container.name] = _replace(
            known, run=run, previous=known.run, crashes=crashes, pull_failures=0
        )
        return True

    def _may_restart(
        self, container: PlayedContainer, known: ContainerMemory, ended: Ending
    ) -> bool:
        if not self.restarts(container, ended):
            return False
        crashes = self._crashes(known)
        delay = self.pace.delay(crashes) if crashes else timedelta(0)
        shown_until = ended.finished_at + self.pace.shown
        due = max(ended.finished_at + delay, shown_until)
        if self.now >= due:
            return True
        if self.now >= shown_until:
            text = (
                f"back-off {go_duration(delay)} restarting failed"
                f" container={container.name} pod={full_name(self.pod)}"
            )
            self.waiting[container.name] = Problem("CrashLoopBackOff", text)
            self._warn(
                "BackOff",
                f"Back-off restarting failed container {container.name}"
                f" in pod {full_name(self.pod)}",
            )
        self.wakes.append(shown_until if self.now < shown_until else due)
        return False

    def _crashes(self, known: ContainerMemory) -> int:
        """Restarts since the last run that was long enough to count as good."""
        assert known.run is not None
        assert known.ended is not None
        lasted = known.ended.finished_at - known.run.started_at
        return 0 if lasted > self.pace.good_run else known.crashes

    def _has_image(self, container: PlayedContainer) -> bool:
        found = self.runtime.image_problem(container.image, pull_policy=container.image_pull_policy)
        if found is None:
            return True
        if found.retried:
            self._pull(container, found)
            return False
        self.waiting[container.name] = found
        word = "ErrImageNeverPull" if found.reason == "ErrImageNeverPull" else "InspectFailed"
        self._warn(word, found.message)
        return False

    def _pull(self, container: PlayedContainer, found: Problem) -> None:
        """Try to pull, which fails, unless the back-off of the last try lasts."""
        known, image = self.known(container), container.image
        if known.image != image:
            known = _replace(known, image=image, pull_failures=0)
        failures, failed_at = known.pull_failures, known.pull_failed_at
        if failures == 0 or failed_at is None or self.now >= failed_at + self.pace.delay(failures):
            failures, failed_at = failures + 1, self.now
            self._warn("Failed", f'Failed to pull image "{image}": {found.message}')
        self.containers[container.name] = _replace(
            known, pull_failures=failures, pull_failed_at=failed_at
        )
        delay = self.pace.delay(failures)
        shown_until = failed_at + min(self.pace.shown, delay / 2)
        if self.now < shown_until:
            self.waiting[container.name] = found
            self.wakes.append(shown_until)
            return
        text = f'Back-off pulling image "{image}"'
        told = Problem("ImagePullBackOff", f"{text}: {found.reason}: {found.message}")
        self.waiting[container.name] = told
        self._warn("BackOff", text)
        self.wakes.append(failed_at + delay)

    def _has_configuration(self, container: PlayedContainer) -> bool:
        lack = self.configuration.containers.get(container.name)
        if lack is None:
            return True
        self.waiting[container.name] = Problem("CreateContainerConfigError", lack)
        self._warn("Failed", f"Error: {lack}")
        self.wakes.append(self.now + self.pace.recheck)
        return False

    def _stop(self) -> bool:
        """Ask the next runs to end: all but sidecars together, then the sidecars backwards."""
        others = [c for c in self.spec.all_containers if not is_sidecar(self.pod, c)]
        running = [c for c in others if self.known(c).running]
        if not running:
            running = [c for c in reversed(self.spec.sidecars) if self.known(c).running][:1]
        asked = False
        for container in running:
            known = self.known(container)
            if known.run is not None and known.run.stop_asked_at is None:
                run = _replace(
                    known.run, stop_asked_at=self.now, grace_seconds=self._grace_seconds()
                )
                self.containers[container.name] = _replace(known, run=run)
                asked = True
        return asked

    def _grace_seconds(self) -> float:
        until = self.pod.metadata.deletion_timestamp
        if until is None:
            return float(self.spec.termination_grace_period_seconds)
        return max(0.0, (clock.parse_timestamp(until) - self.now).total_seconds())

    def _warn(self, reason: str, message: str) -> None:
        warning = Warning(reason, message)
        if message not in self.memory.told and warning not in self.warnings:
            self.warnings.append(warning)

    # --- the outcome --------------------------------------------------------------------------

    def outcome(self) -> Step:
        stopped = self.ending and not self.reports
        memory = _replace(
            self.memory,
            containers=self.containers,
            sandbox=self.sandbox,
            told=self.memory.told | {warning.message for warning in self.warnings},
        )
        view = podstatus.PodView(
            pod=self.pod,
            memory=memory,
            reports=self.reports,
            waiting=self.waiting,
            runtime_name=self.runtime.name,
            has_sandbox=self.sandbox and not stopped,
            terminated=stopped and (self.pod.deleting or self.deadline_passed),
            deadline_passed=self.deadline_passed,
            restarts=self.restarts,
        )
        return Step(
            memory=memory,
            status=podstatus.write(view),
            wake_seconds=self._wake_seconds(),
            stopped=stopped,
            warnings=tuple(self.warnings),
        )

    def _wake_seconds(self) -> float | None:
        moments = [*self.wakes, *(r.changes_at for r in self.reports.values() if r.changes_at)]
        if self.deadline is not None and not self.ending:
            moments.append(self.deadline)
        later = [(moment - self.now).total_seconds() for moment in moments if moment > self.now]
        return min(later, default=None)


def _ended_well(known: ContainerMemory) -> bool:
    return known.ended is not None and known.ended.exit_code == 0


def go_duration(length: timedelta) -> str:
    """A length as Go prints it: ``10s``, ``1m20s``, ``500ms``."""
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:g}ms" if seconds else "0s"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    text = f"{hours:.0f}h" if hours else ""
    text += f"{minutes:.0f}m" if hours or minutes else ""
    return f"{text}{round(rest, 3):g}s"
