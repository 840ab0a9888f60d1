"""Runs a credentials plugin and reads the ExecCredential that it prints.

Called by `konstat.client.auth` when there is no credential yet, it has expired, or the server
refused it. Source of the rules: KEP-541, versions v1 and v1beta1 of client.authentication.k8s.io.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import shutil
import signal
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from konstat.base import limits
from konstat.base.clock import parse_timestamp
from konstat.base.tasks import open_tasks
from konstat.client.cluster import ClusterConfig, ExecConfig
from konstat.client.files import read_bytes
from konstat.errors import ConfigError
from konstat.objects import codec

_STDERR_CHARACTERS = 300


class ExecCredential(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin answered: a token, a client certificate with its key, or both.

    ``expires`` is None for a credential that holds until the server refuses it.
    """

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None

    def __repr__(self) -> str:
        return f"ExecCredential(expires={self.expires})"


class _AnswerStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _Answer(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _AnswerStatus | None = None


_answer_decoder = msgspec.json.Decoder(_Answer)


async def run_plugin(plugin: ExecConfig, config: ClusterConfig) -> ExecCredential:
    """Run the plugin once.

    Raises ConfigError when it is not installed, fails, hangs for longer than
    `limits.EXEC_PLUGIN_TIMEOUT_SECONDS`, or prints anything but an ExecCredential. What it
    printed on its standard output is never shown, the end of its standard error is.
    """
    interactive = _interactive(plugin)
    child = await _start(plugin, config, interactive=interactive)
    patience = limits.EXEC_PLUGIN_TIMEOUT_SECONDS
    if interactive:
        patience = limits.EXEC_PLUGIN_INTERACTIVE_SECONDS
    try:
        async with asyncio.timeout(patience):
            output, complaint = await _read(child, plugin)
            code = await child.wait()
    except TimeoutError as error:
        raise ConfigError(
            f"the credentials plugin {plugin.command!r} did not end within"
            f" {patience:.0f} s and was stopped: run it by hand to see what it waits for"
        ) from error
    finally:
        await _end(child, own_group=not interactive)
    if code != 0:
        said = f": {complaint}" if complaint else " and said nothing: run it by hand to see why"
        raise ConfigError(f"the credentials plugin {plugin.command!r} {_ended(code)}{said}")
    return read_credential(output, plugin)


async def _start(
    plugin: ExecConfig, config: ClusterConfig, *, interactive: bool
) -> asyncio.subprocess.Process:
    info = codec.encode(exec_info(plugin, config, interactive=interactive)).decode()
    try:
        return await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if interactive else asyncio.subprocess.PIPE,
            env={**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": info},
            # A group of its own, so that what the plugin started ends with it. An interactive one
            # must stay in the terminal's group to read from it.
            start_new_session=not interactive,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the credentials plugin {plugin.command!r} of {config.source} cannot be run:"
            f" {_why_not_run(error, plugin)}"
        ) from error


def _why_not_run(error: OSError | ValueError, plugin: ExecConfig) -> str:
    """The reason, and what to do; the author of the kubeconfig may have given a hint."""
    match error:
        case FileNotFoundError():
            found = shutil.which(plugin.command)
            if found is not None:
                return f"the program that the first line of {found} names is not there; install it"
            where = "it is not there" if os.sep in plugin.command else "it is not in PATH"
            hint = "install it, or correct users[].user.exec.command"
            return f"{where}; {_on_one_line(plugin.install_hint) or hint}"
        case PermissionError():
            return "it is no program that we may run; correct users[].user.exec.command, or chmod"
        case OSError(errno=errno.ENOEXEC):
            return "it is no program for this machine, and no script that begins with #!"
        case OSError(errno=errno.E2BIG):
            return "its arguments and environment are too long; shorten args, env or extensions"
        case _:
            return f"{getattr(error, 'strerror', None) or error}; correct users[].user.exec"


def _on_one_line(text: str) -> str:
    """Text of others, fit for a message: one line, printable, bounded."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())[-_STDERR_CHARACTERS:]


def _ended(code: int) -> str:
    if code > 0:
        return f"failed with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _interactive(plugin: ExecConfig) -> bool:
    """Whether the plugin may ask the user; raises ConfigError when it must and there is nobody."""
    terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not terminal:
        raise ConfigError(
            f"the credentials plugin {plugin.command!r} wants to ask the user"
            " (interactiveMode: Always), but the standard input is no terminal: use another"
            " credential for programs that run alone"
        )
    return terminal and plugin.interactive_mode != "Never"


def exec_info(plugin: ExecConfig, config: ClusterConfig, *, interactive: bool) -> dict[str, Any]:
    """What KUBERNETES_EXEC_INFO tells the plugin; the cluster only with provideClusterInfo."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster_info:
        ca_data = config.ca_data
        if not ca_data and config.ca_file:
            ca_data = read_bytes(config.ca_file, what="the certificate authority")
        cluster = {
            "server": config.server,
            "tls-server-name": config.tls_server_name,
            "insecure-skip-tls-verify": config.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(ca_data).decode(),
            "proxy-url": config.proxy_url,
            "config": plugin.cluster_extension,
        }
        spec["cluster"] = {key: value for key, value in cluster.items() if value}
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


async def _read(child: asyncio.subprocess.Process, plugin: ExecConfig) -> tuple[bytes, str]:
    """Standard output, and the end of standard error on one line; both bounded."""
    assert child.stdout is not None
    if child.stderr is None:  # the user reads it on the terminal
        return await _read_all(child.stdout, plugin), ""
    async with open_tasks() as tasks:
        # Both at once: a plugin that fills one pipe while the other is read would stop for ever.
        complaint = tasks.start(_read_end(child.stderr), name="stderr of a credentials plugin")
        output = await _read_all(child.stdout, plugin)
        text = _on_one_line((await complaint).decode("utf-8", "replace"))
    return output, text


async def _read_all(stream: asyncio.StreamReader, plugin: ExecConfig) -> bytes:
    output = bytearray()
    while chunk := await stream.read(65536):
        output += chunk
        if len(output) > limits.EXEC_PLUGIN_OUTPUT_BYTES:
            raise ConfigError(
                f"the credentials plugin {plugin.command!r} printed more than"
                f" {limits.EXEC_PLUGIN_OUTPUT_BYTES} bytes where an ExecCredential was expected"
            )
    return bytes(output)


async def _read_end(stream: asyncio.StreamReader) -> bytes:
    end = b""
    while chunk := await stream.read(65536):
        end = (end + chunk)[-4 * _STDERR_CHARACTERS :]
    return end


async def _end(child: asyncio.subprocess.Process, *, own_group: bool) -> None:
    """Stop the plugin if it still runs, whatever ended the wait for it."""
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError):
        if own_group:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    with suppress(TimeoutError):
        # asyncio calls a child ended only when its pipes are read to their ends too, and one that
        # left the group may hold them open.
        async with asyncio.timeout(limits.EXEC_PLUGIN_END_SECONDS):
            for pipe in (child.stdout, child.stderr):
                while pipe is not None and await pipe.read(65536):
                    pass
            await child.wait()


