from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from konstat.base import clock
from konstat.errors import ControlPlaneError
from konstat.testing.rig_process import Program

SLEEPER = ("/bin/sh", "-c", "echo started; exec sleep 1000")
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo started; while :; do sleep 0.1; done")


def program(folder: Path, command: tuple[str, ...] = SLEEPER) -> Program:
    return Program("sleeper", command, log=folder / "log")


async def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = clock.monotonic() + seconds
    while not condition():
        assert clock.monotonic() < deadline, "it did not happen in time"
        await clock.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether ``pid`` runs; one that has ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def log_has(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


def command_line(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def children(pid: int | None) -> list[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            # pid (name) state parent …; a name may have spaces and brackets in it
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    return [child for child, parent in parents.items() if parent == pid]


async def test_it_runs_under_its_own_pid_and_stops(tmp_path: Path) -> None:
    one = program(tmp_path)
    one.start()
    await wait_for(lambda: log_has(one.log, "started"))
    pid = one.pid
    assert pid is not None
    one.check()
    await wait_for(lambda: command_line(pid)[:2] == ["sleep", "1000"])
    await one.stop()
    assert not alive(pid)
    assert one.pid is None


async def test_the_watcher_goes_with_the_program(tmp_path: Path) -> None:
    one = program(tmp_path)
    one.start()
    await wait_for(lambda: log_has(one.log, "started"))
    (watcher,) = children(one.pid)
    await one.stop()
    await wait_for(lambda: not alive(watcher))


async def test_one_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    one = program(tmp_path, STUBBORN)
    one.start()
    await wait_for(lambda: log_has(one.log, "started"))
    pid = one.pid
    assert pid is not None
    await one.stop(timeout_seconds=0.2)
    assert not alive(pid)


async def test_a_paused_one_can_be_stopped(tmp_path: Path) -> None:
    one = program(tmp_path)
    one.start()
    await wait_for(lambda: log_has(one.log, "started"))
    one.signal(signal.SIGSTOP)
    await one.stop()
    assert not one.running


async def test_one_that_ends_shows_its_last_words(tmp_path: Path) -> None:
    one = program(tmp_path, ("/bin/sh", "-c", "for i in $(seq 100); do echo line $i; done; exit 3"))
    one.start()
    await wait_for(lambda: not one.running)
    with pytest.raises(ControlPlaneError) as caught:
        one.check()
    text = str(caught.value)
    assert "sleeper ended with exit code 3" in text
    assert "line 100" in text
    assert "line 50" not in text
    await one.stop()


async def test_one_that_is_killed_names_the_signal(tmp_path: Path) -> None:
    one = program(tmp_path)
    one.start()
    await wait_for(lambda: log_has(one.log, "started"))
    one.signal(signal.SIGKILL)
    await wait_for(lambda: not one.running)
    with pytest.raises(ControlPlaneError, match="ended with SIGKILL"):
        one.check()
    await one.stop()


async def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    one = program(tmp_path, (str(tmp_path / "absent"),))
    one.start()
    await wait_for(lambda: not one.running)
    with pytest.raises(ControlPlaneError, match=r"(?s)ended with exit code 1.*No such file"):
        one.check()
    await one.stop()


async def test_a_second_start_appends_to_the_log(tmp_path: Path) -> None:
    one = program(tmp_path)
    for count in (1, 2):
        one.start()
        await wait_for(lambda count=count: one.log.read_text().count("started") == count)
        await one.stop()
    with pytest.raises(ControlPlaneError, match="is stopped"):
        one.check()


OWNER = """
import signal, sys
from pathlib import Path
from konstat.testing.rig_process import Program
one = Program("sleeper", ("/bin/sh", "-c", "echo started; exec sleep 1000"), log=Path(sys.argv[1]))
one.start()
print(one.pid, flush=True)
signal.pause()
"""


def start_owner(log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", OWNER, str(log)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


async def test_no_program_outlives_an_owner_that_was_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start_owner(log) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        await wait_for(lambda: log_has(log, "started"))
        assert alive(pid)
        owner.kill()
    await wait_for(lambda: not alive(pid))
