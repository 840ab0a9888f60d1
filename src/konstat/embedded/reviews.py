"""Access reviews: this server authorizes nothing, so everything is allowed, nobody is checked.

`kubectl auth can-i` and `whoami` ask these. There is no authentication: every caller is
``system:admin``. The resources are listed in discovery but nothing is stored.
Before: `registry`. After: `server`.
"""

from __future__ import annotations

from typing import Any, Final

from konstat.base import clock
from konstat.embedded import status_errors as errors
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.status_errors import invalid_value

AUTHORIZATION: Final = "authorization.k8s.io"
AUTHENTICATION: Final = "authentication.k8s.io"
USER: Final = {
    "username": "system:admin",
    "groups": ["system:masters", "system:authenticated"],
}


def _review(group: str, kind: str, *, namespaced: bool = False) -> ResourceType:
    return ResourceType(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=namespaced,
        verbs=("create",),
    )


def virtual_types() -> list[ResourceType]:
    """Resources that are only asked and never stored."""
    return [
        _review("", "Binding", namespaced=True),
        _review(AUTHENTICATION, "SelfSubjectReview"),
        _review(AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
        _review(AUTHORIZATION, "SelfSubjectAccessReview"),
        _review(AUTHORIZATION, "SelfSubjectRulesReview"),
        _review(AUTHORIZATION, "SubjectAccessReview"),
    ]


def answer(kind: ResourceType, review: Object) -> Object:
    """A review with its status."""
    content: Object = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {}}
    if kind.group == AUTHENTICATION:
        content["metadata"] = {"creationTimestamp": clock.timestamp(clock.now())}
        content["status"] = {"userInfo": dict(USER)}
        return content
    spec: Any = review.get("spec") or {}
    content["spec"] = spec
    if kind.kind == "SelfSubjectRulesReview":
        content["status"] = {
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": False,
        }
        return content
    given = [spec.get("resourceAttributes"), spec.get("nonResourceAttributes")]
    if sum(one is not None for one in given) != 1:
        problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = invalid_value("spec.resourceAttributes", given[0], problem)
        raise errors.invalid(kind.group, "", "", [cause])
    content["status"] = {"allowed": True, "reason": "the embedded API has no authorization"}
    return content
