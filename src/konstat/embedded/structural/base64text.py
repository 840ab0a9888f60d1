"""Base64 texts as Go reads them. After: `konstat.embedded.cel.values`."""

from __future__ import annotations

import base64
import binascii


def url_decoded(text: str) -> bytes | None:
    """The bytes of a text in the alphabet for URLs, which the server uses for rules, or None."""
    packed = text.replace("\n", "").replace("\r", "")
    if "+" in packed or "/" in packed:
        return None
    try:
        return base64.b64decode(packed, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
