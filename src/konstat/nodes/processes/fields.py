"""Fields of a pod that its containers may ask for (the downward API). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes.problems import PlanProblem
from konstat.objects import codec

_ENTRY: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What only the kubelet knows of a pod."""

    address: str
    host_address: str


def field_value(pod: PlayedPod, path: str, facts: PodFacts) -> str:
    """The value of a field; an entry that is not there is empty, as for a kubelet.

    Raises PlanProblem for a path that the downward API does not have.
    """
    metadata = pod.metadata
    maps: dict[str, Mapping[str, str]] = {
        "labels": metadata.labels or {},
        "annotations": metadata.annotations or {},
    }
    plain = {
        "metadata.name": metadata.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.podIP": facts.address,
        "status.podIPs": facts.address,
        "status.hostIP": facts.host_address,
        "status.hostIPs": facts.host_address,
    }
    if path in plain:
        return plain[path]
    entry = _ENTRY.fullmatch(path)
    if entry is not None:
        return maps[entry[1]].get(entry[2], "")
    name = path.removeprefix("metadata.")
    if path.startswith("metadata.") and name in maps:
        return "\n".join(
            f"{key}={codec.encode(value).decode()}" for key, value in sorted(maps[name].items())
        )
    raise PlanProblem(f"fieldRef {path!r} is no field of a pod that a container can ask for")
