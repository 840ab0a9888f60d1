"""Reading plain JSON of which nothing is promised: every reader answers, none raises.

The rules judge objects of any origin: a cache, a file, a fake, another vendor's server. What is
absent, null or of the wrong type reads as nothing, and the rules say that nothing decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from konstat.base.clock import parse_timestamp


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a mapping, else an empty one."""
    # The exact type first: an abstract class is slow to ask, and most content is plain.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings among the elements of a list; nothing when ``value`` is no list."""
    if not isinstance(value, list | tuple):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def at(value: Any, *path: str) -> Any:
    """What stands at ``path`` below ``value``; None when a part of the way is missing."""
    for key in path:
        value = mapping(value).get(key)
    return value


def group_and_kind(content: Any) -> tuple[str, str]:
    """The group (empty for the core one) and kind that an object names."""
    content = mapping(content)
    group, slash, _ = text(content.get("apiVersion")).rpartition("/")
    return (group if slash else "", text(content.get("kind")))


def text(value: Any) -> str:
    """``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def integer(value: Any, default: int = 0) -> int:
    """``value`` as an integer; also from a decimal string, as Argo Rollouts writes generations."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return default


def count(value: Any, default: int = 0) -> int:
    """As `integer`, but never below 0."""
    return max(0, integer(value, default))


def moment(value: Any) -> datetime | None:
    """The time that a metav1.Time names; None when it names none."""
    try:
        return parse_timestamp(text(value))
    except (ValueError, OverflowError):
        return None


def later(since: datetime, *, seconds: float) -> datetime | None:
    """The moment ``seconds`` after ``since``; None beyond the end of all calendars."""
    try:
        return since + timedelta(seconds=seconds)
    except OverflowError:
        return None


class Condition(NamedTuple):
    """One entry of ``status.conditions``; ``status`` is exactly True, False or Unknown.

    ``generation`` is 0 when the condition does not say which generation it is about.
    """

    type: str
    status: str
    reason: str
    message: str
    generation: int

    @property
    def path(self) -> str:
        return f'status.conditions[type="{self.type}"].status'


def conditions(value: Any) -> list[Condition]:
    """The readable entries of a conditions list.

    A status is read tolerantly (``true``, a boolean); what is none reads as Unknown.
    """
    return [
        Condition(
            text(entry.get("type")),
            three_valued(entry.get("status")),
            text(entry.get("reason")),
            text(entry.get("message")),
            integer(entry.get("observedGeneration")),
        )
        for entry in mappings(value)
    ]


_SPELLINGS: Final = {
    "True": "True",
    "true": "True",
    "TRUE": "True",
    True: "True",
    "False": "False",
    "false": "False",
    "FALSE": "False",
    False: "False",
}


def three_valued(value: Any) -> str:
    """True, False or Unknown, also from a boolean and from other cases of the two words."""
    return _SPELLINGS.get(value, "Unknown") if isinstance(value, str | bool) else "Unknown"


def condition(found: Iterable[Condition], name: str, *, bad: str) -> Condition | None:
    """The condition of type ``name``; of several, the one closest to the status ``bad``."""
    same = [entry for entry in found if entry.type == name]
    if not same:
        return None
    rank = {bad: 0, "Unknown": 1}
    return min(same, key=lambda entry: (rank.get(entry.status, 2), entry))
