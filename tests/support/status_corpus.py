"""The corpus of statuses in tests/corpus: read and checked, judged, and counted per API group.

`samples` reads the files and refuses what does not have the form that tests/corpus/README.md
tells; `judge` compares one verdict with a sample; `Tally` counts and `table` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from konstat.base.yamltext import load_yaml
from konstat.readiness import Readiness, State, Turn, deletion, generic, reading
from konstat.readiness.subject import Subject

FOLDER = Path(__file__).resolve().parents[1] / "corpus"
Compute = Callable[[Mapping[str, Any]], Readiness]

_FILE_KEYS = {"group", "source", "samples"}
_REQUIRED = {"name", "state", "why", "object"}
_OPTIONAL = {"accept", "turn", "needs_rule"}
_STATES = {state.value for state in State} - {State.MISSING.value}
_TURNS = {turn.value for turn in Turn}


class CorpusError(Exception):
    """A corpus file that does not have the form of the README; the message says where and what."""


@dataclass(frozen=True)
class Sample:
    """One object and the verdicts on it that are honest, the best one first."""

    group: str
    name: str
    state: State
    accept: tuple[State, ...]
    turn: Turn | None
    why: str
    object: Mapping[str, Any]
    needs_rule: bool = False

    @property
    def kind(self) -> str:
        return self.object["kind"]

    @property
    def honest(self) -> tuple[State, ...]:
        return (self.state, *self.accept)


@cache
def samples() -> tuple[Sample, ...]:
    """Every sample of every file; raises CorpusError for the first one that is malformed."""
    found: list[Sample] = []
    groups: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        group, read = parse(load_yaml(path.read_text("utf-8"), source=path.name), path.name)
        if group in groups:
            raise CorpusError(f"{path.name}: the group {group!r} stands in {groups[group]} too")
        groups[group] = path.name
        found += read
    return tuple(found)


def parse(content: Any, source: str) -> tuple[str, list[Sample]]:
    """The group and the samples of one file's content; ``source`` names it in errors."""
    if not isinstance(content, dict) or set(content) != _FILE_KEYS:
        raise CorpusError(f"{source}: must be a mapping with the keys {sorted(_FILE_KEYS)}")
    group = content["group"]
    if not isinstance(group, str) or source not in (f"{group}.yaml", f"{group or 'core'}.yaml"):
        raise CorpusError(f"{source}: group {group!r} does not give the file its name")
    if not isinstance(content["source"], str) or not content["samples"]:
        raise CorpusError(f"{source}: source must be text and samples a list that is not empty")
    read = [_sample(entry, group, f"{source}: {index}") for index, entry in _numbered(content)]
    names = [sample.name for sample in read]
    if double := {name for name in names if names.count(name) > 1}:
        raise CorpusError(f"{source}: the names {sorted(double)} stand twice")
    return group, read


def _numbered(content: Mapping[str, Any]) -> Iterable[tuple[int, Any]]:
    return enumerate(content["samples"], 1)


def _sample(entry: Any, group: str, where: str) -> Sample:
    if not isinstance(entry, dict):
        raise CorpusError(f"{where}: must be a mapping")
    where = f"{where} ({entry.get('name')})"
    if unknown := set(entry) - _REQUIRED - _OPTIONAL:
        raise CorpusError(f"{where}: unknown keys {sorted(unknown)}")
    if missing := _REQUIRED - set(entry):
        raise CorpusError(f"{where}: missing keys {sorted(missing)}")
    if not all(isinstance(entry[key], str) and entry[key] for key in ("name", "why")):
        raise CorpusError(f"{where}: name and why must be text")
    states = [entry["state"], *_accepted(entry, where)]
    if bad := [state for state in states if state not in _STATES]:
        raise CorpusError(f"{where}: {bad} are no states")
    if len(set(states)) != len(states):
        raise CorpusError(f"{where}: a verdict stands twice")
    if State.READY.value in states and len(states) > 1:
        raise CorpusError(f"{where}: an object is Ready or it is not, nothing stands beside it")
    if "turn" in entry and entry["turn"] not in _TURNS:
        raise CorpusError(f"{where}: {entry['turn']!r} is no turn")
    if entry.get("needs_rule", True) is not True:
        raise CorpusError(f"{where}: needs_rule is true or not there")
    _check_object(entry["object"], group, where)
    return Sample(
        group=group,
        name=entry["name"],
        state=State(states[0]),
        accept=tuple(State(state) for state in states[1:]),
        turn=Turn(entry["turn"]) if "turn" in entry else None,
        why=entry["why"],
        object=entry["object"],
        needs_rule="needs_rule" in entry,
    )


