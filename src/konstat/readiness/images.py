"""What is wrong with an image, from the kubelet's words, the same in both phases of a back-off.

A kubelet that fails to pull alternates between ErrImagePull, whose message is the runtime's error,
and ImagePullBackOff, whose message repeats that error only since Kubernetes 1.31. Those kubelets
that set ``status.observedGeneration`` of a pod (default since 1.34) certainly repeat it; only then
a message carries the detail, because otherwise it would come and go with each try.
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


def fault(reason: str, message: str, *, repeated: bool) -> str:
    """What to say after "image x cannot be pulled", or nothing when that would not be stable.

    ``repeated`` says that the kubelet repeats the cause in ImagePullBackOff.
    """
    if reason == "ErrImageNeverPull":
        return "it is not on the node and imagePullPolicy is Never"
    if reason == "InvalidImageName":
        return "its name is not valid"
    if not repeated:
        return ""
    cause = _REASON_PREFIX.sub("", _BACK_OFF.sub("", message))
    lowered = cause.lower()
    for needles, saying in _SAYINGS:
        if any(needle in lowered for needle in needles):
            return saying
    return wording.steady(cause.rpartition("desc = ")[2])
