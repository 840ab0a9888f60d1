"""Field errors in the words of the API server, with bad values printed as Go prints them.

Paths are texts as in ``Status.details.causes``: ``spec.ports[0].name``; the empty text is the
root, which the server shows as ``<nil>``. Before: `konstat.embedded.status_errors` (the error
itself), `gotext` (Go's printing). After: every module of `konstat.embedded.structural` and
`konstat.embedded.cel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from konstat.embedded import gotext
from konstat.embedded.status_errors import FieldError, quoted

ROOT: Final = "<nil>"
REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
DUPLICATE: Final = "FieldValueDuplicate"
FORBIDDEN: Final = "FieldValueForbidden"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
INTERNAL: Final = "InternalError"

# With one of these the server leaves the CEL rules of an object unchecked (C52).
BLOCKING: Final = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})


def child(path: str, name: str) -> str:
    """The path of a named member."""
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    """The path of a value of a map."""
    return f"{path}[{name}]"


def index(path: str, position: int) -> str:
    """The path of a list entry."""
    return f"{path}[{position}]"


def printed(value: Any) -> str:
    """A bad value as the server prints it: texts quoted, scalars by ``%v``, the rest as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool | int | float):
        return gotext.show(value)
    return gotext.encode(value)


def _error(path: str, reason: str, message: str) -> FieldError:
    return FieldError(path or ROOT, reason, message)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """``Invalid value: <value>: <detail>``."""
    return _error(path, INVALID, f"Invalid value: {printed(value)}{_tail(detail)}")


def invalid_unshown(path: str, detail: str) -> FieldError:
    """``Invalid value: <detail>``, the value left out."""
    return _error(path, INVALID, f"Invalid value{_tail(detail)}")


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    """As `invalid`, for a value of the wrong type."""
    return _error(path, TYPE_INVALID, f"Invalid value: {printed(value)}{_tail(detail)}")


def required(path: str, detail: str = "") -> FieldError:
    """``Required value``."""
    return _error(path, REQUIRED, f"Required value{_tail(detail)}")


def forbidden(path: str, detail: str) -> FieldError:
    """``Forbidden: <detail>``."""
    return _error(path, FORBIDDEN, f"Forbidden{_tail(detail)}")


def duplicate(path: str, value: Any) -> FieldError:
    """``Duplicate value: <value>``."""
    return _error(path, DUPLICATE, f"Duplicate value: {printed(value)}")


def duplicate_unshown(path: str) -> FieldError:
    """``Duplicate value``, the value left out."""
    return _error(path, DUPLICATE, "Duplicate value")


def not_supported(path: str, value: Any, choices: Sequence[Any]) -> FieldError:
    """``Unsupported value: <value>: supported values: …``."""
    words = [quoted(c if isinstance(c, str) else gotext.encode(c)) for c in choices]
    detail = f"supported values: {', '.join(words)}" if words else ""
    return _error(path, NOT_SUPPORTED, f"Unsupported value: {printed(value)}{_tail(detail)}")


def too_long(path: str, maximum: int) -> FieldError:
    """``Too long``; the server says bytes though it counts code points."""
    unit = "byte" if maximum == 1 else "bytes"
    detail = f"may not be more than {maximum} {unit}" if maximum >= 0 else "value is too long"
    return _error(path, TOO_LONG, f"Too long{_tail(detail)}")


def too_many(path: str, actual: int, maximum: int) -> FieldError:
    """``Too many: <actual>``, of list entries and of properties."""
    unit = "item" if maximum == 1 else "items"
    detail = f"must have at most {maximum} {unit}" if maximum >= 0 else "has too many items"
    return _error(path, TOO_MANY, f"Too many: {actual}{_tail(detail)}")


def internal(path: str, detail: str) -> FieldError:
    """``Internal error: <detail>``."""
    return _error(path, INTERNAL, f"Internal error{_tail(detail)}")


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""


def invalid_raw(path: str, shown: str, detail: str) -> FieldError:
    """As `invalid`, for a value that is printed already."""
    return _error(path, INVALID, f"Invalid value: {shown}{_tail(detail)}")
