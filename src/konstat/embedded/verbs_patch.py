"""PATCH: the four patch types on an object, a subresource, or (by apply) on an absent object.

A patch is computed from the current object and then goes the way of an update in
`konstat.embedded.verbs_write`; a resourceVersion in the patch is a precondition (C28), otherwise
there is none (C27). Before: `patches`, `strategic`, `apply`, `decoding`. After: `verbs`.
"""

from __future__ import annotations

from typing import Any, Final

from konstat.base import clock
from konstat.base.yamltext import load_yaml
from konstat.embedded import decoding, gojson, gotext
from konstat.embedded import status_errors as errors
from konstat.embedded.apply import apply
from konstat.embedded.options import APPLY, WriteOptions
from konstat.embedded.patches import json_patch, json_patch_problems, merge_patch
from konstat.embedded.registry import Object, Schema
from konstat.embedded.state import State
from konstat.embedded.status_errors import FieldError, StatusError, invalid_value
from konstat.embedded.storage import clone
from konstat.embedded.strategic import strategic_merge_patch
from konstat.embedded.verbs_write import Target, Writer, Written, check_name, resets
from konstat.errors import UserError

MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
_BUILT_IN: Final = (JSON, MERGE, STRATEGIC, APPLY)
_CUSTOM: Final = (JSON, MERGE, APPLY)


class Patcher:
    """Patches objects of one state."""

    def __init__(self, state: State, writer: Writer) -> None:
        self._state = state
        self._writer = writer

    def patch(
        self,
        target: Target,
        body: bytes,
        content_type: str,
        options: WriteOptions,
        warnings: list[str],
    ) -> Written:
        """Patch one object; raises every error of an update, and those of the patch itself."""
        check_type(content_type, custom=target.kind.custom)
        if content_type == APPLY:
            return self._apply(target, body, options, warnings)

        def make(current: Object) -> Object:
            made = patched(current, body, content_type, schema=target.kind.full_schema())
            return self._finished(target, made, body, content_type, options, warnings)

        return self._writer.update(target, make, options, warnings)

    def _finished(
        self,
        target: Target,
        made: Any,
        body: bytes,
        content_type: str,
        options: WriteOptions,
        warnings: list[str],
    ) -> Object:
        """Decode what a patch has made, as if it had come as a body."""
        kind = target.kind
        if not isinstance(made, dict):
            raise refused(made, f"cannot restore {gotext.json_type(made)} from a patch")
        doubled: list[str] = []
        if content_type == JSON and options.validation != "Ignore":
            doubled = json_patch_problems(body)
        elif options.validation != "Ignore":
            doubled = [f'duplicate field "{p}"' for p in gojson.repeated(gojson.members(body))]
        shown = clone(made)
        if (made.get("apiVersion"), made.get("kind")) != (kind.api_version, kind.kind):
            self._refuse_type(target, made)
        try:
            decoded = decoding.finish(made, kind, None, validation=_lenient(options))
        except StatusError as error:
            problem = error.message.partition(": ")[2] or error.message
            raise refused(shown, problem) from error
        problems = [*doubled, *decoded.problems]
        if options.validation == "Strict" and problems:
            raise refused(shown, f"strict decoding error: {', '.join(problems)}")
        if options.validation == "Warn":
            warnings += problems
        return decoded.content

    def _refuse_type(self, target: Target, made: Object) -> None:
        kind = target.kind
        causes: list[FieldError] = []
        if made.get("kind") != kind.kind:
            causes.append(invalid_value("kind", made.get("kind"), f"must be {kind.kind}"))
        if made.get("apiVersion") != kind.api_version:
            problem = f"must be {kind.api_version}"
            causes.append(invalid_value("apiVersion", made.get("apiVersion"), problem))
        raise errors.invalid(kind.group, str(made.get("kind", "")), target.name, causes)

    # --- apply --------------------------------------------------------------------------------

    def _apply(
        self, target: Target, body: bytes, options: WriteOptions, warnings: list[str]
    ) -> Written:
        """Server-side apply; creates an absent object, but not through a subresource (C36)."""
        config = read_applied(body)
        live = self._state.get(target.kind, target.namespace, target.name)
        if live is None:
            return self._create(target, config, options, warnings)
        return self._writer.update(
            target,
            lambda current: self._applied(target, current, config, options, warnings),
            options,
            warnings,
            tracked=True,
        )

    def _create(
        self, target: Target, config: Any, options: WriteOptions, warnings: list[str]
    ) -> Written:
        kind = target.kind
        made = self._applied(target, None, config, options, warnings)
        metadata = made.setdefault("metadata", {})
        if target.subresource:
            raise errors.not_found(kind.plural, target.name, group=kind.group)
        check_name(target, metadata)
        if metadata.get("uid"):
            detail = (
                f"uid mismatch: the provided object specified uid {metadata['uid']}, and no"
                " existing object was found"
            )
            raise errors.conflict(kind.plural, target.name, group=kind.group, detail=detail)
        metadata.pop("resourceVersion", None)
        return self._writer.create(target, made, options, warnings, tracked=True)

    def _applied(
        self,
        target: Target,
        current: Object | None,
        config: Any,
        options: WriteOptions,
        warnings: list[str],
    ) -> Object:
        kind = target.kind
        made = apply(
            current,
            config,
            manager=options.manager,
            api_version=kind.api_version,
            subresource=target.subresource,
            force=options.force,
            schema=kind.full_schema(),
            now=clock.timestamp(clock.now()),
            kind=kind.kind,
            reset=resets(target),
        )
        decoded = decoding.finish(made, kind, None, validation=options.validation)
        warnings += decoded.problems
        return decoded.content


def _lenient(options: WriteOptions) -> Any:
    return "Warn" if options.validation == "Strict" else options.validation


def check_type(content_type: str, *, custom: bool) -> None:
    """Refuse a Content-Type that is no patch (C33)."""
    known = _CUSTOM if custom else _BUILT_IN
    if content_type in known:
        return
    if custom:
        raise errors.unsupported_media_type(content_type, known)
    raise StatusError(
        "415: Unsupported Media Type", code=415, reason="UnsupportedMediaType", details={}
    )


def patched(current: Object, body: bytes, content_type: str, *, schema: Schema) -> Any:
    """The document that a patch makes of another; raises the server's 400, 413 and 422."""
    if content_type == JSON:
        return json_patch(current, body)
    if content_type == STRATEGIC:
        return strategic_merge_patch(current, body, schema)
    return merge_patch(current, body)


def read_applied(body: bytes) -> Any:
    """The configuration of an apply body, which is YAML or JSON."""
    try:
        text = body.decode("utf-8", "replace")
        return decoding.whole_numbers(load_yaml(text, source="the applied configuration"))
    except UserError as error:
        problem = str(error).rpartition(": ")[2] or str(error)
        raise errors.bad_request(
            f"error decoding YAML: error converting YAML to JSON: yaml: {problem}"
        ) from error


def refused(made: Any, problem: str) -> StatusError:
    """422: what a patch has made is no object of the kind."""
    text = gotext.encode(made)
    return errors.invalid("", "", "", [invalid_value("patch", text, problem)])
