"""Every answer above 299 becomes the right exception, and no answer breaks the reading of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat import errors
from konstat.client.errors import error_from_answer, error_from_status
from konstat.errors import APIError, Cause


def of(code: int, reason: str = "", *, method: str = "GET", headers=None, **fields) -> APIError:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    if reason:
        status["reason"] = reason
    body = json.dumps({**status, "message": "no", **fields}).encode()
    return error_from_answer(code, body, headers or {}, request="get Pod a/b", method=method)


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (406, "NotAcceptable", errors.NotAcceptable),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (409, "", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.RequestTooLarge),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (500, "ServerTimeout", errors.ServerTimeout),
        (502, "", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "Timeout", errors.ServerTimeout),
        (418, "", APIError),
    ],
)
def test_95_code_and_reason_choose_the_class(code, reason, expected):
    error = of(code, reason)
    assert type(error) is expected
    assert (error.code, error.reason) == (code, reason)
    assert str(error).startswith("failed to get Pod a/b: no (HTTP")


def test_a_causeless_422_of_a_patch_means_that_the_world_moved():
    assert type(of(422, "Invalid", method="PATCH", details={})) is errors.PatchRefused


def test_a_422_with_causes_is_invalid_also_for_a_patch():
    causes = [{"field": "spec.a", "reason": "FieldValueInvalid", "message": "bad"}]
    error = of(422, "Invalid", method="PATCH", details={"causes": causes})
    assert type(error) is errors.Invalid
    assert error.causes == (Cause("spec.a", "FieldValueInvalid", "bad"),)


def test_a_422_of_a_webhook_is_no_moved_world():
    message = 'admission webhook "x.example" denied the request: no'
    assert type(of(422, "Invalid", method="PATCH", message=message)) is errors.Invalid


@pytest.mark.parametrize(
    "message",
    [
        "etcdserver: request is too large",
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max",
    ],
)
def test_97_an_object_too_large_for_etcd_comes_as_500(message):
    error = of(500, message=message)
    assert type(error) is errors.RequestTooLarge
    assert not error.retryable


def test_F23_a_500_that_can_never_succeed_is_not_retryable():
    error = of(500, message="resourceVersion should not be set on objects to be created")
    assert type(error) is errors.ServerError
    assert not error.retryable
    assert of(500, message="anything else").retryable


def test_96_the_delay_comes_from_the_status_or_else_from_the_header():
    assert of(429, details={"retryAfterSeconds": 7}).retry_after_seconds == 7
    assert of(429, headers={"retry-after": "5"}).retry_after_seconds == 5
    both = of(429, details={"retryAfterSeconds": 7}, headers={"retry-after": "5"})
    assert both.retry_after_seconds == 7
    assert (
        of(429, headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}).retry_after_seconds
        is None
    )
    assert of(429).retry_after_seconds is None


def test_a_plain_text_404_is_not_found():
    error = error_from_answer(404, b"404 page not found\n", {}, request="get Widget a")
    assert type(error) is errors.NotFound
    assert str(error) == "failed to get Widget a: 404 page not found (HTTP 404)"
    assert error.status == {}


def test_the_page_of_a_proxy_is_cut_and_on_one_line():
    body = b"<html>\n\x00" + b"x" * 10_000
    error = error_from_answer(503, body, {}, request="x")
    assert type(error) is errors.ServiceUnavailable
    assert len(str(error)) < 400
    assert "\n" not in str(error)


def test_85_an_error_event_is_expired():
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 1 (2)"}
    error = error_from_status(json.dumps(status).encode(), request="watch Pod")
    assert type(error) is errors.Expired
    assert error.code == 410


def test_an_error_event_without_a_status_is_a_server_error():
    error = error_from_status(b'{"kind":"Pod"}', request="watch Pod")
    assert type(error) is errors.ServerError


@given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=12))
def test_arbitrary_bytes_give_an_error_of_that_code(code, body, retry_after):
    error = error_from_answer(code, body, {"retry-after": retry_after}, request="x")
    assert error.code == code
    assert error.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.integers(300, 599),
    st.fixed_dictionaries(
        {"kind": st.just("Status")},
        optional={
            key: JSON
            | st.fixed_dictionaries({}, optional={"causes": JSON, "retryAfterSeconds": JSON})
            for key in ("message", "reason", "code", "details", "metadata")
        },
    ),
)
def test_arbitrary_statuses_give_an_error_of_that_code(code, status):
    body = json.dumps(status).encode()
    assert error_from_answer(code, body, {}, request="x").code == code
    assert isinstance(error_from_status(body, request="x"), APIError)
