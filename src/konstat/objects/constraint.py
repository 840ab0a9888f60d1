"""Constraints that authors put on fields: ``Annotated[int, Range(0, 50)]``.

What can be checked in a single value (`Range`, `Length`, `Pattern`) is a ``msgspec.Meta``: the
decoder enforces it and `konstat.objects.schema` writes it into the CRD. What only the server can
check (CEL `Rule`), or what changes how it merges and shows a field (`ListMap`, `ListSet`,
`Atomic`, `PreserveUnknown`, `Format`, `Description`), is a marker that shapes the schema alone;
`konstat.objects.violation` checks duplicates in maps and sets for us.
Nothing comes before this module but the errors; the model and the schema read it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec

from konstat.errors import ModelError
from konstat.objects.pattern import python_pattern

RULE_REASONS: Final = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired",
                       "FieldValueDuplicate")  # fmt: skip
INT64: Final = (-(2**63), 2**63 - 1)
GIVEN_PATTERN: Final = "given_pattern"  # key in Meta.extra: the regular expression as written

# Go's time.ParseDuration without a sign and without the bare "0".
DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"


class Rule(msgspec.Struct, frozen=True):
    """A CEL rule that the server evaluates: ``Rule("self.x <= self.y", message="…")``.

    On a field ``self`` is its value; in ``rules=[…]`` of a Model or Resource it is the object.
    A rule that names ``oldSelf`` runs on updates only. ``message`` is shown when it fails (default:
    the expression), ``message_expression`` is CEL that builds it, ``field_path`` (``.spec.x``)
    says which field is blamed and ``reason`` is one of `RULE_REASONS`.
    The server refuses rules whose estimated cost is too high: bound lists, maps and strings with
    `Length`. Only the server checks rules; decoding does not.
    """

    cel: str
    message: str = ""
    reason: str = ""
    field_path: str = ""
    message_expression: str = ""
    optional_old_self: bool = False

    def __post_init__(self) -> None:
        if not self.cel.strip():
            raise ModelError("Rule: the expression is empty: write CEL such as 'self.x <= self.y'")
        if self.reason and self.reason not in RULE_REASONS:
            raise ModelError(
                f"Rule({self.cel!r}): reason is {self.reason!r}: use one of"
                f" {', '.join(RULE_REASONS)}"
            )
        if "\n" in self.message:
            raise ModelError(f"Rule({self.cel!r}): the message has a line break: write one line")
        if "\n" in self.cel and not (self.message or self.message_expression):
            raise ModelError(f"Rule({self.cel!r}): an expression of several lines needs a message=")


def Immutable(message: str = "value is immutable") -> Rule:
    """The value may not change once it is set.

    Setting an absent field and removing a present one is not seen by the rule: give the field no
    ``None``, or state such transitions as a `Rule` of the struct around it.
    """
    return Rule("self == oldSelf", message=message)


def Range(
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    exclusive_minimum: float | None = None,
    exclusive_maximum: float | None = None,
    multiple_of: float | None = None,
) -> msgspec.Meta:
    """Bounds of a number, both inclusive unless named exclusive.

    Raises ModelError for an empty range, or one without any bound.
    """
    bounds = (minimum, maximum, exclusive_minimum, exclusive_maximum)
    shown = f"Range({minimum!r}, {maximum!r})"
    if all(bound is None for bound in bounds) and multiple_of is None:
        raise ModelError("Range(): give at least one bound, for example Range(0, 50)")
    if minimum is not None and exclusive_minimum is not None:
        raise ModelError(f"{shown}: give minimum or exclusive_minimum, not both")
    if maximum is not None and exclusive_maximum is not None:
        raise ModelError(f"{shown}: give maximum or exclusive_maximum, not both")
    for bound in bounds:
        if isinstance(bound, int) and not INT64[0] <= bound <= INT64[1]:
            raise ModelError(f"{shown}: {bound} does not fit into 64 bits")
    low = exclusive_minimum if minimum is None else minimum
    high = exclusive_maximum if maximum is None else maximum
    if low is not None and high is not None:
        closed = exclusive_minimum is None and exclusive_maximum is None
        if low > high or (low == high and not closed):
            raise ModelError(f"{shown}: no number lies in the range")
    if multiple_of is not None and multiple_of <= 0:
        raise ModelError(f"Range: multiple_of is {multiple_of!r}: give a positive number")
    # msgspec's own types ask for all whole or all fractional bounds; the schema checks them
    # against the type of the field.
    options: dict[str, Any] = {
        "ge": minimum,
        "le": maximum,
        "gt": exclusive_minimum,
        "lt": exclusive_maximum,
        "multiple_of": multiple_of,
    }
    return msgspec.Meta(**options)


def Length(minimum: int | None = None, maximum: int | None = None) -> msgspec.Meta:
    """Bounds of the length of a string (in code points), a list, a set or a map; inclusive.

    Raises ModelError for an empty range, or one without any bound.
    """
    if minimum is None and maximum is None:
        raise ModelError("Length(): give at least one bound, for example Length(1, 63)")
    if (minimum or 0) < 0 or (maximum is not None and maximum < (minimum or 0)):
        raise ModelError(f"Length({minimum!r}, {maximum!r}): no length lies in the range")
    return msgspec.Meta(min_length=minimum, max_length=maximum)


def Pattern(expression: str) -> msgspec.Meta:
    r"""A regular expression that a string must contain a match of (anchor it with ``^…$``).

    The server uses RE2 and we use Python's ``re``. The expression is written once, in the part of
    the syntax that both know, and is read as RE2 does: ``\d \w \s \b`` are ASCII and ``$`` is the
    very end. Raises ModelError for what RE2 has not (look-around, back-references, …).
    """
    try:
        pattern = python_pattern(expression)
    except ValueError as error:
        raise ModelError(f"Pattern({expression!r}): {error}") from error
    return msgspec.Meta(pattern=pattern, extra={GIVEN_PATTERN: expression})


class Description(msgspec.Struct, frozen=True):
    """The description of a field in the schema; it wins over the field's docstring."""

    text: str


