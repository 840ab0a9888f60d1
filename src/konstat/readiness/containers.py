"""Why one container keeps its pod from being ready.

`pods` calls `container_cause` for each container status, init containers and sidecars included.
A crash loop alternates between waiting, running and terminated; all three give one cause, and a
container that runs again is held to be crashing until it has proved itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import images, reading, wording
from konstat.readiness.causes import Cause
from konstat.readiness.events import Told
from konstat.readiness.verdict import Evidence, Reason, State

_START_REASONS = frozenset(
    {
        "CreateContainerError",
        "PostStartHookError",
        "PreCreateHookError",
        "PreStartHookError",
        "RunContainerError",
    }
)
# How the runtime's refusal to start looks once the kubelet counts it as a termination.
_START_TERMINATIONS = frozenset({"ContainerCannotRun", "StartError"})

# What SIGKILL and SIGTERM leave, with which a kubelet ends a container whose probe fails.
_KILLED: Final = (137, 143)

MAIN: Final = "container"
INIT: Final = "init container"
SIDECAR: Final = "sidecar"


SETTING_UP: Final = "containers are being set up"
"""The text of a cause that says no more than that a pod is young."""


class Container(NamedTuple):
    """One container's status with what its pod says about it.

    ``role`` is container, init container or sidecar; ``asked`` its part of the spec.
    ``restarts`` says whether the kubelet starts it again after a failure; ``runs_to_end`` whether
    exit code 0 is what it is for; ``fault_repeated`` and ``pull_told`` see
    `konstat.readiness.images`. ``probes_told`` are fresh events about its probes.
    """

    role: str
    image: str
    asked: Mapping[str, Any]
    path: str
    status: Mapping[str, Any]
    restarts: bool
    runs_to_end: bool
    fault_repeated: bool
    pull_told: str
    probes_told: Sequence[Told]
    now: datetime | None

    @property
    def label(self) -> str:
        """How messages name it: ``container web``."""
        return f"{self.role} {wording.steady(reading.text(self.status.get('name')))}"

    @property
    def waiting(self) -> Mapping[str, Any]:
        return reading.mapping(reading.at(self.status, "state", "waiting"))

    @property
    def running(self) -> Mapping[str, Any] | None:
        value = reading.at(self.status, "state", "running")
        return value if isinstance(value, Mapping) else None

    @property
    def terminated(self) -> Mapping[str, Any]:
        return reading.mapping(reading.at(self.status, "state", "terminated"))

    @property
    def last_terminated(self) -> Mapping[str, Any]:
        return reading.mapping(reading.at(self.status, "lastState", "terminated"))

    @property
    def ready(self) -> bool:
        return self.status.get("ready") is True


def container_cause(container: Container) -> Cause | None:
    """Why ``container`` is not ready; None when nothing is wrong with it."""
    if container.terminated:
        return _terminated(container)
    if container.running is not None:
        return _running_ready(container) if container.ready else _running(container)
    return _waiting(container)


def _waiting(container: Container) -> Cause | None:
    reason = reading.text(container.waiting.get("reason"))
    message = reading.text(container.waiting.get("message"))
    seen = (
        Evidence(f"{container.path}.state.waiting.reason", reason),
        Evidence(f"{container.path}.state.waiting.message", wording.capped(message)),
    )
    if reason in images.REASONS:
        return _image(container, reason, message, seen)
    if reason == "CreateContainerConfigError":
        text = wording.with_detail(
            f"the configuration of {container.label} is not usable", wording.steady(message)
        )
        return _failed(Reason.CONTAINER_CONFIG_INVALID, text, seen)
    if reason == "CrashLoopBackOff":
        return _crash(container, container.last_terminated, seen=seen)
    if reason in _START_REASONS or reason.endswith("Error") or reason.startswith("Err"):
        return _start_failed(container, message or reason, seen)
    return _starting(container, reason, seen)


def _image(container: Container, reason: str, message: str, seen: tuple[Evidence, ...]) -> Cause:
    words = message if container.fault_repeated else container.pull_told
    fault = images.fault(reason, words)
    named = f"image {wording.steady(container.image)} " if container.image else "the image "
    text = wording.with_detail(f"{named}of {container.label} cannot be pulled", fault)
    return _failed(Reason.IMAGE_PULL_FAILED, text, seen)


def _starting(container: Container, reason: str, seen: tuple[Evidence, ...]) -> Cause:
    plain = reason in ("", "ContainerCreating", "PodInitializing")
    text = SETTING_UP if plain else f"{container.label} waits: {reason}"
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.PODS_STARTING,
        text=wording.steady(text),
        evidence=seen[:1],
    )


def _terminated(container: Container) -> Cause | None:
    ending = container.terminated
    if reading.integer(ending.get("exitCode")) == 0 and container.runs_to_end:
        return None
    seen = (
        Evidence(f"{container.path}.state.terminated.reason", reading.text(ending.get("reason"))),
    )
    if container.restarts:
        return _crash(container, ending, seen=seen)
    return _failed(
        Reason.POD_FAILED, wording.with_detail(f"{container.label} ended", ended(ending)), seen
    )


def _running(container: Container) -> Cause | None:
    """A container that runs and is not ready: crashing again, or waiting for its probe."""
    if container.last_terminated:
        held = _hold_until(
            reading.moment(container.last_terminated.get("finishedAt")),
            seconds=limits.CRASH_HOLD_SECONDS,
            now=container.now,
        )
        if held.holds:
            return _crash(container, container.last_terminated, until=held.until)
    text, told = _not_ready(container)
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.PODS_NOT_READY,
        text=text,
        evidence=(Evidence(f"{container.path}.ready", False), *told),
    )


_PROBE: Final = re.compile(
    r"^(?P<which>Readiness|Liveness|Startup) probe (?:failed|errored)[^:]*:? ?(?P<how>.*)$",
    re.DOTALL,
)


def _not_ready(container: Container) -> tuple[str, tuple[Evidence, ...]]:
    """Which probe a running container waits for, and what that last said where it is known."""
    if container.role == INIT:
        return f"{container.label} is at work", ()
    starting = container.status.get("started") is False and "startupProbe" in container.asked
    which = "startup" if starting else "readiness"
    failed = _probe_failure(container, which)
    if failed is not None:
        how, told = failed
        text = f"{container.label} runs, but its {which} probe fails"
        return wording.with_detail(text, how), (told.evidence,)
    if f"{which}Probe" in container.asked:
        return f"{container.label} runs, but its {which} probe has not succeeded", ()
    return f"{container.label} runs, but is not reported ready", ()


def _probe_failure(container: Container, which: str) -> tuple[str, Told] | None:
    """The words of a failing probe, the same at each look while the same events are fresh."""
    found = [
        (wording.steady(match["how"]), told)
        for told in container.probes_told
        if (match := _PROBE.match(told.message)) and match["which"].lower() == which
    ]
    return min(found, key=lambda pair: pair[0], default=None)


def _running_ready(container: Container) -> Cause | None:
    """A container without a probe is "ready" for a moment between two crashes (bug 13).

    One that has crashed before and was short-lived must outlive its last run twice.
    """
    last = container.last_terminated
    started, ended_at = (
        reading.moment(last.get("startedAt")),
        reading.moment(last.get("finishedAt")),
    )
    since = reading.moment((container.running or {}).get("startedAt"))
    restarts = reading.count(container.status.get("restartCount"))
    if container.now is None or started is None or ended_at is None or since is None:
        return None
    lived_seconds = (ended_at - started).total_seconds()
    if restarts < 2 or not 0 <= lived_seconds < limits.CRASH_HOLD_SECONDS:
        return None
    seconds = max(2 * lived_seconds, limits.CRASH_HOLD_MINIMUM_SECONDS)
    held = _hold_until(since, seconds=min(seconds, limits.CRASH_HOLD_SECONDS), now=container.now)
    return _crash(container, last, until=held.until) if held.holds else None


class _Held(NamedTuple):
    holds: bool
    until: datetime | None


def _hold_until(since: datetime | None, *, seconds: float, now: datetime | None) -> _Held:
    """Whether ``seconds`` have not passed yet; unknown times hold."""
    if since is None or now is None:
        return _Held(True, None)
    until = reading.later(since, seconds=seconds)
    if until is None:
        return _Held(True, None)
    return _Held(now < until, until)


def _crash(
    container: Container,
    ending: Mapping[str, Any],
    *,
    seen: tuple[Evidence, ...] = (),
    until: datetime | None = None,
) -> Cause:
    exit_code = reading.integer(ending.get("exitCode"))
    restarts = reading.count(container.status.get("restartCount"))
    if reading.text(ending.get("reason")) in _START_TERMINATIONS:
        return _start_failed(container, reading.text(ending.get("message")), seen)
    if ending and exit_code == 0:
        text = f"{container.label} keeps ending with exit code 0, but it must go on running"
    else:
        text = wording.with_detail(f"{container.label} keeps crashing", ended(ending))
    killed = _probe_failure(container, "liveness") if exit_code in _KILLED else None
    if killed is not None:
        text = wording.with_detail(f"{text} after its liveness probe failed", killed[0])
    return Cause(
        state=State.FAILED,
        reason=Reason.CRASH_LOOPING,
        text=text,
        evidence=(*seen[:1], Evidence(f"{container.path}.restartCount", restarts)),
        restarts=restarts,
        until=until,
    )


def ended(ending: Mapping[str, Any]) -> str:
    """How a container ended: out of memory, signal or exit code, then its last words."""
    if not ending:
        return ""
    exit_code = reading.integer(ending.get("exitCode"))
    signal = reading.integer(ending.get("signal"))
    how = f"exit code {exit_code}"
    if reading.text(ending.get("reason")) == "OOMKilled":
        how = f"out of memory (OOMKilled, {how})"
    elif signal:
        how = f"signal {signal} ({how})"
    lines = reading.text(ending.get("message")).strip().splitlines()
    return wording.with_detail(how, wording.steady(lines[-1]) if lines else "")


def _start_failed(container: Container, message: str, seen: tuple[Evidence, ...]) -> Cause:
    text = wording.with_detail(f"{container.label} cannot be started", wording.steady(message))
    return _failed(Reason.CONTAINER_START_FAILED, text, seen)


def _failed(reason: Reason, text: str, seen: tuple[Evidence, ...]) -> Cause:
    return Cause(state=State.FAILED, reason=reason, text=text, evidence=seen)
