"""The verbs on resources: which request does what, and in which form it is answered.

`Verbs.answer` gets a route and a request whose path is known to exist, and gives a `Reply` or a
`WatchStream`. Before: `verbs_write`, `verbs_patch`, `deletion`, `lists`, `watches`,
`subresources`. After: `server`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.base.transport import Request
from konstat.embedded import decoding, negotiate, options, reviews, table
from konstat.embedded import status_errors as errors
from konstat.embedded.crds import Definitions
from konstat.embedded.deletion import Deleter
from konstat.embedded.gojson import JSONTextError
from konstat.embedded.lists import Ahead, Lister, parse_version
from konstat.embedded.negotiate import Form
from konstat.embedded.options import ListOptions, WriteOptions, list_options
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.routes import Query, Route, header
from konstat.embedded.selectors import Selection, read_selection
from konstat.embedded.state import State
from konstat.embedded.subresources import Scales, Specials, require_implemented, success
from konstat.embedded.verbs_patch import Patcher
from konstat.embedded.verbs_write import (
    Target,
    Writer,
    Written,
    check_name,
    place_in_namespace,
)
from konstat.embedded.watches import Watched, WatchStream

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Methods on a collection and on one object, and the verb that a resource must have for them.
_COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Held(Exception):
    """A create of a kind that was established a moment ago waits ``seconds`` (C48)."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"held back for {seconds} s")
        self.seconds = seconds


class Reply(NamedTuple):
    """An answer before it is encoded."""

    content: Any
    form: Form
    code: int = 200


@dataclass
class Call:
    """One request on its way through the verbs."""

    request: Request
    route: Route
    query: Query
    form: Form
    include: str
    warnings: list[str] = field(default_factory=list[str])

    @property
    def target(self) -> Target:
        """What a write goes to."""
        route = self.route
        return Target(route.type, route.namespace, route.name, route.subresource)

    @property
    def content_type(self) -> str:
        """The media type of the body."""
        return decoding.media_type(header(self.request.headers, "content-type"))

    def write_options(self, kind: Any) -> WriteOptions:
        """The options of a write."""
        return options.write_options(
            self.query,
            kind,
            agent=header(self.request.headers, "user-agent"),
            content_type=self.content_type,
        )


Logs = Callable[[str, str, Query], bytes]


