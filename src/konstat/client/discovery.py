"""What kinds the server serves, and which of them a word means.

Comes after `konstat.client.plain`, which it asks; the command line and the cache use it to turn
``deploy``, ``WebApp`` or ``deployments.v1.apps`` into a `Kind`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec

from konstat.base import limits
from konstat.client.plain import PlainClient
from konstat.errors import APIError, NotAcceptable, NotFound, TransportError, UserError
from konstat.objects.kind import Kind

# KEP-3352: one document for all groups; servers before 1.27 answer in the old form.
_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


_NO_API = "the answer is not that of a Kubernetes API; is the server's address right?"


class ServedKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind in one version, with the words that name it and the verbs that it takes."""

    kind: Kind
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Every word for it, without the group, in lower case."""
        names = (self.kind.plural, self.singular, self.kind.kind, *self.short_names)
        return tuple(name.lower() for name in names if name)


class _ResponseKind(msgspec.Struct, rename="camel"):
    kind: str = ""


class _Subresource(msgspec.Struct, rename="camel"):
    subresource: str = ""


class _AggregatedResource(msgspec.Struct, rename="camel"):
    resource: str = ""
    response_kind: _ResponseKind | None = None
    scope: str = "Namespaced"
    singular_resource: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _AggregatedVersion(msgspec.Struct, rename="camel"):
    version: str
    resources: list[_AggregatedResource] | None = None
    freshness: str = ""


class _Name(msgspec.Struct):
    name: str = ""


class _AggregatedGroup(msgspec.Struct, rename="camel"):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_AggregatedVersion] | None = None


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_GroupVersion]
    preferred_version: _GroupVersion | None = None


class _Document(msgspec.Struct, rename="camel"):
    """The answer of /api and /apis in the new form (items) or the old (versions, groups)."""

    kind: str = ""
    items: list[_AggregatedGroup] | None = None
    versions: list[str] | None = None
    groups: list[_Group] | None = None


class _OldResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool = True
    singular_name: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _OldResources(msgspec.Struct, rename="camel"):
    resources: list[_OldResource] | None = None


_document_decoder = msgspec.json.Decoder(_Document)
_old_decoder = msgspec.json.Decoder(_OldResources)


class Discovery:
    """The kinds of one server, read once and again on `refresh`.

    ``unavailable`` names the groups whose own server did not answer; their kinds are missing.
    """

    def __init__(self, client: PlainClient) -> None:
        self._client = client
        self._served: list[ServedKind] | None = None
        self.unavailable: tuple[str, ...] = ()

    async def kinds(self) -> list[ServedKind]:
        """All kinds in all versions, in the server's order: core first, preferred version first."""
        if self._served is None:
            await self.refresh()
        assert self._served is not None
        return self._served

    async def refresh(self) -> None:
        """Ask the server again; raises APIError or TransportError."""
        served: list[ServedKind] = []
        missing: list[str] = []
        for path in ("/api", "/apis"):
            document = await self._document(path)
            if document.items is not None:
                found, stale = _from_aggregated(document.items)
            else:
                found, stale = await self._from_old(document)
            served += found
            missing += stale
        self._served, self.unavailable = served, tuple(missing)

    async def find(self, word: str) -> Kind:
        """The kind that ``word`` means: a plural, singular, kind or short name in any case.

        It may be followed by the group, or by version and group: ``deployments.v1.apps``. Of
        several groups the first in the server's order is meant, as for kubectl. A word that is
        not known is looked for once more in a fresh answer; then UserError names close ones.
        """
        known = self._served is not None
        found = _find(await self.kinds(), word)
        if found is None and known:
            await self.refresh()
            found = _find(await self.kinds(), word)
        if found is not None:
            return found
        close = difflib.get_close_matches(
            word.lower(), sorted({w for s in await self.kinds() for w in s.words}), n=3
        )
        hint = f"did you mean {' or '.join(close)}?" if close else "is its CRD installed?"
        away = f" (no answer from {', '.join(self.unavailable[:10])})" if self.unavailable else ""
        raise UserError(f"the server serves no kind called {word!r}{away}: {hint}")

    async def served(self, group: str, kind: str, version: str = "") -> ServedKind | None:
        """The kind of that name in its preferred (or the given) version; None if not served."""
        for served in await self.kinds():
            found = served.kind
            if (found.group, found.kind) == (group, kind) and version in ("", found.version):
                return served
        return None

    async def _document(self, path: str) -> _Document:
        words = f"ask which kinds are served ({path})"
        try:
            data = await self._client.exchange("GET", path, accept=_AGGREGATED, request=words)
        except NotAcceptable:
            data = await self._client.exchange("GET", path, request=words)
        try:
            document = _document_decoder.decode(data)
        except ValueError as error:
            raise TransportError(f"failed to {words}: {_NO_API} ({error})") from error
        if document.items is None and document.versions is None and document.groups is None:
            raise TransportError(f"failed to {words}: {_NO_API} (it lists no kinds)")
        return document

    async def _from_old(self, document: _Document) -> tuple[list[ServedKind], list[str]]:
        """Follow the old form, one request for each group and version."""
        places = [("", version, f"/api/{version}") for version in document.versions or ()]
        for group in (document.groups or ())[: limits.DISCOVERY_GROUPS]:
            preferred = group.preferred_version.version if group.preferred_version else ""
            versions = sorted((v.version for v in group.versions), key=lambda v: v != preferred)
            places += [(group.name, v, f"/apis/{group.name}/{v}") for v in versions]
        served: list[ServedKind] = []
        missing: list[str] = []
        for group_name, version, path in places:
            try:
                data = await self._client.exchange("GET", path, request=f"read {path}")
                answer = _old_decoder.decode(data)
            except (APIError, ValueError) as error:
                # One aggregated API server that is away must not hide all other kinds.
                if not isinstance(error, NotFound):
                    missing.append(f"{version}.{group_name}")
                continue
            served += _from_resources(answer.resources or [], group_name, version)
        return served, missing


