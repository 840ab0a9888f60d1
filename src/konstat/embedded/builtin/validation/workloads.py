"""Checks of apps: Deployments, ReplicaSets, StatefulSets, DaemonSets, ControllerRevisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from konstat.embedded.builtin.validation import basics, claims, pods
from konstat.embedded.builtin.validation.basics import Errors, Object, numbers_not_negative
from konstat.embedded.status_errors import (
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)
from konstat.objects.selector import selector_of

_STATEFUL_CHANGES: Final = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_STATEFUL_TEXT: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',"
    " 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and"
    " 'minReadySeconds' are forbidden"
)
_PART_OF_ALL: Final = (
    "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas",
    "fullyLabeledReplicas",
)  # fmt: skip
MISMATCH: Final = "`selector` does not match template `labels`"


def selects(selector: Object | None, labels: Object | None) -> bool | None:
    """Whether a selector matches labels; None for one that says nothing sensible."""
    if selector is None:
        return False
    try:
        return selector_of(selector).matches(labels or {})
    except ValueError:
        return None


def is_empty(selector: Object | None) -> bool:
    """A selector without requirements."""
    given = selector or {}
    return not given.get("matchLabels") and not given.get("matchExpressions")


def _selector(spec: Object, word: str, *, required: bool = True) -> Errors:
    selector = spec.get("selector")
    if selector is None:
        if required:
            yield required_value("spec.selector")
        return
    yield from basics.selector("spec.selector", selector)
    if is_empty(selector):
        problem = f"empty selector is invalid for {word}"
        yield basics.invalid_selector("spec.selector", selector, problem)


def _matching(spec: Object) -> Errors:
    """The template has the labels that the selector asks for."""
    labels = spec["template"]["metadata"].get("labels")
    selector = spec.get("selector")
    if selector is None or (not is_empty(selector) and not selects(selector, labels)):
        yield invalid_value("spec.template.metadata.labels", labels, MISMATCH)


def _running_for_ever(spec: Object, word: str) -> Errors:
    template = spec["template"]["spec"]
    policy = template.get("restartPolicy")
    if policy != "Always":
        yield not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
    if "activeDeadlineSeconds" in template:
        where = "spec.template.spec.activeDeadlineSeconds"
        yield forbidden_field(where, f"activeDeadlineSeconds in {word} is not Supported")


def _template(spec: Object, word: str, invalid_selector: str) -> Errors:
    if spec.get("selector") is not None and selects(spec["selector"], {}) is None:
        yield basics.invalid_selector("spec.selector", spec["selector"], invalid_selector)
        return
    yield from _matching(spec)
    yield from pods.template("spec.template", spec["template"])
    yield from _running_for_ever(spec, word)


# --- Deployments and ReplicaSets --------------------------------------------------------------


def deployment(new: Object, old: Object | None) -> Errors:
    """A Deployment; its selector stays as it is."""
    spec = new["spec"]
    yield from basics.not_negative("spec.replicas", spec.get("replicas"))
    yield from _selector(spec, "deployment")
    yield from _template(spec, "ReplicaSet", "invalid label selector")
    yield from _deployment_strategy(spec["strategy"])
    yield from numbers_not_negative("spec", spec, ("minReadySeconds", "revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    yield from basics.not_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        problem = "must be greater than minReadySeconds"
        yield invalid_value("spec.progressDeadlineSeconds", deadline, problem)
    if old is not None:
        yield from basics.selector_unchanged(spec, old["spec"])


def _deployment_strategy(strategy: Object) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    where = "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            problem = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden_field(where, problem)
    elif kind == "RollingUpdate":
        unavailable = (rolling or {}).get("maxUnavailable")
        surge = (rolling or {}).get("maxSurge")
        yield from basics.amount_or_percent(f"{where}.maxUnavailable", unavailable)
        yield from basics.amount_or_percent(f"{where}.maxSurge", surge)
        if basics.number_of(unavailable) == 0 and basics.number_of(surge) == 0:
            problem = "may not be 0 when `maxSurge` is 0"
            yield invalid_value(f"{where}.maxUnavailable", unavailable, problem)
        yield from basics.at_most_all(f"{where}.maxUnavailable", unavailable)
    else:
        shown = basics.go_struct(strategy, "Type", "RollingUpdate")
        yield basics.unsupported_struct("spec.strategy", shown, ("Recreate", "RollingUpdate"))


def replica_set(new: Object, old: Object | None) -> Errors:
    """A ReplicaSet; its selector stays as it is."""
    spec = new["spec"]
    yield from numbers_not_negative("spec", spec, ("replicas", "minReadySeconds"))
    yield from _selector(spec, "deployment")
    yield from _template(spec, "ReplicaSet", "invalid label selector")
    if old is not None:
        yield from basics.selector_unchanged(spec, old["spec"])


# --- StatefulSets -----------------------------------------------------------------------------


def stateful_set(new: Object, old: Object | None) -> Errors:
    """A StatefulSet; an update may change the named parts alone."""
    spec = new["spec"]
    if spec.get("podManagementPolicy") not in ("OrderedReady", "Parallel"):
        problem = "must be 'OrderedReady' or 'Parallel'"
        yield invalid_value("spec.podManagementPolicy", spec.get("podManagementPolicy"), problem)
    yield from _stateful_strategy(spec["updateStrategy"])
    for name, policy in spec.get("persistentVolumeClaimRetentionPolicy", {}).items():
        where = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
        yield from basics.one_of(where, policy, ("Retain", "Delete"))
    if old is None:
        for index, one in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from claims.claim_spec(f"spec.volumeClaimTemplates[{index}].spec", one["spec"])
    yield from numbers_not_negative("spec", spec, ("replicas", "minReadySeconds"))
    start = spec.get("ordinals", {}).get("start")
    yield from basics.not_negative("spec.ordinals.start", start)
    if old is None and spec.get("serviceName"):
        yield from basics.label("spec.serviceName", spec["serviceName"])
    yield from _selector(spec, "statefulset")
    yield from _template(_with_claims(spec), "StatefulSet", "")
    if old is not None:
        after, before = dict(spec), dict(old["spec"])
        for name in _STATEFUL_CHANGES:
            after.pop(name, None)
            before.pop(name, None)
        if after != before:
            yield forbidden_field("spec", _STATEFUL_TEXT)


def _stateful_strategy(strategy: Object) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    where = "spec.updateStrategy"
    if kind == "OnDelete":
        if rolling is not None:
            shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": None}
            problem = "only allowed for updateStrategy 'RollingUpdate'"
            yield basics.invalid_struct(f"{where}.rollingUpdate", shown, problem)
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        yield from basics.not_negative(f"{where}.rollingUpdate.partition", partition)
    else:
        shown = basics.go_struct(strategy, "Type", "RollingUpdate")
        problem = "must be 'RollingUpdate' or 'OnDelete'"
        yield basics.invalid_struct(where, shown, problem)


def _with_claims(spec: Object) -> Object:
    """The spec as its Pods will have it: volumes from the claims, names from the controller."""
    template = spec["template"]
    pod = {k: v for k, v in template["spec"].items() if k not in ("subdomain", "hostname")}
    names = [one["metadata"].get("name", "") for one in spec.get("volumeClaimTemplates") or ()]
    if names:
        claimed: list[Any] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names
        ]
        kept = [one for one in pod.get("volumes") or () if one.get("name") not in names]
        pod["volumes"] = [*claimed, *kept]
    return {**spec, "template": {**template, "spec": pod}}


# --- DaemonSets -------------------------------------------------------------------------------


def daemon_set(new: Object, old: Object | None) -> Errors:
    """A DaemonSet; its selector stays as it is."""
    spec = new["spec"]
    if old is not None:
        yield from basics.selector_unchanged(spec, old["spec"])
    yield from basics.selector("spec.selector", spec.get("selector"))
    labels = spec["template"]["metadata"].get("labels")
    if not selects(spec.get("selector"), labels) and not (
        spec.get("selector") is not None and is_empty(spec["selector"])
    ):
        yield invalid_value("spec.template.metadata.labels", labels, MISMATCH)
    if spec.get("selector") is not None and is_empty(spec["selector"]):
        problem = "empty selector is invalid for daemonset"
        yield basics.invalid_selector("spec.selector", spec["selector"], problem)
    yield from pods.template("spec.template", spec["template"])
    yield from _running_for_ever(spec, "DaemonSet")
    yield from basics.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _daemon_strategy(spec["updateStrategy"])
    yield from basics.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_strategy(strategy: Object) -> Errors:
    kind, where = strategy.get("type"), "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = basics.go_struct(strategy, "Type", "RollingUpdate")
        choices = ("RollingUpdate", "OnDelete")
        yield basics.unsupported_struct("spec.updateStrategy", shown, choices)
        return
    rolling = strategy.get("rollingUpdate", {})
    checks: tuple[Callable[[str, Any], Errors], ...] = (
        basics.amount_or_percent,
        basics.at_most_all,
    )
    for check in checks:
        for name in ("maxUnavailable", "maxSurge"):
            yield from check(f"{where}.{name}", rolling.get(name))
    unavailable = basics.number_of(rolling.get("maxUnavailable"))
    surge = basics.number_of(rolling.get("maxSurge"))
    if unavailable and surge:
        problem = "may not be set when maxUnavailable is non-zero"
        yield invalid_value(f"{where}.maxSurge", rolling["maxSurge"], problem)
    elif not unavailable and not surge:
        yield required_value(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def revision(new: Object, old: Object | None) -> Errors:
    """A ControllerRevision; its data stay as they are."""
    if new.get("data") is None:
        yield required_value("data", "data is mandatory")
    yield from basics.not_negative("revision", new.get("revision", 0))
    if old is not None:
        yield from basics.unchanged("data", new.get("data"), old.get("data"))


# --- statuses ---------------------------------------------------------------------------------


def counts(names: tuple[str, ...], *, ready_word: str = "readyReplicas") -> Any:
    """The check of a status whose counts are not negative and fit each other."""

    def check(new: Object, old: Object) -> Errors:
        status = new.get("status") or {}
        yield from numbers_not_negative("status", status, names)
        total = status.get("replicas", 0)
        for name in names:
            if name in _PART_OF_ALL and status.get(name, 0) > total:
                problem = "cannot be greater than status.replicas"
                yield invalid_value(f"status.{name}", status[name], problem)
        available = status.get("availableReplicas", 0)
        if available > status.get("readyReplicas", 0):
            problem = f"cannot be greater than {ready_word}"
            yield invalid_value("status.availableReplicas", available, problem)

    return check
