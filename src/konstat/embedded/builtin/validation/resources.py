"""Checks of resource names and amounts: containers, quotas, limit ranges, volumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from konstat.embedded.builtin.quantities import NANO
from konstat.embedded.builtin.validation.basics import Errors, Object, each
from konstat.embedded.metadata import label_key_problems
from konstat.embedded.status_errors import (
    FieldError,
    forbidden_field,
    invalid_value,
    required_value,
)
from konstat.objects.quantity import Quantity

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_OBJECTS: Final = (
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_QUOTA: Final = frozenset(
    (
        *_COMPUTE,
        *(f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE),
        "requests.storage",
        "storage",
        *_OBJECTS,
    )
)
_STANDARD: Final = frozenset((*_QUOTA, "storage"))
_INTEGERS: Final = frozenset(_OBJECTS)


def _standard(name: str) -> bool:
    return name in _STANDARD or _huge(name)


def _huge(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def resource_name(path: str, name: str) -> Errors:
    """A resource by any standard name, or a qualified one."""
    problems = label_key_problems(name)
    yield from each(path, name, problems)
    if not problems and "/" not in name and not _standard(name):
        yield invalid_value(path, name, "must be a standard resource type or fully qualified")


def container_resource(path: str, name: str) -> Errors:
    """A resource that a container may ask for."""
    yield from resource_name(path, name)
    if "/" not in name:
        if name not in _COMPUTE and not _huge(name):
            yield invalid_value(path, name, "must be a standard resource for containers")
    elif _native(name):
        yield invalid_value(path, name, "doesn't follow extended resource name standard")


def _native(name: str) -> bool:
    return name.partition("/")[0].endswith("kubernetes.io") or name.startswith("requests.")


def quota_resource(path: str, name: str) -> Errors:
    """A resource that a quota may count."""
    yield from resource_name(path, name)
    if "/" not in name and name not in _QUOTA and not _huge(name):
        yield invalid_value(path, name, "must be a standard resource for quota")


def amount(path: str, name: str, value: str) -> Errors:
    """An amount of a resource: not negative, whole where it counts things."""
    yield from not_negative_amount(path, value)
    whole = name in _INTEGERS or name.startswith("count/") or _extended(name)
    if whole and Quantity(value).nanos % NANO:
        yield invalid_value(path, value, "must be an integer")


def not_negative_amount(path: str, value: str) -> Errors:
    """An amount of at least 0."""
    if Quantity(value).nanos < 0:
        yield invalid_value(path, value, "must be greater than or equal to 0")


def _extended(name: str) -> bool:
    return "/" in name and not _native(name)


def _overcommitted(name: str) -> bool:
    return "/" not in name and not _huge(name)


def requirements(path: str, given: Mapping[str, Any]) -> Errors:
    """The resources of a container."""
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    for name in sorted(limits):
        where = f"{path}.limits[{name}]"
        yield from container_resource(where, name)
        yield from amount(where, name, limits[name])
    for name in sorted(requests):
        where = f"{path}.requests[{name}]"
        yield from container_resource(where, name)
        yield from amount(where, name, requests[name])
        yield from _within_limit(path, name, requests[name], limits)
    if any(map(_huge, (*limits, *requests))) and not {"cpu", "memory"} & {*limits, *requests}:
        yield forbidden_field(path, "HugePages require cpu or memory")


def _within_limit(path: str, name: str, request: str, limits: Mapping[str, str]) -> Errors:
    if name not in limits:
        if not _overcommitted(name):
            detail = "Limit must be set for non overcommitable resources"
            yield required_value(f"{path}.limits", detail)
        return
    wanted, limit = Quantity(request), Quantity(limits[name])
    if wanted != limit and not _overcommitted(name):
        problem = f"must be equal to {name} limit of {limit}"
        yield invalid_value(f"{path}.requests", request, problem)
    elif wanted > limit:
        problem = f"must be less than or equal to {name} limit of {limit}"
        yield invalid_value(f"{path}.requests", request, problem)


# --- quotas -----------------------------------------------------------------------------------

_SCOPES: Final = frozenset(
    ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
     "CrossNamespacePodAffinity", "VolumeAttributesClass")
)  # fmt: skip


def quota(new: Object, old: Object | None) -> Errors:
    """A ResourceQuota."""
    spec = new["spec"]
    hard = spec.get("hard") or {}
    for name in sorted(hard):
        path = f"spec.hard[{name}]"
        yield from quota_resource(path, name)
        yield from amount(path, name, hard[name])
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid_value("spec.scopes", scopes, "unsupported scope")
    for first, second in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if first in scopes and second in scopes:
            yield invalid_value("spec.scopes", scopes, "conflicting scopes")
    if old is not None and sorted(scopes) != sorted(old["spec"].get("scopes") or []):
        yield invalid_value("spec.scopes", scopes, "field is immutable")


# --- limit ranges -----------------------------------------------------------------------------


def limit_range(new: Object, old: Object | None) -> Errors:
    """A LimitRange: each type once, min ≤ default request ≤ default ≤ max."""
    seen: set[str] = set()
    for index, item in enumerate(new["spec"].get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = item.get("type", "")
        yield from each(f"{path}.type", kind, label_key_problems(kind))
        if kind in seen:
            yield FieldError(f"{path}.type", "FieldValueDuplicate", f'Duplicate value: "{kind}"')
        seen.add(kind)
        yield from _limit_names(path, item, kind)
        yield from _limit_order(path, item, kind)


def _limit_names(path: str, item: Object, kind: str) -> Errors:
    for part in ("max", "min"):
        for name in sorted(item.get(part) or {}):
            yield from _limited(f"{path}.{part}[{name}]", name, kind)
    for part in ("default", "defaultRequest"):
        if kind == "Pod":
            if item.get(part):
                yield forbidden_field(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        for name in sorted(item.get(part) or {}):
            yield from _limited(f"{path}.{part}[{name}]", name, kind)
    for name in sorted(item.get("maxLimitRequestRatio") or {}):
        yield from _limited(f"{path}.maxLimitRequestRatio[{name}]", name, kind)


def _limited(path: str, name: str, kind: str) -> Errors:
    if kind in ("Pod", "Container"):
        return container_resource(path, name)
    return resource_name(path, name)


def _limit_order(path: str, item: Object, kind: str) -> Errors:
    lists = {p: item.get(p) or {} for p in ("min", "max", "default", "defaultRequest")}
    for name in sorted({name for given in lists.values() for name in given}):
        low, high = lists["min"].get(name), lists["max"].get(name)
        default, request = lists["default"].get(name), lists["defaultRequest"].get(name)
        where = {part: f"{path}.{part}[{name}]" for part in lists}
        if _above(low, high):
            yield invalid_value(
                where["min"], low, f"min value {low} is greater than max value {high}"
            )
        # The server shows the other bound in two of these: its texts are kept as they are.
        if _above(low, request):
            problem = f"min value {low} is greater than default request value {request}"
            yield invalid_value(where["defaultRequest"], request, problem)
        if _above(request, high):
            problem = f"default request value {request} is greater than max value {high}"
            yield invalid_value(where["defaultRequest"], request, problem)
        if _above(request, default):
            problem = (
                f"default request value {request} is greater than default limit value {default}"
            )
            yield invalid_value(where["defaultRequest"], request, problem)
        if _above(low, default):
            problem = f"min value {low} is greater than default value {default}"
            yield invalid_value(where["default"], low, problem)
        if _above(default, high):
            problem = f"default value {default} is greater than max value {high}"
            yield invalid_value(where["default"], high, problem)
    if kind == "PersistentVolumeClaim":
        has_storage = "storage" in lists["min"] or "storage" in lists["max"]
        if not has_storage:
            yield required_value(
                f"{path}.limits",
                "either minimum or maximum storage value is required, but neither was provided",
            )


def _above(low: str | None, high: str | None) -> bool:
    return low is not None and high is not None and Quantity(low) > Quantity(high)
