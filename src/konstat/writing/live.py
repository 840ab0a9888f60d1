"""Reading one object past the caches."""

from __future__ import annotations

from konstat.client import Client
from konstat.errors import NotFound
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot


async def read_live(client: Client, kind: Kind, namespace: str, name: str) -> Snapshot | None:
    """The object as the server has it now; None when it is not there."""
    path = kind.path(namespace, name)
    try:
        body = await client.exchange("GET", path, request=f"read {kind.kind} {name}")
    except NotFound:
        return None
    return Snapshot.from_json(kind, body)
