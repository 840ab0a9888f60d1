"""What a DaemonSet controller decides: which nodes get a pod, which pods go, the status. Pure.

Before: `konstat.actors.placement`. After: `konstat.actors.daemonsets`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from konstat.actors import content, placement, pods
from konstat.actors.content import Obj
from konstat.actors.revisions import HASH_LABEL
from konstat.kinds import DaemonSet

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
GENERATION_LABEL: Final = "pod-template-generation"

# The controller lets its pods stay on nodes in trouble.
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (placement.UNSCHEDULABLE_TAINT, "NoSchedule"),
)
_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class DaemonPlan(msgspec.Struct, kw_only=True):
    """Nodes to create pods for, and pods to delete (``failed`` ones with an event)."""

    create: list[str] = msgspec.field(default_factory=list)
    delete: list[Obj] = msgspec.field(default_factory=list)
    failed: list[Obj] = msgspec.field(default_factory=list)


def tolerations(template: Mapping[str, Any]) -> list[Obj]:
    """The template's own, and those that every daemon pod gets."""
    spec = content.spec(template)
    added = [*_TOLERATED, _HOST_NETWORK] if spec.get("hostNetwork") else list(_TOLERATED)
    found: list[Obj] = list(spec.get("tolerations") or ())
    for key, effect in added:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in found:
            found.append(toleration)
    return found


