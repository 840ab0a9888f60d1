"""What one change costs: processor time, requests, and how long its status takes to be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench import processes
from bench.settings import Settings
from bench.stage import Contender, Stage, count_requests, stage
from bench.tables import Bound, Cell, Figure, Table

OBJECTS: Final = 50
# Changes per second, and how many of them. Slow first: each is then answered by itself.
PHASES: Final = ((10, 100), (50, 300))
QUIET_SECONDS: Final = 1.0
CPU_SHARE: Final = 0.2
REQUESTS: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Phase:
    """What a number of changes at one rate took; times in milliseconds, per change where named."""

    changes: int
    cpu: float
    latencies: Sequence[float]
    requests: Counter[str]

    @property
    def requests_per_change(self) -> float:
        return sum(self.requests.values()) / self.changes

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


Rounds = list[dict[int, Phase]]
Changes = Mapping[str, Rounds]


async def measure(
    contenders: Sequence[Contender], settings: Settings, *, rounds: int | None = None
) -> dict[str, Rounds]:
    """Of each contender its rounds, each of them the phases by rate; contenders take turns."""
    found: dict[str, Rounds] = {contender.name: [] for contender in contenders}
    count = settings.rounds if rounds is None else rounds
    for number in range(count):
        for contender in contenders:
            async with stage(contender) as made:
                phases = await _round(made)
            found[contender.name].append(phases)
            said = ", ".join(f"{one.cpu:.2f} ms at {rate}/s" for rate, one in phases.items())
            settings.say(f"changes {number + 1}/{count}: {contender.name} {said}")
    return found


async def _round(made: Stage) -> dict[int, Phase]:
    found: dict[int, Phase] = {}
    async with made.operator() as operator:
        pid = operator.pid
        assert pid is not None
        await made.drive("fill", first=0, count=OBJECTS, size=0)
        for rate, count in PHASES:
            await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
            since, used = await made.mark(), processes.cpu_seconds(pid)
            driven = await made.drive("change", objects=OBJECTS, rate=rate, count=count)
            await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
            used = processes.cpu_seconds(pid) - used
            # What names no resource is a look at discovery or schemas, which follows the start.
            asked = [e for e in await made.requests(since) if e.verb != "watch" and e.resource]
            found[rate] = Phase(
                changes=count,
                cpu=used * 1000 / count,
                latencies=[1000 * seconds for seconds in driven["latencies"]],
                requests=count_requests(asked),
            )
    return found


def table(changes: Changes) -> Table:
    """All contenders side by side; the ratio is konstat to the second one, of each round."""
    names = list(changes)
    rows: list[list[Cell]] = []
    for rate, _ in PHASES:
        rows += [
            _row(f"operator CPU ms per change at {rate}/s", changes, rate, "cpu"),
            _row(f"requests per change at {rate}/s", changes, rate, "requests_per_change"),
        ]
        for word, share in (("p50", 0.5), ("p99", 0.99)):
            figures = [
                Figure.of((one[rate].percentile(share) for one in rounds), digits=1)
                for rounds in changes.values()
            ]
            rows.append([f"spec → status {word} ms at {rate}/s", *figures, ""])
    return Table(
        title="One change",
        columns=["", *names, "konstat / kopf"],
        rows=rows,
        notes=[
            f"{OBJECTS} small objects are changed in turn, from another process. Rounds: "
            + ", ".join(f"{name} {len(rounds)}" for name, rounds in changes.items())
            + ".",
            *(f"What {name} asked: {_asked(rounds)}." for name, rounds in changes.items()),
        ],
    )


def _row(title: str, changes: Changes, rate: int, field: str) -> list[Cell]:
    figures = [
        Figure.of(getattr(one[rate], field) for one in rounds) for rounds in changes.values()
    ]
    return [title, *figures, ratio(changes, rate, field)]


def ratio(changes: Changes, rate: int, field: str) -> Figure:
    """Of the first contender to the second, round by round."""
    ours, theirs, *_ = changes.values()
    pairs = zip(ours, theirs, strict=True)
    return Figure.of(getattr(a[rate], field) / getattr(b[rate], field) for a, b in pairs)


def _asked(rounds: Rounds) -> str:
    total: Counter[str] = Counter()
    changes = 0
    for phases in rounds:
        for phase in phases.values():
            total += phase.requests
            changes += phase.changes
    return ", ".join(f"{what} {count / changes:.2f}" for what, count in total.most_common())


def bounds(changes: Changes) -> list[Bound]:
    """Judged at the slow rate, where no two changes are answered by one write."""
    rate = PHASES[0][0]
    ours = next(iter(changes.values()))
    asked = Figure.of(one[rate].requests_per_change for one in ours)
    return [
        Bound.at_most(
            f"CPU per change at {rate}/s, of kopf's", CPU_SHARE, ratio(changes, rate, "cpu")
        ),
        Bound.exactly(f"requests per change at {rate}/s", REQUESTS, asked),
    ]
