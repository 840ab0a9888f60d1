"""The embedded server answers to the corpus of built-in manifests as a real server was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builtin_bench import (
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

from konstat.base.transport import Request, Response
from konstat.embedded.registry import ResourceType
from konstat.embedded.server import EmbeddedServer

Object = dict[str, Any]
ANSWERS = answers()


class Served:
    """An embedded server with the ServiceAccount that Pods want."""

    def __init__(self) -> None:
        self._server = EmbeddedServer()
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)

    def ask(self, method: str, path: str, body: Any = None) -> Object:
        headers = (("Accept", "application/json"), ("Content-Type", "application/json"))
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self._server.handle(Request(method=method, path=path, headers=headers, body=sent))
        assert isinstance(answer, Response)
        return json.loads(answer.body)


def path(kind: ResourceType, name: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = "/namespaces/default" if kind.namespaced else ""
    return f"{root}{inside}/{kind.plural}{f'/{name}' if name else ''}"


def is_status(answer: Object) -> bool:
    return answer.get("kind") == "Status" and answer.get("status") == "Failure"


@pytest.fixture
def served() -> Served:
    return Served()


def test_C45_every_good_manifest_is_answered_as_by_a_real_server(served: Served) -> None:
    found: Object = {}
    for name, given in manifests():
        kind = TYPES[given["apiVersion"], given["kind"]]
        found[name] = plain(served.ask("POST", f"{path(kind)}?dryRun=All", given))
    assert found == {name: one["object"] for name, one in ANSWERS["manifests"].items()}


def test_C51_every_mistake_is_answered_as_by_a_real_server(served: Served) -> None:
    corpus, found = mistakes(), {}
    for case in corpus["creates"]:
        base, place, value = case
        given = changed(corpus["bases"][base], place, value)
        kind = TYPES[given["apiVersion"], given["kind"]]
        answer = served.ask("POST", f"{path(kind)}?dryRun=All", given)
        found[repr(case)] = refusal(answer) if is_status(answer) else {"code": 201}
    assert found == ANSWERS["creates"]


def test_every_update_is_answered_as_by_a_real_server(served: Served) -> None:
    corpus, found = mistakes(), {}
    for number, case in enumerate(corpus["updates"]):
        base, first_place, first, place, value = case
        given = changed(corpus["bases"][base], first_place, first)
        given["metadata"]["name"] += f"-{number}-test"
        kind = TYPES[given["apiVersion"], given["kind"]]
        name = served.ask("POST", path(kind), given)["metadata"]["name"]
        old = served.ask("GET", path(kind, name))
        answer = served.ask("PUT", f"{path(kind, name)}?dryRun=All", changed(old, place, value))
        found[repr(case)] = (
            refusal(answer, name)
            if is_status(answer)
            else {"code": 200, "changed": masked(difference(answer, old))}
        )
    assert found == ANSWERS["updates"]
