"""Applies and enforces LimitRanges, as the admission plugin LimitRanger does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from konstat.embedded.builtin import usage
from konstat.embedded.builtin.usage import Amounts
from konstat.embedded.registry import Host
from konstat.embedded.status_errors import forbidden
from konstat.objects.quantity import Quantity

Object: TypeAlias = dict[str, Any]

ANNOTATION: Final = "kubernetes.io/limit-ranger"


def _items(host: Host, namespace: str, kind: str) -> list[Object]:
    ranges = sorted(
        host.objects("", "limitranges", namespace), key=lambda one: one["metadata"]["name"]
    )
    found = (item for one in ranges for item in one["spec"].get("limits") or ())
    return [item for item in found if item.get("type") == kind]


def admit_pod(pod: Object, host: Host) -> None:
    """Give a new Pod the defaults of its namespace; raise the server's 403 for what exceeds it."""
    namespace = pod["metadata"].get("namespace", "")
    own = _items(host, namespace, "Container")
    _fill(pod, own)
    problems = [*_containers(pod["spec"], own)]
    whole = [usage.pod_amounts(pod["spec"], part) for part in ("requests", "limits")]
    for item in _items(host, namespace, "Pod"):
        problems += _problems(item, whole[0], whole[1])
    _refuse("pods", pod, problems)


def admit_claim(claim: Object, host: Host) -> None:
    """Raise the server's 403 for a claim that is too small or too large."""
    namespace = claim["metadata"].get("namespace", "")
    requests = _read(claim["spec"]["resources"].get("requests"))
    problems: list[str] = []
    for item in _items(host, namespace, "PersistentVolumeClaim"):
        problems += _problems(item, requests, None)
    _refuse("persistentvolumeclaims", claim, problems)


def _refuse(plural: str, obj: Object, problems: list[str]) -> None:
    if problems:
        distinct = list(dict.fromkeys(problems))
        text = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
        raise forbidden(plural, obj["metadata"].get("name", ""), text)


def _fill(pod: Object, items: list[Object]) -> None:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for item in items:
        requests |= item.get("defaultRequest") or {}
        limits |= item.get("default") or {}
    words: list[str] = []
    for part, word in (("containers", "container"), ("initContainers", "init container")):
        for one in pod["spec"].get(part) or ():
            resources = one.setdefault("resources", {})
            for key, given, name in (
                ("requests", requests, "request"),
                ("limits", limits, "limit"),
            ):
                missing = sorted(set(given) - set(resources.get(key, {})))
                if missing:
                    added = {resource: given[resource] for resource in missing}
                    resources[key] = {**resources.get(key, {}), **added}
                    words.append(f"{', '.join(missing)} {name} for {word} {one['name']}")
    if words:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(words)}"
        pod["metadata"]["annotations"] = {**annotations, ANNOTATION: text}


def _containers(spec: Object, items: list[Object]) -> Iterator[str]:
    for item in items:
        for part in ("containers", "initContainers"):
            for one in spec.get(part) or ():
                resources = one.get("resources", {})
                requests, limits = _read(resources.get("requests")), _read(resources.get("limits"))
                yield from _problems(item, requests, limits)


def _read(given: Mapping[str, str] | None) -> Amounts:
    return {name: Quantity(amount).nanos for name, amount in (given or {}).items()}


def _problems(item: Object, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """What breaks one item; ``limits`` is None for claims, which have requests alone."""
    kind = item.get("type")
    for name, bound in sorted((item.get("min") or {}).items()):
        start = f"minimum {name} usage per {kind} is {bound}"
        least = Quantity(bound).nanos
        if name not in requests:
            yield f"{start}.  No request is specified"
        elif requests[name] < least:
            yield f"{start}, but request is {usage.spelled(name, requests[name])}"
        elif limits and name in limits and limits[name] < least:
            yield f"{start}, but limit is {usage.spelled(name, limits[name])}"
    for name, bound in sorted((item.get("max") or {}).items()):
        start = f"maximum {name} usage per {kind} is {bound}"
        most = Quantity(bound).nanos
        if limits is not None:
            if name not in limits:
                yield f"{start}.  No limit is specified"
                continue
            if limits[name] > most:
                yield f"{start}, but limit is {usage.spelled(name, limits[name])}"
                continue
        elif name not in requests:
            yield f"{start}.  No request is specified"
        if requests.get(name, 0) > most:
            yield f"{start}, but request is {usage.spelled(name, requests[name])}"
    yield from _ratios(item, requests, limits or {})


def _ratios(item: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        start = f"{name} max limit to request ratio per {item.get('type')} is {bound}, but"
        request, limit = requests.get(name, 0), limits.get(name, 0)
        if not request:
            yield f"{start} no request is specified or request is 0"
        elif not limit:
            yield f"{start} no limit is specified or limit is 0"
        elif limit / request > Quantity(bound).nanos / 10**9:
            yield f"{start} provided ratio is {limit / request:f}"
