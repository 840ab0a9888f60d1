from __future__ import annotations

import io
import json
from datetime import datetime, timedelta

import msgspec
import pytest
from rich.console import Console
from rich.live import Live

from konstat.base.clock import use_clock
from konstat.cli.status.screen import JsonScreen, LiveScreen, TextScreen
from konstat.cli.status.tree import Gathered


class Clock:
    """Time that a test moves."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


def terminal(*, width: int = 80) -> Console:
    return Console(
        file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
        force_terminal=True,
        width=width,
        color_system="standard",
        highlight=False,
        _environ={"TERM": "xterm"},
    )


def text_of(console: Console) -> str:
    console.file.flush()
    buffer = console.file.buffer  # pyright: ignore[reportAttributeAccessIssue]
    return buffer.getvalue().decode()


def test_a_terminal_gets_colours_and_signs(broken_shop: Gathered, now, monkeypatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    console = terminal()
    with use_clock(Clock(now)):
        TextScreen(console, namespaces=False, empty="").show(broken_shop)
    assert "✖" in text_of(console)
    assert "\x1b[1;31mFailed" in text_of(console)


def test_no_color_and_pipes_get_ascii(broken_shop: Gathered, now, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    pipe = io.StringIO()
    coloured = terminal()
    for console in (coloured, Console(file=pipe, highlight=False)):
        with use_clock(Clock(now)):
            TextScreen(console, namespaces=False, empty="").show(broken_shop)
    assert pipe.getvalue().isascii()
    assert "WebApp" in text_of(coloured)
    assert "✖" not in text_of(coloured)


def test_a_pipe_gets_lines_that_are_not_broken(broken_shop: Gathered, now) -> None:
    pipe = io.StringIO()
    with use_clock(Clock(now)):
        TextScreen(Console(file=pipe, width=40), namespaces=False, empty="").show(broken_shop)
    assert "cannot be pulled (the user must act)\n" in pipe.getvalue()


def test_what_did_not_change_is_not_printed_again(broken_shop: Gathered, now, capsys) -> None:
    pipe = io.StringIO()
    text = TextScreen(Console(file=pipe), namespaces=False, empty="nothing here")
    documents = JsonScreen(server="https://x", one_line=True)
    clock = Clock(now)
    with use_clock(clock):
        for screen in (text, documents):
            screen.show(broken_shop)
        clock.moment += timedelta(seconds=30)
        for screen in (text, documents):
            screen.show(broken_shop)
            screen.show(msgspec.structs.replace(broken_shop, resources=()))
    assert pipe.getvalue().count("WebApp shop") == 1
    assert pipe.getvalue().endswith("\n\nnothing here\n")
    lines = capsys.readouterr().out.splitlines()
    assert [len(json.loads(line)["resources"]) for line in lines] == [1, 0]


def test_a_live_drawing_replaces_the_last_one(broken_shop: Gathered, now) -> None:
    console = terminal()
    clock = Clock(now)
    text = TextScreen(console, namespaces=False, empty="nothing here")
    with use_clock(clock), Live(console=console, auto_refresh=False) as live:
        screen = LiveScreen(text, live)
        screen.show(broken_shop)
        before = len(text_of(console))
        screen.show(msgspec.structs.replace(broken_shop, resources=()))
    after = text_of(console)[before:]
    assert "\x1b[1A" in after, "the cursor goes up"
    assert "nothing here" in after


@pytest.mark.parametrize("width", [30, 200])
def test_a_terminal_of_any_width_is_served(broken_shop: Gathered, now, width: int) -> None:
    console = terminal(width=width)
    with use_clock(Clock(now)):
        TextScreen(console, namespaces=True, empty="").show(broken_shop)
    assert "demo/shop" in text_of(console)
