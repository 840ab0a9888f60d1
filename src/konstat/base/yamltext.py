"""YAML text to plain JSON data: safe, bounded, and without YAML 1.1's surprises.

Used for kubeconfig files, manifests and CRDs. Against PyYAML's own safe loader:

- ``yes``, ``on``, ``no``, ``off`` and dates stay text; only true, false and null are words;
- ``12:30:45`` stays text and ``1e3`` is a number; ``0644`` is octal as for kubectl;
- a key that stands twice in a mapping is an error, as are anchors that contain themselves;
- keys are always text, and only what JSON can say comes out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from typing import Any

import yaml

from konstat.base import limits
from konstat.errors import UserError

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """PyYAML's reader and parser with resolvers and constructors of our own."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's way
    yaml_constructors: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's way

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise _refusal(node, "another kind of value than its tag says")
        _refuse_duplicates(node)
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            mapping[_key_text(key_node)] = self.construct_object(value_node, deep=deep)
        return mapping

    def construct_number(self, node: Any) -> int | float:
        text = self.construct_scalar(node)
        try:
            if node.tag.endswith("int"):
                return self.construct_yaml_int(node)
            value = float(text)
        except (ValueError, IndexError) as error:
            # Python's own bound on the digits of an int, or an explicit tag on other text.
            raise _refusal(node, f"no usable number in {len(text)} characters") from error
        if not math.isfinite(value):
            raise _refusal(node, "a number that is too large")
        return value

    def construct_bool(self, node: Any) -> bool:
        text = self.construct_scalar(node).lower()
        if text not in ("true", "false"):
            raise _refusal(node, "neither true nor false under the tag !!bool")
        return text == "true"

    def construct_refused(self, node: Any) -> Any:
        raise _refusal(node, f"the tag {node.tag!r}, which JSON cannot say")


def _refusal(node: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _refuse_duplicates(node: Any) -> None:
    seen: set[str] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        text = _key_text(key_node)
        if text in seen:
            raise _refusal(key_node, f"the key {text!r} a second time")
        seen.add(text)


def _key_text(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _refusal(node, "a key that is not plain text")
    return node.value


_WORDS = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*|0o?[0-7]+|0x[0-9a-fA-F]+|0b[01]+)$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("merge", r"^<<$", "<"),
)
for _name, _pattern, _first in _WORDS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first))
for _name, _constructor in (
    ("null", _Base.construct_yaml_null),
    ("bool", _Loader.construct_bool),
    ("int", _Loader.construct_number),
    ("float", _Loader.construct_number),
    ("str", _Base.construct_yaml_str),
    ("seq", _Base.construct_yaml_seq),
    ("map", _Base.construct_yaml_map),
):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _constructor)
_Loader.add_constructor(None, _Loader.construct_refused)


def load_yaml(text: str, *, source: str) -> Any:
    """The one document of ``text`` as plain data; an empty text is None.

    ``source`` names the text in messages. Raises UserError for what is not YAML, is more than one
    document, or is too large.
    """
    documents = load_yaml_documents(text, source=source)
    if len(documents) > 1:
        raise UserError(f"{source} holds {len(documents)} YAML documents where one is expected")
    return documents[0] if documents else None


def load_yaml_documents(text: str, *, source: str) -> list[Any]:
    """Every document of ``text`` that is not empty, in order; raises UserError."""
    if len(text) > limits.YAML_CHARACTERS:
        raise UserError(
            f"{source} is {len(text)} characters long and {limits.YAML_CHARACTERS} are accepted"
        )
    try:
        documents = [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        raise UserError(f"{source} is not usable YAML: {_problem(error)}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{source} is not usable YAML: {problem}") from error
    _check_size(documents, source)
    return documents


def _problem(error: yaml.MarkedYAMLError) -> str:
    """What and where, without the lines of the text, which may hold secrets."""
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    context = f"{error.context}, " if error.context else ""
    return f"{place}{context}{error.problem or 'it cannot be read'}"


def _check_size(documents: list[Any], source: str) -> None:
    """Refuse anchors that contain themselves or multiply: JSON would have to write them out."""
    values = 0
    level = documents
    for _ in range(limits.YAML_DEPTH):
        following: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                following.extend(value.values())
            elif isinstance(value, list):
                following.extend(value)
            if values + len(following) > limits.YAML_VALUES:
                raise UserError(
                    f"{source} has more than {limits.YAML_VALUES} values when its anchors are"
                    " written out"
                )
        if not following:
            return
        values += len(following)
        level = following
    raise UserError(f"{source} is nested deeper than {limits.YAML_DEPTH} levels")
