from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from konstat.cli.rig import rig
from konstat.errors import MissingToolError, UserError
from konstat.testing import Binaries
from konstat.testing.rig_binaries import build_folder
from konstat.testing.rig_module import PACKAGES, load_module

RUN = "import sys; from konstat.cli.rig import rig; rig(sys.argv[1:])"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with nothing in it, and no other programs."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("KONSTAT_CACHE", str(tmp_path))
    return tmp_path


def fill_cache() -> Path:
    folder = build_folder(load_module())
    folder.mkdir(parents=True)
    for program in PACKAGES:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return folder


@pytest.mark.parametrize("command", ["build", "path", "up"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(rig, [command, "--help"])
    assert result.exit_code == 0
    assert "Example:" in result.output
    assert "konstat rig" in result.output


@pytest.mark.usefixtures("cache")
def test_path_prints_the_folder() -> None:
    folder = fill_cache()
    result = CliRunner().invoke(rig, ["path"])
    assert result.output == f"{folder}\n"


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("command", ["path", "up"])
def test_without_programs_it_says_how_to_get_them(command: str) -> None:
    result = CliRunner().invoke(rig, [command])
    assert result.exit_code != 0
    assert isinstance(result.exception, MissingToolError)
    assert "konstat rig build" in str(result.exception)


@pytest.mark.usefixtures("cache")
def test_build_uses_what_is_built() -> None:
    folder = fill_cache()
    result = CliRunner().invoke(rig, ["build"])
    assert result.exit_code == 0
    assert result.output == f"the programs are in {folder}\n"


@pytest.mark.usefixtures("cache")
def test_build_leaves_given_programs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_cache()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    result = CliRunner().invoke(rig, ["build"])
    assert result.exit_code == 0
    assert f"nothing to build: KUBEBUILDER_ASSETS names {folder}" in result.output


@pytest.mark.usefixtures("cache")
def test_build_checks_given_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    result = CliRunner().invoke(rig, ["build"])
    assert isinstance(result.exception, MissingToolError)
    assert "has no program etcd" in str(result.exception)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "content",
    [
        "clusters: [{name: production}]",
        "clusters: [{name: konstat-rig}, {name: production}]",
        "no kubeconfig",
        "{",
        "",
    ],
)
def test_up_does_not_write_over_another_kubeconfig(tmp_path: Path, content: str) -> None:
    fill_cache()
    mine = tmp_path / "config"
    mine.write_text(content)
    result = CliRunner().invoke(rig, ["up", "--kubeconfig", str(mine)])
    assert isinstance(result.exception, UserError)
    assert "name another file" in str(result.exception)
    assert mine.read_text() == content


@contextmanager
def up(binaries: Binaries, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", RUN, "up", *arguments]
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(binaries.folder)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def read_until(running: subprocess.Popen[str], text: str) -> str:
    assert running.stdout is not None
    seen = ""
    for line in running.stdout:
        seen += line
        if text in line:
            return seen
    assert running.stderr is not None
    raise AssertionError(f"no {text!r} in {seen!r}; stderr: {running.stderr.read()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_serves_until_a_signal(
    rig_binaries: Binaries, tmp_path: Path, number: signal.Signals
) -> None:
    target = tmp_path / "kubeconfig"
    small = ["--no-controller-manager", "--no-scheduler"]
    with up(rig_binaries, *small, "--kubeconfig", str(target)) as running:
        told = read_until(running, "Ctrl-C stops it")
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        (command,) = re.findall(r"first try +(.*)", told)
        shown = subprocess.run(command.split(), capture_output=True, text=True, check=True)
        assert "kube-system" in shown.stdout
        (data,) = re.findall(r"data +(.*)", told)
        assert Path(data).is_dir()
        running.send_signal(number)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")
    assert not target.exists()
    assert not Path(data).exists()


def test_up_keeps_a_named_data_folder_and_takes_flags(
    rig_binaries: Binaries, tmp_path: Path
) -> None:
    options = ["--no-controller-manager", "--no-scheduler", "--audit", "--data", str(tmp_path)]
    flag = ["--apiserver-flag", "--max-requests-inflight=77"]
    with up(rig_binaries, *options, *flag) as running:
        read_until(running, "Ctrl-C stops it")
        running.send_signal(signal.SIGTERM)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")
    assert "/readyz" in (tmp_path / "audit.log").read_text()


def test_up_stopped_while_it_starts_leaves_nothing(rig_binaries: Binaries, tmp_path: Path) -> None:
    with up(rig_binaries, "--data", str(tmp_path)) as running:
        log = tmp_path / "logs" / "kube-apiserver.log"
        while not log.exists():
            assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        _, problems = running.communicate(timeout=60)
    assert (running.returncode, problems) == (0, "")