def _from_aggregated(groups: list[_AggregatedGroup]) -> tuple[list[ServedKind], list[str]]:
    served: list[ServedKind] = []
    missing: list[str] = []
    for group in groups[: limits.DISCOVERY_GROUPS]:
        name = group.metadata.name
        for version in group.versions or ():
            if version.freshness == "Stale" and not version.resources:
                missing.append(f"{version.version}.{name}")
            for resource in version.resources or ():
                if resource.response_kind is None or not resource.response_kind.kind:
                    continue  # only a parent of subresources
                served.append(
                    ServedKind(
                        kind=Kind(
                            group=name,
                            version=version.version,
                            kind=resource.response_kind.kind,
                            plural=resource.resource,
                            namespaced=resource.scope == "Namespaced",
                        ),
                        singular=resource.singular_resource,
                        short_names=tuple(resource.short_names or ()),
                        categories=tuple(resource.categories or ()),
                        verbs=tuple(resource.verbs or ()),
                        subresources=tuple(s.subresource for s in resource.subresources or ()),
                    )
                )
    return served, missing


def _from_resources(
    resources: Iterable[_OldResource], group: str, version: str
) -> list[ServedKind]:
    parents: dict[str, _OldResource] = {}
    subresources: dict[str, list[str]] = {}
    for resource in resources:
        parent, _, subresource = resource.name.partition("/")
        if subresource:
            subresources.setdefault(parent, []).append(subresource)
        else:
            parents[parent] = resource
    return [
        ServedKind(
            kind=Kind(
                group=group,
                version=version,
                kind=resource.kind,
                plural=plural,
                namespaced=resource.namespaced,
            ),
            singular=resource.singular_name,
            short_names=tuple(resource.short_names or ()),
            categories=tuple(resource.categories or ()),
            verbs=tuple(resource.verbs or ()),
            subresources=tuple(subresources.get(plural, ())),
        )
        for plural, resource in parents.items()
    ]


def _find(kinds: list[ServedKind], word: str) -> Kind | None:
    name, _, place = word.lower().partition(".")
    named = [served for served in kinds if name in served.words]
    if not place:
        return _best(named, name)
    version, _, group = place.partition(".")
    whole = [s for s in named if s.kind.group.lower() == place]
    versioned = [s for s in named if (s.kind.version, s.kind.group.lower()) == (version, group)]
    return _best(whole or versioned, name)


def _best(named: list[ServedKind], name: str) -> Kind | None:
    """A full name goes before a short one; then the server's order decides."""
    full = [s for s in named if name not in (n.lower() for n in s.short_names)]
    chosen = full or named
    return chosen[0].kind if chosen else None
