"""Settle an attempt: evidence and outcome in, the owned part of a status out. Pure.

The rules, as one table from the outcome and the worst evidence to the summary:

    ending     evidence        Ready     Reconciling  Stalled
    ---------  --------------  --------  -----------  -------
    observed   all good        True      -            -
    observed   something bad   False     True         True instead, when doomed
    observed   only unknown    Unknown   True         -
    stalled    any             False     -            True
    waiting    nothing doomed  False     True         -
    overdue    nothing doomed  False     -            True (DeadlineExceeded)
    …          something doomed: as observed
    failed     any             False     True         -
    error      something bad   False     True         -
    error      otherwise       Unknown   True         -
    deleting   any             False     True         -

Bad beats unknown beats good; no evidence is never green by itself. Reconciling and Stalled are
present only while True (kstatus). Evidence that an attempt did not gather is Unknown, not what
it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from konstat.base import limits
from konstat.errors import StatusInvalid
from konstat.objects.model import Status, StatusField, status_fields
from konstat.readiness import Readiness, State, Turn
from konstat.status.component import Component
from konstat.status.condition import (
    READY,
    RECONCILING,
    STALLED,
    Condition,
    ConditionStatus,
    usable_message,
    usable_reason,
)
from konstat.status.fields import plain_field
from konstat.status.outcome import Ending, Outcome

# How the message of a Ready that is not True ends (promise 8).
TURN_TEXTS = {
    Turn.USER: "the user must act",
    Turn.OWNER: "the operator's owner must act",
    Turn.NOBODY: "nobody must act: waiting",
}


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What this operator wants its own part of a status to be.

    ``conditions`` are those to have, ``absent`` the owned types that must not be there, ``fields``
    the plain fields by encoded name (None: remove), and ``observed_generation`` what to stamp
    (None: leave what is stored, because the outcome for it is not known yet).
    ``recheck_at`` is the moment after which time alone may change the evidence.
    """

    conditions: tuple[Condition, ...]
    absent: tuple[str, ...]
    fields: Mapping[str, Any]
    observed_generation: int | None
    generation: int
    recheck_at: datetime | None = None

    @property
    def ready(self) -> Condition:
        return next(c for c in self.conditions if c.type == READY)

    def condition(self, type: str) -> Condition | None:
        return next((c for c in self.conditions if c.type == type), None)


class Finding(msgspec.Struct, frozen=True):
    """Evidence that belongs to no component: a problem, or a child applied without one."""

    name: str
    readiness: Readiness


def settle(
    draft: Status,
    outcome: Outcome,
    *,
    generation: int,
    findings: Sequence[Finding] = (),
) -> Settlement:
    """The owned status that an attempt on ``generation`` leads to.

    ``draft`` is the status that the attempt filled in. Raises StatusInvalid, with the path, for
    a value that its declared type refuses; nothing is half done then.
    """
    fields = status_fields(type(draft))
    components = {f.name: _component(draft, f) for f in fields if f.part}
    outcome = _require_reports(draft, fields, components, outcome)
    parts: list[tuple[str, Readiness]] = []
    conditions: list[Condition] = []
    absent: list[str] = []
    for field in fields:
        component = components.get(field.name)
        if component is None:
            continue
        readiness = component.readiness
        if readiness is None and field.optional:
            absent.append(component.type)
            continue
        readiness = readiness or _unobserved(outcome)
        parts.append((component.name, readiness))
        if component.published:
            conditions.append(_component_condition(component.type, readiness, generation))
    parts.extend((finding.name, finding.readiness) for finding in findings)
    summary = _summarize(parts, outcome, generation)
    present = {condition.type for condition in summary}
    absent.extend(type for type in (RECONCILING, STALLED) if type not in present)
    return Settlement(
        conditions=(*summary[:1], *conditions, *summary[1:]),
        absent=tuple(absent),
        fields={
            f.encoded_name: plain_field(f, getattr(draft, f.name)) for f in fields if not f.part
        },
        observed_generation=generation,
        generation=generation,
        recheck_at=min((r.recheck_at for _, r in parts if r.recheck_at), default=None),
    )


def started(generation: int, *, deleting: bool = False) -> Settlement:
    """The reset of promise 1: a new generation is being worked on and nothing is known of it.

    ``deleting`` says that the work is a cleanup (promise 11).
    Touches only the summary: components keep their old observations with their old generation,
    and ``status.observedGeneration`` stays, which says that they are old.
    """
    status, reason = ("False", "Terminating") if deleting else ("Unknown", "NewGeneration")
    message = "cleanup goes on" if deleting else f"generation {generation} is being worked on"
    message = _with_turn(message, Turn.NOBODY)
    return Settlement(
        conditions=(
            _condition(READY, status, reason, message, generation),
            _condition(RECONCILING, "True", reason, message, generation),
        ),
        absent=(STALLED,),
        fields={},
        observed_generation=None,
        generation=generation,
    )


def refused(generation: int, *, reason: str, message: str) -> Settlement:
    """The smaller honest status for one that could not be written (promise 7).

    Only the summary: Ready=Unknown says why; fields and components stay as they are stored.
    """
    text = _with_turn(message, Turn.OWNER)
    return Settlement(
        conditions=(
            _condition(READY, "Unknown", reason, text, generation),
            _condition(RECONCILING, "True", reason, text, generation),
        ),
        absent=(STALLED,),
        fields={},
        observed_generation=generation,
        generation=generation,
    )