def read_credential(output: bytes, plugin: ExecConfig) -> ExecCredential:
    """Understand what a plugin printed; raises ConfigError without showing it."""
    who = f"the credentials plugin {plugin.command!r}"
    try:
        answer = _answer_decoder.decode(output)
    except (ValueError, RecursionError) as error:
        what = f"{len(output)} bytes that are no ExecCredential in JSON" if output else "nothing"
        raise ConfigError(
            f"{who} printed {what}: run it by hand, and check users[].user.exec.command and args"
        ) from error
    if answer.kind != "ExecCredential":
        raise ConfigError(f"{who} printed a JSON object whose kind is not ExecCredential")
    if answer.api_version != plugin.api_version:
        raise ConfigError(
            f"{who} answered in version {answer.api_version[:100]!r}, and the kubeconfig says"
            f" {plugin.api_version!r}: make users[].user.exec.apiVersion agree with the plugin"
        )
    status = answer.status or _AnswerStatus()
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if not status.token and not certificate:
        raise ConfigError(f"{who} answered without a token and without a client certificate")
    if bool(certificate) != bool(key):
        raise ConfigError(f"{who} answered with only one of client certificate and key")
    if any(c in (status.token or "") for c in "\r\n\0"):
        raise ConfigError(f"{who} answered with a token that holds a line break")
    return ExecCredential(
        token=status.token or "",
        certificate=certificate.encode("utf-8", "replace"),
        key=key.encode("utf-8", "replace"),
        expires=_expiry(status.expiration_timestamp, who),
    )


def _expiry(text: str | None, who: str) -> datetime | None:
    if not text:
        return None
    try:
        return parse_timestamp(text)
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"{who} answered with the expirationTimestamp {text[:64]!r}, which is no RFC 3339 time"
        ) from error
