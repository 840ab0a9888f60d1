"""Conditions: transition times, usable reasons and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from konstat.base import clock, limits
from konstat.status.condition import Condition, usable_message, usable_reason

NOW = datetime(2026, 11, 30, 12, 0, 0, 700_000, tzinfo=UTC)
SERVER_REASON = re.compile(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", re.ASCII)


def entry(status: str, time: str) -> dict[str, str]:
    return {"type": "Ready", "status": status, "lastTransitionTime": time}


def ready(status: str) -> Condition:
    return Condition(type="Ready", status=status, reason="R", observed_generation=3)


def test_H4_time_stays_while_status_stays() -> None:
    merged = ready("True").merged(entry("True", "2026-01-01T00:00:00Z"), now=NOW)
    assert merged["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_H4_time_moves_when_status_flips_in_whole_seconds() -> None:
    merged = ready("False").merged(entry("True", "2026-01-01T00:00:00Z"), now=NOW)
    assert merged["lastTransitionTime"] == "2026-11-30T12:00:00Z"


def test_F39_time_never_goes_back_when_the_clock_does() -> None:
    ahead = clock.timestamp(NOW + timedelta(hours=1))
    assert ready("False").merged(entry("True", ahead), now=NOW)["lastTransitionTime"] == ahead


def test_an_unreadable_stored_time_is_replaced() -> None:
    merged = ready("False").merged(entry("True", "yesterday"), now=NOW)
    assert merged["lastTransitionTime"] == "2026-11-30T12:00:00Z"


@given(st.text(max_size=2000))
def test_any_text_becomes_a_reason_that_the_server_accepts(text: str) -> None:
    reason = usable_reason(text)
    assert SERVER_REASON.fullmatch(reason)
    assert 1 <= len(reason) <= limits.REASON_CHARACTERS


def test_good_reasons_are_left_alone_and_a_trailing_newline_is_not_good() -> None:
    assert usable_reason("ImageUntagged") == "ImageUntagged"
    assert usable_reason("A_b:C,d") == "A_b:C,d"
    assert usable_reason("Bad\n") == "Bad"
    assert usable_reason("exceeded quota!") == "ExceededQuota"
    assert usable_reason("9lives") == "lives"
    assert usable_reason("") == "Error"


@given(st.text(alphabet=st.characters(), max_size=3000))
def test_H6_any_text_becomes_a_bounded_message(text: str) -> None:
    message = usable_message(text)
    assert len(message) <= limits.MESSAGE_CHARACTERS
    message.encode("utf-8")
    assert all(c == "\n" or c.isprintable() for c in message)


def test_H6_a_cut_is_declared() -> None:
    message = usable_message("ä" * 5000)
    assert message.endswith("… (cut, 5000 characters)")


def test_H6_a_text_of_megabytes_is_cut_before_it_is_looked_at() -> None:
    class Counted(str):
        """A text that tells how many of its characters were looked at."""

        looked_at = 0

        def __iter__(self) -> Iterator[str]:
            for character in super().__iter__():
                Counted.looked_at += 1
                yield character

        def strip(self, characters: str | None = None, /) -> Counted:
            return self

        def __getitem__(self, key: Any, /) -> Counted:
            return Counted(super().__getitem__(key))

    message = usable_message(Counted("x\0" * 500_000))
    assert message.endswith("… (cut, 1000000 characters)")
    assert len(message) == limits.MESSAGE_CHARACTERS
    assert Counted.looked_at <= 2 * limits.MESSAGE_CHARACTERS
    # Whatever is blank is no more than said to be long.
    assert usable_message("\0" * 5000) == "… (cut, 5000 characters)"
    assert usable_message(" " * 5000 + "x") == "x"


def test_lone_surrogates_do_not_break_a_message() -> None:
    assert usable_message("file \udcff") == "file"
