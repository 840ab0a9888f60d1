"""`ActingRuntime`: a runtime whose containers are more than pretended, and what it offers beyond.

`konstat.nodes.pods` opens it, gives it what pods need and tells it what is remembered of them;
`konstat.nodes.processes` is such a runtime.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from konstat.kinds import Service
from konstat.nodes.addresses import AddressPool
from konstat.nodes.configuration import Configuration, Contents
from konstat.nodes.memory import PodMemory
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.runtime import ContainerRuntime, Warning


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What of a container's log is wanted, in the words of the API's ``log`` subresource.

    ``container`` may be empty where a pod has one. ``previous`` means the run before the present
    one, ``follow`` to go on until the run has ended.
    """

    container: str = ""
    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    limit_bytes: int | None = None


@runtime_checkable
class ActingRuntime(ContainerRuntime, Protocol):
    """A runtime that does more than pretend: its containers have causes and effects.

    Orders are derived, not given: after each step of a pod the runtime compares what was remembered
    before it with what is remembered after it (a run that is new begins, one that was asked to end
    ends). What becomes of a run it tells by `report`, and *that* there is news by ``changed``.
    """

    def opened(
        self, *, changed: Callable[[str], None], tell: Callable[[str, Warning], None]
    ) -> AbstractAsyncContextManager[None]:
        """Work for the length of a block; at its end nothing runs any more.

        ``changed`` is called with the uid of a pod that is to be looked at again, ``tell`` with
        something about a pod that the steps cannot know.
        """
        ...

    def plays(self, pod: PlayedPod) -> bool:
        """Whether this pod is more than pretended, so that it needs an address that answers."""
        ...

    def address_pool(self) -> AddressPool:
        """Where such pods get their addresses; one pool for all nodes."""
        ...

    def lack(self, pod: PlayedPod, memory: PodMemory, contents: Contents) -> Configuration:
        """Why the pod, or single containers, cannot be started with these contents."""
        ...

    def obey(
        self, pod: PlayedPod, before: PodMemory, after: PodMemory, contents: Contents | None
    ) -> None:
        """Begin and end runs so that ``after`` is true; returns at once.

        ``contents`` is None where nothing was looked up because nothing was to begin.
        """
        ...

    def make_known(self, services: Sequence[Service], pods: Sequence[PlayedPod]) -> None:
        """Let programs find these Services; called again after every change of them."""
        ...

    def forget(self, uid: str) -> None:
        """The pod is gone: end what is left of it at once."""
        ...

    def logs(self, pod: PlayedPod, query: LogQuery) -> AsyncIterator[bytes]:
        """What a container has said; raises UserError where there is nothing to read."""
        ...