def target_node(pod: Mapping[str, Any]) -> str:
    """The node that a daemon pod is bound to, or is made for."""
    if found := pods.node_name(pod):
        return found
    affinity = (content.spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and len(field.get("values") or ()) == 1:
                return field["values"][0]
    return ""


def new_pod(daemon_set: Obj, node: str, *, revision_hash: str) -> Obj:
    """The pod for ``node``: it can be scheduled nowhere else."""
    template = content.spec(daemon_set).get("template") or {}
    pod = pods.from_template(template, owner_kind=DaemonSet.kind, owner=daemon_set)
    generation = content.annotations(daemon_set).get(TEMPLATE_GENERATION)
    labels = {**(pod["metadata"].get("labels") or {}), HASH_LABEL: revision_hash}
    if generation:
        labels[GENERATION_LABEL] = generation
    pod["metadata"]["labels"] = labels
    spec = pod["spec"]
    spec["tolerations"] = tolerations(template)
    affinity = copy.deepcopy(spec.get("affinity") or {})
    node_affinity = affinity.setdefault("nodeAffinity", {})
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    here = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    # As the real controller: nothing else than the name counts among the required terms.
    node_affinity[key] = {"nodeSelectorTerms": [{"matchFields": here}]}
    spec["affinity"] = affinity
    return pod


def should_run(daemon_set: Obj, node: Obj) -> bool:
    """Whether a new pod belongs on ``node``."""
    return _fits(daemon_set, node) and (
        placement.untolerated(_imagined(daemon_set), node, ("NoSchedule", "NoExecute")) is None
    )


def may_stay(daemon_set: Obj, node: Obj) -> bool:
    """Whether a pod that is on ``node`` may remain."""
    return _fits(daemon_set, node) and (
        placement.untolerated(_imagined(daemon_set), node, ("NoExecute",)) is None
    )


def _imagined(daemon_set: Obj) -> Obj:
    template = content.spec(daemon_set).get("template") or {}
    return {"spec": {**content.spec(template), "tolerations": tolerations(template)}}


def _fits(daemon_set: Obj, node: Obj) -> bool:
    wanted = content.spec(_imagined(daemon_set)).get("nodeName")
    if wanted and wanted != content.name(node):
        return False
    return placement.fits_affinity(_imagined(daemon_set), node)


def by_node(owned: Sequence[Obj]) -> dict[str, list[Obj]]:
    """Pods by the node they are on or made for, oldest first, without those that have ended."""
    found: dict[str, list[Obj]] = {}
    for pod in sorted(owned, key=content.by_age):
        if pods.finished(pod) and content.deleting(pod):
            continue
        found.setdefault(target_node(pod), []).append(pod)
    return found


def plan(daemon_set: Obj, nodes: Sequence[Obj], owned: Sequence[Obj]) -> DaemonPlan:
    """One pod on every node that should have one, and none elsewhere."""
    result = DaemonPlan()
    present = by_node(owned)
    for node in nodes:
        there = present.pop(content.name(node), [])
        if not may_stay(daemon_set, node):
            result.delete += [pod for pod in there if not content.deleting(pod)]
            continue
        failed = [pod for pod in there if pods.phase(pod) == "Failed"]
        living = [pod for pod in there if pods.phase(pod) != "Failed"]
        result.failed += [pod for pod in failed if not content.deleting(pod)]
        staying = [pod for pod in living if not content.deleting(pod)]
        if not living and not failed and should_run(daemon_set, node):
            result.create.append(content.name(node))
        if not _surges(daemon_set):
            result.delete += _superfluous(staying)
    for gone in present.values():
        # Of nodes that are not there any more.
        result.delete += [pod for pod in gone if not content.deleting(pod)]
    return result


def _superfluous(staying: Sequence[Obj]) -> list[Obj]:
    """All but one: a bound, ready, old one is kept."""
    ordered = sorted(
        staying, key=lambda p: (not pods.node_name(p), not pods.ready(p), content.by_age(p))
    )
    return ordered[1:]


# --- rolling update ---------------------------------------------------------------------------


def _rolling(daemon_set: Obj) -> Obj:
    strategy = content.spec(daemon_set).get("updateStrategy") or {}
    return strategy.get("rollingUpdate") or {}


def _surges(daemon_set: Obj) -> bool:
    return _rolling(daemon_set).get("maxSurge") not in (None, 0, "0%", "0")


def rolls(daemon_set: Obj) -> bool:
    strategy = content.spec(daemon_set).get("updateStrategy") or {}
    return (strategy.get("type") or "RollingUpdate") == "RollingUpdate"


def updated(pod: Obj, revision_hash: str) -> bool:
    return content.labels(pod).get(HASH_LABEL) == revision_hash


def roll(
    daemon_set: Obj,
    nodes: Sequence[Obj],
    owned: Sequence[Obj],
    revision_hash: str,
    *,
    now: datetime,
) -> DaemonPlan:
    """Pods of another revision to delete, and nodes that get a new pod beside the old one.

    At most ``maxUnavailable`` nodes are without an available pod; an old pod that is not
    available goes at once. With ``maxSurge`` an old pod goes when the new one is available.
    """
    wanted = [node for node in nodes if should_run(daemon_set, node)]
    least = content.spec(daemon_set).get("minReadySeconds") or 0
    bounds = _rolling(daemon_set)
    surge = content.scaled(bounds.get("maxSurge"), len(wanted), round_up=True)
    away = content.scaled(bounds.get("maxUnavailable"), len(wanted), round_up=True, default=1)
    if not surge and not away:
        away = 1
    present = by_node(owned)
    if surge:
        return _roll_with_surge(wanted, present, revision_hash, surge, least, now=now)
    result = DaemonPlan()
    candidates: list[Obj] = []
    unavailable = 0
    for node in wanted:
        there = [p for p in present.get(content.name(node), ()) if not content.deleting(p)]
        old = [p for p in there if not updated(p, revision_hash)]
        if not any(pods.available(p, least, now) for p in there):
            unavailable += 1
            result.delete += old
        else:
            candidates += old
    room = max(0, away - unavailable)
    result.delete += candidates[:room]
    return result


def _roll_with_surge(
    wanted: Sequence[Obj],
    present: Mapping[str, Sequence[Obj]],
    revision_hash: str,
    surge: int,
    least: int,
    *,
    now: datetime,
) -> DaemonPlan:
    result = DaemonPlan()
    candidates: list[str] = []
    surging = 0
    for node in wanted:
        there = [p for p in present.get(content.name(node), ()) if not content.deleting(p)]
        old = [p for p in there if not updated(p, revision_hash)]
        new = [p for p in there if updated(p, revision_hash)]
        if not old:
            continue
        if not any(pods.available(p, least, now) for p in old) or any(
            pods.available(p, least, now) for p in new
        ):
            result.delete += old
        elif new:
            surging += 1
        else:
            candidates.append(content.name(node))
    result.create += candidates[: max(0, surge - surging)]
    return result


# --- the status -------------------------------------------------------------------------------


def status(
    daemon_set: Obj,
    nodes: Sequence[Obj],
    owned: Sequence[Obj],
    revision_hash: str,
    *,
    now: datetime,
) -> Obj:
    """Counts of nodes that follow from ``owned``."""
    least = content.spec(daemon_set).get("minReadySeconds") or 0
    present = by_node(owned)
    desired = current = misplaced = ready = available = of_update = 0
    for node in nodes:
        there = present.get(content.name(node), [])
        if not should_run(daemon_set, node):
            misplaced += bool(there)
            continue
        desired += 1
        if not there:
            continue
        current += 1
        of_update += updated(there[0], revision_hash)
        if any(pods.ready(pod) for pod in there):
            ready += 1
            available += any(pods.available(pod, least, now) for pod in there)
    optional = {
        "updatedNumberScheduled": of_update,
        "numberAvailable": available,
        "numberUnavailable": desired - available,
        "collisionCount": content.status(daemon_set).get("collisionCount"),
    }
    return {
        "currentNumberScheduled": current,
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": desired,
        "numberReady": ready,
        "observedGeneration": content.generation(daemon_set),
        **content.without_empty(optional),
    }
