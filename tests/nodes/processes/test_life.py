"""One run of a container as a process: probes, ends, last words. No server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from live_processes import environment, python, until

from konstat.base.tasks import open_tasks
from konstat.nodes.podspec import PlayedContainer
from konstat.nodes.processes.life import Life, LifeShape
from konstat.nodes.processes.logs import RunLog
from konstat.nodes.processes.plan import Plan
from konstat.nodes.runtime import Ending, Warning
from konstat.objects import codec

WAIT = "import signal; print('here'); signal.pause()"
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print('here')\nwhile 1: signal.pause()"
# Answers 200 where the file `good` is in its folder, else 503.
SERVER = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists('good') else 503)
        self.end_headers()
http.server.HTTPServer(('127.0.0.1', PORT), Answer).serve_forever()
"""


class Lived:
    """A life and what it has told."""

    def __init__(self, folder: Path, options: dict[str, Any], *, allowed: bool) -> None:
        self.folder = folder
        self.told: list[Warning] = []
        self.changes = 0
        container = codec.typed({"name": "main", "image": "app", **options}, PlayedContainer)
        self.life = Life(
            LifeShape(
                container=container,
                address="127.0.0.1",
                work=folder,
                termination_log=folder / "message",
                grace_seconds=30,
                commands_allowed=allowed,
            ),
            log=RunLog(folder / "log"),
            changed=self._change,
            tell=self.told.append,
        )

    def _change(self) -> None:
        self.changes += 1

    @property
    def ready(self) -> bool:
        return self.life.report().ready

    @property
    def ended(self) -> bool:
        return self.life.ending is not None

    async def ending(self) -> Ending:
        await until(lambda: self.ended, what="the end")
        assert self.life.ending is not None
        return self.life.ending

    async def says(self, text: str) -> None:
        await until(lambda: text in self.life.log.tail(lines=9, bytes=999), what=text)


Live = Callable[..., Any]


@pytest.fixture
def live(tmp_path: Path) -> Live:
    @asynccontextmanager
    async def run(text: str, *, allowed: bool = False, **options: Any) -> AsyncIterator[Lived]:
        lived = Lived(tmp_path, options, allowed=allowed)
        async with open_tasks() as tasks:
            lived.life.start(Plan(command=python(text), env=environment()), tasks)
            yield lived

    return run


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


async def test_without_probes_a_started_program_is_ready(live: Live) -> None:
    async with live(WAIT) as lived:
        await until(lambda: lived.ready, what="ready")
        assert lived.life.running


async def test_an_ending_carries_code_reason_and_message(live: Live, tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'message')!r}, 'w').write('no database'); raise SystemExit(3)"
    async with live(text) as lived:
        ending = await lived.ending()
        assert (ending.exit_code, ending.reason, ending.message) == (3, "Error", "no database")
        assert lived.changes >= 1
    async with live("") as lived:
        (tmp_path / "message").unlink()
        assert (await lived.ending()).reason == "Completed"


async def test_the_log_is_the_message_only_where_the_pod_wants_it(live: Live) -> None:
    text = "print('one'); print('two'); raise SystemExit(1)"
    async with live(text) as lived:
        assert (await lived.ending()).message == ""
    async with live(text, terminationMessagePolicy="FallbackToLogsOnError") as lived:
        assert (await lived.ending()).message == "one\ntwo\n"


async def test_what_cannot_be_started_is_an_ending_too(tmp_path: Path) -> None:
    lived = Lived(tmp_path, {}, allowed=False)
    async with open_tasks() as tasks:
        lived.life.start(Plan(command=("run",), env={"A": "x\0"}), tasks)
        ending = await lived.ending()
    assert (ending.exit_code, ending.reason) == (128, "StartError")
    assert "failed to start 'run'" in ending.message


async def test_a_stop_is_sigterm_then_sigkill(live: Live) -> None:
    async with live(WAIT) as lived:
        await lived.says("here")
        lived.life.stop(grace_seconds=30)
        assert (await lived.ending()).exit_code == 143
    async with live(DEAF) as lived:
        await lived.says("here")
        lived.life.stop(grace_seconds=0.3)
        assert (await lived.ending()).exit_code == 137


async def test_a_second_stop_can_only_shorten_the_grace(live: Live) -> None:
    async with live(DEAF) as lived:
        await lived.says("here")
        lived.life.stop(grace_seconds=3600)
        lived.life.stop(grace_seconds=0.1)
        lived.life.stop(grace_seconds=3600)
        assert (await lived.ending()).exit_code == 137


