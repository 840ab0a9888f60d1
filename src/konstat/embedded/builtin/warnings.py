"""The server's warnings about writes of built-in kinds: the few that clients meet often."""

from __future__ import annotations

from konstat.embedded.builtin.names import label_problems
from konstat.embedded.registry import Object

ENDPOINTS = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


def endpoints(new: Object, old: Object | None) -> list[str]:
    """Endpoints are on their way out."""
    return [ENDPOINTS]


def pod(new: Object, old: Object | None) -> list[str]:
    """A new Pod whose name is no host name."""
    problems = [] if old is not None else label_problems(new["metadata"].get("name", ""))
    if not problems:
        return []
    return [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising"
        f" behavior; a DNS label is recommended: [{' '.join(problems)}]"
    ]
