"""`KindRule`: what is known of one kind beyond the general reading, as data; and its file format.

One YAML file holds the rules of one API group (``rules/cert-manager.io.yaml``). A rule corrects or
completes the vocabulary of the general reading (`generic`) for one kind: it never replaces it, so
an object is still not Ready when anything in its status speaks against it. `rulebook` finds the
rule of an object; the format is described for authors in ``docs/readiness.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from konstat.base.yamltext import load_yaml
from konstat.errors import RuleError, UserError
from konstat.readiness import rulefaults
from konstat.readiness.paths import Path, parse_path
from konstat.readiness.verdict import Turn

Outcome = Literal[
    "Ready", "Completed", "Progressing", "Suspended", "Failed", "Terminating", "Unknown", "Ignored"
]
"""What a word or a value means: a state, Completed (Ready, of bounded work), or nothing."""

Role = Literal["summary", "supporting", "progress", "bad", "suspended", "work", "ignored"]
"""What a condition type means; see the documentation of rule files."""

Text = Annotated[str, msgspec.Meta(min_length=1)]
Scalar = str | int | float | bool | None


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A state, and where it is known, whose turn it is and what is to be said."""

    state: Outcome
    turn: Turn | None = None
    say: str = ""


class ConditionMeaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A role, with other outcomes than the role's for some values of the condition."""

    role: Role = "summary"
    true: Outcome | None = None
    false: Outcome | None = None
    unknown: Outcome | None = None


class Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two numbers: as long as ``have`` is below ``wanted``, the object is Progressing.

    ``absent`` stands for a ``have`` that is not written (Go leaves out zeros), ``default`` for a
    ``wanted`` that is not; without them a pair of which one is absent says nothing.
    """

    have: Text
    wanted: Text
    absent: int | None = None
    default: int | None = None


class Test(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"in_": "in"}):
    """A question about what stands at ``path``; all its parts must hold.

    ``less_than`` and ``differs_from`` compare with what stands at another path.
    """

    path: Text
    exists: bool | None = None
    equals: Scalar | msgspec.UnsetType = msgspec.UNSET
    differs: Scalar | msgspec.UnsetType = msgspec.UNSET
    in_: list[Scalar] | None = None
    contains: str | None = None
    less_than: str | None = None
    differs_from: str | None = None


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"if_": "if"}):
    """Where all tests hold, the object is in ``state``, or worse if something else is."""

    if_: Annotated[list[Test], msgspec.Meta(min_length=1)]
    state: Outcome
    say: str = ""
    turn: Turn | None = None


class KindRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known of a kind; every part may be left out."""

    docs: str = ""
    status: Literal["expected", "optional", "none"] | None = None
    work: bool | None = None
    observes: bool | None = None
    conditions: dict[str, Role | ConditionMeaning] = {}
    required: list[str] | None = None
    reasons: dict[str, Outcome | Meaning] = {}
    phases: dict[str, dict[str, Outcome | Meaning]] = {}
    counts: list[Count] = []
    generation: list[str] = []
    errors: list[str] = []
    suspended: list[Test] = []
    when: list[When] = []
    ignore: list[str] = []


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: the rules of a group, and of the groups below it."""

    group: Text
    kinds: dict[str, KindRule]
    docs: str = ""


def read_rules(text: str, *, source: str) -> RuleFile:
    """The rules of one YAML text; ``source`` names it in errors.

    Raises RuleError that names the place in the file and what was expected there.
    """
    try:
        content = load_yaml(text, source=source)
    except UserError as error:
        raise RuleError(str(error)) from error
    try:
        file = _converted(content)
    except msgspec.ValidationError as error:
        told = rulefaults.described(
            error, content, convert=_converted, words=_words_at, fields=_fields_at
        )
        raise RuleError(f"{source}: {told}") from error
    for kind, rule in file.kinds.items():
        _check_paths(rule, place=f"{source}: kinds.{kind}")
    return file


def _converted(content: Any) -> RuleFile:
    return msgspec.convert(content, RuleFile)


def _words_at(place: Sequence[str]) -> Sequence[str]:
    """The words that may stand at a place of a rule file."""
    match [step for step in place[2:] if not step.isdecimal()]:
        case ["status"]:
            return ("expected", "optional", "none")
        case ["conditions", _] | ["conditions", _, "role"]:
            return rulefaults.words_of(Role)
        case [*_, "turn"]:
            return tuple(Turn)
        case _:
            return rulefaults.words_of(Outcome)


def _fields_at(place: Sequence[str]) -> Sequence[str]:
    """The names of the fields that may stand at a place of a rule file."""
    struct: type[msgspec.Struct] = RuleFile
    match [step for step in place if not step.isdecimal()]:
        case ["kinds", _]:
            struct = KindRule
        case ["kinds", _, "conditions", _]:
            struct = ConditionMeaning
        case ["kinds", _, "counts"]:
            struct = Count
        case ["kinds", _, "when"]:
            struct = When
        case ["kinds", _, "suspended"] | ["kinds", _, "when", "if"]:
            struct = Test
        case ["kinds", _, "reasons" | "phases", *_]:
            struct = Meaning
        case _:
            pass
    return struct.__struct_encode_fields__


def _check_paths(rule: KindRule, *, place: str) -> None:
    tests = [*rule.suspended, *(test for when in rule.when for test in when.if_)]
    compared = [other for t in tests for other in (t.less_than, t.differs_from) if other]
    counted = [path for c in rule.counts for path in (c.have, c.wanted)]
    asked = [test.path for test in tests]
    for path in (
        *rule.phases,
        *rule.generation,
        *rule.errors,
        *rule.ignore,
        *compared,
        *counted,
        *asked,
    ):
        try:
            parse_path(path)
        except ValueError as error:
            raise RuleError(f"{place}: the path {path!r} {error}") from error


def merged(base: KindRule, over: KindRule) -> KindRule:
    """``over`` completed by ``base``: tables and lists are joined, single words replaced.

    A list of required conditions replaces the other one, so that a kind can do without (``[]``).
    """
    values: dict[str, Any] = {}
    for name in KindRule.__struct_fields__:
        low, high = getattr(base, name), getattr(over, name)
        if isinstance(high, Mapping):
            values[name] = {**low, **high}
        elif isinstance(high, list) and name != "required":
            values[name] = [*low, *high]
        else:
            values[name] = low if high is None or high == "" else high
    return KindRule(**values)


__all__ = [
    "ConditionMeaning",
    "Count",
    "KindRule",
    "Meaning",
    "Outcome",
    "Path",
    "Role",
    "RuleFile",
    "Test",
    "When",
    "merged",
    "read_rules",
]
