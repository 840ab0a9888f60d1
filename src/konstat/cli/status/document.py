"""The JSON of `konstat status -o json`: one object, stable, for scripts.

Shape (`konstat.cli.status.tree.TreeNode` tells the fields of a resource)::

    {"format": 1, "time": "2026-01-01T12:00:00Z", "server": "https://…",
     "resources": [{"kind": …, "state": …, "children": [{…}, …], …}, …],
     "unread": [{"resource": "secrets", "problem": "forbidden"}, …],
     "outdated": [{"resource": "pods", "problem": "…"}, …]}

``unread`` kinds are missing from the tree; of ``outdated`` ones it shows what was seen last.
With ``--watch`` each change is one such object on a line of its own. Fields may be added without
a new ``format``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from konstat.base import clock
from konstat.cli.status.tree import Gathered, TreeNode
from konstat.objects.kind import Kind

FORMAT: Final = 1


class Problem(msgspec.Struct, frozen=True):
    """One kind whose objects cannot be had, and why."""

    resource: str
    problem: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed."""

    format: int
    time: str
    server: str
    resources: tuple[TreeNode, ...]
    unread: tuple[Problem, ...]
    outdated: tuple[Problem, ...]


def document(
    trees: Sequence[TreeNode], gathered: Gathered, *, server: str, now: datetime
) -> Document:
    """The document of one moment."""
    return Document(
        format=FORMAT,
        time=clock.timestamp(now),
        server=server,
        resources=tuple(trees),
        unread=_problems(gathered.unread),
        outdated=_problems(gathered.outdated),
    )


def _problems(found: Mapping[Kind, str]) -> tuple[Problem, ...]:
    return tuple(Problem(*pair) for pair in sorted((k.resource, p) for k, p in found.items()))


def as_json(content: Document, *, one_line: bool = False) -> str:
    """The text of a document, without a newline at its end."""
    data = msgspec.json.encode(content)
    return (data if one_line else msgspec.json.format(data, indent=2)).decode()
