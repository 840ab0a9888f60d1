"""Random sequences of requests: both servers give the same codes, bodies and watch events."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from both_servers import (
    JSON_PATCH,
    MERGE,
    Answer,
    Subject,
    configmap,
    fresh,
    prepare,
    widget,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from konstat.client.transport import HttpTransport
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.testing import ControlPlane

NAMES = ("a", "b", "c")
Step = tuple[str, str, str, str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["widgets", "configmaps"]),
        st.sampled_from(
            ["post", "put", "merge", "json", "apply", "status", "delete", "get", "finalize"]
        ),
        st.sampled_from(NAMES),
        st.sampled_from(["absent", "current", "stale"]),
        st.integers(0, 2),
    ),
    min_size=3,
    max_size=18,
)
_MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'"resourceVersion":"\d+"', '"resourceVersion":"RV"'),
    (r"ResourceVersion in record \(\d+\)", "ResourceVersion in record (RV)"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
)


class Player:
    """Plays steps on one server and remembers versions."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._current: dict[tuple[str, str], str] = {}
        self._first: dict[tuple[str, str], str] = {}

    async def play(self, step: Step) -> tuple[int, Any]:
        plural, verb, name, which, value = step
        subject = self._subject
        collection = subject.widgets if plural == "widgets" else subject.configmaps
        path = f"{collection}/{name}"
        body = self._body(plural, name, value)
        version = self._version(plural, name, which)
        if version:
            body["metadata"]["resourceVersion"] = version
        match verb:
            case "post":
                answer = await subject.post(collection, body)
            case "put":
                answer = await subject.put(path, body)
            case "merge":
                answer = await subject.patch(path, body, MERGE)
            case "json":
                operation = {"op": "add", "path": "/metadata/labels", "value": {"n": str(value)}}
                answer = await subject.patch(path, [operation], JSON_PATCH)
            case "apply":
                answer = await subject.apply(path, body, f"m{value}")
            case "status":
                change = {"metadata": body["metadata"], "status": {"replicas": value}}
                answer = await subject.patch(f"{path}/status", change, MERGE)
            case "delete":
                conditions = {"resourceVersion": version} if version else {}
                answer = await subject.delete(path, {"preconditions": conditions})
            case "finalize":
                finalizers = {"finalizers": ["a.example/b"] if value else None}
                answer = await subject.patch(path, {"metadata": finalizers}, MERGE)
            case _:
                answer = await subject.get(path)
        self._remember(plural, name, answer)
        return answer.code, _masked(answer, subject)

    def _body(self, plural: str, name: str, value: int) -> dict[str, Any]:
        labels = {"v": str(value)}
        if plural == "widgets":
            return widget(name, spec={"size": value}, labels=labels)
        return configmap(name, data={"v": str(value)}, labels=labels)

    def _version(self, plural: str, name: str, which: str) -> str:
        if which == "absent":
            return ""
        known = self._current if which == "current" else self._first
        return known.get((plural, name), "")

    def _remember(self, plural: str, name: str, answer: Answer) -> None:
        content = answer.content
        metadata = content.get("metadata", {})
        if answer.code < 300 and "resourceVersion" in metadata:
            self._current[plural, name] = metadata["resourceVersion"]
            self._first.setdefault((plural, name), metadata["resourceVersion"])


def _masked(answer: Answer, subject: Subject) -> Any:
    """The answer as text of sorted JSON without what differs from run to run."""
    content = answer.content
    _without_order(content)
    return mask(content, subject.namespace)


def mask(content: Any, namespace: str) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text)
    return text.replace(namespace, "NAMESPACE")


def _without_order(content: Any) -> None:
    """Sort what has no order of its own on the real server.

    Managers whose times are those of one second, and the causes of a conflict of apply.
    """
    causes = (content.get("details") or {}).get("causes")
    if causes:
        causes.sort(key=lambda cause: (cause.get("message"), cause.get("field")))
    entries = (content.get("metadata") or {}).get("managedFields")
    if entries:
        entries.sort(key=lambda e: (e["manager"], e["operation"], e.get("subresource", "")))


async def _subject(name: str, plane: ControlPlane | None) -> Subject:
    if plane is None:
        transport = MemoryTransport(EmbeddedServer())
    else:
        transport = HttpTransport(plane.config)
        await transport.prepare()
    return Subject(name, transport, fresh("sequence-"))


@pytest.mark.realapi
@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
async def test_sequences(control_plane: ControlPlane, steps: list[Step]) -> None:
    played: list[list[tuple[int, Any]]] = []
    logs: list[list[tuple[str, str, str]]] = []
    for name, plane in (("embedded", None), ("rig", control_plane)):
        subject = await _subject(name, plane)
        try:
            await prepare(subject)
            version = (await subject.get(subject.widgets)).version
            player = Player(subject)
            played.append([await player.play(step) for step in steps])
            logs.append(await _log(subject, version))
            if plane is not None:
                await subject.delete(f"/api/v1/namespaces/{subject.namespace}")
        finally:
            await subject.transport.close()
    for step, embedded, real in zip(steps, *played, strict=True):
        assert embedded == real, f"{step}\n{_difference(embedded, real)}"
    assert logs[0] == logs[1]


def _difference(embedded: tuple[int, Any], real: tuple[int, Any]) -> str:
    """Both answers from a little before the place where they part."""
    texts = [f"{code} {body}" for code, body in (real, embedded)]
    pairs = enumerate(zip(*texts, strict=False))
    place = next((at for at, (left, right) in pairs if left != right), 0)
    return "\n".join(text[max(0, place - 80) : place + 200] for text in texts)


async def _log(subject: Subject, version: str) -> list[tuple[str, str, str]]:
    """The events of the widgets since a version, up to a last one."""
    await subject.make(subject.widgets, widget("end"))
    events: list[tuple[str, str, str]] = []
    async with subject.watch(subject.widgets, resourceVersion=version) as watch:
        while True:
            event = await watch.next()
            assert event is not None
            content = event["object"]
            if content["metadata"]["name"] == "end":
                return events
            _without_order(content)
            name = content["metadata"]["name"]
            events.append((event["type"], name, mask(content, subject.namespace)))
