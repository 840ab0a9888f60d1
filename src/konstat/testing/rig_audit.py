"""The audit log of a control plane: the policy that asks for it and a reader of its lines.

The server writes one line per request when its answer is complete. Tests count requests with it:
what matters is what reached the server, not what a client believes it sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from konstat.base import limits

# One event per request, at its end; a watch also has one at its start (ResponseStarted).
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [{"level": "Metadata"}],
}

# The identities of the control plane itself: the API server, the scheduler, the
# controller-manager and the ServiceAccounts under which its controllers act.
_OWN_USERS: Final = ("system:apiserver", "system:kube-", "system:serviceaccount:kube-system:")


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the server saw it.

    ``user`` is the one that acted (the impersonated one, if any); ``verb`` is Kubernetes' word
    (get, list, watch, create, update, patch, delete, deletecollection); ``code`` is 0 when no
    answer was given; ``stage`` is ResponseComplete, ResponseStarted (of a watch) or Panic.
    """

    verb: str
    resource: str
    group: str
    subresource: str
    namespace: str
    name: str
    user: str
    code: int
    user_agent: str
    request_uri: str
    stage: str
    time: datetime

    @property
    def of_control_plane(self) -> bool:
        """Whether a part of the control plane itself made the request."""
        return self.user.startswith(_OWN_USERS)


class _User(msgspec.Struct):
    username: str = ""


class _Object(msgspec.Struct, rename="camel"):
    resource: str = ""
    api_group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _Line(msgspec.Struct, rename="camel"):
    verb: str
    stage: str
    request_received_timestamp: datetime
    request_uri: str = msgspec.field(name="requestURI", default="")
    user: _User = msgspec.field(default_factory=_User)
    impersonated_user: _User | None = None
    object_ref: _Object | None = None
    response_status: _Answer | None = None
    user_agent: str = ""


_decode = msgspec.json.Decoder(_Line).decode


def audit_policy() -> bytes:
    """The policy file that `audit_flags` names."""
    return msgspec.json.encode(_POLICY)


def audit_flags(policy: Path, *, log: Path) -> list[str]:
    """The flags that make kube-apiserver write ``log`` as the file ``policy`` says."""
    return [
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        f"--audit-log-maxsize={limits.RIG_AUDIT_MEGABYTES}",
        "--audit-log-maxbackup=1",
    ]


def read_audit_log(log: Path, *, users: Collection[str] = ()) -> Iterator[AuditEvent]:
    """The events in ``log`` in the order of its lines; only those of ``users`` when given.

    A last line without its end is still being written and is left for the next reading. The
    server writes a line after it has sent the answer: a test polls for the line it expects.
    Raises `msgspec.DecodeError` on a line that is not an audit event.
    """
    if not log.exists():  # the server makes it with the first request
        return
    with log.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                event = _event(_decode(line))
                if not users or event.user in users:
                    yield event


def _event(line: _Line) -> AuditEvent:
    target = line.object_ref or _Object()
    actor = line.impersonated_user or line.user
    return AuditEvent(
        verb=line.verb,
        resource=target.resource,
        group=target.api_group,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
        user=actor.username,
        code=line.response_status.code if line.response_status is not None else 0,
        user_agent=line.user_agent,
        request_uri=line.request_uri,
        stage=line.stage,
        time=line.request_received_timestamp,
    )
