"""Sets of field paths: what a manager owns, and its form in ``metadata.managedFields``.

A path is a tuple of elements. An element selects a child: a field by name, an entry of a list by
the values of its keys, an entry of a set by its value, an entry by its position. A `FieldSet` is a
tree: at each node the children that are members themselves, and the sets below children. It
reads and writes the format FieldsV1 (``f:``, ``k:``, ``v:``, ``i:`` and ``.``).

Pure. Before: `konstat.embedded.gotext`. After: `konstat.embedded.typed_structure` (which fields an
object has) and `konstat.embedded.managed` (who owns them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from konstat.embedded import gotext
from konstat.embedded.status_errors import quoted

# A kind of element and what it selects; tuples of these sort as the server writes them.
Element: TypeAlias = tuple[int, Any]
Path: TypeAlias = tuple[Element, ...]

_FIELD: Final = 0
_KEY: Final = 1
_VALUE: Final = 2
_INDEX: Final = 3
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


class FieldsFormatError(ValueError):
    """A text or object that is not in the format FieldsV1."""


# --- elements -----------------------------------------------------------------------------------


def field(name: str) -> Element:
    """The member of that name."""
    return (_FIELD, name)


def key(values: Mapping[str, Any]) -> Element:
    """The list entry whose keys have these values."""
    return (_KEY, tuple((name, _ordered(values[name])) for name in sorted(values)))


def value(scalar: Any) -> Element:
    """The entry of a set that is equal to ``scalar``."""
    return (_VALUE, _ordered(scalar))


def path(*names: str) -> Path:
    """The path of nested fields."""
    return tuple(field(name) for name in names)


def field_name(element: Element) -> str | None:
    """The name that an element selects, or None if it selects something else."""
    return element[1] if element[0] == _FIELD else None


def selects_by_key(element: Element) -> bool:
    """Whether an element selects a list entry by its keys."""
    return element[0] == _KEY


def _ordered(given: Any) -> tuple[int, Any]:
    """A value that hashes and sorts as the server compares: true is not 1, but 1.0 is 1."""
    if isinstance(given, bool):
        return (2, given)
    if isinstance(given, int | float):
        return (0, given)
    if isinstance(given, str):
        return (1, given)
    if given is None:
        return (5, None)
    if isinstance(given, Mapping):
        return (4, tuple((str(name), _ordered(given[name])) for name in sorted(given)))
    return (3, tuple(_ordered(entry) for entry in given))


def _plain(ordered: tuple[int, Any]) -> Any:
    kind, content = ordered
    if kind == 4:
        return {name: _plain(inner) for name, inner in content}
    return [_plain(entry) for entry in content] if kind == 3 else content


def element_text(element: Element) -> str:
    """How messages show an element: ``.name``, ``[key="x"]``, ``[="x"]``, ``[0]``."""
    kind, content = element
    if kind == _FIELD:
        return f".{content}"
    if kind == _KEY:
        return "[" + ",".join(f"{name}={_value_text(_plain(v))}" for name, v in content) + "]"
    return f"[={_value_text(_plain(content))}]" if kind == _VALUE else f"[{content}]"


def path_text(fields: Path) -> str:
    """How messages show a path: ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(element_text, fields))


def _value_text(given: Any) -> str:
    if isinstance(given, str):
        return quoted(given)
    if given is None:
        return "null"
    if isinstance(given, list):
        return "[" + ",".join(_value_text(entry) for entry in given) + "]"
    if isinstance(given, dict):
        return "".join(f"{name}={_value_text(inner)}" for name, inner in given.items())
    return gotext.show(given)


def _written(element: Element) -> str:
    kind, content = element
    if kind == _FIELD:
        return f"f:{content}"
    if kind == _KEY:
        pairs = (f"{gotext.encode(name)}:{gotext.encode(_plain(v))}" for name, v in content)
        return "k:{" + ",".join(pairs) + "}"
    return f"v:{gotext.encode(_plain(content))}" if kind == _VALUE else f"i:{content}"


def _read(text: str) -> Element | None:
    """The element of a member name in FieldsV1; None for kinds that are not known (ignored)."""
    if len(text) < 2 or text[1] != ":":
        raise FieldsFormatError(f"{text!r} is no path element: expected f:, k:, v: or i:")
    kind, content = text[0], text[2:]
    if kind == "f":
        return field(content)
    if kind == "i":
        if not _INTEGER.fullmatch(content):
            raise FieldsFormatError(f"{text!r} has no index: expected i: and a whole number")
        return (_INDEX, int(content))
    if kind not in ("v", "k"):
        return None
    try:
        given = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FieldsFormatError(f"{text!r} holds no JSON after {kind}:") from error
    if gotext.too_deep(given):
        raise FieldsFormatError(f"a path element is nested too deeply: {text[:40]!r}…")
    if kind == "v":
        return value(given)
    if not isinstance(given, dict):
        raise FieldsFormatError(f"{text!r} holds no JSON object after k:")
    return key(given)


