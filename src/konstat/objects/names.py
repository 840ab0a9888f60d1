"""The names that Kubernetes accepts: labels, subdomains, label keys and values, API versions.

Each check returns an empty text for a good name and otherwise what is wrong, so that callers can
say where the name came from. Rules: RFC 1123, and apimachinery's validation of labels.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_CHARACTERS: Final = 63
SUBDOMAIN_CHARACTERS: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SERVICE_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_WORD: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def label_problem(name: str) -> str:
    """What keeps ``name`` from being a DNS label (RFC 1123), or ``""``."""
    if len(name) > LABEL_CHARACTERS:
        return f"{name!r} has {len(name)} characters: {LABEL_CHARACTERS} at most"
    if not _LABEL.fullmatch(name):
        return f"{name!r} is not a DNS label: use lower case letters, digits and inner '-'"
    return ""


def service_label_problem(name: str) -> str:
    """The same for RFC 1035 labels (Services, API versions, plurals): a letter comes first."""
    if problem := label_problem(name):
        return problem
    return "" if _SERVICE_LABEL.fullmatch(name) else f"{name!r} does not begin with a letter"


def subdomain_problem(name: str) -> str:
    """What keeps ``name`` from being a DNS subdomain (labels joined by dots), or ``""``."""
    if len(name) > SUBDOMAIN_CHARACTERS:
        return f"{name!r} has {len(name)} characters: {SUBDOMAIN_CHARACTERS} at most"
    if not _SUBDOMAIN.fullmatch(name):
        return (
            f"{name!r} is not a DNS subdomain: use lower case letters, digits, inner '-' and dots"
        )
    return ""


def label_key_problem(key: str) -> str:
    """What keeps ``key`` from being a label or annotation key, or ``""``."""
    prefix, slash, name = key.rpartition("/")
    if slash and (problem := subdomain_problem(prefix)):
        return f"the prefix of key {key!r}: {problem}"
    if len(name) > LABEL_CHARACTERS:
        return f"the name of key {key!r} has {len(name)} characters: {LABEL_CHARACTERS} at most"
    if not _LABEL_WORD.fullmatch(name):
        return (
            f"key {key!r}: the name is letters, digits, '-', '_' and '.', and begins and ends"
            " with a letter or digit"
        )
    return ""


def label_value_problem(value: str) -> str:
    """What keeps ``value`` from being a label value, or ``""``."""
    if len(value) > LABEL_CHARACTERS:
        return f"value {value!r} has {len(value)} characters: {LABEL_CHARACTERS} at most"
    if value and not _LABEL_WORD.fullmatch(value):
        return (
            f"value {value!r}: it is letters, digits, '-', '_' and '.', and begins and ends with"
            " a letter or digit"
        )
    return ""
