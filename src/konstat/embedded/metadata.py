"""What the server checks of every object's metadata: names, labels, owners, immutable fields.

`konstat.embedded.verbs` calls it around the checks of the kind itself. The texts are the
server's (measured); paths begin with ``metadata``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.registry import Object
from konstat.embedded.status_errors import (
    FieldError,
    forbidden_field,
    invalid_value,
    required_value,
)

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_WORD: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com', regex used for"
    r" validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART_TEXT: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def subdomain_problems(name: str) -> list[str]:
    """What keeps a name from being a DNS subdomain, in the server's words."""
    problems = ["must be no more than 253 characters"] if len(name.encode()) > 253 else []
    return problems if _SUBDOMAIN.fullmatch(name) else [*problems, SUBDOMAIN_TEXT]


def label_problems(name: str) -> list[str]:
    """What keeps a name from being a DNS label, in the server's words."""
    problems = ["must be no more than 63 characters"] if len(name.encode()) > 63 else []
    return problems if _LABEL.fullmatch(name) else [*problems, LABEL_TEXT]


def label_key_problems(key: str) -> list[str]:
    """What keeps a text from being a label key (a qualified name)."""
    parts = key.split("/")
    if len(parts) > 2:
        return [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or"
            " '123-abc', regex used for validation is"
            " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix"
            " and '/' (e.g. 'example.com/MyName')"
        ]
    problems: list[str] = []
    if len(parts) == 2:
        if parts[0] == "":
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in _prefix_problems(parts[0])]
    name = parts[-1]
    if name == "":
        problems.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _WORD.fullmatch(name):
        problems.append(NAME_PART_TEXT)
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    # The server counts the same length under another name here.
    problems = ["must be no more than 253 bytes"] if len(prefix.encode()) > 253 else []
    return problems if _SUBDOMAIN.fullmatch(prefix) else [*problems, SUBDOMAIN_TEXT]


def label_value_problems(value: str) -> list[str]:
    """What keeps a text from being a label value."""
    problems = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if value and not _WORD.fullmatch(value):
        problems.append(LABEL_VALUE_TEXT)
    return problems


def name_errors(obj: Object, name_problems: Callable[[str], list[str]] | None) -> list[FieldError]:
    """Errors of the name (or generateName) of a new object."""
    metadata = obj["metadata"]
    check = name_problems or subdomain_problems
    found: list[FieldError] = []
    if prefix := metadata.get("generateName", ""):
        # A trailing dash is fine: the suffix follows it.
        masked = f"{prefix[:-1]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        found += [invalid_value("metadata.generateName", prefix, p) for p in check(masked)]
    name = metadata.get("name", "")
    if not name:
        found.append(required_value("metadata.name", "name or generateName is required"))
    else:
        found += [invalid_value("metadata.name", name, p) for p in check(name)]
    return found


def shared_errors(obj: Object) -> list[FieldError]:
    """Errors of labels, annotations and owners: of every write."""
    metadata = obj["metadata"]
    return [
        *_label_errors(metadata.get("labels") or {}),
        *_annotation_errors(metadata.get("annotations") or {}),
        *_owner_errors(metadata.get("ownerReferences") or []),
    ]


def create_errors(
    obj: Object, name_problems: Callable[[str], list[str]] | None, *, custom: bool
) -> list[FieldError]:
    """All errors of a new object's metadata, in the server's order."""
    return [
        *name_errors(obj, name_problems),
        *shared_errors(obj),
        *finalizer_errors(obj, standard=not custom),
    ]


def update_errors(new: Object, old: Object) -> list[FieldError]:
    """Errors of metadata that an update may not change, and of what it may."""
    after, before = new["metadata"], old["metadata"]
    found: list[FieldError] = []
    if before.get("deletionTimestamp") is not None:
        had = set(before.get("finalizers") or ())
        added = sorted(set(after.get("finalizers") or ()) - had)
        if added:
            words = ", ".join(json.dumps(name, ensure_ascii=False) for name in added)
            found.append(
                forbidden_field(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new"
                    f" finalizers []string{{{words}}}",
                )
            )
    for name in (
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ):
        if after.get(name) != before.get(name):
            value = after.get(name)
            given = "" if value is None and name in ("name", "namespace", "uid") else value
            found.append(invalid_value(f"metadata.{name}", given, "field is immutable"))
    return [*found, *shared_errors(new)]


