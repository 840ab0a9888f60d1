"""Programs that answer questions: a line of JSON on standard input, one back on standard output.

`Asked` is the bench's end; `questions` and `say` are the program's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from konstat.errors import UserError

ROOT: Final = Path(__file__).resolve().parents[1]
END_SECONDS: Final = 30.0
LINE_BYTES: Final = 16 * 1024 * 1024


class Asked:
    """A program that runs and answers."""

    def __init__(self, module: str, process: asyncio.subprocess.Process) -> None:
        self._module = module
        self._process = process
        self.pid = process.pid

    async def ask(self, *question: Any) -> Any:
        """Its answer to one question; raises UserError when it ended instead."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(question) + b"\n")
        return await self.hear()

    async def hear(self) -> Any:
        """The next line that it says."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise UserError(f"{self._module} ended: what it said is above")
        return msgspec.json.decode(line)


@asynccontextmanager
async def asked(module: str, *arguments: str) -> AsyncIterator[Asked]:
    """A module as a program for the length of a block; it ends when its input does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES,
    )
    assert process.stdin is not None
    try:
        yield Asked(module, process)
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def questions() -> AsyncIterator[list[Any]]:
    """What is asked on standard input, until that ends."""
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        yield msgspec.json.decode(line)


def say(answer: Any) -> None:
    """One line on standard output."""
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