def _component(draft: Status, field: StatusField) -> Component:
    """The part that an attempt reported on; an optional one may have been set to None."""
    value = getattr(draft, field.name)
    if value is None and field.optional and field.part is not None:
        value = field.part.begin(field)
    if not isinstance(value, Component):
        raise StatusInvalid(
            path=f"status.{field.name}",
            problem=f"is a {type(value).__name__}: call .good(…), .bad(…) or .unknown(…) on it"
            " instead of assigning",
        )
    return value


def _require_reports(
    draft: Status,
    fields: Sequence[StatusField],
    components: Mapping[str, Component],
    outcome: Outcome,
) -> Outcome:
    """An attempt that ended well must have reported every part that is not optional."""
    if outcome.ending is not Ending.OBSERVED:
        return outcome
    for field in fields:
        if field.part and not field.optional and not components[field.name].reported:
            return Outcome(
                ending=Ending.ERROR,
                reason="ComponentNotReported",
                message=(
                    f"reconcile returned without evidence for {type(draft).__name__}.{field.name}:"
                    f" pass component=status.{field.name} to context.apply,"
                    f" call status.{field.name}.good(…), or declare it `Component | None`"
                ),
                turn=Turn.OWNER,
            )
    return outcome


def _unobserved(outcome: Outcome) -> Readiness:
    why = f" ({outcome.reason})" if outcome.reason else ""
    return Readiness(
        state=State.UNKNOWN,
        reason="NotObserved",
        message=f"the attempt ended before this part was observed{why}",
        turn=Turn.NOBODY,
        evidence=(),
        generation=0,
    )


def _component_condition(type: str, readiness: Readiness, generation: int) -> Condition:
    return _condition(
        type, _status_of(readiness.state), readiness.reason, readiness.message, generation
    )


def _status_of(state: State) -> ConditionStatus:
    if state is State.READY:
        return "True"
    return "Unknown" if state is State.UNKNOWN else "False"


def _summarize(
    parts: Sequence[tuple[str, Readiness]], outcome: Outcome, generation: int
) -> list[Condition]:
    """Ready, and Reconciling or Stalled while it is not True."""
    waits = outcome.ending in (Ending.WAITING, Ending.OVERDUE)
    doomed_part = any(r.state is State.FAILED for _, r in parts)
    if outcome.ending is Ending.OBSERVED or (waits and doomed_part):
        # Waiting for what cannot come: the cause and whose turn it is are in the evidence.
        return _summarize_evidence(parts, generation)
    bad = any(r.state not in (State.READY, State.UNKNOWN) for _, r in parts)
    unknown = outcome.ending is Ending.ERROR and not bad
    doomed = outcome.ending in (Ending.STALLED, Ending.OVERDUE)
    return _not_ready(
        "Unknown" if unknown else "False",
        outcome.reason,
        outcome.message,
        outcome.turn,
        generation,
        doomed=doomed,
    )


def _summarize_evidence(parts: Sequence[tuple[str, Readiness]], generation: int) -> list[Condition]:
    issues = sorted(
        ((name, r) for name, r in parts if r.state is not State.READY),
        key=lambda part: (_status_of(part[1].state) == "Unknown", -part[1].state.severity),
    )
    if not issues:
        return [_condition(READY, "True", "Ready", _good_message(parts), generation)]
    worst = issues[0][1]
    # Unknown parts do not blur what is known to be wrong, but they are named after it.
    reasons = {r.reason for _, r in issues if r.state is worst.state}
    return _not_ready(
        "Unknown" if worst.state is State.UNKNOWN else "False",
        worst.reason if len(reasons) == 1 else "MultipleIssues",
        _issues_message(issues),
        worst.turn,
        generation,
        doomed=worst.state is State.FAILED or all(r.state is State.SUSPENDED for _, r in issues),
    )


def _not_ready(
    status: ConditionStatus,
    reason: str,
    message: str,
    turn: Turn,
    generation: int,
    *,
    doomed: bool,
) -> list[Condition]:
    text = _with_turn(message, turn)
    second = STALLED if doomed else RECONCILING
    return [
        _condition(READY, status, reason, text, generation),
        _condition(second, "True", reason, text, generation),
    ]


def _with_turn(message: str, turn: Turn) -> str:
    """Cause first, then whose turn it is; the latter survives a cut of the former."""
    suffix = f" ({TURN_TEXTS[turn]})"
    room = limits.MESSAGE_CHARACTERS - len(suffix)
    cause = usable_message(message)
    if len(cause) > room:
        cause = cause[: room - 1] + "…"
    return cause + suffix


def _good_message(parts: Sequence[tuple[str, Readiness]]) -> str:
    if not parts:
        return "all checks passed"
    names = sorted({name for name, _ in parts})
    shown = ", ".join(names[: limits.MESSAGE_NAMES])
    rest = len(names) - limits.MESSAGE_NAMES
    more = f" and {rest} more" if rest > 0 else ""
    return f"{shown}{more} {'is' if len(names) == 1 else 'are'} ready"


def _issues_message(issues: Sequence[tuple[str, Readiness]]) -> str:
    shown = [f"{name}: {r.message or r.reason}" for name, r in issues[: limits.MESSAGE_CAUSES]]
    rest = len(issues) - limits.MESSAGE_CAUSES
    if rest > 0:
        shown.append(f"and {rest} more")
    return "; ".join(shown)


def _condition(
    type: str, status: ConditionStatus, reason: str, message: str, generation: int
) -> Condition:
    return Condition(
        type=type,
        status=status,
        reason=usable_reason(reason),
        message=usable_message(message),
        observed_generation=generation,
    )
