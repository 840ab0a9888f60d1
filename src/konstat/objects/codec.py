"""JSON in and out, and the compact form in which objects are cached."""

from __future__ import annotations

from typing import Any

import msgspec

from konstat.objects.meta import Metadata

_parts_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_metadata_decoder = msgspec.json.Decoder(Metadata)
_any_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """``value`` as compact JSON."""
    return _encoder.encode(value)


def decode(data: bytes | msgspec.Raw) -> Any:
    """Plain dicts, lists and scalars; raises ValueError (msgspec.DecodeError) on bad JSON."""
    return _any_decoder.decode(data)


def split(data: bytes | msgspec.Raw) -> tuple[Metadata, dict[str, msgspec.Raw]]:
    """The metadata of one object's JSON and its other top-level parts, undecoded.

    Raises ValueError when it is not a JSON object with usable metadata.
    """
    parts = _parts_decoder.decode(data)
    raw = parts.pop("metadata", None)
    return (Metadata() if raw is None else _metadata_decoder.decode(raw)), parts


def compact(data: bytes | msgspec.Raw) -> tuple[Metadata, bytes]:
    """The metadata of one object's JSON, and that JSON re-encoded without managedFields.

    The bytes are a copy of their own, so keeping them does not keep the line they came from.
    """
    metadata, parts = split(data)
    content: dict[str, Any] = {
        "apiVersion": parts.pop("apiVersion", ""),
        "kind": parts.pop("kind", ""),
        "metadata": metadata,
        **parts,
    }
    return metadata, _encoder.encode(content)
