"""The one tree of konstat's exceptions.

Three families, never mixed (what to do differs):

    KonstatError
    ├── UserError              the user or author can mend it; a CLI prints it without traceback
    │   ├── ConfigError        kubeconfig, in-cluster files, credentials plugins
    │   ├── TargetError        the file or module that `konstat run` was given
    │   ├── ModelError         a Resource, Spec or Status class that cannot become a CRD
    │   ├── ManifestError      a manifest that cannot be applied (no name, not owned, …)
    │   ├── RuleError          a readiness rule, or a file of them, that is not valid
    │   ├── SpecInvalid        an object whose spec our types refuse although the server let it in
    │   ├── StatusInvalid      a status value that the declared types refuse
    │   ├── MissingToolError   a program that must be installed first (Go, etcd, kubectl, …)
    │   └── ControlPlaneError  a test control plane that did not build, start or stay up
    ├── APIError               the server answered with an error Status
    │   ├── BadRequest 400 · Unauthorized 401 · Forbidden 403 · NotFound 404
    │   ├── MethodNotAllowed 405 · NotAcceptable 406
    │   ├── AlreadyExists 409 · Conflict 409 · Expired 410 · RequestTooLarge 413
    │   ├── UnsupportedMediaType 415 · Invalid 422 (with causes) · PatchRefused 422 (without)
    │   ├── TooManyRequests 429 · ServerError 500 · ServiceUnavailable 503 · ServerTimeout 504
    ├── TransportError         no answer came: refused, reset, TLS, time-out
    ├── KindUnavailable        a cached read that cannot be answered truthfully
    │   ├── KindUnsynced · KindForbidden · KindNotInstalled
    ├── QueueClosed            the work queue is closed: its taker ends
    ├── NamesakeError          a child name is taken by an object that another uid controls
    │   └── FormerChild        … by what is left of a deleted resource of the same name
    ├── FieldReverted          the server or a webhook undid what we applied, twice
    ├── AttemptOver            a write of an attempt that has ended, or whose resource is going
    └── InternalError          our own mistake: please report it

The HTTP library never leaks: its error is the ``__cause__``.
Texts are lower case, name what was given and where, and say what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class KonstatError(Exception):
    """Base of every exception that konstat raises on purpose."""


class InternalError(KonstatError):
    """konstat broke one of its own rules; please report it."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} (this is a mistake in konstat: please report it)")


class UserError(KonstatError):
    """Something that the user, or the author of an operator, can mend."""


class ConfigError(UserError):
    """The way to a cluster is not usable: kubeconfig, in-cluster files or credentials."""


class TargetError(UserError):
    """The operator file or module that a command was given cannot be used."""


class ModelError(UserError):
    """A declared class cannot be expressed as a CustomResourceDefinition."""


class ManifestError(UserError):
    """A manifest that an attempt wants to apply is not usable."""


class MissingToolError(UserError):
    """A program that must be installed first."""


class ControlPlaneError(UserError):
    """A program of a test control plane was not built, did not start or has ended."""


class RuleError(UserError):
    """A readiness rule, or a file of them, that cannot be read or is not valid."""


class SpecInvalid(UserError):
    """An object's spec does not fit its declared type although the server accepted it.

    ``path`` is the JSON path from the object's root, for example ``spec.ports[0].port``.
    """

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class StatusInvalid(UserError):
    """A value put into a status does not fit its declared type.

    ``path`` is the JSON path from the object's root, for example ``status.readyReplicas``.
    """

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class Cause(NamedTuple):
    """One entry of ``Status.details.causes``."""

    field: str
    reason: str
    message: str


class APIError(KonstatError):
    """The server answered with an error.

    ``code`` is the HTTP status, ``reason`` the machine word of the Status (may be empty),
    ``causes`` its per-field causes, ``retry_after_seconds`` the delay the server asked for, if any,
    and ``retryable`` whether the same request may succeed later without a change. ``advice``, at
    the end of the text, is what the client knows to do about it.
    """

    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        causes: Sequence[Cause] = (),
        retry_after_seconds: float | None = None,
        request: str = "",
        status: dict[str, Any] | None = None,
        advice: str = "",
    ) -> None:
        text = f"failed to {request}: {message}" if request else message
        word = f" {reason}" if reason else ""
        super().__init__(f"{text} (HTTP {code}{word}){f'; {advice}' if advice else ''}")
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = tuple(causes)
        self.retry_after_seconds = retry_after_seconds
        self.request = request
        self.status = status or {}


class BadRequest(APIError):
    """400: the request itself is malformed, or a strict validation refused a field."""


class Unauthorized(APIError):
    """401: the server does not know who we are."""


class Forbidden(APIError):
    """403: RBAC, a quota, an admission plugin or a terminating namespace refused."""


class NotFound(APIError):
    """404: no such object, kind or subresource."""


class MethodNotAllowed(APIError):
    """405."""


class NotAcceptable(APIError):
    """406."""


class AlreadyExists(APIError):
    """409 on create: the name is taken."""


class Conflict(APIError):
    """409: a precondition (resourceVersion, uid) or an apply conflict; causes name the fields."""


class Expired(APIError):
    """410: the resourceVersion or continue token is too old; list again."""


class RequestTooLarge(APIError):
    """413, or etcd's refusal of an object that is too large (500)."""


class UnsupportedMediaType(APIError):
    """415."""


class Invalid(APIError):
    """422 with causes: validation refused the object; retrying the same content is useless."""


class PatchRefused(APIError):
    """422 without causes: a JSON Patch ``test`` failed or a path is gone; the world moved."""


class TooManyRequests(APIError):
    """429: wait ``retry_after_seconds``."""

    retryable = True


class ServerError(APIError):
    """500 and other 5xx."""

    retryable = True


class ServiceUnavailable(APIError):
    """503: draining or not ready."""

    retryable = True


class ServerTimeout(APIError):
    """504 or a ServerTimeout/Timeout Status: a write may still land."""

    retryable = True


class TransportError(KonstatError):
    """No complete answer came: connection refused or reset, TLS, name resolution, time-out.

    ``sent`` is False when the request certainly did not reach the server, ``timed_out`` is True
    when the time for it has run out.
    """

    def __init__(self, message: str, *, sent: bool = True, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.timed_out = timed_out


class KindUnavailable(KonstatError):
    """A cached read of a kind cannot be answered truthfully now; it recovers by itself."""


class KindUnsynced(KindUnavailable):
    """The first list of this kind has not arrived yet."""


class KindForbidden(KindUnavailable):
    """RBAC does not let us list or watch this kind."""


class KindNotInstalled(KindUnavailable):
    """The server does not serve this kind (its CRD is not installed)."""


class QueueClosed(KonstatError):
    """The work queue was closed; there is nothing more to take."""


class NamesakeError(KonstatError):
    """An object with the child's name exists and is not controlled by our resource's uid."""


class FormerChild(NamesakeError):
    """The namesake belongs to a former object of our resource's name; it is being removed."""


class FieldReverted(KonstatError):
    """What we applied was undone by the server or a webhook twice in a row; we stopped."""


class AttemptOver(KonstatError):
    """An attempt wants to write although its time is over or its resource is being deleted."""
