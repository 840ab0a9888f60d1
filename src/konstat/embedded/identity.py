"""Who asks: nobody is told apart here, and nothing may seem as if somebody were.

The embedded API has no users and no authorization: whoever reaches it on loopback is
system:admin. A token is therefore one that it does not know, and a wish to act as somebody else
one that it cannot grant (a false yes of ``kubectl auth can-i --as`` would be a lie).
Before: `konstat.embedded.http`, `memory`. After: `server`, which asks for every request.
"""

from __future__ import annotations

from collections.abc import Sequence

from konstat.embedded import status_errors as errors


def require_nobody(headers: Sequence[tuple[str, str]]) -> None:
    """Raise a 401 for credentials and a 501 for impersonation."""
    for name, _ in headers:
        lower = name.lower()
        if lower == "authorization":
            raise errors.StatusError("Unauthorized", code=401, reason="Unauthorized", details=None)
        if lower.startswith("impersonate-"):
            raise errors.not_implemented("impersonation: it has no users and no authorization")
