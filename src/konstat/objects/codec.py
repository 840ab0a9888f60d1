"""JSON in and out, and the compact form in which objects are cached.

Every value of an author's type passes through `typed`, `typed_json`, `encode` or `plain`, which
know konstat's own scalar types (`Quantity`) beyond those of msgspec.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from konstat.objects.meta import Metadata
from konstat.objects.quantity import Quantity

P = TypeVar("P")


def _from_json_type(as_type: type, value: Any) -> Any:
    if as_type is Quantity:
        return Quantity(value)
    raise TypeError(f"{as_type!r} is not a type that JSON can be decoded as")


def _to_json_type(value: Any) -> Any:
    if isinstance(value, Quantity):
        return value.text
    raise TypeError(f"{type(value).__name__} is not a type that JSON can say")


_parts_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_metadata_decoder = msgspec.json.Decoder(Metadata)
_any_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder(enc_hook=_to_json_type)


def encode(value: Any) -> bytes:
    """``value`` as compact JSON."""
    return _encoder.encode(value)


def decode(data: bytes | msgspec.Raw) -> Any:
    """Plain dicts, lists and scalars; raises ValueError (msgspec.DecodeError) on bad JSON."""
    return _any_decoder.decode(data)


@cache
def _decoder(as_type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(as_type, dec_hook=_from_json_type)


def typed_json(data: bytes | msgspec.Raw, as_type: type[P]) -> P:
    """JSON as ``as_type``.

    Raises msgspec.ValidationError with the place in its text when it does not fit, and
    msgspec.DecodeError when it is not JSON.
    """
    return _decoder(as_type).decode(data)


def typed(value: Any, as_type: type[P]) -> P:
    """Plain data as ``as_type``; raises msgspec.ValidationError when it does not fit."""
    return msgspec.convert(value, as_type, dec_hook=_from_json_type)


def plain(value: Any) -> Any:
    """``value`` as dicts, lists and scalars that JSON knows; sets come out in order.

    Raises TypeError for what JSON cannot say.
    """
    return msgspec.to_builtins(value, enc_hook=_to_json_type, order="deterministic")


def is_text(value: str) -> bool:
    """Whether a string can be written as JSON; one with lone surrogates cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def split(data: bytes | msgspec.Raw) -> tuple[Metadata, dict[str, msgspec.Raw]]:
    """The metadata of one object's JSON and its other top-level parts, undecoded.

    Raises ValueError when it is not a JSON object with usable metadata.
    """
    parts = _parts_decoder.decode(data)
    raw = parts.pop("metadata", None)
    return (Metadata() if raw is None else _metadata_decoder.decode(raw)), parts


def compact(data: bytes | msgspec.Raw, *, api_version: str, kind: str) -> tuple[Metadata, bytes]:
    """The metadata of one object's JSON, and that JSON re-encoded without managedFields.

    Items of a list carry no apiVersion and kind; then the given ones are filled in.
    The bytes are a copy of their own, so keeping them does not keep the line they came from.
    """
    metadata, parts = split(data)
    content: dict[str, Any] = {
        "apiVersion": parts.pop("apiVersion", api_version),
        "kind": parts.pop("kind", kind),
        "metadata": metadata,
        **parts,
    }
    return metadata, _encoder.encode(content)
