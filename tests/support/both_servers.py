"""One way to ask both servers: requests in, codes and plain data out.

`Subject` is the server that a conformance test looks at: the embedded one or a real one. Its
methods say what was sent and give an `Answer`; paths are made by `Subject.path` and its like.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlencode

from konstat.base import chance, clock
from konstat.base.transport import Request, Transport
from konstat.base.waiting import wait_at_most

GROUP: Final = "conformance.konstat.dev"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PATIENCE_SECONDS: Final = 20.0

Object = dict[str, Any]


class Answer:
    """One answer, decoded."""

    def __init__(self, code: int, headers: Mapping[str, str], body: bytes) -> None:
        self.code = code
        self.headers = headers
        self.body = body

    @property
    def content(self) -> Any:
        return json.loads(self.body)

    @property
    def metadata(self) -> Object:
        return self.content["metadata"]

    @property
    def version(self) -> str:
        return self.metadata["resourceVersion"]

    @property
    def message(self) -> str:
        return self.content["message"]

    @property
    def reason(self) -> str:
        return self.content.get("reason", "")

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Reason and field of each cause."""
        found = (self.content.get("details") or {}).get("causes") or []
        return [(cause.get("reason", ""), cause.get("field", "")) for cause in found]

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Code, reason and message of an error."""
        return self.code, self.reason, self.message

    def __repr__(self) -> str:
        return f"Answer({self.code}, {self.body[:2000]!r})"


class Watch:
    """An open watch: its events one by one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._chunks = stream.chunks()
        self._rest = b""
        self.status: int = stream.status
        self.headers: Mapping[str, str] = stream.headers

    async def next(self, timeout_seconds: float = PATIENCE_SECONDS) -> Object | None:
        """The next event; None at the end of the stream. TimeoutError when nothing comes."""
        async with asyncio.timeout(timeout_seconds):
            while b"\n" not in self._rest:
                try:
                    self._rest += await anext(self._chunks)
                except StopAsyncIteration:
                    assert self._rest == b""
                    return None
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        found: list[tuple[str, str]] = []
        for _ in range(count):
            event = await self.next()
            assert event is not None, f"the stream ended after {found}"
            found.append((event["type"], event["object"]["metadata"].get("name", "")))
        return found

    async def rest(self) -> list[Object]:
        """Every event until the end of the stream."""
        found: list[Object] = []
        while (event := await self.next(90)) is not None:
            found.append(event)
        return found

    async def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for a while."""
        try:
            await self.next(seconds)
        except TimeoutError:
            return True
        return False


class Subject:
    """A server, and a namespace on it that this test alone uses."""

    def __init__(self, name: str, transport: Transport, namespace: str) -> None:
        self.name = name
        self.transport = transport
        self.namespace = namespace

    @property
    def is_real(self) -> bool:
        return self.name == "rig"

    # --- requests -----------------------------------------------------------------------------

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "",
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """Send one request; ``body`` may be bytes, a text or plain data."""
        sent = {"User-Agent": "conformance/1", **(headers or {})}
        data = b""
        if body is not None:
            data = (
                body
                if isinstance(body, bytes)
                else (body.encode() if isinstance(body, str) else json.dumps(body).encode())
            )
            sent["Content-Type"] = content_type
        if accept:
            sent["Accept"] = accept
        whole = f"{path}?{urlencode(query)}" if query else path
        request = Request(
            method=method,
            path=whole,
            headers=tuple(sent.items()),
            body=data,
            timeout_seconds=60.0,
        )
        answer = await self.transport.send(request)
        return Answer(answer.status, answer.headers, answer.body)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.send("GET", path, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.send("POST", path, body, **options)

    async def put(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.send("PUT", path, body, **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self.send("DELETE", path, body, **options)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **options: Any) -> Answer:
        return await self.send("PATCH", path, body, content_type=kind, **options)

    async def apply(self, path: str, body: Any, manager: str, **options: Any) -> Answer:
        return await self.patch(path, body, APPLY, fieldManager=manager, **options)

    @asynccontextmanager
    async def watch(self, path: str, *, accept: str = "", **query: Any) -> AsyncIterator[Watch]:
        """Open a watch for the length of a block."""
        query.setdefault("timeoutSeconds", 60)
        request = Request(
            method="GET",
            path=f"{path}?{urlencode({'watch': 'true', **query})}",
            headers=(("Accept", accept),) if accept else (),
            timeout_seconds=90.0,
        )
        stream = await self.transport.open(request)
        try:
            yield Watch(stream)
        finally:
            await stream.close()

    async def until(self, path: str, holds: Any) -> Answer:
        """Read an object until it is as wanted."""
        deadline = clock.monotonic() + PATIENCE_SECONDS
        while True:
            answer = await self.get(path)
            if holds(answer):
                return answer
            assert clock.monotonic() < deadline, answer
            await wait_at_most(asyncio.Event(), timeout_seconds=0.05)

    # --- paths and contents -------------------------------------------------------------------

    @property
    def configmaps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    @property
    def widgets(self) -> str:
        """A custom kind with status and scale subresources and a schema."""
        return f"/apis/{GROUP}/v1/namespaces/{self.namespace}/widgets"

    @property
    def plains(self) -> str:
        """A custom kind without subresources."""
        return f"/apis/{GROUP}/v1/namespaces/{self.namespace}/plains"

    def core(self, plural: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}"

    def apps(self, plural: str) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/{plural}"

    async def make(self, path: str, body: Object) -> Object:
        """Create an object that must be accepted."""
        answer = await self.post(path, body)
        assert answer.code == 201, answer
        return answer.content


def configmap(name: str = "a", data: Any = None, **metadata: Any) -> Object:
    content: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
    }
    return content if data is None else {**content, "data": data}


def widget(name: str = "a", spec: Any = None, **metadata: Any) -> Object:
    content: Object = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
    }
    return content if spec is None else {**content, "spec": spec}


def plain(name: str = "a", **content: Any) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Plain",
        "metadata": {"name": name},
        **content,
    }


def definition(
    plural: str,
    kind: str,
    schema: Object,
    *,
    group: str = GROUP,
    scope: str = "Namespaced",
    **version: Any,
) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": scope,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }


def fresh(prefix: str) -> str:
    return f"{prefix}{chance.suffix(6)}"


OPEN_SCHEMA: Final[Object] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
WIDGET_SCHEMA: Final[Object] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 100},
                "color": {"type": "string", "default": "red"},
                "replicas": {"type": "integer"},
                "mode": {"type": "string", "enum": ["slow", "fast"]},
                "tags": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "count": {"type": "integer"},
                        },
                    },
                },
                "bag": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "words": {"type": "array", "items": {"type": "string"}},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string", "maxLength": 20},
                "replicas": {"type": "integer"},
                "selector": {"type": "string"},
            },
        },
    },
}
WIDGETS: Final = definition(
    "widgets",
    "Widget",
    WIDGET_SCHEMA,
    subresources={
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
    selectableFields=[{"jsonPath": ".spec.color"}],
    additionalPrinterColumns=[
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
)
PLAINS: Final = definition("plains", "Plain", OPEN_SCHEMA)


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def prepare(subject: Subject) -> None:
    """Give a server the definitions of the tests, and the subject a namespace."""
    for crd in (WIDGETS, PLAINS):
        answer = await subject.post(CRDS, crd)
        assert answer.code in (201, 409), answer
    for path in (subject.widgets, subject.plains):
        await subject.until(path, lambda answer: answer.code == 200)
    answer = await subject.post("/api/v1/namespaces", _namespace(subject.namespace))
    assert answer.code == 201, answer
