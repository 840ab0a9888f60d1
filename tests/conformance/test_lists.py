"""Items 73 to 81: lists, pages, selectors, revisions."""

from __future__ import annotations

import base64
import json

from both_servers import Subject, configmap, fresh, widget


async def _fill(server: Subject, count: int = 5) -> list[str]:
    names = [f"c{number}" for number in range(count)]
    for name in names:
        await server.make(server.widgets, widget(name))
    return names


def _names(content: dict[str, object]) -> list[str]:
    items = content["items"]
    assert isinstance(items, list)
    return [item["metadata"]["name"] for item in items]


async def test_C73_kind_and_version_of_a_list(server: Subject) -> None:
    await _fill(server, 2)
    content = (await server.get(server.widgets)).content
    assert content["kind"] == "WidgetList"
    newest = max(int(item["metadata"]["resourceVersion"]) for item in content["items"])
    assert int(content["metadata"]["resourceVersion"]) >= newest


async def test_C74_lists_are_ordered(server: Subject) -> None:
    for name in ("b", "a.x", "a", "a-x", "ab"):
        await server.make(server.configmaps, configmap(name))
    listed = [n for n in _names((await server.get(server.configmaps)).content) if n[:4] != "kube"]
    assert listed == ["a", "a-x", "a.x", "ab", "b"]


async def test_C74_namespaces_come_before_names(server: Subject) -> None:
    second = f"{server.namespace}-z"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": second}}
    assert (await server.post("/api/v1/namespaces", namespace)).code == 201
    path = server.widgets.replace(server.namespace, second)
    await server.make(server.widgets, widget("b"))
    await server.make(path, widget("a"))
    everywhere = server.widgets.replace(f"/namespaces/{server.namespace}", "")
    items = (await server.get(everywhere)).content["items"]
    ours = [
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in items
        if item["metadata"]["namespace"].startswith(server.namespace)
    ]
    # The key is namespace/name: '-' comes before '/'.
    assert ours == [(second, "a"), (server.namespace, "b")]
    await server.delete(f"/api/v1/namespaces/{second}")


async def test_C75_pages_share_a_snapshot(server: Subject) -> None:
    names = await _fill(server)
    first = await server.get(server.widgets, limit=2)
    token = first.metadata["continue"]
    await server.make(server.widgets, widget("c1x"))
    await server.delete(f"{server.widgets}/c4")
    second = await server.get(server.widgets, limit=2, **{"continue": token})
    third = await server.get(server.widgets, limit=2, **{"continue": second.metadata["continue"]})
    assert [*map(_names, (first.content, second.content, third.content))] == [
        names[0:2],
        names[2:4],
        names[4:5],
    ]
    assert {first.version, second.version, third.version} == {first.version}
    assert not third.metadata.get("continue")


async def test_C76_how_many_remain(server: Subject) -> None:
    await _fill(server)
    answer = await server.get(server.widgets, limit=2)
    assert answer.metadata["remainingItemCount"] == 3
    answer = await server.get(server.widgets, limit=2, labelSelector="!absent")
    assert "remainingItemCount" not in answer.metadata


async def test_C77_malformed_tokens(server: Subject) -> None:
    answer = await server.get(server.widgets, **{"continue": "abc"})
    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message.startswith("invalid continue token: continue key is not valid: ")
    bad = {"v": "x", "rv": 1, "start": "/a"}
    token = base64.urlsafe_b64encode(json.dumps(bad).encode()).decode().rstrip("=")
    answer = await server.get(server.widgets, **{"continue": token})
    assert answer.message.endswith("server does not recognize this encoded version x")
    good = (await _paged(server)).metadata["continue"]
    answer = await server.get(server.widgets, resourceVersion=5, **{"continue": good})
    message = "specifying resource version is not allowed when using continue"
    assert answer.refusal == (400, "BadRequest", message)


async def _paged(server: Subject) -> object:
    await _fill(server, 3)
    return await server.get(server.widgets, limit=1)


async def test_C78_label_selectors(server: Subject) -> None:
    for name, labels in (("a", {"x": "1", "y": "1"}), ("b", {"x": "2"}), ("c", {})):
        await server.make(server.widgets, widget(name, labels=labels))
    expected = {
        "x=1": "a",
        "x==1": "a",
        "x!=1": "bc",
        "x in (1,2)": "ab",
        "x notin (1)": "bc",
        "x": "ab",
        "!x": "c",
        "x,!y": "b",
        "x in (1, 2),y=1": "a",
    }
    for selector, names in expected.items():
        answer = await server.get(server.widgets, labelSelector=selector)
        assert "".join(_names(answer.content)) == names, selector


async def test_C78_selectors_that_cannot_be_read(server: Subject) -> None:
    expected = {
        "a b": "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        "a=b=c": "found '=', expected: ',' or 'end of string'",
        "a in b": "unable to parse requirement: found 'b' expected: '('",
        ",": "found ',', expected: !, identifier, or 'end of string'",
        "a in (x": "unable to parse requirement: found '', expected: ',' or ')'",
    }
    for selector, message in expected.items():
        answer = await server.get(server.configmaps, labelSelector=selector)
        assert answer.refusal == (400, "BadRequest", message)


async def test_C79_field_selectors(server: Subject) -> None:
    await _fill(server, 3)
    answer = await server.get(server.widgets, fieldSelector="metadata.name=c1")
    assert _names(answer.content) == ["c1"]
    selector = f"metadata.name!=c1,metadata.namespace={server.namespace}"
    answer = await server.get(server.widgets, fieldSelector=selector)
    assert _names(answer.content) == ["c0", "c2"]
    answer = await server.get(server.configmaps, fieldSelector="data.a=1")
    message = '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert answer.refusal == (400, "BadRequest", message)
    answer = await server.get(server.core("pods"), fieldSelector="spec.x=1")
    assert answer.refusal == (400, "BadRequest", "field label not supported: spec.x")
    answer = await server.get(server.widgets, fieldSelector="bad")
    message = "invalid selector: 'bad'; can't understand 'bad'"
    assert answer.refusal == (400, "BadRequest", message)


async def test_C80_revisions_of_a_list(server: Subject) -> None:
    await _fill(server, 2)
    version = (await server.get(server.widgets)).version
    await server.make(server.widgets, widget("later"))
    for query in ({}, {"resourceVersion": "0"}, {"resourceVersion": version}):
        assert "later" in _names((await server.get(server.widgets, **query)).content)
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    answer = await server.get(server.widgets, **exact)
    assert (_names(answer.content), answer.version) == (["c0", "c1"], version)
    answer = await server.get(server.widgets, resourceVersionMatch="Exact")
    assert answer.causes == [("FieldValueForbidden", "resourceVersionMatch")]
    answer = await server.get(server.widgets, resourceVersion="abc")
    assert answer.message.startswith("invalid resource version: ")


async def test_C81_a_revision_to_come(server: Subject) -> None:
    answer = await server.get(server.widgets, resourceVersion="99999999")
    assert (answer.code, answer.reason) == (504, "Timeout")
    assert answer.message.startswith("Timeout: Too large resource version: 99999999, current: ")
    assert answer.content["details"]["retryAfterSeconds"] == 1
    assert answer.causes == [("ResourceVersionTooLarge", "")]
    assert answer.headers["retry-after"] == "1"


async def test_an_empty_list_of_an_unused_namespace(server: Subject) -> None:
    path = server.configmaps.replace(server.namespace, fresh("nowhere-"))
    assert (await server.get(path)).content["items"] == []
