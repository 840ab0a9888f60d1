"""Keeps one program and all that it starts, and ends them all with itself.

Run as a script: ``python -I -S keeper.py run PROGRAM ARGUMENT…`` with a pipe as standard input
whose other end only the actor holds. The kernel closes the pipe however the actor ends, also by
SIGKILL; then everything that the program started is killed. The same happens when the program
itself ends, as in a container. The exit code is the program's, or 128 and the number of the signal
that ended it. Signals that the keeper gets go to the program's group.

``keeper.py folder PATH`` keeps a folder instead: it removes it when the pipe has ended.

On Linux descendants that have left the group are found too (the keeper adopts orphans), and a
keeper that is killed takes the program with it. Imports nothing of konstat: it must start fast.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # prctl(2)
_CHILD_SUBREAPER = 36
_FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_CANNOT_EXECUTE = 126  # as shells say it
_NOT_FOUND = 127
_REMOVALS = 50
_REMOVAL_PAUSE_SECONDS = 0.1


def main(arguments: list[str]) -> int:
    what, *rest = arguments
    if what == "folder":
        return _keep_folder(rest[0])
    return _keep_program(rest)


def _keep_folder(path: str) -> int:
    for number in _FORWARDED:  # Ctrl-C in a terminal is for the actor
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    # The keepers of programs hear of the end at the same moment; something may still be written.
    for _ in range(_REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            return 0
        select.select([], [], [], _REMOVAL_PAUSE_SECONDS)
    return 1


def _keep_program(command: list[str]) -> int:
    _control(_CHILD_SUBREAPER, 1)
    news, wake = os.pipe()
    os.set_blocking(news, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (*_FORWARDED, signal.SIGCHLD):
        signal.signal(number, _wake)
    keeper = os.getpid()
    program = os.fork()
    if program == 0:
        _become(command, keeper=keeper)
    # In both, as either may come first.
    _own_group(program)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    code = _wait(program, news)
    _end_all(program)
    return code


def _become(command: list[str], *, keeper: int) -> None:
    """Turn into the program; never returns."""
    try:
        os.setpgid(0, 0)
        _control(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(128 + signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        # Python ignores these two, and what is ignored stays so in the program.
        for number in (*_FORWARDED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.execvp(command[0], command)
    except FileNotFoundError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
        os._exit(_NOT_FOUND)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
        os._exit(_CANNOT_EXECUTE)


def _wait(program: int, news: int) -> int:
    """The program's exit code; that of SIGKILL when the actor ends first."""
    while True:
        readable, _, _ = select.select([0, news], [], [])
        if news in readable:
            for number in os.read(news, 4096):
                if number != signal.SIGCHLD:
                    _signal_group(program, number)
            code = _reap(program)
            if code is not None:
                return code
        if 0 in readable and not os.read(0, 4096):
            return 128 + signal.SIGKILL


def _wake(*_: object) -> None:
    """The byte in the pipe says it all."""


def _reap(program: int) -> int | None:
    """Bury children that have ended, adopted ones among them; the program's code if it has."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == program:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def _end_all(program: int) -> None:
    """Kill until nothing is left: the orphans of what is killed become children of ours."""
    _signal_group(program, signal.SIGKILL)
    while True:
        for child in _children():
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                continue  # buried a moment ago
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Our own children, from /proc; none where there is no /proc."""
    found: list[int] = []
    own = str(os.getpid())
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                text = file.read().decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        # After the command's name, which may hold anything: state, parent.
        if text.rpartition(")")[2].split()[1] == own:
            found.append(int(name))
    return found


def _signal_group(program: int, number: int) -> None:
    try:
        os.killpg(program, number)
    except (ProcessLookupError, PermissionError):
        return  # all of it has ended


def _own_group(program: int) -> None:
    try:
        os.setpgid(program, program)
    except OSError:
        return  # it has executed or ended already, after it had done the same


def _control(option: int, value: int) -> None:
    """prctl(2), which Python does not offer."""
    if sys.platform != "linux":
        return
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}) failed: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
