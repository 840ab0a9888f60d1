"""What the server's admission plugins do beyond a kind's own preparation.

Quotas and limit ranges are enforced; what would need a call to somebody else, or a rule that is
not here, is refused by name instead of being taken silently: webhooks, Pod Security.
"""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded.builtin import limit_ranges, quotas
from konstat.embedded.registry import Host, Object
from konstat.embedded.status_errors import forbidden, invalid, invalid_value, not_implemented
from konstat.objects.quantity import Quantity

_LEVEL: Final = "pod-security.kubernetes.io/enforce"
_LEVELS: Final = ("privileged", "baseline", "restricted")
_MODES: Final = ("enforce", "warn", "audit")


def admit(
    group: str, plural: str, new: Object, old: Object | None, host: Host, counted: frozenset[str]
) -> None:
    """Let a write pass or raise the server's refusal; ``counted`` are the kinds of quotas."""
    if plural.endswith("webhookconfigurations"):
        _webhooks(new)
    elif plural == "apiservices":
        if new["spec"].get("service"):
            raise not_implemented("aggregated API servers (spec.service of an APIService)")
    elif plural == "namespaces":
        _pod_security(new)
    elif plural == "resourcequotas":
        quotas.require_enforceable(new, counted)
    elif plural == "priorityclasses":
        _one_default(new, host)
    elif plural == "persistentvolumeclaims":
        limit_ranges.admit_claim(new, host)
        _resize(new, old, host)
    quotas.admit(group, plural, new, old, host)


def _webhooks(new: Object) -> None:
    """A webhook that nothing can match is stored; any other would have to be called."""
    for hook in new.get("webhooks") or ():
        if hook.get("rules"):
            raise not_implemented(f"admission webhooks (webhook {hook.get('name', '')})")


def _pod_security(new: Object) -> None:
    labels = new["metadata"].get("labels") or {}
    problem = f"must be one of {', '.join(_LEVELS)}"
    keys = [f"pod-security.kubernetes.io/{mode}" for mode in _MODES]
    causes = [
        invalid_value(f"metadata.labels[{key}]", labels[key], problem)
        for key in keys
        if key in labels and labels[key] not in _LEVELS
    ]
    if causes:
        raise invalid("", "Namespace", new["metadata"].get("name", ""), causes)
    if labels.get(_LEVEL, "privileged") != "privileged":
        raise not_implemented(f"Pod Security admission (label {_LEVEL}={labels[_LEVEL]})")


def _one_default(new: Object, host: Host) -> None:
    if not new.get("globalDefault"):
        return
    name = new["metadata"].get("name", "")
    for other in host.objects("scheduling.k8s.io", "priorityclasses"):
        there = other["metadata"]["name"]
        if other.get("globalDefault") and there != name:
            problem = (
                f"PriorityClass {there} is already marked as default. Only one default can exist"
            )
            raise forbidden("priorityclasses", name, problem, group="scheduling.k8s.io")


def _resize(new: Object, old: Object | None, host: Host) -> None:
    """A bound claim grows where its class allows it (PersistentVolumeClaimResize)."""
    if old is None or old["status"].get("phase") != "Bound":
        return
    if _size(new) <= _size(old):
        return
    name = old["spec"].get("storageClassName") or ""
    found: dict[str, Any] = host.lookup("storage.k8s.io", "storageclasses", "", name) or {}
    if not found.get("allowVolumeExpansion"):
        problem = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions"
            " the pvc must support resize"
        )
        raise forbidden("persistentvolumeclaims", new["metadata"].get("name", ""), problem)


def _size(claim: Object) -> int:
    return Quantity(claim["spec"]["resources"].get("requests", {}).get("storage", 0)).nanos
