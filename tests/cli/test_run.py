from __future__ import annotations

import json
import logging
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.cli.run import JsonLines, address
from konstat.controller import HealthAddress


def _convert(text: str) -> HealthAddress:
    return address(None, None, text)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("localhost:8080", "localhost", 8080),
        (":8080", "0.0.0.0", 8080),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_an_address_is_host_and_port(text: str, host: str, port: int) -> None:
    assert _convert(text) == HealthAddress(host=host, port=port)


@pytest.mark.parametrize(
    "text", ["", "8080", "host:", "host:http", "host:65536", "::1:80", "h:٣", "h:" + "9" * 5000]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        _convert(text)


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        found = _convert(text)
    except click.BadParameter:
        return
    assert 0 <= found.port <= 65535


def test_json_lines_are_one_object_each() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord(
            "konstat.x", logging.WARNING, "x.py", 1, "said %r\n", ("é",), sys.exc_info()
        )
    line = JsonLines().format(record)
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["level"] == "warning"
    assert entry["logger"] == "konstat.x"
    assert entry["message"] == "said 'é'\n"
    assert "ValueError: two" in entry["error"]
    assert entry["time"].endswith("Z")


def test_a_wrong_address_is_a_usage_error(run_konstat) -> None:
    result = run_konstat("run", "webapp.py", "--health-address", "8080")
    assert result.exit_code == 2
    assert "'8080' is not HOST:PORT" in result.stderr
