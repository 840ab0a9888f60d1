"""Checks of PersistentVolumeClaims and of templates of them."""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object, one_of
from konstat.embedded.builtin.validation.printed import difference
from konstat.embedded.status_errors import (
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)
from konstat.objects.quantity import Quantity

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for"
    " bound claims"
)


def access_modes(path: str, modes: Any) -> Errors:
    """Known modes, and ReadWriteOncePod alone."""
    for mode in modes or ():
        if mode not in ACCESS_MODES:
            yield not_supported(path, mode, ACCESS_MODES)
    known = [mode for mode in modes or () if mode in ACCESS_MODES]
    if "ReadWriteOncePod" in known and len(set(known)) > 1:
        yield forbidden_field(path, "may not use ReadWriteOncePod with other access modes")


def positive(path: str, amount: str) -> Errors:
    """More than nothing."""
    if Quantity(amount).nanos <= 0:
        yield invalid_value(path, amount, "must be greater than zero")


def claim_spec(path: str, spec: Object) -> Errors:
    """The spec of a claim."""
    if not spec.get("accessModes"):
        yield required_value(f"{path}.accessModes", "at least 1 access mode is required")
    yield from basics.selector(f"{path}.selector", spec.get("selector"))
    yield from access_modes(f"{path}.accessModes", spec.get("accessModes"))
    amount = spec["resources"].get("requests", {}).get("storage")
    if amount is None:
        yield required_value(f"{path}.resources[storage]")
    else:
        yield from positive(f"{path}.resources[storage]", amount)
    name = spec.get("storageClassName")
    if name:
        yield from basics.subdomain(f"{path}.storageClassName", name)
    yield from one_of(f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES, required=False)
    source = spec.get("dataSource")
    if source is not None:
        if not source.get("name"):
            yield required_value(f"{path}.dataSource.name")
        if not source.get("kind"):
            yield required_value(f"{path}.dataSource.kind")


def claim(new: Object, old: Object | None) -> Errors:
    """A claim; an update may bind it, and let a bound one grow."""
    yield from claim_spec("spec", new["spec"])
    if old is None:
        return
    before = old["spec"]
    after = _with_old_changeable(new, before)
    if after != before:
        shown = difference(before, after, "PersistentVolumeClaimSpec")
        yield forbidden_field("spec", f"{_IMMUTABLE}\n{shown}")
    yield from _size(new, old)
    yield from basics.unchanged(
        "volumeMode", new["spec"].get("volumeMode"), old["spec"].get("volumeMode")
    )


def _with_old_changeable(new: Object, before: Object) -> Object:
    """The new spec with the old values of all that an update may change."""
    made = dict(new["spec"])
    if not before.get("volumeName"):
        made.pop("volumeName", None)
    if "storageClassName" not in before:
        made.pop("storageClassName", None)
    if new["status"].get("phase") == "Bound":
        requests = dict(made["resources"].get("requests", {}))
        amount = before["resources"].get("requests", {}).get("storage")
        if amount is not None:
            requests["storage"] = amount
        made["resources"] = {**made["resources"], "requests": requests}
        made.pop("volumeAttributesClassName", None)
        if "volumeAttributesClassName" in before:
            made["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    return made


def _size(new: Object, old: Object) -> Errors:
    sizes = [
        Quantity(o["spec"]["resources"].get("requests", {}).get("storage", 0)) for o in (new, old)
    ]
    reached = Quantity(old["status"].get("capacity", {}).get("storage", 0))
    if sizes[0] < sizes[1] and sizes[0] <= reached:
        where = "spec.resources.requests.storage"
        yield forbidden_field(where, "field can not be less than status.capacity")
