"""Creating and updating objects: what kube-apiserver does between a body and its storage.

`Writer.create` and `Writer.update` are the only ways by which requests change objects, other than
their removal. Both take the new object already decoded; patches arrive as functions of the
current object. The order of checks is the server's, because it decides which error a client sees.
Before: `decoding`. After: `verbs`, `verbs_patch`, `deletion`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from konstat.base import chance, clock, limits
from konstat.embedded import metadata as meta
from konstat.embedded import status_errors as errors
from konstat.embedded.fieldset import Path
from konstat.embedded.managed import keep_times, track_update
from konstat.embedded.managed_resets import reset_fields
from konstat.embedded.options import WriteOptions
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.state import State
from konstat.embedded.status_errors import FieldError, StatusError, invalid_value
from konstat.embedded.storage import Key, clone

_WIPED: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
NAMESPACE_MISMATCH: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)


class Written(NamedTuple):
    """An object as it is after a write, and whether it was created."""

    content: Object
    created: bool = False


class Target(NamedTuple):
    """What a write goes to."""

    kind: ResourceType
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Its place in the storage."""
        return Key(self.namespace, self.name)


class Writer:
    """Writes to one state."""

    def __init__(self, state: State) -> None:
        self._state = state

    # --- create -------------------------------------------------------------------------------

    def create(
        self,
        target: Target,
        obj: Object,
        options: WriteOptions,
        warnings: list[str],
        *,
        tracked: bool = False,
    ) -> Written:
        """Store a new object; ``tracked`` when its managedFields are already made (apply)."""
        kind, state = target.kind, self._state
        metadata = _metadata_of(obj)
        place_in_namespace(kind, target.namespace, metadata)
        warnings += meta.owner_warnings(obj)
        generate = metadata.get("generateName", "") if not metadata.get("name") else ""
        for _ in range(limits.EMBEDDED_NAME_TRIES if generate else 0):
            metadata["name"] = _generated(generate)
            if self._existing(kind, obj) is None:
                break
        _give_birth(obj)
        new = obj if tracked else self._tracked(target, None, obj, options)
        self._require_namespace(kind, new)
        version = new["metadata"].pop("resourceVersion", "")
        kind.prepare_create(new, state)
        _tidy(new)
        causes = [
            *meta.create_errors(new, kind.name_problems, custom=kind.custom),
            *kind.validate(new, None),
        ]
        self._refuse(kind, new, causes)
        if version:
            problem = "resourceVersion should not be set on objects to be created"
            raise errors.internal_error(problem)
        taken = self._existing(kind, new)
        if taken is not None:
            raise _already_exists(kind, taken)
        warnings += kind.warnings(new, None)
        require_small(new)
        return Written(self._store(kind, None, new, options), created=True)

    def _existing(self, kind: ResourceType, obj: Object) -> Object | None:
        metadata = obj["metadata"]
        return self._state.get(kind, metadata.get("namespace", ""), metadata.get("name", ""))

    def _require_namespace(self, kind: ResourceType, obj: Object) -> None:
        """The namespace must be there (C9) and not be on its way out (C10)."""
        metadata = obj["metadata"]
        name = metadata.get("namespace", "")
        if not kind.namespaced:
            return
        namespace = self._state.lookup("", "namespaces", "", name)
        if namespace is None:
            raise errors.not_found("namespaces", name)
        if namespace["metadata"].get("deletionTimestamp") is None:
            return
        cause = FieldError(
            "metadata.namespace",
            "NamespaceTerminating",
            f"namespace {name} is being terminated",
        )
        raise errors.forbidden(
            kind.plural,
            metadata.get("name", ""),
            f"unable to create new content in namespace {name} because it is being terminated",
            group=kind.group,
            causes=[cause],
        )

    # --- update -------------------------------------------------------------------------------

    def update(
        self,
        target: Target,
        make: Callable[[Object], Object],
        options: WriteOptions,
        warnings: list[str],
        *,
        put: bool = False,
        tracked: bool = False,
    ) -> Written:
        """Replace an object by what ``make`` says of a copy of the current one.

        ``put`` for a PUT, whose resourceVersion and uid are conditions (C12, C25, C26);
        ``tracked`` when ``make`` has brought managedFields up to date.
        """
        kind, state = target.kind, self._state
        old = state.require(kind, target.namespace, target.name)
        new = make(clone(old))
        metadata = _metadata_of(new)
        check_name(target, metadata)
        place_in_namespace(kind, target.namespace, metadata)
        warnings += meta.owner_warnings(new)
        if put:
            _require_uid(kind, target, metadata, old)
        if not tracked:
            new = self._tracked(target, old, new, options)
        _keep_identity(new["metadata"], old["metadata"])
        if target.subresource:
            new = kept_for_subresource(kind, target.subresource, new, old)
        _require_version(kind, target.name, new["metadata"], old["metadata"], put=put)
        self._prepare_update(target, new, old)
        _tidy(new)
        self._refuse(kind, new, self._update_causes(target, new, old))
        warnings += kind.warnings(new, old)
        return Written(self._replace(target, old, new, options))

    def _prepare_update(self, target: Target, new: Object, old: Object) -> None:
        after, before = new["metadata"], old["metadata"]
        if "generation" in before:
            after["generation"] = before["generation"]
        else:
            after.pop("generation", None)
        if target.subresource == "status":
            target.kind.prepare_status(new, old, self._state)
        elif target.subresource in ("", "scale"):
            target.kind.prepare_update(new, old, self._state)

    def _update_causes(self, target: Target, new: Object, old: Object) -> list[FieldError]:
        """The server checks metadata twice: once for all kinds, once in most kinds' own check."""
        shared = meta.update_errors(new, old)
        if target.subresource == "status":
            return [*shared, *shared, *target.kind.validate_status(new, old)]
        return [*shared, *shared, *target.kind.validate(new, old)]

    def _replace(self, target: Target, old: Object, new: Object, options: WriteOptions) -> Object:
        """Store ``new`` unless nothing changed (C15) or the last finalizer went (C62)."""
        kind, metadata = target.kind, new["metadata"]
        metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        new = keep_times(old, new)
        if same(new, old):
            return old
        require_small(new)
        if ends_with(kind, new):
            if not options.dry_run:
                self.remove(kind, old)
            return new
        return self._store(kind, old, new, options)

    # --- shared -------------------------------------------------------------------------------

    def _tracked(
        self, target: Target, old: Object | None, new: Object, options: WriteOptions
    ) -> Object:
        return track_update(
            old,
            new,
            manager=options.manager,
            api_version=target.kind.api_version,
            subresource=target.subresource,
            schema=target.kind.full_schema(),
            now=clock.timestamp(clock.now()),
            reset=resets(target),
        )

    def _refuse(self, kind: ResourceType, obj: Object, causes: list[FieldError]) -> None:
        if causes:
            # The server names the kind of the object, also when it is the wrong one.
            name = obj["metadata"].get("name", "")
            raise errors.invalid(kind.group, str(obj.get("kind", kind.kind)), name, causes)

    def _store(
        self, kind: ResourceType, old: Object | None, new: Object, options: WriteOptions
    ) -> Object:
        """Put ``new`` into the storage, unless it is a dry run; the object to answer with."""
        if options.dry_run:
            return new
        return self.put(kind, old, new)

    def put(self, kind: ResourceType, old: Object | None, new: Object) -> Object:
        """Store without checks, and tell the listeners; for the server's own controllers too."""
        metadata = new["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        stored = self._state.storage.put(kind.storage_name, key, self._state.stored(kind, new))
        view = self._state.view(kind, stored)
        self._state.tell(kind, old, view)
        return view

    def remove(self, kind: ResourceType, old: Object, *, quietly: bool = False) -> None:
        """Delete what is stored; ``quietly`` without telling the listeners."""
        metadata = old["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        self._state.storage.remove(kind.storage_name, key)
        if not quietly:
            self._state.tell(kind, old, None)


def resets(target: Target) -> tuple[Path, ...]:
    """The fields that a write of this target ignores."""
    kind = target.kind
    return reset_fields(
        kind.group,
        kind.kind,
        target.subresource,
        has_status="status" in kind.subresources,
        custom=kind.custom,
    )


def same(left: Object, right: Object) -> bool:
    """Whether two objects are equal as JSON (True is not 1)."""
    if left != right:
        return False
    encode = msgspec.json.encode
    return encode(left, order="sorted") == encode(right, order="sorted")


def ends_with(kind: ResourceType, obj: Object) -> bool:
    """Whether a write leaves a deleted object without anything that keeps it."""
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp") is None or metadata.get("finalizers"):
        return False
    if kind.storage_name == "namespaces" and obj.get("spec", {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def require_small(obj: Object) -> None:
    """Refuse what etcd would not take (C97), with its texts."""
    size = len(msgspec.json.encode(obj))
    if size > limits.EMBEDDED_MESSAGE_BYTES:
        raise errors.internal_error(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max"
            f" ({size} vs. {limits.EMBEDDED_MESSAGE_BYTES})"
        )
    if size > limits.EMBEDDED_OBJECT_BYTES:
        raise errors.internal_error("etcdserver: request is too large")


def kept_for_subresource(kind: ResourceType, subresource: str, new: Object, old: Object) -> Object:
    """``new`` with all but what the subresource may write taken from ``old`` (C19)."""
    if subresource != "status":
        return new
    kept = {**old, "apiVersion": new["apiVersion"], "kind": new["kind"]}
    kept.pop("status", None)
    if "status" in new:
        kept["status"] = new["status"]
    if not kind.custom:
        # Labels, annotations and more of built-in kinds can be written through /status.
        return clone({**kept, "metadata": new["metadata"]})
    metadata = clone(old["metadata"])
    for name in ("managedFields", "resourceVersion"):
        metadata.pop(name, None)
        if name in new["metadata"]:
            metadata[name] = new["metadata"][name]
    return {**clone(kept), "metadata": metadata}


def place_in_namespace(kind: ResourceType, namespace: str, metadata: dict[str, Any]) -> None:
    """Fill in the namespace of the URL, or refuse another one; none in the cluster (C8)."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace", namespace) not in (namespace, ""):
        raise errors.bad_request(NAMESPACE_MISMATCH)
    metadata["namespace"] = namespace


def check_name(target: Target, metadata: dict[str, Any]) -> None:
    """The name must be that of the URL."""
    name = metadata.get("name") or ""
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be"
            " provided"
        )
    if name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )


def _metadata_of(obj: Object) -> dict[str, Any]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = obj["metadata"] = {}
    return metadata


def _generated(prefix: str) -> str:
    """A name for generateName (C6); a long prefix is cut so that the name fits."""
    return f"{prefix[:58]}{chance.suffix(5)}"


def _give_birth(obj: Object) -> None:
    metadata = obj["metadata"]
    for name in _WIPED:
        metadata.pop(name, None)
    metadata["uid"] = chance.uuid()
    metadata["creationTimestamp"] = clock.timestamp(clock.now())


def _keep_identity(metadata: dict[str, Any], before: dict[str, Any]) -> None:
    metadata.pop("selfLink", None)
    if "creationTimestamp" in before:
        metadata["creationTimestamp"] = before["creationTimestamp"]
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    if before.get("deletionTimestamp") is not None:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    grace = before.get("deletionGracePeriodSeconds")
    if grace is not None and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = grace


def _tidy(obj: Object) -> None:
    """Metadata members that are empty are not written."""
    metadata = obj["metadata"]
    for name in ("labels", "annotations", "finalizers", "ownerReferences", "managedFields"):
        if name in metadata and not metadata[name]:
            del metadata[name]
    for name in ("namespace", "generateName", "resourceVersion", "deletionTimestamp"):
        if metadata.get(name, "") in ("", None):
            metadata.pop(name, None)


def _require_uid(kind: ResourceType, target: Target, metadata: dict[str, Any], old: Object) -> None:
    wanted, found = metadata.get("uid") or "", old["metadata"]["uid"]
    if not wanted or wanted == found:
        return
    group = f"{kind.group}/" if kind.custom else ""
    place = f"{target.namespace}/{target.name}" if target.namespace else target.name
    raise errors.conflict(
        kind.plural,
        target.name,
        group=kind.group,
        detail=(
            f"StorageError: invalid object, Code: 4, Key: /registry/{group}{kind.plural}/{place},"
            " ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
            f" {wanted}, UID in object meta: {found}"
        ),
    )


def _require_version(
    kind: ResourceType, name: str, metadata: dict[str, Any], before: dict[str, Any], *, put: bool
) -> None:
    wanted = metadata.get("resourceVersion") or ""
    if wanted in ("", "0"):
        if put and not kind.unconditional_update:
            cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(kind.group, kind.plural, name, [cause])
        return
    if not wanted.isascii() or not wanted.isdigit():
        raise errors.internal_error(
            f"strconv.ParseUint: parsing {errors.quoted(wanted)}: invalid syntax"
        )
    if wanted != before["resourceVersion"]:
        raise errors.conflict(kind.plural, name, group=kind.group)


def _already_exists(kind: ResourceType, taken: Object) -> StatusError:
    error = errors.already_exists(kind.plural, taken["metadata"]["name"], group=kind.group)
    if taken["metadata"].get("deletionTimestamp") is not None:
        error.message = f"object is being deleted: {error.message}"
    return error
