from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from konstat.base.transport import Request, Response, Stream
from konstat.cli.status.gather import gather, read_all
from konstat.cli.status.plan import Plan
from konstat.client.api import Client
from konstat.errors import Forbidden, TransportError
from konstat.kinds import Pod, Secret, StorageClass
from konstat.objects.kind import Kind

WEB_APP = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
NODE_POOL = Kind(
    group="demo.example.com", version="v1", kind="Pool", plural="pools", namespaced=False
)

Answer = Callable[[str, dict[str, str], Request], tuple[int, Any]]


class Server:
    """A transport that answers from a function of path and query."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        url = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        status, content = self.answer(url.path, query, request)
        headers = {"content-type": "application/json"}
        return Response(status=status, headers=headers, body=json.dumps(content).encode())

    async def open(self, request: Request) -> Stream:
        raise TransportError("no streams here")

    async def close(self) -> None:
        return None


def item(name: str, *owners: str, **parts: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "demo", "uid": name}
    metadata["managedFields"] = [{"manager": "kubectl"}]
    if owners:
        metadata["ownerReferences"] = [{"uid": owner} for owner in owners]
    return {"metadata": metadata, **parts}


def listed(*items: dict[str, Any], token: str = "") -> tuple[int, Any]:
    return 200, {"metadata": {"resourceVersion": "1", "continue": token}, "items": list(items)}


def refused(code: int, reason: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "reason": reason, "message": "no", "code": code}


async def test_F8_an_expired_token_never_mixes_two_moments() -> None:
    def answer(path: str, query: dict[str, str], request: Request) -> tuple[int, Any]:
        if "continue" in query:
            return refused(410, "Expired")
        if "limit" in query:
            return listed(item("old"), token="next")
        return listed(item("new"), item("newer"))

    found = await read_all(Client(Server(answer)), Pod.kind, namespace="demo")
    assert [content["metadata"]["name"] for content in found] == ["new", "newer"]


async def test_pages_are_followed_and_items_know_their_kind() -> None:
    def answer(path: str, query: dict[str, str], request: Request) -> tuple[int, Any]:
        return listed(item("b")) if "continue" in query else listed(item("a"), token="next")

    found = await read_all(Client(Server(answer)), Pod.kind, namespace=None)
    assert [content["metadata"]["name"] for content in found] == ["a", "b"]
    assert all((c["apiVersion"], c["kind"]) == ("v1", "Pod") for c in found)
    assert all("managedFields" not in c["metadata"] for c in found)


async def test_of_a_secret_only_metadata_is_asked_for_and_kept() -> None:
    server = Server(lambda path, query, request: listed(item("s", "x", data={"password": "aGk="})))
    (found,) = await read_all(Client(server), Secret.kind, namespace="demo", metadata_only=True)
    assert set(found) == {"apiVersion", "kind", "metadata"}
    accept = dict(server.requests[0].headers)["Accept"]
    assert accept.startswith("application/json;as=PartialObjectMetadataList")


async def test_only_objects_with_owners_are_kept_and_refused_kinds_are_named() -> None:
    def answer(path: str, query: dict[str, str], request: Request) -> tuple[int, Any]:
        if path.endswith("/webapps/shop"):
            return 200, item("shop")
        if path.endswith("/pods"):
            return listed(item("mine", "shop"), item("nobodys"))
        if path.endswith("/storageclasses"):
            return refused(403, "Forbidden")
        return refused(500, "InternalError") if path.endswith("/secrets") else listed()

    plan = Plan(
        resources=(WEB_APP,),
        name="shop",
        namespace="demo",
        children=(Pod.kind, Secret.kind),
        looked_up=frozenset({StorageClass.kind}),
    )
    world = await gather(Client(Server(answer)), plan)
    assert [pod["metadata"]["name"] for pod in world.objects["", "Pod"]] == ["mine"]
    assert world.unread == {Secret.kind: "HTTP 500: no"}


async def test_children_of_a_cluster_scoped_resource_may_be_anywhere() -> None:
    paths: list[str] = []

    def answer(path: str, query: dict[str, str], request: Request) -> tuple[int, Any]:
        paths.append(path)
        if path.endswith("/pools/big"):
            return 200, {"metadata": {"name": "big", "uid": "big"}}
        return listed()

    plan = Plan(resources=(NODE_POOL,), name="big", namespace="demo", children=(Pod.kind,))
    await gather(Client(Server(answer)), plan)
    assert paths == ["/apis/demo.example.com/v1/pools/big", "/api/v1/pods"]


async def test_one_refused_kind_of_several_is_named_and_all_refused_is_an_error() -> None:
    def answer(path: str, query: dict[str, str], request: Request) -> tuple[int, Any]:
        return listed(item("shop")) if path.endswith("/webapps") else refused(403, "Forbidden")

    several = Plan(resources=(WEB_APP, NODE_POOL), namespace="demo")
    world = await gather(Client(Server(answer)), several)
    assert [found["metadata"]["name"] for found in world.resources] == ["shop"]
    assert world.unread == {NODE_POOL: "forbidden"}
    with pytest.raises(Forbidden):
        await gather(
            Client(Server(lambda *_: refused(403, "Forbidden"))),
            Plan(resources=(WEB_APP, NODE_POOL), namespace="demo"),
        )
