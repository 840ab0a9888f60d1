"""Plain objects of the API, as the actors read and build them. Pure.

Everything here takes and gives dicts as JSON has them; absent and null are the same. Before:
`konstat.objects`. After: the decision modules of this package.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from konstat.base import clock
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.selector import Selector, selector_of

Obj: TypeAlias = dict[str, Any]

_SAFE_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NAME_CHARACTERS: Final = 63


def metadata(obj: Mapping[str, Any]) -> Obj:
    return obj.get("metadata") or {}


def spec(obj: Mapping[str, Any]) -> Obj:
    return obj.get("spec") or {}


def status(obj: Mapping[str, Any]) -> Obj:
    return obj.get("status") or {}


def name(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("name") or ""


def namespace(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("namespace") or ""


def uid(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("uid") or ""


def labels(obj: Mapping[str, Any]) -> dict[str, str]:
    return metadata(obj).get("labels") or {}


def annotations(obj: Mapping[str, Any]) -> dict[str, str]:
    return metadata(obj).get("annotations") or {}


def finalizers(obj: Mapping[str, Any]) -> list[str]:
    return list(metadata(obj).get("finalizers") or ())


def generation(obj: Mapping[str, Any]) -> int:
    return metadata(obj).get("generation") or 0


def deleting(obj: Mapping[str, Any]) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))


def created(obj: Mapping[str, Any]) -> str:
    """The creation time as text; such texts are ordered as the times are."""
    return metadata(obj).get("creationTimestamp") or ""


def by_age(obj: Mapping[str, Any]) -> tuple[str, str]:
    """The key that sorts older objects first, and by name within a second."""
    return (created(obj), name(obj))


def owners(obj: Mapping[str, Any]) -> list[Obj]:
    return list(metadata(obj).get("ownerReferences") or ())


def controller(obj: Mapping[str, Any]) -> Obj | None:
    """The reference to the one owner that manages the object."""
    return next((owner for owner in owners(obj) if owner.get("controller")), None)


def controlled_by(obj: Mapping[str, Any], owner_uid: str) -> bool:
    found = controller(obj)
    return found is not None and found.get("uid") == owner_uid


def controller_reference(kind: Kind, owner: Mapping[str, Any]) -> Obj:
    """The reference by which ``owner`` manages and holds what it creates."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name(owner),
        "uid": uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def selector(obj: Mapping[str, Any]) -> Selector | None:
    """``spec.selector`` as a label selector; None when it is absent or not readable."""
    found = spec(obj).get("selector")
    if not isinstance(found, Mapping):
        return None
    try:
        return selector_of(found)
    except ValueError:
        return None


def without_empty(obj: Mapping[str, Any]) -> Obj:
    """The members that are neither null, zero, false nor empty, as Go's omitempty writes them."""
    return {key: value for key, value in obj.items() if value not in (None, 0, False, "", [], {})}


# --- conditions -------------------------------------------------------------------------------


def condition(obj_status: Mapping[str, Any], type: str) -> Obj | None:
    """The condition of that type in a status."""
    for entry in obj_status.get("conditions") or ():
        if entry.get("type") == type:
            return entry
    return None


def is_true(obj: Mapping[str, Any], type: str) -> bool:
    found = condition(status(obj), type)
    return found is not None and found.get("status") == "True"


# --- numbers ----------------------------------------------------------------------------------


def scaled(value: int | str | None, of: int, *, round_up: bool, default: int | str = 0) -> int:
    """A number of pods, or a percentage of ``of``; a text that is neither counts as 0."""
    value = default if value is None else value
    if isinstance(value, int):
        return value
    if not value.endswith("%") or not value[:-1].isdigit():
        return 0
    share = int(value[:-1]) * of / 100
    return math.ceil(share) if round_up else math.floor(share)


# --- names and hashes -------------------------------------------------------------------------


def template_hash(template: Mapping[str, Any], collisions: int | None) -> str:
    """A short name of a pod template, of letters that spell nothing.

    As the real one in form (8 to 10 safe characters of a 32-bit sum), not in value: that sums
    the memory of a Go program.
    """
    data = codec.encode(_sorted(template)) + str(collisions or "").encode()
    number = int.from_bytes(hashlib.sha256(data).digest()[:4], "big")
    return "".join(_SAFE_LETTERS[ord(c) % len(_SAFE_LETTERS)] for c in str(number))


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, list) else value


def name_with(base: str, suffix: str, *, most: int = _NAME_CHARACTERS) -> str:
    """``base-suffix``, with ``base`` cut so that the whole stays within ``most`` characters."""
    return f"{base[: most - len(suffix) - 1]}-{suffix}"


# --- time -------------------------------------------------------------------------------------


def moment(text: str | None) -> datetime | None:
    """The time that a text names; None when it is absent or not readable."""
    if not text:
        return None
    try:
        return clock.parse_timestamp(text)
    except ValueError:
        return None


def seconds_since(text: str | None, now: datetime) -> float | None:
    found = moment(text)
    return None if found is None else (now - found).total_seconds()


def earliest(values: Iterable[float | None]) -> float | None:
    """The smallest of the numbers; None when there is none."""
    return min((value for value in values if value is not None), default=None)
