"""The options that let containers be processes of this machine, and what is printed of them.

Shared by `konstat nodes`, `konstat serve` and `konstat dev`. After: `konstat.nodes.processes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from konstat.cli.settings import FilePath
from konstat.errors import UserError
from konstat.nodes import ProcessRuntime
from konstat.nodes.addresses import LOCAL_PODS
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes import load_processes, parse_process
from konstat.nodes.processes.mapping import COMMAND
from konstat.nodes.processes.network import route_command

F = TypeVar("F", bound=Callable[..., Any])


class ProcessSettings(NamedTuple):
    """What the options say; the names are those that click passes."""

    processes: tuple[str, ...]
    files: tuple[Path, ...]
    allow_commands: bool
    pod_network: str | None
    logs: bool

    def runtime(self) -> ProcessRuntime | None:
        """The runtime that they ask for; None when nothing may run. Raises UserError."""
        mapped = [parse_process(text) for text in self.processes]
        for file in self.files:
            mapped += load_processes(file)
        if not mapped and not self.allow_commands:
            if self.logs or self.pod_network is not None:
                raise UserError("--logs and --pod-network are about processes: give --process too")
            return None
        return ProcessRuntime(
            mapped,
            allow_commands=self.allow_commands,
            pod_network=_network(self.pod_network),
            heard=_print_line if self.logs else None,
        )


def process_options(command: F) -> F:
    """Add the options; the command gets them as the fields of `ProcessSettings`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    click.option(
        "--process",
        "processes",
        multiple=True,
        metavar="IMAGE=COMMAND",
        help="Play containers of an image by a command on this machine; can be repeated.",
    ),
    click.option(
        "--processes",
        "files",
        multiple=True,
        type=FilePath(),
        metavar="FILE",
        help="The same from a YAML list of image, command and env.",
    ),
    click.option(
        "--allow-commands",
        is_flag=True,
        help="Let pods name commands: whoever can create a pod then runs any program here.",
    ),
    click.option(
        "--pod-network",
        metavar="CIDR",
        help="Addresses of pods with processes, if this machine answers on them.",
    ),
    click.option("--logs", is_flag=True, help="Print what processes say."),
)


def about(runtime: ProcessRuntime) -> Iterator[str]:
    """What there is to know of processes before the first pod comes."""
    count = len(runtime.map)
    yield f"process {count} mapped image{'s' * (count != 1)}; their pods are at {runtime.network}"
    if runtime.map.allow_commands:
        yield f"        pods may name commands ({COMMAND}<container>)"
    if runtime.network.is_loopback:
        yield "        Services of them get no endpoints, where loopback addresses are not valid:"
        yield f"        as root, run {route_command(LOCAL_PODS)}, and start again"


def _network(text: str | None) -> IPv4Network | None:
    try:
        return IPv4Network(text) if text is not None else None
    except ValueError as error:
        raise UserError(f"--pod-network {text}: {error}") from error


def _print_line(pod: PlayedPod, container: str, text: bytes) -> None:
    line = text.decode(errors="replace")
    click.echo(f"[{pod.namespace}/{pod.name}/{container}] {line}")
