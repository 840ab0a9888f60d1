"""Which of its names a definition gets: no two definitions of a group share one (C48).

What kube-apiserver's naming controller decides: the accepted names and the conditions of a
CustomResourceDefinition, from its spec and the accepted names of the others in its group. Before:
`konstat.base.clock`. After: `crds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from konstat.base import clock
from konstat.embedded.registry import Object

_REASONS: Final = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)


def decide(crd: Object, others: Iterable[Object]) -> tuple[Object, list[Object]]:
    """The accepted names and the conditions of a definition among the others of its group.

    A name that another has is not accepted, and the last such one is told. A definition that was
    established stays so.
    """
    status = crd.get("status") or {}
    names, problem = _accepted(crd["spec"]["names"], status.get("acceptedNames") or {}, others)
    conditions = [dict(one) for one in status.get("conditions") or ()]
    if problem is None:
        reason, message = "NoConflicts", "no conflicts found"
    else:
        reason, message = problem
    _set(conditions, "NamesAccepted", holds=problem is None, reason=reason, message=message)
    if not is_established(conditions):
        if problem is None:
            reason, message = "InitialNamesAccepted", "the initial names have been accepted"
        else:
            reason, message = "NotAccepted", "not all names are accepted"
        _set(conditions, "Established", holds=problem is None, reason=reason, message=message)
    return names, conditions


def is_established(conditions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the objects of a definition are served."""
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _accepted(
    wanted: Mapping[str, Any], before: Mapping[str, Any], others: Iterable[Object]
) -> tuple[Object, tuple[str, str] | None]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        taken = (other.get("status") or {}).get("acceptedNames") or {}
        resources.update((taken.get("plural", ""), taken.get("singular", "")))
        resources.update(taken.get("shortNames") or ())
        kinds.update((taken.get("kind", ""), taken.get("listKind", "")))
    # These two are written also when they are empty.
    accepted: Object = {"plural": "", "kind": ""}
    accepted |= {key: value for key, value in before.items() if value and key != "categories"}
    problem: tuple[str, str] | None = None
    for key, reason in _REASONS:
        used = kinds if key in ("kind", "listKind") else resources
        if found := _taken(wanted.get(key), before.get(key), used):
            problem = reason, found
        elif wanted.get(key):
            accepted[key] = wanted[key]
        else:
            accepted.pop(key, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return accepted, problem


def _taken(wanted: Any, before: Any, used: set[str]) -> str:
    """What is told of a name, or of short names, that others have; empty when they are free."""
    if not wanted or wanted == before:
        return ""
    words = [wanted] if isinstance(wanted, str) else wanted
    found = [f'"{word}" is already in use' for word in words if word in used]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _set(conditions: list[Object], type: str, *, holds: bool, reason: str, message: str) -> None:
    status = "True" if holds else "False"
    found = next((one for one in conditions if one["type"] == type), None)
    if found is None:
        found = {"type": type, "status": "", "lastTransitionTime": ""}
        conditions.append(found)
    if found["status"] != status:
        found["lastTransitionTime"] = clock.timestamp(clock.now())
    found |= {"status": status, "reason": reason, "message": message}
