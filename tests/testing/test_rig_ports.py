from __future__ import annotations

import socket

import pytest

from konstat.testing.rig_ports import HOST, Ports


@pytest.fixture
def ports() -> Ports:
    return Ports(["one", "two"])


def test_ports_differ_and_nobody_else_gets_them(ports: Ports) -> None:
    assert ports["one"] != ports["two"]
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, ports["one"]))
    ports.close()


def test_a_program_that_shares_ports_may_listen(ports: Ports) -> None:
    with socket.socket() as program:
        program.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        program.bind((HOST, ports["one"]))
        program.listen()
        with socket.create_connection((HOST, ports["one"]), timeout=5) as client:
            accepted, _ = program.accept()
            accepted.close()
            assert client.getpeername()[1] == ports["one"]
    ports.close()


def test_a_reserved_port_without_a_program_refuses(ports: Ports) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, ports["one"]), timeout=5)
    ports.close()


def test_closing_gives_them_back(ports: Ports) -> None:
    number = ports["one"]
    ports.close()
    with socket.socket() as other:
        other.bind((HOST, number))
