"""`Component`: a named part of a resource that one attempt gathers evidence for.

A component is declared as a field of the status class and becomes a condition (``workload`` →
``WorkloadReady``). It holds what children and the author reported in the current attempt and
nothing older; `konstat.status.settle` turns that into conditions.
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

from konstat.errors import ModelError
from konstat.objects.model import StatusField, StatusPart
from konstat.readiness import Readiness, State, Turn, aggregate
from konstat.status.condition import require_words, usable_message, usable_reason
from konstat.status.outcome import usable_turn


class Component(StatusPart):
    """One named part of a resource and the evidence for it from the current attempt.

    As a default in a status class it declares: ``certificates: Component =
    Component(type="CertsReady")`` names the condition, ``published=False`` keeps it out of the
    conditions while it still counts for the summary.
    """

    __slots__ = ("_evidence", "name", "published", "type")

    def __init__(self, *, type: str = "", published: bool = True, name: str = "") -> None:
        self.name = name
        self.type = type
        self.published = published
        self._evidence: dict[str, Readiness] = {}

    @classmethod
    def begin(cls, field: StatusField) -> Self:
        declared = field.default()
        if declared is None or declared is msgspec.NODEFAULT:
            declared = cls()
        if not isinstance(declared, cls):
            raise ModelError(f"the default of component {field.name!r} is {declared!r}")
        words = (word[:1].upper() + word[1:] for word in field.name.split("_") if word)
        return cls(
            name=field.name,
            type=declared.type or "".join(words) + "Ready",
            published=declared.published,
        )

    def __bool__(self) -> bool:
        return True

    @property
    def reported(self) -> bool:
        """Whether anything was reported in this attempt."""
        return bool(self._evidence)

    @property
    def readiness(self) -> Readiness | None:
        """The verdict over everything reported; None when nothing was."""
        if not self._evidence:
            return None
        if list(self._evidence) == [self.name]:  # by hand: the part is its own evidence
            return self._evidence[self.name]
        return aggregate(list(self._evidence.items()))

    def observe(self, name: str, readiness: Readiness) -> None:
        """Report what was observed of the child ``name``; a later report replaces an earlier.

        Raises TypeError for what is no Readiness.
        """
        if not isinstance(readiness, Readiness):
            raise TypeError(
                f"status.{self.name}.observe({name!r}, …) takes a Readiness, as"
                f" konstat.readiness.compute gives it, not {readiness!r}"
            )
        self._evidence[name] = readiness

    def good(self, reason: str = "Good", message: str = "") -> None:
        """Report by hand that this part is as it should be."""
        self._by_hand(State.READY, reason, message, Turn.NOBODY)

    def bad(self, reason: str, message: str, *, turn: Turn = Turn.USER) -> None:
        """Report by hand that this part is broken and stays so until ``turn`` acts."""
        self._by_hand(State.FAILED, reason, message, turn)

    def progressing(self, reason: str, message: str) -> None:
        """Report by hand that this part is on its way; nobody must act."""
        self._by_hand(State.PROGRESSING, reason, message, Turn.NOBODY)

    def unknown(self, reason: str, message: str, *, turn: Turn = Turn.NOBODY) -> None:
        """Report by hand that this part could not be judged."""
        self._by_hand(State.UNKNOWN, reason, message, turn)

    def _by_hand(self, state: State, reason: str, message: str, turn: Turn) -> None:
        require_words(f"status.{self.name}", reason, message)
        self._evidence[self.name] = Readiness(
            state=state,
            reason=usable_reason(reason),
            message=usable_message(message),
            turn=usable_turn(turn),
            evidence=(),
            generation=0,
        )

    def __repr__(self) -> str:
        return f"<Component {self.name} {self.readiness}>"

    def __eq__(self, other: Any) -> bool:
        return self is other

    __hash__ = object.__hash__