# --- sets ---------------------------------------------------------------------------------------


class FieldSet:
    """A set of paths. Operations give new sets, which may share parts: only `insert` changes one,
    and only while it is being built.
    """

    __slots__ = ("below", "members")

    def __init__(
        self, members: Iterable[Element] = (), below: Mapping[Element, FieldSet] | None = None
    ) -> None:
        self.members = set(members)
        self.below = dict(below or {})

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """The set of these paths."""
        made = cls()
        for one in paths:
            made.insert(one)
        return made

    def insert(self, fields: Path) -> None:
        """Add a path; its parents are not added. The empty path (the whole object) is nobody's."""
        if not fields:
            return
        node = self
        for element in fields[:-1]:
            node = node.below.setdefault(element, FieldSet())
        node.members.add(fields[-1])

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.below.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return set(self.walk()) == set(other.walk())

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(path_text, self.walk()))})"

    def has(self, fields: Path) -> bool:
        """Whether a path is in the set."""
        node = self
        for element in fields[:-1]:
            found = node.below.get(element)
            if found is None:
                return False
            node = found
        return bool(fields) and fields[-1] in node.members

    def under(self, element: Element) -> FieldSet:
        """The paths that begin with ``element``, without it."""
        return self.below.get(element) or _EMPTY

    def walk(self, above: Path = ()) -> Iterator[Path]:
        """Every path, in the server's order: members of a node first, then what is below."""
        for element in sorted(self.members):
            yield (*above, element)
        for element in sorted(self.below):
            yield from self.below[element].walk((*above, element))

    def union(self, other: FieldSet) -> FieldSet:
        """The paths in either set."""
        below = dict(self.below)
        for element, inner in other.below.items():
            mine = below.get(element)
            below[element] = inner if mine is None else mine.union(inner)
        return FieldSet(self.members | other.members, below)

    def intersection(self, other: FieldSet) -> FieldSet:
        """The paths in both sets."""
        common = {
            element: inner.intersection(other.below[element])
            for element, inner in self.below.items()
            if element in other.below
        }
        return FieldSet(self.members & other.members, _kept(common))

    def difference(self, other: FieldSet) -> FieldSet:
        """The paths that ``other`` lacks; removing a parent leaves its children."""
        below = {
            element: inner.difference(other.below[element]) if element in other.below else inner
            for element, inner in self.below.items()
        }
        return FieldSet(self.members - other.members, _kept(below))

    def without(self, other: FieldSet) -> FieldSet:
        """The paths that are neither in ``other`` nor below one of its paths."""
        below = {
            element: inner.without(other.below[element]) if element in other.below else inner
            for element, inner in self.below.items()
            if element not in other.members
        }
        return FieldSet(self.members - other.members, _kept(below))

    # --- FieldsV1 -----------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """The set in the format FieldsV1."""
        written: dict[str, Any] = {}
        for element in sorted(self.members | set(self.below)):
            inner = self.below.get(element)
            if inner is None:
                written[_written(element)] = {}
                continue
            below = inner.to_fields()
            own = {".": {}} if element in self.members and below else {}
            written[_written(element)] = own | below
        return written

    @classmethod
    def from_fields(cls, fields: Any) -> FieldSet:
        """Read FieldsV1; raises FieldsFormatError."""
        if gotext.too_deep(fields):
            raise FieldsFormatError("fieldsV1 is nested too deeply")
        return cls._from_fields(fields)[0] or cls()

    @classmethod
    def _from_fields(cls, fields: Any) -> tuple[FieldSet | None, bool]:
        """What is below a node, and whether the node itself is a member."""
        if not isinstance(fields, dict):
            raise FieldsFormatError(f"fieldsV1 holds {gotext.json_type(fields)}, not an object")
        below: FieldSet | None = None
        member = False
        for text, inner in fields.items():
            if text == ".":
                member = True
                continue
            element = _read(text)
            if element is None:
                continue
            deeper, is_member = cls._from_fields(inner)
            below = below or cls()
            if is_member:
                below.members.add(element)
            if deeper is not None:
                below.below[element] = deeper
        return below, member or below is None


def _kept(below: dict[Element, FieldSet]) -> dict[Element, FieldSet]:
    return {element: inner for element, inner in below.items() if inner}


_EMPTY: Final = FieldSet()
