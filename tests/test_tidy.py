"""The form of the code itself: sizes, layers, single entries for time, chance and HTTP."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES = 500
BODY_LINES = 60
PURE = ("objects", "kinds", "readiness", "status")
TEXT_ENDINGS = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".mod", ".lock", ""}


def tracked() -> list[Path]:
    """Every file under version control, or about to be; of an unpacked archive, what it holds."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        folders = ("src", "tests", "examples", "docs", "rig", ".ci")
        inside = (path for folder in folders for path in (ROOT / folder).rglob("*"))
        files = [path for path in (*ROOT.iterdir(), *inside) if path.is_file()]
        return [path for path in files if "__pycache__" not in path.parts]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


FILES = tracked()
PYTHON = [path for path in FILES if path.suffix == ".py"]
SOURCE = [path for path in PYTHON if (ROOT / "src") in path.parents]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_are_short() -> None:
    long = {name(p): n for p in PYTHON if (n := len(p.read_text().splitlines())) > FILE_LINES}
    assert long == {}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a body without its docstring."""
    body = node.body
    if ast.get_docstring(node) is not None:
        body = body[1:]
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_function_bodies_are_short() -> None:
    long = {
        f"{name(path)}:{node.name}": lines
        for path in PYTHON
        for node in functions(path)
        if (lines := body_lines(node)) > BODY_LINES
    }
    assert long == {}


def test_every_module_tells_its_story() -> None:
    silent = [name(path) for path in SOURCE if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_pure_layers_never_await() -> None:
    waiting = [
        f"{name(path)}:{node.lineno}"
        for path in SOURCE
        if any((ROOT / "src/konstat" / layer) in path.parents for layer in PURE)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith)
    ]
    assert waiting == []


# What enters through one place only: a pattern, and the places that may contain it.
SINGLE_ENTRIES = {
    "time": (r"^\s*(import time\b|from time import)", ("base/clock.py", "testing/", "cli/")),
    "sleep": (r"\basyncio\.sleep\(", ("base/clock.py",)),
    "randomness": (
        r"^\s*(import (random|secrets|uuid)\b|from (random|secrets|uuid) import)",
        ("base/chance.py", "testing/"),
    ),
    "spawning": (r"\b(create_task|ensure_future|TaskGroup)\(", ("base/tasks.py",)),
    "HTTP": (r"^\s*(import|from) aiohttp", ("client/", "embedded/http.py", "services/health.py")),
    "the terminal": (r"^\s*(import|from) (click|rich)\b", ("cli/",)),
}


@pytest.mark.parametrize("entry", SINGLE_ENTRIES)
def test_what_must_enter_through_one_place_does(entry: str) -> None:
    pattern, homes = SINGLE_ENTRIES[entry]
    found = [
        f"{name(path)}:{number}"
        for path in SOURCE
        if not str(path.relative_to(ROOT / "src/konstat")).startswith(homes)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert found == []


def test_tests_do_not_sleep() -> None:
    # An await of the simulated or real clock inside a polling loop goes through konstat.base.
    found = [
        f"{name(path)}:{number}"
        for path in PYTHON
        if (ROOT / "tests") in path.parents and path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\b(time|asyncio)\.sleep\(", line)
    ]
    assert found == []


# Spelled in pieces, so that this file does not contain what it looks for.
FOREIGN = {
    "hosts of package registries": "|".join(
        (
            r"py" r"pi\.org",
            r"python" r"hosted\.org",
            r"proxy\.go" r"lang\.org",
            r"registry\.npm" r"js",
        )
    ),
    "paths of one machine": "|".join((r"/ro" r"ot/", r"/wo" r"rk/", r"/ho" r"me/[a-z]+/")),
    "unfinished places": "|".join((r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b")),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_the_tree_is_free_of(what: str) -> None:
    pattern = re.compile(FOREIGN[what])
    found = [
        f"{name(path)}:{number}"
        for path in FILES
        if path.suffix in TEXT_ENDINGS and path.name not in ("LICENSE", "go.sum")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_layers_point_downwards() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
