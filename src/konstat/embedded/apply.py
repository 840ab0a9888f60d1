"""Server-side apply: merge a configuration into an object, and see to who owns what.

`apply` merges by the kind's structure, removes what the manager applied before and applies no
more (unless others own it), and gives the object with its managedFields. Fields of others that
would change are an `ApplyConflict`, unless forced (KEP-555; C35 to C44).

Pure. Before: `konstat.embedded.managed` (ownership), `typed`, `typed_fields`. After: the PATCH
verb, which validates, defaults and stores, and calls `konstat.embedded.managed.keep_times` last.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.embedded import fieldset, gojson, gotext, managed
from konstat.embedded.fieldset import FieldSet, Path
from konstat.embedded.managed import Frame, ManagedFieldsError, Manager, Object, Owned, Owners
from konstat.embedded.status_errors import StatusError, quoted
from konstat.embedded.typed import MISSING, TypedError, check, compare, merge
from konstat.embedded.typed_fields import fields_of, remove, with_parents
from konstat.embedded.typed_structure import Schema
from konstat.objects.diff import same

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL: Final = "kubectl"


class Conflict(NamedTuple):
    """One field that another manager owns."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    path: str

    @property
    def holder(self) -> str:
        """The owner, as messages name it."""
        text = quoted(self.manager)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


class ApplyConflict(StatusError):
    """409: an apply that would change fields of other managers."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = list(conflicts)
        super().__init__(
            _conflict_message(self.conflicts),
            code=409,
            reason="Conflict",
            details={"causes": self.causes()},
        )

    def causes(self) -> list[dict[str, str]]:
        """``Status.details.causes``: one for each field and owner."""
        return [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.holder}",
                "field": conflict.path,
            }
            for conflict in self.conflicts
        ]


class ApplyRefused(StatusError):
    """An applied configuration that cannot be used; ``code`` and texts are the server's."""


def _conflict_message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.holder}: {only.path}"
    lines: list[str] = []
    holder = ""
    for conflict in conflicts:
        if conflict.holder != holder:
            holder = conflict.holder
            lines.append(f"conflicts with {holder}:")
        lines.append(f"- {conflict.path}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def apply(
    live: Object | None,
    config: Object,
    *,
    manager: str,
    api_version: str,
    subresource: str = "",
    force: bool = False,
    schema: Schema,
    now: str,
    kind: str = "",
    reset: Collection[Path] = (),
    empty: Object | None = None,
    served: Mapping[str, Schema] | None = None,
) -> Object:
    """The object that results from applying ``config`` to ``live`` (None: it is created).

    ``kind`` is what the configuration must be; the other options are those of
    `konstat.embedded.managed.track_update`. Raises ApplyConflict, and ApplyRefused for a
    configuration of another kind (400), with managedFields (400, C42), or that does not fit the
    schema (500, as the server answers).

    Guarantees: no argument is changed; applying the same again gives an equal object (C44).
    Caveat: nothing is validated or defaulted here, and metadata such as name or uid is merged like
    any other field: the verb compares it with the request.
    """
    config = _usable(config, api_version=api_version, kind=kind)
    frame = Frame.of(schema, api_version, reset=reset, served=served)
    blank = managed.empty_of(schema, empty)
    if live is None:
        live = {**blank, "apiVersion": config["apiVersion"], "kind": config["kind"]}
    owners = _owners(live)
    bare = managed.with_owners(live, {})
    if not owners:
        owners = _first_owners(bare, blank, frame, subresource=subresource, now=now)
    me = Manager.of(manager, "Apply", api_version=api_version, subresource=subresource)
    work = _Apply(bare, config, frame, me)
    try:
        made, left = work.run(owners, force=force)
    except ApplyConflict as conflict:
        if manager != _KUBECTL or not _only_last_applied(conflict, bare, frame):
            raise
        made, left = work.run(owners, force=True)
    # Null is allowed for managedFields; on the server it makes the object differ for a moment.
    changed = not same(bare, made) or "managedFields" in (config.get("metadata") or {})
    if changed and me in left:
        left[me] = left[me]._replace(time=now)
    return managed.with_owners(_with_last_applied(made, config, manager), left)


def _usable(config: Any, *, api_version: str, kind: str) -> Object:
    """The configuration, if it is one of this kind and carries no managedFields."""
    if not isinstance(config, dict):
        raise _refused(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
            f" unmarshal {gotext.json_type(config)} into Go value of type map[string]interface {{}}"
        )
    if gotext.too_deep(config):
        raise _refused("error decoding YAML: exceeded max depth")
    given = config.get("apiVersion"), config.get("kind")
    version, word = (text if isinstance(text, str) else "" for text in given)
    if version != api_version or (kind and word != kind) or not word:
        raise _refused(f"invalid object type: {_kind_text(version, word)}")
    if isinstance(managed.entries_of(config), list):
        raise _refused("metadata.managedFields must be nil")
    return config


def _refused(message: str) -> ApplyRefused:
    return ApplyRefused(message, code=400, reason="BadRequest")


def _kind_text(api_version: str, kind: str) -> str:
    version = api_version if "/" in api_version else f"/{api_version}"
    return f"{version}, Kind={kind}"


def _owners(live: Object) -> Owners:
    try:
        return managed.read_owners(managed.entries_of(live))
    except ManagedFieldsError as error:
        raise ApplyRefused(f"failed to decode managed fields: {error}", code=500) from error


def _first_owners(
    live: Object, empty: Object, frame: Frame, *, subresource: str, now: str
) -> Owners:
    base = {**empty, "apiVersion": live.get("apiVersion"), "kind": live.get("kind")}
    try:
        return managed.owners_before_apply(live, base, frame, sub=subresource, now=now)
    except TypedError as error:
        problem = f"failed to create manager for existing fields: {error}"
        raise ApplyRefused(problem, code=500) from error


