"""What is told of an object: its verdict, the chain of causes below it, and where to look. Pure.

Before: `konstat.cli.status.tree` has judged the object and all below it. After: `render` draws an
`Explanation`, `-o json` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from konstat.base import limits
from konstat.cli.explain.hints import next_steps
from konstat.cli.status.tree import TreeNode
from konstat.readiness import Evidence, Readiness, State, Turn, compute

FORMAT: Final = 1


class Explanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object's verdict and what is behind it; the shape of an entry in the JSON.

    ``causes`` are those below it that are not ready, the worst first, with theirs below them;
    ``alike`` counts further siblings with the same cause, ``more_causes`` causes left out.
    ``next`` are commands and places to look at, only for an object that was asked for.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    state: State
    reason: str
    message: str
    turn: Turn
    generation: int
    observed_generation: int | None
    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...]
    causes: tuple[Explanation, ...] = ()
    alike: int = 0
    more_causes: int = 0
    next: tuple[str, ...] = ()


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What `-o json` prints: ``unread`` kinds could not be read and are missing from causes."""

    format: int
    time: str
    source: str
    objects: tuple[Explanation, ...]
    unread: tuple[str, ...]


def explain_tree(tree: TreeNode) -> Explanation:
    """The explanation of one object that was asked for."""
    told = _explained(tree)
    return msgspec.structs.replace(told, next=next_steps(_chain(tree)))


def missing(*, api_version: str, kind: str, namespace: str, name: str) -> Explanation:
    """The explanation of an object that does not exist."""
    return explain_tree(missing_node(api_version, kind=kind, namespace=namespace, name=name))


def missing_node(api_version: str, *, kind: str, namespace: str, name: str) -> TreeNode:
    """An object that does not exist, judged."""
    verdict: Readiness = compute(None)
    return TreeNode(
        api_version=api_version,
        kind=kind,
        namespace=namespace,
        name=name,
        uid="",
        created_at="",
        state=verdict.state,
        reason=str(verdict.reason),
        reported_reason="",
        message=verdict.message,
        turn=verdict.turn,
        generation=0,
        observed_generation=None,
        notes=(),
        evidence=(),
        conditions=(),
        children=(),
    )


def worst(explanations: Iterable[Explanation]) -> State:
    """The state that decides the exit status: a known "not ready" before Unknown before Ready."""
    states = {told.state for told in explanations}
    known = states - {State.READY, State.UNKNOWN}
    if known:
        return max(known, key=lambda state: state.severity)
    return State.READY if states == {State.READY} else State.UNKNOWN


def _explained(node: TreeNode) -> Explanation:
    groups = _grouped(_troubled(node))
    shown = groups[: limits.EXPLAIN_CAUSES]
    hidden = sum(len(group) for group in groups[limits.EXPLAIN_CAUSES :])
    return Explanation(
        api_version=node.api_version,
        kind=node.kind,
        namespace=node.namespace,
        name=node.name,
        state=node.state,
        reason=node.reason,
        message=node.message,
        turn=node.turn,
        generation=node.generation,
        observed_generation=node.observed_generation,
        evidence=node.evidence,
        notes=node.notes,
        causes=tuple(
            msgspec.structs.replace(_explained(group[0]), alike=len(group) - 1) for group in shown
        ),
        more_causes=hidden,
    )


def _troubled(node: TreeNode) -> list[TreeNode]:
    """The children that are not ready; none of an object that is ready in spite of them."""
    if node.state is State.READY:
        return []
    return [child for child in node.children if child.state is not State.READY]


def _grouped(nodes: Sequence[TreeNode]) -> list[list[TreeNode]]:
    """Siblings with the same cause together; the worst first, then the most."""
    groups: dict[tuple[str, State, str, str], list[TreeNode]] = {}
    for node in sorted(nodes, key=lambda n: n.name):
        key = (node.kind, node.state, node.reason, node.message)
        groups.setdefault(key, []).append(node)
    return sorted(groups.values(), key=lambda g: (-g[0].state.severity, -len(g), g[0].name))


def _chain(node: TreeNode) -> list[TreeNode]:
    """From the object down the first cause of each level."""
    return list(_descent(node))


def _descent(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    groups = _grouped(_troubled(node))
    # A child that is less ill than its owner is not what made the owner ill.
    if groups and groups[0][0].state.severity >= min(
        node.state.severity, State.PROGRESSING.severity
    ):
        yield from _descent(groups[0][0])
