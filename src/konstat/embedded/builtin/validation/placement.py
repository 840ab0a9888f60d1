"""Checks of where a Pod may run: affinity, tolerations, spreading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object
from konstat.embedded.metadata import label_value_problems
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT: Final = "must be in the range 1-100"


def affinity(path: str, given: Object | None) -> Errors:
    """All three kinds of affinity."""
    for name, found in (given or {}).items():
        where = f"{path}.{name}"
        if name == "nodeAffinity":
            yield from _node_affinity(where, found)
        else:
            yield from _pod_affinity(where, found)


def _node_affinity(path: str, given: Object) -> Errors:
    if _REQUIRED in given:
        yield from node_selector(f"{path}.{_REQUIRED}", given[_REQUIRED])
    for index, one in enumerate(given.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        weight = one.get("weight", 0)
        if not 1 <= weight <= 100:
            yield invalid_value(f"{where}.weight", weight, _WEIGHT)
        yield from _node_term(f"{where}.preference", one.get("preference", {}))


def node_selector(path: str, given: Object) -> Errors:
    """A selector of nodes."""
    terms = given.get("nodeSelectorTerms")
    if not terms:
        problem = "must have at least one node selector term"
        yield required_value(f"{path}.nodeSelectorTerms", problem)
    for index, term in enumerate(terms or ()):
        yield from _node_term(f"{path}.nodeSelectorTerms[{index}]", term)


def _node_term(path: str, term: Object) -> Errors:
    for index, one in enumerate(term.get("matchExpressions") or ()):
        yield from _node_requirement(f"{path}.matchExpressions[{index}]", one)
    for index, one in enumerate(term.get("matchFields") or ()):
        where = f"{path}.matchFields[{index}]"
        if one.get("operator") not in ("In", "NotIn"):
            problem = "not a valid selector operator"
            yield invalid_value(f"{where}.operator", one.get("operator", ""), problem)
        elif len(one.get("values") or ()) != 1:
            problem = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            yield required_value(f"{where}.values", problem)
        if one.get("key") != "metadata.name":
            problem = "not a valid field selector key"
            yield invalid_value(f"{where}.key", one.get("key", ""), problem)


def _node_requirement(path: str, one: Object) -> Errors:
    operator, values = one.get("operator", ""), one.get("values") or ()
    where = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            yield required_value(where, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            problem = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_field(where, problem)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            problem = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required_value(where, problem)
    else:
        yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    yield from basics.qualified(f"{path}.key", one.get("key", ""))
    for index, value in enumerate(values):
        yield from basics.each(f"{where}[{index}]", value, label_value_problems(value))


def _pod_affinity(path: str, given: Object) -> Errors:
    for index, one in enumerate(given.get(_REQUIRED) or ()):
        yield from _pod_term(f"{path}.{_REQUIRED}[{index}]", one)
    for index, one in enumerate(given.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        weight = one.get("weight", 0)
        if not 1 <= weight <= 100:
            yield invalid_value(f"{where}.weight", weight, _WEIGHT)
        yield from _pod_term(f"{where}.podAffinityTerm", one.get("podAffinityTerm", {}))


def _pod_term(path: str, term: Object) -> Errors:
    yield from basics.selector(f"{path}.labelSelector", term.get("labelSelector"))
    yield from basics.selector(f"{path}.namespaceSelector", term.get("namespaceSelector"))
    yield from _label_keys(path, term)
    for name in term.get("namespaces") or ():
        yield from basics.label(f"{path}.namespace", name)
    key = term.get("topologyKey", "")
    if not key:
        yield required_value(f"{path}.topologyKey", "can not be empty")
    yield from basics.qualified(f"{path}.topologyKey", key)


def _label_keys(path: str, term: Object) -> Errors:
    """Keys that are named alone may not be selected by hand besides."""
    selector = term.get("labelSelector") or {}
    # The server's own requirement for the key is among the expressions already.
    keys = [one.get("key") for one in selector.get("matchExpressions") or ()]
    keys += selector.get("matchLabels") or ()
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        for index, key in enumerate(term.get(name) or ()):
            if keys.count(key) > 1:
                problem = f"exists in both {name} and labelSelector"
                yield invalid_value(f"{path}[{index}]", key, problem)


def tolerations(path: str, given: Sequence[Object] | None) -> Errors:
    """Tolerations of a Pod."""
    for index, one in enumerate(given or ()):
        where, operator = f"{path}[{index}]", one.get("operator", "")
        value, effect = one.get("value", ""), one.get("effect", "")
        if one.get("key"):
            yield from basics.qualified(f"{where}.key", one["key"])
        elif operator != "Exists":
            problem = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'  # noqa: E501
            yield invalid_value(f"{where}.operator", operator, problem)
        if "tolerationSeconds" in one and effect != "NoExecute":
            problem = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid_value(f"{where}.effect", effect, problem)
        if operator in ("Equal", ""):
            if problems := label_value_problems(value):
                yield invalid_value(f"{where}.operator", value, ";".join(problems))
        elif operator == "Exists":
            if value:
                problem = "value must be empty when `operator` is 'Exists'"
                yield invalid_value(f"{where}.operator", value, problem)
        elif operator in ("Lt", "Gt"):
            choices = ("Equal", "Exists", "Lt", "Gt")
            yield not_supported(f"{where}.operator", operator, choices)
        else:
            yield not_supported(f"{where}.operator", operator, ("Equal", "Exists"))
        if effect and effect not in EFFECTS:
            yield not_supported(f"{where}.effect", effect, EFFECTS)


def spreading(path: str, given: Sequence[Object] | None) -> Errors:
    """Topology spread constraints."""
    policies = ("DoNotSchedule", "ScheduleAnyway")
    seen: set[str] = set()
    for index, one in enumerate(given or ()):
        where, key = f"{path}[{index}]", one.get("topologyKey", "")
        policy = one.get("whenUnsatisfiable", "")
        if one.get("maxSkew", 0) <= 0:
            yield invalid_value(
                f"{where}.maxSkew", one.get("maxSkew", 0), "must be greater than zero"
            )
        if not key:
            yield required_value(f"{where}.topologyKey", "can not be empty")
        if policy not in policies:
            yield not_supported(f"{where}.whenUnsatisfiable", policy, policies)
        both = f"{{{key}, {policy}}}"
        if both in seen:
            yield duplicate_value(f"{where}.{{topologyKey, whenUnsatisfiable}}", both)
        seen.add(both)
        yield from _label_keys(where, one)
        yield from basics.selector(f"{where}.labelSelector", one.get("labelSelector"))
