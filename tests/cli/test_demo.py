"""`konstat demo`: it ends well, and needs nothing but this Python."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from konstat.cli.demo_stage import example

COMMAND = [sys.executable, "-m", "konstat.cli.main", "demo"]


def bare(tmp_path: Path) -> dict[str, str]:
    """An environment without kubectl, without a rig, and with a temporary folder of its own."""
    kept = {k: v for k, v in os.environ.items() if k.startswith(("PYTHON", "LC_", "LANG"))}
    return {**kept, "PATH": "", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}


def on_terminal(command: list[str], env: dict[str, str]) -> tuple[int, str]:
    """The exit code, and what the command printed on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, close_fds=True
    ) as running:
        os.close(theirs)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody has the other end open
                break
            if not part:
                break
            parts.append(part)
        os.close(ours)
    return running.returncode, b"".join(parts).decode()


@pytest.mark.timeout(120)
def test_in_a_pipe_it_is_plain_and_leaves_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        COMMAND, env=bare(tmp_path), capture_output=True, text=True, check=False, timeout=100
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout[-3000:]
    assert "\x1b" not in ran.stdout
    assert ran.stdout.splitlines()[-1] == "── Done: every step came out as told."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(120)
def test_in_a_terminal_the_tree_is_redrawn(tmp_path: Path) -> None:
    env = {**bare(tmp_path), "TERM": "xterm", "COLUMNS": "100", "LINES": "50"}
    code, text = on_terminal([*COMMAND, "--pause", "0"], env)
    assert code == 0, text[-3000:]
    assert "\x1b[2K" in text  # a line is taken away for the next drawing
    assert "✖" in text
    assert "Done: every step came out as told." in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_in_the_middle(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        COMMAND, env=bare(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if "kubectl apply" in line:
                break
        running.send_signal(number)
        _, problems = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Traceback" not in problems
    assert list(tmp_path.iterdir()) == []


def test_the_example_is_found() -> None:
    assert "webapps = Controller(WebApp" in example("web_app.py").read_text()
    assert example("manifests.py").parent == example("web_app.py").parent
