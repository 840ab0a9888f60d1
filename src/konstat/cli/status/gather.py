"""Reads what a status tree is made of: resources, and every object that may be below them.

Before: `konstat.cli.status.plan` says which kinds. After: `tree` builds the nodes. Of kinds whose
content is nobody's business here (Secret, ConfigMap and others) only metadata is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.cli.status.plan import Plan
from konstat.cli.status.tree import Content, Gathered, GroupKind, owner_uids
from konstat.client import calls
from konstat.client.api import Client
from konstat.errors import (
    APIError,
    Expired,
    Forbidden,
    NotFound,
    TransportError,
    Unauthorized,
)
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.readiness import reading

_METADATA_ONLY = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
)


async def gather(client: Client, plan: Plan) -> Gathered:
    """Read everything that ``plan`` names, once.

    Raises NotFound for a resource asked for by name that is not there, and any APIError when no
    kind of resources could be read; kinds of children that cannot be read are listed as unread.
    """
    resources, unread = await read_resources(client, plan)
    objects: dict[GroupKind, list[Content]] = {}
    if resources:
        namespace = plan.children_namespace(resources)
        found, problems = await read_children(
            client, [*plan.children, *plan.looked_up], namespace=namespace, plan=plan
        )
        objects |= found
        unread |= {kind: p for kind, p in problems.items() if kind not in plan.looked_up}
    return Gathered(
        resources=tuple(resources),
        objects=objects,
        unread=unread,
        statusless=plan.statusless,
    )


async def read_resources(client: Client, plan: Plan) -> tuple[list[Content], dict[Kind, str]]:
    """The resources that are asked for, in the plan's order, and the kinds that cannot be read."""
    found: list[Content] = []
    unread: dict[Kind, str] = {}
    first: APIError | None = None
    for kind in plan.resources:
        try:
            found += await _resources_of(client, kind, plan)
        except APIError as error:
            if len(plan.resources) == 1:
                raise
            first = first or error
            unread[kind] = problem_of(error)
    if first is not None and len(unread) == len(plan.resources):
        raise first
    return found, unread


async def _resources_of(client: Client, kind: Kind, plan: Plan) -> list[Content]:
    if not plan.name:
        return await read_all(client, kind, namespace=plan.namespace)
    if plan.namespace or not kind.namespaced:
        return [_stripped(await client.get(kind, plan.name, namespace=plan.namespace or ""), kind)]
    by_name = f"metadata.name={plan.name}"
    found = await read_all(client, kind, namespace=None, field_selector=by_name)
    if not found:
        raise NotFound(
            f"there is no {kind.kind} called {plan.name!r} in any namespace",
            code=404,
            reason="NotFound",
        )
    return found


async def read_children(
    client: Client, kinds: Iterable[Kind], *, namespace: str | None, plan: Plan
) -> tuple[dict[GroupKind, list[Content]], dict[Kind, str]]:
    """Objects by kind, in the order of ``kinds``, and why some kinds could not be read.

    Only objects that have an owner are kept, and all objects of kinds that are looked up by name.
    """
    async with open_tasks() as tasks:
        reads = {
            kind: tasks.start(_children_of(client, kind, namespace, plan), name=f"list {kind.kind}")
            for kind in kinds
        }
        answers = dict(zip(reads, await asyncio.gather(*reads.values()), strict=True))
    objects: dict[GroupKind, list[Content]] = {}
    unread: dict[Kind, str] = {}
    for kind, answer in answers.items():
        if isinstance(answer, str):
            unread[kind] = answer
        else:
            objects[kind.group, kind.kind] = answer
    return objects, unread


async def _children_of(
    client: Client, kind: Kind, namespace: str | None, plan: Plan
) -> list[Content] | str:
    """The children of one kind, or why they cannot be had."""
    try:
        return await read_all(
            client,
            kind,
            namespace=namespace,
            owned_only=kind not in plan.looked_up,
            metadata_only=kind in plan.metadata_only,
        )
    except Unauthorized:
        raise
    except APIError as error:
        return problem_of(error)


async def read_all(
    client: Client,
    kind: Kind,
    *,
    namespace: str | None,
    field_selector: str = "",
    owned_only: bool = False,
    metadata_only: bool = False,
) -> list[Content]:
    """Every object of a kind, page by page; ``namespace`` None means all of them.

    When a page's token expires on the way, the list starts again in one piece (F8), so that the
    halves of two moments never mix.
    """
    limit = limits.LIST_PAGE_OBJECTS
    found: list[Content] = []
    token = ""
    while True:
        query = calls.selectors("", field_selector)
        query |= {"limit": str(limit)} if limit else {}
        query |= {"continue": token} if token else {}
        place = namespace if namespace and kind.namespaced else ""
        path, words = calls.call("list", kind, place, "")
        try:
            data = await client.exchange(
                "GET",
                path,
                query=query,
                request=words,
                accept=_METADATA_ONLY if metadata_only else "",
            )
        except Expired:
            if not token:
                raise
            limit, token, found = 0, "", []
            continue
        try:
            page = calls.read_page(data)
        except ValueError as error:
            raise TransportError(f"failed to {words}: the answer is no list ({error})") from error
        found += _kept(page.items, kind, owned_only=owned_only, metadata_only=metadata_only)
        token = page.continue_token
        if not token:
            return found


def _kept(
    items: Iterable[Any], kind: Kind, *, owned_only: bool, metadata_only: bool
) -> Iterator[Content]:
    for item in items:
        content = codec.decode(item)
        if owned_only and not owner_uids(content):
            continue
        if metadata_only:
            # A server that does not know the short form sends whole objects.
            content = {"metadata": content.get("metadata")}
        yield _stripped(content, kind)


def _stripped(content: dict[str, Any], kind: Kind) -> Content:
    """With apiVersion and kind, which items of a list lack, and without managedFields."""
    metadata = dict(reading.mapping(content.get("metadata")))
    metadata.pop("managedFields", None)
    return {**content, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def problem_of(error: APIError) -> str:
    """A few words on why a kind could not be read."""
    if isinstance(error, Forbidden):
        return "forbidden"
    if isinstance(error, NotFound):
        return "not installed"
    return f"HTTP {error.code}: {' '.join(error.message.split())}"
