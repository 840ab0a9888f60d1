"""What the client's tests share: a fake API server over TLS, a fake plugin, a fake proxy."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from aiohttp import web

from konstat.base.clock import SystemClock
from konstat.base.transport import Request, Response
from konstat.client.cluster import ClusterConfig, ExecConfig
from konstat.errors import TransportError

# Polls look at the real world, also while a test simulates time.
SYSTEM = SystemClock()


class Clock:
    """Time that moves only when a test moves it, or something sleeps."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)
        self.seconds = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.advance(seconds)
        await SYSTEM.sleep(0)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def simulated_clock() -> Clock:
    return Clock()


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Waits until the world is in a state, at most twenty seconds."""

    async def wait(holds: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await SYSTEM.sleep(0.005)

    return wait


@pytest.fixture
def until_asked() -> Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]:
    """Asks until the answer is yes, at most thirty seconds."""

    async def wait(asked: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(30):
            while not await asked():
                await SYSTEM.sleep(0.05)

    return wait


class Certificates:
    """An authority, a server certificate for the names in tests, client certificates."""

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self.server = self.authority.issue_cert("127.0.0.1", "localhost", "kube.example")

    @property
    def ca_pem(self) -> bytes:
        return self.authority.cert_pem.bytes()

    def client(self, name: str, **options: Any) -> tuple[bytes, bytes]:
        """Certificate and key of a user, in PEM."""
        issued = self.authority.issue_cert(f"{name}.users", common_name=name, **options)
        return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.configure_cert(context)
        self.authority.configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    return Certificates()


class Seen(msgspec.Struct):
    """One request as the fake server saw it."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    user: str
    sni: str

    def header(self, name: str) -> str:
        return ", ".join(v for k, v in self.headers if k.lower() == name.lower())


class FakeServer:
    """Knows its users by token, password or client certificate; answers 401 to others.

    ``answer`` may be replaced by a test; by default it is an empty object.
    """

    def __init__(self) -> None:
        self.tokens: set[str] = set()
        self.certificate_users: set[str] = set()
        self.basic: set[str] = set()
        self.seen: list[Seen] = []
        self.answer: Callable[[web.Request], Awaitable[web.StreamResponse]] = self.answer_ok
        self.address = ""
        self.sni = ""

    @property
    def users(self) -> list[str]:
        """Who made the requests that were let in."""
        return [seen.user for seen in self.seen if seen.user]

    @property
    def refused(self) -> int:
        return sum(1 for seen in self.seen if not seen.user)

    async def answer_ok(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Thing", "apiVersion": "v1"})

    async def receive(self, request: web.Request) -> web.StreamResponse:
        user = self._user_of(request)
        self.seen.append(
            Seen(
                method=request.method,
                path=request.path_qs,
                headers=list(request.headers.items()),
                body=await request.read(),
                user=user,
                sni=self.sni,
            )
        )
        if not user:
            status = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "who?"}
            return web.json_response(status, status=401)
        return await self.answer(request)

    def _user_of(self, request: web.Request) -> str:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Bearer" and secret in self.tokens:
            return secret
        if scheme == "Basic" and secret in self.basic:
            return secret
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert") or {}
        subject = {k: v for group in certificate.get("subject", ()) for k, v in group}
        name = subject.get("commonName", "")
        return name if name in self.certificate_users else ""


async def _serve(server: FakeServer, context: ssl.SSLContext | None) -> web.AppRunner:
    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_route("*", "/{path:.*}", server.receive)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    server.address = f"{'https' if context else 'http'}://127.0.0.1:{port}"
    return runner


@pytest.fixture
async def server(certificates: Certificates) -> AsyncIterator[FakeServer]:
    """A fake API server over TLS."""
    fake = FakeServer()
    context = certificates.server_context()

    def note_name(_socket: object, name: str | None, _context: object) -> None:
        fake.sni = name or ""

    context.sni_callback = note_name  # pyright: ignore[reportAttributeAccessIssue]
    runner = await _serve(fake, context)
    yield fake
    await runner.cleanup()


@pytest.fixture
async def plain_server() -> AsyncIterator[FakeServer]:
    """The same without TLS; everybody with the token "secret" is let in."""
    fake = FakeServer()
    fake.tokens = {"secret"}
    runner = await _serve(fake, None)
    yield fake
    await runner.cleanup()


@pytest.fixture
def config(server: FakeServer, certificates: Certificates) -> Callable[..., ClusterConfig]:
    """Makes a configuration for the fake server."""

    def make(**fields: Any) -> ClusterConfig:
        return ClusterConfig(
            **{"server": server.address, "ca_data": certificates.ca_pem, "source": "a test"}
            | fields
        )

    return make


