"""Single tries of probes: what counts as success, and in which words failures are told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_processes import environment, python

from konstat.nodes.podspec import ContainerPort, Probe
from konstat.nodes.processes.prober import Prober, _verdict
from konstat.objects import codec
from konstat.testing import ControlPlane


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that gives one answer to everything; its port and what it was asked."""
    asked: list[bytes] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.IncompleteReadError:
            asked.append(b"")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked


async def attempt(folder: Path, port: int, **probe: Any) -> str:
    prober = Prober(
        address="127.0.0.1",
        ports=[ContainerPort(name="http", container_port=port)],
        env=environment(),
        folder=folder,
    )
    return await prober.probe(codec.typed(probe, Probe))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.0 204\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", ""),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP probe failed with statuscode: 404"),
        (b"HTTP/1.1 503 x\r\n\r\n", "HTTP probe failed with statuscode: 503"),
        (b"SSH-2.0-x\r\n", "the answer is not HTTP"),
        (b"", "the answer is not HTTP"),
        (b"x" * 100_000, "Separator is"),
    ],
)
async def test_an_answer_below_400_is_success(tmp_path: Path, answer: bytes, expected: str) -> None:
    async with answering(answer) as (port, _):
        failure = await attempt(tmp_path, port, httpGet={"path": "/", "port": "http"})
    assert failure == expected or (expected and failure.startswith(expected))


async def test_path_and_headers_are_sent(tmp_path: Path) -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as (port, asked):
        headers = [{"name": "X-Token", "value": "a b"}, {"name": "Host", "value": "web"}]
        get = {"path": "health?x=1", "port": port, "httpHeaders": headers}
        assert await attempt(tmp_path, port, httpGet=get) == ""
    text = asked[0].decode()
    assert text.startswith("GET /health?x=1 HTTP/1.1\r\n")
    assert "x-token: a b\r\n" in text
    assert "host: web\r\n" in text
    assert "kube-probe" in text


@pytest.mark.parametrize(
    ("path", "value"), [("/a b", "x"), ("/a\r\nX: y", "x"), ("/", "x\r\nY: z")]
)
async def test_what_would_break_the_request_is_refused(
    tmp_path: Path, path: str, value: str
) -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as (port, _):
        get = {"path": path, "port": port, "httpHeaders": [{"name": "A", "value": value}]}
        assert "HTTP does not take" in await attempt(tmp_path, port, httpGet=get)


async def test_a_connection_is_enough_for_tcp(tmp_path: Path) -> None:
    async with answering(b"") as (port, _):
        assert await attempt(tmp_path, port, tcpSocket={"port": str(port)}) == ""
    assert "onnect" in await attempt(tmp_path, port, tcpSocket={"port": port})


async def test_a_port_that_the_container_does_not_name(tmp_path: Path) -> None:
    failure = await attempt(tmp_path, 1, tcpSocket={"port": "grpc"})
    assert failure == "couldn't find port: 'grpc'"


async def test_a_try_is_bounded(tmp_path: Path) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        failure = await attempt(tmp_path, port, httpGet={"port": port}, timeoutSeconds=1)
    assert failure == "no answer within 1s"


async def test_commands_succeed_with_code_0(tmp_path: Path) -> None:
    good = {"command": list(python("import os; print(os.getcwd())"))}
    bad = {"command": list(python("print('no database'); raise SystemExit(4)"))}
    assert await attempt(tmp_path, 1, exec=good) == ""
    assert await attempt(tmp_path, 1, exec=bad) == "command ended with exit code 4: no database"
    slow = {"command": list(python("import signal; signal.pause()"))}
    assert await attempt(tmp_path, 1, exec=slow, timeoutSeconds=1) == "no answer within 1s"
    assert await attempt(tmp_path, 1, exec={"command": []}) == "the command is empty"


@given(st.binary() | st.integers(0, 10_000).map(lambda code: b"HTTP/1.1 %d x" % code))
def test_any_status_line_is_a_verdict_or_no_http(line: bytes) -> None:
    if re.match(rb"\s*HTTP/1\.\S*\s+[1-5]\d\d(\s|$)", line):
        _verdict(line)
    else:
        with pytest.raises(ValueError, match="the answer is not HTTP"):
            _verdict(line)


@pytest.mark.realapi
async def test_https_is_spoken_without_checking_certificates(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    port = int(control_plane.server.rpartition(":")[2])
    get = {"path": "/livez", "port": port, "scheme": "HTTPS"}
    failure = await attempt(tmp_path, port, httpGet=get, timeoutSeconds=10)
    # Whether strangers may ask is the server's choice; an answer shows that TLS was spoken.
    assert not failure or "statuscode: 40" in failure