def _accepted(entry: Mapping[str, Any], where: str) -> list[str]:
    accept = entry.get("accept", ["-"])
    if not isinstance(accept, list) or not accept:
        raise CorpusError(f"{where}: accept must be a list of states")
    return [] if accept == ["-"] else accept


def _check_object(content: Any, group: str, where: str) -> None:
    if not isinstance(content, dict) or not isinstance(content.get("kind"), str):
        raise CorpusError(f"{where}: object must be a mapping with a kind")
    if not isinstance(content.get("metadata"), dict) or not content["metadata"].get("name"):
        raise CorpusError(f"{where}: object.metadata needs a name")
    version = content.get("apiVersion")
    if not isinstance(version, str) or (version.rpartition("/")[0]) != group:
        raise CorpusError(f"{where}: apiVersion {version!r} is not of the group {group!r}")


@dataclass(frozen=True)
class Outcome:
    """A sample and the verdict that was computed on it."""

    sample: Sample
    verdict: Readiness

    @property
    def false_green(self) -> bool:
        return self.verdict.ready and self.sample.state is not State.READY

    @property
    def false_red(self) -> bool:
        computed = self.verdict.state
        return self.sample.state is State.READY and computed not in (State.READY, State.UNKNOWN)

    @property
    def exact(self) -> bool:
        return self.verdict.state in self.sample.honest

    @property
    def first(self) -> bool:
        return self.verdict.state is self.sample.state

    @property
    def right_turn(self) -> bool:
        return self.sample.turn in (None, self.verdict.turn)

    @property
    def decidable(self) -> bool:
        return State.UNKNOWN not in self.sample.honest

    @property
    def decided(self) -> bool:
        return self.verdict.state is not State.UNKNOWN

    def __str__(self) -> str:
        wanted = " or ".join(self.sample.honest)
        place = f"{self.sample.group} {self.sample.kind} {self.sample.name}"
        got = f"{self.verdict.state} ({self.verdict.reason}: {self.verdict.message})"
        return f"{place}: wanted {wanted}, computed {got}\n    because {self.sample.why}"


@dataclass(frozen=True)
class Tally:
    """The figures of some outcomes; shares are in percent, and 100 where nothing counts."""

    count: int
    kinds: int
    decided: float
    exact: float
    first: float
    turns: float
    false_green: int
    false_red: int

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Tally:
        every = list(outcomes)
        decidable = [o for o in every if o.decidable]
        turned = [o for o in every if o.first and o.sample.turn is not None]
        return cls(
            count=len(every),
            kinds=len({(o.sample.group, o.sample.kind) for o in every}),
            decided=_share(sum(o.decided for o in decidable), len(decidable)),
            exact=_share(sum(o.exact for o in every), len(every)),
            first=_share(sum(o.first for o in every), len(every)),
            turns=_share(sum(o.right_turn for o in turned), len(turned)),
            false_green=sum(o.false_green for o in every),
            false_red=sum(o.false_red for o in every),
        )


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def general(content: Mapping[str, Any]) -> Readiness:
    """The verdict of the general reading alone: as if nothing were known of the object's kind."""
    group, kind = reading.group_and_kind(content)
    subject = Subject(content, group=group, kind=kind, related=None, now=None)
    return deletion.terminating(subject) or generic.by_conditions(subject, None)


def judged(compute: Compute, chosen: Iterable[Sample] | None = None) -> list[Outcome]:
    """The verdict of ``compute`` on each sample, of all where none are given."""
    some = samples() if chosen is None else chosen
    return [Outcome(sample, compute(sample.object)) for sample in some]


def table(outcomes: Iterable[Outcome]) -> str:
    """The figures per group and of all, as text in columns."""
    every = list(outcomes)
    groups = sorted({o.sample.group for o in every})
    head = ("group", "samples", "kinds", "decided", "exact", "first", "turn", "green", "red")
    rows = [
        head,
        *(_row(group, Tally.of(o for o in every if o.sample.group == group)) for group in groups),
        _row("all", Tally.of(every)),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def _row(group: str, tally: Tally) -> tuple[str, ...]:
    shares = (tally.decided, tally.exact, tally.first, tally.turns)
    counts = (str(tally.false_green), str(tally.false_red))
    numbers = (str(tally.count), str(tally.kinds))
    return (group or "core", *numbers, *(f"{share:.1f} %" for share in shares), *counts)
