"""Python environments of peers: made once from a lock with hashes, in a cache outside the tree."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from bench.settings import Settings
from konstat.errors import MissingToolError

PEERS: Final = Path(__file__).parent / "peers"


async def python_of(peer: str, settings: Settings) -> Path:
    """The interpreter of ``bench/peers/<peer>``, which has what its requirements.txt names.

    Raises MissingToolError, with what pip said, when they cannot be installed.
    """
    lock = PEERS / peer / "requirements.txt"
    python = sys.implementation.cache_tag
    key = hashlib.sha256(lock.read_bytes() + python.encode()).hexdigest()[:12]
    folder = _cache() / f"{peer}-{key}"
    if not folder.exists():
        settings.say(f"installing {peer} into {folder}")
        # Under another name until it is whole, so that a broken one is never used.
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            await _run(sys.executable, "-m", "venv", str(fresh))
            options = ("--quiet", "--disable-pip-version-check", "--require-hashes")
            await _run(str(fresh / "bin/python"), "-m", "pip", "install", *options, "-r", str(lock))
            fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder / "bin/python"


def locked_version(peer: str, package: str) -> str:
    """The version of a package that a peer's requirements.txt names."""
    lines = (PEERS / peer / "requirements.txt").read_text().splitlines()
    start = f"{package}=="
    return next(line for line in lines if line.startswith(start))[len(start) :].split()[0]


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "konstat/bench"


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise MissingToolError(f"{' '.join(command)} failed:\n{output.decode()}")
