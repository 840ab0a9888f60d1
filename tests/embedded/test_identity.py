"""Nobody is told apart, so nothing may seem as if somebody were (C104)."""

from __future__ import annotations

import json

import pytest

from konstat.base.transport import Request
from konstat.embedded.server import EmbeddedServer


@pytest.mark.parametrize(
    ("header", "code", "reason"),
    [
        (("Authorization", "Bearer anything"), 401, "Unauthorized"),
        (("Impersonate-User", "joe"), 501, "NotImplemented"),
        (("impersonate-group", "g"), 501, "NotImplemented"),
    ],
)
def test_C104_credentials_and_impersonation_are_refused(
    header: tuple[str, str], code: int, reason: str
) -> None:
    request = Request(method="GET", path="/api/v1/namespaces", headers=(header,))
    answer = EmbeddedServer().handle(request)
    status = json.loads(answer.body)  # pyright: ignore[reportAttributeAccessIssue]
    assert (answer.status, status["reason"]) == (code, reason)
