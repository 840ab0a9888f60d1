"""What a user reads when the kubeconfig, or its credentials plugin, is broken."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from konstat.base import limits

VERSION = "client.authentication.k8s.io/v1"
NESTED = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "kc: there is no context and no current-context: expected a kubeconfig"),
        (b"a: [1\nb: }", "kc is not usable YAML: line 2"),
        (b"- 1", "kc: expected a mapping with kind: Config, not a list"),
        (b"<html><body>Sign in</body></html>", "kc: expected a mapping with kind: Config"),
        (b"\xff\xfe\x00", "'kc' (the kubeconfig) is not UTF-8 text (byte 0)"),
        (b"\x00", "kc is not usable YAML"),
        (b"a" * (limits.CREDENTIAL_FILE_BYTES + 1), "larger than"),
        (f"k0: &a0 [{'x, ' * 20}]\n{NESTED}".encode(), "values when its anchors are written out"),
        (b"contexts: [{name: dev}]", "kc: current-context is not set: set it, or ask for one"),
        (b"current-context: x", "'x' is the current-context, but no context of that name is in kc"),
    ],
)
def test_a_file_that_is_no_kubeconfig(run_konstat, folder: Path, content, says) -> None:
    (folder / "kc").write_bytes(content)
    result = run_konstat("status", "pods", "--kubeconfig", "kc")
    assert result.exit_code == 2
    assert says in result.stderr


def test_files_that_cannot_be_read(run_konstat, folder: Path) -> None:
    (folder / "folder").mkdir()
    for name, says in (("absent", "no such file or directory"), ("folder", "is a directory")):
        result = run_konstat("status", "pods", "--kubeconfig", name)
        assert result.exit_code == 2
        assert f"cannot read the kubeconfig from '{name}': {says}" in result.stderr


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("absent", "KUBECONFIG names absent, which does not exist: correct or unset it"),
        ("absent:kc", "connection refused"),
        ("kc:broken", "broken is not usable YAML"),
        (":::", "no cluster is configured: there is no KUBECONFIG"),
    ],
)
def test_lists_in_KUBECONFIG(
    run_konstat,
    kubeconfig,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    closed_port,
    value,
    says,
) -> None:
    kubeconfig(f"http://127.0.0.1:{closed_port}")
    (folder / "broken").write_text("a: [1")
    monkeypatch.setenv("KUBECONFIG", value)
    result = run_konstat("status", "pods")
    assert result.exit_code in (1, 2)
    assert says in result.stderr


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ({"certificate-authority-data": "%%%"}, "certificate-authority-data: expected base64"),
        (
            {"certificate-authority-data": base64.b64encode(b"hello").decode()},
            "expected certificates in PEM, beginning with -----BEGIN CERTIFICATE-----",
        ),
        ({"certificate-authority": "absent"}, "absent': no such file or directory"),
        ({"proxy-url": "ftp://x"}, "clusters[0].cluster.proxy-url: expected an address"),
    ],
)
def test_a_cluster_that_cannot_be_used(run_konstat, kubeconfig, cluster, says) -> None:
    path = kubeconfig("https://127.0.0.1:9", **cluster)
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "plugin' of kc cannot be run: it is not there; install it"),
        ("#!/no/such/shell\n", "plugin names is not there; install it"),
        ("just text\n", "no program for this machine, and no script that begins with #!"),
        ("#!/bin/sh\necho 'log in' >&2; exit 3\n", "failed with code 3: log in"),
        ("#!/bin/sh\nexit 1\n", "failed with code 1 and said nothing: run it by hand"),
        ("#!/bin/sh\nprintf '\\033[31mred\\n' >&2; exit 1\n", "failed with code 1: [31mred"),
        ("#!/bin/sh\nkill -9 $$\n", "was ended by SIGKILL and said nothing"),
        ("#!/bin/sh\ntrue\n", "printed nothing: run it by hand"),
        ("#!/bin/sh\necho s3cr3t\n", "printed 7 bytes that are no ExecCredential in JSON"),
        ("#!/bin/sh\nhead -c 2000000 /dev/zero\n", "printed more than 1048576 bytes"),
    ],
)
def test_a_credentials_plugin_that_gives_none(
    run_konstat, kubeconfig, folder: Path, script, says
) -> None:
    if script is not None:
        (folder / "plugin").write_text(script)
        (folder / "plugin").chmod(0o755)
    plugin = {"apiVersion": VERSION, "command": "./plugin", "interactiveMode": "Never"}
    path = kubeconfig("http://127.0.0.1:9", user={"exec": plugin})
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_credentials_plugin_that_is_no_program(run_konstat, kubeconfig, folder: Path) -> None:
    (folder / "plugin").write_text("x")
    plugin = {"apiVersion": VERSION, "command": "./plugin", "interactiveMode": "Never"}
    path = kubeconfig("http://127.0.0.1:9", user={"exec": plugin})
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 2
    assert "it is no program that we may run" in result.stderr
    plugin["command"] = "no-such-plugin-anywhere"
    path = kubeconfig("http://127.0.0.1:9", user={"exec": plugin})
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert "it is not in PATH; install it" in result.stderr


@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8")))
def test_any_file_ends_in_words(run_konstat, folder: Path, content: bytes) -> None:
    (folder / "kc").write_bytes(content)
    result = run_konstat("status", "pods", "--kubeconfig", "kc")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
