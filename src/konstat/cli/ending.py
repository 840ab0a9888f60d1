"""How a command ends that is not done: by a signal, or by an output that takes nothing more.

`konstat.cli.main` begins and ends with it; long commands catch the signals themselves.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from types import FrameType
from typing import Final, Never

EXIT_USER: Final = 2  # as click's usage errors
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it
EXIT_TERMINATED: Final = 143  # 128 + SIGTERM

_OUTPUT_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Terminated(KeyboardInterrupt):
    """SIGTERM has come; event loops and ``finally`` treat it as Ctrl-C."""

    exit_code = EXIT_TERMINATED


def tidy_up_on_sigterm() -> None:
    """Let SIGTERM end the program as Ctrl-C does: what was started is ended, files are removed."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> Never:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # once more, and it ends at once
    raise Terminated


def output_problem(error: OSError) -> str:
    """What keeps an output from taking more; empty when ``error`` is something else."""
    return (error.strerror or "").lower() if error.errno in _OUTPUT_FULL else ""


def drop_output() -> None:
    """Let what is still to be written go nowhere: the interpreter would fail with it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """``text`` fit for a terminal: lines stay, other control characters are written out."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else ascii(c)[1:-1] for c in text)
