"""The corpus of built-in manifests, a bench to create them on without a server, and masks.

What a real server answers to the corpus is recorded in ``answers.json`` beside it: the offline
tests compare our hooks with the record, a test on the rig compares the record with a server.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from konstat.embedded import metadata
from konstat.embedded.builtin.catalog import builtin_types
from konstat.embedded.registry import ResourceType
from konstat.embedded.status_errors import StatusError, bad_request, invalid

Object = dict[str, Any]
CORPUS = Path(__file__).resolve().parents[1] / "embedded/builtin_corpus"
ANSWERS = CORPUS / "answers.json"
UID = "00000000-0000-0000-0000-000000000000"
TYPES = {(one.api_version, one.kind): one for one in builtin_types()}
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def manifests() -> Iterator[tuple[str, Object]]:
    """Every good manifest, with a name for it."""
    for path in sorted(CORPUS.glob("*.yaml")):
        if path.name != "mistakes.yaml":
            for index, one in enumerate(yaml.safe_load_all(path.read_text())):
                yield f"{path.stem}-{index}-{one['kind']}", one


def mistakes() -> Object:
    """Bases, mistakes of creation and updates."""
    return yaml.safe_load((CORPUS / "mistakes.yaml").read_text())


def answers() -> Object:
    return json.loads(ANSWERS.read_text())


def changed(obj: Object, path: str | None, value: Any) -> Object:
    """A copy with the value at a dotted path (numbers are indices) set, or removed by None."""
    made = copy.deepcopy(obj)
    if path is None:
        return made
    *parents, last = path.split(".")
    place: Any = made
    for key in parents:
        place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
    if isinstance(place, list):
        place[int(last) : int(last) + 1] = [] if value is None else [value]
    elif value is None:
        place.pop(last, None)
    else:
        place[last] = value
    return made


# --- the bench --------------------------------------------------------------------------------


class Bench:
    """A Host with a handful of objects, and the steps of a write around the hooks."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str, str, str], Object] = {}
        self.addresses = 0
        account = {"metadata": {"name": "default", "namespace": "default"}}
        self.stored["", "serviceaccounts", "default", "default"] = account

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        return self.stored.get((group, plural, namespace, name))

    def objects(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]:
        return [
            obj
            for key, obj in self.stored.items()
            if key[:2] == (group, plural) and namespace in ("", key[2])
        ]

    def next_cluster_ip(self) -> str:
        self.addresses += 1
        return f"10.96.0.{self.addresses}"

    def next_node_port(self) -> int:
        self.addresses += 1
        return 31000 + self.addresses

    def now(self) -> datetime:
        return NOW

    def create(self, given: Object, *, namespace: str = "default") -> Object:
        """What a create answers; raises StatusError."""
        kind, new = TYPES[given["apiVersion"], given["kind"]], copy.deepcopy(given)
        self._read(kind, new)
        new["metadata"]["uid"] = UID
        if kind.namespaced:
            new["metadata"]["namespace"] = namespace
        if "generateName" in new["metadata"]:
            new["metadata"]["name"] = f"{new['metadata']['generateName']}abcde"
        kind.prepare_create(new, self)
        causes = metadata.create_errors(new, kind.name_problems, custom=False)
        self._refuse(kind, new, [*causes, *kind.validate(new, None)])
        key = (kind.group, kind.plural, new["metadata"].get("namespace", ""))
        self.stored[*key, new["metadata"]["name"]] = new
        return copy.deepcopy(new)

    def update(self, given: Object, old: Object) -> Object:
        """What a PUT answers; raises StatusError."""
        kind, new = TYPES[given["apiVersion"], given["kind"]], copy.deepcopy(given)
        before = copy.deepcopy(old)
        self._read(kind, new)
        kind.prepare_update(new, old, self)
        self._refuse(kind, new, [*metadata.update_errors(new, old), *kind.validate(new, old)])
        assert old == before, "a hook changed stored state"
        return new

    @staticmethod
    def _read(kind: ResourceType, obj: Object) -> None:
        try:
            kind.decode(obj)
        except ValueError as error:
            name, version = obj["kind"], kind.version
            problem = f'{name} in version "{version}" cannot be handled as a {name}: {error}'
            raise bad_request(problem) from error
        kind.defaults(obj)

    @staticmethod
    def _refuse(kind: ResourceType, obj: Object, causes: list[Any]) -> None:
        if causes:
            raise invalid(kind.group, kind.kind, obj["metadata"]["name"], causes)


# --- outcomes ---------------------------------------------------------------------------------

_MASKS = (
    (r"kube-api-access-\w{5}", "kube-api-access-MASK"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'"(nodePort|healthCheckNodePort)": 3(?!0123)\d{4}', r'"\1": 0'),
    (r'(?<=[": \[])10\.96\.\d+\.\d+(?=[" \]])', "10.96.0.1"),
    (r":3(?!0123)\d{4}/", ":0/"),
    (r'"(lastPhaseTransitionTime|lastTransitionTime)": "[^"]*"', r'"\1": "MASK"'),
)


def masked(value: Any) -> Any:
    """Without what differs from run to run."""
    text = json.dumps(value, sort_keys=True)
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text)
    return json.loads(text)


def plain(obj: Object) -> Object:
    """An object without what every server makes up by itself."""
    made = copy.deepcopy(obj)
    meta = made["metadata"]
    for key in ("uid", "creationTimestamp", "managedFields", "resourceVersion", "namespace"):
        meta.pop(key, None)
    if "generateName" in meta:
        meta.pop("name", None)
    return masked(made)


def refusal(status: Object, name: str = "") -> Object:
    """What a Status says: its code, and its causes or its message."""
    causes = [
        [cause["field"], cause["reason"], _located(cause["message"])]
        for cause in (status.get("details") or {}).get("causes", ())
    ]
    said = {"code": status["code"], "causes": causes}
    if not causes:
        said["message"] = status["message"]
    return masked(json.loads(json.dumps(said).replace(name or "\0", "NAME")))


def _located(message: str) -> str:
    """Without the line numbers of a difference: they move with what controllers added."""
    return re.sub(r"@@ .* @@", "@@", message)


def outcome_of(bench: Bench, given: Object) -> Object:
    """The outcome of a create on the bench."""
    try:
        bench.create(given)
    except StatusError as error:
        return refusal(error.status())
    return {"code": 201}


def difference(new: Any, old: Any, path: str = "") -> dict[str, Any]:
    """Where two objects differ, by path, with the new value."""
    if isinstance(new, dict) and isinstance(old, dict):
        found: dict[str, Any] = {}
        for key in sorted({**new, **old}):
            where = f"{path}.{key}" if path else key
            if where not in ("metadata.managedFields", "metadata.resourceVersion"):
                found |= difference(new.get(key), old.get(key), where)
        return found
    return {} if new == old else {path: new}
