"""Where the processor time of one change goes, from the watch to the status write."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bench import processes
from bench.settings import Settings
from bench.stage import Contender, server_version, stage
from bench.tables import Figure, Report, Table
from konstat.base import clock

NAME: Final = "profile"
TITLE: Final = "Where the time of one change goes"

OBJECTS: Final = 300
# Slow enough that each change is answered by itself; `requests` shows whether it was.
RATE: Final = 25
CHANGES: Final = 600
QUIET_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 10.0
REST: Final = "the rest"

# The innermost frame whose file is named here says what a sample belongs to; frames of other
# files (konstat.objects, the standard library) belong to their callers.
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "watch: lines, snapshots, cache": (
        "konstat/client/watch.py",
        "konstat/client/lines.py",
        "konstat/cache/",
    ),
    "queue": ("konstat/queue/",),
    "attempt: context, endings, schedule": ("konstat/controller/",),
    "the author's function": ("bench/operators/",),
    "apply: manifest, hash, comparison": (
        "konstat/writing/apply.py",
        "konstat/writing/manifest.py",
    ),
    "readiness of the child": ("konstat/readiness/",),
    "status: plan and check the patch": (
        "konstat/writing/status_writer.py",
        "konstat/status/patch.py",
    ),
    "status: settle": ("konstat/status/",),
    "requests: client": ("konstat/client/",),
    "requests: HTTP library": (
        "site-packages/aiohttp/",
        "site-packages/yarl/",
        "site-packages/multidict/",
        "urllib/parse.py",
    ),
    "TLS": ("asyncio/sslproto.py", "/ssl.py"),
    "log and metrics": ("/logging/", "site-packages/prometheus_client/"),
    "event loop and sockets": ("/asyncio/", "/selectors.py"),
}

Stacks = list[tuple[int, list[str]]]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One round: milliseconds of processor time and requests per change, and samples by part."""

    milliseconds: float
    requests: float
    samples: Counter[str]

    def share(self, part: str) -> float:
        return self.samples[part] / self.samples.total()


def part_of(files: Iterable[str]) -> str:
    """What a stack of source files, innermost first, belongs to."""
    for file in files:
        for part, fragments in PARTS.items():
            if any(fragment in file for fragment in fragments):
                return part
    return REST


def count(stacks: Stacks) -> Counter[str]:
    """Samples by part."""
    found: Counter[str] = Counter()
    for number, files in stacks:
        found[part_of(files)] += number
    return found


async def run(settings: Settings) -> Report:
    """Sample the operator while its objects change at a steady rate."""
    profiles: list[Profile] = []
    for number in range(settings.rounds):
        profiles.append(await _round())
        settings.say(f"{number + 1}/{settings.rounds}: {profiles[-1].milliseconds:.2f} ms")
    return Report(tables=[table(profiles)], versions={"kube-apiserver": server_version()})


async def _round() -> Profile:
    with tempfile.TemporaryDirectory(prefix="konstat-profile-") as folder:
        file = Path(folder) / "samples.json"
        command = (sys.executable, "-m", "bench.operators.profiled", str(file))
        async with (
            stage(Contender(name="konstat", command=command)) as made,
            made.operator() as operator,
        ):
            pid = operator.pid
            assert pid is not None
            await made.drive("fill", first=0, count=OBJECTS, size=0)
            await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
            since, used = await made.mark(), processes.cpu_seconds(pid)
            os.kill(pid, signal.SIGUSR1)
            await made.drive("change", objects=OBJECTS, rate=RATE, count=CHANGES)
            await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
            used = processes.cpu_seconds(pid) - used
            os.kill(pid, signal.SIGUSR2)
            stacks = await _read(file)
            asked = [e for e in await made.requests(since) if e.verb != "watch"]
    return Profile(
        milliseconds=used * 1000 / CHANGES,
        requests=len(asked) / CHANGES,
        samples=count(stacks),
    )


async def _read(file: Path) -> Stacks:
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while (stacks := _stacks(file)) is None:
        if clock.monotonic() > deadline:
            raise TimeoutError(f"the operator wrote no samples in {PATIENCE_SECONDS:.0f} s")
        await clock.sleep(0.05)
    return stacks


def _stacks(file: Path) -> Stacks | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Stacks)
    except FileNotFoundError:
        return None


def table(profiles: Sequence[Profile]) -> Table:
    """Each part with its share of the samples and what that is of the time per change."""
    rows: list[tuple[str, Figure, Figure]] = []
    for part in (*PARTS, REST):
        shares = [profile.share(part) for profile in profiles]
        rows.append(
            (
                part,
                Figure.of((100 * share for share in shares), digits=1),
                Figure.of(
                    share * p.milliseconds for share, p in zip(shares, profiles, strict=True)
                ),
            )
        )
    whole = Figure.of(profile.milliseconds for profile in profiles)
    samples = min(profile.samples.total() for profile in profiles)
    return Table(
        title=f"One change at {RATE}/s",
        columns=["part", "% of the time", "ms"],
        rows=[*rows, ["all", 100, whole]],
        notes=[
            f"{OBJECTS} small objects, {CHANGES:,} changes in each of {len(profiles)} rounds,"
            f" at least {samples:,} samples in each, the sampler's own time included."
            f" Requests per change: {Figure.of(profile.requests for profile in profiles)}; fewer"
            " than two mean that several changes shared an answer, and that ms is too low.",
        ],
    )
