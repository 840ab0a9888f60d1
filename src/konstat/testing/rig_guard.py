"""Becomes a program of the rig, and leaves a child behind that ends it when its owner is gone.

Run as a script: ``python -I -S rig_guard.py PROGRAM ARGUMENT…`` with a pipe as standard input whose
other end only the owner holds. The process turns into the program (so its pid is the program's);
before that it forks a watcher, which waits for the end of the pipe. The kernel closes the pipe
however the owner ends, also by SIGKILL, so no program outlives the tests that started it.

A parent-death signal would need code between fork and exec in a process with threads and fires
when the starting *thread* ends; a pipe has neither trouble and works outside Linux too.
Imports nothing of konstat: it must start in milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys

# The pipe ends when its owner does; the data is of a test, so there is nothing to shut down gently.
_END = signal.SIGKILL


def main(arguments: list[str]) -> None:
    program = os.getpid()
    if os.fork() == 0:
        _watch(program)
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.execv(arguments[0], arguments)


def _watch(program: int) -> None:
    """Wait for the pipe's end, then end ``program`` if it is still our parent."""
    while os.read(0, 4096):
        pass
    # A program that ended before has left us to another parent, and its pid may be someone else's.
    if os.getppid() == program:
        os.kill(program, _END)


if __name__ == "__main__":
    main(sys.argv[1:])
