"""Keepers: exit codes, signals, and that nothing outlives its keeper or its owner."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from live_processes import FAMILY, environment, family, python, runs, until

from konstat.nodes.processes.spawn import Kept, keep_folder


async def start(*command: str, folder: Path) -> Kept:
    return await Kept.start(command, env=environment(), folder=folder)


async def output(kept: Kept) -> bytes:
    said = b""
    while data := await kept.read():
        said += data
    return said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
        ("import os; os.abort()", 134),
    ],
)
async def test_the_exit_code_is_the_program_s(tmp_path: Path, text: str, code: int) -> None:
    kept = await start(*python(text), folder=tmp_path)
    try:
        assert await kept.wait() == code
    finally:
        await kept.end()


async def test_a_program_that_is_not_there_ends_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    for name, code in (("no-such-program", 127), (str(tmp_path / "plain"), 126)):
        kept = await start(name, folder=tmp_path)
        assert name.encode() in await output(kept)
        assert await kept.wait() == code
        await kept.end()


async def test_a_program_gets_its_variables_its_folder_and_no_input(tmp_path: Path) -> None:
    text = "import os, sys; print(sorted(os.environ), os.getcwd(), sys.stdin.read() == '')"
    kept = await Kept.start(python(text), env={"A": "1"}, folder=tmp_path)
    said = (await output(kept)).decode()
    await kept.end()
    # Python itself adds LC_CTYPE in some locales.
    assert "'A'" in said
    assert "PATH" not in said
    assert said.rstrip().endswith(f"{tmp_path} True")


async def test_both_streams_are_read_in_their_order(tmp_path: Path) -> None:
    text = "import os\nfor i in range(3):\n os.write(1, b'o%d ' % i); os.write(2, b'e%d ' % i)"
    kept = await start(*python(text), folder=tmp_path)
    assert await output(kept) == b"o0 e0 o1 e1 o2 e2 "
    await kept.end()


async def test_a_program_has_the_default_signals(tmp_path: Path) -> None:
    # An ignored SIGPIPE would stay ignored, and `yes | head` would never end.
    kept = await start("sh", "-c", "yes | head -n 1; exit 5", folder=tmp_path)
    assert await output(kept) == b"y\n"
    assert await kept.wait() == 5
    await kept.end()


async def start_family(folder: Path, *, then: str) -> Kept:
    kept = await start(*python(FAMILY + then), str(folder), folder=folder)
    await until(lambda: len(family(folder)) == 3, what="the family")
    return kept


async def test_whatever_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    kept = await start_family(tmp_path, then="signal.pause()")
    assert all(map(runs, family(tmp_path).values()))
    os.kill(family(tmp_path)["program"], signal.SIGKILL)
    # The keeper ends only after all others.
    assert await kept.wait() == 137
    assert not any(map(runs, family(tmp_path).values()))
    await kept.end()


async def test_termination_reaches_the_group_and_the_program_decides(tmp_path: Path) -> None:
    then = "signal.signal(signal.SIGTERM, lambda *_: os._exit(4))\nwhile True: signal.pause()"
    kept = await start_family(tmp_path, then=then)
    kept.terminate()
    assert await kept.wait() == 4
    assert not any(map(runs, family(tmp_path).values()))
    await kept.end()


async def test_a_kill_leaves_nothing(tmp_path: Path) -> None:
    then = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    kept = await start_family(tmp_path, then=then)
    kept.terminate()
    await kept.end()
    assert await kept.wait() == 137
    assert not any(map(runs, family(tmp_path).values()))


async def test_a_program_dies_with_a_keeper_that_is_killed(tmp_path: Path) -> None:
    kept = await start(*python(FAMILY + "signal.pause()"), str(tmp_path), folder=tmp_path)
    await until(lambda: len(family(tmp_path)) == 3, what="the family")
    os.kill(kept.pid, signal.SIGKILL)
    program = family(tmp_path)["program"]
    await until(lambda: not runs(program), what="the end of the program")
    # The others have lost their keeper; here they are ended by hand.
    for name in ("child", "daemon"):
        os.kill(family(tmp_path)[name], signal.SIGKILL)
    await kept.end()


async def test_a_keeper_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("konstat.base.limits.PROCESS_KILL_SECONDS", 0.2)
    kept = await start(*python("import signal; signal.pause()"), folder=tmp_path)
    os.kill(kept.pid, signal.SIGSTOP)
    await kept.end()
    assert await kept.wait() == 137


OWNER = """
import asyncio, os, sys
from pathlib import Path
from konstat.nodes.processes.spawn import Kept, keep_folder
async def main():
    folder, kept_folder = Path(sys.argv[1]), Path(sys.argv[2])
    async with keep_folder(kept_folder):
        command = (sys.executable, "-I", "-S", "-c", sys.argv[3] + "signal.pause()", str(folder))
        await Kept.start(command, env={}, folder=kept_folder)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path) -> None:
    notes, folder = tmp_path / "notes", tmp_path / "kept"
    notes.mkdir()
    folder.mkdir()
    arguments = (str(notes), str(folder), FAMILY)
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, *arguments)
    await until(lambda: len(family(notes)) == 3, what="the family")
    owner.kill()
    await owner.wait()
    await until(lambda: not any(map(runs, family(notes).values())), what="their end")
    await until(lambda: not folder.exists(), what="the end of the folder")


async def test_a_folder_goes_when_its_block_ends(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    async with keep_folder(folder):
        (folder / "inside").mkdir()
    assert not folder.exists()
