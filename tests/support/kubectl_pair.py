"""kubectl against the embedded server and a real one: the same commands, comparable output."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from konstat.embedded.http import serve
from konstat.embedded.server import EmbeddedServer
from konstat.testing import ControlPlane

COMMAND_SECONDS: Final = 60.0
_MASKS: Final = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"resourceVersion: \"\d+\"", "resourceVersion: RV"),
    (r"\"resourceVersion\": \"\d+\"", '"resourceVersion": RV'),
    (r"Resource Version:\s+\d+", "Resource Version: RV"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000)?Z?", "TIME"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000", "TIME"),
    (r"\b10\.96\.\d+\.\d+\b", "IP"),
    (r"(?<=\s)(\d+[smhdy]){1,2}(?=\s|$)", "AGE"),
    (r"/(LIVE|MERGED)-\d+/", r"/\1/"),
    (r"\S*/(LIVE|MERGED)/", r"\1/"),
    (r"[ \t]+(?=\n|$)", ""),
    (r" {2,}", "  "),
)


class Ran(NamedTuple):
    """What one command said, masked."""

    code: int
    output: str
    errors: str


class Kubectl:
    """kubectl with one kubeconfig."""

    def __init__(self, program: Path, kubeconfig: Path, cache: Path) -> None:
        self._program = program
        self._kubeconfig = kubeconfig
        self._cache = cache

    def run(
        self,
        *arguments: str,
        text: str = "",
        namespace: str = "",
        environment: dict[str, str] | None = None,
    ) -> Ran:
        """Run one command; ``text`` is its standard input."""
        command = [
            str(self._program),
            f"--kubeconfig={self._kubeconfig}",
            f"--cache-dir={self._cache}",
            *([f"--namespace={namespace}"] if namespace else []),
            *arguments,
        ]
        ran = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        return Ran(ran.returncode, masked(ran.stdout, namespace), masked(ran.stderr, namespace))


def masked(text: str, namespace: str = "") -> str:
    """Output without what differs from run to run."""
    if namespace:
        text = text.replace(namespace, "NAMESPACE")
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text)
    return text.strip()


@contextmanager
def embedded_kubectl(program: Path, folder: Path) -> Iterator[Kubectl]:
    """kubectl against an embedded server that runs in a thread of its own."""
    ready = threading.Event()
    ended: list[BaseException] = []
    state: dict[str, object] = {}

    async def run() -> None:
        stop = asyncio.Event()
        state["loop"], state["stop"] = asyncio.get_running_loop(), stop
        async with serve(EmbeddedServer()) as address:
            state["url"] = address.url
            ready.set()
            await stop.wait()

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            ended.append(error)
            raise
        finally:
            ready.set()

    thread = threading.Thread(target=main, name="embedded server")
    thread.start()
    try:
        assert ready.wait(30)
        assert not ended, ended
        kubeconfig = folder / "embedded.kubeconfig"
        kubeconfig.write_text(_kubeconfig(str(state["url"])))
        yield Kubectl(program, kubeconfig, folder / "embedded-cache")
    finally:
        loop, stop = state["loop"], state["stop"]
        assert isinstance(loop, asyncio.AbstractEventLoop)
        assert isinstance(stop, asyncio.Event)
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)


def real_kubectl(plane: ControlPlane, folder: Path) -> Kubectl:
    """kubectl against a real control plane."""
    return Kubectl(plane.kubectl, plane.kubeconfig, folder / "real-cache")


def _kubeconfig(url: str) -> str:
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: embedded\n"
        f"clusters: [{{name: embedded, cluster: {{server: '{url}'}}}}]\n"
        "contexts: [{name: embedded, context: {cluster: embedded, user: nobody}}]\n"
        "users: [{name: nobody, user: {}}]\n"
    )
