"""Definitions on a real server: served, refused, and tightened under an object that is stored."""

from __future__ import annotations

import copy
from typing import Any

from apply_rig import CRDS, Wire
from structural_bench import GROUP, Causes, Object, definition, told, whole

from konstat.base import clock

LOOSE: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TRIES = 200


async def refusal(wire: Wire, crd: Object) -> Causes:
    """The causes for which a server refuses a definition."""
    answer = await wire.send("POST", f"{CRDS}?dryRun=All", crd)
    assert answer.code in (201, 422), (answer, crd)
    return told(answer.body) if answer.code == 422 else []


async def served(wire: Wire, schema: Object, plural: str, **version: Any) -> str:
    """Have a definition served; the path of its objects."""
    crd = definition(schema, plural, plural.title())
    crd["spec"]["versions"][0].update(version)
    await wire.define(crd)
    path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
    for _ in range(_TRIES):
        if (await wire.send("GET", path)).code == 200:
            return path
        await clock.sleep(0.02)
    raise AssertionError(f"{plural} is not served")


async def removed(wire: Wire, plural: str) -> None:
    await wire.send("DELETE", f"{CRDS}/{plural}.{GROUP}")


async def tightened(wire: Wire, plural: str, content: Object, schema: Object) -> str:
    """The path of an object that was stored before its definition had a schema.

    With a status in the content, the definition has the subresource.
    """
    subresources = {"status": {}} if "status" in content else {}
    folder = await served(wire, LOOSE, plural, subresources=subresources)
    path = f"{folder}/x"
    created = await wire.send("POST", folder, whole(content, plural.title()))
    assert created.code == 201, created
    if subresources:
        written = {**created.body, "status": content["status"]}
        assert (await wire.send("PUT", f"{path}/status", written)).code == 200
    crd = (await wire.send("GET", f"{CRDS}/{plural}.{GROUP}")).body
    properties = {**schema["properties"], "inForce": {"type": "integer"}}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {**schema, "properties": properties}
    changed = await wire.send("PUT", f"{CRDS}/{plural}.{GROUP}", crd)
    assert changed.code == 200, changed
    for _ in range(_TRIES):
        probe = copy.deepcopy((await wire.send("GET", path)).body)
        probe["inForce"] = "not yet"
        if (await wire.send("PUT", f"{path}?dryRun=All", probe)).code == 422:
            return path
        await clock.sleep(0.02)
    raise AssertionError("the schema is not in force")
