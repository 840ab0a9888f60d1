"""`ContainerRuntime`: what plays a container, apart from the kubelet that decides when. Pure.

`konstat.nodes.kubelet` begins runs and asks for their ends; a runtime says what became of each.
`konstat.nodes.pretended` is the runtime that only pretends; one that acts has the further methods
of `konstat.nodes.acting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from konstat.nodes.podspec import PlayedContainer, PlayedPod


class Problem(msgspec.Struct, frozen=True):
    """Why a container waits: a kubelet's reason and message.

    ``retried`` says that trying again after a while may help, so the kubelet backs off.
    """

    reason: str
    message: str
    retried: bool = False


class Warning(msgspec.Struct, frozen=True):
    """Something to tell as a Warning event; each text is told once for a pod."""

    reason: str
    message: str


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    exit_code: int
    reason: str
    message: str = ""
    finished_at: datetime


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one container; ``attempt`` counts from 0 and is the restart count.

    ``stop_asked_at`` is when the kubelet asked for its end, ``grace_seconds`` how long it may take.
    """

    attempt: int
    started_at: datetime
    stop_asked_at: datetime | None = None
    grace_seconds: float = 0.0
    ending: Ending | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime sees of a run now.

    ``started`` and ``ready`` are the results of the probes; ``changes_at`` is the moment from
    which another report may come without any change of the pod.
    """

    started: bool
    ready: bool
    ending: Ending | None = None
    changes_at: datetime | None = None


class ContainerRuntime(Protocol):
    """Plays containers; every answer is about one moment and changes nothing."""

    @property
    def name(self) -> str:
        """The scheme of container ids, and the runtime that a node reports."""
        ...

    def image_problem(self, image: str, *, pull_policy: str) -> Problem | None:
        """Why a container of ``image`` cannot be created; None when it can."""
        ...

    def report(
        self, pod: PlayedPod, container: PlayedContainer, run: Run, *, now: datetime
    ) -> Report:
        """What became of a run that has not ended yet."""
        ...

    def misunderstood(self, pod: PlayedPod) -> Sequence[Warning]:
        """What the pod asks of this runtime and will not get, for people to read."""
        ...
