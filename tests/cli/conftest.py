"""Fixtures for the command line: a folder with an author's files, and a way to run `konstat`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from konstat.cli.main import konstat

WEBAPP = """
    from konstat.controller import Controller
    from konstat.objects.model import Spec, Status
    from konstat.objects.resource import Resource

    class WebAppSpec(Spec):
        image: str
        replicas: int = 1

    class WebAppStatus(Status):
        ready_replicas: int = 0

    class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
        '''A stateless web application.'''

    webapps = Controller(WebApp)

    @webapps.reconcile
    async def reconcile(app, context):
        return None

    if __name__ == "__main__":
        raise SystemExit("it ran as the main program")
"""

Write = Callable[[str, str], Path]
Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that is the current one; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def write(folder: Path) -> Write:
    """Writes a file of the folder, folders on the way included."""

    def write(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
        return path

    return write


@pytest.fixture
def webapp(write: Write) -> Path:
    """webapp.py, with the class WebApp and the controller webapps."""
    return write("webapp.py", WEBAPP)


@pytest.fixture
def run_konstat() -> Run:
    """Runs `konstat` with arguments, in this Python."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(konstat, list(arguments), prog_name="konstat")

    return run


@pytest.fixture
def closed_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
