"""Enforces ResourceQuotas, as the admission plugin of that name does.

What is used is counted from the stored objects at every write, so it needs no controller; the
status of a ResourceQuota is therefore not what decides here, and stays as its writers leave it.
A quota that counts kinds which do not pass by here, or asks for scopes that are not looked at, is
refused (501).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from konstat.embedded.builtin import pods, usage
from konstat.embedded.builtin.usage import Amounts
from konstat.embedded.registry import Host
from konstat.embedded.status_errors import forbidden, not_implemented
from konstat.objects.quantity import Quantity

Object: TypeAlias = dict[str, Any]

_MUST_BE_GIVEN: Final[tuple[str, ...]] = (
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
)  # fmt: skip
_POD_SCOPES: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
)  # fmt: skip


def admit(group: str, plural: str, new: Object, old: Object | None, host: Host) -> None:
    """Let a write of a namespaced object pass, or raise the server's 403.

    ``old`` is None for a creation. Objects of kinds that no quota counts pass.
    """
    metadata = new["metadata"]
    namespace = metadata.get("namespace", "")
    quotas = sorted(
        host.objects("", "resourcequotas", namespace), key=lambda one: one["metadata"]["name"]
    )
    if not quotas or plural == "resourcequotas":
        return
    wanted = usage.of(group, plural, new)
    before = {} if old is None else usage.of(group, plural, old)
    delta = {name: nanos - before.get(name, 0) for name, nanos in wanted.items()}
    for quota in quotas:
        hard = quota["spec"].get("hard") or {}
        if not set(hard) & set(wanted) | _given(plural, hard) or not _matches(quota, plural, new):
            continue
        if plural == "pods" and old is None:
            _require_given(quota, hard, new)
        _require_room(quota, hard, delta, group, plural, new, host)


def _given(plural: str, hard: Mapping[str, str]) -> set[str]:
    return {name for name in _MUST_BE_GIVEN if plural == "pods" and name in hard}


def _refused(group: str, plural: str, new: Object, problem: str) -> Exception:
    return forbidden(plural, new["metadata"].get("name", ""), problem, group=group)


def _require_given(quota: Object, hard: Mapping[str, str], pod: Object) -> None:
    """A quota of a compute resource obliges every container to ask for it."""
    spec = pod["spec"]
    if spec.get("resources"):
        return
    missing: dict[str, set[str]] = {}
    for one in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = one.get("resources", {})
        for name in _given("pods", hard):
            part, _, resource = name.rpartition(".")
            if resource not in resources.get(part or "requests", {}):
                missing.setdefault(name, set()).add(one["name"])
    if missing:
        texts = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        problem = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(texts)}"
        raise _refused("", "pods", pod, problem)


def _require_room(
    quota: Object,
    hard: Mapping[str, str],
    delta: Amounts,
    group: str,
    plural: str,
    new: Object,
    host: Host,
) -> None:
    asked = sorted(name for name, nanos in delta.items() if nanos > 0 and name in hard)
    if not asked:
        return
    used: Amounts = dict.fromkeys(asked, 0)
    namespace = new["metadata"].get("namespace", "")
    for other in host.objects(group, plural, namespace):
        if _matches(quota, plural, other):
            for name, nanos in usage.of(group, plural, other).items():
                if name in used:
                    used[name] += nanos
    full = [name for name in asked if used[name] + delta[name] > Quantity(hard[name]).nanos]
    if full:
        requested, taken = _listed(full, delta), _listed(full, used)
        limited = ",".join(f"{name}={hard[name]}" for name in full)
        problem = (
            f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, used: {taken},"
            f" limited: {limited}"
        )
        raise _refused(group, plural, new, problem)


def _listed(names: Sequence[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={usage.spelled(name, amounts[name])}" for name in names)


# --- scopes -----------------------------------------------------------------------------------


def _scopes(quota: Object) -> list[Object]:
    spec = quota["spec"]
    plain = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    return [*plain, *(spec.get("scopeSelector", {}).get("matchExpressions") or ())]


def _matches(quota: Object, plural: str, obj: Object) -> bool:
    """Whether all scopes of a quota hold for an object; scopes speak of Pods alone."""
    scopes = _scopes(quota)
    if plural != "pods":
        return not scopes
    return all(_in_scope(scope, obj["spec"]) for scope in scopes)


def _in_scope(scope: Object, spec: Object) -> bool:
    name, operator = scope.get("scopeName"), scope.get("operator")
    if name == "PriorityClass":
        value = spec.get("priorityClassName", "")
        if operator == "Exists":
            return bool(value)
        if operator == "DoesNotExist":
            return not value
        listed = value in (scope.get("values") or ())
        return listed if operator == "In" else not listed
    best_effort = pods.quality_of_service(spec) == "BestEffort"
    terminating = spec.get("activeDeadlineSeconds") is not None
    return {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": terminating,
        "NotTerminating": not terminating,
    }[str(name)]


def require_enforceable(new: Object, plurals: frozenset[str]) -> None:
    """Refuse a quota that this server would not keep; ``plurals`` are the kinds it counts."""
    for scope in _scopes(new):
        name = scope.get("scopeName")
        if name in ("CrossNamespacePodAffinity", "VolumeAttributesClass"):
            raise not_implemented(f"the scope {name} of resource quotas")
    for name in new["spec"].get("hard") or {}:
        counted = name.removeprefix("count/")
        if name.startswith("count/") and counted not in plurals:
            raise not_implemented(f"quotas that count {counted}")
