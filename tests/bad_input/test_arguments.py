"""Options and arguments of the commands that cannot be: refused in words before anything starts."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from konstat.cli.main import COMMANDS, konstat

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=20)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status", "pods", ".."], "'..' is not the name of an object"),
        (["status", "pods", "../x"], "'../x' is not the name of an object"),
        (["status", "pods/a/b"], "'a/b' is not the name of an object"),
        (["status", "pods", "a\nb"], "'a\\nb' is not the name of an object"),
        (["status", "pods", "\udcff"], "'\\udcff' is not the name of an object"),
        (["status", "pods", "-n", ""], "it is empty: name a namespace"),
        (["status", "pods", "-n", "../x"], "'../x' is not a DNS label"),
        (["status", "pods", "--context", ""], "it is empty: name a context"),
        (["status", "pods", "--kubeconfig", ""], "it is empty: name a file"),
        (["status", "--kubeconfig", "a\0b"], "'a\\x00b' is not the name of a file"),
        (["status", "--kubeconfig", "\ud800"], "'\\ud800' is not the name of a file"),
        (["nodes", "--processes", "a\0b"], "'a\\x00b' is not the name of a file"),
        (["run", "x.py", "-n", ""], "it is empty: name a namespace"),
        (["run", "x.py", "-n", "ok", "-n", "Not"], "'Not' is not a DNS label"),
        (["serve", "--kubeconfig", ""], "it is empty: name a file"),
        (["serve", "--kubeconfig", "absent/kc"], "the folder does not exist; make it first"),
        (["serve", "--kubeconfig", "foreign"], "the file exists and is not of konstat-embedded"),
        (["serve", "--kubeconfig", "binary"], "the file exists and is not of konstat-embedded"),
        (["serve", "--port", "65536"], "is not in the range"),
        (["rig", "up", "--kubeconfig", ""], "it is empty: name a file"),
        (["rig", "up", "--data", "foreign/x"], "--data foreign/x: not a directory; name another"),
        (["nodes", "--cpu", "-1"], "--cpu -1: a node has more than that"),
        (["nodes", "--memory", "0"], "--memory 0: a node has more than that"),
        (["nodes", "--cpu", "lots"], "--cpu lots: 'lots' is not a quantity"),
        (["nodes", "--name-prefix", "A_b"], "--name-prefix A_b: no node can be called so"),
        (["nodes", "--name-prefix", "x" * 300], "has 302 characters: 253 at most"),
        (["nodes", "--nodes", "0"], "nodes is 0: give a number from 1 to"),
    ],
)
def test_what_cannot_be_is_refused_at_once(run_konstat, folder: Path, arguments, says) -> None:
    (folder / "foreign").write_text("clusters: [{name: prod, cluster: {server: 'https://k'}}]")
    (folder / "binary").write_bytes(b"\xff\x00")
    result = run_konstat(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["binary", "foreign"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explain", "pods", "\udcff"], "'\\udcff' is not the name of an object"),
        (["explain", "pods/a/b"], "'a/b' is not the name of an object"),
        (["explain", "pods", "-n", ""], "it is empty: name a namespace"),
        (["wait", "pods/.."], "'..' is not the name of an object"),
        (["wait", "pods", "-n", "../x"], "'../x' is not a DNS label"),
    ],
)
def test_where_1_and_2_are_verdicts_it_is_3(run_konstat, arguments, says) -> None:
    result = run_konstat(*arguments)
    assert result.exit_code == 3
    assert says in result.stderr


def test_a_port_that_is_taken(run_konstat) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run_konstat("serve", "--no-nodes", "--port", str(port))
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in result.stderr
    assert "address already in use" in result.stderr


def test_a_kubeconfig_that_cannot_be_written(
    run_konstat, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("konstat.cli.kubeconfig_file.write_secret", refuse)
    result = run_konstat("serve", "--no-nodes", "--kubeconfig", "out")
    assert result.exit_code == 2
    assert "--kubeconfig out: cannot be written: read-only file system" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_an_output_that_is_full(folder: Path) -> None:
    (folder / "m.py").write_text(
        "from konstat import Resource, Spec, Status\n"
        "class S(Spec): pass\nclass T(Status): pass\n"
        "class Crate(Resource[S, T], group='demo.example.com', version='v1'): pass\n"
    )
    with open("/dev/full", "w") as full:
        ended = _konstat("crd", "m.py", stdout=full)
    assert ended.returncode == 1
    assert ended.stderr == "Error: the output cannot be written: no space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["crd", "--help"]], ids=str)
def test_help_for_an_output_that_is_full(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = _konstat(*arguments, stdout=full)
    assert ended.returncode == 1
    assert ended.stderr == "Error: the output cannot be written: no space left on device\n"


def test_a_reader_that_has_gone_is_no_verdict(folder: Path) -> None:
    (folder / "x.json").write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap"}))
    reading, writing = os.pipe()
    os.close(reading)
    ended = _konstat("explain", "-f", "x.json", stdout=writing)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (3, "")


def test_standard_input_that_is_closed(folder: Path) -> None:
    command = [sys.executable, "-m", "konstat.cli.main", "explain", "-"]
    closed = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True
    )
    assert closed.returncode == 3
    assert closed.stderr.startswith("Error: standard input is closed: pipe objects into it")


def _konstat(*arguments: str, stdout: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "konstat.cli.main", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def _options(name: str) -> list[str]:
    command = konstat.get_command(click.Context(konstat), name)
    assert command is not None
    return [p.opts[-1] for p in command.params if isinstance(p, click.Option)]


@pytest.mark.parametrize("name", ["run", "crd", "status", "nodes"])
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_arguments_end_in_words(run_konstat, name: str, data: st.DataObject) -> None:
    assert name in COMMANDS
    option = st.sampled_from(_options(name))
    words = data.draw(st.lists(option | ANYTHING, max_size=6))
    # Nothing leads to a cluster: there is no kubeconfig, and no file that could be run.
    result = run_konstat(name, *words)
    assert result.exit_code in (0, 1, 2)
    assert result.exit_code == 0 or result.stderr
