"""The verbs: what they ask of the server, and as what they give its answer back."""

from __future__ import annotations

import json

import pytest

from konstat.client.api import Client
from konstat.errors import Conflict, Expired, ManifestError, TransportError
from konstat.objects.kind import Kind
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource, Unstructured

WIDGETS = Kind(group="demo.example.com", version="v1", kind="Widget", plural="widgets")
NODES = Kind(group="", version="v1", kind="Node", plural="nodes", namespaced=False)
PATH = "/apis/demo.example.com/v1/namespaces/default/widgets"
CONTENT = {
    "apiVersion": "demo.example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"size": 3},
}


class WidgetSpec(Spec):
    size: int = 0


class WidgetStatus(Status):
    seen: int = 0


class Widget(Resource[WidgetSpec, WidgetStatus], group="demo.example.com", version="v1"):
    pass


class Server:
    """A client over prepared answers, and what was asked."""

    def __init__(self, transport) -> None:
        self.transport = transport
        self.client = Client(transport, field_manager="me")

    @property
    def asked(self) -> list[tuple[str, str]]:
        return [(request.method, request.path) for request in self.transport.requests]

    @property
    def body(self):
        return json.loads(self.transport.requests[-1].body)

    @property
    def content_type(self) -> str:
        return dict(self.transport.requests[-1].headers)["Content-Type"]


@pytest.fixture
def serve(fake_transport, answered):
    def make(*answers) -> Server:
        prepared = [a if not isinstance(a, dict) else answered(200, a) for a in answers]
        return Server(fake_transport(*(prepared or [answered(200, CONTENT)])))

    return make


async def test_get_gives_the_class_or_a_dict(serve):
    server = serve()
    widget = await server.client.get(Widget, "a")
    assert (type(widget), widget.spec.size) == (Widget, 3)
    assert await server.client.get(WIDGETS, "a", namespace="n", subresource="status") == CONTENT
    await server.client.get(NODES, "n/1", resource_version="0")
    assert server.asked == [
        ("GET", f"{PATH}/a"),
        ("GET", "/apis/demo.example.com/v1/namespaces/n/widgets/a/status"),
        ("GET", "/api/v1/nodes/n%2F1?resourceVersion=0"),
    ]


async def test_create_from_an_object_or_from_content(serve):
    server = serve()
    made = await server.client.create(Widget.named("a", size=3))
    assert (type(made), made.name) == (Widget, "a")
    assert server.body == {k: v for k, v in CONTENT.items() if k != "metadata"} | {
        "metadata": {"name": "a"}
    }
    content = {"metadata": {"generateName": "x-", "namespace": "n"}}
    await server.client.create(
        WIDGETS, content, dry_run=True, field_validation="Warn", field_manager="you"
    )
    assert server.body == {"apiVersion": "demo.example.com/v1", "kind": "Widget", **content}
    assert server.asked == [
        ("POST", f"{PATH}?fieldManager=me&fieldValidation=Strict"),
        (
            "POST",
            "/apis/demo.example.com/v1/namespaces/n/widgets"
            "?fieldManager=you&dryRun=All&fieldValidation=Warn",
        ),
    ]


async def test_an_unstructured_object_stays_one(serve):
    made = await serve().client.create(Unstructured.of(WIDGETS, {"metadata": {"name": "a"}}))
    assert isinstance(made, Unstructured)
    assert (made.kind, made.raw("spec")) == (WIDGETS, {"size": 3})


async def test_replace_takes_plain_content_only(serve):
    server = serve()
    assert await server.client.replace(WIDGETS, CONTENT, subresource="status") == CONTENT
    assert server.asked == [("PUT", f"{PATH}/a/status?fieldManager=me&fieldValidation=Strict")]
    with pytest.raises(TypeError, match="must be a plain mapping, not Widget"):
        await server.client.replace(Widget, Widget.named("a"))  # pyright: ignore
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("type", "patch", "content_type"),
    [
        ("merge", {"spec": {"size": None}}, "application/merge-patch+json"),
        ("json", [{"op": "remove", "path": "/spec"}], "application/json-patch+json"),
        ("strategic", {"spec": {}}, "application/strategic-merge-patch+json"),
    ],
)
async def test_patch(serve, type, patch, content_type):
    server = serve()
    widget = await server.client.patch(Widget, "a", patch, type=type, subresource="status")
    assert widget.spec.size == 3
    assert server.asked == [("PATCH", f"{PATH}/a/status?fieldManager=me")]
    assert (server.body, server.content_type) == (patch, content_type)
    await server.client.patch(WIDGETS, "a", b'{"a": 1}', type=type, dry_run=True)
    assert server.transport.requests[-1].body == b'{"a": 1}'


async def test_apply(serve):
    server = serve()
    applied = await server.client.apply(Widget.named("a", namespace="n", size=3), force=True)
    assert type(applied) is Widget
    assert server.content_type == "application/apply-patch+yaml"
    await server.client.apply(WIDGETS, CONTENT, subresource="status")
    assert server.asked == [
        (
            "PATCH",
            "/apis/demo.example.com/v1/namespaces/n/widgets/a?fieldManager=me&force=true",
        ),
        ("PATCH", f"{PATH}/a/status?fieldManager=me"),
    ]


