"""`compute`: is this object done, and if not, why, and whose turn is it?

The order is the same for all kinds: an object that does not exist is Missing; one that is being
deleted is Terminating; then a user's function for its kind decides. Without one, a status about
another generation is Progressing, and the built-in function of the kind decides, or what the status
says (`generic`). Pure: the object,
the related ones and the time are all given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from konstat.errors import RuleError
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource
from konstat.readiness import cluster, deletion, generic, reading, rulebook, wording
from konstat.readiness.builtin import OBSERVING, RULES
from konstat.readiness.related import Related
from konstat.readiness.rulebook import Rules, UserRule
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Readiness, Reason, State

Judge = Callable[[Mapping[str, Any]], Readiness]


def compute(
    obj: Mapping[str, Any] | Resource[Any, Any] | None,
    *,
    related: Related | None = None,
    now: datetime | None = None,
    kind: Kind | None = None,
    rules: Rules | None = None,
) -> Readiness:
    """Judge one object; None stands for an object that does not exist.

    ``related`` finds children and referenced objects; without it, or where it raises
    KindUnavailable, the object's own status decides and the message of a verdict that is not
    Ready says what was not read. ``now`` (aware) lets short-lived signs expire; without it they
    stand. ``kind`` is needed for mappings that do not name theirs, such as items of a list.
    ``rules`` are those of custom kinds, by default the built-in ones and what was registered.

    Never raises for any JSON content, except RuleError where a user's function that is the rule of
    the kind raises, or answers neither a Readiness nor None. Equal content gives an equal verdict,
    whatever the order of pods and conditions. The verdict is never Ready for want of evidence.
    """
    if obj is None:
        return Readiness(
            state=State.MISSING,
            reason=Reason.NOT_FOUND,
            message="does not exist",
            turn=Reason.NOT_FOUND.turn,
        )
    if isinstance(obj, Resource):
        kind = kind or obj.kind
        obj = obj.content
    group, name = reading.group_and_kind(obj) if kind is None else (kind.group, kind.kind)
    subject = Subject(obj, group=group, kind=name, related=related, now=now)
    return deletion.terminating(subject) or _judged(subject, rules or rulebook.DEFAULT)


def _judged(subject: Subject, rules: Rules) -> Readiness:
    """By the user's rule of the kind, else the built-in one, else the general reading."""
    known = rules.find(subject.group, subject.kind)
    builtin = None if known.own else RULES.get((subject.group, subject.kind))
    if builtin is not None:
        return _not_observed(subject) or builtin(subject)
    verdict = None if known.function is None else _asked(known.function, subject)
    return generic.read(subject, known.reader) if verdict is None else verdict


def _asked(function: UserRule, subject: Subject) -> Readiness | None:
    """The answer of a user's function; its mistakes get the name of the function and the kind."""
    name = f"the rule {getattr(function, '__qualname__', function)} of {subject.kind}"
    try:
        verdict: object = function(subject)
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RuleError(f"{name} raised {wording.capped(what)}, for {subject.name!r}") from error
    if verdict is None or isinstance(verdict, Readiness):
        return verdict
    raise RuleError(
        f"{name} answered with {type(verdict).__name__} for {subject.name!r}: return"
        " subject.verdict(…), or None to leave it to the general reading"
    )


def exists(obj: Mapping[str, Any]) -> Readiness:
    """Judge an object whose existence is all that can be asked of it: Ready unless deleted."""
    group, kind = reading.group_and_kind(obj)
    subject = Subject(obj, group=group, kind=kind, related=None, now=None)
    return deletion.terminating(subject) or cluster.existing(subject)


def _not_observed(subject: Subject) -> Readiness | None:
    """Progressing while the status is about another generation, older or newer (a restore)."""
    value = subject.status.get("observedGeneration")
    if value is None and (subject.group, subject.kind) not in OBSERVING:
        return None
    observed = reading.integer(value)
    if not subject.generation or observed == subject.generation:
        return None
    return generic.not_observed(subject, subject.evidence("status", "observedGeneration"), observed)
