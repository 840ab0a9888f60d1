"""Does a value fit a structural schema: the API server's verdict, in its words and its order.

`validate` gives the causes of an Invalid: types, null, required, limits, patterns, enumerations,
formats, and allOf, anyOf, oneOf, not. With the stored value, what is bad and unchanged passes
(C54). Pruning, defaults, duplicates in lists and CEL rules stand in other modules. The server
walks members in a random order; here they are walked by name.

This is not `konstat.objects.violation`, which judges for authors, in konstat's own words, and
without old values. Before: `formats`, `patterns`, `correlation`. After: `custom`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from konstat.embedded.status_errors import FieldError, quoted
from konstat.embedded.structural import formats, patterns, texts
from konstat.embedded.structural.correlation import Correlated, Schema, identical
from konstat.embedded.structural.numbers import is_integer_number, number_problems

_MISSING: Final = object()


def validate(
    value: Any, schema: Schema, *, path: str = "", correlated: Correlated | None = None
) -> list[FieldError]:
    """The causes for which the server refuses ``value``; empty when it fits.

    ``path`` is where ``value`` stands, for example ``status``; the texts of the causes name
    places below it, as the server's do. ``correlated`` holds the stored value beside the new one.
    """
    result = _ratcheted(value, schema, "", correlated)
    return [problem.at(path) for problem in result.problems]


class Problem(NamedTuple):
    """One error before it has its place: ``text`` is what tells equal ones apart."""

    text: str
    place: str | None
    make: Callable[[str], FieldError]

    def at(self, path: str) -> FieldError:
        """The field error, below ``path``."""
        if self.place is None:
            return self.make(path)
        inner = self.place.removeprefix(".")
        return self.make(texts.child(path, inner) if inner else path)


class Result:
    """Problems, and how many checks passed: by that the best branch of a choice is found."""

    __slots__ = ("_texts", "matches", "problems")

    def __init__(self, problems: Iterable[Problem] = (), *, matches: int = 0) -> None:
        self.problems: list[Problem] = []
        self._texts: set[str] = set()
        self.matches = matches
        self.add(*problems)

    def add(self, *problems: Problem) -> None:
        """Keep the problems whose text is new."""
        for problem in problems:
            if problem.text not in self._texts:
                self._texts.add(problem.text)
                self.problems.append(problem)

    def merge(self, other: Result) -> None:
        """Take over what another result found."""
        self.add(*other.problems)
        self.matches += other.matches


def composite(text: str) -> Problem:
    """A problem that the server reports at the root, whatever its place."""
    return Problem(text, None, partial(texts.invalid, value="", detail=text))


def _value_problem(path: str, value: Any, text: str) -> Problem:
    return Problem(text, path, partial(texts.invalid, value=value, detail=text))


def _type_problem(path: str, value: str, wanted: str) -> Problem:
    text = f"{path} in body must be of type {wanted}: {quoted(value)}"
    return Problem(text, path, partial(texts.type_invalid, value=value, detail=text))


def _ratcheted(value: Any, schema: Schema, path: str, correlated: Correlated | None) -> Result:
    """Problems of a value, none if the value is unchanged."""
    result = _node(value, schema, path, correlated)
    if result.problems and correlated is not None and correlated.unchanged():
        return Result(matches=result.matches)
    return result


def _node(value: Any, schema: Schema, path: str, correlated: Correlated | None) -> Result:
    result = Result()
    result.merge(_type(value, schema, path))
    if value is None:
        result.add(*_enumeration(value, schema, path))
        return result
    result.merge(_branches(value, schema, path))
    passed = 2  # this node, and the enumeration
    if schema.get("type") or schema.get("x-kubernetes-int-or-string") or _format(schema):
        passed += 1
    if isinstance(value, str):
        result.add(*_text(value, schema, path))
        passed += 1
        if name := _format(schema):
            passed += 1
            if not formats.holds(name, value):
                result.add(_type_problem(path, value, name))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        result.merge(_number(value, schema, path))
        passed += 1
    elif isinstance(value, list):
        result.merge(_list(value, schema, path, correlated))
        passed += 1
    result.add(*_enumeration(value, schema, path))
    if isinstance(value, dict):
        result.merge(_object(value, schema, path, correlated))
        passed += 1
    result.matches += passed + 1  # the choices of branches always apply
    return result


# --- types ------------------------------------------------------------------------------------


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _format(schema: Schema) -> str:
    return formats.checked_format(schema) if "format" in schema else ""


def json_type(value: Any) -> tuple[str, str]:
    """The schema type of a value and the format that Go's type has."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return ("array", "") if isinstance(value, list) else ("object", "")


