"""`konstat dev`: the operator follows its file, and objects stay over reloads."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result
from story import eventually, said

from konstat.base import limits
from konstat.cli.dev import _stop
from konstat.cli.dev_files import SourceFiles
from konstat.client import Client
from konstat.client.config import load_config
from konstat.errors import NotFound, TargetError
from konstat.objects.kind import Kind

Write = Callable[[str, str], Path]

CUP = Kind(group="dev.example.com", version="v1", kind="Cup", plural="cups")
OPERATOR = """
    from reasons import REASON

    from konstat import Component, Context, Controller, Resource, Spec, Status


    class CupSpec(Spec):
        size: int = 1


    class CupStatus(Status):
        filled: Component


    class Cup(Resource[CupSpec, CupStatus], group="dev.example.com", version="v1"):
        '''A cup.'''


    cups = Controller(Cup)


    @cups.reconcile
    async def reconcile(cup: Cup, context: Context[Cup]) -> None:
        context.status.filled.good(REASON, "it is full")
"""


class Developed:
    """A running `konstat dev`."""

    def __init__(self, running: subprocess.Popen[bytes], log: Path) -> None:
        self._running = running
        self._log = log

    def text(self) -> str:
        return self._log.read_text()

    async def says(self, pattern: str, times: int = 1) -> str:
        async def look() -> str:
            assert self._running.poll() is None, self.text()
            return self.text()

        return await eventually(look, lambda seen: len(re.findall(pattern, seen)) >= times)

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self._running.send_signal(number)
        return self._running.wait(timeout=60)


@contextmanager
def developing(folder: Path, *arguments: str) -> Iterator[Developed]:
    log = folder / "log"
    temporary = folder / "tmp"  # so that what SIGKILL leaves behind goes with the test
    temporary.mkdir()
    command = [sys.executable, "-m", "konstat.cli.main", "dev", *arguments]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "PATH": "", "PYTHONUNBUFFERED": "1", "TMPDIR": str(temporary)},
        ) as running,
    ):
        try:
            yield Developed(running, log)
        finally:
            running.kill()


async def filled(client: Client) -> str:
    """The reason of the cup's component; empty as long as there is none."""
    try:
        content = await client.get(CUP, "c", namespace="default")
    except NotFound:
        return ""
    return said(content).get("FilledReady", ("", "", None))[1]


async def test_the_operator_follows_its_files(write: Write, folder: Path) -> None:
    write("reasons.py", "REASON = 'First'")
    write("cups.py", OPERATOR)
    with developing(folder, "cups.py", "--kubeconfig", "dev.kubeconfig") as run:
        await run.says("first try   kubectl --kubeconfig dev.kubeconfig get cups.dev.example.com")
        async with Client.connect(load_config(kubeconfig=folder / "dev.kubeconfig")) as client:
            cup = {"metadata": {"name": "c"}, "spec": {}}
            await client.create(
                CUP, {"apiVersion": CUP.api_version, "kind": "Cup", **cup}, namespace="default"
            )
            await eventually(lambda: filled(client), lambda reason: reason == "First")
            # A module beside the file, broken and mended: stopped in between, objects stay.
            write("reasons.py", "REASON = = 'Broken'")
            await run.says(r"reasons.py, line 1: invalid syntax")
            await run.says(r"the operator has ended \(exit code 2\)")
            assert await filled(client) == "First"
            write("reasons.py", "REASON = 'Second'")
            await run.says("running: Controller", times=2)
            await client.patch(CUP, "c", {"spec": {"size": 2}}, type="merge", namespace="default")
            await eventually(lambda: filled(client), lambda reason: reason == "Second")
            # The CRD follows the types.
            write(
                "cups.py", OPERATOR.replace("size: int = 1", "size: int = 1\n        ml: int = 3")
            )
            await run.says("running: Controller", times=3)
            patch = {"spec": {"ml": 5}}
            changed = await client.patch(CUP, "c", patch, type="merge", namespace="default")
            assert changed["spec"] == {"size": 2, "ml": 5}
        assert run.stop() == 0
    assert "Traceback" not in run.text()
    assert not (folder / "dev.kubeconfig").exists()


async def test_an_operator_that_does_not_end_is_killed_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(limits, "DEV_STOP_SECONDS", 0.2)
    stubborn = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True);"
        " signal.pause()"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", stubborn, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    await _stop(process)
    assert await process.wait() == -signal.SIGKILL
    assert "did not end within 0.2 s of SIGTERM: killed" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_operator_ends_with_it(
    write: Write, folder: Path, number: signal.Signals
) -> None:
    write("reasons.py", "REASON = 'First'")
    write("cups.py", OPERATOR)
    with developing(folder, "cups.py", "--no-nodes") as run:
        text = await run.says("running: Controller")
        port = int(re.findall(r"metrics on http://127.0.0.1:(\d+)", text)[0])
        assert run.stop(number) == (0 if number is signal.SIGTERM else -number)

        async def answers() -> bool:
            with socket.socket() as connection:
                return connection.connect_ex(("127.0.0.1", port)) == 0

        await eventually(answers, lambda yes: not yes)


def test_a_target_that_is_not_there_is_said(
    run_konstat: Callable[..., Result], write: Write
) -> None:
    write("cups.py", OPERATOR)
    result = run_konstat("dev", "cup.py")
    assert result.exit_code == 2
    assert "did you mean cups.py?" in result.output
    result = run_konstat("dev", "no_such_module_here")
    assert result.exit_code == 2
    assert "there is no module 'no_such_module_here'" in result.output


def test_files_beside_a_file_and_in_packages_are_watched(write: Write, folder: Path) -> None:
    write("one.py", "")
    write("package/__init__.py", "")
    write("package/two.py", "")
    write("loose/three.py", "")
    files = SourceFiles("one.py")
    assert files.changed() == []
    write("package/two.py", "x = 1")
    write("loose/three.py", "x = 1")
    assert files.changed() == ["package/two.py"]
    write("four.py", "")
    (folder / "package/two.py").unlink()
    assert files.changed() == ["four.py", "package/two.py"]
    assert files.changed() == []


def test_the_files_of_a_package_are_watched(write: Write) -> None:
    write("shop_of_tests/__init__.py", "")
    write("shop_of_tests/operators/__init__.py", "")
    write("shop_of_tests/operators/deep.py", "")
    write("beside.py", "")
    files = SourceFiles("shop_of_tests.operators.deep")
    write("beside.py", "x = 1")
    write("shop_of_tests/operators/deep.py", "x = 1")
    assert files.changed() == ["shop_of_tests/operators/deep.py"]
    assert str(files) == "3 Python files in shop_of_tests"


def test_a_replaced_file_of_the_same_size_and_time_is_a_change(write: Write, folder: Path) -> None:
    path = write("one.py", "x = 1")
    files = SourceFiles("one.py")
    state = path.stat()
    other = write("other", "x = 2")
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    other.replace(path)
    assert files.changed() == ["one.py"]


def test_too_many_files_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DEV_FILES", 1)
    write("one.py", "")
    write("two.py", "")
    with pytest.raises(TargetError, match="a folder of its own"):
        SourceFiles("one.py")
