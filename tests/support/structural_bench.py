"""The corpus of definitions, values, rules and updates, and our answers in the record's form.

Every case carries the causes with which a real server answers it: the offline tests compare our
answers with the record, the tests on the rig compare the record with a server.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural.crd import check_crd
from konstat.embedded.structural.custom import CustomSchema

Object = dict[str, Any]
Causes = list[list[str]]
CORPUS = Path(__file__).resolve().parents[1] / "embedded/structural_corpus"
GROUP = "structural.example.com"
_OWN = ("apiVersion", "kind", "metadata")


def load(name: str) -> Object:
    return json.loads((CORPUS / f"{name}.json").read_text())


def save(name: str, content: Object) -> None:
    """Write a corpus, one case a line."""
    head = json.dumps({k: v for k, v in content.items() if k != "cases"}, ensure_ascii=False)
    start = "{" if head == "{}" else f"{head[:-1]}, "
    cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in content["cases"])
    (CORPUS / f"{name}.json").write_text(f'{start}"cases": [\n{cases}\n]}}\n')


def causes(found: Iterable[FieldError | tuple[str, str, str] | list[str]]) -> Causes:
    """Errors in the record's form.

    A server has no order among the fields of a map, and numbers the types that it makes.
    """
    return sorted([f, r, re.sub(r"selfType\d*", "selfType", m)] for f, r, m in found)


def told(status: Object) -> Causes:
    """The causes in the Status of a real server."""
    given = (status.get("details") or {}).get("causes") or []
    return causes((c.get("field", ""), c.get("reason", ""), c["message"]) for c in given)


# --- definitions ------------------------------------------------------------------------------


def definition(schema: Object, plural: str = "widgets", kind: str = "Widget") -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def completed(crd: Object) -> Object:
    """A definition with the defaults that a server fills in before it judges it."""
    made = copy.deepcopy(crd)
    names = made["spec"]["names"]
    names.setdefault("singular", names.get("kind", "").lower())
    if names.get("kind"):
        names.setdefault("listKind", f"{names['kind']}List")
    made["spec"].setdefault("conversion", {"strategy": "None"})
    versions = made["spec"].get("versions") or ()
    stored = [version["name"] for version in versions if version.get("storage")]
    made.setdefault("status", {})["storedVersions"] = stored[:1]
    return made


def definition_causes(crd: Object) -> Causes:
    return causes(check_crd(completed(crd)))


def ruled(node: Object, *rules: Object) -> Object:
    """A schema whose spec has the rules."""
    return {
        "type": "object",
        "properties": {"spec": {**node, "x-kubernetes-validations": list(rules)}},
    }


def run_schema(node: Object, rules: Iterable[tuple[str, str]]) -> Object:
    """A schema whose spec has one field for each rule, all of one form."""
    fields = {name: {**node, "x-kubernetes-validations": [{"rule": rule}]} for name, rule in rules}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


# --- objects ----------------------------------------------------------------------------------


def numbers(value: Any) -> Any:
    """JSON as a server reads it: whole numbers beyond 64 bits are floats."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v) for v in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two contents are equal; a server stores 5.0 as 5."""
    return _floats(one) == _floats(other)


def _floats(value: Any) -> str:
    def shown(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {k: shown(v) for k, v in inner.items()}
        if isinstance(inner, list):
            return [shown(v) for v in inner]
        return float(inner) if isinstance(inner, int) and not isinstance(inner, bool) else inner

    return json.dumps(shown(value), sort_keys=True)


def contents(obj: Object) -> Object:
    """An object without what every object has."""
    return {k: v for k, v in obj.items() if k not in _OWN}


def whole(content: Object, kind: str = "Widget") -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        **copy.deepcopy(content),
    }


def creation(schema: CustomSchema, obj: Object) -> Object:
    """Our answer to a creation: causes, and what is stored; or the text of a refusal."""
    made = numbers(copy.deepcopy(obj))
    try:
        schema.check_form(made)
        schema.prune(made)
    except ValueError as refused:
        return {"refused": str(refused)}
    schema.defaults(made)
    found = causes(schema.validate(made, None))
    return {"causes": found} if found else {"causes": found, "stored": contents(made)}


def agreed(ours: Object, theirs: Object) -> bool:
    """Whether two answers to a creation are one."""
    if "refused" in ours and "refused" in theirs:
        return ours["refused"] in theirs["refused"]
    stored = ("stored" in ours) == ("stored" in theirs)
    return (
        ours.get("causes") == theirs.get("causes")
        and stored
        and same(ours.get("stored"), theirs.get("stored"))
    )


def update_causes(schema: CustomSchema, new: Object, old: Object, *, status: bool) -> Causes:
    """Our causes to an update of the object, or of its status."""
    mine, stored = numbers(copy.deepcopy(new)), numbers(copy.deepcopy(old))
    for one in (mine, stored):
        schema.prune(one)
        schema.defaults(one)
    if not status:
        return causes(schema.validate(mine, stored))
    written = {k: v for k, v in stored.items() if k != "status"}
    if "status" in mine:
        written["status"] = mine["status"]
    return causes(schema.validate_status(written, stored))


def edited(obj: Object, edits: Iterable[list[Any]], part: str) -> Object | None:
    """A copy with edits under ``part``: ``[path, value]``, or ``[path]`` to remove.

    None where a path leads nowhere.
    """
    made = copy.deepcopy(obj)
    for path, *value in edits:
        place: Any = made[part]
        try:
            for key in path[:-1]:
                place = place[key]
            if value:
                place[path[-1]] = value[0]
            else:
                del place[path[-1]]
        except (KeyError, IndexError):
            return None
    return made


def chunks(cases: list[Object], size: int) -> Iterator[list[Object]]:
    for start in range(0, len(cases), size):
        yield cases[start : start + size]