def _type(value: Any, schema: Schema, path: str) -> Result:
    types, name = _types(schema), _format(schema)
    if value is None:
        if types and not schema.get("nullable"):
            return Result([_type_problem(path, "null", ",".join(types))])
        return Result(matches=1)
    if not types and not name:
        return Result()
    given, given_format = json_type(value)
    fits = (
        given in types
        or (given == "number" and "integer" in types and is_integer_number(value))
        or (given == "integer" and "number" in types)
    )
    loose = given in ("string", "array")
    if name and not loose and not fits and given_format != name:
        return Result([_type_problem(path, given_format, name)])
    if name and loose and not {"number", "integer"} & set(types):
        return Result(matches=1)
    return Result(matches=1) if fits else Result([_type_problem(path, given, ",".join(types))])


# --- scalars ----------------------------------------------------------------------------------


def _enumeration(value: Any, schema: Schema, path: str) -> list[Problem]:
    choices = schema.get("enum")
    if not choices or any(_is_choice(value, choice) for choice in choices):
        return []
    text = f"{path} in body should be one of {choices}"
    return [Problem(text, path, partial(texts.not_supported, value=value, choices=choices))]


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether Go finds the value equal after converting it to the choice's type."""
    if isinstance(value, bool) or isinstance(choice, bool) or value is None:
        return identical(value, choice) and value is not None
    if isinstance(value, int | float) and isinstance(choice, int | float):
        converted = float(value) if isinstance(choice, float) else int(value)
        return converted == choice
    if isinstance(value, int) and isinstance(choice, str):
        return choice == (chr(value) if 0 <= value < 0x110000 else "\ufffd")
    return identical(value, choice)


def _text(value: str, schema: Schema, path: str) -> list[Problem]:
    maximum, minimum = schema.get("maxLength"), schema.get("minLength")
    if maximum is not None and len(value) > maximum:
        text = f"{path} in body should be at most {maximum} chars long"
        return [Problem(text, path, partial(texts.too_long, maximum=maximum))]
    if minimum is not None and len(value) < minimum:
        text = f"{path} in body should be at least {minimum} chars long"
        return [_value_problem(path, value, text)]
    pattern = schema.get("pattern")
    if pattern and not patterns.compiled(pattern).search(value):
        return [_value_problem(path, value, f"{path} in body should match '{pattern}'")]
    return []


def _number(value: float, schema: Schema, path: str) -> Result:
    types = _types(schema)
    kind = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    result = Result(matches=1)
    for found in number_problems(value, schema, kind, _format(schema) if kind else "", path):
        if found.composite:
            result.add(composite(found.text))
        else:
            result.add(_value_problem(path, found.value, found.text))
    return result


# --- lists and objects ------------------------------------------------------------------------


def _list(value: list[Any], schema: Schema, path: str, correlated: Correlated | None) -> Result:
    result = Result(matches=1)
    items = schema.get("items")
    if isinstance(items, Mapping):
        for position, entry in enumerate(value):
            old = correlated.entry(position) if correlated is not None else None
            result.merge(_ratcheted(entry, items, f"{path}[{position}]", old))
    size = len(value)
    minimum, maximum = schema.get("minItems"), schema.get("maxItems")
    if minimum is not None and size < minimum:
        text = f"{path} in body should have at least {minimum} items"
        result.add(_value_problem(path, size, text))
    if maximum is not None and size > maximum:
        text = f"{path} in body should have at most {maximum} items"
        result.add(Problem(text, path, partial(texts.too_many, actual=size, maximum=maximum)))
    if schema.get("uniqueItems") and _has_duplicates(value):
        result.add(_value_problem(path, "", f"{path} in body shouldn't contain duplicates"))
    return result