class Verbs:
    """All verbs on one state. ``logs`` answers /log of pods: namespace, name, query to bytes."""

    def __init__(self, state: State, writer: Writer, definitions: Definitions) -> None:
        self._state = state
        self._writer = writer
        self._definitions = definitions
        self._deleter = Deleter(state, writer)
        self._patcher = Patcher(state, writer)
        self._lister = Lister(state)
        self._scales = Scales(state, writer)
        self._specials = Specials(state, writer, self._deleter)
        self.logs: Logs | None = None

    def answer(self, call: Call, *, patient: bool) -> Reply | WatchStream:
        """Do what a request asks; raises StatusError, and when ``patient`` Ahead and Held."""
        route, method = call.route, call.request.method
        if method not in _METHODS:
            raise errors.method_not_allowed()
        if route.subresource:
            return self._subresource(call)
        if route.watch:
            return self._watch(call)
        if not route.name:
            return self._on_collection(call, patient=patient)
        verb = _OBJECT.get(method)
        if method == "POST" and route.type.custom:
            # A POST to a named custom resource creates it (measured); built-in kinds refuse.
            return self._create(call, patient=patient)
        if verb is None or verb not in route.type.verbs:
            raise errors.method_not_allowed()
        return {
            "get": self._get,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
        }[verb](call)

    def _on_collection(self, call: Call, *, patient: bool) -> Reply | WatchStream:
        route, method = call.route, call.request.method
        kind = route.type
        everywhere = kind.namespaced and not route.namespace
        if everywhere and method != "GET":
            raise errors.page_not_found() if kind.custom else errors.method_not_allowed()
        if kind.custom and method in ("PUT", "PATCH"):
            raise errors.bad_request("name must be provided")
        verb = _COLLECTION.get(method)
        if verb is None or verb not in kind.verbs:
            raise errors.method_not_allowed()
        if verb == "create":
            return self._create(call, patient=patient)
        if verb == "deletecollection":
            return self._delete_collection(call)
        return self._watch(call) if call.query.flag("watch") else self._list(call)

    # --- reading ------------------------------------------------------------------------------

    def _get(self, call: Call) -> Reply:
        route = call.route
        try:
            asked = parse_version(call.query.get("resourceVersion"))
        except ValueError as error:
            raise errors.internal_error(str(error)) from error
        if asked > self._state.storage.revision:
            raise Ahead(asked)
        obj = self._state.require(route.type, route.namespace, route.name)
        return self._shaped(call, obj)

    def _list(self, call: Call) -> Reply:
        kind, asked = call.route.type, list_options(call.query, watch=False)
        selection = _selection(call, asked)
        page = self._lister.page(kind, call.route.namespace, asked, selection)
        content = table.shaped_list(kind, page.objects, page.metadata, call.form, call.include)
        return Reply(content, call.form)

    def _watch(self, call: Call) -> WatchStream:
        route = call.route
        asked = list_options(call.query, watch=True)
        if route.name:
            asked = replace(asked, field_selector=f"metadata.name={route.name}")
        selection = _selection(call, asked)
        if "watch" not in route.type.verbs:
            raise errors.method_not_allowed()
        if self._state.storage.followers() >= limits.EMBEDDED_WATCHES:
            raise errors.StatusError(
                f"this server keeps at most {limits.EMBEDDED_WATCHES} watches open: close some",
                code=429,
                reason="TooManyRequests",
                details={},
                retry_after_seconds=1,
            )
        kind, form, include = route.type, call.form, call.include
        if form.shape == "PartialObjectMetadataList":
            raise errors.not_acceptable(negotiate.MEDIA_TYPES)

        def shape(obj: Object, columns: bool) -> Any:
            return table.shaped(kind, obj, form, include, columns=columns)

        return WatchStream(self._state, Watched(kind, route.namespace, selection, shape), asked)

    # --- writing ------------------------------------------------------------------------------

    def _create(self, call: Call, *, patient: bool) -> Reply:
        kind = call.route.type
        asked = call.write_options("CreateOptions")
        if kind.resource == "bindings":
            return self._bind(call, asked)
        delay = self._definitions.delay_of(kind) if kind.custom else 0.0
        if delay > 0 and patient:
            raise Held(delay)
        decoded = decoding.read_object(
            call.request.body,
            header(call.request.headers, "content-type"),
            kind,
            validation=asked.validation,
        )
        if asked.validation == "Warn":
            call.warnings += decoded.problems
        if kind.group in (reviews.AUTHORIZATION, reviews.AUTHENTICATION):
            return Reply(reviews.answer(kind, decoded.content), call.form, 201)
        if kind.custom and self._definitions.is_terminating(kind):
            name = (decoded.content.get("metadata") or {}).get("name", "")
            problem = "create not allowed while custom resource definition is terminating"
            raise errors.forbidden(kind.plural, name, problem, group=kind.group)
        target = call.target._replace(name="")
        written = self._writer.create(target, decoded.content, asked, call.warnings)
        return self._written(call, written)

    def _bind(self, call: Call, asked: WriteOptions) -> Reply:
        """A Binding that names its pod itself instead of being sent to it."""
        body = _options_body(call.request.body) or {}
        pods = self._state.registry.find("", "v1", "pods")
        assert pods is not None
        name = (body.get("metadata") or {}).get("name", "")
        target = Target(pods, call.route.namespace, name, "binding")
        return Reply(self._specials.bind(target, call.request.body, asked), Form(), 201)

    def _update(self, call: Call) -> Reply:
        kind, target = call.route.type, call.target
        asked = call.write_options("UpdateOptions")
        decoded = decoding.read_object(
            call.request.body,
            header(call.request.headers, "content-type"),
            kind,
            validation=asked.validation,
        )
        if asked.validation == "Warn":
            call.warnings += decoded.problems
        content = decoded.content
        metadata = content["metadata"]
        check_name(target, metadata)
        place_in_namespace(kind, target.namespace, metadata)
        absent = self._state.get(kind, target.namespace, target.name) is None
        if absent and kind.create_on_put and not _has_conditions(content):
            return self._written(call, self._writer.create(target, content, asked, call.warnings))
        written = self._writer.update(
            target, lambda current: content, asked, call.warnings, put=True
        )
        return self._written(call, written)

    def _patch(self, call: Call) -> Reply:
        asked = call.write_options("PatchOptions")
        written = self._patcher.patch(
            call.target, call.request.body, call.content_type, asked, call.warnings
        )
        return self._written(call, written)

    def _written(self, call: Call, written: Written) -> Reply:
        code = 201 if written.created else 200
        return self._shaped(call, written.content)._replace(code=code)

    def _shaped(self, call: Call, obj: Object) -> Reply:
        shaped = table.shaped(call.route.type, obj, call.form, call.include)
        return Reply(shaped, call.form)

    # --- deleting -----------------------------------------------------------------------------

    def _delete(self, call: Call) -> Reply:
        asked = options.delete_options(call.query, _options_body(call.request.body))
        deleted = self._deleter.delete(call.target, asked, call.warnings)
        if deleted.gone:
            kind, metadata = call.route.type, deleted.content["metadata"]
            details = {"name": metadata["name"], "group": kind.group, "kind": kind.plural}
            details = {key: value for key, value in details.items() if value}
            return Reply(success(200, {**details, "uid": metadata["uid"]}), Form())
        code = 202 if deleted.accepted else 200
        return self._shaped(call, deleted.content)._replace(code=code)

    def _delete_collection(self, call: Call) -> Reply:
        """Delete every object that is selected; the answer is the list of them (C69)."""
        kind, namespace = call.route.type, call.route.namespace
        asked = options.delete_options(call.query, _options_body(call.request.body))
        listed = list_options(call.query, watch=False)
        selection = _selection(call, listed)
        page = self._lister.page(kind, namespace, listed, selection)
        for obj in page.objects:
            target = Target(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            self._deleter.delete(target, asked, call.warnings)
        content = table.shaped_list(kind, page.objects, page.metadata, call.form, call.include)
        return Reply(content, call.form)

    # --- subresources -------------------------------------------------------------------------

    def _subresource(self, call: Call) -> Reply:
        route, method = call.route, call.request.method
        kind, name = route.type, route.subresource
        if name not in kind.subresources:
            if kind.custom:
                raise errors.not_found(kind.plural, route.name, group=kind.group)
            raise errors.resource_not_found()
        if name == "log" and method == "GET" and self.logs is not None:
            self._state.require(kind, route.namespace, route.name)
            body = self.logs(route.namespace, route.name, call.query)
            return Reply(body, Form("text/plain"))
        require_implemented(self._state, call.target)
        if name == "scale":
            return self._scale(call)
        if name in ("binding", "eviction", "finalize"):
            return self._special(call)
        verbs = {"GET": self._get, "PUT": self._update, "PATCH": self._patch}
        if method not in verbs:
            raise _unsupported(kind, method)
        return verbs[method](call)

    def _scale(self, call: Call) -> Reply:
        method, target = call.request.method, call.target
        if method == "GET":
            return Reply(self._scales.get(target), call.form)
        if method == "PUT":
            asked = call.write_options("UpdateOptions")
            return Reply(self._scales.put(target, call.request.body, asked), call.form)
        if method == "PATCH":
            asked = call.write_options("PatchOptions")
            scale = self._scales.patch(target, call.request.body, call.content_type, asked)
            return Reply(scale, call.form)
        raise _unsupported(target.kind, method)

    def _special(self, call: Call) -> Reply:
        method, name, target = call.request.method, call.route.subresource, call.target
        if name == "finalize" and method == "PUT":
            asked = call.write_options("UpdateOptions")
            decoded = decoding.read_object(
                call.request.body, "application/json", target.kind, validation="Ignore"
            )
            return self._shaped(
                call, self._specials.finalize(target, decoded.content, asked).content
            )
        if name != "finalize" and method == "POST":
            asked = call.write_options("CreateOptions")
            act = self._specials.bind if name == "binding" else self._specials.evict
            return Reply(act(target, call.request.body, asked), Form(), 201)
        raise errors.method_not_allowed()


def _unsupported(kind: ResourceType, method: str) -> errors.StatusError:
    if not kind.custom:
        return errors.method_not_allowed()
    verb = {"POST": "create", "DELETE": "delete"}.get(method, method.lower())
    return errors.StatusError(
        f'{verb} is not supported on resources of kind "{kind.resource}"',
        code=405,
        reason="MethodNotAllowed",
        details={"group": kind.group, "kind": kind.plural},
    )


def _selection(call: Call, asked: ListOptions) -> Selection:
    return read_selection(asked.label_selector, asked.field_selector, call.route.type)


def _has_conditions(content: Object) -> bool:
    metadata = content.get("metadata") or {}
    return bool(metadata.get("uid")) or metadata.get("resourceVersion", "") not in ("", "0")


def _options_body(body: bytes) -> Object | None:
    if not body:
        return None
    try:
        value = decoding.parse_json(body)
    except JSONTextError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(value, dict):
        raise errors.bad_request("the body of a DELETE is no DeleteOptions")
    return value