async def test_delete_with_preconditions(serve):
    server = serve()
    await server.client.delete(
        WIDGETS,
        "a",
        uid="u",
        resource_version="7",
        propagation="Foreground",
        grace_period_seconds=0,
        dry_run=True,
    )
    assert server.asked == [("DELETE", f"{PATH}/a")]
    assert server.body == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }
    await server.client.delete(WIDGETS, "a")
    assert server.body == {"kind": "DeleteOptions", "apiVersion": "v1"}


async def test_F26_only_a_delete_with_a_uid_is_repeated(serve):
    lost = TransportError("lost")
    server = serve(lost, CONTENT)
    assert await server.client.delete(WIDGETS, "a", uid="u") == CONTENT
    with pytest.raises(TransportError):
        await serve(lost, CONTENT).client.delete(WIDGETS, "a")


async def test_delete_collection(serve):
    server = serve()
    await server.client.delete_collection(
        WIDGETS, namespace="n", label_selector="a=b", propagation="Orphan"
    )
    assert server.asked == [
        ("DELETE", "/apis/demo.example.com/v1/namespaces/n/widgets?labelSelector=a%3Db")
    ]
    assert server.body["propagationPolicy"] == "Orphan"
    with pytest.raises(ValueError, match="needs one namespace"):
        await server.client.delete_collection(WIDGETS, namespace=None)


def page(*names: str, token: str = "") -> dict:
    metadata = {"resourceVersion": "9", **({"continue": token} if token else {})}
    return {"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}


async def test_75_list_follows_its_pages(serve):
    server = serve(page("a", "b", token="t+1"), page("c"))
    found = await server.client.list(Widget, namespace=None, limit=2)
    assert [widget.name for widget in found] == ["a", "b", "c"]
    assert server.asked == [
        ("GET", "/apis/demo.example.com/v1/widgets?limit=2"),
        ("GET", "/apis/demo.example.com/v1/widgets?limit=2&continue=t%2B1"),
    ]


async def test_list_fills_in_what_items_of_built_in_kinds_lack(serve):
    found = await serve(page("a")).client.list(NODES)
    assert found == [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]


async def test_list_asks_for_the_namespace_of_the_client(serve):
    server = serve(page())
    await server.client.list(WIDGETS, label_selector="a", field_selector="b=c")
    await server.client.list(NODES, namespace="ignored")
    assert server.asked == [
        ("GET", f"{PATH}?labelSelector=a&fieldSelector=b%3Dc&limit=500"),
        ("GET", "/api/v1/nodes?limit=500"),
    ]


async def test_F8_an_expired_page_restarts_the_list_without_pages(serve, answered):
    expired = answered(410, {"kind": "Status", "reason": "Expired", "message": "x"})
    server = serve(page("old", token="t"), expired, page("a", "b"))
    found = await server.client.list(WIDGETS, limit=1)
    assert [content["metadata"]["name"] for content in found] == ["a", "b"]
    assert server.asked[-1] == ("GET", PATH)


async def test_an_expired_first_page_is_an_error(serve, answered):
    with pytest.raises(Expired):
        await serve(answered(410, {})).client.list(WIDGETS)


async def test_list_page(serve):
    server = serve(
        {
            "metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 4},
            "items": None,
        }
    )
    found = await server.client.list_page(
        WIDGETS, limit=1, resource_version="5", resource_version_match="Exact"
    )
    assert (found.resource_version, found.continue_token) == ("9", "t")
    assert (found.remaining, found.items) == (4, [])
    assert server.asked == [
        (
            "GET",
            "/apis/demo.example.com/v1/widgets?limit=1&resourceVersion=5&resourceVersionMatch=Exact",
        )
    ]


@pytest.mark.parametrize("body", [b"rubbish", b"[]", b'{"items": 5}'])
async def test_a_list_that_is_none_is_a_broken_answer(serve, answered, body):
    with pytest.raises(TransportError, match="the answer is no list"):
        await serve(answered(200, body)).client.list(WIDGETS)


async def test_errors_name_verb_kind_and_object(serve, answered):
    client = serve(answered(409, {"kind": "Status", "message": "no", "reason": "Conflict"})).client
    with pytest.raises(Conflict, match=r"failed to apply status of Widget default/a: no \(HTTP"):
        await client.apply(WIDGETS, CONTENT, subresource="status")
    with pytest.raises(Conflict, match="failed to list Widget in default: no"):
        await client.list(WIDGETS)
    with pytest.raises(Conflict, match="failed to get Node a: no"):
        await client.get(NODES, "a")
    with pytest.raises(Conflict, match="failed to create Widget n/a: no"):
        await client.create(WIDGETS, CONTENT, namespace="n")


async def test_mistakes_are_told_before_anything_is_sent(serve):
    server = serve()
    client = server.client
    with pytest.raises(ValueError, match="get of a Widget needs a name"):
        await client.get(WIDGETS, "")
    with pytest.raises(ManifestError, match=r"no metadata\.name"):
        await client.apply(WIDGETS, {"metadata": {}})
    with pytest.raises(ManifestError, match=r"says Gadget .* was given Widget"):
        await client.apply(WIDGETS, CONTENT | {"kind": "Gadget"})
    with pytest.raises(TypeError, match="give the content of the Widget"):
        await client.create(WIDGETS)  # pyright: ignore
    with pytest.raises(ManifestError, match="'Unstructured' does not say its kind"):
        await client.get(Unstructured, "a")
    assert server.asked == []
