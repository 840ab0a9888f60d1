"""Plain status fields: from an assigned value to JSON data that the declared type accepts."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import msgspec

from konstat.errors import StatusInvalid
from konstat.objects import codec
from konstat.objects.model import StatusField, to_plain
from konstat.objects.resource import spec_invalid

_INT64 = 2**63


def plain_field(field: StatusField, value: Any) -> Any:
    """``value`` as JSON data for ``status.<encoded name>``; None means that it is absent.

    Raises StatusInvalid with the path for what JSON or the declared type refuses: NaN, bytes,
    integers beyond 64 bits, naive datetimes, wrong types (F71).
    """
    path = f"status.{field.encoded_name}"
    if value is None:
        return None
    try:
        _refuse(value, path)
        plain = to_plain(value)
        codec.typed(plain, field.hint)
    except msgspec.ValidationError as error:
        found = spec_invalid(path, error)
        raise StatusInvalid(path=found.path, problem=found.problem) from error
    except RecursionError as error:
        problem = "it is nested too deeply, or contains itself"
        raise StatusInvalid(path=path, problem=problem) from error
    except (TypeError, ValueError) as error:
        raise StatusInvalid(path=path, problem=str(error) or type(error).__name__) from error
    return plain


def _refuse(value: Any, path: str) -> None:
    """Raise StatusInvalid for values that would be stored as something else than they are."""
    problem = ""
    if isinstance(value, str) and not codec.is_text(value):
        problem = "it holds lone surrogates, which are not text (os.fsdecode gives such)"
    elif isinstance(value, float) and not math.isfinite(value):
        problem = f"{value} is not a JSON number"
    elif isinstance(value, bool):
        return
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        problem = f"{value} does not fit in 64 bits"
    elif isinstance(value, bytes | bytearray | memoryview):
        problem = "bytes are not JSON: decode them to text"
    elif isinstance(value, datetime) and value.tzinfo is None:
        problem = f"{value.isoformat()} has no time zone: use context.now() or an aware datetime"
    if problem:
        raise StatusInvalid(path=path, problem=problem)
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            _refuse(getattr(value, field.name), f"{path}.{field.encode_name}")
    elif isinstance(value, dict):
        for key, member in value.items():
            _refuse(key, f"{path}: a key")
            _refuse(member, f"{path}.{key}")
    elif isinstance(value, list | tuple | set | frozenset):
        for index, member in enumerate(value):
            _refuse(member, f"{path}[{index}]")
