"""The only place of this package that starts programs, each under a keeper.

`Kept` is a program with all its descendants; `keep_folder` lets a folder go with this process.
Before: `konstat.nodes.processes.life`. After: the script `konstat.nodes.processes.keeper`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from konstat.base import limits
from konstat.nodes.processes import keeper

_KEEPER: Final = (sys.executable, "-I", "-S", keeper.__file__)
# What a keeper's own interpreter may need; a program's other variables are those it is given.
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")


def passed_on() -> dict[str, str]:
    """The variables of this process that every program gets; all others stay here.

    They may hold what no pod should see, so the list is closed.
    """
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


class Kept:
    """A program that was started, and everything that it starts."""

    def __init__(self, keeping: asyncio.subprocess.Process) -> None:
        self._keeping = keeping

    @classmethod
    async def start(cls, command: Sequence[str], *, env: Mapping[str, str], folder: Path) -> Kept:
        """Start ``command`` in ``folder`` with exactly these variables.

        Raises OSError or ValueError (a null byte) when the system refuses.
        """
        # A session of its own: Ctrl-C in a terminal reaches only the actor.
        keeping = await asyncio.create_subprocess_exec(
            *_KEEPER,
            "run",
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=limits.CONTAINER_LOG_READ_BYTES,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
        return cls(keeping)

    @property
    def pid(self) -> int:
        """Of the keeper."""
        return self._keeping.pid

    async def read(self) -> bytes:
        """The next output, of both streams in their order; empty at its end."""
        assert self._keeping.stdout is not None
        return await self._keeping.stdout.read(limits.CONTAINER_LOG_READ_BYTES)

    async def wait(self) -> int:
        """The exit code, 128 and more for a signal, when everything has ended."""
        code = await self._keeping.wait()
        return 128 - code if code < 0 else code

    def terminate(self) -> None:
        """Send SIGTERM to the program and its group."""
        if self._keeping.returncode is None:
            self._keeping.terminate()

    def kill(self) -> None:
        """Let the keeper kill everything."""
        assert self._keeping.stdin is not None
        self._keeping.stdin.close()

    async def end(self) -> None:
        """Kill everything and wait until it is gone."""
        self.kill()
        try:
            async with asyncio.timeout(limits.PROCESS_KILL_SECONDS):
                await self._drain()
        except TimeoutError:
            # The keeper hangs (stopped by somebody, say): the program dies with it.
            if self._keeping.returncode is None:
                self._keeping.kill()
            await self._drain()

    async def _drain(self) -> None:
        while await self.read():
            pass
        await self._keeping.wait()


@asynccontextmanager
async def keep_folder(path: Path) -> AsyncIterator[None]:
    """Remove ``path`` when the block ends, or when this process does, however that be."""
    keeping = await asyncio.create_subprocess_exec(
        *_KEEPER, "folder", str(path), stdin=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        yield
    finally:
        assert keeping.stdin is not None
        keeping.stdin.close()
        await keeping.wait()
