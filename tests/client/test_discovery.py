"""Words become kinds, by both forms of the server's answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from konstat.base.transport import Request, Response
from konstat.client.api import Client
from konstat.client.discovery import Discovery
from konstat.errors import UserError
from konstat.objects.kind import Kind

DEPLOYMENTS = Kind(group="apps", version="v1", kind="Deployment", plural="deployments")
EVENTS = Kind(group="", version="v1", kind="Event", plural="events")


def resource(plural: str, kind: str, *short: str, scope: str = "Namespaced", **fields: Any):
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": scope,
        "singularResource": kind.lower(),
        "shortNames": list(short),
        "verbs": ["get", "list"],
    } | fields


def group(name: str, **versions: list[dict[str, Any]]):
    return {
        "metadata": {"name": name},
        "versions": [{"version": v, "resources": r} for v, r in versions.items()],
    }


AGGREGATED = {
    "/api": {
        "kind": "APIGroupDiscoveryList",
        "items": [
            group(
                "",
                v1=[
                    resource("events", "Event", "ev"),
                    resource("namespaces", "Namespace", "ns", scope="Cluster"),
                    {"resource": "bindings", "subresources": [{"subresource": "x"}]},
                ],
            )
        ],
    },
    "/apis": {
        "kind": "APIGroupDiscoveryList",
        "items": [
            group(
                "apps",
                v1=[
                    resource(
                        "deployments",
                        "Deployment",
                        "deploy",
                        subresources=[{"subresource": "status"}],
                    )
                ],
                v1beta1=[resource("deployments", "Deployment", "deploy")],
            ),
            group("events.k8s.io", v1=[resource("events", "Event", "ev")]),
            group("demo.example.com", v1=[resource("webapps", "WebApp", "deploy", "wa")]),
            {
                "metadata": {"name": "away.example.com"},
                "versions": [{"version": "v1", "freshness": "Stale"}],
            },
        ],
    },
}
OLD_RESOURCE = {"singularName": "", "namespaced": True, "verbs": ["get"]}
OLD = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"resources": [OLD_RESOURCE | {"name": "events", "kind": "Event"}]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "apps",
                "versions": [
                    {"groupVersion": "apps/v1beta1", "version": "v1beta1"},
                    {"groupVersion": "apps/v1", "version": "v1"},
                ],
                "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
            },
            {"name": "away", "versions": [{"groupVersion": "away/v1", "version": "v1"}]},
        ],
    },
    "/apis/apps/v1": {
        "resources": [
            OLD_RESOURCE | {"name": "deployments", "kind": "Deployment", "shortNames": ["deploy"]},
            OLD_RESOURCE | {"name": "deployments/status", "kind": "Deployment"},
        ]
    },
    "/apis/apps/v1beta1": {
        "resources": [OLD_RESOURCE | {"name": "deployments", "kind": "Deployment"}]
    },
}


class Documents:
    """A transport that serves documents by path; others are 503, except for a few 406."""

    def __init__(self, documents: Mapping[str, Any], *, only_json: bool = False) -> None:
        self.documents = dict(documents)
        self.only_json = only_json
        self.paths: list[str] = []

    async def send(self, request: Request) -> Response:
        self.paths.append(request.path)
        if self.only_json and "g=apidiscovery" in dict(request.headers)["Accept"]:
            return Response(status=406, headers={}, body=b"")
        if request.path not in self.documents:
            return Response(status=503, headers={}, body=b"away")
        return Response(
            status=200, headers={}, body=json.dumps(self.documents[request.path]).encode()
        )

    async def open(self, request: Request):
        raise AssertionError(request)

    async def close(self) -> None: ...


def discovery(documents=AGGREGATED, **options: Any) -> Discovery:
    return Discovery(Client(Documents(documents, **options)))


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("deployments", DEPLOYMENTS),
        ("deployment", DEPLOYMENTS),
        ("Deployment", DEPLOYMENTS),
        ("deploy", DEPLOYMENTS),
        ("deployments.apps", DEPLOYMENTS),
        ("deploy.apps", DEPLOYMENTS),
        ("deployments.v1.apps", DEPLOYMENTS),
        (
            "deployments.v1beta1.apps",
            Kind(group="apps", version="v1beta1", kind="Deployment", plural="deployments"),
        ),
        ("events", EVENTS),
        ("ev", EVENTS),
        ("events.v1", EVENTS),
        (
            "Event.events.k8s.io",
            Kind(group="events.k8s.io", version="v1", kind="Event", plural="events"),
        ),
        (
            "ns",
            Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False),
        ),
        (
            "WebApp",
            Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps"),
        ),
    ],
)
async def test_99_words(word, kind):
    assert await discovery().find(word) == kind


async def test_a_word_that_is_not_known_names_close_ones():
    with pytest.raises(UserError, match=r"called 'deploymnt' .*away.*: did you mean deployment or"):
        await discovery().find("deploymnt")
    with pytest.raises(UserError, match="is its CRD installed"):
        await discovery().find("xyzzy")
    for word in ("deployments.other", "", ".", "a.b.c.d"):
        with pytest.raises(UserError):
            await discovery().find(word)


async def test_a_kind_that_was_installed_meanwhile_is_found():
    transport = Documents({"/api": AGGREGATED["/api"], "/apis": {"items": []}})
    found = Discovery(Client(transport))
    assert await found.find("events") == EVENTS
    transport.documents["/apis"] = AGGREGATED["/apis"]
    assert await found.find("deploy") == DEPLOYMENTS
    await found.find("deploy")
    assert transport.paths == ["/api", "/apis"] * 2


async def test_groups_whose_server_is_away_are_named():
    found = discovery()
    await found.kinds()
    assert found.unavailable == ("v1.away.example.com",)


async def test_details_of_a_kind():
    served = await discovery().served("apps", "Deployment")
    assert served is not None
    assert (served.kind, served.verbs, served.subresources) == (
        DEPLOYMENTS,
        ("get", "list"),
        ("status",),
    )
    assert await discovery().served("apps", "Deployment", "v2") is None


@pytest.mark.parametrize("only_json", [False, True])
async def test_99_the_old_form(only_json):
    found = discovery(OLD, only_json=only_json)
    assert await found.find("deploy") == DEPLOYMENTS
    assert await found.find("Event") == EVENTS
    served = await found.served("apps", "Deployment")
    assert served is not None
    assert served.subresources == ("status",)
    assert found.unavailable == ("v1.away",)
