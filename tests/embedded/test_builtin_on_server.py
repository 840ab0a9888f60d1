"""The record of a real server's answers, and the extracted data, are those of a real server.

``KONSTAT_RECORD_ANSWERS=1`` writes the record anew.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from builtin_bench import (
    ANSWERS,
    TYPES,
    answers,
    changed,
    difference,
    manifests,
    masked,
    mistakes,
    plain,
    refusal,
)
from builtin_statuses import POD_STATUSES

from konstat.base import chance, clock
from konstat.base.transport import Request
from konstat.client.api import Client
from konstat.embedded.builtin import definitions
from konstat.embedded.registry import ResourceType
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi
Object = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
UNSTEADY = ("Age", "Created At", "Last Seen", "First Seen", "Name")
ROOT = Path(__file__).resolve().parents[2]

_REVISION = "metadata.annotations.deployment.kubernetes.io/revision"


class Server:
    """A real server, asked in bytes."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def path(self, kind: ResourceType, *, namespace: str = "", name: str = "") -> str:
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        inside = f"/namespaces/{namespace or self._namespace}" if kind.namespaced else ""
        return f"{root}{inside}/{kind.plural}{f'/{name}' if name else ''}"

    async def ask(
        self, method: str, path: str, body: Any = None, accept: str = "application/json"
    ) -> Object:
        headers = (("Accept", accept), ("Content-Type", "application/json"))
        sent = b"" if body is None else json.dumps(body).encode()
        request = Request(method=method, path=path, headers=headers, body=sent)
        return json.loads((await self._client.transport.send(request)).body)


def is_status(answer: Object) -> bool:
    return answer.get("kind") == "Status" and answer.get("status") == "Failure"


async def record_manifests(server: Server) -> Object:
    found: Object = {}
    for name, given in manifests():
        kind = TYPES[given["apiVersion"], given["kind"]]
        path = f"{server.path(kind, namespace='default')}?dryRun=All"
        created = await server.ask("POST", path, given)
        assert not is_status(created), created
        table = await server.ask("POST", f"{path}&includeObject=None", given, accept=TABLE)
        columns = table["columnDefinitions"]
        cells = zip(columns, table["rows"][0]["cells"], strict=True)
        found[name] = {
            "object": plain(created),
            "columns": [[c["name"], c["type"], c["format"], c["priority"]] for c in columns],
            "cells": masked({c["name"]: cell for c, cell in cells if c["name"] not in UNSTEADY}),
        }
    return found


async def record_creates(server: Server, corpus: Mapping[str, Any]) -> Object:
    found: Object = {}
    for case in corpus["creates"]:
        base, path, value = case
        given = changed(corpus["bases"][base], path, value)
        kind = TYPES[given["apiVersion"], given["kind"]]
        where = f"{server.path(kind, namespace='default')}?dryRun=All"
        answer = await server.ask("POST", where, given)
        found[repr(case)] = refusal(answer) if is_status(answer) else {"code": 201}
    return found


async def record_updates(server: Server, corpus: Mapping[str, Any]) -> Object:
    found: Object = {}
    for number, case in enumerate(corpus["updates"]):
        base, first_path, first, path, value = case
        given = changed(corpus["bases"][base], first_path, first)
        given["metadata"]["name"] += f"-{number}-{chance.suffix(4)}"
        kind = TYPES[given["apiVersion"], given["kind"]]
        created = await server.ask("POST", server.path(kind), given)
        assert not is_status(created), created
        where = server.path(kind, name=created["metadata"]["name"])
        try:
            found[repr(case)] = await one_update(server, where, path, value)
        finally:
            await server.ask("DELETE", where, {"gracePeriodSeconds": 0})
    return found


async def one_update(server: Server, where: str, path: str, value: Any) -> Object:
    """One dry-run PUT; controllers may write in between, so a conflict is tried again."""
    deadline = clock.monotonic() + 10
    while True:
        old = await server.ask("GET", where)
        answer = await server.ask("PUT", f"{where}?dryRun=All", changed(old, path, value))
        if not is_status(answer):
            found = masked(difference(answer, old))
            # The controller-manager writes it when it likes; replacing annotations takes it away.
            found.pop(_REVISION, None)
            return {"code": 200, "changed": found}
        if answer["code"] != 409 or clock.monotonic() > deadline:
            return refusal(answer, old["metadata"]["name"])


