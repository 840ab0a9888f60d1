"""The core as a whole: it answers whatever comes, and says what it does not do."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from both_servers import CRDS, GROUP, OPEN_SCHEMA, PLAINS, WIDGETS, definition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from konstat.base import chance
from konstat.base.transport import Request, Response
from konstat.embedded.server import EmbeddedServer, Pending
from konstat.embedded.watches import WatchStream

NAMESPACED = "/api/v1/namespaces/default"


def _send(
    server: EmbeddedServer, method: str, path: str, body: Any = None, **headers: str
) -> Response:
    data = b"" if body is None else json.dumps(body).encode()
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    answer = server.handle(Request(method=method, path=path, body=data, headers=pairs))
    assert isinstance(answer, Response)
    return answer


@pytest.fixture
def server() -> EmbeddedServer:
    return EmbeddedServer()


@pytest.fixture(scope="module")
def shared() -> EmbeddedServer:
    server = EmbeddedServer()
    for crd in (WIDGETS, PLAINS):
        assert _send(server, "POST", CRDS, crd).status == 201
    return server


PATHS = st.one_of(
    st.sampled_from(
        [
            f"{NAMESPACED}/configmaps",
            f"{NAMESPACED}/configmaps/a",
            f"{NAMESPACED}/pods/a/binding",
            f"{NAMESPACED}/pods/a/eviction",
            "/api/v1/namespaces/a",
            "/api/v1/namespaces/a/finalize",
            f"/apis/{GROUP}/v1/namespaces/default/widgets",
            f"/apis/{GROUP}/v1/namespaces/default/widgets/a",
            f"/apis/{GROUP}/v1/namespaces/default/widgets/a/status",
            f"/apis/{GROUP}/v1/namespaces/default/widgets/a/scale",
            "/apis/apps/v1/namespaces/default/deployments/a",
            CRDS,
            f"{CRDS}/plains.{GROUP}",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ]
    ),
    st.text(st.characters(codec="ascii"), max_size=40).map(lambda text: f"/{text}"),
    st.lists(
        st.sampled_from(["api", "apis", "v1", "namespaces", "default", "pods", "", "%ff", "watch"]),
        max_size=7,
    ).map(lambda parts: "/" + "/".join(parts)),
)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "limit",
                "continue",
                "labelSelector",
                "fieldSelector",
                "resourceVersion",
                "resourceVersionMatch",
                "timeoutSeconds",
                "fieldManager",
                "force",
                "dryRun",
                "propagationPolicy",
                "gracePeriodSeconds",
                "includeObject",
            ]
        ),
        st.one_of(st.sampled_from(["", "1", "All", "true", "a=b"]), st.text(max_size=8)),
    ),
    max_size=3,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "spec",
                    "status",
                    "name",
                    "labels",
                    "finalizers",
                    "replicas",
                    "data",
                    "x",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
BODIES = st.one_of(
    st.binary(max_size=30),
    VALUES.map(lambda value: json.dumps(value).encode()),
    VALUES.map(lambda value: b"k8s\x00" + json.dumps(value).encode()),
)
TYPES = st.sampled_from(
    [
        "",
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/vnd.kubernetes.protobuf",
    ]
)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
    path=PATHS,
    query=QUERIES,
    body=BODIES,
    content_type=TYPES,
)
def test_every_request_is_answered(
    shared: EmbeddedServer,
    method: str,
    path: str,
    query: list[tuple[str, str]],
    body: bytes,
    content_type: str,
) -> None:
    whole = f"{path}?{urlencode(query)}" if query else path
    headers = (("Content-Type", content_type),)
    request = Request(method=method, path=whole, body=body, headers=headers)
    answer = shared.begin(request)
    if isinstance(answer, Pending):
        answer = shared.handle(request)
    if isinstance(answer, WatchStream):
        answer.close()
        return
    assert isinstance(answer, Response)
    assert 200 <= answer.status < 600
    if answer.status >= 400 and answer.headers.get("content-type") == "application/json":
        status = json.loads(answer.body)
        assert (status["kind"], status["code"]) == ("Status", answer.status)


@pytest.mark.parametrize(
    ("method", "subresource"),
    [
        ("GET", "log"),
        ("POST", "exec"),
        ("POST", "attach"),
        ("GET", "portforward"),
        ("GET", "proxy"),
    ],
)
def test_what_has_no_machinery_says_so(
    server: EmbeddedServer, method: str, subresource: str
) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert _send(server, "POST", f"{NAMESPACED}/pods", pod).status == 201
    answer = _send(server, method, f"{NAMESPACED}/pods/p/{subresource}")
    status = json.loads(answer.body)
    assert (answer.status, status["reason"]) == (501, "NotImplemented")
    assert "does not implement" in status["message"]
    assert _send(server, method, f"{NAMESPACED}/pods/q/{subresource}").status == 404


def test_logs_through_a_hook(server: EmbeddedServer) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    _send(server, "POST", f"{NAMESPACED}/pods", pod)
    server.verbs.logs = lambda namespace, name, query: f"{namespace}/{name}\n".encode()
    answer = _send(server, "GET", f"{NAMESPACED}/pods/p/log")
    assert (answer.status, answer.body) == (200, b"default/p\n")


def test_conversion_webhooks_are_refused(server: EmbeddedServer) -> None:
    crd = definition("things", "Thing", OPEN_SCHEMA)
    crd["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/convert"},
        },
    }
    answer = _send(server, "POST", CRDS, crd)
    assert answer.status == 501
    assert "conversion webhooks" in json.loads(answer.body)["message"]


def test_columns_with_paths_that_cannot_be_read_are_refused(server: EmbeddedServer) -> None:
    columns = [{"name": "X", "type": "string", "jsonPath": ".spec[?(@.a<1)].b"}]
    crd = definition("things", "Thing", OPEN_SCHEMA, additionalPrinterColumns=columns)
    answer = _send(server, "POST", CRDS, crd)
    assert answer.status == 501
    assert "JSON path" in json.loads(answer.body)["message"]


def test_binding_and_eviction(server: EmbeddedServer) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = f"{NAMESPACED}/pods/p"
    _send(server, "POST", f"{NAMESPACED}/pods", pod)
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert _send(server, "POST", f"{path}/binding", binding).status == 201
    bound = json.loads(_send(server, "GET", path).body)
    assert bound["spec"]["nodeName"] == "n"
    again = _send(server, "POST", f"{path}/binding", binding)
    assert again.status == 409
    eviction = {"metadata": {"name": "p"}}
    assert _send(server, "POST", f"{path}/eviction", eviction).status == 201
    evicted = json.loads(_send(server, "GET", path).body)
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30


def test_an_eviction_that_a_budget_covers_is_not_done(server: EmbeddedServer) -> None:
    pod = {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    _send(server, "POST", f"{NAMESPACED}/pods", pod)
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    }
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    assert _send(server, "POST", path, budget).status == 201
    answer = _send(server, "POST", f"{NAMESPACED}/pods/p/eviction", {"metadata": {"name": "p"}})
    assert answer.status == 429


def test_the_same_seed_gives_the_same_server() -> None:
    def run() -> list[bytes]:
        with chance.use_seed(7):
            server = EmbeddedServer()
            sent = {"metadata": {"generateName": "x-"}}
            made = json.loads(_send(server, "POST", f"{NAMESPACED}/configmaps", sent).body)
            return [made["metadata"]["name"], made["metadata"]["uid"]]

    assert run() == run()


def test_the_start_has_what_every_cluster_has(server: EmbeddedServer) -> None:
    listed = json.loads(_send(server, "GET", "/api/v1/namespaces").body)
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    service = json.loads(_send(server, "GET", f"{NAMESPACED}/services/kubernetes").body)
    assert service["spec"]["clusterIP"] == "10.96.0.1"


def test_jobs_keep_their_pods_by_default(server: EmbeddedServer) -> None:
    job = {
        "metadata": {"name": "j"},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
            }
        },
    }
    path = "/apis/batch/v1/namespaces/default/jobs"
    assert _send(server, "POST", path, job).status == 201
    answer = _send(server, "DELETE", f"{path}/j")
    assert "child pods are preserved by default" in answer.headers["warning"]
    assert json.loads(answer.body)["metadata"]["finalizers"] == ["orphan"]


def test_deprecated_watch_paths(server: EmbeddedServer) -> None:
    _send(server, "POST", f"{NAMESPACED}/configmaps", {"metadata": {"name": "a"}})
    path = "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=5"
    stream = server.handle(Request(method="GET", path=path))
    assert isinstance(stream, WatchStream)
    line = stream.next_line()
    assert line is not None
    assert json.loads(line)["object"]["metadata"]["name"] == "a"
    stream.close()


def test_openapi_v2_has_no_definitions(server: EmbeddedServer) -> None:
    document = json.loads(_send(server, "GET", "/openapi/v2").body)
    assert (document["swagger"], document["definitions"]) == ("2.0", {})
    packed = _send(server, "GET", "/openapi/v2", Accept="application/x+protobuf").body
    assert packed.startswith(b"\x0a\x032.0\x12")
