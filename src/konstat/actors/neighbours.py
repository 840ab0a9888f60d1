"""Whether a pod may stand beside the pods that are there: affinity and topology spread. Pure.

Only what is required counts (``requiredDuringScheduling…``, ``DoNotSchedule``); preferences have
no effect here. Before: `konstat.actors.placement`. After: `konstat.actors.scheduler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from konstat.actors import content, placement, pods
from konstat.actors.content import Obj
from konstat.objects.selector import selector_of

NO_FRIENDS: Final = "node(s) didn't match pod affinity rules"
ENEMIES: Final = "node(s) didn't match pod anti-affinity rules"
UNWANTED: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD: Final = "node(s) didn't match pod topology spread constraints"

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes, the pods on each (by node name), and the labels of namespaces."""

    nodes: Sequence[Obj]
    on_node: Mapping[str, Sequence[Obj]]
    namespace_labels: Mapping[str, Mapping[str, str]]

    def domain(self, node: Mapping[str, Any], key: str) -> list[Obj]:
        """The living pods in the same topology domain as ``node``; none without the label."""
        value = content.labels(node).get(key)
        if value is None:
            return []
        return [
            pod
            for other in self.nodes
            if content.labels(other).get(key) == value
            for pod in self.on_node.get(content.name(other), ())
            if not pods.finished(pod)
        ]


def refusal(
    pod: Mapping[str, Any], node: Mapping[str, Any], around: Surroundings
) -> placement.Refusal | None:
    """Why the pod may not stand on ``node``, for those that are there; None when it may."""
    for constraint in content.spec(pod).get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule" and not (
            _spreads(constraint, pod, node, around)
        ):
            return placement.Refusal((SPREAD,), resolvable=True)
    for term in _terms(pod, "podAffinity"):
        if not _has_friend(term, pod, node, around):
            return placement.Refusal((NO_FRIENDS,))
    for term in _terms(pod, "podAntiAffinity"):
        if any(_selects(term, pod, other, around) for other in _domain(term, node, around)):
            return placement.Refusal((ENEMIES,), resolvable=True)
    if _is_unwanted(pod, node, around):
        return placement.Refusal((UNWANTED,), resolvable=True)
    return None


def _terms(pod: Mapping[str, Any], side: str) -> list[Obj]:
    affinity = content.spec(pod).get("affinity") or {}
    return list((affinity.get(side) or {}).get(_REQUIRED) or ())


def _domain(term: Mapping[str, Any], node: Mapping[str, Any], around: Surroundings) -> list[Obj]:
    return around.domain(node, term.get("topologyKey") or "")


def _selects(
    term: Mapping[str, Any],
    holder: Mapping[str, Any],
    other: Mapping[str, Any],
    around: Surroundings,
) -> bool:
    """Whether a term of ``holder`` means the pod ``other``."""
    namespace = content.namespace(other)
    named = term.get("namespaces") or ()
    by_label = term.get("namespaceSelector")
    if by_label is not None:
        labels = around.namespace_labels.get(namespace, {})
        if namespace not in named and not selector_of(by_label).matches(labels):
            return False
    elif namespace not in (named or (content.namespace(holder),)):
        return False
    return _matches(term, holder, other)


def _matches(term: Mapping[str, Any], holder: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    selector = term.get("labelSelector")
    if selector is None:
        return False
    theirs, ours = content.labels(other), content.labels(holder)
    same = all(theirs.get(k) == ours[k] for k in term.get("matchLabelKeys") or () if k in ours)
    return same and selector_of(selector).matches(theirs)


def _has_friend(
    term: Mapping[str, Any], pod: Mapping[str, Any], node: Mapping[str, Any], around: Surroundings
) -> bool:
    """A match in the node's domain; the first of a group that means itself needs none."""
    if (term.get("topologyKey") or "") not in content.labels(node):
        return False
    if any(_selects(term, pod, other, around) for other in _domain(term, node, around)):
        return True
    anywhere = any(
        _selects(term, pod, other, around)
        for found in around.on_node.values()
        for other in found
        if not pods.finished(other)
    )
    return not anywhere and _selects(term, pod, pod, around)


def _is_unwanted(pod: Mapping[str, Any], node: Mapping[str, Any], around: Surroundings) -> bool:
    """Whether a pod in a domain of ``node`` wants none like ``pod`` beside it."""
    for other_node in around.nodes:
        for other in around.on_node.get(content.name(other_node), ()):
            for term in _terms(other, "podAntiAffinity") if not pods.finished(other) else ():
                key = term.get("topologyKey") or ""
                value = content.labels(other_node).get(key)
                together = value is not None and value == content.labels(node).get(key)
                if together and _selects(term, other, pod, around):
                    return True
    return False


def _spreads(
    constraint: Mapping[str, Any],
    pod: Mapping[str, Any],
    node: Mapping[str, Any],
    around: Surroundings,
) -> bool:
    """Whether the domains differ by at most ``maxSkew`` with ``pod`` on ``node``."""
    key = constraint.get("topologyKey") or ""
    if key not in content.labels(node):
        return False
    honours = constraint.get("nodeAffinityPolicy", "Honor") == "Honor"
    counts: dict[str, int] = {}
    for other in around.nodes:
        value = content.labels(other).get(key)
        if value is None or (honours and not placement.fits_affinity(pod, other)):
            continue
        matching = [
            one
            for one in around.on_node.get(content.name(other), ())
            if content.namespace(one) == content.namespace(pod)
            and pods.active(one)
            and _matches(constraint, pod, one)
        ]
        counts[value] = counts.get(value, 0) + len(matching)
    fewest = min(counts.values(), default=0)
    if len(counts) < (constraint.get("minDomains") or 1):
        fewest = 0
    itself = 1 if _matches(constraint, pod, pod) else 0
    here = counts.get(content.labels(node)[key], 0)
    return here + itself - fewest <= (constraint.get("maxSkew") or 1)
