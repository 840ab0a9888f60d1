"""Checks of the volumes of a Pod spec."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from konstat.embedded.builtin.validation import basics, claims, downward
from konstat.embedded.builtin.validation.basics import Errors, Object, absent, one_of
from konstat.embedded.builtin.validation.paths import no_backsteps, reserved_path
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)
from konstat.objects.quantity import Quantity

MODE_TEXT: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATHS: Final = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                      "FileOrCreate", "Socket")  # fmt: skip


def volumes(path: str, given: Sequence[Object] | None, found: set[str]) -> Errors:
    """The volumes of a Pod spec; ``found`` gets the names of those that are right."""
    names: set[str] = set()
    for index, one in enumerate(given or ()):
        where, name = f"{path}[{index}]", one.get("name", "")
        errors = list(volume_source(where, one))
        if not name:
            errors.append(required_value(f"{where}.name"))
        else:
            errors += basics.label(f"{where}.name", name)
        if name in names:
            errors.append(duplicate_value(f"{where}.name", name))
        if errors:
            yield from errors
        else:
            names.add(name)
            found.add(name)


def volume_source(path: str, given: Object) -> Errors:
    """Exactly one source, and that one right."""
    found = 0
    for name in _ORDER:
        if name not in given:
            continue
        found += 1
        if found > 1:
            # The server misspells one of them.
            shown = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}.get(name, name)
            yield forbidden_field(f"{path}.{shown}", "may not specify more than 1 volume type")
            continue
        check = _CHECKS.get(name)
        if check is not None:
            yield from check(f"{path}.{name}", given[name])
    if not found:
        yield required_value(path, "must specify a volume type")


def _mode(path: str, value: int | None) -> Errors:
    if value is not None and not 0 <= value <= 0o777:
        yield invalid_value(path, value, MODE_TEXT)


def _items(path: str, given: Sequence[Object] | None) -> Errors:
    for index, one in enumerate(given or ()):
        where = f"{path}[{index}]"
        yield from absent(f"{where}.key", one.get("key"))
        yield from absent(f"{where}.path", one.get("path"))
        yield from reserved_path(f"{where}.path", one.get("path", ""))
        yield from _mode(f"{where}.mode", one.get("mode"))


# --- sources ----------------------------------------------------------------------------------


def host_path(path: str, given: Object) -> Errors:
    """A hostPath."""
    if not given.get("path"):
        yield required_value(f"{path}.path")
        return
    yield from no_backsteps(f"{path}.path", given["path"])
    if given.get("type", "") not in _HOST_PATHS:
        yield not_supported(f"{path}.type", given["type"], _HOST_PATHS)


def _empty_dir(path: str, given: Object) -> Errors:
    if "sizeLimit" in given and Quantity(given["sizeLimit"]).nanos < 0:
        where = f"{path}.sizeLimit"
        yield forbidden_field(where, "SizeLimit field must be a valid resource quantity")


def _secret(path: str, given: Object) -> Errors:
    yield from absent(f"{path}.secretName", given.get("secretName"))
    yield from _mode(f"{path}.defaultMode", given.get("defaultMode"))
    yield from _items(f"{path}.items", given.get("items"))


def _config_map(path: str, given: Object) -> Errors:
    yield from absent(f"{path}.name", given.get("name"))
    yield from _mode(f"{path}.defaultMode", given.get("defaultMode"))
    yield from _items(f"{path}.items", given.get("items"))


def _claim(path: str, given: Object) -> Errors:
    yield from absent(f"{path}.claimName", given.get("claimName"))


def nfs(path: str, given: Object) -> Errors:
    """An NFS volume."""
    yield from absent(f"{path}.server", given.get("server"))
    yield from absent(f"{path}.path", given.get("path"))
    if not posixpath.isabs(given.get("path", "")):
        yield invalid_value(f"{path}.path", given.get("path", ""), "must be an absolute path")


def _downward(path: str, given: Object) -> Errors:
    yield from _mode(f"{path}.defaultMode", given.get("defaultMode"))
    for one in given.get("items") or ():
        yield from _downward_file(path, one)


def _downward_file(path: str, one: Object) -> Errors:
    yield from absent(f"{path}.path", one.get("path"))
    yield from reserved_path(f"{path}.path", one.get("path", ""))
    if "fieldRef" in one:
        where = f"{path}.fieldRef"
        yield from downward.field_reference(where, one["fieldRef"], downward.VOLUME_FIELDS)
        if "resourceFieldRef" in one:
            problem = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid_value(path, "resource", problem)
    elif "resourceFieldRef" in one:
        where = f"{path}.resourceFieldRef"
        yield from downward.resource_reference(where, one["resourceFieldRef"], volume=True)
    else:
        yield required_value(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(f"{path}.mode", one.get("mode"))


_PROJECTIONS: Final = ("secret", "configMap", "downwardAPI", "serviceAccountToken",
                       "clusterTrustBundle", "podCertificate")  # fmt: skip


def _projected(path: str, given: Object) -> Errors:
    yield from _mode(f"{path}.defaultMode", given.get("defaultMode"))
    taken: set[str] = set()
    sources: list[Object] = given.get("sources") or []
    for index, source in enumerate(sources):
        where = f"{path}.sources[{index}]"
        for name in ("secret", "configMap"):
            if name in source:
                yield from absent(f"{where}.{name}.name", source[name].get("name"))
                yield from _items(f"{where}.{name}.items", source[name].get("items"))
                shown = source[name].get("name", "")
                yield from _taken(path, shown, source[name].get("items"), taken)
        downward_items: list[Object] = source.get("downwardAPI", {}).get("items") or []
        for one in downward_items:
            yield from _downward_file(f"{where}.downwardAPI", one)
            yield from _taken(path, one.get("path", ""), [one], taken)
        if "serviceAccountToken" in source:
            yield from _token(path, f"{where}.serviceAccountToken", source["serviceAccountToken"])
        count = sum(name in source for name in _PROJECTIONS)
        if count > 1:
            yield forbidden_field(where, "may not specify more than 1 volume type per source")
        elif count == 0:
            yield required_value(where, "must specify exactly one volume type per source")


def _taken(path: str, shown: str, items: Any, taken: set[str]) -> Errors:
    for one in items or ():
        if one.get("path"):
            if one["path"] in taken:
                yield invalid_value(path, shown, "conflicting duplicate paths")
            taken.add(one["path"])


def _token(path: str, where: str, token: Object) -> Errors:
    seconds = token.get("expirationSeconds", 0)
    if seconds < 600:
        problem = "may not specify a duration less than 10 minutes"
        yield invalid_value(f"{where}.expirationSeconds", seconds, problem)
    if seconds > 2**32:
        problem = "may not specify a duration larger than 2^32 seconds"
        yield invalid_value(f"{where}.expirationSeconds", seconds, problem)
    if not token.get("path"):
        yield required_value(f"{path}.path")
    else:
        yield from reserved_path(f"{path}.path", token["path"])


def _ephemeral(path: str, given: Object) -> Errors:
    template = given.get("volumeClaimTemplate")
    where = f"{path}.volumeClaimTemplate"
    if template is None:
        yield required_value(where)
        return
    yield from basics.labels(f"{where}.metadata.labels", template["metadata"].get("labels"))
    yield from claims.claim_spec(f"{where}.spec", template["spec"])


def _csi(path: str, given: Object) -> Errors:
    yield from absent(f"{path}.driver", given.get("driver"))


def _image(path: str, given: Object) -> Errors:
    yield from absent(f"{path}.reference", given.get("reference"))
    pulls = ("Always", "IfNotPresent", "Never")
    yield from one_of(f"{path}.pullPolicy", given.get("pullPolicy"), pulls)


# In the order of the server's checks. Sources without a check of their own (of storage systems
# that left Kubernetes, and of iSCSI, FC and RBD) are stored as they decode.
_ORDER: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
    "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte",
    "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
)  # fmt: skip
_CHECKS: Final[Mapping[str, Callable[[str, Object], Errors]]] = {
    "configMap": _config_map,
    "csi": _csi,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "ephemeral": _ephemeral,
    "hostPath": host_path,
    "image": _image,
    "nfs": nfs,
    "persistentVolumeClaim": _claim,
    "projected": _projected,
    "secret": _secret,
}
