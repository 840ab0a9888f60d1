"""Turns a tree into rows and remarks: what is said of each node, and what is left out. Pure.

Before: `konstat.cli.status.tree`. After: `render` aligns the rows and breaks the remarks.

Said of a node: its row; what a reader must know first; the conditions of a resource; the cause
where it is not ready. Left out: a cause that stands above already, ReplicaSets at zero, and
children that are like many others and fine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from rich.text import Text

from konstat.base import clock, limits
from konstat.cli.status.tree import ConditionEntry, TreeNode
from konstat.kinds import BY_KIND
from konstat.readiness import Reason, State, Turn, wording

# Verdicts that only repeat what the conditions say, which are drawn below.
_TOLD_BY_CONDITIONS: Final = frozenset(
    {
        Reason.CONDITION_NOT_MET,
        Reason.CONDITION_UNKNOWN,
        Reason.CONDITIONS_MET,
        Reason.DEGRADED,
        Reason.RECONCILING,
        Reason.STALLED,
    }
)
# Verdicts on words: where those are a condition's, the message quotes it.
_QUOTED: Final = frozenset({Reason.CONFIGURATION_REFUSED, Reason.FAILURE_REPORTED})
_BAD_NEWS: Final = frozenset({"Degraded", "Failed", "Reconciling", "Stalled", "ReplicaFailure"})
_REASON_CHARACTERS: Final = 40  # konstat's own fit; of foreign ones the beginning is shown

STYLES: Final = {
    State.READY: "green",
    State.SUSPENDED: "blue",
    State.UNKNOWN: "magenta",
    State.PROGRESSING: "yellow",
    State.TERMINATING: "yellow",
    State.MISSING: "red",
    State.FAILED: "bold red",
}


class Symbols(NamedTuple):
    """The characters of one drawing: branches, and one sign for each state."""

    tee: str
    corner: str
    rail: str
    bullet: str
    states: dict[State, str]


UNICODE: Final = Symbols(
    "├─ ",
    "└─ ",
    "│  ",
    "·",
    {
        State.READY: "✔",
        State.SUSPENDED: "‖",
        State.UNKNOWN: "?",
        State.PROGRESSING: "●",
        State.TERMINATING: "○",
        State.MISSING: "∅",
        State.FAILED: "✖",
    },
)
ASCII: Final = Symbols(
    "|- ",
    "`- ",
    "|  ",
    ".",
    {
        State.READY: "+",
        State.SUSPENDED: "=",
        State.UNKNOWN: "?",
        State.PROGRESSING: "~",
        State.TERMINATING: "-",
        State.MISSING: "!",
        State.FAILED: "x",
    },
)


class Row(NamedTuple):
    """One line with columns."""

    rail: str
    symbol: str
    style: str
    name: Text
    state: str
    turn: str
    age: str
    reason: str


class Remark(NamedTuple):
    """One text under a row; ``reason`` is that of the row."""

    rail: str
    reason: str
    text: str
    style: str


def outline(
    tree: TreeNode, *, symbols: Symbols, namespaces: bool, now: datetime
) -> Iterator[Row | Remark]:
    """The rows and remarks of one resource and all that is below it, from top to bottom."""
    shown_already = "" if namespaces else tree.namespace
    return _Outline(symbols, now=now).node(tree, "", "", namespace=shown_already)


class _Outline:
    def __init__(self, symbols: Symbols, *, now: datetime) -> None:
        self._symbols = symbols
        self._now = now

    def node(
        self,
        node: TreeNode,
        first: str,
        rest: str,
        *,
        namespace: str,
        told: set[str] | None = None,
    ) -> Iterator[Row | Remark]:
        """``first`` stands before the node's own line, ``rest`` before those below it.

        ``namespace`` need not be shown again. ``told`` are causes that stand above already; None
        for a resource that was asked for.
        """
        reason = printable(_reason(node))
        place = f"{node.namespace}/" if node.namespace not in ("", namespace) else ""
        yield Row(
            rail=first,
            symbol=self._symbols.states[node.state],
            style=STYLES[node.state],
            name=Text.assemble(
                f" {printable(node.kind)} ",
                (printable(f"{place}{node.name}"), "bold" if told is None else ""),
            ),
            state=node.state.value,
            turn="-" if node.turn is Turn.NOBODY else node.turn.value,
            age=age(node.created_at, now=self._now),
            reason=reason,
        )
        drawn, hidden = _chosen(node.children)
        below = bool(drawn or hidden or node.cut)
        inner = rest + (self._symbols.rail[:1] + " " if below else "  ")
        yield from self._remarks(node, inner, reason, told)
        if node.cut:
            hidden = [*hidden, "more below: the tree is too deep to be drawn"]
        causes = {node.message, *(told or ())}
        for number, child in enumerate(drawn, start=1):
            last = number == len(drawn) and not hidden
            branch = self._symbols.corner if last else self._symbols.tee
            rail = " " * len(self._symbols.rail) if last else self._symbols.rail
            yield from self.node(
                child, rest + branch, rest + rail, namespace=node.namespace, told=causes
            )
            causes.add(child.message)
        for number, text in enumerate(hidden, start=1):
            branch = self._symbols.corner if number == len(hidden) else self._symbols.tee
            yield Remark(f"{rest}{branch}{self._symbols.bullet} ", "", text, "bright_black")

    def _remarks(
        self, node: TreeNode, inner: str, reason: str, told: set[str] | None
    ) -> Iterator[Row | Remark]:
        for note in node.notes:
            yield Remark(inner, "", note, "yellow")
        listed = told is None or _is_custom_trouble(node)
        known = node.message in (told or ()) or _is_said(node, listed)
        if node.state is not State.READY and not known:
            yield Remark(inner, reason, printable(node.message), "")
        if listed:
            yield from self._conditions(node.conditions, inner)

    def _conditions(
        self, conditions: Sequence[ConditionEntry], inner: str
    ) -> Iterator[Row | Remark]:
        told = ""
        for entry in conditions:
            generation = "" if entry.current else f" (generation {entry.observed_generation})"
            reason = _short(printable(entry.reason))
            yield Row(
                rail=inner,
                symbol=self._symbols.bullet,
                style=_condition_style(entry),
                name=Text(f" {printable(entry.type)}{generation}"),
                state=printable(entry.status),
                turn="",
                age=age(entry.last_transition_time, now=self._now),
                reason=reason,
            )
            text = wording.capped(printable(entry.message))
            if text not in told and not _is_good(entry):
                told += f"{text}\n"
                yield Remark(f"{inner}  ", reason, text, "")


def _reason(node: TreeNode) -> str:
    """The operator's own reason where konstat's verdict only says that there is one."""
    if not node.reported_reason:
        return node.reason
    quoted = node.reason in _QUOTED and node.message.startswith("condition Ready is ")
    if quoted or node.reason in _TOLD_BY_CONDITIONS:
        return _short(node.reported_reason)
    return node.reason


def _is_said(node: TreeNode, listed: bool) -> bool:
    """Whether the notes, or the conditions where they are listed, say what the message says."""
    quoted = node.reason in _QUOTED and node.message.startswith("condition ")
    if quoted or node.reason in _TOLD_BY_CONDITIONS:
        return listed and bool(node.conditions)
    repeated = (Reason.GENERATION_NOT_OBSERVED, Reason.STATUS_NOT_REPORTED, Reason.NO_RULE)
    return bool(node.notes) and node.reason in repeated


def _is_custom_trouble(node: TreeNode) -> bool:
    """Whether a child's conditions are worth their lines: no rule of ours sums them up."""
    group, _, _ = node.api_version.rpartition("/")
    return (group, node.kind) not in BY_KIND and node.state is not State.READY


