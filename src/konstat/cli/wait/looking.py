"""What one look at the world means for a wait: reached, doomed, or what it still waits for.

Before: `konstat.cli.status.tree` has judged the objects. After: `command` ends or goes on, and
`screen` shows the texts. Pure but for what earlier looks saw: which objects were there, and since
when each has been Failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from konstat.cli.explain.story import missing_node
from konstat.cli.status.outline import printable
from konstat.cli.status.tree import TreeNode
from konstat.cli.wait import goal as goals
from konstat.cli.wait.goal import Goal
from konstat.objects.kind import Kind
from konstat.readiness import Reason, State
from konstat.status import TURN_TEXTS

# Failures that no time mends: only a change of the object does. What a foreign controller merely
# reports as failed may be tried again, so it is not among them.
_FINAL: Final = frozenset(
    {
        Reason.CLAIM_LOST,
        Reason.DENIED,
        Reason.JOB_FAILED,
        Reason.NAMES_NOT_ACCEPTED,
        Reason.PROGRESS_DEADLINE_EXCEEDED,
        Reason.SCHEMA_INVALID,
        Reason.STALLED,
    }
)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One KIND or KIND/NAME of the command line; ``name`` empty means every object."""

    kind: Kind
    name: str = ""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found: at most one of ``reached`` and ``doomed`` has entries.

    ``pending`` tells what is waited for, one text for each object that is not as wanted.
    ``again_seconds`` is when time alone may decide, None if only a change can.
    """

    reached: tuple[str, ...] = ()
    doomed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    again_seconds: float | None = None

    @property
    def decided(self) -> bool:
        return bool(self.reached or self.doomed)

    def without_news(self, problem: str) -> Look:
        """What it means while the server cannot be asked: nothing is decided on what was before."""
        line = printable(f"no news from the server: {problem}")
        return Look(pending=(line, *self.pending), again_seconds=self.again_seconds)


class Watcher:
    """Looks at the objects of ``targets`` again and again.

    An object that is Failed is given ``patience_seconds`` to recover, unless its failure is final.
    """

    def __init__(
        self, targets: Sequence[Target], goal: Goal, *, place: str, patience_seconds: float
    ) -> None:
        self._targets = targets
        self._goal = goal
        self._place = place
        self._patience_seconds = patience_seconds
        self._failed_since: dict[str, float] = {}
        self._first: Mapping[str, str] | None = None

    def look(self, trees: Iterable[TreeNode], *, monotonic: float) -> Look:
        """What ``trees`` mean at ``monotonic``, a time in seconds that only grows."""
        nodes = [node for node in trees if any(_is_meant(target, node) for target in self._targets)]
        if self._goal.what == goals.GONE:
            return self._gone(nodes)
        absent = [*self._absent(nodes)]
        waiting = [node for node in nodes if not goals.is_reached(self._goal, node)]
        if not absent and not waiting:
            return Look(reached=tuple(f"{_called(n)} is {self._goal.text}" for n in nodes))
        self._remember_failures(waiting, monotonic)
        left = {node.uid: self._patience_left(node, monotonic) for node in waiting}
        doomed = [node for node in waiting if (left[node.uid] or 0.0) < 0.0]
        if doomed:
            return Look(doomed=tuple(map(self._doom, doomed)))
        return Look(
            pending=(*absent, *map(self._pending, waiting)),
            again_seconds=min((s for s in left.values() if s is not None), default=None),
        )

    def _absent(self, nodes: Sequence[TreeNode]) -> Iterator[str]:
        for target in self._targets:
            if any(_is_meant(target, node) for node in nodes):
                continue
            place = self._place if target.kind.namespaced else ""
            if not target.name:
                yield f"there are no {target.kind.resource} {place}".rstrip()
                continue
            gone = missing_node(
                target.kind.api_version, kind=target.kind.kind, namespace="", name=target.name
            )
            yield f"{_called(gone)} does not exist {place}".rstrip()

    def _gone(self, nodes: Sequence[TreeNode]) -> Look:
        """Those that were there at the first look are waited for; a new namesake is another one."""
        if self._first is None:
            self._first = {node.uid: _called(node) for node in nodes}
        left = [node for node in nodes if node.uid in self._first]
        if not left:
            names = tuple(self._first.values())
            # What was never there is as wanted, but may be a slip of the pen.
            absent = () if names else tuple(self._absent(nodes))
            return Look(reached=(*(f"{name} is gone" for name in names), *absent))
        return Look(pending=tuple(_stays(node) for node in left))

    def _remember_failures(self, waiting: Sequence[TreeNode], monotonic: float) -> None:
        failed = {node.uid for node in waiting if node.state is State.FAILED}
        self._failed_since = {uid: self._failed_since.get(uid, monotonic) for uid in sorted(failed)}

    def _patience_left(self, node: TreeNode, monotonic: float) -> float | None:
        """Seconds until the object is given up, below 0 when it is; None while it may recover."""
        if node.uid not in self._failed_since or self._is_of_failure():
            return None
        if _is_final(node):
            return -1.0
        left = self._failed_since[node.uid] + self._patience_seconds - monotonic
        return left if left > 0 else -1.0

    def _is_of_failure(self) -> bool:
        """Whether a failed object may still get the condition, as Failed=True itself."""
        return self._goal.what == goals.CONDITION and not _is_good_news(self._goal)

    def _pending(self, node: TreeNode) -> str:
        if self._goal.what == goals.CONDITION:
            found = goals.condition_of(self._goal, node)
            if found is None:
                said = f"has no condition {self._goal.condition}"
            else:
                said = f"{found.type} is {found.status}"
                if not goals.is_current(found, node):
                    said += " of another generation"
            return printable(f"{_called(node)}: {said}; {_told(node)}")
        return printable(f"{_called(node)}: {_told(node)}")

    def _doom(self, node: TreeNode) -> str:
        told = _told(node)
        turn = f"({TURN_TEXTS[node.turn]})"
        # An operator of konstat's ends its message with it.
        ending = "" if told.endswith(turn) else f" {turn}"
        return printable(f"{_called(node)} will not be {self._goal.text}: {told}{ending}")


# Conditions of which True means that the object works; no failed object gets them.
_GOOD_TYPES: Final = frozenset({"available", "complete", "healthy", "ready", "succeeded"})


def _is_good_news(goal: Goal) -> bool:
    return goal.value.lower() == "true" and goal.condition.lower() in _GOOD_TYPES


def _is_meant(target: Target, node: TreeNode) -> bool:
    kind = (target.kind.api_version, target.kind.kind) == (node.api_version, node.kind)
    return kind and target.name in ("", node.name)


def _is_final(node: TreeNode) -> bool:
    """A pod that failed by itself is not started again; that of a workload is replaced."""
    return node.reason in _FINAL or (node.reason == Reason.POD_FAILED and node.kind == "Pod")


def _stays(node: TreeNode) -> str:
    if node.state is State.TERMINATING:
        return printable(f"{_called(node)}: {node.message}")
    return printable(f"{_called(node)}: nobody has asked for its deletion")


def _told(node: TreeNode) -> str:
    return f"{node.state.value} ({node.reason}): {node.message}"


def _called(node: TreeNode) -> str:
    place = f"{node.namespace}/" if node.namespace else ""
    return printable(f"{node.kind} {place}{node.name}")
