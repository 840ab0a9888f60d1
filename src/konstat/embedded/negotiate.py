"""Which form an answer takes: JSON or YAML, whole or as Table or PartialObjectMetadata, gzipped.

`accepted` reads the Accept header; `konstat.embedded.server` writes answers with `encode`. There
is no protobuf and no CBOR: a client that takes nothing else gets a 406 that says what there is.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import yaml

from konstat.base import limits
from konstat.embedded import protobuf
from konstat.embedded.status_errors import StatusError, not_acceptable

Shape: TypeAlias = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]

JSON: Final = "application/json"
YAML: Final = "application/yaml"
MEDIA_TYPES: Final = (JSON, YAML)
_SHAPES: Final[Mapping[str, Shape]] = {
    "Table": "Table",
    "PartialObjectMetadata": "PartialObjectMetadata",
    "PartialObjectMetadataList": "PartialObjectMetadataList",
}


class Form(NamedTuple):
    """What a client asked for: the media type, and the shape of the content."""

    media_type: str = JSON
    shape: Shape = ""
    pretty: bool = False


class _Clause(NamedTuple):
    media_type: str
    parameters: dict[str, str]


def clauses(header: str) -> list[_Clause]:
    """The alternatives of an Accept header, best first."""
    found: list[tuple[float, int, _Clause]] = []
    for position, part in enumerate(header.split(",")):
        media_type, *rest = (piece.strip() for piece in part.split(";"))
        if not media_type:
            continue
        parameters = {
            name.strip().lower(): value.strip().strip('"')
            for name, _, value in (piece.partition("=") for piece in rest)
        }
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 0.0
        found.append((-quality, position, _Clause(media_type.lower(), parameters)))
    return [clause for _, _, clause in sorted(found, key=lambda entry: entry[:2])]


def accepted(header: str, *, pretty: bool = False, custom: bool = False) -> Form:
    """The form of the answer to a request for objects; raises a 406 when there is none.

    For ``custom`` kinds the real server names protobuf too, though it has none of them either.
    """
    offered = clauses(header)
    if not offered:
        return Form(JSON, "", pretty)
    known = False
    for media_type, parameters in offered:
        if media_type in ("*/*", "application/*"):
            return Form(JSON, "", pretty)
        if media_type not in MEDIA_TYPES:
            continue
        known = True
        wanted = parameters.get("as", "")
        if not wanted:
            return Form(media_type, "", pretty)
        group, version = parameters.get("g", ""), parameters.get("v", "")
        if group == "meta.k8s.io" and version == "v1" and wanted in _SHAPES:
            return Form(media_type, _SHAPES[wanted], pretty)
    if custom:
        raise not_acceptable((*MEDIA_TYPES, protobuf.MEDIA_TYPE))
    if known:
        raise not_acceptable(MEDIA_TYPES)
    raise StatusError(
        f"406: Not Acceptable\n\nAvailable representations: {', '.join(MEDIA_TYPES)}",
        code=406,
        reason="NotAcceptable",
        details={},
    )


def encode(content: Any, form: Form) -> bytes:
    """The bytes of an answer."""
    if form.media_type == YAML:
        text = yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=True)
        return text.encode()
    if form.pretty:
        return msgspec.json.format(json_bytes(content), indent=2) + b"\n"
    return json_bytes(content) + b"\n"


class _Dumper(yaml.SafeDumper):
    """Writes text that is not plain in double quotes, as the server does."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == tag
    style = None if plain else '"'
    return dumper.represent_scalar(tag, text, style="|" if "\n" in text else style)


_Dumper.add_representer(str, _text)


def json_bytes(content: Any) -> bytes:
    """JSON as the server writes it where that is told apart: numbers without ``.0``."""
    return msgspec.json.encode(content)


def compressed(body: bytes, accept_encoding: str) -> bytes | None:
    """``body`` in gzip when it is long and the client takes that (C100), else None."""
    if len(body) <= limits.EMBEDDED_GZIP_BYTES or "gzip" not in accept_encoding.lower():
        return None
    return gzip.compress(body, compresslevel=1, mtime=0)


def warning(text: str) -> str:
    """A Warning header: code 299, no agent, the text as a quoted string."""
    return f"299 - {_quoted_string(text)}"


def _quoted_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if c.isprintable() else " " for c in escaped)}"'
