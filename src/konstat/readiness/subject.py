"""`Subject`: the object under judgement with all that a rule may look at.

`compute` builds one and gives it to the rule of the kind; a rule answers with `Subject.verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from konstat.base import limits
from konstat.errors import KindUnavailable
from konstat.readiness import reading, wording
from konstat.readiness.reading import Condition
from konstat.readiness.related import Related
from konstat.readiness.verdict import Evidence, Readiness, Reason, State, Turn

EventsOf = Callable[[str], Sequence[Mapping[str, Any]]]


class Found(NamedTuple):
    """Objects that were looked up; ``problem`` says why the answer is not one, or is empty."""

    objects: tuple[Mapping[str, Any], ...]
    problem: str


class Subject:
    """One object, read tolerantly, and the lookup of related ones.

    ``now`` is None when the caller has no time to give: then rules that need it assume the worse.
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        *,
        group: str,
        kind: str,
        related: Related | None,
        now: datetime | None,
    ) -> None:
        self.content = content
        self.group = group
        self.kind = kind
        self.now = now
        self._related = related
        self._told: EventsOf | None = getattr(related, "events_of", None)
        self._found: dict[tuple[str, str, str, str], Mapping[str, Any] | None] = {}
        self._unreadable: dict[tuple[str, str], str] = {}
        self.metadata = reading.mapping(content.get("metadata"))
        self.spec = reading.mapping(content.get("spec"))
        self.status = reading.mapping(content.get("status"))
        self.name = reading.text(self.metadata.get("name"))
        self.namespace = reading.text(self.metadata.get("namespace"))
        self.uid = reading.text(self.metadata.get("uid"))
        self.generation = reading.count(self.metadata.get("generation"))

    @cached_property
    def conditions(self) -> list[Condition]:
        """The readable conditions, as listed."""
        return reading.conditions(self.status.get("conditions"))

    def condition(self, name: str, *, bad: str = "False") -> Condition | None:
        """The condition of type ``name``; of duplicates, the one closest to ``bad``."""
        return reading.condition(self.conditions, name, bad=bad)

    def is_true(self, name: str) -> bool:
        """Whether the condition ``name``, of which True is bad news, is True."""
        found = self.condition(name, bad="True")
        return found is not None and found.status == "True"

    def owned(self, group: str, kind: str) -> Found:
        """The objects of a kind that this one owns."""
        return self.owned_by(self.uid, group, kind)

    def owned_by(self, uid: str, group: str, kind: str) -> Found:
        """The objects of a kind that the object ``uid`` owns."""
        if self._related is None or not uid:
            return Found((), f"{kind} objects were not looked at")
        try:
            return Found(tuple(self._related.owned_by(uid, group, kind)), "")
        except KindUnavailable as error:
            return Found((), _unread(kind, error))

    def find(self, group: str, kind: str, *, name: str, namespace: str = "") -> Found:
        """One object by name; no objects and no problem when it does not exist."""
        if self._related is None:
            return Found((), f"{kind} {name} was not looked at")
        # Many pods share one node, and a kind that cannot be read is asked for once.
        problem = self._unreadable.get((group, kind))
        if problem is not None:
            return Found((), problem)
        place = (group, kind, namespace, name)
        if place not in self._found:
            try:
                self._found[place] = self._related.find(group, kind, namespace, name)
            except KindUnavailable as error:
                problem = self._unreadable[group, kind] = _unread(kind, error)
                return Found((), problem)
        found = self._found[place]
        return Found(() if found is None else (found,), "")

    def events_of(self, uid: str) -> tuple[Mapping[str, Any], ...]:
        """The Events about the object ``uid``; none where the lookup has none to give."""
        if not uid or self._told is None:
            return ()
        try:
            return tuple(self._told(uid))
        except KindUnavailable:
            # They expire anyway: a rule may never take their absence for a sign.
            return ()

    def verdict(
        self,
        state: State,
        reason: Reason,
        message: str,
        *,
        evidence: Iterable[Evidence] = (),
        turn: Turn | None = None,
        recheck_at: datetime | None = None,
    ) -> Readiness:
        """A verdict on this object; ``turn`` defaults to the reason's."""
        return Readiness(
            state=state,
            reason=reason,
            message=wording.capped(message),
            turn=reason.turn if turn is None else turn,
            evidence=tuple(map(_bounded, tuple(evidence)[: limits.READINESS_EVIDENCE])),
            generation=self.generation,
            recheck_at=recheck_at,
        )

    def evidence(self, *path: str) -> Evidence:
        """What stands at ``path`` of the object, as evidence; containers count as None."""
        value = reading.at(self.content, *path)
        scalar = value if isinstance(value, str | int | float | bool) else None
        return Evidence(".".join(path), scalar)


def _bounded(entry: Evidence) -> Evidence:
    """``entry`` with texts that others wrote cut to `limits.MESSAGE_CHARACTERS`."""
    path, value = entry.path, entry.value
    most = limits.MESSAGE_CHARACTERS
    if len(path) <= most and not (isinstance(value, str) and len(value) > most):
        return entry
    cut = wording.capped(value) if isinstance(value, str) else value
    return Evidence(wording.capped(path), cut)


def evidence_of(condition: Condition) -> Evidence:
    """A condition's status as evidence."""
    return Evidence(condition.path, condition.status)


def told(condition: Condition) -> str:
    """``condition Ready is False (Reason): message``, steady."""
    reason = f" ({wording.steady(condition.reason)})" if condition.reason else ""
    statement = f"condition {wording.steady(condition.type)} is {condition.status}{reason}"
    return wording.with_detail(statement, wording.steady(condition.message))


def not_reported(subject: Subject) -> Readiness:
    """Unknown, because nobody has written the status of a kind that has one."""
    return subject.verdict(
        State.UNKNOWN, Reason.STATUS_NOT_REPORTED, "no controller has written the status"
    )


def advised(subject: Subject, reason: Reason, text: str, seen: Evidence) -> Readiness:
    """Failed for ``reason``: ``text``, then what to do about it."""
    message = wording.sentence(text, reason.advice)
    return subject.verdict(State.FAILED, reason, message, evidence=[seen])


def _unread(kind: str, error: KindUnavailable) -> str:
    return f"{kind} objects could not be read: {wording.steady(str(error))}"
