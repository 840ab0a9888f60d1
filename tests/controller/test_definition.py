"""What is said of a kind that is not served, also when nothing more can be learned."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.controller.definition import why_not_served
from konstat.errors import APIError, Forbidden, KonstatError, TransportError
from konstat.objects.kind import Kind

CRATE = Kind(group="demo.example.com", version="v1", kind="Crate", plural="crates")


class Silent:
    """A client for which every request fails."""

    def __init__(self, error: KonstatError) -> None:
        self._error = error

    async def exchange(self, *_: Any, **__: Any) -> bytes:
        raise self._error

    get = exchange


@pytest.mark.parametrize(
    "error",
    [
        TransportError("connection refused"),
        Forbidden("no", code=403, reason="Forbidden"),
        APIError("etcd is away", code=500, reason="InternalError"),
    ],
    ids=["away", "forbidden", "in trouble"],
)
async def test_a_server_that_tells_nothing_is_no_failure(error: KonstatError) -> None:
    client: Any = Silent(error)
    assert (await why_not_served(client, CRATE)).startswith("the cluster does not serve it")
