"""Programs that are measured: what the kernel counts of one process, and orderly starts and ends.

A program is guarded as those of the rig are: it ends with the bench, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from konstat.base import clock
from konstat.errors import ControlPlaneError
from konstat.testing import rig_guard
from konstat.testing.rig_process import Program

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# A process that uses less of a core than this, in each of some looks, is at rest.
_BUSY_SHARE: Final = 0.08
_LOOK_SECONDS: Final = 0.1


def cpu_seconds(pid: int) -> float:
    """The processor time that a process and its threads have used, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """What of a process is in memory now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


async def rest(pid: int, *, quiet_seconds: float, within_seconds: float = 300.0) -> float:
    """Wait until a process has been at rest for ``quiet_seconds``; when it began to be.

    The moment is one of `konstat.base.clock.monotonic`. Raises TimeoutError.
    """
    deadline = clock.monotonic() + within_seconds
    moment, used = clock.monotonic(), cpu_seconds(pid)
    since = moment
    while moment - since < quiet_seconds:
        if moment > deadline:
            raise TimeoutError(f"process {pid} does not come to rest in {within_seconds:.0f} s")
        await clock.sleep(_LOOK_SECONDS)
        last, before = moment, used
        moment, used = clock.monotonic(), cpu_seconds(pid)
        if used - before > max(_BUSY_SHARE * (moment - last), 1.5 / _TICKS):
            since = moment
    return since


@asynccontextmanager
async def running(name: str, command: list[str], *, log: Path) -> AsyncIterator[Program]:
    """A program for the length of a block; what it prints goes to ``log``."""
    program = Program(name, command, log=log)
    program.start()
    try:
        yield program
        program.check()
    finally:
        await program.stop()


async def ask(*command: str) -> Any:
    """Run a Python module in a process of its own; what it prints is JSON.

    Raises ControlPlaneError with the end of what it said on standard error.
    """
    guard = [sys.executable, "-I", "-S", rig_guard.__file__]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as problems:
        # Files, because the guard's watcher would keep pipes open after the program's end.
        process = await asyncio.create_subprocess_exec(
            *guard,
            sys.executable,
            "-m",
            *command,
            stdin=asyncio.subprocess.PIPE,  # its end is the end of the program
            stdout=output,
            stderr=problems,
        )
        try:
            code = await process.wait()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        finally:
            assert process.stdin is not None
            process.stdin.close()
        if code:
            problems.seek(0)
            said = problems.read().decode(errors="replace")[-4000:]
            raise ControlPlaneError(f"{' '.join(command)} failed:\n{said}")
        output.seek(0)
        return msgspec.json.decode(output.read())
