"""What a user reads when TARGET is wrong: always one message, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CRATES = """
    from konstat import Controller, Resource, Spec, Status

    class CrateSpec(Spec):
        size: int = 1

    class CrateStatus(Status):
        pass

    class Crate(Resource[CrateSpec, CrateStatus], group="demo.example.com", version="v1"):
        pass

    crates = Controller(Crate)

    @crates.reconcile
    async def reconcile(crate: Crate, context) -> None:
        pass
"""


@pytest.fixture(autouse=True)
def author(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """crates.py in an empty folder; what is imported from it is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder / "crates.py").write_text(dedent(CRATES))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("class E(BaseException): pass\nraise E('gone')", "odd.py, line 2: E: gone"),
        ("import asyncio\nraise asyncio.CancelledError", "odd.py, line 2: CancelledError"),
        ("raise GeneratorExit", "odd.py, line 1: GeneratorExit"),
        ("raise SystemExit(0)", "odd.py, line 1: the program ends (SystemExit 0)"),
        (
            "class E(Exception):\n  def __str__(self): return 1 / 0\nraise E",
            "odd.py, line 3: E",
        ),
        ("raise ValueError('x' * 100_000)", "odd.py, line 1: ValueError: xxx"),
        ("raise ValueError('\\x1b[31m')", "ValueError: \\x1b[31m"),
        ("f = lambda: f()\nf()", "odd.py, line 1: RecursionError"),
        (b"x = 1\0", "odd.py: source code string cannot contain null bytes"),
        (b"\xc6\xff\x00", "odd.py"),
        ("x = 1", "odd.py has no Controller (it has x): declare one"),
        (
            "from crates import Crate, crates\nfrom konstat import Controller\n"
            "other = Controller(Crate)",
            "odd.py: crates and other both control Crate: make them one, or choose one, for"
            " example odd.py:crates",
        ),
        (
            "from crates import Crate\nfrom konstat import Controller\nother = Controller(Crate)",
            "Controller(Crate) has no reconcile function",
        ),
    ],
)
def test_a_file_that_is_no_operator(run_konstat, kubeconfig, author: Path, content, says) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (author / "odd.py").write_bytes(data)
    result = run_konstat("run", "odd.py", "--kubeconfig", kubeconfig("http://127.0.0.1:9"))
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr) < 2000


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("crates.py:", "'crates.py:': '' is not the name of an attribute"),
        ("crates.py:odd.x", "reading odd.x raises RuntimeError"),
        ("x" * 5000, "there is no module"),
        ("x" * 5000 + ".py", "cannot be read: file name too long"),
        ("/" + "x/" * 5000 + "y.py", "cannot be read: file name too long"),
        ("a\x1b[31m.py", "a\\x1b[31m.py does not exist"),
        ("\udcff.py", "does not exist"),
        ("-", "'-' is neither a file nor a module"),
        ("/dev/null", "/dev/null is not a Python file"),
        (".", "'.' is neither a file nor a module"),
    ],
)
@pytest.mark.parametrize("command", ["crd", "run"])
def test_a_target_that_is_no_name(run_konstat, author: Path, command, target, says) -> None:
    with (author / "crates.py").open("a") as file:
        file.write("\nclass Odd:\n  def __getattr__(self, name): raise RuntimeError\nodd = Odd()\n")
    result = run_konstat(command, target)
    assert result.exit_code == 2
    assert says in result.stderr


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_target_is_told_in_words(run_konstat, text: str) -> None:
    result = run_konstat("crd", "--", text)
    assert result.exit_code == 2
    assert result.stderr.startswith(("Error: ", "Usage: "))
