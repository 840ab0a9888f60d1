"""Tells from another thread when the event loop does not turn, and what it is busy with.

A loop that is blocked cannot say so itself; so a thread asks it, again and again, and looks at the
stack of its thread when no answer comes. `konstat.controller.watchdog` puts that into words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec

from konstat.base import clock, limits

# Whose lines are not to blame: Python's, installed packages', and our own.
_LIBRARIES = (
    *(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib")),
    str(Path(__file__).parents[1]) + os.sep,  # not a folder konstat-operator beside it
    "<",
)


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop was busy with when it did not answer.

    ``task`` is the name of the running task (empty: a callback), ``place`` the innermost line that
    is in no library, and ``stack`` the lines of a traceback, innermost last.
    """

    seconds: float
    task: str
    place: str
    stack: str


class LoopWatch:
    """Watches the loop of the thread that makes it.

    ``on_stall`` is called, in a thread of its own, when the loop has not turned for
    ``limits.LOOP_BLOCKED_SECONDS``; ``on_turn`` when it turns again, with the whole length.
    """

    def __init__(
        self, *, on_stall: Callable[[Stall], None], on_turn: Callable[[float], None]
    ) -> None:
        self._on_stall = on_stall
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="konstat-watchdog", daemon=True)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for the length of a block."""
        self._thread.start()
        try:
            yield
        finally:
            # Not joined: the thread may wait for this very loop, and ends by itself soon.
            self._ends.set()

    def _run(self) -> None:
        while not self._ends.wait(limits.LOOP_WATCH_SECONDS):
            turned = threading.Event()
            asked = clock.monotonic()
            try:
                self._loop.call_soon_threadsafe(turned.set)
            except RuntimeError:  # the loop was closed
                return
            if self._waits_in_vain(turned, limits.LOOP_BLOCKED_SECONDS):
                stall = self._look(clock.monotonic() - asked)
                if stall is None:
                    continue
                self._on_stall(stall)
                while self._waits_in_vain(turned, limits.LOOP_WATCH_SECONDS):
                    pass
                self._on_turn(clock.monotonic() - asked)

    def _waits_in_vain(self, turned: threading.Event, seconds: float) -> bool:
        """Whether the loop has not answered although it had time; not when all is to end."""
        return not turned.wait(seconds) and not self._ends.is_set()

    def _look(self, seconds: float) -> Stall | None:
        """What the loop does; None when it only waits, as after a stop of the whole process."""
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage]
        if frame is None or frame.f_globals.get("__name__") == "selectors":
            return None
        lines = _stack(frame)
        own = [line for line in lines if not line.filename.startswith(_LIBRARIES)]
        inner = (own or lines or [None])[-1]
        place = ""
        if inner is not None:
            place = f"{inner.filename}:{inner.lineno} in {inner.name}"
        return Stall(
            seconds=seconds,
            task="" if task is None else task.get_name(),
            place=place,
            stack="".join(traceback.format_list(lines)).rstrip(),
        )


def _stack(frame: FrameType) -> list[traceback.FrameSummary]:
    """The innermost lines of a stack, up to where the loop begins a task's step."""
    lines: list[traceback.FrameSummary] = []
    for inner, number in traceback.walk_stack(frame):
        if inner.f_globals.get("__name__") == "asyncio.events":
            break
        code = inner.f_code
        lines.append(traceback.FrameSummary(code.co_filename, number, code.co_name))
        if len(lines) >= limits.STALL_FRAMES:
            break
    return lines[::-1]