async def test_a_stop_before_the_start_ends_it(live: Live) -> None:
    async with live(DEAF) as lived:
        lived.life.stop(grace_seconds=0)
        assert (await lived.ending()).exit_code in (137, 143)


# --- probes ---------------------------------------------------------------------------------


async def test_readiness_follows_the_probe(live: Live, tmp_path: Path) -> None:
    port = free_port()
    probe = {"httpGet": {"path": "/", "port": port}, "periodSeconds": 1, "failureThreshold": 1}
    unhealthy = Warning(
        "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"
    )
    async with live(SERVER.replace("PORT", str(port)), readinessProbe=probe) as lived:
        await until(lambda: unhealthy in lived.told, what="an unhealthy probe")
        assert not lived.ready
        (tmp_path / "good").touch()
        await until(lambda: lived.ready, what="ready")
        (tmp_path / "good").unlink()
        await until(lambda: not lived.ready, what="unready")


async def test_a_failed_liveness_probe_ends_the_container(live: Live) -> None:
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 1, "failureThreshold": 2}
    async with live(WAIT, livenessProbe=probe) as lived:
        assert (await lived.ending()).exit_code == 143
    killing = Warning("Killing", "Container main failed liveness probe, will be restarted")
    assert killing in lived.told
    assert sum(warning.reason == "Unhealthy" for warning in lived.told) == 2


async def test_a_probe_s_own_grace_counts(live: Live) -> None:
    probe = {
        "tcpSocket": {"port": 1},
        "initialDelaySeconds": 1,
        "failureThreshold": 1,
        "terminationGracePeriodSeconds": 1,
    }
    async with live(DEAF, livenessProbe=probe) as lived:
        assert (await lived.ending()).exit_code == 137


async def test_a_startup_probe_holds_the_others_back(live: Live, tmp_path: Path) -> None:
    command = ["test", "-e", str(tmp_path / "up")]
    startup = {"exec": {"command": command}, "periodSeconds": 1, "failureThreshold": 100}
    liveness = {"exec": {"command": command}, "periodSeconds": 1, "failureThreshold": 1}
    options = {"startupProbe": startup, "livenessProbe": liveness}
    async with live(WAIT, allowed=True, **options) as lived:
        await until(lambda: len(lived.told) >= 2, what="failed startup probes")
        assert lived.life.report().started is False
        assert lived.life.running
        (tmp_path / "up").touch()
        await until(lambda: lived.ready, what="ready")


async def test_a_startup_probe_that_fails_for_good_ends_the_container(live: Live) -> None:
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 1, "failureThreshold": 1}
    async with live(WAIT, startupProbe=probe) as lived:
        assert (await lived.ending()).exit_code == 143
    assert any("failed startup probe" in warning.message for warning in lived.told)


@pytest.mark.parametrize("probe", [{"exec": {"command": ["true"]}}, {"grpc": {"port": 1}}])
async def test_a_probe_that_is_not_played_never_passes_and_never_kills(
    live: Live, probe: dict[str, Any]
) -> None:
    async with live("raise SystemExit(5)", readinessProbe=probe, livenessProbe=probe) as lived:
        assert (await lived.ending()).exit_code == 5
    assert lived.told == []
    async with live(WAIT, readinessProbe=probe) as lived:
        await until(lambda: lived.life.report().started, what="started")
        assert not lived.ready


# --- hooks ----------------------------------------------------------------------------------


async def test_a_pre_stop_command_runs_first(live: Live, tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    hook = {"preStop": {"exec": {"command": ["touch", mark]}}}
    text = (
        "import os, signal\n"
        f"signal.signal(15, lambda *_: os._exit(20 + os.path.exists({mark!r})))\n"
        "print('here')\nwhile 1: signal.pause()"
    )
    for allowed, code in ((False, 20), (True, 21)):
        async with live(text, lifecycle=hook, allowed=allowed) as lived:
            await lived.says("here")
            lived.life.stop(grace_seconds=20)
            assert (await lived.ending()).exit_code == code


async def test_a_hook_that_hangs_takes_no_more_than_the_grace(live: Live) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "100"]}}}
    async with live(WAIT, lifecycle=hook, allowed=True) as lived:
        await lived.says("here")
        lived.life.stop(grace_seconds=0.3)
        assert (await lived.ending()).exit_code in (137, 143)
    assert [warning.reason for warning in lived.told] == ["FailedPreStopHook"]
