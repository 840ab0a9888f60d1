"""Which checks a kind has: a table from the kind to its `Checks`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from konstat.embedded.status_errors import FieldError

Object = dict[str, Any]


def _valid(new: Object, old: Object | None) -> list[FieldError]:
    return []


def _valid_status(new: Object, old: Object) -> list[FieldError]:
    return []


@dataclass(frozen=True, kw_only=True)
class Checks:
    """The checks of a kind's main resource and of its status."""

    validate: Callable[[Object, Object | None], list[FieldError]] = _valid
    validate_status: Callable[[Object, Object], list[FieldError]] = _valid_status


_NONE: Final = Checks()


def of(group: str, kind: str) -> Checks:
    """The checks of a kind."""
    return _NONE
