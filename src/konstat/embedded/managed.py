"""``metadata.managedFields``: who owns which field, kept up to date by every write.

`track_update` does it for POST, PUT and the plain patches (operation Update); `konstat.embedded.
apply` for server-side apply, with `owners_after`, which both share. `keep_times` is the last step
of any write: a write that changed nothing but the times of entries has changed nothing (C15).

Pure: the time of the write is given. Before: `konstat.embedded.typed`, `typed_fields`.
After: `konstat.embedded.apply` and the verbs of the server.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from konstat.base import clock, limits
from konstat.embedded import fieldset, gotext
from konstat.embedded.fieldset import FieldSet, FieldsFormatError, Path
from konstat.embedded.typed import Comparison, TypedError, check, compare
from konstat.embedded.typed_fields import fitted
from konstat.embedded.typed_structure import Schema, Structure, empty_object, structure_of
from konstat.objects.diff import same

Object: TypeAlias = dict[str, Any]

# What belongs to the server, whoever sends it.
_NEVER_OWNED: Final = FieldSet.of(
    fieldset.path("apiVersion"),
    fieldset.path("kind"),
    fieldset.path("metadata"),
    *(
        fieldset.path("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class Manager(NamedTuple):
    """Who owns fields. Applying in another version keeps the entry, so ``api_version`` is empty
    for Apply; updates of each version have one of their own.
    """

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, name: str, operation: str, *, api_version: str, subresource: str) -> Manager:
        """The manager of one request; without a name it is ``unknown``."""
        version = "" if operation == "Apply" else api_version
        return cls(name or "unknown", operation, version, subresource)

    def sort_key(self) -> str:
        """By this the server sorts managers in messages."""
        parts = (
            ("manager", self.name),
            ("operation", self.operation),
            ("apiVersion", self.api_version),
            ("subresource", self.subresource),
        )
        members = (f"{gotext.encode(k)}:{gotext.encode(v)}" for k, v in parts if v)
        return "{" + ",".join(members) + "}"


class Owned(NamedTuple):
    """What a manager owns, in which version it said so, and when (None: not told)."""

    fields: FieldSet
    api_version: str
    time: str | None = None


Owners: TypeAlias = dict[Manager, Owned]
# Stands for the write that is going on, so that it takes fields from its manager's entry too.
_THIS_WRITE: Final = Manager("this write", "")
_BEFORE_APPLY: Final = "before-first-apply"
_ANCIENT: Final = "ancient-changes"


class ManagedFieldsError(ValueError):
    """An entry of managedFields that cannot be read."""


class Frame(NamedTuple):
    """What one write needs to know of its kind.

    ``reset`` are the fields that the resource (or subresource) ignores, so nobody owns them there.
    ``served`` are the structures of the kind's versions; None when the version does not matter.
    """

    structure: Structure
    api_version: str
    reset: FieldSet
    served: Mapping[str, Structure] | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        api_version: str,
        *,
        reset: Collection[Path],
        served: Mapping[str, Schema] | None,
    ) -> Frame:
        """The frame of a write of ``api_version``."""
        versions = None if served is None else {v: structure_of(s) for v, s in served.items()}
        return cls(structure_of(schema), api_version, FieldSet.of(*reset), versions)

    def structure_for(self, api_version: str) -> Structure | None:
        """The structure of a version; None when it is served no more."""
        if self.served is None or api_version == self.api_version:
            return self.structure
        return self.served.get(api_version)


# --- entries ------------------------------------------------------------------------------------


def read_owners(entries: Any) -> Owners:
    """The owners that ``metadata.managedFields`` names; raises ManagedFieldsError."""
    owners: Owners = {}
    for index, entry in enumerate(entries or ()):
        if not isinstance(entry, dict):
            raise ManagedFieldsError(f"managed fields entry {index} is no object")
        manager, owned = _read_entry(entry, index)
        owners[manager] = owned
    return owners


def _read_entry(entry: Object, index: int) -> tuple[Manager, Owned]:
    words = ("manager", "operation", "apiVersion", "fieldsType", "subresource")
    texts = [entry.get(word) or "" for word in words]
    time = entry.get("time")
    if not all(isinstance(text, str) for text in (*texts, time or "")):
        raise ManagedFieldsError(f"managed fields entry {index} has members that are no strings")
    name, operation, api_version, fields_type, subresource = texts
    if operation not in ("Apply", "Update"):
        raise ManagedFieldsError("operation must be `Apply` or `Update`")
    if not api_version:
        raise ManagedFieldsError("apiVersion must not be empty")
    if fields_type != "FieldsV1":
        wrong = f'invalid fieldsType "{fields_type}"' if fields_type else "missing fieldsType"
        raise ManagedFieldsError(f"{wrong} in managed fields entry {index}")
    version = "" if operation == "Apply" else api_version
    try:
        fields = FieldSet.from_fields(entry.get("fieldsV1") or {})
    except FieldsFormatError as error:
        raise ManagedFieldsError(f"error decoding set: {error}") from error
    return Manager(name, operation, version, subresource), Owned(fields, api_version, time)


def write_owners(owners: Owners) -> list[Object]:
    """The entries of managedFields: applies first, then by time (seconds) and name."""
    entries = [_written_entry(manager, owned) for manager, owned in owners.items()]
    return sorted(entries, key=_entry_order)


def _written_entry(manager: Manager, owned: Owned) -> Object:
    entry: Object = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
    }
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields.to_fields()
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _entry_order(entry: Object) -> tuple[str, int, str, str, str]:
    seconds = _seconds(entry.get("time"))
    place = entry["manager"], entry["apiVersion"], entry.get("subresource", "")
    return (entry["operation"], seconds, *place)


def _seconds(time: str | None) -> int:
    """The whole seconds of an entry's time; 0 for none, and for what is no time."""
    try:
        return int(clock.parse_timestamp(time).timestamp()) if time else 0
    except ValueError:
        return 0


