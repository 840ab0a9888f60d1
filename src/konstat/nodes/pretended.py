"""`PretendedRuntime`: containers that run without anything being run. Pure.

A report follows from the pod, the run and the time alone, so nothing is lost when the actor that
uses it starts anew. `konstat.nodes.script` describes how pods make their containers misbehave.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from konstat.nodes.images import parse_image
from konstat.nodes.podspec import PlayedContainer, PlayedPod, is_regular_init
from konstat.nodes.runtime import Ending, Problem, Report, Run, Warning
from konstat.nodes.script import Script, ScriptedEnding, read_script

# What a program without a handler of its own reports after SIGTERM and after SIGKILL.
_TERMINATED: Final = 143
_KILLED: Final = 137
_DONE: Final = ScriptedEnding(exit_code=0, reason="Completed")


class PretendedRuntime:
    """Containers become ready at once and run until they are stopped, unless a script says else.

    ``run_seconds`` is how long a run lasts that ends by script, ``reaction_seconds`` how long a
    container takes to become ready, ``stop_seconds`` how long it takes to end when asked (more
    than its grace, and it is killed). Raises ValueError for a negative number.
    """

    name = "konstat"

    def __init__(
        self,
        *,
        run_seconds: float = 1.0,
        reaction_seconds: float = 0.0,
        stop_seconds: float = 0.0,
    ) -> None:
        for given in (run_seconds, reaction_seconds, stop_seconds):
            if not given >= 0:
                raise ValueError(f"{given} seconds: a pretended container takes 0 or more")
        self._run_time = timedelta(seconds=run_seconds)
        self._reaction_time = timedelta(seconds=reaction_seconds)
        self._stop_seconds = stop_seconds

    def image_problem(self, image: str, *, pull_policy: str) -> Problem | None:
        """Every image is there but those of registries under ``.invalid``."""
        try:
            reference = parse_image(image)
        except ValueError as error:
            text = f'Failed to apply default image tag "{image}": couldn\'t parse image name'
            return Problem("InvalidImageName", f'{text} "{image}": {error}')
        if not reference.unreachable:
            return None
        if pull_policy == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            return Problem("ErrImageNeverPull", text)
        return Problem("ErrImagePull", reference.pull_error, retried=True)

    def report(
        self, pod: PlayedPod, container: PlayedContainer, run: Run, *, now: datetime
    ) -> Report:
        script = self._script(pod)
        ending = self._ending(pod, container, run, script)
        if ending is not None and ending.finished_at <= now:
            return Report(started=False, ready=False, ending=ending)
        reacts_at = run.started_at + self._reaction_time
        started = now >= reacts_at
        # A probe never succeeds in a container that is about to crash.
        doomed = container.name in script.crashes and container.readiness_probe is not None
        ready = started and not doomed and container.name not in script.unready
        moments = [] if started else [reacts_at]
        if ending is not None:
            moments.append(ending.finished_at)
        return Report(started=started, ready=ready, changes_at=min(moments, default=None))

    def misunderstood(self, pod: PlayedPod) -> Sequence[Warning]:
        return [Warning("InvalidScript", text) for text in self._script(pod).problems]

    def _script(self, pod: PlayedPod) -> Script:
        names = [container.name for container in pod.spec.all_containers]
        return read_script(pod.metadata.annotations, containers=names)

    def _ending(
        self, pod: PlayedPod, container: PlayedContainer, run: Run, script: Script
    ) -> Ending | None:
        """How and when the run ends, be that in the future; None when it does not."""
        endings = [self._scripted(pod, container, run, script), self._stopped(run)]
        return min(
            (ending for ending in endings if ending is not None),
            key=lambda ending: ending.finished_at,
            default=None,
        )

    def _scripted(
        self, pod: PlayedPod, container: PlayedContainer, run: Run, script: Script
    ) -> Ending | None:
        how, lasts = script.crashes.get(container.name), self._run_time
        if how is None and run.attempt == 0:
            how = script.exits.get(container.name)
        if how is None and is_regular_init(pod, container) and container.name not in script.unready:
            how, lasts = _DONE, self._reaction_time
        if how is None:
            return None
        return Ending(
            exit_code=how.exit_code,
            reason=how.reason,
            message=how.message,
            finished_at=run.started_at + lasts,
        )

    def _stopped(self, run: Run) -> Ending | None:
        if run.stop_asked_at is None:
            return None
        killed = self._stop_seconds > run.grace_seconds
        seconds = run.grace_seconds if killed else self._stop_seconds
        return Ending(
            exit_code=_KILLED if killed else _TERMINATED,
            reason="Error",
            finished_at=run.stop_asked_at + timedelta(seconds=seconds),
        )