class Format(msgspec.Struct, frozen=True):
    """An OpenAPI format of a string that the server validates: ``Format("ipv4")``.

    Known to the server: bsonobjectid, uri, hostname, ipv4, ipv6, cidr, mac, uuid, byte, date,
    date-time, duration and others; it ignores a format that it does not know.
    """

    name: str


class ListMap:
    """A list of Models that behaves as a map with these key fields: ``ListMap("name")``.

    Entries are merged by key in server-side apply, and the server refuses duplicates. Keys are
    field names as in Python or in the YAML; they must be required or have a default, and be
    scalars. Raises ModelError without a key.
    """

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise ModelError('ListMap(): name the key field, for example ListMap("name")')
        self.keys = keys


class ListSet:
    """A list of scalars without duplicates whose elements have owners in server-side apply.

    A field typed ``set[...]`` is one without saying so.
    """

    __slots__ = ()


class Atomic:
    """A list, map or Model that has one owner as a whole in server-side apply."""

    __slots__ = ()


class PreserveUnknown:
    """The server keeps fields of this object that the schema does not name.

    Our types drop them; read them through `Resource.raw`.
    """

    __slots__ = ()


class IntOrStringMark:
    """What makes an ``int | str`` an int-or-string in the schema."""

    __slots__ = ()


IntOrString: TypeAlias = Annotated[int | str, IntOrStringMark()]
"""A number or a text, such as a port or a percentage (``x-kubernetes-int-or-string``)."""

Duration: TypeAlias = Annotated[str, Pattern(DURATION_PATTERN)]
"""A duration as Go writes it (``1h30m``); `konstat.objects.duration` reads it."""
