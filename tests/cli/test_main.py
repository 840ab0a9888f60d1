from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from konstat.cli.main import COMMANDS, konstat


def _commands(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, *words, name)
        else:
            yield (*words, name), command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_an_example(run_konstat, name: str) -> None:
    command = konstat.get_command(click.Context(konstat), name)
    group = isinstance(command, click.Group)
    calls = [words for words, _ in _commands(command, name)] if group else [(name,)]
    for words in calls:
        result = run_konstat(*words, "--help")
        assert result.exit_code == 0
        assert "Example:" in result.output, words
        assert f"konstat {' '.join(words)}" in result.output


def test_the_group_lists_its_commands(run_konstat) -> None:
    result = run_konstat("--help")
    assert result.exit_code == 0
    assert "Example:" in result.output
    for name, command in COMMANDS.items():
        assert f"{name} " in result.output
        assert command.help in result.output


def test_the_version(run_konstat) -> None:
    result = run_konstat("--version")
    assert result.exit_code == 0
    assert result.output.startswith("konstat 0.")


def test_help_is_quick_because_nothing_is_loaded_for_it() -> None:
    code = (
        "import sys; from konstat.cli.main import konstat\n"
        "konstat(['--help'], standalone_mode=False)\n"
        "slow = {'aiohttp', 'rich', 'msgspec', 'asyncio', 'yaml'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {slow}' if slow else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_wrong_command_names_the_right_ones(run_konstat) -> None:
    result = run_konstat("stats")
    assert result.exit_code == 2
    assert "no such command 'stats': choose from run, crd, status" in result.stderr


def test_an_unknown_option_is_a_usage_error(run_konstat) -> None:
    assert run_konstat("--nope").exit_code == 2
    assert run_konstat("run", "--nope").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_a_users_mistake_exits_with_2_and_without_traceback(run_konstat) -> None:
    result = run_konstat("run", "absent.py")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: absent.py does not exist")
    assert "Traceback" not in result.output


def test_verbose_shows_where_an_error_came_from(run_konstat, write) -> None:
    write("broken.py", "1 / 0")
    result = run_konstat("-v", "crd", "broken.py")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "Error: broken.py, line 1: ZeroDivisionError" in result.stderr


def test_a_server_that_does_not_answer_exits_with_1(run_konstat, write, closed_port: int) -> None:
    kubeconfig = write("kubeconfig", _kubeconfig(f"http://127.0.0.1:{closed_port}"))
    result = run_konstat("status", "pods", "--kubeconfig", str(kubeconfig))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("folder")
def test_a_kubeconfig_that_is_not_there_exits_with_2(run_konstat) -> None:
    result = run_konstat("status", "pods", "--kubeconfig", "absent")
    assert result.exit_code == 2
    assert "absent" in result.stderr


def test_an_interrupt_exits_with_130(run_konstat, write) -> None:
    write("slow.py", "raise KeyboardInterrupt")
    result = run_konstat("crd", "slow.py")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_a_mistake_of_konstat_shows_itself(run_konstat, monkeypatch: pytest.MonkeyPatch) -> None:
    command = konstat.get_command(click.Context(konstat), "crd")
    assert command is not None
    monkeypatch.setattr(command, "callback", lambda **_: 1 / 0)
    assert isinstance(run_konstat("crd", "x.py").exception, ZeroDivisionError)


def test_a_closed_pipe_is_no_traceback(webapp) -> None:
    code = "from konstat.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "crd", str(webapp)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == b""


def _kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "c", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }
    )
