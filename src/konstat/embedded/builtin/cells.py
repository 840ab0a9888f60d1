"""What the cells of printer columns are made of: ages, selectors, lists that are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from konstat.embedded.builtin import times
from konstat.embedded.registry import Column, Object

Cell = Callable[[Object, datetime], Any]
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400


def column(
    name: str, cell: Cell, *, kind: str = "string", format: str = "", wide: bool = False
) -> Column:
    """A column; ``wide`` for those that only ``kubectl get -o wide`` shows."""
    return Column(name=name, type=kind, format=format, priority=int(wide), cells=cell)


def read(path: str, empty: Any = "") -> Cell:
    """The value at a dotted path, or ``empty``."""
    return lambda obj, now: at(obj, path, empty)


def at(obj: Object, path: str, empty: Any = None) -> Any:
    """The value at a dotted path of an object, or ``empty``."""
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return empty if value is None else value


def duration(seconds: float) -> str:
    """A length of time as kubectl shows ages: two units at most, coarser as it grows."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    minutes, hours = whole // _MINUTE, whole // _HOUR
    if minutes < 10:
        return f"{minutes}m{_rest(whole % _MINUTE, 's')}"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{_rest(minutes % 60, 'm')}"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return f"{days}d{_rest(hours % 24, 'h')}"
    if days < 730:
        return f"{days}d"
    years = days // 365
    return f"{years}y{_rest(days % 365, 'd')}" if years < 8 else f"{years}y"


def _rest(amount: int, unit: str) -> str:
    return f"{amount}{unit}" if amount else ""


def since(text: Any, now: datetime) -> str:
    """The time since a timestamp."""
    begun = times.moment(text)
    return UNKNOWN if begun is None else duration((now - begun).total_seconds())


def _name(obj: Object, now: datetime) -> Any:
    return at(obj, "metadata.name", "")


def _age(obj: Object, now: datetime) -> Any:
    return since(at(obj, "metadata.creationTimestamp"), now)


NAME: Final = column("Name", _name, format="name")
AGE: Final = column("Age", _age)
CREATED: Final = column("Created At", read("metadata.creationTimestamp"), kind="date")


def labels(found: Mapping[str, str] | None) -> str:
    """Labels as kubectl shows them."""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: Mapping[str, Any] | None, *, nothing: str = NONE) -> str:
    """A LabelSelector in one line."""
    parts: list[tuple[str, str]] = []
    for key, value in ((found or {}).get("matchLabels") or {}).items():
        parts.append((key, f"{key}={value}"))
    for one in (found or {}).get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        text = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(one.get("operator", ""), "")
        if not text:
            return "<error>"
        parts.append((key, text))
    return ",".join(text for _, text in sorted(parts)) or nothing


def cut(words: Sequence[str], *, most: int = 3, empty: str = UNSET) -> str:
    """The first words of a list, and how many more there are."""
    shown = ",".join(words[:most])
    if len(words) > most:
        return f"{shown} + {len(words) - most} more..."
    return shown or empty


def joined(parts: Iterable[Any], mark: str = ",") -> str:
    """Values joined as text."""
    return mark.join(str(part) for part in parts)


def containers(path: str) -> tuple[Column, ...]:
    """The wide columns of names and images of the containers of a Pod spec."""
    where = f"{path}.containers"
    names = column(
        "Containers",
        lambda obj, now: joined(one.get("name", "") for one in at(obj, where, [])),
        wide=True,
    )
    images = column(
        "Images",
        lambda obj, now: joined(one.get("image", "") for one in at(obj, where, [])),
        wide=True,
    )
    return names, images


def text(value: Any) -> str:
    """A value as Go's fmt prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
