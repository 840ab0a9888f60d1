"""`konstat run`: the controllers of a file or module, against the cluster of the kubeconfig.

Before: `konstat.cli.target` finds the controllers. After: `konstat.controller.run` runs them.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from konstat.base import clock
from konstat.cli.settings import checked_namespaces, cluster_options, settings_of
from konstat.cli.target import load_controllers
from konstat.client.config import load_config
from konstat.controller import HealthAddress
from konstat.controller import run as run_controllers
from konstat.controller.run import configure_logging

log = logging.getLogger("konstat.cli")

_PORTS: Final = 65535


def address(ctx: click.Context | None, param: click.Parameter | None, text: str) -> HealthAddress:
    """``HOST:PORT``, ``[IPV6]:PORT``, or ``:PORT`` for every address of the machine.

    Raises click.BadParameter for anything else.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or (":" in host and not bracketed):
        raise click.BadParameter(f"{text!r} is not HOST:PORT, for example 127.0.0.1:8080")
    if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) <= _PORTS):
        raise click.BadParameter(f"{port!r} is not a port: give 0 to {_PORTS}")
    return HealthAddress(host=host.strip("[]") or "0.0.0.0", port=int(port))


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger, message, and error with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": clock.micro_timestamp(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


@click.command()
@click.argument("target")
@click.option(
    "--install-crds", is_flag=True, help="Apply the CRDs first, and wait until they are served."
)
@cluster_options
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    metavar="NAME",
    callback=checked_namespaces,
    multiple=True,
    help="Look after this namespace only; may be given several times (default: all).",
)
@click.option(
    "--health-address",
    metavar="HOST:PORT",
    callback=address,
    default="127.0.0.1:0",
    show_default=True,
    help="Where /healthz, /readyz and /metrics are served; port 0 lets the system choose.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines for people, or one JSON object per line.",
)
@click.pass_context
def run(
    ctx: click.Context,
    target: str,
    install_crds: bool,
    kubeconfig: Path | None,
    context: str | None,
    namespaces: tuple[str, ...],
    health_address: HealthAddress,
    log_format: str,
) -> None:
    """Run the controllers of TARGET until Ctrl-C or SIGTERM.

    TARGET is file.py or package.module, and :attribute if not all of its controllers are meant.

    \b
    Example:
        konstat run webapp.py --install-crds
        konstat run shop.operators:webapps -n demo --log-format json
    """
    _start_logging(level=settings_of(ctx).level("INFO", "DEBUG"), as_json=log_format == "json")
    controllers = load_controllers(target)
    config = load_config(kubeconfig=kubeconfig, context=context)
    log.info(
        "running %s of %s in %s of %s (%s)",
        ", ".join(str(controller.kind) for controller in controllers),
        target,
        f"namespace {', '.join(namespaces)}" if namespaces else "all namespaces",
        config.server,
        f"context {config.context}" if config.context else config.source,
    )
    run_controllers(
        *controllers,
        kubeconfig=kubeconfig,
        context=context,
        namespaces=namespaces,
        health_address=health_address,
        install_crds=install_crds,
    )


def _start_logging(*, level: str, as_json: bool) -> None:
    if not as_json:
        configure_logging(level)
        return
    lines = logging.StreamHandler()
    lines.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[lines])
