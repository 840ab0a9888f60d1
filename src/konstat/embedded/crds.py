"""CustomResourceDefinitions: from a stored definition to resource types that are served.

The part of kube-apiserver that accepts names, establishes a definition and serves its versions,
and that removes the instances of a definition that is deleted (C47, C48, C71). It listens to the
writes of one state and acts at once, or after a delay that a test asks for. Before: `structural`,
`registry`, `verbs_write`. After: `server`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from konstat.base import clock
from konstat.embedded import metadata as meta
from konstat.embedded.accepted_names import decide, is_established
from konstat.embedded.builtin import encoding
from konstat.embedded.builtin.definitions import META
from konstat.embedded.deletion import CLEANUP, DEFINITIONS
from konstat.embedded.jsonpath import PathError, compile_path
from konstat.embedded.managed import track_update
from konstat.embedded.registry import Host, Object, ResourceType, ScalePaths, Schema
from konstat.embedded.state import State
from konstat.embedded.status_errors import FieldError, invalid_value, not_implemented
from konstat.embedded.storage import clone
from konstat.embedded.structural.crd import check_crd
from konstat.embedded.structural.custom import CustomSchema
from konstat.embedded.table import custom_columns
from konstat.embedded.verbs_write import Writer, same

GROUP: Final = "apiextensions.k8s.io"
PLURAL: Final = "customresourcedefinitions"
_VERBS: Final = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
_OBJECT_META: Final = f"{META}ObjectMeta"


def check(crd: Object, old: Object | None) -> list[FieldError]:
    """What the server refuses in a definition; raises a 501 for what only we cannot do."""
    causes = check_crd(crd, old)
    if not causes:
        _require_columns(crd)
    return causes


def _require_columns(crd: Object) -> None:
    for version in crd["spec"]["versions"]:
        paths = [c["jsonPath"] for c in version.get("additionalPrinterColumns") or ()]
        paths += [f["jsonPath"] for f in version.get("selectableFields") or ()]
        for path in paths:
            try:
                compile_path(path)
            except PathError as error:
                raise not_implemented(str(error)) from error
    if (crd["spec"].get("conversion") or {}).get("strategy") == "Webhook":
        raise not_implemented("conversion webhooks of CustomResourceDefinitions")


# --- from a definition to types ----------------------------------------------------------------


def types_of(crd: Object, *, since: int) -> list[ResourceType]:
    """The served versions of a definition, preferred version first.

    ``since`` is the revision from which on objects are stored in the form of these schemas: older
    ones are pruned and defaulted when they are read (C50).
    """
    spec = crd["spec"]
    served = [version for version in spec["versions"] if version.get("served")]
    storage = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    served.sort(key=lambda version: version_priority(version["name"]))
    return [
        _type(crd, version, storage=storage, since=since, preferred=position == 0)
        for position, version in enumerate(served)
    ]


def version_priority(name: str) -> tuple[int, int, int, str]:
    """Sorts versions as the server prefers them: v2, v1, v1beta2, v1alpha1, then other names."""
    rest = name.removeprefix("v")
    major, minor, stage = "", "", 0
    for word, rank in (("alpha", 2), ("beta", 1)):
        if word in rest:
            major, _, minor = rest.partition(word)
            stage = rank
            break
    else:
        major = rest
    if not name.startswith("v") or not major.isdigit() or (minor and not minor.isdigit()):
        return (9, 0, 0, name)
    return (stage, -int(major), -int(minor or 0), "")


def _type(
    crd: Object, version: Mapping[str, Any], *, storage: str, since: int, preferred: bool
) -> ResourceType:
    spec, names = crd["spec"], crd["spec"]["names"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    subresources = version.get("subresources") or {}
    api_version = f"{spec['group']}/{version['name']}"
    has_status = "status" in subresources
    behaviour = _Behaviour(schema, kind=names["kind"], has_status=has_status)
    return ResourceType(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec["scope"] == "Namespaced",
        verbs=_VERBS,
        subresources=frozenset(subresources),
        scale=_scale(subresources.get("scale")),
        schema=schema,
        columns=custom_columns(version.get("additionalPrinterColumns") or ()),
        selectable={
            field["jsonPath"].removeprefix("."): _selectable(field["jsonPath"])
            for field in version.get("selectableFields") or ()
        },
        to_stored=partial(_with_version, api_version=f"{spec['group']}/{storage}"),
        from_stored=partial(behaviour.read, api_version=api_version, since=since),
        decode=behaviour.decode,
        prune=behaviour.prune,
        defaults=behaviour.defaults,
        prepare_create=behaviour.prepare_create,
        prepare_update=behaviour.prepare_update,
        validate=behaviour.validate,
        validate_status=behaviour.validate_status,
        unconditional_update=False,
        custom=True,
        preferred=preferred,
        deprecation=_deprecation(crd, version),
    )


def _deprecation(crd: Object, version: Mapping[str, Any]) -> str:
    """The warning of a deprecated version: its own text, or one that names a better version."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return version["deprecationWarning"]
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    served = [v["name"] for v in crd["spec"]["versions"] if v["served"] and not v.get("deprecated")]
    best = min(served, key=version_priority, default="")
    text = f"{group}/{version['name']} {kind} is deprecated"
    if not best or version_priority(best) > version_priority(version["name"]):
        return text
    return f"{text}; use {group}/{best} {kind}"


