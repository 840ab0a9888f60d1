"""Servers that are no API server, or have a bad day; each runs in a thread of its own."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HTTP = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s"


def answer(status: str, content_type: str, body: str | bytes, *, header: str = "") -> bytes:
    """A whole HTTP answer in bytes."""
    data = body.encode() if isinstance(body, str) else body
    lines = f"{header}\r\n".encode() if header else b""
    return HTTP % (status.encode(), content_type.encode(), len(data), lines, data)


def refusal(code: int, reason: str, message: str) -> bytes:
    """The Status with which an API server refuses."""
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason}
    body = json.dumps({"apiVersion": "v1", "message": message} | status)
    return answer(f"{code} {reason}", "application/json", body)


@contextmanager
def served(data: bytes, *, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address, without a scheme, of a server that says ``data`` to whatever it is sent."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            # The other side may break off at any time, and often should.
            with suppress(OSError):
                peer = self.request
                if context is not None:
                    peer = context.wrap_socket(peer, server_side=True)
                peer.settimeout(20)
                peer.recv(65536)
                peer.sendall(data)
                peer.close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
