"""The job's operator with a sampler that shows where its processor time goes.

    python -m bench.operators.profiled FILE

SIGUSR1 begins the samples, SIGUSR2 ends them and writes FILE: a JSON list of stacks, each with
how often it was seen and its source files, innermost first. The kernel's timer counts processor
time, so a process that waits is not sampled.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import msgspec

from bench.operators.widgets import widgets
from konstat import run

SAMPLE_SECONDS = 0.001  # of processor time; the kernel's clock makes 3 or 4 ms of it


class Sampler:
    """Counts where the main thread is."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stacks: Counter[tuple[CodeType, ...]] = Counter()

    def install(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.signal(signal.SIGUSR1, self._begin)
        signal.signal(signal.SIGUSR2, self._end)

    def _begin(self, _number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        stack: list[CodeType] = []
        while frame is not None:
            stack.append(frame.f_code)
            frame = frame.f_back
        self._stacks[tuple(stack)] += 1

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        found = [(n, [code.co_filename for code in stack]) for stack, n in self._stacks.items()]
        # Whoever waits for the file must find it whole.
        fresh = self._file.with_suffix(".part")
        fresh.write_bytes(msgspec.json.encode(found))
        os.replace(fresh, self._file)


if __name__ == "__main__":
    Sampler(Path(sys.argv[1])).install()
    run(widgets)
