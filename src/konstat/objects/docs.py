"""Descriptions from docstrings: of a class, and of the fields under which a text stands."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache


def class_description(cls: type) -> str:
    """The class's own docstring as one paragraph per line; not that of a base."""
    return _paragraphs(cls.__dict__.get("__doc__") or "")


@cache
def field_descriptions(cls: type) -> dict[str, str]:
    """The texts that stand directly under field declarations, those of the bases included.

    A class without readable source (typed into a shell, compiled) has none.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__ not in ("builtins", "msgspec", "typing", "abc"):
            found.update(_own_descriptions(base))
    return found


def _own_descriptions(cls: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return {}
    node = tree.body[0] if tree.body else None
    if not isinstance(node, ast.ClassDef):
        return {}
    found: dict[str, str] = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = _paragraphs(text.value.value)
    return found


def _paragraphs(text: str) -> str:
    """Lines of a paragraph joined; paragraphs on lines of their own."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n".join(" ".join(p.split()) for p in paragraphs if p.strip())
