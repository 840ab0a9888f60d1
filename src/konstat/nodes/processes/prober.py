"""One try of a probe or a hook against a process: HTTP, TCP or a command.

The answer is an empty text for success, else what went wrong in a kubelet's words.
`konstat.nodes.processes.probing` says what follows from it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from konstat.base import limits
from konstat.nodes.podspec import ContainerPort, ExecAction, HttpGet, Probe, TcpSocket
from konstat.nodes.processes.spawn import Kept

_AGENT: Final = "kube-probe/konstat"
_FIRST_FAILURE: Final = 400  # redirects count as success, as for a kubelet


class Prober:
    """Tries actions on one container.

    ``address`` is the pod's; ``env`` and ``folder`` are the container's, for commands. Every try
    is bounded by the time that it is given.
    """

    def __init__(
        self,
        *,
        address: str,
        ports: Sequence[ContainerPort],
        env: Mapping[str, str],
        folder: Path,
    ) -> None:
        self._address = address
        self._ports = {port.name: port.container_port for port in ports if port.name}
        self._env = env
        self._folder = folder

    async def probe(self, probe: Probe) -> str:
        """Try a probe of a kind that is played."""
        return await self.act(
            exec=probe.exec,
            http_get=probe.http_get,
            tcp_socket=probe.tcp_socket,
            timeout_seconds=max(1, probe.timeout_seconds),
        )

    async def act(
        self,
        *,
        exec: ExecAction | None = None,
        http_get: HttpGet | None = None,
        tcp_socket: TcpSocket | None = None,
        timeout_seconds: float,
    ) -> str:
        """Try the one action that is given."""
        try:
            async with asyncio.timeout(timeout_seconds):
                if exec is not None:
                    return await self._run(exec)
                if http_get is not None:
                    return await self._get(http_get)
                if tcp_socket is not None:
                    return await self._connect(tcp_socket)
        except TimeoutError:
            return f"no answer within {timeout_seconds:g}s"
        except (OSError, ValueError) as error:
            return str(error) or type(error).__name__
        raise AssertionError("a probe without an action is not tried")

    async def _run(self, action: ExecAction) -> str:
        if not action.command:
            raise ValueError("the command is empty")
        kept = await Kept.start(action.command, env=self._env, folder=self._folder)
        said = b""
        try:
            while data := await kept.read():
                said = (said + data)[: limits.PROBE_ANSWER_BYTES]
            code = await kept.wait()
        finally:
            await kept.end()
        text = said.decode(errors="replace").strip()
        return "" if code == 0 else f"command ended with exit code {code}: {text}".rstrip(": ")

    async def _connect(self, action: TcpSocket) -> str:
        _, writer = await asyncio.open_connection(
            action.host or self._address, self._port(action.port)
        )
        await _close(writer)
        return ""

    async def _get(self, action: HttpGet) -> str:
        secure = action.scheme.upper() == "HTTPS"
        host, port = action.host or self._address, self._port(action.port)
        reader, writer = await asyncio.open_connection(
            host, port, ssl=_anyone() if secure else None, limit=limits.PROBE_ANSWER_BYTES
        )
        try:
            writer.write(_request(action, host=host, port=port))
            await writer.drain()
            line = await reader.readline()
        finally:
            await _close(writer)
        return _verdict(line)

    def _port(self, port: int | str) -> int:
        """A port by number or by name; raises ValueError for a name that the container lacks."""
        if isinstance(port, int):
            return port
        if port.isascii() and port.isdigit():
            return int(port)
        if port not in self._ports:
            raise ValueError(f"couldn't find port: {port!r}")
        return self._ports[port]


def _request(action: HttpGet, *, host: str, port: int) -> bytes:
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    headers = {"host": f"{host}:{port}", "user-agent": _AGENT, "accept": "*/*"}
    headers |= {header.name.lower(): header.value for header in action.http_headers}
    headers["connection"] = "close"
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any(mark in line for line in lines for mark in "\r\n\0") or " " in path:
        raise ValueError("the path or a header holds a character that HTTP does not take")
    return "\r\n".join([*lines, "", ""]).encode()


def _verdict(line: bytes) -> str:
    """From a status line; raises ValueError for what is none."""
    words = line.split(maxsplit=2)
    if (
        len(words) < 2
        or not words[0].startswith(b"HTTP/1.")
        or not re.fullmatch(rb"[1-5]\d\d", words[1])
    ):
        raise ValueError("the answer is not HTTP")
    code = int(words[1])
    if 200 <= code < _FIRST_FAILURE:
        return ""
    return f"HTTP probe failed with statuscode: {code}"


def _anyone() -> ssl.SSLContext:
    """A kubelet does not check certificates of pods."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _close(writer: asyncio.StreamWriter) -> None:
    # Not close: with TLS it waits for the other side, and how that says good-bye does not matter.
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