def _scale(paths: Mapping[str, Any] | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        spec_replicas=paths["specReplicasPath"].removeprefix("."),
        status_replicas=paths["statusReplicasPath"].removeprefix("."),
        selector=(paths.get("labelSelectorPath") or "").removeprefix("."),
    )


def _selectable(path: str) -> Callable[[Object], str]:
    compiled = compile_path(path)

    def read(obj: Object) -> str:
        value = compiled.first(obj)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def _with_version(obj: Object, *, api_version: str) -> Object:
    return obj if obj["apiVersion"] == api_version else {**obj, "apiVersion": api_version}


def _decode_metadata(obj: Object) -> None:
    metadata = obj.get("metadata")
    if metadata is None:
        obj["metadata"] = {}
        return
    if not isinstance(metadata, dict):
        word = {str: "string", bool: "bool", list: "array"}.get(type(metadata), "number")
        raise ValueError(f"json: cannot unmarshal {word} into Go value of type v1.ObjectMeta")
    encoding.decode(metadata, _OBJECT_META)
    for name in ("creationTimestamp",):
        if metadata.get(name) is None:
            metadata.pop(name, None)


class _Behaviour:
    """What a version's schema makes of its objects."""

    def __init__(self, schema: Schema, *, kind: str, has_status: bool) -> None:
        self._schema = CustomSchema(schema)
        self._kind = kind
        self._has_status = has_status
        status = (schema.get("properties") or {}).get("status") or {}
        self._has_default_status = has_status and status.get("default") is not None

    def decode(self, obj: Object) -> None:
        """Metadata in Go's form, here and in embedded objects; raises ValueError."""
        _decode_metadata(obj)
        self._schema.check_form(obj)

    def prune(self, obj: Object) -> list[str]:
        """Drop what the schema does not know (C49)."""
        return self._schema.prune(obj)

    def defaults(self, obj: Object) -> None:
        """Fill in defaults (C50)."""
        self._schema.defaults(obj)

    def read(self, obj: Object, *, api_version: str, since: int) -> Object:
        """A stored object in this version, pruned and defaulted if an older schema stored it.

        A create drops the status, also its default: that is filled in on reads.
        """
        is_whole = "status" in obj or not self._has_default_status
        if is_whole and int(obj["metadata"].get("resourceVersion", "0")) >= since:
            return _with_version(obj, api_version=api_version)
        made = {**clone(obj), "apiVersion": api_version}
        self.prune(made)
        self.defaults(made)
        return made

    def prepare_create(self, new: Object, host: Host) -> None:
        """Drop status where it is a subresource; the first generation (C1, C13, C18)."""
        if self._has_status:
            new.pop("status", None)
        new["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, host: Host) -> None:
        """Keep status where it is a subresource; move the generation (C16 to C18)."""
        if self._has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        if not same(self._content(new), self._content(old)):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _content(self, obj: Object) -> Object:
        aside = ("metadata", "status") if self._has_status else ("metadata",)
        return {key: value for key, value in obj.items() if key not in aside}

    def validate(self, new: Object, old: Object | None) -> list[FieldError]:
        """Type, schema, rules; rules are left out when other errors block them (C52)."""
        if new.get("kind") != self._kind:
            return [invalid_value("kind", new.get("kind"), f"must be {self._kind}")]
        if old is None:
            earlier = meta.create_errors(new, None, custom=True)
        else:
            earlier = meta.update_errors(new, old)
        return self._schema.validate(new, old, earlier=earlier)

    def validate_status(self, new: Object, old: Object) -> list[FieldError]:
        """The same for /status, with ratcheting (C21)."""
        return self._schema.validate_status(new, old, earlier=meta.update_errors(new, old))


# --- the controller ----------------------------------------------------------------


class Definitions:
    """Serves the definitions of one state, as they are written."""

    def __init__(self, state: State, writer: Writer, *, establish_seconds: float) -> None:
        self._state = state
        self._writer = writer
        self._establish_seconds = establish_seconds
        self._versions: dict[str, list[ResourceType]] = {}
        state.listeners.append(self._written)

    @property
    def _type(self) -> ResourceType:
        found = self._state.registry.find(GROUP, "v1", PLURAL)
        assert found is not None
        return found

    def delay_of(self, kind: ResourceType) -> float:
        """For how long a create of a fresh kind is still held back (C48)."""
        ready = self._state.created_after.get(kind.resource)
        return 0.0 if ready is None else ready - clock.monotonic()

    def is_terminating(self, kind: ResourceType) -> bool:
        """Whether the definition of a custom kind is being deleted."""
        crd = self._state.lookup(GROUP, PLURAL, "", kind.resource)
        return crd is not None and crd["metadata"].get("deletionTimestamp") is not None

    def _written(self, kind: ResourceType, old: Object | None, new: Object | None) -> None:
        if kind.storage_name == DEFINITIONS:
            if new is None:
                self._retire(old)
            elif new["metadata"].get("deletionTimestamp") is not None:
                self._finish(new)
            else:
                self._serve(old, new)
        elif kind.custom and new is None and self.is_terminating(kind):
            crd = self._state.lookup(GROUP, PLURAL, "", kind.resource)
            if crd is not None:
                self._finish(crd)

    def _serve(self, old: Object | None, crd: Object) -> None:
        wanted = self._wanted_status(crd)
        if is_established(wanted["conditions"]) and (
            old is None
            or crd["metadata"]["name"] not in self._versions
            or not same({"spec": old["spec"]}, {"spec": crd["spec"]})
        ):
            self._register(crd)
        before = crd.get("status") or {}
        if same({"status": wanted}, {"status": before}):
            return
        self._writer.put(self._type, crd, self._tracked(crd, {**clone(crd), "status": wanted}))
        given_up = before.get("acceptedNames")
        if given_up and given_up != wanted["acceptedNames"]:
            self._serve_others(crd)

    def _others(self, crd: Object) -> list[Object]:
        """The other definitions of a group."""
        group, name = crd["spec"]["group"], crd["metadata"]["name"]
        found = self._state.objects(GROUP, PLURAL)
        return [o for o in found if o["spec"]["group"] == group and o["metadata"]["name"] != name]

    def _serve_others(self, crd: Object) -> None:
        """Names of a definition are free: others of the group may have waited for them."""
        for other in self._others(crd):
            current = self._state.lookup(GROUP, PLURAL, "", other["metadata"]["name"])
            if current is not None and current["metadata"].get("deletionTimestamp") is None:
                self._serve(current, current)

    def _register(self, crd: Object) -> None:
        name = crd["metadata"]["name"]
        before = {one.version for one in self._versions.get(name, ())}
        since = self._state.storage.revision
        types = types_of(crd, since=since)
        for version in before - {one.version for one in types}:
            self._state.registry.remove(
                crd["spec"]["group"], version, crd["spec"]["names"]["plural"]
            )
        for one in types:
            self._state.registry.add(one)
        if name not in self._versions and self._establish_seconds:
            ready = clock.monotonic() + self._establish_seconds
            self._state.created_after[name] = ready
        self._versions[name] = types

    def _retire(self, crd: Object | None) -> None:
        if crd is None:
            return
        name = crd["metadata"]["name"]
        self._state.created_after.pop(name, None)
        for one in self._versions.pop(name, ()):
            self._state.registry.remove(one.group, one.version, one.plural)
        self._serve_others(crd)

    def _finish(self, crd: Object) -> None:
        """Delete the instances; when none is left, take our finalizer off (C71)."""
        types = self._versions.get(crd["metadata"]["name"])
        if types and self._delete_instances(types[0]):
            self._say_terminating(crd)
            return
        current = self._state.lookup(GROUP, PLURAL, "", crd["metadata"]["name"])
        if current is None:
            return
        left = [f for f in current["metadata"].get("finalizers") or () if f != CLEANUP]
        if left:
            if len(left) != len(current["metadata"].get("finalizers") or ()):
                new = clone(current)
                new["metadata"]["finalizers"] = left
                self._writer.put(self._type, current, new)
            return
        self._writer.remove(self._type, current)

    def _delete_instances(self, kind: ResourceType) -> bool:
        """Delete every instance; whether some stay for their finalizers."""
        remaining = False
        for _, stored in self._state.storage.scan(kind.storage_name):
            obj = self._state.view(kind, stored)
            if obj["metadata"].get("finalizers"):
                remaining = True
                if obj["metadata"].get("deletionTimestamp") is None:
                    new = clone(obj)
                    new["metadata"]["deletionTimestamp"] = clock.timestamp(clock.now())
                    new["metadata"]["deletionGracePeriodSeconds"] = 0
                    new["metadata"]["generation"] = obj["metadata"].get("generation", 0) + 1
                    self._writer.put(kind, obj, new)
            else:
                # Not told to the listeners: this is the listener that would finish the definition.
                self._writer.remove(kind, obj, quietly=True)
        return remaining

    def _say_terminating(self, crd: Object) -> None:
        status = clone(crd.get("status") or {})
        reason = "InstanceDeletionInProgress"
        for condition in status.get("conditions") or ():
            if condition["type"] == "Terminating" and condition["reason"] != reason:
                condition["reason"] = reason
                condition["message"] = "CustomResource deletion is in progress"
        if same({"status": status}, {"status": crd.get("status")}):
            return
        new = clone(crd)
        new["status"] = status
        self._writer.put(self._type, crd, self._tracked(crd, new))

    def _tracked(self, old: Object, new: Object) -> Object:
        return track_update(
            old,
            new,
            manager="kube-apiserver",
            api_version=f"{GROUP}/v1",
            subresource="status",
            schema=self._type.full_schema(),
            now=clock.timestamp(clock.now()),
        )

    # --- status -------------------------------------------------------------------------------

    def _wanted_status(self, crd: Object) -> Object:
        spec = crd["spec"]
        status = crd.get("status") or {}
        names, conditions = decide(crd, self._others(crd))
        storage = next(v["name"] for v in spec["versions"] if v.get("storage"))
        stored = list(status.get("storedVersions") or ())
        if storage not in stored:
            stored.append(storage)
        return {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
