"""Finding the signals in a status of any form: one bounded walk, guided by the names of fields.

On the root of the status, conditions, phases, flags, counts, errors and records of operations are
read in full; inside of it, in components, listeners or parents, only what speaks against the
object counts, and the conditions that Gateway API keeps per parent. Each value is visited once,
and no more than `limits.READINESS_NODES` of them, no deeper than `limits.READINESS_DEPTH`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from konstat.base import limits
from konstat.readiness import accomplishments, counts, failurenumbers, reading, wording
from konstat.readiness.fieldtexts import (
    Beside,
    decides_for_parent,
    first_text,
    is_condition,
    is_current,
    is_echo,
    is_grave,
    names_parts,
    text_beside,
)
from konstat.readiness.judging import DOUBT, of_condition
from konstat.readiness.keys import KeyRole, names_kind, role_of_key
from konstat.readiness.kindrule import KindRule, Meaning, Outcome
from konstat.readiness.paths import found_at, joined, parse_path
from konstat.readiness.phaseoutcomes import outcome as outcome_of
from konstat.readiness.signals import SOFT, WEAK, Reader, Signal, failure, of_outcome, shown
from konstat.readiness.verdict import Evidence, Reason, State
from konstat.readiness.vocabulary import SOFT_FAILURES
from konstat.readiness.words import Sense, has_ended, is_not_ready, of_message, of_phase, split

_INNER: Final = (
    "state", "status", "phase", "code", "health", "result", "value", "name", "currentStateSummary",
)  # fmt: skip
_OUTCOME_KEYS: Final = ("state", "status", "phase", "result", "outcome")
_HARMLESS: Final = frozenset(
    ("", "none", "null", "nil", "<nil>", "ok", "success", "no error", "noerror", "{}", "0", "200")
)
_DIGITS: Final = 7
_CONTAINERS: Final = (dict, list, tuple, Mapping)


class Walk:
    """One walk over a status; ``signals`` is what it found, ``generations`` the observed ones.

    ``dated`` tells that a condition names its generation, ``types`` are those of the object's own
    conditions, ``doubted`` that one that nobody knows is not True. ``visited`` counts the values
    that were looked at; ``cut`` tells that a bound ended the walk.
    """

    def __init__(self, content: Mapping[str, Any], reader: Reader, *, generation: int) -> None:
        self.content = content
        self.reader = reader
        self.generation = generation
        self.signals: list[Signal] = []
        self.generations: list[tuple[str, Any]] = []
        self.types: set[str] = set()
        self.visited = 0
        self.cut = self.doubted = self.dated = False
        self.wholes: set[str] = set()  # parts that tell of the whole object

    def run(self, status: Any) -> None:
        """Walk ``status`` and read the paths that the kind's rule names."""
        if isinstance(status, str):
            self._phase("status", status, whole=True)
        elif isinstance(status, Mapping):
            self._mapping(status, "status", 0)
        rule = self.reader.rule
        if rule is not None:
            self._by_rule(rule)

    def add(self, signal: Signal | None) -> None:
        if signal is not None:
            self.signals.append(signal)

    # --- the walk ---------------------------------------------------------------------------

    def _mapping(self, node: Mapping[str, Any], place: str, depth: int) -> None:
        if depth > limits.READINESS_DEPTH:
            self.cut = True
            return
        if depth > 0 and is_echo(node):
            return
        if depth > 0 and names_parts(node):
            for key, word in node.items():
                self._phase(joined(place, str(key)), word, whole=False, nested=True)
            self.visited += len(node)
            return
        beside = Beside({}, [])
        for key, value in node.items():
            self.visited += 1
            if self.visited > limits.READINESS_NODES:
                self.cut = True
                return
            if isinstance(key, str):
                self._field(node, place, key, value, depth, beside)
        self._together(node, place, beside, depth)

    def _together(self, node: Mapping[str, Any], place: str, beside: Beside, depth: int) -> None:
        """What the fields of one mapping say together."""
        nested = depth > 0
        if beside.numbers:
            content = {} if nested and place not in self.wholes else self.content
            self.signals += counts.signals(
                beside.numbers, content, place, nested=nested, bounded=self.reader.counts_runs
            )
            self.signals += failurenumbers.signals(
                beside.numbers, node, place, depth=depth, counts_runs=self.reader.counts_runs
            )
        if beside.versions:
            self.signals += counts.moving(node, place, nested=nested)

    def _field(
        self,
        node: Mapping[str, Any],
        place: str,
        key: str,
        value: Any,
        depth: int,
        beside: Beside,
    ) -> None:
        if len(key) > limits.READINESS_WORD_CHARACTERS:  # no name of a field; it is not remembered
            if isinstance(value, _CONTAINERS):
                self._container(KeyRole.PART, joined(place, key), value, depth)
            return
        role = role_of_key(key)
        if isinstance(value, str) and len(value) < _DIGITS and value.isdecimal():
            beside.numbers[key] = int(value)  # "3", as some write their counts
        if value is None or (role is KeyRole.SKIP and not isinstance(value, int)):
            return
        if self.reader.marked and self._is_marked(joined(place, key)):
            return
        if isinstance(value, str):
            if role is not KeyRole.PART:
                self._text(role, node, place, key, value, depth, beside)
        elif role is KeyRole.GENERATION:
            if depth == 0:
                self.generations.append((joined(place, key), value))
        elif isinstance(value, bool):
            if role is not KeyRole.SKIP:
                self._boolean(role, node, place, key, value, depth)
        elif isinstance(value, int):
            beside.numbers[key] = value
        elif isinstance(value, _CONTAINERS):
            self._container(role, joined(place, key), value, depth)

    def _is_marked(self, path: str) -> bool:
        """Whether the kind's rule reads a path itself, or leaves it out."""
        return path in self.reader.ignored or path in self.reader.explained

    def _container(self, role: KeyRole, place: str, value: Any, depth: int) -> None:
        if role is KeyRole.CONDITIONS:
            self._conditions(value, place, depth)
        elif role in (KeyRole.ERROR, KeyRole.BAD_FLAG):
            self._error(place, value)
        elif isinstance(value, Mapping):
            if isinstance(value.get("type"), str) and isinstance(value.get("status"), str | bool):
                self._conditions((value,), place, depth + 1)
            elif role is KeyRole.RECORD and depth == 0:
                self._record(place, value)
            elif depth == 0 and (role is KeyRole.PHASE or role is KeyRole.SIDE_PHASE):
                self._worded(place, value, self._is_whole(role, place.rpartition(".")[2]))
            elif depth == 0 and role is KeyRole.WHOLE:
                self._worded(place, value, True)
            else:
                self._mapping(value, place, depth + 1)
        elif role is KeyRole.LACKING and value:
            text = f"{place.removeprefix('status.')} lists {len(value)}"
            self._say(State.PROGRESSING, Reason.COUNTS_NOT_MET, text, place, len(value))
        else:
            self._list(value, place, depth)

    def _list(self, values: Any, place: str, depth: int) -> None:
        if depth > limits.READINESS_DEPTH:
            self.cut = True
            return
        if values and all(is_condition(entry) for entry in values[:3]):
            self._conditions(values, place, depth + 1)
            return
        for index, value in enumerate(values):
            self.visited += 1
            if self.visited > limits.READINESS_NODES:
                self.cut = True
                return
            if isinstance(value, Mapping):
                self._mapping(value, f"{place}[{index}]", depth + 1)
            elif isinstance(value, list | tuple):
                self._list(value, f"{place}[{index}]", depth + 1)

    def _conditions(self, value: Any, place: str, depth: int) -> None:
        """A list of conditions, or a mapping of them by their types."""
        if isinstance(value, Mapping):
            for name, raw in value.items():
                if raw == "Unknown" or (
                    isinstance(raw, str | bool) and reading.three_valued(raw) != "Unknown"
                ):
                    raw = {"status": raw}
                self._condition(raw, place, depth > 0, name if isinstance(name, str) else "")
        else:
            for raw in value:
                self._condition(raw, place, depth > 0, "")

    def _condition(self, raw: Any, place: str, nested: bool, name: str) -> None:
        self.visited += 1
        if self.visited > limits.READINESS_NODES:
            self.cut = True
            return
        if type(raw) is not dict and not isinstance(raw, Mapping):
            return
        reader = self.reader
        signal = of_condition(reader, raw, self.generation, place, nested, name)
        if signal is DOUBT:
            self.doubted = True
        elif signal is not None:
            if nested and decides_for_parent(signal, place):
                signal = msgspec.structs.replace(signal, decides=True)
            self.signals.append(signal)
        if raw.get("errors"):  # a list of what is wrong, whatever the status says
            self._error(f"{place}.errors", raw["errors"])
        if not self.dated and raw.get("observedGeneration"):
            self.dated = True
        if reader.required and not nested:
            self.types.add(reading.text(raw.get("type")) or name)

    # --- single fields ----------------------------------------------------------------------

    def _boolean(
        self, role: KeyRole, node: Mapping[str, Any], place: str, key: str, value: bool, depth: int
    ) -> None:
        path = joined(place, key)
        nested = depth > 0
        if key == "health":
            role = KeyRole.FLAG
        if role in (KeyRole.FLAG, KeyRole.SIDE_FLAG):
            if value:
                decides = role is KeyRole.FLAG and not nested
                worth = accomplishments.of_flag(key, self.reader.kind)
                self._good(path, value, worth, decides=decides, nested=nested)
            else:
                self._not_so(path, node, nested)
        elif role in (KeyRole.BAD_FLAG, KeyRole.ERROR) and value:
            full = wording.with_detail(shown(path, value), text_beside(node))
            self._say(State.FAILED, failure(key, full), full, path, value, False, nested)
        elif role is KeyRole.WORK_FLAG and value:
            ends = key.startswith(("delet", "terminat"))
            state = State.TERMINATING if ends else State.PROGRESSING
            reason = Reason.DELETING if ends else Reason.RECONCILING
            self._say(state, reason, "", path, value, nested=nested)
        elif role is KeyRole.PAUSE_FLAG and value and not nested:
            self._say(State.SUSPENDED, Reason.PAUSED, "", path, value, True)

    def _not_so(self, path: str, node: Mapping[str, Any], nested: bool) -> None:
        rank = WEAK if path.endswith("ctive") else 0
        detail = text_beside(node)
        full = wording.with_detail(shown(path, False), detail)
        if path.endswith((".valid", ".isValid")):
            state, reason = State.FAILED, Reason.CONFIGURATION_REFUSED
        elif of_message(detail) is Sense.FAILED:
            state, reason = State.FAILED, failure("", detail)
        else:
            state, reason = State.PROGRESSING, Reason.CONDITION_NOT_MET
        self._say(state, reason, full, path, False, nested=nested, rank=rank)

    def _text(
        self,
        role: KeyRole,
        node: Mapping[str, Any],
        place: str,
        key: str,
        value: str,
        depth: int,
        beside: Beside,
    ) -> None:
        if role is KeyRole.PHASE:
            self._phase(joined(place, key), value, whole=depth == 0, node=node)
        elif role is KeyRole.SIDE_PHASE:
            whole = depth == 0 and names_kind(key, self.reader.kind)
            self._phase(joined(place, key), value, whole=whole, node=node, nested=depth > 0)
        elif role is KeyRole.RECORD:
            self._phase(joined(place, key), value, whole=False, node=node, nested=depth > 0)
        elif role is KeyRole.ERROR:
            self._error(joined(place, key), value)
        elif role is KeyRole.GENERATION:
            if depth == 0:
                self.generations.append((joined(place, key), value))
        elif role is KeyRole.REASON:
            if (depth == 0 or place.endswith(".waiting")) and of_phase(value) is Sense.FAILED:
                self._phase(joined(place, key), value, whole=False, node=node, nested=depth > 0)
        elif role is KeyRole.LEVEL:
            if is_grave(place, value):
                path = joined(place, key)
                full = wording.with_detail(shown(path, value), text_beside(node))
                self._say(State.FAILED, failure("", full), full, path, value, nested=True)
        elif role is KeyRole.VERSION:
            beside.versions.append(key)
        else:
            flag = reading.three_valued(value)
            if flag != "Unknown":
                self._boolean(role, node, place, key, flag == "True", depth)
            elif role in (KeyRole.FLAG, KeyRole.SIDE_FLAG, KeyRole.COUNT):
                self._fraction(joined(place, key), value, role, depth)

    def _fraction(self, path: str, value: str, role: KeyRole, depth: int) -> None:
        """``3/3``, as printer columns like it."""
        have, slash, wanted = value.partition("/")
        if not slash or not (have.strip().isdecimal() and wanted.strip().isdecimal()):
            return
        text = shown(path, value)
        if reading.integer(have.strip()) < reading.integer(wanted.strip()):
            self._say(State.PROGRESSING, Reason.COUNTS_NOT_MET, text, path, value, False, depth > 0)
        elif reading.integer(wanted.strip()) > 0:
            decides = role is KeyRole.FLAG and depth == 0
            worth = accomplishments.PART if role is KeyRole.COUNT else accomplishments.STEP
            self._good(path, value, worth, decides=decides, nested=depth > 0)

    def _is_whole(self, role: KeyRole, key: str) -> bool:
        """Whether a word at the root of the status is about the whole object."""
        return role is KeyRole.PHASE or names_kind(key, self.reader.kind)

    def _worded(self, place: str, value: Mapping[str, Any], whole: bool) -> None:
        """A phase that is an object: ``applicationState: {state: RUNNING}``."""
        for key in _INNER:
            word = value.get(key)
            if isinstance(word, str):
                path = joined(place, key)
                if not self._is_marked(path):
                    self._phase(path, word, whole=whole, node=value)
                self.wholes |= {place} if whole else set()
                rest = {k: v for k, v in value.items() if k != key}
                self._mapping(rest, place, 1)
                return
        self._mapping(value, place, 1)

    def _record(self, place: str, value: Mapping[str, Any]) -> None:
        """The last operation: a failure or work counts, a success only supports."""
        for key in ("success", "succeeded"):
            if value.get(key) is False:
                path = joined(place, key)
                detail = text_beside(value)
                full = wording.with_detail(shown(path, False), detail)
                self._say(State.FAILED, failure("", detail), full, path, False)
        for key in _OUTCOME_KEYS:
            word = value.get(key)
            path = joined(place, key)
            if isinstance(word, str) and not self._is_marked(path):
                if of_phase(word) is Sense.COMPLETED and is_current(place, value):
                    self._good(path, word, accomplishments.WHOLE)
                else:
                    self._phase(path, word, whole=False, node=value)
                return

    def _phase(
        self,
        path: str,
        word: str,
        *,
        whole: bool,
        node: Mapping[str, Any] | None = None,
        nested: bool | None = None,
    ) -> None:
        sense = of_phase(word)
        if sense is Sense.NOTHING:
            self.doubted = self.doubted or (whole and bool(word))
            return
        if whole and self.reader.pending and sense in (Sense.GOOD, Sense.READY):
            sense = Sense.COMPLETED if has_ended(word) else sense
        if nested is None:
            nested = not whole and path.count(".") > 2
        outcome = outcome_of(sense, word, self.reader, whole=whole)
        if outcome is None:
            return
        state, reason, decides = outcome
        if state is State.READY:
            worth = self._worth(sense, path, word, whole)
            self._good(path, word, worth, decides=decides, nested=nested, reason=reason)
            return
        text = ""
        if node is not None:
            detail = text_beside(node)
            text = wording.with_detail(shown(path, word), detail)
            if is_not_ready(word) and of_message(detail) is Sense.FAILED:
                state = State.FAILED
            if state is State.FAILED:
                reason = failure(word, detail)
        rank = SOFT if state is State.FAILED and not SOFT_FAILURES.isdisjoint(split(word)) else 0
        self._say(state, reason, text, path, word, decides, nested, rank)

    def _worth(self, sense: Sense, path: str, word: str, whole: bool) -> int:
        if sense is Sense.EARLY:
            return accomplishments.STEP
        if whole:
            return accomplishments.of_phase(word)
        if sense is Sense.GOOD or path.count(".") > 1:
            return accomplishments.NEUTRAL
        return accomplishments.of_key(path.rpartition(".")[2], self.reader.kind)

    def _good(
        self,
        path: str,
        value: str | bool,
        worth: int,
        *,
        decides: bool = False,
        nested: bool = False,
        reason: Reason = Reason.CONDITIONS_MET,
    ) -> None:
        """A signal of good news."""
        if len(self.signals) >= limits.READINESS_NODES:
            return
        evidence = Evidence(path, value)
        rank = 8 if nested else 6
        if nested:
            worth = accomplishments.NEUTRAL
        self.signals.append(
            Signal(State.READY, reason, "", evidence, decides, nested, rank, worth=worth)
        )

    def _error(self, path: str, value: Any) -> None:
        text = first_text(value)
        if not text or text.strip().lower() in _HARMLESS:
            return
        self._say(
            State.FAILED,
            failure("", text),
            wording.with_detail(path.removeprefix("status."), wording.steady(text)),
            path,
            text[: limits.READINESS_DETAIL_CHARACTERS],
            False,
            path.count(".") > 1,
        )

    def _say(
        self,
        state: State,
        reason: Reason,
        text: str,
        path: str,
        value: str | bool | int,
        decides: bool = False,
        nested: bool = False,
        rank: int = 0,
    ) -> None:
        if len(self.signals) < limits.READINESS_NODES:
            rank = rank or (8 if nested else 6)
            self.signals.append(
                Signal(state, reason, text, Evidence(path, value), decides, nested, rank)
            )

    # --- what the kind's rule names ---------------------------------------------------------

    def _by_rule(self, rule: KindRule) -> None:
        for path, meanings in rule.phases.items():
            for place, value in found_at(self.content, parse_path(path)):
                self._explain(place, value, meanings)
        for path in rule.errors:
            for place, value in found_at(self.content, parse_path(path)):
                self._error(place, value)
        for path in rule.generation:
            for place, value in found_at(self.content, parse_path(path)):
                self.generations.append((place, value))
        for count in rule.counts:
            self.add(counts.of_rule(count, self.content))

    def _explain(self, place: str, value: Any, meanings: Mapping[str, Outcome | Meaning]) -> None:
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str | int):
            return
        word = str(value)
        known = meanings.get(word)
        if known is None:
            self._phase(place, word, whole=True, node=self._beside(place))
            return
        detail = text_beside(self._beside(place)) if known not in ("Ready", "Completed") else ""
        text = shown(place, word)
        self.add(
            of_outcome(
                known,
                text=wording.with_detail(text, detail),
                path=place,
                value=word,
                words=(word, detail),
            )
        )

    def _beside(self, place: str) -> Mapping[str, Any]:
        """The mapping in which the last step of ``place`` stands."""
        parent = self.content
        for step in parse_path(place)[:-1]:
            parent = reading.mapping(parent).get(step)
        return reading.mapping(parent)
