"""One program of the rig: started with a log file, watched, stopped by its pid.

`Program` is bound to no event loop, so a control plane that one loop started can be used and
stopped from another (pytest gives each test its own). `konstat.testing.rig_guard` ends the
program when this process goes without stopping it; `konstat.testing.rig_plane` composes.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from konstat.base import clock, limits
from konstat.errors import ControlPlaneError
from konstat.testing import rig_guard

_TAIL_BYTES: Final = 64 * 1024


class Program:
    """A program with its command line, its log file and at most one running copy."""

    def __init__(self, name: str, command: Sequence[str], *, log: Path) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Of the running copy, or None."""
        return self._popen.pid if self._popen is not None and self.running else None

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start the program; its output is appended to the log file.

        Raises `konstat.errors.ControlPlaneError` when the system refuses to start it.
        """
        assert not self.running, f"{self.name} runs already"
        guard = [sys.executable, "-I", "-S", rig_guard.__file__]
        with self.log.open("ab") as output:
            try:
                # A session of its own: Ctrl-C in a terminal reaches only the owner, which then
                # stops the programs in order.
                self._popen = subprocess.Popen(
                    [*guard, *self.command],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise ControlPlaneError(f"failed to start {self.name}: {error}") from error

    def check(self) -> None:
        """Raise `konstat.errors.ControlPlaneError` with the last log lines if it does not run."""
        if self.running:
            return
        if self._popen is None:
            raise ControlPlaneError(f"{self.name} is stopped: start it first")
        raise ControlPlaneError(
            f"{self.name} ended with {_ending(self._popen.returncode)}; "
            f"the end of its log {self.log}:\n{self.tail()}"
        )

    def tail(self) -> str:
        """The last lines of the log, indented."""
        with self.log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
        lines = deque(text.splitlines(), maxlen=limits.RIG_LOG_LINES)
        return "\n".join(f"    {line}" for line in lines)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the running copy; none if it does not run."""
        if self._popen is not None:
            self._popen.send_signal(number)  # polls first: never a pid that is not ours

    async def stop(self, *, timeout_seconds: float = limits.RIG_STOP_SECONDS) -> None:
        """Ask it to end (SIGTERM), and end it (SIGKILL) when it has not after the time-out.

        Returns when it is gone, also when it was never started; a cancelled stop kills.
        """
        try:
            self.signal(signal.SIGCONT)  # a paused program would not see the request
            self.signal(signal.SIGTERM)
            deadline = clock.monotonic() + timeout_seconds
            while self.running and clock.monotonic() < deadline:
                await clock.sleep(limits.RIG_POLL_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once and wait for that, which the kernel does in no time."""
        popen, self._popen = self._popen, None
        if popen is None:
            return
        popen.kill()
        popen.wait()
        assert popen.stdin is not None
        popen.stdin.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