def _has_duplicates(entries: Sequence[Any]) -> bool:
    return any(
        identical(entry, other)
        for position, entry in enumerate(entries)
        for other in entries[:position]
    )


def _object(
    value: dict[str, Any], schema: Schema, path: str, correlated: Correlated | None
) -> Result:
    result = Result()
    size = len(value)
    minimum, maximum = schema.get("minProperties"), schema.get("maxProperties")
    if minimum is not None and size < minimum:
        text = f"{path} in body should have at least {minimum} properties"
        result.add(_value_problem(path, size, text))
    if maximum is not None and size > maximum:
        text = f"{path} in body should have at most {maximum} properties"
        result.add(Problem(text, path, partial(texts.too_many, actual=size, maximum=maximum)))
    properties: Schema = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name in sorted(value):
        if name in properties:
            continue
        if others is False:
            text = f"{path}.{name} in body is a forbidden property"
            result.add(_value_problem(path, name, text))
        elif isinstance(others, Mapping):
            old = correlated.member(name) if correlated is not None else None
            result.merge(_ratcheted(value[name], others, f"{path}.{name}", old))
    for name in sorted(properties):
        if name in value:
            place = f"{path}.{name}" if path else name
            old = _property_correlation(correlated, name, at_root=not path)
            result.merge(_ratcheted(value[name], properties[name], place, old))
    for name in schema.get("required") or ():
        if name not in value:
            place = f"{path}.{name}"
            result.add(Problem(f"{place} in body is required", place, texts.required))
    return result


def _property_correlation(
    correlated: Correlated | None, name: str, *, at_root: bool
) -> Correlated | None:
    """The old value of a property; kind and apiVersion at the root are never compared."""
    if correlated is None or (at_root and name in ("kind", "apiVersion")):
        return None
    return correlated.member(name)


# --- allOf, anyOf, oneOf, not -----------------------------------------------------------------


def _branches(value: Any, schema: Schema, path: str) -> Result:
    """What choices of schemas say; nothing in them is ratcheted."""
    result = Result(matches=1)
    if any_of := schema.get("anyOf"):
        _any_of(value, any_of, path, result)
    if one_of := schema.get("oneOf"):
        _one_of(value, one_of, path, result)
    if all_of := schema.get("allOf"):
        _all_of(value, all_of, path, result)
    refused = schema.get("not")
    if refused is not None and not _node(value, refused, path, None).problems:
        result.add(composite(f"{quoted(path)} must not validate the schema (not)"))
    return result


def _any_of(value: Any, options: Sequence[Schema], path: str, result: Result) -> None:
    best: Result | None = None
    for option in options:
        found = _node(value, option, path, None)
        if not found.problems:
            result.merge(found)
            return
        if best is None or found.matches > best.matches:
            best = found
    result.add(composite(f"{quoted(path)} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _one_of(value: Any, options: Sequence[Schema], path: str, result: Result) -> None:
    found = [_node(value, option, path, None) for option in options]
    valid = [one for one in found if not one.problems]
    if len(valid) == 1:
        result.merge(valid[0])
        return
    what = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    text = f"{quoted(path)} must validate one and only one schema (oneOf). {what}"
    result.add(composite(text))
    if not valid:
        # The first of those that passed the most checks.
        result.merge(max(found, key=lambda one: one.matches))


def _all_of(value: Any, options: Sequence[Schema], path: str, result: Result) -> None:
    valid = 0
    for option in options:
        found = _node(value, option, path, None)
        valid += not found.problems
        result.merge(found)
    if valid != len(options):
        what = "" if valid else ". None validated"
        result.add(composite(f"{quoted(path)} must validate all the schemas (allOf){what}"))
