"""The parts of a change to which samples belong."""

import importlib.util
from pathlib import Path

import pytest

from bench.profile import PARTS, REST, count, part_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("files", "part"),
    [
        # What is called on behalf of a part belongs to it.
        (
            ["konstat/objects/codec.py", "konstat/cache/watcher.py"],
            "watch: lines, snapshots, cache",
        ),
        (["lib/contextlib.py", "konstat/queue/workqueue.py"], "queue"),
        # The innermost part wins, not the one that called it.
        (["lib/ssl.py", "lib/asyncio/sslproto.py", "site-packages/aiohttp/client.py"], "TLS"),
        (
            ["site-packages/aiohttp/client.py", "konstat/client/exchange.py"],
            "requests: HTTP library",
        ),
        (
            ["konstat/status/patch.py", "konstat/controller/worker.py"],
            "status: plan and check the patch",
        ),
        (["konstat/status/settle.py", "konstat/controller/worker.py"], "status: settle"),
        (["lib/runpy.py"], REST),
    ],
)
def test_a_sample_belongs_to_its_innermost_part(files: list[str], part: str) -> None:
    assert part_of(files) == part


def test_samples_are_counted_by_part() -> None:
    found = count([(2, ["konstat/queue/limiter.py"]), (3, ["konstat/queue/workqueue.py"])])
    assert found == {"queue": 5}


def test_every_file_of_ours_that_is_named_is_there() -> None:
    for fragments in PARTS.values():
        for fragment in fragments:
            if fragment.startswith("konstat/"):
                assert (ROOT / "src" / fragment).exists(), fragment
            if fragment.startswith("bench/"):
                assert (ROOT / fragment).exists(), fragment


def test_every_library_that_is_named_is_there() -> None:
    names = {f.split("/")[1] for fs in PARTS.values() for f in fs if f.startswith("site-packages/")}
    assert names
    assert all(importlib.util.find_spec(name) for name in names)
