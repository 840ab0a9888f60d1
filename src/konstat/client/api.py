"""`Client`: the verbs of the Kubernetes API, typed.

A `Resource` class given as the kind gives objects of that class back; a `Kind` gives plain dicts.
The verbs on bytes (`exchange`, `list_page`, `watch`) come from `konstat.client.plain`.

Before: `konstat.client.config` says where the server is, `konstat.client.transport` speaks HTTP.
After: `konstat.cache` lists and watches with it, `konstat.writing` patches with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, TypeVar, overload

import msgspec

from konstat.base import limits
from konstat.client import calls
from konstat.client.calls import FieldValidation, KindLike, Page, Propagation
from konstat.client.cluster import ClusterConfig
from konstat.client.config import load_config
from konstat.client.plain import PlainClient
from konstat.client.transport import HttpTransport
from konstat.client.watch import WatchEvent
from konstat.errors import Expired
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource

R = TypeVar("R", bound=Resource[Any, Any])
Content = Mapping[str, Any]

__all__ = ["Client", "KindLike", "Page", "WatchEvent"]


class Client(PlainClient):
    """Talks to one API server.

    ``field_manager`` is the name under which our writes own fields; ``namespace`` stands in where
    a verb on a namespaced kind gets none. Every verb raises `konstat.errors.APIError` when the
    server refuses and `konstat.errors.TransportError` when no answer came; what is tried again
    before that is told in `konstat.client.exchange`.
    """

    @staticmethod
    def connect(
        config: ClusterConfig | None = None, *, field_manager: str = "konstat"
    ) -> AbstractAsyncContextManager[Client]:
        """A client over HTTP for the length of a block.

        Without ``config`` it is found as kubectl finds it (`konstat.client.config.load_config`).
        Raises ConfigError on entering when the configuration or the first credential is unusable.
        """
        return _connected(config, field_manager)

    # --- reading ------------------------------------------------------------------------------

    @overload
    async def get(
        self,
        kind: type[R],
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        resource_version: str | None = None,
    ) -> R: ...
    @overload
    async def get(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        resource_version: str | None = None,
    ) -> dict[str, Any]: ...
    async def get(
        self,
        kind: KindLike,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        resource_version: str | None = None,
    ) -> Resource[Any, Any] | dict[str, Any]:
        """Read one object; ``resource_version="0"`` accepts one from the server's cache."""
        call = self._call("get", kind, name, namespace=namespace, subresource=subresource)
        query = {"resourceVersion": resource_version} if resource_version is not None else ()
        data = await self.exchange("GET", call.path, query=query, request=call.words)
        return calls.as_object(kind, data)

    @overload
    async def list(
        self,
        kind: type[R],
        *,
        namespace: str | None = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = limits.LIST_PAGE_OBJECTS,
    ) -> list[R]: ...
    @overload
    async def list(
        self,
        kind: Kind,
        *,
        namespace: str | None = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = limits.LIST_PAGE_OBJECTS,
    ) -> list[dict[str, Any]]: ...
    async def list(
        self,
        kind: KindLike,
        *,
        namespace: str | None = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = limits.LIST_PAGE_OBJECTS,
    ) -> list[Any]:
        """All objects of a namespace, or of all namespaces (``namespace=None``).

        Pages of ``limit`` objects are followed to the end. When the token of a page expires on
        the way, the list starts again without pages, so halves of two moments never mix (F8).
        """
        found = calls.kind_of(kind)
        place = "" if namespace is None or not found.namespaced else namespace or self.namespace
        for _ in range(limits.LIST_RESTARTS):
            try:
                items = await self._all_pages(
                    found,
                    namespace=place,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=limit,
                )
                break
            except _TokenExpired:
                limit = 0
        else:
            raise AssertionError("a list without pages has no token that could expire")
        return [calls.as_object(kind, item) for item in items]

    async def _all_pages(self, kind: Kind, *, limit: int, **options: str) -> list[msgspec.Raw]:
        items: list[msgspec.Raw] = []
        token = ""
        while True:
            try:
                page = await self.list_page(kind, limit=limit, continue_token=token, **options)
            except Expired as error:
                if not token:
                    raise
                raise _TokenExpired from error
            items += page.items
            token = page.continue_token
            if not token:
                return items

    # --- writing ------------------------------------------------------------------------------

    @overload
    async def create(
        self,
        obj_or_kind: R,
        content: None = None,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Strict",
        field_manager: str | None = None,
    ) -> R: ...
    @overload
    async def create(
        self,
        obj_or_kind: type[R],
        content: Content,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Strict",
        field_manager: str | None = None,
    ) -> R: ...
    @overload
    async def create(
        self,
        obj_or_kind: Kind,
        content: Content,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Strict",
        field_manager: str | None = None,
    ) -> dict[str, Any]: ...
    async def create(
        self,
        obj_or_kind: Resource[Any, Any] | KindLike,
        content: Content | None = None,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Strict",
        field_manager: str | None = None,
    ) -> Resource[Any, Any] | dict[str, Any]:
        """Create an object; raises AlreadyExists when the name is taken.

        A lost answer is not repeated: read the object to learn whether it was created.
        """
        body = calls.content_of(obj_or_kind, content)
        call = self._call("create", obj_or_kind, "", namespace=namespace, content=body)
        data = await self.exchange(
            "POST",
            call.path,
            query=self._write_query(
                dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
            ),
            body=codec.encode(body),
            request=call.words,
        )
        return calls.as_object(obj_or_kind, data)

    async def replace(
        self,
        kind: KindLike,
        content: Content,
        *,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Strict",
        field_manager: str | None = None,
    ) -> dict[str, Any]:
        """Put ``content``, a whole plain object, in the place of the one that is there.

        Fields that ``content`` lacks are removed, so a typed view, which may lack fields, is
        refused (TypeError): patch or apply it. Keep ``metadata.resourceVersion`` in the content
        for Conflict to be raised when somebody else wrote in between.
        """
        body = calls.content_of(kind, content)
        name = calls.name_of(body)
        call = self._call(
            "replace", kind, name, namespace=namespace, subresource=subresource, content=body
        )
        data = await self.exchange(
            "PUT",
            call.path,
            query=self._write_query(
                dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
            ),
            body=codec.encode(body),
            request=call.words,
        )
        return codec.decode(data)

    @overload
    async def patch(
        self,
        kind: type[R],
        name: str,
        patch: Content | Sequence[Content] | bytes,
        *,
        type: Literal["merge", "json", "strategic"],
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> R: ...
    @overload
    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Content | Sequence[Content] | bytes,
        *,
        type: Literal["merge", "json", "strategic"],
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> dict[str, Any]: ...
    async def patch(
        self,
        kind: KindLike,
        name: str,
        patch: Content | Sequence[Content] | bytes,
        *,
        type: Literal["merge", "json", "strategic"],
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> Resource[Any, Any] | dict[str, Any]:
        """Change parts of an object; ``bytes`` are sent as they are.

        A JSON Patch whose ``test`` fails, or whose path is not there, raises PatchRefused: the
        object is not as the patch expects. Custom resources take no strategic patch (415).
        """
        call = self._call("patch", kind, name, namespace=namespace, subresource=subresource)
        data = await self.exchange(
            "PATCH",
            call.path,
            query=self._write_query(dry_run=dry_run, field_manager=field_manager),
            body=patch if isinstance(patch, bytes) else codec.encode(patch),
            content_type=calls.PATCH_TYPES[type],
            request=call.words,
        )
        return calls.as_object(kind, data)

    @overload
    async def apply(
        self,
        kind_or_obj: R,
        content: None = None,
        *,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> R: ...
    @overload
    async def apply(
        self,
        kind_or_obj: type[R],
        content: Content,
        *,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> R: ...
    @overload
    async def apply(
        self,
        kind_or_obj: Kind,
        content: Content,
        *,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> dict[str, Any]: ...
    async def apply(
        self,
        kind_or_obj: Resource[Any, Any] | KindLike,
        content: Content | None = None,
        *,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> Resource[Any, Any] | dict[str, Any]:
        """Server-side apply: own the fields of ``content``, create the object if it is absent.

        Without ``force`` a field of another manager with another value raises Conflict, whose
        causes name the fields. A subresource is never created (NotFound).
        """
        body = calls.content_of(kind_or_obj, content)
        name = calls.name_of(body)
        call = self._call(
            "apply", kind_or_obj, name, namespace=namespace, subresource=subresource, content=body
        )
        query = self._write_query(dry_run=dry_run, field_manager=field_manager)
        if force:
            query["force"] = "true"
        data = await self.exchange(
            "PATCH",
            call.path,
            query=query,
            body=codec.encode(body),
            content_type=calls.APPLY_TYPE,
            request=call.words,
        )
        return calls.as_object(kind_or_obj, data)

    async def delete(
        self,
        kind: KindLike,
        name: str,
        *,
        namespace: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Delete one object; gives its last content while it lingers, or a Status.

        With ``uid`` or ``resource_version`` another object is not touched (Conflict), and only
        with ``uid`` is a lost answer repeated, because a namesake might have come (F26).
        """
        call = self._call("delete", kind, name, namespace=namespace)
        options = calls.delete_options(
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
        )
        data = await self.exchange(
            "DELETE",
            call.path,
            body=codec.encode(options),
            request=call.words,
            retry=True if uid else None,
        )
        return codec.decode(data)

    async def delete_collection(
        self,
        kind: KindLike,
        *,
        namespace: str | None = "",
        label_selector: str = "",
        field_selector: str = "",
        propagation: Propagation | None = None,
    ) -> None:
        """Delete every object of a namespace that the selectors choose.

        All namespaces at once are not possible for a namespaced kind; a cluster-scoped kind takes
        no ``namespace``. The objects may linger behind finalizers afterwards.
        """
        found = calls.kind_of(kind)
        if namespace is None and found.namespaced:
            raise ValueError(f"delete_collection of {found.kind} needs one namespace")
        call = self._call("delete all", kind, "", namespace=namespace or "")
        await self.exchange(
            "DELETE",
            call.path,
            query=calls.selectors(label_selector, field_selector),
            body=codec.encode(calls.delete_options(propagation=propagation)),
            request=call.words,
        )

    # --- parts --------------------------------------------------------------------------------

    def _call(
        self,
        verb: str,
        kind: Resource[Any, Any] | KindLike,
        name: str,
        *,
        namespace: str,
        subresource: str = "",
        content: Content | None = None,
    ) -> calls.Call:
        found = calls.kind_of(kind)
        if not name and verb not in ("create", "delete all"):
            raise ValueError(f"{verb} of a {found.kind} needs a name")
        place = ""
        if found.namespaced:
            place = namespace or calls.metadata_text(content or {}, "namespace") or self.namespace
        if content is not None and not name:
            words = calls.call(verb, found, place, calls.metadata_text(content, "name")).words
            return calls.Call(found.path(place), words)
        return calls.call(verb, found, place, name, subresource)

    def _write_query(
        self, *, dry_run: bool, field_manager: str | None, field_validation: str = ""
    ) -> dict[str, str]:
        query = {"fieldManager": field_manager or self.field_manager}
        if dry_run:
            query["dryRun"] = "All"
        if field_validation:
            query["fieldValidation"] = field_validation
        return query


class _TokenExpired(Exception):
    """The continue token of a later page expired; never leaves `Client.list`."""


@asynccontextmanager
async def _connected(config: ClusterConfig | None, field_manager: str) -> AsyncIterator[Client]:
    config = load_config() if config is None else config
    transport = HttpTransport(config)
    client = Client(transport, field_manager=field_manager, namespace=config.namespace)
    try:
        await transport.prepare()
        yield client
    finally:
        await client.aclose()
