"""`konstat`: the group of all commands, and how errors leave it.

A command's module is imported when the command is called. An error that konstat raised on purpose
becomes ``Error: …`` on standard error: a UserError exits with 2 (as click's usage errors do), any
other KonstatError with 1, Ctrl-C with 130, SIGTERM with 143; where 1 and 2 are verdicts, all errors
exit with 3. With ``-v`` the traceback stands above it. Anything else is a mistake in konstat and
shows its traceback.

After: the modules beside this one, one for each command.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import traceback
from collections.abc import Iterator
from typing import NamedTuple

import click

from konstat.cli.ending import (
    EXIT_INTERRUPTED,
    EXIT_USER,
    drop_output,
    output_problem,
    printable,
    tidy_up_on_sigterm,
)
from konstat.cli.settings import Settings
from konstat.errors import KonstatError, UserError


class _Command(NamedTuple):
    """Where a command is, and its line in the list of commands (without loading its module)."""

    module: str
    help: str
    exit_error: int = 0  # the status of every error, where 1 and 2 are verdicts


COMMANDS = {
    "run": _Command("konstat.cli.run", "Run the controllers of a file or module."),
    "crd": _Command("konstat.cli.crd", "Print the CRDs of a file or module."),
    "status": _Command("konstat.cli.status", "Show resources, their children and what is wrong."),
    "explain": _Command(
        "konstat.cli.explain", "Say whether an object is done, and if not, why.", exit_error=3
    ),
    "wait": _Command(
        "konstat.cli.wait", "Wait until objects are ready, and say why not.", exit_error=3
    ),
    "dev": _Command("konstat.cli.dev", "Develop an operator: API, nodes, reload on change."),
    "demo": _Command("konstat.cli.demo", "Watch the life of a resource and its operator."),
    "serve": _Command("konstat.cli.serve", "Serve an embedded Kubernetes API."),
    "nodes": _Command("konstat.cli.nodes", "Play the nodes of a control plane that has none."),
    "rig": _Command("konstat.cli.rig", "Run a real Kubernetes control plane on this machine."),
}


class _UserFailure(click.ClickException):
    """An error that the user can mend."""

    exit_code = EXIT_USER


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(COMMANDS[cmd_name].module), cmd_name)
        assert isinstance(found, click.Command), cmd_name
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError as error:
            # click suggests among the commands that it knows, and it knows ours by name only.
            raise click.UsageError(
                f"no such command {args[0]!r}: choose from {', '.join(COMMANDS)}", ctx
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        with _own_status(ctx), _errors_as_text(ctx):
            return super().invoke(ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="konstat", message="%(prog)s %(version)s")
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="Say more (-vv: everything), and show where an error came from.",
)
@click.pass_context
def konstat(ctx: click.Context, verbose: int) -> None:
    """Kubernetes operators whose status can be believed.

    \b
    Example:
        konstat run webapp.py --install-crds
        konstat status webapps -n demo
    """
    ctx.obj = Settings(verbosity=verbose)


def main() -> None:
    """Run the command that the program's arguments name; never returns."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks must not end a command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    tidy_up_on_sigterm()
    try:
        konstat(prog_name="konstat")
    except OSError as error:  # of an option that prints and ends, which is no command's
        problem = output_problem(error)
        if not problem:
            raise
        drop_output()
        click.echo(f"Error: the output cannot be written: {problem}", err=True)
        sys.exit(1)


@contextlib.contextmanager
def _own_status(ctx: click.Context) -> Iterator[None]:
    """Errors leave a command whose statuses 1 and 2 are verdicts with a status of their own."""
    try:
        yield
    except (click.ClickException, BrokenPipeError) as error:
        command = COMMANDS.get(ctx.invoked_subcommand or "")
        if command is None or not command.exit_error:
            raise
        if isinstance(error, click.ClickException):
            error.show()
        else:
            drop_output()
        ctx.exit(command.exit_error)


@contextlib.contextmanager
def _errors_as_text(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        click.echo(err=True)  # ends the line on which the terminal shows ^C
        ctx.exit(getattr(error, "exit_code", EXIT_INTERRUPTED))
    except OSError as error:
        problem = output_problem(error)
        if not problem:
            raise
        raise click.ClickException(f"the output cannot be written: {problem}") from error
    except KonstatError as error:
        raise _failure(ctx, [error], error) from error
    except BaseExceptionGroup as group:
        known = [leaf for leaf in _leaves(group) if isinstance(leaf, KonstatError)]
        if len(known) < len(_leaves(group)):
            raise
        raise _failure(ctx, known, group) from group


def _failure(
    ctx: click.Context, errors: list[KonstatError], whole: BaseException
) -> click.ClickException:
    if isinstance(ctx.obj, Settings) and ctx.obj.verbosity:
        click.echo("".join(traceback.format_exception(whole)), err=True, nl=False)
    text = printable("\n".join(dict.fromkeys(str(error) for error in errors)))
    user = all(isinstance(error, UserError) for error in errors)
    return _UserFailure(text) if user else click.ClickException(text)


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


if __name__ == "__main__":
    main()