class FakePlugin:
    """A credentials plugin that prints the answers it is given, one for each run."""

    SCRIPT = textwrap.dedent("""
        import json, os, pathlib, sys, threading
        here = pathlib.Path(sys.argv[1])
        runs = here / "runs"
        number = len(runs.read_text().splitlines()) if runs.exists() else 0
        with runs.open("a") as file:
            file.write(json.dumps({
                "info": json.loads(os.environ["KUBERNETES_EXEC_INFO"]),
                "arguments": sys.argv[2:],
                "FLAVOUR": os.environ.get("FLAVOUR"),
            }) + "\\n")
        answers = json.loads((here / "answers").read_text())
        answer = answers[min(number, len(answers) - 1)]
        sys.stderr.write(answer.get("stderr", ""))
        sys.stderr.flush()
        sys.stdout.write(answer.get("stdout", ""))
        sys.stdout.flush()
        if answer.get("hang"):
            (here / "pid").write_text(str(os.getpid()))
            threading.Event().wait(600)
        sys.exit(answer.get("code", 0))
    """)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugin.py").write_text(self.SCRIPT)

    def will_answer(self, *answers: dict[str, Any]) -> None:
        (self.folder / "answers").write_text(json.dumps(answers))

    def will_give(self, *statuses: dict[str, Any], version: str = "v1") -> None:
        """Print an ExecCredential with each of the statuses in turn."""
        self.will_answer(*({"stdout": credential(s, version=version)} for s in statuses))

    @property
    def runs(self) -> list[dict[str, Any]]:
        path = self.folder / "runs"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def config(self, version: str = "v1", **fields: Any) -> ExecConfig:
        return ExecConfig(
            command=sys.executable,
            arguments=("-S", "-E", str(self.folder / "plugin.py"), str(self.folder)),
            api_version=f"client.authentication.k8s.io/{version}",
            **fields,
        )


def credential(status: dict[str, Any], *, version: str = "v1") -> str:
    return json.dumps(
        {
            "kind": "ExecCredential",
            "apiVersion": f"client.authentication.k8s.io/{version}",
            "status": status,
        }
    )


@pytest.fixture
def plugin(tmp_path: Path) -> FakePlugin:
    folder = tmp_path / "plugin"
    folder.mkdir()
    return FakePlugin(folder)


class FakeProxy:
    """Answers CONNECT and passes bytes on."""

    def __init__(self) -> None:
        self.connects: list[str] = []
        self.authorizations: list[str] = []
        self.refuse_with = ""
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = head.split()[1]
        self.connects.append(target)
        self.authorizations += [
            line.partition(": ")[2]
            for line in head.split("\r\n")
            if line.lower().startswith("proxy-authorization:")
        ]
        if self.refuse_with:
            writer.write(f"HTTP/1.1 {self.refuse_with}\r\nContent-Length: 0\r\n\r\n".encode())
            writer.close()
            return
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(reader, far_writer))
            group.create_task(_copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[FakeProxy]:
    fake = FakeProxy()
    listening = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield fake
    listening.close()


class FakeSocksProxy:
    """Speaks as much SOCKS 5 as a connection without a password needs; all names are here."""

    def __init__(self) -> None:
        self.targets: list[str] = []
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        head = await reader.readexactly(5)
        assert head[3] == 3, "expected a name, not an address"
        name = await reader.readexactly(head[4])
        port = int.from_bytes(await reader.readexactly(2))
        self.targets.append(f"{name.decode()}:{port}")
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(reader, far_writer))
            group.create_task(_copy(far_reader, writer))


@pytest.fixture
async def socks_proxy() -> AsyncIterator[FakeSocksProxy]:
    fake = FakeSocksProxy()
    listening = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.address = f"socks5://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield fake
    listening.close()


class FakeTransport:
    """Gives prepared answers, or raises prepared errors, in turn; the last one for ever."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.chunks: list[bytes | Exception] = []
        self.stream_status = 200
        self.closed_streams = 0

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def open(self, request: Request) -> FakeStream:
        self.requests.append(request)
        if self.answers and isinstance(self.answers[0], TransportError):
            raise self.answers[0]
        return FakeStream(self)

    async def close(self) -> None: ...


class FakeStream:
    def __init__(self, transport: FakeTransport) -> None:
        self._transport = transport

    @property
    def status(self) -> int:
        return self._transport.stream_status

    @property
    def headers(self) -> dict[str, str]:
        return {}

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._transport.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def close(self) -> None:
        self._transport.closed_streams += 1


@pytest.fixture
def fake_transport() -> type[FakeTransport]:
    return FakeTransport


def answer(status: int, body: Any = None, **headers: str) -> Response:
    """A prepared answer; names of ``headers`` are written with underscores."""
    data = (
        body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    )
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=names, body=data)


@pytest.fixture
def answered() -> Callable[..., Response]:
    return answer
