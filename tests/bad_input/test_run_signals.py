"""`konstat run` as a process: servers that come late and go, signals at every stage."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from live_processes import runs
from odd_servers import answer, refusal, served

from konstat.testing.embedded_plane import embedded_api

PATIENCE_SECONDS = 30.0

OPERATOR = """
    import threading
    from konstat import Controller, Resource, Spec, Status

    class CrateSpec(Spec):
        pass

    class CrateStatus(Status):
        pass

    class Crate(Resource[CrateSpec, CrateStatus], group="demo.example.com", version="v1"):
        pass

    crates = Controller(Crate)

    @crates.reconcile
    async def reconcile(crate: Crate, context) -> None:
        print("attempt begins", flush=True)
        threading.Event().wait(600)
"""


class Program:
    """A running `konstat` and all that it has said."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.text = ""
        self._said = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "konstat.cli.main", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._said:
                self.text += line
                self._said.notify_all()

    def wait_said(self, pattern: str) -> None:
        with self._said:
            said = self._said.wait_for(lambda: re.search(pattern, self.text), PATIENCE_SECONDS)
        assert said, f"never said {pattern}:\n{self.text}"

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait_ended(self) -> int:
        code = self._process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.wait_ended()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Program]]:
    """Starts `konstat` with arguments, in the folder of operator.py's author."""
    (folder / "crates.py").write_text(dedent(OPERATOR))
    programs: list[Program] = []

    def run(*arguments: str) -> Program:
        programs.append(Program(*arguments, folder=folder))
        return programs[-1]

    yield run
    for program in programs:
        program.close()


def _exec_user(folder: Path) -> dict[str, object]:
    """A credentials plugin that tells its process id, and then hangs."""
    script = folder / "plugin"
    script.write_text("#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nexec sleep 600\n")
    script.chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": "./plugin", "interactiveMode": "Never"}}


def _wait_for(path: Path) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not path.exists():
        assert time.monotonic() < deadline, path
        pause.wait(0.02)
    return path.read_text().strip()


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        (["run", "crates.py"], signal.SIGTERM, 0),
        (["status", "pods"], signal.SIGTERM, 143),
        (["status", "pods"], signal.SIGINT, 130),
    ],
)
def test_a_signal_while_a_credentials_plugin_hangs_ends_the_plugin_too(
    start, kubeconfig, folder: Path, command, number, code
) -> None:
    program = start(
        *command, "--kubeconfig", kubeconfig("http://127.0.0.1:9", user=_exec_user(folder))
    )
    plugin = int(_wait_for(folder / "pid"))
    program.send(number)
    assert program.wait_ended() == code
    assert "Traceback" not in program.text
    assert not runs(plugin)


def test_a_signal_while_the_definitions_are_installed_on_a_silent_server(start, kubeconfig) -> None:
    with socket.socket() as listener:  # the system takes connections, and nobody answers
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        path = kubeconfig(f"http://127.0.0.1:{listener.getsockname()[1]}")
        program = start("run", "crates.py", "--install-crds", "--kubeconfig", path)
        program.wait_said("running Crate")
        peer, _ = listener.accept()
        program.send(signal.SIGINT)
        assert program.wait_ended() == 0
        peer.close()
    assert "SIGINT: stopping" in program.text
    assert "Traceback" not in program.text


def test_a_server_in_trouble_is_waited_for_before_the_definitions_are_installed(
    start, kubeconfig
) -> None:
    trouble = refusal(500, "InternalError", "etcdserver: leader changed")
    with served(trouble) as address:
        path = kubeconfig(f"http://{address}")
        program = start("run", "crates.py", "--install-crds", "--kubeconfig", path)
        program.wait_said("CRDs are not installed yet, trying again: .*leader changed")
        program.send(signal.SIGTERM)
        assert program.wait_ended() == 0


def test_an_interrupt_while_the_file_is_imported(start, kubeconfig, folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import threading\nprint('begun', flush=True)\nthreading.Event().wait(600)\n"
    )
    program = start("run", "slow.py", "--kubeconfig", kubeconfig("http://127.0.0.1:9"))
    program.wait_said("begun")
    program.send(signal.SIGINT)
    assert program.wait_ended() == 130
    assert "Traceback" not in program.text


class Gate:
    """A way to a server that can be shut, so that nothing listens at its address."""

    def __init__(self, port: int, *, to: int) -> None:
        self.port = port
        self._to = to
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        assert self._listener is not None
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):  # its other side went before
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                inner, _ = listener.accept()
            except OSError:
                return
            outer = socket.create_connection(("127.0.0.1", self._to))
            self._open += [inner, outer]
            for pair in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        # The server wants to be called by its own address.
        ours, theirs = (f"Host: 127.0.0.1:{port}".encode() for port in (self.port, self._to))
        try:
            while data := source.recv(65536):
                target.sendall(data.replace(ours, theirs))
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


async def test_a_server_that_comes_late_and_goes_is_waited_for(
    start, kubeconfig, closed_port: int
) -> None:
    """Also: an attempt that blocks the event loop does not keep Ctrl-C from working."""
    async with embedded_api(nodes=0) as api, api.client() as client:
        gate = Gate(closed_port, to=int(api.server.rpartition(":")[2]))
        path = kubeconfig(f"http://127.0.0.1:{closed_port}", user={})
        program = start("run", "crates.py", "--install-crds", "--kubeconfig", path)
        refused = r"CRDs are not installed yet.*connection refused; is it running"
        await asyncio.to_thread(lambda: program.wait_said(refused))
        gate.open()
        await asyncio.to_thread(lambda: program.wait_said("running: Controller"))
        gate.shut()
        await asyncio.to_thread(lambda: program.wait_said("WARNING.*failed to .*Crate"))
        gate.open()
        await asyncio.to_thread(lambda: program.wait_said("can be read again"))
        crate = {"apiVersion": "demo.example.com/v1", "kind": "Crate", "metadata": {"name": "a"}}
        await client.exchange(
            "POST",
            "/apis/demo.example.com/v1/namespaces/default/crates",
            body=json.dumps({**crate, "spec": {}}).encode(),
        )
        await asyncio.to_thread(lambda: program.wait_said("attempt begins"))
        program.send(signal.SIGINT)
        await asyncio.to_thread(lambda: program.wait_said("SIGINT: stopping"))
        program.send(signal.SIGINT)
        assert await asyncio.to_thread(program.wait_ended) == 130
        gate.shut()
    assert "never retrieved" not in program.text
    assert "KeyboardInterrupt" not in program.text


def test_a_web_page_is_no_reason_to_believe_that_there_is_nothing(start, kubeconfig) -> None:
    page = answer("200 OK", "text/html", "<html>Sign in</html>")
    with served(page) as address:
        program = start("run", "crates.py", "--kubeconfig", kubeconfig(f"http://{address}"))
        program.wait_said("WARNING.*failed to .*Crate.*answered with a web page")
        program.send(signal.SIGTERM)
        assert program.wait_ended() == 0
    assert "running: Controller" not in program.text
