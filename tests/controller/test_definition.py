"""What is said of a kind that is not served, also when nothing more can be learned."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.controller.definition import misfit, why_not_served
from konstat.errors import APIError, Forbidden, KonstatError, TransportError
from konstat.objects.kind import Kind
from konstat.objects.model import NoStatus, Spec
from konstat.objects.resource import Resource

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


class Box(Resource[Spec, NoStatus], group="demo.example.com", version="v1"):
    """A kind that may or may not be served."""


class Listing:
    """A client for which discovery lists nothing."""

    async def exchange(self, *_: Any, **__: Any) -> bytes:
        return b'{"resources": []}'


async def test_what_discovery_does_not_list_yet_is_not_known_to_fit() -> None:
    client: Any = Listing()
    assert await misfit(client, Box) is None


async def test_what_we_may_not_ask_is_taken_to_fit() -> None:
    client: Any = Silent(Forbidden("no", code=403, reason="Forbidden"))
    assert await misfit(client, Box) == ""
