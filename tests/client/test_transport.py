"""HTTP as it goes wrong: what is told, what was sent, what is left open."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl

import pytest
import trustme
from aiohttp import web

from konstat.base import limits
from konstat.base.transport import Request
from konstat.client.api import Client
from konstat.client.cluster import ClusterConfig
from konstat.client.connector import Sockets
from konstat.client.tls import build_context
from konstat.client.transport import HttpTransport
from konstat.errors import ConfigError, NotFound, TransportError

TIMEOUT = 20.0


def request(method="GET", **fields) -> Request:
    return Request(**{"method": method, "path": "/api", "timeout_seconds": TIMEOUT} | fields)


@pytest.fixture
async def transport(plain_server):
    transport = HttpTransport(ClusterConfig(server=plain_server.address, token="secret"))
    yield transport
    await transport.close()


@pytest.fixture
async def raw_server():
    """Starts a server of bare bytes; gives its address."""
    servers = []

    async def start(serve) -> str:
        async def guarded(reader, writer):
            try:
                await serve(reader, writer)
            finally:
                writer.close()

        listening = await asyncio.start_server(guarded, "127.0.0.1", 0)
        servers.append(listening)
        return f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"

    yield start
    for listening in servers:
        listening.close()


async def sent_to(address: str, message: Request):
    transport = HttpTransport(ClusterConfig(server=address))
    try:
        return await transport.send(message)
    finally:
        await transport.close()


async def test_an_answer_of_any_status_is_given_back(plain_server, transport):
    async def teapot(_):
        return web.Response(status=418, body=b"tea", headers={"Retry-After": "3"})

    plain_server.answer = teapot
    answer = await transport.send(request("POST", body=b"{}", headers=(("A", "b"), ("A", "c"))))
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (418, b"tea", "3")
    seen = plain_server.seen[0]
    assert (seen.method, seen.path, seen.body) == ("POST", "/api", b"{}")
    assert seen.header("A") == "b, c"
    assert seen.header("User-Agent").startswith("konstat/")


async def test_a_path_is_sent_as_it_is(plain_server, transport):
    await transport.send(request(path="/api/a%2Fb?x=%2B+y&z=%C3%A4"))
    assert plain_server.seen[0].path == "/api/a%2Fb?x=%2B+y&z=%C3%A4"


async def test_a_redirect_is_not_followed(plain_server, transport):
    async def elsewhere(_):
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})

    plain_server.answer = elsewhere
    assert (await transport.send(request())).status == 302


async def test_100_gzip_is_accepted(plain_server, transport):
    body = b"x" * 300_000

    async def packed(sent):
        assert "gzip" in sent.headers["Accept-Encoding"]
        return web.Response(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})

    plain_server.answer = packed
    assert (await transport.send(request())).body == body


@pytest.mark.parametrize("packed", [True, False])
async def test_L2_an_answer_above_the_limit_is_refused(
    plain_server, transport, monkeypatch, packed
):
    monkeypatch.setattr(limits, "RESPONSE_BYTES", 1000)
    body = b"x" * 2000

    async def large(_):
        if packed:
            return web.Response(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
        return web.Response(body=body)

    plain_server.answer = large
    with pytest.raises(TransportError, match="larger than 1000 bytes"):
        await transport.send(request())


async def test_a_large_body_arrives_whole(plain_server, transport):
    body = b"x" * (3 * 1024 * 1024)
    await transport.send(request("POST", body=body))
    assert plain_server.seen[0].body == body


async def test_nobody_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            TransportError, match=r"accepts no connection: .*is it running"
        ) as caught:
            await sent_to(address, request("POST"))
    assert not caught.value.sent
    assert address in str(caught.value)


async def test_a_name_that_does_not_exist():
    with pytest.raises(TransportError, match="cannot be resolved") as caught:
        await sent_to("http://no-such-host.invalid:1", request("POST"))
    assert not caught.value.sent


async def test_a_certificate_of_an_unknown_authority(server):
    config = ClusterConfig(server=server.address, source="file.yaml")
    async with Client.connect(config) as client:
        with pytest.raises(TransportError, match=r"not accepted: .*file\.yaml") as caught:
            await client.exchange("POST", "/api")
    assert not caught.value.sent


async def test_an_unknown_authority_may_be_accepted_on_purpose(server):
    server.tokens = {"one"}
    config = ClusterConfig(server=server.address, token="one", insecure_skip_tls_verify=True)
    async with Client.connect(config) as client:
        await client.exchange("GET", "/api")
    assert server.users == ["one"]


async def test_F64_a_replaced_authority_is_found_by_the_next_try(server, certificates, tmp_path):
    server.tokens = {"one"}
    file = tmp_path / "ca.crt"
    file.write_bytes(trustme.CA().cert_pem.bytes())
    config = ClusterConfig(server=server.address, token="one", ca_file=str(file))
    async with Client.connect(config) as client:
        with pytest.raises(TransportError, match="not accepted"):
            await client.exchange("POST", "/api", retry=False)
        file.write_bytes(certificates.ca_pem)
        await client.exchange("POST", "/api", retry=False)
    assert server.users == ["one"]


async def test_https_to_a_server_that_speaks_none(raw_server):
    async def plain(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 no TLS here\r\n\r\n")

    address = await raw_server(plain)
    config = ClusterConfig(server=address.replace("http:", "https:"))
    async with Client.connect(config) as client:
        with pytest.raises(TransportError, match="does it speak https") as caught:
            await client.exchange("POST", "/api", retry=False)
    assert not caught.value.sent


async def test_the_connection_breaks_before_the_answer(raw_server):
    async def silent(reader, writer):
        await reader.readuntil(b"\r\n\r\n")

    with pytest.raises(TransportError, match="broke before its answer") as caught:
        await sent_to(await raw_server(silent), request("POST"))
    assert caught.value.sent


async def test_the_answer_is_cut_off(raw_server):
    async def cut(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with pytest.raises(TransportError, match="broke before its answer"):
        await sent_to(await raw_server(cut), request())


async def test_rubbish_instead_of_an_answer(raw_server):
    async def rubbish(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x00\xffSSH-2.0\r\n\r\n")

    with pytest.raises(TransportError):
        await sent_to(await raw_server(rubbish), request())


async def test_no_answer_in_time(raw_server):
    async def slow(reader, writer):
        await reader.read()

    with pytest.raises(TransportError, match=r"was silent for 0\.2 s") as caught:
        await sent_to(await raw_server(slow), request("POST", timeout_seconds=0.2))
    assert caught.value.sent


async def test_F26_a_lost_answer_of_a_delete_is_not_repeated_behind_our_back(raw_server):
    deletes = []

    async def once_good_then_gone(reader, writer):
        while line := await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            if line.startswith(b"DELETE"):
                deletes.append(line)
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    transport = HttpTransport(ClusterConfig(server=await raw_server(once_good_then_gone)))
    await transport.send(request())
    with pytest.raises(TransportError):
        await transport.send(request("DELETE"))
    await transport.close()
    assert len(deletes) == 1


async def test_cancelled_requests_leave_the_pool_usable(plain_server, transport, until):
    arrived = 0
    let_go = asyncio.Event()

    async def slow(_):
        nonlocal arrived
        arrived += 1
        await let_go.wait()
        return web.json_response({})

    plain_server.answer = slow
    many = [
        asyncio.ensure_future(transport.send(request()))
        for _ in range(limits.REQUEST_CONNECTIONS * 2)
    ]
    await until(lambda: arrived >= limits.REQUEST_CONNECTIONS)
    assert arrived == limits.REQUEST_CONNECTIONS
    for one in many:
        one.cancel()
    await asyncio.wait(many)
    let_go.set()
    answers = [await transport.send(request()) for _ in range(limits.REQUEST_CONNECTIONS + 1)]
    assert {answer.status for answer in answers} == {200}


async def test_watches_do_not_use_up_the_connections_of_requests(plain_server, transport):
    async def endless(sent):
        if sent.query_string != "watch":
            return web.json_response({})
        answer = web.StreamResponse()
        await answer.prepare(sent)
        await asyncio.Event().wait()
        return answer

    plain_server.answer = endless
    streams = [
        await transport.open(request(path="/api?watch"))
        for _ in range(limits.REQUEST_CONNECTIONS + 1)
    ]
    assert (await transport.send(request())).status == 200
    for stream in streams:
        await stream.close()


async def test_a_stream_that_is_closed_early_is_cut_off_over_TLS(server, config):
    gone = asyncio.Event()

    async def endless(sent):
        answer = web.StreamResponse()
        await answer.prepare(sent)
        try:
            while True:
                await answer.write(b"x" * 65536)
        finally:
            gone.set()
        return answer

    server.tokens = {"one"}
    server.answer = endless
    transport = HttpTransport(config(token="one"))
    stream = await transport.open(request())
    socket_of = stream._answer.connection.transport.get_extra_info("socket")
    await stream.close()
    assert socket_of.fileno() == -1
    await transport.close()
    await asyncio.wait_for(gone.wait(), 20)


async def test_no_socket_outlives_the_client(certificates):
    """The server answers, closes by its words, and never answers the farewell of TLS."""
    let_go = asyncio.Event()

    async def deaf(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await let_go.wait()
        writer.transport.abort()

    context = certificates.server_context()
    listening = await asyncio.start_server(deaf, "127.0.0.1", 0, ssl=context)
    port = listening.sockets[0].getsockname()[1]
    address = f"https://127.0.0.1:{port}"
    transport = HttpTransport(ClusterConfig(server=address, ca_data=certificates.ca_pem))
    assert (await transport.send(request())).status == 200
    [made] = transport._sockets._made
    assert made.fileno() != -1
    await transport.close()
    assert made.fileno() == -1
    let_go.set()
    listening.close()


async def test_F3_a_silent_stream_is_given_up(plain_server, transport):
    async def silent(sent):
        answer = web.StreamResponse()
        await answer.prepare(sent)
        await answer.write(b"one\n")
        await asyncio.Event().wait()
        return answer

    plain_server.answer = silent
    stream = await transport.open(request(timeout_seconds=0.3))
    chunks = stream.chunks()
    assert await anext(chunks) == b"one\n"
    with pytest.raises(TransportError, match=r"was silent for 0\.3 s"):
        await anext(chunks)
    await stream.close()


async def test_F4_a_broken_stream_is_told(raw_server):
    async def broken(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n7\r\nhal")

    transport = HttpTransport(ClusterConfig(server=await raw_server(broken)))
    stream = await transport.open(request())
    with pytest.raises(TransportError, match="broke before its answer"):
        async for _ in stream.chunks():
            pass
    await stream.close()
    await transport.close()


async def test_a_closed_client_says_so(plain_server):
    async with Client.connect(ClusterConfig(server=plain_server.address)) as client:
        pass
    with pytest.raises(TransportError, match="the client is closed") as caught:
        await client.exchange("GET", "/api", retry=False)
    assert not caught.value.sent


async def test_errors_name_the_request(plain_server):
    async def gone(_):
        return web.Response(status=404, text="404 page not found")

    plain_server.answer = gone
    async with Client.connect(ClusterConfig(server=plain_server.address, token="secret")) as client:
        with pytest.raises(NotFound, match=r"^failed to GET /x: 404 page not found \(HTTP 404\)$"):
            await client.exchange("GET", "/x")


async def test_an_address_that_cannot_be_used():
    with pytest.raises(ConfigError, match="no usable address"):
        HttpTransport(ClusterConfig(server="https://[::1"))


def test_F3_sockets_find_out_that_their_peer_is_gone():
    with Sockets().make((socket.AF_INET, socket.SOCK_STREAM, 0, "", None)) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30


def test_the_oldest_protocol_is_TLS_1_2(certificates):
    context = build_context(ClusterConfig(server="https://k", ca_data=certificates.ca_pem), None)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
