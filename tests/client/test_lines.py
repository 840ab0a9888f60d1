"""Lines come out whole, wherever the chunks are cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.client.lines import LineSplitter
from konstat.errors import TransportError

LINES = [
    b'{"type":"ADDED","object":{"name":"a"}}',
    '{"type":"MODIFIED","object":{"name":"ä€😀"}}'.encode(),
    b'{"type":"DELETED","object":{}}',
]
STREAM = b"\n".join(LINES) + b"\n"


def feed_all(chunks: list[bytes], **options: int) -> list[bytes]:
    splitter = LineSplitter(**options)
    return [line for chunk in chunks for line in splitter.feed(chunk)]


def test_F5_line_split_at_every_byte():
    for cut in range(len(STREAM) + 1):
        assert feed_all([STREAM[:cut], STREAM[cut:]]) == LINES


def test_F5_one_byte_at_a_time():
    assert feed_all([STREAM[i : i + 1] for i in range(len(STREAM))]) == LINES


@given(st.data())
def test_F5_arbitrary_cuts_of_arbitrary_lines(data):
    lines = data.draw(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b" "))))
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert feed_all(chunks) == [line for line in lines if line and not line.isspace()]


def test_F5_a_line_of_two_mebibytes():
    line = b"x" * (2 * 1024 * 1024)
    stream = line + b"\n"
    chunks = [stream[i : i + 65536] for i in range(0, len(stream), 65536)]
    assert feed_all(chunks) == [line]


def test_F4_an_unfinished_last_line_is_not_given():
    assert feed_all([b"one\ntw"]) == [b"one"]


def test_blank_lines_are_left_out():
    assert feed_all([b"\n\r\n one \n\n"]) == [b" one "]


@pytest.mark.parametrize(
    "chunks", [[b"x" * 11], [b"x" * 6, b"x" * 6], [b"a\n" + b"x" * 11 + b"\n"]]
)
def test_a_line_above_the_limit_is_refused(chunks):
    with pytest.raises(TransportError, match="10 are accepted"):
        feed_all(chunks, line_bytes=10)


def test_lines_at_the_limit_pass():
    assert feed_all([b"x" * 10, b"\n" + b"y" * 10, b"\n"], line_bytes=10) == [b"x" * 10, b"y" * 10]
