"""`EmbeddedServer`: the embedded Kubernetes API itself, one request at a time.

`handle` is pure and synchronous, given the clock and chance of `konstat.base`: a request goes in,
a response or a stream comes out. The shells (`konstat.embedded.http`, `konstat.embedded.memory`)
carry requests here and wait where the server would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.base.transport import Request, Response
from konstat.embedded import crds, discovery, negotiate, table
from konstat.embedded import status_errors as errors
from konstat.embedded.boot import boot
from konstat.embedded.builtin.catalog import builtin_types
from konstat.embedded.crds import Definitions
from konstat.embedded.identity import require_nobody
from konstat.embedded.lists import Ahead, too_large_version
from konstat.embedded.negotiate import Form
from konstat.embedded.openapi import V2_PROTOBUF, Documents, version_2
from konstat.embedded.options import check_timeout
from konstat.embedded.registry import Object, Registry, ResourceType
from konstat.embedded.reviews import virtual_types
from konstat.embedded.routes import Query, find_route, header, is_long_running, split_path
from konstat.embedded.state import State
from konstat.embedded.status_errors import FieldError, StatusError
from konstat.embedded.storage import Storage
from konstat.embedded.verbs import Call, Held, Reply, Verbs
from konstat.embedded.verbs_write import Writer
from konstat.embedded.watches import WatchStream

VERSION: Final[Mapping[str, str]] = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "konstat-embedded",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "konstat/embedded",
}
_HEALTH: Final = ("healthz", "livez", "readyz")
_CACHE: Final = "no-cache, private"
_PLAIN: Final = "text/plain; charset=utf-8"


class Pending(NamedTuple):
    """The server would wait: ask again when ``ready`` holds or after ``seconds``.

    The second time ask with ``patient=False``, and the answer is final.
    """

    seconds: float
    ready: Callable[[], bool]


class EmbeddedServer:
    """One embedded Kubernetes API with its own data.

    ``history``
        How many changes are kept for watches and old lists.
    ``establish_seconds``
        For how long creates of a fresh custom kind are held back: kube-apiserver does 2 (C48).
    ``address``
        What discovery tells as the server's address.

    Caveats: no authentication, no authorization, no admission webhooks, no quotas; controllers
    are not part of it. What is not implemented answers 501 and says so.
    """

    def __init__(
        self,
        *,
        history: int = limits.EMBEDDED_HISTORY,
        establish_seconds: float = 0.0,
        address: str = "127.0.0.1:0",
    ) -> None:
        self.address = address
        self.storage = Storage(history=history)
        self.registry = Registry(map(_checked, builtin_types()))
        for one in virtual_types():
            self.registry.add(one)
        self._state = State(self.storage, self.registry)
        writer = Writer(self._state)
        definitions = Definitions(self._state, writer, establish_seconds=establish_seconds)
        self.verbs = Verbs(self._state, writer, definitions)
        self._documents = Documents(self.registry)
        boot(self._state, writer)

    def handle(self, request: Request) -> Response | WatchStream:
        """The answer to one request; never raises for what a client sends."""
        answer = self.begin(request, patient=False)
        assert not isinstance(answer, Pending)
        return answer

    def begin(self, request: Request, *, patient: bool = True) -> Response | WatchStream | Pending:
        """The same, but says where the server would wait before it answers."""
        warnings: list[str] = []
        form = Form()
        try:
            return self._answer(request, warnings, patient=patient)
        except Ahead as ahead:
            wanted = ahead.revision
            if patient:
                return Pending(
                    limits.EMBEDDED_AHEAD_SECONDS, lambda: self.storage.revision >= wanted
                )
            error = too_large_version(wanted, self.storage.revision)
            return _refusal(error, form, warnings)
        except Held as held:
            return Pending(held.seconds, lambda: False)
        except StatusError as error:
            return _refusal(error, form, warnings)

    def _answer(
        self, request: Request, warnings: list[str], *, patient: bool
    ) -> Response | WatchStream:
        require_nobody(request.headers)
        if len(request.body) > limits.EMBEDDED_BODY_BYTES:
            raise errors.too_large(limits.EMBEDDED_BODY_BYTES)
        if len(request.path) > limits.EMBEDDED_QUERY_BYTES:
            raise errors.bad_request(
                f"a URL of {len(request.path)} bytes: {limits.EMBEDDED_QUERY_BYTES} at most"
            )
        segments, query = split_path(request.path)
        if not is_long_running(segments, query):
            check_timeout(query)
        found = self._fixed(request, segments, query)
        if found is not None:
            return found
        route = find_route(segments, self.registry)
        if route.type.deprecation:
            warnings.append(route.type.deprecation)
        form = negotiate.accepted(
            header(request.headers, "accept"),
            pretty=query.flag("pretty"),
            custom=route.type.custom,
        )
        call = Call(
            request=request,
            route=route,
            query=query,
            form=form,
            include=table.include_object(query) if form.shape == "Table" else "Metadata",
            warnings=warnings,
        )
        reply = self.verbs.answer(call, patient=patient)
        if isinstance(reply, WatchStream):
            return reply
        return _response(reply, warnings, header(request.headers, "accept-encoding"))

    # --- what is no resource ------------------------------------------------------------------

    def _fixed(self, request: Request, segments: list[str], query: Query) -> Response | None:
        """Discovery, OpenAPI, version and health; None for the path of a resource."""
        first = segments[0] if segments else ""
        if first in _HEALTH:
            return self._health(segments, query)
        if first == "version" and len(segments) == 1:
            _only_get(request)
            return _json(dict(VERSION), Form(pretty=True))
        if first == "openapi":
            return self._openapi(request, segments)
        if first in ("api", "apis") and len(segments) <= 3:
            return self._discovery(request, segments)
        if not segments:
            return _json({"paths": self._paths()}, Form(pretty=True))
        if first not in ("api", "apis"):
            raise errors.page_not_found()
        return None

    def _discovery(self, request: Request, segments: list[str]) -> Response | None:
        if segments[0] == "api" and len(segments) > 2:
            return None
        accept = header(request.headers, "accept")
        encoding = header(request.headers, "accept-encoding")
        if len(segments) == 1:
            version = discovery.wants_aggregated(accept)
            if version:
                names = [""] if segments[0] == "api" else discovery.groups(self.registry)
                content = discovery.aggregated(self.registry, names, version)
                kind = (
                    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                )
                return _json(content, Form(), encoding=encoding, content_type=kind)
            if segments[0] == "api":
                return _json(discovery.core_versions(self.address), Form())
            return _json(discovery.group_list(self.registry), Form(), encoding=encoding)
        _only_get(request)
        if segments[0] == "api":
            content = discovery.resource_list(self.registry, "", segments[1])
        elif len(segments) == 2:
            content = discovery.group(self.registry, segments[1])
        else:
            content = discovery.resource_list(self.registry, segments[1], segments[2])
        return _json(content, Form(), encoding=encoding)

    def _openapi(self, request: Request, segments: list[str]) -> Response:
        encoding = header(request.headers, "accept-encoding")
        if segments == ["openapi", "v3"]:
            return _json(self._documents.index(), Form(), encoding=encoding)
        if segments[:2] == ["openapi", "v3"]:
            document = self._documents.document("/".join(segments[2:]))
            if document is None:
                return Response(status=404, headers={"cache-control": _CACHE}, body=b"")
            return _encoded(document, "application/json", encoding)
        if segments == ["openapi", "v2"]:
            plain, packed = version_2()
            if "protobuf" in header(request.headers, "accept"):
                return _encoded(packed, V2_PROTOBUF, "")
            return _encoded(plain, "application/json", encoding)
        raise errors.page_not_found()

    def _health(self, segments: list[str], query: Query) -> Response:
        checks = ("ping", "storage")
        if len(segments) > 2 or (len(segments) == 2 and segments[1] not in checks):
            raise errors.page_not_found()
        text = "ok"
        if query.has("verbose") and len(segments) == 1:
            lines = [f"[+]{check} ok" for check in checks]
            text = "\n".join([*lines, f"{segments[0]} check passed", ""])
        return _encoded(text.encode(), _PLAIN, "")

    def _paths(self) -> list[str]:
        found = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz"]
        for group in discovery.groups(self.registry):
            found.append(f"/apis/{group}")
            found += [f"/apis/{group}/{v}" for v in discovery.versions(self.registry, group)]
        return sorted([*found, "/version"])


def _checked(kind: ResourceType) -> ResourceType:
    """A built-in kind with what the core adds: the checks of definitions, the orphans of Jobs."""
    if (kind.group, kind.plural) == ("batch", "jobs"):
        # For old clients, batch/v1 keeps the pods of a deleted Job unless told otherwise.
        return replace(kind, orphan_by_default=True)
    if (kind.group, kind.plural) != (crds.GROUP, crds.PLURAL):
        return kind
    inner = kind.validate

    def validate(new: Object, old: Object | None) -> list[FieldError]:
        return [*inner(new, old), *crds.check(new, old)]

    return replace(kind, validate=validate)


def _only_get(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise errors.method_not_allowed()


def _json(
    content: Any, form: Form, *, encoding: str = "", content_type: str = "application/json"
) -> Response:
    return _encoded(negotiate.encode(content, form), content_type, encoding)


def _response(reply: Reply, warnings: list[str], encoding: str) -> Response:
    if isinstance(reply.content, bytes):
        return _encoded(reply.content, _PLAIN, encoding)
    body = negotiate.encode(reply.content, reply.form)
    return _encoded(body, reply.form.media_type, encoding, code=reply.code, warnings=warnings)


def _refusal(error: StatusError, form: Form, warnings: list[str]) -> Response:
    content_type = _PLAIN if error.plain else form.media_type
    answer = _encoded(error.body(), content_type, "", code=error.code, warnings=warnings)
    if error.retry_after_seconds is None:
        return answer
    headers = {**answer.headers, "retry-after": str(error.retry_after_seconds)}
    return Response(status=answer.status, headers=headers, body=answer.body)


def _encoded(
    body: bytes,
    content_type: str,
    encoding: str,
    *,
    code: int = 200,
    warnings: list[str] | None = None,
) -> Response:
    headers = {"cache-control": _CACHE, "content-type": content_type}
    if content_type == _PLAIN:
        headers["x-content-type-options"] = "nosniff"
    if warnings:
        headers["warning"] = ", ".join(map(negotiate.warning, dict.fromkeys(warnings)))
    packed = negotiate.compressed(body, encoding)
    if packed is not None:
        headers["content-encoding"] = "gzip"
        headers["vary"] = "Accept-Encoding"
    return Response(status=code, headers=headers, body=body if packed is None else packed)