class _Apply:
    """One apply: the stored object, what is applied, and who applies it."""

    def __init__(self, live: Object, config: Object, frame: Frame, me: Manager) -> None:
        self.live = live
        self.config = config
        self.frame = frame
        self.me = me
        self._check(config, "patch", repeated_entries=False)
        self._check(live, "live", repeated_entries=True)
        fields = fields_of(config, frame.structure)
        self.mine = fields.without(frame.reset)

    def _check(self, obj: Object, what: str, *, repeated_entries: bool) -> None:
        try:
            check(obj, self.frame.structure, repeated_entries=repeated_entries)
        except TypedError as error:
            raise ApplyRefused(
                f"failed to create typed {what} object ({_object_text(obj)}): {error}", code=500
            ) from error

    def run(self, owners: Owners, *, force: bool) -> tuple[Object, Owners]:
        """The merged object and its owners; raises ApplyConflict."""
        owners = managed.fit_owners(owners, self.frame)
        before = owners.get(self.me)
        time = None if before is None else before.time
        owners[self.me] = Owned(self.mine, self.frame.api_version, time)
        made = merge(self.live, self.config, self.frame.structure)
        made = {} if made is MISSING else made
        if before is not None and before.fields:
            made = self._pruned(made, before, owners)
        try:
            left, _ = managed.owners_after(
                owners, self.live, made, self.frame, writer=self.me, force=force
            )
        except managed.OwnershipConflict as conflict:
            raise ApplyConflict(_conflicts(conflict, owners)) from None
        if self.me in left:
            left[self.me] = left[self.me]._replace(fields=managed.strip(self.mine))
        return made, {m: owned for m, owned in left.items() if owned.fields}

    def _pruned(self, merged: Object, before: Owned, owners: Owners) -> Object:
        """``merged`` without what we applied before, unless somebody owns it still."""
        structure = self.frame.structure_for(before.api_version)
        if structure is None:
            return merged
        last = with_parents(before.fields, structure)
        owned = FieldSet()
        for other in owners.values():
            owned = owned.union(other.fields)
        present = with_parents(fields_of(merged, structure), structure)
        pruned = remove(merged, last, structure) or {}
        kept = with_parents(fields_of(pruned, structure), structure)
        kept = kept.union(with_parents(owned, structure))
        pruned = remove(merged, present.difference(kept), structure) or {}
        # Only what was ours goes: parts that nobody owned, but that went along, stay.
        kept = with_parents(fields_of(pruned, structure), structure)
        return remove(merged, present.difference(kept).intersection(last), structure) or {}


def _object_text(obj: Object) -> str:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = (metadata.get("namespace"), metadata.get("name"))
    place = "/".join(name if isinstance(name, str) else "" for name in names)
    return f"{place}; {_kind_text(str(obj.get('apiVersion')), str(obj.get('kind')))}"


def _conflicts(conflict: managed.OwnershipConflict, owners: Owners) -> list[Conflict]:
    return [
        Conflict(
            manager.name,
            manager.operation,
            owners[manager].api_version,
            manager.subresource,
            fieldset.path_text(path),
        )
        for manager in sorted(conflict.fields, key=Manager.sort_key)
        for path in conflict.fields[manager].walk()
    ]


# --- kubectl's own annotation -------------------------------------------------------------------


def _only_last_applied(conflict: ApplyConflict, live: Object, frame: Frame) -> bool:
    """Whether the contested fields are as kubectl's client-side apply left them.

    Then they are kubectl's although an Update entry holds them, and the apply goes through.
    Raises ApplyConflict with what remains when only some of them are.
    """
    allowed = _last_applied_fields(live, frame)
    if allowed is None:
        return False
    texts = {fieldset.path_text(path) for path in allowed.walk()}
    rest = [one for one in conflict.conflicts if one.path not in texts]
    if rest:
        raise ApplyConflict(rest) from None
    return True


def _last_applied_fields(live: Object, frame: Frame) -> FieldSet | None:
    """The fields of the annotation that the object still has as they are there."""
    text = _annotations(live).get(_LAST_APPLIED)
    if not isinstance(text, str) or not text:
        return None
    try:
        last = gojson.decode(text.encode())
        if not isinstance(last, dict) or last.get("apiVersion") != frame.api_version:
            return None
        check(live, frame.structure, repeated_entries=False)
        check(last, frame.structure, repeated_entries=False)
    except (gojson.JSONTextError, TypedError):
        return None
    fields = fields_of(last, frame.structure)
    for different in compare(last, live, frame.structure):
        fields = fields.difference(different)
    return fields


def _annotations(obj: Object) -> dict[str, Any]:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _with_last_applied(made: Object, config: Object, manager: str) -> Object:
    """``made`` with kubectl's annotation, if it has one and kubectl applies, brought up to date."""
    annotations = _annotations(made)
    if manager != _KUBECTL or not annotations.get(_LAST_APPLIED):
        return made
    metadata = dict(config.get("metadata") or {})
    if "annotations" in metadata:
        others = {k: v for k, v in _annotations(config).items() if k != _LAST_APPLIED}
        metadata["annotations"] = others
    text = gotext.encode({**config, "metadata": metadata}) + "\n"
    changed = {**annotations, _LAST_APPLIED: text}
    size = sum(len(k.encode()) + len(str(v).encode()) for k, v in changed.items())
    if size > limits.EMBEDDED_ANNOTATIONS_BYTES:
        del changed[_LAST_APPLIED]
    return {**made, "metadata": {**made["metadata"], "annotations": changed}}