def _chosen(children: Sequence[TreeNode]) -> tuple[list[TreeNode], list[str]]:
    """The children to draw, and a text for each group that is left out."""
    drawn: list[TreeNode] = []
    idle = 0
    more: dict[str, int] = {}
    seen: dict[str, int] = {}
    for child in children:
        if child.kind == "ReplicaSet" and child.reason == Reason.SCALED_TO_ZERO:
            idle += 1
        elif not _is_calm(child):
            drawn.append(child)
        elif seen.get(child.kind, 0) < limits.TREE_SIBLINGS:
            seen[child.kind] = seen.get(child.kind, 0) + 1
            drawn.append(child)
        else:
            more[child.kind] = more.get(child.kind, 0) + 1
    hidden = [f"{count} more of kind {kind}, ready" for kind, count in more.items()]
    if idle:
        hidden.append(f"{idle} ReplicaSet{'s' if idle > 1 else ''} at zero")
    return drawn, hidden


def _is_calm(node: TreeNode) -> bool:
    return node.state is State.READY and all(_is_calm(child) for child in node.children)


def _is_good(entry: ConditionEntry) -> bool:
    return entry.status == ("False" if entry.type in _BAD_NEWS else "True")


def _condition_style(entry: ConditionEntry) -> str:
    """Green for good news; what else it means depends on a polarity that is not known."""
    if not entry.current:
        return "yellow"
    if _is_good(entry):
        return "green"
    return "red" if entry.type in ("Ready", "Stalled") and entry.status != "Unknown" else "yellow"


def _short(text: str) -> str:
    return text if len(text) <= _REASON_CHARACTERS else text[: _REASON_CHARACTERS - 1] + "…"


def printable(text: str) -> str:
    """``text`` on one line, without control characters and what changes the reading direction."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def age(text: str, *, now: datetime) -> str:
    """How long ago a metav1.Time was, as ``45s``, ``12m``, ``3h``, ``5d``, ``2y``; "-" for none."""
    try:
        seconds = max(0, int((now - clock.parse_timestamp(text)).total_seconds()))
    except (ValueError, OverflowError):
        return "-"
    for unit, length, until in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 48 * 3600)):
        if seconds < until:
            return f"{seconds // length}{unit}"
    days = seconds // 86400
    return f"{days}d" if days < 2 * 365 else f"{days // 365}y"
