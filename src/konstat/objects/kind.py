"""`Kind`: what the server calls a resource type, and the URL paths that follow from it."""

from __future__ import annotations

from urllib.parse import quote

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Group, version, kind, plural and scope of one resource type.

    ``group`` is empty for the core group. Two versions of one group and plural are two `Kind`s
    of the same objects.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """``group/version``, or only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``plural.group`` as RBAC and CRDs name it; only the plural for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, one object, or a subresource of it.

        An empty ``namespace`` of a namespaced kind means all namespaces (collection only).
        """
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if namespace and self.namespaced:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.kind} ({self.api_version})"
