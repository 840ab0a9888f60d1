"""`Rules`: which rule an object's kind has, built in or added by a user.

The built-in rules of custom resources are the files in ``rules/``, one per API group, each read at
the first object of its group. `compute` asks `Rules.find`; `generic` judges by what it finds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from konstat.base import limits
from konstat.errors import RuleError
from konstat.readiness.kindrule import KindRule, RuleFile, merged, read_rules
from konstat.readiness.signals import Reader
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Readiness

Rule = Callable[[Subject], Readiness]
UserRule = Callable[[Subject], Readiness | None]
ANY: Final = "*"


class Known(NamedTuple):
    """What is known of a kind: a function that judges it first, and data for the general reading.

    ``own`` tells that a user gave one of them, which then stands before a built-in function.
    """

    function: UserRule | None
    reader: Reader
    own: bool


class Rules:
    """A set of rules; one default set serves the process, tests make their own.

    ``builtin=False`` starts with none of the built-in files, ``without`` leaves out those of the
    given groups (by file name). A specific kind stands before ``"*"``, a group before the groups
    above it, a user's rule before a built-in one of the same kind. Not safe for threads that add
    rules while others judge.
    """

    def __init__(self, *, builtin: bool = True, without: Iterable[str] = ()) -> None:
        self._without = frozenset(without)
        self._builtin_too = builtin
        self._functions: dict[tuple[str, str], UserRule] = {}
        self._data: dict[tuple[str, str], KindRule] = {}
        self._known: dict[tuple[str, str], Known] = {}
        self.additions = 0
        """How often a rule, or a file of them, was added."""

    def find(self, group: str, kind: str) -> Known:
        """All that is known of a kind; raises RuleError for a built-in file that is not valid."""
        found = self._known.get((group, kind))
        if found is None:
            if len(self._known) >= limits.READINESS_CACHED_WORDS:
                self._known.clear()
            found = self._known[group, kind] = self._found(group, kind)
        return found

    def rule(self, group: str, kind: str) -> Callable[[UserRule], UserRule]:
        """A decorator that registers a function as the rule of a kind, ``"*"`` for a whole group.

        The function gets a `Subject`; None as its answer means that the general reading decides.
        It is asked after a deletion and before anything else, so a status of another generation is
        its own to see (``subject.generation``). Raises RuleError for a coroutine function.
        """

        def register(function: UserRule) -> UserRule:
            if inspect.iscoroutinefunction(function):
                raise RuleError(
                    f"the rule {function.__qualname__} of {kind} is `async def`: a rule reads what"
                    " it is given and waits for nothing, so write `def`"
                )
            self._functions[group, kind] = function
            self._added()
            return function

        return register

    def load(self, path: str | Path) -> None:
        """Add the rules of a YAML file, in the format of the built-in ones.

        Raises RuleError when the file cannot be read, is too large or is not valid; then nothing
        was added.
        """
        self.add(read_rules(_text(path), source=str(path)))

    def add(self, file: RuleFile) -> None:
        """Add the rules of a file that was read with `read_rules`."""
        self._data.update({_key(file.group, name): rule for name, rule in file.kinds.items()})
        self._added()

    def _added(self) -> None:
        self.additions += 1
        self._known.clear()

    def _found(self, group: str, kind: str) -> Known:
        builtin = self._builtin(group, kind)
        own = self._own(group, kind)
        if own is None and (builtin is None or kind not in builtin[1]):
            own = self._own(group, ANY)
        if own is not None:
            return Known(own[0], Reader(kind, own[1]), own=True)
        return Known(None, Reader(kind, builtin[0] if builtin else None), own=False)

    def _own(self, group: str, kind: str) -> tuple[UserRule | None, KindRule | None] | None:
        for place in _group_and_above(group):
            function = self._functions.get((place, kind))
            data = self._data.get((place, kind))
            if function is not None or data is not None:
                return function, data
        return None

    def _builtin(self, group: str, kind: str) -> tuple[KindRule, frozenset[str]] | None:
        """The rule of the closest file that has one, and the kinds that it names for the group."""
        if not self._builtin_too:
            return None
        for place in _group_and_above(group):
            if place not in _builtin_groups() or place in self._without:
                continue
            rules = _builtin_rules(place)
            specific = rules.get((group, kind)) or rules.get((place, kind))
            wild = rules.get((group, ANY)) or rules.get((place, ANY))
            if specific is not None:
                rule = specific if wild is None else merged(wild, specific)
                return rule, frozenset((kind,))
            if wild is not None:
                return wild, frozenset()
        return None


def _text(path: str | Path) -> str:
    """The text of a file of rules; raises RuleError."""
    try:
        with Path(path).open("rb") as file:  # perhaps a device, which never ends
            data = file.read(limits.RULE_BYTES + 1)
    except (OSError, ValueError) as error:
        problem = (getattr(error, "strerror", None) or str(error)).lower()
        raise _unreadable(path, problem) from error
    if len(data) > limits.RULE_BYTES:
        raise _unreadable(path, f"it has more than {limits.RULE_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"not text in UTF-8 (byte {error.start})") from error


def _unreadable(path: str | Path, problem: str) -> RuleError:
    return RuleError(f"the rules in {path} cannot be read: {problem}: name a YAML file")


def _group_and_above(group: str) -> Iterator[str]:
    """``a.b.c``, then ``b.c``: never a last label alone, which nobody owns."""
    yield group
    while group.count(".") > 1:
        group = group.partition(".")[2]
        yield group


def _key(group: str, name: str) -> tuple[str, str]:
    """``Kind`` belongs to the file's group, ``Kind.sub.group`` to another one."""
    kind, dot, other = name.partition(".")
    return (other if dot else group, kind)


@cache
def _builtin_groups() -> frozenset[str]:
    folder = resources.files("konstat.readiness") / "rules"
    names = (entry.name for entry in folder.iterdir())
    return frozenset(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


@cache
def _builtin_rules(group: str) -> dict[tuple[str, str], KindRule]:
    folder = resources.files("konstat.readiness") / "rules"
    text = (folder / f"{group}.yaml").read_text(encoding="utf-8")
    file = read_rules(text, source=f"rules/{group}.yaml")
    if file.group != group:
        raise RuleError(f"rules/{group}.yaml: group is {file.group!r} and must be {group!r}")
    return {_key(group, name): rule for name, rule in file.kinds.items()}


DEFAULT: Final = Rules()
"""The rules by which `compute` judges unless it is given others."""