def lines(record: Mapping[str, Any]) -> str:
    """One line per answer."""
    sections = (
        f"{json.dumps(section)}:{{\n"
        + ",\n".join(
            f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'), sort_keys=True)}"
            for key, value in record[section].items()
        )
        + "\n}"
        for section in record
    )
    return "{" + ",\n".join(sections) + "}\n"


async def test_the_record_of_answers_is_current(
    control_plane: ControlPlane, namespace: str
) -> None:
    corpus = mistakes()
    async with control_plane.client() as client:
        server = Server(client, namespace)
        record = {
            "manifests": await record_manifests(server),
            "creates": await record_creates(server, corpus),
            "updates": await record_updates(server, corpus),
        }
        # Controllers write into what was just created, now before a question and now after it:
        # what differs for that reason is as recorded when it is asked again.
        expected = answers()["updates"]
        for _ in range(2):
            found = record["updates"]
            differs = [c for c in corpus["updates"] if found[repr(c)] != expected.get(repr(c))]
            found |= await record_updates(server, {**corpus, "updates": differs})
    if os.environ.get("KONSTAT_RECORD_ANSWERS"):
        ANSWERS.write_text(lines(record))
    recorded = answers()
    for section, found in record.items():
        stale = {key: value for key, value in found.items() if recorded[section].get(key) != value}
        assert stale == {}, section


# --- data and discovery -----------------------------------------------------------------------


def extraction() -> ModuleType:
    path = ROOT / "tools/extract_schemas.py"
    spec = importlib.util.spec_from_file_location("extract_schemas", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


async def test_the_extracted_schemas_are_current(control_plane: ControlPlane) -> None:
    async with control_plane.client() as client:
        served = await extraction().read_server(client)
    assert served == definitions.definitions()


async def test_C99_kinds_are_served_as_on_a_real_server(control_plane: ControlPlane) -> None:
    differing: list[Any] = []
    async with control_plane.client() as client:
        for kind in TYPES.values():
            root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
            served = json.loads(await client.exchange("GET", root))["resources"]
            one = next(r for r in served if r["name"] == kind.plural)
            theirs = (
                one["kind"], one["singularName"], one["namespaced"], sorted(one["verbs"]),
                sorted(one.get("shortNames", ())), sorted(one.get("categories", ())),
                sorted(r["name"].partition("/")[2] for r in served
                       if r["name"].startswith(f"{kind.plural}/")),
            )  # fmt: skip
            ours = (
                kind.kind, kind.singular_name, kind.namespaced, sorted(kind.verbs),
                sorted(kind.short_names), sorted(kind.categories), sorted(kind.subresources),
            )  # fmt: skip
            if theirs != ours:
                differing.append((theirs, ours))
    assert differing == []


async def test_selectable_fields_are_those_of_a_real_server(control_plane: ControlPlane) -> None:
    refused: list[str] = []
    async with control_plane.client() as client:
        server = Server(client, "default")
        for kind in TYPES.values():
            for field in kind.selectable:
                value = "true" if field == "spec.unschedulable" else "x"
                path = f"{server.path(kind)}?fieldSelector={field}%3D{value}"
                answer = await server.ask("GET", path)
                if is_status(answer):
                    refused.append(f"{kind.resource} {field}: {answer['message']}")
    assert refused == []


async def test_C98_rows_of_pods_that_ran_are_those_of_a_real_server(
    control_plane: ControlPlane, namespace: str
) -> None:
    kind = TYPES["v1", "Pod"]
    differing: list[Any] = []
    async with control_plane.client() as client:
        server = Server(client, namespace)
        for number, (spec, status) in enumerate(POD_STATUSES):
            name = f"p-{number}"
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
            path = server.path(kind, name=name)
            assert not is_status(await server.ask("POST", server.path(kind), pod))
            current = await server.ask("GET", path)
            current["status"] |= status
            answer = await server.ask("PUT", f"{path}/status", current)
            assert not is_status(answer), answer
            table = await server.ask("GET", f"{path}?includeObject=Object", accept=TABLE)
            row = table["rows"][0]
            cells = [column.cells(row["object"], clock.now()) for column in kind.columns]
            theirs = [cell for i, cell in enumerate(row["cells"]) if i != 4]
            ours = [cell for i, cell in enumerate(cells) if i != 4]
            if theirs != ours:
                differing.append((theirs, ours))
    assert differing == []
