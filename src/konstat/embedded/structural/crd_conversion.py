"""Conversion of a CRD's versions: the strategy and the webhook that it names.

Before: `texts`, `golang_url`. After: `crd`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from konstat.embedded.metadata import subdomain_problems
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.golang_url import URL, URLError, parse_request_uri
from konstat.embedded.structural.object_meta import dns_1035_problems

Object = Mapping[str, Any]

_STRATEGIES: Final = ("None", "Webhook")
_REVIEWS: Final = ("v1", "v1beta1")
_RELATIVE: Final = URL(scheme="")
_FORM: Final = "; desired format: https://host[/path]"


def conversion_errors(conversion: Object | None, path: str) -> list[FieldError]:
    """Errors of ``spec.conversion``."""
    if conversion is None:
        return []
    strategy = conversion.get("strategy") or ""
    webhook: Object = conversion.get("webhook") or {}
    client = webhook.get("clientConfig")
    reviews: Sequence[str] = webhook.get("conversionReviewVersions") or ()
    found: list[FieldError] = []
    if not strategy:
        found.append(texts.required(texts.child(path, "strategy")))
    elif strategy not in _STRATEGIES:
        place = texts.child(path, "strategy")
        found.append(texts.not_supported(place, strategy, _STRATEGIES))
    client_place = texts.child(path, "webhookClientConfig")
    reviews_place = texts.child(path, "conversionReviewVersions")
    if strategy == "Webhook":
        found += _client(client, client_place)
        found += _review_versions(reviews, reviews_place)
        return found
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        found.append(texts.forbidden(client_place, detail))
    if reviews:
        found.append(texts.forbidden(reviews_place, detail))
    return found


def _client(client: Object | None, place: str) -> Iterator[FieldError]:
    if client is None:
        yield texts.required(place, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) is (service is None):
        yield texts.required(place, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, texts.child(place, "url"))
    elif service is not None:
        yield from _service(service, texts.child(place, "service"))


def _url(text: str, place: str) -> Iterator[FieldError]:
    address, _, fragment = text.partition("#")
    try:
        url = parse_request_uri(address) if ":" in address or address[:1] == "/" else _RELATIVE
    except URLError as error:
        yield texts.required(place, f'url must be a valid URL: parse "{text}": {error}{_FORM}')
        return
    if url.scheme != "https":
        yield texts.invalid(place, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield texts.invalid(place, url.host, f"host must be specified{_FORM}")
    authority = address.partition("//")[2].partition("/")[0]
    if "@" in authority:
        user = authority.rpartition("@")[0]
        yield texts.invalid(place, user, "user information is not permitted in the URL")
    if fragment:
        yield texts.invalid(place, fragment, "fragments are not permitted in the URL")
    if url.query:
        yield texts.invalid(place, url.query, "query parameters are not permitted in the URL")


def _service(service: Object, place: str) -> Iterator[FieldError]:
    # The server swaps the two in its call, so that each error names the other field.
    if not service.get("namespace"):
        yield texts.required(texts.child(place, "name"))
    if not service.get("name"):
        yield texts.required(texts.child(place, "namespace"))
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        yield texts.invalid(texts.child(place, "port"), port, detail)
    yield from _service_path(service.get("path") or "/", texts.child(place, "path"))


def _service_path(path: str, place: str) -> Iterator[FieldError]:
    if path == "/":
        return
    if path == "//":
        yield texts.invalid(place, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield texts.invalid(place, path, "must start with a '/'")
    for position, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield texts.invalid(place, path, f"segment[{position}] may not be empty")
            continue
        for problem in subdomain_problems(step):
            yield texts.invalid(place, path, f"segment[{position}]: {problem}")


def _review_versions(versions: Sequence[str], place: str) -> Iterator[FieldError]:
    if not versions:
        yield texts.required(place)
        return
    for position, version in enumerate(versions):
        where = texts.index(place, position)
        if version in versions[:position]:
            yield texts.invalid(where, version, "duplicate version")
            continue
        for problem in dns_1035_problems(version):
            yield texts.invalid(where, version, problem)
    if not set(versions) & set(_REVIEWS):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        yield texts.invalid(place, list(versions), detail)
