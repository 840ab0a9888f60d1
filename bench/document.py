"""The sections of docs/benchmarks.md that benches write: between the markers of their names.

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.tables import Report

DOCUMENT: Final = Path(__file__).resolve().parents[1] / "docs/benchmarks.md"


def write_section(name: str, title: str, report: Report, *, command: str) -> None:
    """Replace the section of a bench; one that is not there yet is added at the end."""
    text = DOCUMENT.read_text()
    begin, end = f"<!-- bench:{name} -->", f"<!-- end of bench:{name} -->"
    section = f"{begin}\n\n{_preamble(report.versions, command)}\n\n{report.markdown()}\n{end}"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if pattern.search(text):
        text = pattern.sub(lambda _: section, text)
    else:
        text = f"{text.rstrip()}\n\n## {title}\n\n{section}\n"
    DOCUMENT.write_text(text)


def _preamble(versions: Mapping[str, str], command: str) -> str:
    shown = ", ".join(f"{what} {which}" for what, which in {**_versions(), **versions}.items())
    return f"`{command}`, {datetime.now(UTC):%Y-%m-%d}, on {machine()}; {shown}."


def machine() -> str:
    """The machine in a few words: processor, cores, memory, system; nothing that names it."""
    cores = os.cpu_count() or 1
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores} cores of {_processor()}, {gibibytes:.0f} GiB, {platform.system()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _versions() -> dict[str, str]:
    return {
        "Python": platform.python_version(),
        **{name: version(name) for name in ("konstat", "aiohttp", "msgspec")},
    }
