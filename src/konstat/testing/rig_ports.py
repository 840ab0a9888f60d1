"""Ports on 127.0.0.1 that stay ours from their choice until the instance ends.

Asking the OS for a free port and then starting a program on it leaves a gap in which another
process can take it. `reserve` keeps the chosen port bound with SO_REUSEPORT: the OS gives it to
nobody else, while the programs, told to share ports, may listen on it. A socket that does not
listen gets no connections, so a stopped program's port refuses them, as it should, and a
restarted one finds its port free.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

HOST = "127.0.0.1"


class Ports:
    """Reserved ports by name; `close` gives them back."""

    def __init__(self, names: Sequence[str]) -> None:
        self._sockets: dict[str, socket.socket] = {}
        try:
            for name in names:
                self._sockets[name] = _reserve()
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> int:
        number: int = self._sockets[name].getsockname()[1]
        return number

    def close(self) -> None:
        for reserved in self._sockets.values():
            reserved.close()


def _reserve() -> socket.socket:
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((HOST, 0))
    except BaseException:
        reserved.close()
        raise
    return reserved
