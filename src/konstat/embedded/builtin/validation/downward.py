"""Checks of references of the downward API: fields and resources of the Pod itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object
from konstat.embedded.status_errors import invalid_value, not_supported, required_value

ENVIRONMENT_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.hostIP", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
VOLUME_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name",
                        "metadata.namespace", "metadata.uid")  # fmt: skip


def field_reference(path: str, given: Object, fields: Sequence[str]) -> Errors:
    """A fieldRef of the downward API."""
    wanted = given.get("fieldPath", "")
    if not given.get("apiVersion"):
        yield required_value(f"{path}.apiVersion")
        return
    if not wanted:
        yield required_value(f"{path}.fieldPath")
        return
    base, bracket, key = wanted.partition("[")
    if bracket and key.startswith("'") and key.endswith("']"):
        key = key[1:-2]
        if base == "metadata.annotations":
            yield from basics.qualified(path, key.lower())
        elif base == "metadata.labels":
            yield from basics.qualified(path, key)
        else:
            yield invalid_value(path, base, "does not support subscript")
        return
    known = {*ENVIRONMENT_FIELDS, "metadata.annotations", "metadata.labels", "spec.host"}
    if wanted not in known and not wanted.startswith(("metadata.", "status.phase")):
        problem = f"error converting fieldPath: field label not supported: {wanted}"
        yield invalid_value(f"{path}.fieldPath", wanted, problem)
    elif wanted not in fields:
        yield not_supported(f"{path}.fieldPath", wanted, sorted(fields))


def resource_reference(path: str, given: Object, *, volume: bool = False) -> Errors:
    """A resourceFieldRef of the downward API."""
    resource = given.get("resource", "")
    huge = resource.startswith(("limits.hugepages-", "requests.hugepages-"))
    if volume and not given.get("containerName"):
        yield required_value(f"{path}.containerName")
    elif not resource:
        yield required_value(f"{path}.resource")
    elif resource not in _RESOURCE_FIELDS and not huge:
        yield not_supported(f"{path}.resource", resource, _RESOURCE_FIELDS)
