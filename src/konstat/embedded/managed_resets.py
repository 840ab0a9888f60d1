"""Which fields a resource or subresource ignores in what a client sends, so nobody owns them there.

`konstat.embedded.managed` and `konstat.embedded.apply` take the paths as ``reset`` (C43): a main
resource with /status ignores the status, and /status the rest, in wider or narrower ways by kind.
The table holds the behaviour of kube-apiserver 1.36. Pure. After: the verbs of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from konstat.embedded.fieldset import Path, path

_STATUS: Final = path("status")
_SPEC: Final = path("spec")
_METADATA: Final = path("metadata")
# What /status ignores beyond the spec; kinds that are not named ignore nothing more.
_STATUS_IGNORES: Final[Mapping[tuple[str, str], tuple[Path, ...]]] = {
    ("apps", "Deployment"): (path("metadata", "labels"),),
    ("", "Pod"): (path("metadata", "deletionTimestamp"), path("metadata", "ownerReferences")),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (_METADATA,),
    ("apiregistration.k8s.io", "APIService"): (_METADATA,),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): (_METADATA,),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (_METADATA,),
    ("networking.k8s.io", "ServiceCIDR"): (_METADATA,),
    ("storage.k8s.io", "VolumeAttachment"): (_METADATA,),
}


def reset_fields(
    group: str, kind: str, subresource: str = "", *, has_status: bool = True, custom: bool = False
) -> tuple[Path, ...]:
    """The paths that a write of this (sub)resource does not come to own.

    ``has_status`` tells whether the kind has a status subresource, ``custom`` whether a
    CustomResourceDefinition defines it. /scale has an object of its own and ignores nothing.
    """
    if subresource == "status":
        further = (_METADATA,) if custom else _STATUS_IGNORES.get((group, kind), ())
        return (_SPEC, *further)
    if subresource in ("", "finalize") and has_status:
        return (_STATUS,)
    return ()
