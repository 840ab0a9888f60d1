"""Checks of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from __future__ import annotations

from typing import Final

from konstat.embedded.builtin.names import path_segment_problems
from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object, numbers_not_negative
from konstat.embedded.status_errors import (
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)
from konstat.objects.quantity import Quantity

_SOURCES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
# In the order of the server's checks.
_MEMBERS: Final = ("object", "external", "pods", "resource", "containerResource")
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800


def autoscaler(new: Object, old: Object | None) -> Errors:
    """A HorizontalPodAutoscaler."""
    spec = new["spec"]
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        yield invalid_value("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield required_value("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid_value("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        problem = "must be greater than or equal to `minReplicas`"
        yield invalid_value("spec.maxReplicas", most, problem)
    yield from _target_reference("spec.scaleTargetRef", spec["scaleTargetRef"])
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        yield from _metric(f"spec.metrics[{index}]", metric)
    if least == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        problem = "must specify at least one Object or External metric to support scaling to zero replicas"  # noqa: E501
        yield forbidden_field("spec.metrics", problem)
    for direction in ("scaleUp", "scaleDown"):
        rules = spec.get("behavior", {}).get(direction)
        if rules is not None:
            yield from _rules(f"spec.behavior.{direction}", rules)


def autoscaler_status(new: Object, old: Object) -> Errors:
    """The status of a HorizontalPodAutoscaler."""
    names = ("currentReplicas", "desiredReplicas")
    return numbers_not_negative("status", new["status"], names)


def _target_reference(path: str, given: Object) -> Errors:
    for name in ("kind", "name"):
        if not given.get(name):
            yield required_value(f"{path}.{name}")
        else:
            yield from basics.each(
                f"{path}.{name}", given[name], path_segment_problems(given[name])
            )
    version = given.get("apiVersion", "")
    if "/" not in version and given.get("kind") != "ReplicationController":
        yield invalid_value(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _metric(path: str, metric: Object) -> Errors:
    kind = metric.get("type", "")
    if not kind:
        yield required_value(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{path}.type", kind, _SOURCES)
    present = [name for name in _MEMBERS if name in metric]
    if present:
        yield from _source(f"{path}.{present[0]}", present[0], metric[present[0]])
    expected = f"{kind[:1].lower()}{kind[1:]}"
    if kind not in _SOURCES:
        # The server says it twice: once of the word, once of what it would name.
        yield not_supported(f"{path}.type", kind, _SOURCES)
    elif expected not in metric:
        problem = "must populate information for the given metric source"
        yield required_value(f"{path}.{expected}", problem)
    if len(present) > 1:
        for name in present:
            if name != expected:
                problem = "must populate the given metric source only"
                yield forbidden_field(f"{path}.{name}", problem)


def _source(path: str, name: str, given: Object) -> Errors:
    if name == "object":
        yield from _target_reference(f"{path}.describedObject", given.get("describedObject", {}))
    if name in ("object", "external", "pods") and not given.get("metric", {}).get("name"):
        yield required_value(f"{path}.metric.name", "must specify a metric name")
    if name in ("resource", "containerResource") and not given.get("name"):
        yield required_value(f"{path}.name", "must specify a resource name")
    if name == "containerResource" and not given.get("container"):
        yield required_value(f"{path}.container", "must specify a container")
    target = given.get("target", {})
    where = f"{path}.target"
    yield from _target(where, target)
    has_average, has_value = "averageValue" in target, "value" in target
    if name in ("resource", "containerResource"):
        if not has_average and "averageUtilization" not in target:
            problem = "must set either a target raw value or a target utilization"
            yield required_value(f"{where}.averageUtilization", problem)
        elif has_average and "averageUtilization" in target:
            problem = "may not set both a target raw value and a target utilization"
            yield forbidden_field(f"{where}.averageValue", problem)
    elif name == "pods":
        if not has_average:
            problem = "must specify a positive target averageValue"
            yield required_value(f"{where}.averageValue", problem)
    elif not has_average and not has_value:
        choice = "averageValue" if name == "object" else "a per-pod target"
        start = "a target value" if name == "object" else "a target value for metric"
        yield required_value(f"{where}.averageValue", f"must set either {start} or {choice}")


def _target(path: str, given: Object) -> Errors:
    kind = given.get("type", "")
    if not kind:
        yield required_value(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        problem = "must be either Utilization, Value, or AverageValue"
        yield invalid_value(f"{path}.type", kind, problem)
    for name in ("value", "averageValue"):
        if name in given and Quantity(given[name]).nanos <= 0:
            yield invalid_value(f"{path}.{name}", given[name], "must be positive")
    if given.get("averageUtilization", 1) < 1:
        where = f"{path}.averageUtilization"
        yield invalid_value(where, given["averageUtilization"], "must be greater than 0")


def _rules(path: str, rules: Object) -> Errors:
    window = rules.get("stabilizationWindowSeconds")
    where = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        yield invalid_value(where, window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        yield invalid_value(where, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    choices = ("Disabled", "Max", "Min")
    select = rules.get("selectPolicy")
    yield from basics.one_of(f"{path}.selectPolicy", select, choices, required=False)
    policies = rules.get("policies")
    if not policies:
        yield required_value(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies or ()):
        where = f"{path}.policies[{index}]"
        if policy.get("type") not in ("Pods", "Percent"):
            yield not_supported(f"{where}.type", policy.get("type", ""), ("Percent", "Pods"))
        for name in ("value", "periodSeconds"):
            if policy.get(name, 0) <= 0:
                yield invalid_value(
                    f"{where}.{name}", policy.get(name, 0), "must be greater than zero"
                )
        if policy.get("periodSeconds", 0) > _LONGEST_PERIOD:
            problem = f"must be less than or equal to {_LONGEST_PERIOD}"
            yield invalid_value(f"{where}.periodSeconds", policy["periodSeconds"], problem)


# --- disruption budgets -----------------------------------------------------------------------


def budget(new: Object, old: Object | None) -> Errors:
    """A PodDisruptionBudget."""
    spec = new["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = basics.go_struct(
            spec, "MinAvailable", "Selector", "MaxUnavailable", "UnhealthyPodEvictionPolicy"
        )
        problem = "minAvailable and maxUnavailable cannot be both set"
        yield basics.invalid_struct("spec", shown, problem)
    for name in ("minAvailable", "maxUnavailable"):
        yield from basics.amount_or_percent(f"spec.{name}", spec.get(name))
        yield from basics.at_most_all(f"spec.{name}", spec.get(name))
    yield from basics.selector("spec.selector", spec.get("selector"))
    choices = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    where = "spec.unhealthyPodEvictionPolicy"
    yield from basics.one_of(where, policy, choices, required=False)


def budget_status(new: Object, old: Object) -> Errors:
    """The status of a PodDisruptionBudget."""
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return numbers_not_negative("status", new["status"], names)
