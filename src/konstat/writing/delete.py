"""Deleting one child under its uid, and showing that in the cache at once."""

from __future__ import annotations

from konstat.cache import Store
from konstat.client import Client
from konstat.errors import NotFound
from konstat.objects.snapshot import Snapshot


async def delete_child(client: Client, found: Snapshot, store: Store, *, writer: str) -> bool:
    """Delete ``found``; True when it is gone already, False while it lingers behind finalizers.

    The uid is a precondition, so a recreated namesake is not touched (S2, F26). Raises Conflict
    when the name has another uid by now.
    """
    try:
        answer = await client.delete(
            found.kind,
            found.name,
            namespace=found.namespace,
            uid=found.uid,
            propagation="Background",
        )
    except NotFound:
        store.own_deletion(found.uid, writer=writer)
        return True
    if answer.get("kind") == "Status":
        store.own_deletion(found.uid, writer=writer)
        return True
    store.put_own(Snapshot.from_content(found.kind, answer), writer=writer)
    return False
