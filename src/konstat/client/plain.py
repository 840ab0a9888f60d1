"""`PlainClient`: the verbs on bytes, for the layers that cache and patch.

Before: `konstat.client.exchange` and `konstat.client.watch`. After: `konstat.client.api` adds the
typed verbs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from konstat.base import limits
from konstat.base.transport import Transport
from konstat.client import calls
from konstat.client.calls import KindLike, Page
from konstat.client.exchange import Exchange, Query, with_query
from konstat.client.watch import WatchEvent, open_watch
from konstat.errors import TransportError


class PlainClient:
    """Talks to one API server in bytes."""

    def __init__(
        self, transport: Transport, *, field_manager: str = "konstat", namespace: str = "default"
    ) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.namespace = namespace
        self._exchange = Exchange(transport)

    async def aclose(self) -> None:
        """Close the transport's connections."""
        await self.transport.close()

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes = b"",
        content_type: str = "application/json",
        accept: str = "",
        timeout_seconds: float | None = None,
        request: str = "",
        retry: bool | None = None,
    ) -> bytes:
        """Send one request and give the body of a good answer.

        ``path`` is encoded already, ``query`` is not. ``request`` are words for errors, such as
        ``get Pod a/b``. ``retry`` True repeats a request whose answer was lost, False repeats
        nothing at all, None repeats what is safe to repeat (see `konstat.client.exchange`).
        Raises APIError for any answer above 299 and TransportError when none came.
        """
        return await self._exchange.send(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            timeout_seconds=timeout_seconds,
            request=request,
            retry=retry,
        )

    async def list_page(
        self,
        kind: KindLike,
        *,
        namespace: str = "",
        limit: int = limits.LIST_PAGE_OBJECTS,
        continue_token: str = "",
        resource_version: str | None = None,
        resource_version_match: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page:
        """One page of a list; an empty ``namespace`` means all, a ``limit`` of 0 no pages.

        A continue token that is too old raises Expired (410).
        """
        query = calls.selectors(label_selector, field_selector)
        if limit:
            query["limit"] = str(limit)
        if continue_token:
            query["continue"] = continue_token
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        if resource_version_match:
            query["resourceVersionMatch"] = resource_version_match
        path, words = calls.call("list", calls.kind_of(kind), namespace, "")
        data = await self.exchange("GET", path, query=query, request=words)
        try:
            return calls.read_page(data)
        except ValueError as error:
            raise TransportError(f"failed to {words}: the answer is no list ({error})") from error

    def watch(
        self,
        kind: KindLike,
        *,
        namespace: str = "",
        resource_version: str | None,
        timeout_seconds: int = limits.WATCH_TIMEOUT_SECONDS,
        send_initial_events: bool = False,
        bookmarks: bool = True,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Events after ``resource_version``; an empty ``namespace`` means all.

        The server ends the stream after ``timeout_seconds``; a stream that is silent for
        `limits.WATCH_GRACE_SECONDS` more is given up with TransportError. ``send_initial_events``
        asks for every present object first, up to a BOOKMARK with the annotation
        ``k8s.io/initial-events-end``.
        """
        query = {"watch": "true", "timeoutSeconds": str(timeout_seconds)}
        query |= calls.selectors(label_selector, field_selector)
        if bookmarks or send_initial_events:
            query["allowWatchBookmarks"] = "true"
        if send_initial_events:
            query["sendInitialEvents"] = "true"
            query["resourceVersionMatch"] = "NotOlderThan"
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        path, words = calls.call("watch", calls.kind_of(kind), namespace, "")
        return open_watch(
            self.transport,
            with_query(path, query),
            silence_seconds=timeout_seconds + limits.WATCH_GRACE_SECONDS,
            request=words,
        )
