"""From a URL to what it means: group, version, resource, namespace, name, subresource.

Comes first in `konstat.embedded.server`; the verbs get a `Route` whose resource type is known.
Which paths exist, and in which form absence is said, differs between built-in groups and custom
resources (measured); both forms are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from konstat.embedded import status_errors as errors
from konstat.embedded.registry import Registry, ResourceType

# Paths under a namespace that mean the namespace itself and not a resource in it.
_OF_NAMESPACE = ("status", "finalize")


class Query:
    """The parameters of a URL; the first value of a name counts, as for the server."""

    def __init__(self, text: str) -> None:
        self.pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=1000)
        self._first: dict[str, str] = {}
        for name, value in self.pairs:
            self._first.setdefault(name, value)

    def get(self, name: str) -> str:
        """The value, or an empty text."""
        return self._first.get(name, "")

    def has(self, name: str) -> bool:
        """Whether the parameter is there at all."""
        return name in self._first

    def all(self, name: str) -> list[str]:
        """Every value of a name."""
        return [value for key, value in self.pairs if key == name]

    def flag(self, name: str) -> bool:
        """A boolean as the server reads it: all but ``false`` and ``0`` is true."""
        return name in self._first and self._first[name].lower() not in ("false", "0")

    def number(self, name: str) -> int:
        """An integer, 0 without one; raises a 400 for what is none."""
        text = self.get(name)
        if not text:
            return 0
        try:
            if not text.lstrip("+-").isascii() or not text.lstrip("+-").isdigit():
                raise ValueError(text)
            return int(text)
        except ValueError as error:
            problem = f"strconv.ParseInt: parsing {errors.quoted(text)}: invalid syntax"
            raise errors.bad_request(problem) from error


@dataclass(frozen=True, kw_only=True)
class Route:
    """One request's target; ``name`` is empty for a collection."""

    type: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False


def split_path(path: str) -> tuple[list[str], Query]:
    """The decoded segments of a path and its query."""
    bare, _, query = path.partition("?")
    try:
        segments = [unquote(part, errors="strict") for part in bare.split("/")[1:]]
    except UnicodeDecodeError as error:
        raise errors.bad_request("the path is not UTF-8") from error
    if segments and segments[-1] == "":
        segments.pop()
    return segments, Query(query)


def is_long_running(segments: list[str], query: Query) -> bool:
    """Whether a request may last, as watches and logs do: no ``timeout`` is read then."""
    return query.flag("watch") or "watch" in segments[:4] or segments[-1:] == ["log"]


def find_route(segments: list[str], registry: Registry) -> Route:
    """The target of a path under /api or /apis; raises the server's 404 when there is none."""
    if segments[0] == "api":
        group, rest = "", segments[1:]
    else:
        group, rest = segments[1], segments[2:]
    built_in = any(not one.custom for one in registry.in_group(group))
    absent = errors.resource_not_found() if built_in else errors.page_not_found()
    if len(rest) < 2:
        raise absent
    version, *parts = rest
    watch = parts[0] == "watch"
    if watch:
        parts = parts[1:]
    route = _in_namespace(registry, group, version, parts) or _outside(
        registry, group, version, parts
    )
    if route is None:
        raise absent
    if route.name and route.type.namespaced and not route.namespace:
        raise absent
    if len(parts) > 5 or (watch and route.subresource):
        raise absent
    return route if not watch else _watching(route)


def _watching(route: Route) -> Route:
    return Route(type=route.type, namespace=route.namespace, name=route.name, watch=True)


def _in_namespace(registry: Registry, group: str, version: str, parts: list[str]) -> Route | None:
    if len(parts) < 3 or parts[0] != "namespaces":
        return None
    if group == "" and len(parts) == 3 and parts[2] in _OF_NAMESPACE:
        return None
    found = registry.find(group, version, parts[2])
    if found is None or not found.namespaced or len(parts) > 5:
        return None
    return Route(
        type=found,
        namespace=parts[1],
        name=parts[3] if len(parts) > 3 else "",
        subresource=parts[4] if len(parts) > 4 else "",
    )


def _outside(registry: Registry, group: str, version: str, parts: list[str]) -> Route | None:
    if not parts or len(parts) > 3:
        return None
    found = registry.find(group, version, parts[0])
    if found is None:
        return None
    return Route(
        type=found,
        name=parts[1] if len(parts) > 1 else "",
        subresource=parts[2] if len(parts) > 2 else "",
    )


def header(headers: tuple[tuple[str, str], ...] | Mapping[str, str], name: str) -> str:
    """The values of a header, joined as HTTP does; an empty text without one."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return ", ".join(value for key, value in pairs if key.lower() == name)
