"""What a kubelet remembers of a pod from one step to the next, and how it paces itself. Pure.

`recall` rebuilds the memory from a stored status, as after a restart of a kubelet: runs and restart
counts live on, back-offs begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.nodes.podspec import PlayedContainer, PlayedPod
from konstat.nodes.runtime import Ending, Run

_BEGINNING = datetime.fromtimestamp(0, UTC)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a kubelet goes; the defaults are those of a real one.

    ``shown_seconds`` is how long an error is shown as itself (ErrImagePull, a terminated run)
    before the back-off is. Raises ValueError unless all are above 0.
    """

    backoff_first_seconds: float = limits.KUBELET_BACKOFF_FIRST_SECONDS
    backoff_maximum_seconds: float = limits.KUBELET_BACKOFF_MAXIMUM_SECONDS
    shown_seconds: float = limits.KUBELET_SHOWN_SECONDS
    recheck_seconds: float = limits.KUBELET_RECHECK_SECONDS

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give a number above 0")

    def delay(self, failures: int) -> timedelta:
        """The back-off after so many failures in a row (at least one)."""
        assert failures > 0
        # 64 doublings pass any maximum; more would overflow a float.
        seconds = self.backoff_first_seconds * 2.0 ** min(failures - 1, 64)
        return timedelta(seconds=min(seconds, self.backoff_maximum_seconds))

    @property
    def shown(self) -> timedelta:
        return timedelta(seconds=self.shown_seconds)

    @property
    def recheck(self) -> timedelta:
        return timedelta(seconds=self.recheck_seconds)

    @property
    def good_run(self) -> timedelta:
        """A run that lasts longer ends the counting of crashes."""
        return timedelta(seconds=2 * self.backoff_maximum_seconds)


class ContainerMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One container: the present or last run, the one before, and what its back-offs need.

    ``crashes`` counts restarts since the last good run. ``image`` is the one that
    ``pull_failures`` are of.
    """

    run: Run | None = None
    previous: Run | None = None
    crashes: int = 0
    image: str = ""
    pull_failures: int = 0
    pull_failed_at: datetime | None = None

    @property
    def running(self) -> bool:
        return self.run is not None and self.run.ending is None

    @property
    def ended(self) -> Ending | None:
        """How the last run ended; None when there was none or it goes on."""
        return self.run.ending if self.run is not None else None


class PodMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. ``sandbox`` says that its volumes and its network were set up once.

    ``told`` are the warnings that were given already.
    """

    started_at: datetime
    address: str
    host_address: str
    sandbox: bool = False
    containers: Mapping[str, ContainerMemory] = msgspec.field(default_factory=dict)
    told: frozenset[str] = frozenset()


def recall(pod: PlayedPod, *, address: str, host_address: str, now: datetime) -> PodMemory:
    """The memory of a pod that was not seen before, from its stored status.

    ``address`` is the pod's from now on.
    """
    status = pod.stored_status
    entries = {
        entry["name"]: entry
        for field in ("initContainerStatuses", "containerStatuses")
        for entry in status.get(field) or ()
        if isinstance(entry, dict) and "name" in entry
    }
    containers = {
        container.name: _recall_container(container, entries[container.name])
        for container in pod.spec.all_containers
        if container.name in entries
    }
    return PodMemory(
        started_at=_moment(status.get("startTime")) if status.get("startTime") else now,
        address=address,
        host_address=status.get("hostIP") or host_address,
        sandbox=bool(status.get("podIP")),
        containers=containers,
    )


def _recall_container(container: PlayedContainer, entry: Mapping[str, Any]) -> ContainerMemory:
    attempt = int(entry.get("restartCount") or 0)
    state, last = entry.get("state") or {}, entry.get("lastState") or {}
    present = _recall_run(attempt, state)
    before = _recall_run(max(attempt - 1, 0), last)
    if present is None and before is not None:
        # It waits for its restart, so the last run is the one that counts.
        return ContainerMemory(run=_renumbered(before, attempt), image=container.image)
    return ContainerMemory(run=present, previous=before, image=container.image)


def _recall_run(attempt: int, state: Mapping[str, Any]) -> Run | None:
    if state.get("running"):
        return Run(attempt=attempt, started_at=_moment(state["running"].get("startedAt")))
    ended = state.get("terminated")
    if not ended:
        return None
    ending = Ending(
        exit_code=int(ended.get("exitCode") or 0),
        reason=ended.get("reason") or "",
        message=ended.get("message") or "",
        finished_at=_moment(ended.get("finishedAt")),
    )
    return Run(attempt=attempt, started_at=_moment(ended.get("startedAt")), ending=ending)


def _renumbered(run: Run, attempt: int) -> Run:
    return msgspec.structs.replace(run, attempt=attempt)


def _moment(text: Any) -> datetime:
    """A stored time; the beginning of time where it is absent or unreadable."""
    try:
        return clock.parse_timestamp(text)
    except (TypeError, ValueError):
        return _BEGINNING
