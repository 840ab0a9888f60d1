"""What is wrong with an image, from the kubelet's words, the same in both phases of a back-off.

A kubelet that fails to pull alternates between ErrImagePull, whose message is the runtime's error,
and ImagePullBackOff, whose message repeats that error since Kubernetes 1.31. Of a node known to be
older only Events say it in both phases, so its containers' messages are left alone.
"""

from __future__ import annotations

import re
from typing import Final

from konstat.readiness import wording

REASONS: Final = frozenset(
    {
        "ErrImageNeverPull",
        "ErrImagePull",
        "ErrRegistryUnavailable",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""Reasons of a waiting container whose image cannot be had."""

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(?:: )?')
_PULL_EVENT = re.compile(r'^Failed to pull image "[^"]*": ')
_VERSION = re.compile(r"^v(\d{1,4})\.(\d{1,4})(?!\d)", re.ASCII)
_REASON_PREFIX = re.compile(r"^(?:" + "|".join(sorted(REASONS)) + r"): ")

# Looked for in this order: registries say "denied" of what may be missing, and containerd says
# "not found" of a platform that is not there.
_SAYINGS: Final = (
    (
        ("no match for platform", "no matching manifest"),
        "it does not exist for the node's platform",
    ),
    (
        ("pull access denied", "may require authorization", "insufficient_scope"),
        "the registry has no such image or wants credentials",
    ),
    (("toomanyrequests", "too many requests", "rate limit"), "the registry limits our pulls"),
    (
        ("unauthorized", "authentication required", "no basic auth", "denied", "forbidden"),
        "the registry refuses our credentials",
    ),
    (("signature",), "its signature is not valid"),
    (("not found", "manifest unknown", "name unknown"), "the registry has no such image"),
    (("x509", "certificate", "tls:"), "the registry's certificate is not trusted"),
    (("no space left",), "the node's disk is full"),
    (
        ("no such host", "timeout", "refused", "reset", "unreachable", "deadline", "dial tcp"),
        "the registry cannot be reached",
    ),
)


def fault(reason: str, message: str) -> str:
    """What to say after "image x cannot be pulled", or nothing when ``message`` does not tell."""
    if reason == "ErrImageNeverPull":
        return "it is not on the node and imagePullPolicy is Never"
    if reason == "InvalidImageName":
        return "its name is not valid"
    cause = _REASON_PREFIX.sub("", _BACK_OFF.sub("", _PULL_EVENT.sub("", message)))
    lowered = cause.lower()
    for needles, saying in _SAYINGS:
        if any(needle in lowered for needle in needles):
            return saying
    return wording.steady(cause.rpartition("desc = ")[2])


def repeats_fault(kubelet_version: str) -> bool:
    """Whether a kubelet of this version repeats the fault in ImagePullBackOff; unknown ones do."""
    match = _VERSION.match(kubelet_version)
    return match is None or (int(match[1]), int(match[2])) >= (1, 31)
