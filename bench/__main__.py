"""``python -m bench [NAME…] [--rounds N] [--write]``: run benches and judge their bounds."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import sys
from collections.abc import Awaitable
from typing import Protocol, cast

import click
from rich.console import Console

import bench
from bench.document import DOCUMENT, write_section
from bench.settings import DEFAULT_ROUNDS, Settings
from bench.tables import Report
from konstat.errors import KonstatError


class Bench(Protocol):
    """A module that measures something."""

    NAME: str
    TITLE: str

    def run(self, settings: Settings) -> Awaitable[Report]: ...


def find_benches() -> dict[str, Bench]:
    """The modules of this package that have a NAME, by that name."""
    names = sorted(info.name for info in pkgutil.iter_modules(bench.__path__))
    modules = [importlib.import_module(f"bench.{name}") for name in names if name[0] != "_"]
    return {module.NAME: cast("Bench", module) for module in modules if hasattr(module, "NAME")}


def _help() -> str:
    return (
        "Run benches (default: all) and print what they find.\n\n"
        f"NAME is one of {', '.join(find_benches())}. The exit status is 1 when a bound is broken."
        "\n\n\b\nExample:\n    python -m bench job storm --rounds 3"
    )


@click.command(help=_help(), context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=DEFAULT_ROUNDS,
    show_default=True,
    help="How often each measurement is made.",
)
@click.option("--write", is_flag=True, help=f"Put the results into docs/{DOCUMENT.name}.")
def main(names: tuple[str, ...], rounds: int, write: bool) -> None:
    benches = find_benches()
    unknown = [name for name in names if name not in benches]
    if unknown:
        raise click.BadParameter(f"no bench {unknown[0]!r}: there are {', '.join(benches)}")
    command = " ".join(["python -m bench", *names, f"--rounds {rounds}"])
    # Each is judged by itself: a bound that is broken does not keep the others from running.
    held = [
        _run(benches[name], rounds=rounds, command=command if write else "")
        for name in names or benches
    ]
    sys.exit(0 if all(held) else 1)


def _run(chosen: Bench, *, rounds: int, command: str) -> bool:
    """Run one bench and show its report; whether its bounds hold."""
    settings = Settings(rounds=rounds)
    settings.say(f"{chosen.NAME}: {chosen.TITLE}")

    async def run() -> Report:
        return await chosen.run(settings)

    try:
        report = asyncio.run(run())
    except KonstatError as error:
        raise click.ClickException(f"{chosen.NAME}: {error}") from error
    report.print(Console(width=140, soft_wrap=False) if not sys.stdout.isatty() else Console())
    if command:
        write_section(chosen.NAME, chosen.TITLE, report, command=command)
    return report.holds


if __name__ == "__main__":
    main()
