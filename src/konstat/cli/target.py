"""What TARGET means: ``file.py`` or ``package.module``, then optionally ``:attribute``.

`konstat.cli.imports` runs the file or module; here its controllers and resource classes are found.
After: `konstat run` and `konstat crd`. Whatever can be wrong raises TargetError with what was found
and what to write.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

from konstat.base import limits
from konstat.cli.imports import import_source, shown_path
from konstat.controller import Controller
from konstat.errors import TargetError
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource

ResourceClass = type[Resource[Any, Any]]


class Target(NamedTuple):
    """A TARGET taken apart: ``source`` is a path or a module's name, ``attribute`` may be empty."""

    source: str
    attribute: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """Split at the last colon if an attribute's name follows it."""
        source, colon, attribute = text.rpartition(":")
        if not colon:
            return cls(text)
        if not all(part.isidentifier() for part in attribute.split(".")):
            raise TargetError(
                f"{text!r}: {attribute!r} is not the name of an attribute: write the target as"
                " file.py:attribute or package.module:attribute"
            )
        return cls(source, attribute)


def load_controllers(text: str) -> list[Controller[Any]]:
    """The controllers that a target means, in the order in which they were declared.

    Without an attribute these are all module-level controllers, those in lists and those imported
    from elsewhere included. Raises TargetError.
    """
    target = Target.parse(text)
    module = import_source(target.source)
    if target.attribute:
        value = _attribute(module, target)
        found = _controllers_of(value)
        if not found:
            raise TargetError(
                f"{text} is {_described(value)}: name a Controller, or a list of them"
            )
        return found
    _refuse_rivals(module, target)
    return _all_controllers(module) or _refuse_empty(module, target)


def load_resources(text: str) -> list[ResourceClass]:
    """The resource classes that a target means: those of its controllers, or a class itself.

    A module without controllers gives the resource classes that it declares. Raises TargetError.
    """
    target = Target.parse(text)
    module = import_source(target.source)
    if target.attribute:
        value = _attribute(module, target)
        found = _controllers_of(value)
        if not found and not _is_resource(value):
            raise TargetError(
                f"{text} is {_described(value)}: name a Controller or a Resource class"
            )
        return [value] if not found else _distinct(c.resource for c in found)
    controllers = _all_controllers(module)
    declared = _declared_resources(module)
    if not controllers and not declared:
        raise TargetError(
            f"{_shown(target)} declares no Controller and no Resource class: declare one at its top"
            " level, or name the module that does"
        )
    return _distinct(c.resource for c in controllers) or declared


def _attribute(module: ModuleType, target: Target) -> Any:
    value: Any = module
    for name in target.attribute.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            names = [n for n in dir(value) if not n.startswith("_")]
            close = difflib.get_close_matches(name, names, n=limits.MESSAGE_NAMES)
            hint = f"did you mean {' or '.join(close)}?" if close else _hint_at_controllers(module)
            raise TargetError(f"{_shown(target)} has no attribute {name!r}: {hint}") from None
        except Exception as error:
            raise TargetError(
                f"{_shown(target)}: reading {target.attribute} raises {type(error).__name__}"
            ) from error
    return value


def _hint_at_controllers(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if _controllers_of(value)]
    return f"its controllers are {', '.join(names)}" if names else "it has no Controller either"


def _controllers_of(value: Any) -> list[Controller[Any]]:
    """The controllers in one value: itself, or the elements of a list of nothing else."""
    if isinstance(value, Controller):
        return [value]
    if isinstance(value, list | tuple) and all(isinstance(v, Controller) for v in value):
        return list(value)
    return []


def _all_controllers(module: ModuleType) -> list[Controller[Any]]:
    return _distinct(c for value in vars(module).values() for c in _controllers_of(value))


def _declared_resources(module: ModuleType) -> list[ResourceClass]:
    """The resource classes of this module, without those that are versions of another."""
    found = [
        value
        for value in vars(module).values()
        if _is_resource(value) and value.__module__ == module.__name__
    ]
    further = {id(other) for cls in found for other in cls.definition.served}
    return _distinct(cls for cls in found if id(cls) not in further)


def _is_resource(value: Any) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Resource)
        and isinstance(getattr(value, "kind", None), Kind)
    )


def _refuse_rivals(module: ModuleType, target: Target) -> None:
    """Refuse two controllers of one kind, with the names by which one can be chosen."""
    first: dict[str, str] = {}
    for name, value in vars(module).items():
        if not isinstance(value, Controller):
            continue
        other = first.setdefault(value.kind.resource, name)
        if getattr(module, other) is not value:
            raise TargetError(
                f"{_shown(target)}: {other} and {name} both control {value.kind.kind}: make them"
                f" one, or choose one, for example {target.source}:{other}"
            )


def _refuse_empty(module: ModuleType, target: Target) -> list[Controller[Any]]:
    resources = [name for name, value in vars(module).items() if _is_resource(value)]
    declared = [cls.__name__ for cls in _declared_resources(module)]
    if resources:
        example = (declared or resources)[0]
        found = f"the resource classes {', '.join(resources[: limits.MESSAGE_NAMES])}"
        advice = f"write {example.lower()}s = Controller({example}) at its top level"
    else:
        names = [n for n in vars(module) if not n.startswith("_")]
        found = ", ".join(names[: limits.MESSAGE_NAMES]) or "nothing"
        advice = "declare one at its top level, or name the module that does"
    raise TargetError(f"{_shown(target)} has no Controller (it has {found}): {advice}")


def _described(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "an empty list" if not value else "a list in which not everything is a Controller"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {type(value).__name__}"


def _shown(target: Target) -> str:
    return shown_path(target.source) if target.source.endswith(".py") else target.source


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Without repetitions, by identity."""
    return list({id(value): value for value in values}.values())