def with_owners(obj: Object, owners: Owners) -> Object:
    """``obj`` with these owners in its metadata, whatever was there; ``obj`` is not changed."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return {**obj, "metadata": {"managedFields": write_owners(owners)}} if owners else obj
    kept = {k: v for k, v in metadata.items() if k != "managedFields"}
    if owners:
        kept["managedFields"] = write_owners(owners)
    return {**obj, "metadata": kept}


def entries_of(obj: Object | None) -> Any:
    """What ``metadata.managedFields`` holds; None without any."""
    metadata = None if obj is None else obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


# --- ownership ----------------------------------------------------------------------------------


class OwnershipConflict(Exception):
    """Other managers own fields that an apply would change; never leaves the package."""

    def __init__(self, fields: Mapping[Manager, FieldSet]) -> None:
        super().__init__(f"{len(fields)} managers own what is applied")
        self.fields = fields


def fit_owners(owners: Owners, frame: Frame) -> Owners:
    """``owners`` with their fields fitted to the schema of today; versions that are gone go."""
    made: Owners = {}
    for manager, owned in owners.items():
        structure = frame.structure_for(owned.api_version)
        if structure is not None:
            made[manager] = owned._replace(fields=fitted(owned.fields, structure))
    return made


def owners_after(
    owners: Owners, old: Object, new: Object, frame: Frame, *, writer: Manager, force: bool
) -> tuple[Owners, Comparison]:
    """What the others own once ``writer`` has turned ``old`` into ``new``, and what it changed.

    They lose what was changed or removed. Raises OwnershipConflict instead, unless ``force``, when
    something changed that another manager owns.
    """
    change = compare(old, new, frame.structure).without(frame.reset)
    changes = {frame.api_version: change}
    conflicts: dict[Manager, FieldSet] = {}
    left: Owners = {}
    for manager, owned in owners.items():
        if manager == writer:
            left[manager] = owned
            continue
        structure = frame.structure_for(owned.api_version)
        if structure is None:
            continue
        theirs = changes.get(owned.api_version)
        if theirs is None:
            theirs = compare(old, new, structure).without(frame.reset)
            changes[owned.api_version] = theirs
        taken = owned.fields.intersection(theirs.modified.union(theirs.added))
        if taken:
            conflicts[manager] = taken
        left[manager] = owned._replace(
            fields=owned.fields.difference(taken).difference(theirs.removed)
        )
    if conflicts and not force:
        raise OwnershipConflict(conflicts)
    return {manager: owned for manager, owned in left.items() if owned.fields}, change


def strip(fields: FieldSet) -> FieldSet:
    """``fields`` without what nobody owns: names, uid, versions, times."""
    return fields.difference(_NEVER_OWNED)


def update_owners(
    owners: Owners, old: Object, new: Object, frame: Frame, *, manager: Manager, now: str
) -> Owners:
    """The owners once ``manager`` has written ``new`` over ``old``; raises TypedError."""
    check(new, frame.structure, repeated_entries=True)
    check(old, frame.structure, repeated_entries=True)
    fit = fit_owners(owners, frame)
    left, change = owners_after(fit, old, new, frame, writer=_THIS_WRITE, force=True)
    written = strip(change.modified.union(change.added))
    if written:
        before = left.get(manager)
        fields = written if before is None else before.fields.union(written)
        left[manager] = Owned(fields, frame.api_version, now)
    return _with_bound(left)


def _with_bound(owners: Owners) -> Owners:
    """At most so many entries of updates: the oldest of a version become one."""
    updates = [manager for manager in owners if manager.operation == "Update"]
    surplus = len(updates) - limits.EMBEDDED_UPDATE_MANAGERS
    updates.sort(key=lambda manager: (_seconds(owners[manager].time), manager.sort_key()))
    first_of: dict[str, Manager] = {}
    for manager in updates:
        if surplus <= 0:
            break
        owned = owners[manager]
        first = first_of.setdefault(owned.api_version, manager)
        if first is manager:
            continue
        bucket = Manager(_ANCIENT, "Update", owned.api_version)
        if bucket not in owners:
            owners[bucket] = owners.pop(first)
        fields = owned.fields.union(owners[bucket].fields)
        if manager != bucket:
            del owners[manager]
        owners[bucket] = Owned(fields, owned.api_version, owned.time)
        surplus -= 1
    return owners


def owners_before_apply(live: Object, empty: Object, frame: Frame, *, sub: str, now: str) -> Owners:
    """The owner of an object that was never tracked, made up when it is first applied to."""
    before = Manager.of(_BEFORE_APPLY, "Update", api_version=frame.api_version, subresource=sub)
    return update_owners({}, empty, live, frame, manager=before, now=now)


# --- the plain writes ---------------------------------------------------------------------------


def track_update(
    old: Object | None,
    new: Object,
    *,
    manager: str,
    api_version: str,
    subresource: str = "",
    schema: Schema,
    now: str,
    reset: Collection[Path] = (),
    empty: Object | None = None,
    served: Mapping[str, Schema] | None = None,
) -> Object:
    """``new`` with its managedFields brought up to date for a POST, PUT, PATCH (not apply).

    ``old``
        The stored object; None on create.
    ``new``
        What the client wants, decoded, pruned and defaulted, before the resource resets fields
        that the client may not change: those are named by ``reset`` instead (see
        `konstat.embedded.managed_resets`), and nobody comes to own them.
    ``now``
        The time of the write, as metav1.Time is written.
    ``empty``
        What ``old`` is compared with on create: by default derived from the schema.
    ``served``
        The schemas of the versions that the kind is served in; entries of others are dropped.
        None: entries of every version are kept, and read with ``schema``.

    Guarantees: neither argument is changed. Managers that own nothing any more are gone; entries
    that changed nothing but their times keep them. managedFields sent by the client replace the
    stored ones if they can be read, ``[{}]`` or ``[]`` resets them (C42); by a subresource they
    are ignored. An object that has none is not tracked until it is applied to. Where an object
    does not fit its schema its managedFields are dropped, as the server does.
    """
    owners = _given_owners(old, new, subresource=subresource)
    if not owners and old is not None:
        return with_owners(new, {})
    frame = Frame.of(schema, api_version, reset=reset, served=served)
    writer = Manager.of(manager, "Update", api_version=api_version, subresource=subresource)
    before = with_owners(old, {}) if old is not None else empty_of(schema, empty)
    after = with_owners(new, {})
    try:
        owners = update_owners(owners, before, after, frame, manager=writer, now=now)
    except TypedError:
        return after
    tracked = with_owners(new, owners)
    return tracked if old is None else keep_times(old, tracked)


def empty_of(schema: Schema, given: Object | None) -> Object:
    """The object that a first write is compared with."""
    return empty_object(schema) if given is None else given


def _given_owners(old: Object | None, new: Object, *, subresource: str) -> Owners:
    """From the request, if it may tell and can be read, else from the stored object."""
    if not subresource:
        entries = entries_of(new)
        if isinstance(entries, list) and entries in ([], [{}]):
            return {}
        owners = _owners_or_none(entries)
        if owners:
            return owners
    return _owners_or_none(entries_of(old)) or {}


def _owners_or_none(entries: Any) -> Owners | None:
    try:
        return read_owners(entries) if isinstance(entries, list) else None
    except ManagedFieldsError:
        return None


def keep_times(old: Object, new: Object) -> Object:
    """``new`` with the times of ``old``'s entries when nothing but the times differs.

    To be called last, when ``new`` is ready to be stored: a write whose change was undone on the
    way, such as a status sent to the main resource, is then no change at all (C15, C44).
    """
    before, after = entries_of(old), entries_of(new)
    if not _readable(before) or not _readable(after) or len(before) != len(after):
        return new
    if all(a.get("time") == b.get("time") for a, b in zip(after, before, strict=True)):
        return new
    if not same(_timeless(before), _timeless(after)):
        return new
    if not same(with_owners(old, {}), with_owners(new, {})):
        return new
    return {**new, "metadata": {**new["metadata"], "managedFields": before}}


def _readable(entries: Any) -> bool:
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, dict) for entry in entries)
    )


def _timeless(entries: list[Object]) -> list[Object]:
    return [{k: v for k, v in entry.items() if k != "time"} for entry in entries]


def manager_of(field_manager: str, user_agent: str) -> str:
    """The name of a writer: ``fieldManager`` if given, else the user agent up to its first slash,
    printable characters only, at most `limits.EMBEDDED_FIELD_MANAGER_BYTES`.
    """
    if field_manager:
        return field_manager
    name = ""
    for character in user_agent.split("/")[0]:
        if not character.isprintable():
            continue
        if len((name + character).encode()) > limits.EMBEDDED_FIELD_MANAGER_BYTES:
            break
        name += character
    return name
