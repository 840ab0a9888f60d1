"""Programs for tests of local processes, and a look at what runs on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from konstat.base import clock

_DEADLINE_SECONDS = 30.0
_POLL_SECONDS = 0.02


def python(text: str) -> tuple[str, ...]:
    """A command that runs a piece of Python, fast and with its output at once."""
    return (sys.executable, "-I", "-S", "-u", "-c", text)


# Starts a child in the same group and one in a session of its own; all write their pids down.
FAMILY = """
import os, sys, signal
folder = sys.argv[1] if len(sys.argv) > 1 else os.environ['FOLDER']
def note(name):
    with open(os.path.join(folder, name + '.new'), 'w') as file:
        file.write(str(os.getpid()))
    os.rename(os.path.join(folder, name + '.new'), os.path.join(folder, name + '.pid'))
if os.fork() == 0:
    note('child')
    signal.pause()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note('daemon')
        signal.pause()
    os._exit(0)
note('program')
"""


def runs(pid: int) -> bool:
    """Whether a process is there and not only waits to be buried."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def family(folder: Path) -> dict[str, int]:
    """The pids that `FAMILY` wrote down so far."""
    return {path.stem: int(path.read_text()) for path in folder.glob("*.pid")}


async def until(look: Callable[[], bool], *, what: str) -> None:
    """Wait until ``look`` is true."""
    deadline = clock.monotonic() + _DEADLINE_SECONDS
    while not look():
        assert clock.monotonic() < deadline, f"not within {_DEADLINE_SECONDS:.0f} s: {what}"
        await clock.sleep(_POLL_SECONDS)


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}
