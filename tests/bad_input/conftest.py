"""A folder with a kubeconfig that a test breaks, and a way to run `konstat` in it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from konstat.cli.main import konstat

SECRET = "s3cr3t"

Kubeconfig = Callable[..., str]
Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one; nothing of this machine leads to a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def kubeconfig(folder: Path) -> Kubeconfig:
    """Writes the file ``kc`` with one context; gives its name."""

    def write(server: str, *, user: Any = None, **cluster: Any) -> str:
        content = {
            "kind": "Config",
            "current-context": "dev",
            "clusters": [{"name": "here", "cluster": {"server": server, **cluster}}],
            "users": [{"name": "me", "user": {"token": SECRET} if user is None else user}],
            "contexts": [{"name": "dev", "context": {"cluster": "here", "user": "me"}}],
        }
        (folder / "kc").write_text(json.dumps(content))
        return "kc"

    return write


@pytest.fixture
def run_konstat(folder: Path) -> Run:
    """Runs `konstat` in this Python: no traceback leaves it, and no secret."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(konstat, list(arguments), prog_name="konstat")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        assert SECRET not in result.output
        return result

    return run


@pytest.fixture
def closed_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
