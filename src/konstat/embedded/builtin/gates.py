"""Fields whose feature gate is off by default: the server drops them from what it stores.

An object that has such a field already keeps it. Measured on 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
Places: TypeAlias = Iterator[tuple[Object, str]]


def drop(group: str, kind: str, new: Object, old: Object | None) -> None:
    """Drop the fields of ``kind`` that are off, unless ``old`` has one of them."""
    places = _PLACES.get((group, kind))
    if places is None or (old is not None and any(name in place for place, name in places(old))):
        return
    for place, name in list(places(new)):
        place.pop(name, None)


def _pod_spec(spec: Object) -> Places:
    yield spec, "schedulingGroup"
    for part in ("containers", "initContainers"):
        for one in spec.get(part) or ():
            if "lifecycle" in one:
                yield one["lifecycle"], "stopSignal"
    for volume in spec.get("volumes") or ():
        for source in volume.get("projected", {}).get("sources") or ():
            yield source, "clusterTrustBundle"


def _template(obj: Object) -> Places:
    return _pod_spec(obj["spec"]["template"]["spec"])


def _stateful_set(obj: Object) -> Places:
    yield from _template(obj)
    rolling = obj["spec"]["updateStrategy"].get("rollingUpdate")
    if rolling is not None:
        yield rolling, "maxUnavailable"


def _lease(obj: Object) -> Places:
    yield obj["spec"], "strategy"
    yield obj["spec"], "preferredHolder"


_PLACES: Final[Mapping[tuple[str, str], Callable[[Object], Places]]] = {
    ("", "Node"): lambda obj: iter([(obj["spec"], "configSource")]),
    ("", "Pod"): lambda obj: _pod_spec(obj["spec"]),
    ("apps", "DaemonSet"): _template,
    ("apps", "Deployment"): _template,
    ("apps", "ReplicaSet"): _template,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): lambda obj: _template(obj["spec"]["jobTemplate"]),
    ("batch", "Job"): _template,
    ("coordination.k8s.io", "Lease"): _lease,
    ("storage.k8s.io", "CSIDriver"): lambda obj: iter(
        [(obj["spec"], "preventPodSchedulingIfMissing")]
    ),
}