def _label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    found: list[FieldError] = []
    for key, value in sorted(labels.items()):
        found += [invalid_value("metadata.labels", key, p) for p in label_key_problems(key)]
        found += [invalid_value("metadata.labels", value, p) for p in label_value_problems(value)]
    return found


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    found: list[FieldError] = []
    for key in sorted(annotations):
        problems = label_key_problems(key.lower())
        found += [invalid_value("metadata.annotations", key, problem) for problem in problems]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size > limits.EMBEDDED_ANNOTATIONS_BYTES:
        problem = f"Too long: may not be more than {limits.EMBEDDED_ANNOTATIONS_BYTES} bytes"
        found.append(FieldError("metadata.annotations", "FieldValueTooLong", problem))
    return found


def _owner_errors(owners: list[dict[str, Any]]) -> list[FieldError]:
    found: list[FieldError] = []
    controller: dict[str, Any] | None = None
    path = "metadata.ownerReferences"
    for owner in owners:
        version = owner.get("apiVersion", "")
        # Order of the server: version, kind, name, uid; a group without version is no version.
        if not version.rpartition("/")[2]:
            found.append(invalid_value(f"{path}.apiVersion", version, "version must not be empty"))
        if not owner.get("kind"):
            found.append(invalid_value(f"{path}.kind", "", "must not be empty"))
        found += [
            invalid_value(f"{path}.{name}", "", "must not be empty")
            for name in ("name", "uid")
            if not owner.get(name)
        ]
        if version == "v1" and owner.get("kind") == "Event":
            problem = "/v1, Kind=Event is disallowed from being an owner"
            found.append(_invalid_owners(path, _in_order(owner), problem))
        if owner.get("controller"):
            if controller is None:
                controller = owner
            else:
                first, second = (f"{o.get('kind')}/{o.get('name')}" for o in (controller, owner))
                problem = (
                    'Only one reference can have Controller set to true. Found "true" in'
                    f" references for {first} and {second}"
                )
                found.append(_invalid_owners(path, [_in_order(one) for one in owners], problem))
    return found


_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _in_order(owner: dict[str, Any]) -> dict[str, Any]:
    return {name: owner[name] for name in _OWNER_FIELDS if name in owner}


def _invalid_owners(path: str, value: Any, problem: str) -> FieldError:
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: {problem}")


def finalizer_errors(obj: Object, *, standard: bool) -> list[FieldError]:
    """Errors of the names of finalizers; built-in kinds take ``standard`` names and paths only."""
    found: list[FieldError] = []
    finalizers = obj["metadata"].get("finalizers") or []
    for name in finalizers:
        found += [invalid_value("metadata.finalizers", name, p) for p in label_key_problems(name)]
    for index, name in enumerate(finalizers if standard else ()):
        if "/" not in name and name not in ("foregroundDeletion", "orphan", "kubernetes"):
            problem = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid_value(f"metadata.finalizers[{index}]", name, problem))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        problem = "finalizer orphan and foregroundDeletion cannot be both set"
        found.append(invalid_value("metadata.finalizers", finalizers, problem))
    return found


def owner_warnings(obj: Object) -> list[str]:
    """Drop owners of a uid that stands there already; the server's warning about them (C14)."""
    owners = obj["metadata"].get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    kept: dict[str, Any] = {}
    doubled: list[str] = []
    for owner in owners:
        text = json.dumps(owner, sort_keys=True)
        if text in kept:
            doubled.append(str(owner.get("uid")))
        kept.setdefault(text, owner)
    if not doubled:
        return []
    obj["metadata"]["ownerReferences"] = list(kept.values())
    return [
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references"
        " in 1.20+, and may reject such requests as early as 1.24; please fix your requests;"
        f" duplicate UID(s) observed: {', '.join(dict.fromkeys(doubled))}"
    ]
