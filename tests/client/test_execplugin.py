"""A plugin's answer is understood, or its failure is told without its secrets."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import limits
from konstat.client.cluster import ClusterConfig, ExecConfig
from konstat.client.execplugin import exec_info, read_credential, run_plugin
from konstat.errors import ConfigError

HERE = ClusterConfig(server="https://k.example", source="file.yaml")
PLUGIN = ExecConfig(command="login")


def answer(status, *, kind="ExecCredential", version="v1") -> bytes:
    return json.dumps(
        {"kind": kind, "apiVersion": f"client.authentication.k8s.io/{version}", "status": status}
    ).encode()


def test_a_token_with_its_expiry():
    found = read_credential(
        answer({"token": "topsecret", "expirationTimestamp": "2026-01-01T00:00:00.5+01:00"}), PLUGIN
    )
    assert found.token == "topsecret"
    assert found.expires == datetime(2025, 12, 31, 23, 0, 0, 500_000, UTC)
    assert "topsecret" not in repr(found)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", "printed nothing: run it by hand"),
        (b"topsecret", "printed 9 bytes that are no ExecCredential"),
        (b"[]", "no ExecCredential"),
        (answer({"token": 5}), "no ExecCredential"),
        (answer({"token": "topsecret"}, kind="Token"), "kind is not ExecCredential"),
        (answer({"token": "topsecret"}, version="v1beta1"), "agree with the plugin"),
        (answer({}), "without a token and without"),
        (answer(None), "without a token and without"),
        (answer({"clientCertificateData": "topsecret"}), "only one of"),
        (answer({"token": "top\nsecret"}), "line break"),
        (answer({"token": "topsecret", "expirationTimestamp": "soon"}), "'soon', which is no RFC"),
        (answer({"token": "x", "expirationTimestamp": "2026-01-01T00:00:00"}), "no RFC 3339"),
    ],
)
def test_rubbish_is_told_without_showing_it(output, words):
    with pytest.raises(ConfigError, match=words) as caught:
        read_credential(output, PLUGIN)
    assert "secret" not in str(caught.value)


@given(st.binary(max_size=100))
def test_arbitrary_output_is_a_ConfigError(output):
    with pytest.raises(ConfigError):
        read_credential(output, PLUGIN)


TEXT = st.text(max_size=20) | st.none() | st.integers()


@given(
    st.dictionaries(
        st.sampled_from(["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"]),
        TEXT,
    )
)
def test_arbitrary_statuses_are_read_or_a_ConfigError(status):
    try:
        found = read_credential(answer(status), PLUGIN)
    except ConfigError:
        return
    assert found.token or found.certificate


async def test_a_plugin_that_is_not_installed_gives_its_hint():
    plugin = ExecConfig(command="no-such-program-here", install_hint="get it from the wiki")
    with pytest.raises(ConfigError, match=r"cannot be run: .*; get it from the wiki"):
        await run_plugin(plugin, HERE)


async def test_a_plugin_that_fails_is_told_with_the_end_of_its_complaint(plugin):
    plugin.will_answer({"code": 7, "stderr": "x" * 100_000 + "\n log in first", "stdout": "secret"})
    with pytest.raises(ConfigError, match=r"failed with code 7: x+ log in first$") as caught:
        await run_plugin(plugin.config(), HERE)
    assert len(str(caught.value)) < 600
    assert "secret" not in str(caught.value)


async def test_a_plugin_that_hangs_is_stopped(plugin, monkeypatch):
    monkeypatch.setattr(limits, "EXEC_PLUGIN_TIMEOUT_SECONDS", 1.0)
    plugin.will_answer({"hang": True})
    with pytest.raises(ConfigError, match="did not end within 1 s"):
        await run_plugin(plugin.config(), HERE)
    pid = int((plugin.folder / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_L2_a_plugin_that_prints_for_ever_is_stopped(monkeypatch):
    program = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    endless = ExecConfig(command=sys.executable, arguments=("-S", "-c", program))
    with pytest.raises(ConfigError, match="printed more than"):
        await run_plugin(endless, HERE)


async def test_a_plugin_that_must_ask_cannot_without_a_terminal(plugin, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(ConfigError, match="interactiveMode: Always"):
        await run_plugin(plugin.config(interactive_mode="Always"), HERE)
    assert plugin.runs == []


async def test_a_plugin_that_is_cancelled_is_stopped(plugin, until):
    plugin.will_answer({"hang": True})
    running = asyncio.ensure_future(run_plugin(plugin.config(), HERE))
    pid = plugin.folder / "pid"
    await until(lambda: pid.exists() and pid.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_what_the_plugin_is_told_about_the_cluster(tmp_path):
    (tmp_path / "ca").write_bytes(b"CA")
    config = ClusterConfig(
        server="https://k", ca_file=str(tmp_path / "ca"), tls_server_name="n", proxy_url="http://p"
    )
    plugin = ExecConfig(command="x", cluster_info=True)
    assert exec_info(plugin, config, interactive=True) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {
            "interactive": True,
            "cluster": {
                "server": "https://k",
                "tls-server-name": "n",
                "certificate-authority-data": "Q0E=",
                "proxy-url": "http://p",
            },
        },
    }
