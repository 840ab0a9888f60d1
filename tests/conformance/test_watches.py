"""Items 82 to 94: watches."""

from __future__ import annotations

import json

from both_servers import TABLE, Subject, configmap, widget


async def test_C82_one_object_per_line(server: Subject) -> None:
    await server.make(server.configmaps, configmap(data={"a": "x\ny"}))
    answer = await server.get(
        server.configmaps, watch="true", timeoutSeconds=1, fieldSelector="metadata.name=a"
    )
    lines = answer.body.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["type"] == "ADDED"


async def test_C83_from_a_revision_on(server: Subject) -> None:
    version = (await server.get(server.widgets)).version
    await server.make(server.widgets, widget("before"))
    await server.patch(f"{server.widgets}/before", {"spec": {"size": 1}})
    async with server.watch(server.widgets, resourceVersion=version) as watch:
        await server.make(server.widgets, widget("after"))
        await server.delete(f"{server.widgets}/before")
        assert await watch.take(4) == [
            ("ADDED", "before"),
            ("MODIFIED", "before"),
            ("ADDED", "after"),
            ("DELETED", "before"),
        ]


async def test_C84_without_a_revision(server: Subject) -> None:
    for name in ("b", "a"):
        await server.make(server.widgets, widget(name))
    for query in ({}, {"resourceVersion": "0"}):
        async with server.watch(server.widgets, **query) as watch:
            assert sorted(await watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
            await server.patch(f"{server.widgets}/a", {"spec": {"size": len(query)}})
            assert await watch.take(1) == [("MODIFIED", "a")]


async def test_C86_ahead_of_the_server(server: Subject) -> None:
    async with server.watch(server.widgets, resourceVersion="99999999") as watch:
        assert watch.status == 200
        await server.make(server.widgets, widget())
        assert await watch.is_silent(0.5)


async def test_C87_initial_events(server: Subject) -> None:
    await server.make(server.widgets, widget())
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with server.watch(server.widgets, **query) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        event = await watch.next()
        assert event is not None
        assert event["type"] == "BOOKMARK"
        metadata = event["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert event["object"]["kind"] == "Widget"
        await server.make(server.widgets, widget("b"))
        assert await watch.take(1) == [("ADDED", "b")]
    answer = await server.get(
        server.widgets, watch="true", timeoutSeconds=1, sendInitialEvents="true"
    )
    assert answer.causes == [("FieldValueForbidden", "resourceVersionMatch")]


async def test_C87_initial_events_ahead_of_the_server(server: Subject) -> None:
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "resourceVersion": "99999999",
    }
    async with server.watch(server.widgets, **query) as watch:
        event = await watch.next()
        assert event is not None
        assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
        assert event["object"]["message"].startswith("Timeout: Too large resource version")
        assert await watch.next() is None


async def test_C88_bookmarks_on_request(server: Subject) -> None:
    made = await server.make(server.widgets, widget())
    version = made["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "timeoutSeconds": 4}
    # On another object, so that there is something to mark.
    await server.make(server.configmaps, configmap())
    async with (
        server.watch(server.widgets, **query) as plain,
        server.watch(server.widgets, allowWatchBookmarks="true", **query) as marked,
    ):
        marks = await marked.rest()
        assert await plain.rest() == []
    # A real server may have had no news of its store in time: then there is none.
    if not server.is_real:
        assert [mark["type"] for mark in marks] == ["BOOKMARK"]
    for mark in marks:
        assert int(mark["object"]["metadata"]["resourceVersion"]) >= int(version)


async def test_C89_the_end_by_time(server: Subject) -> None:
    async with server.watch(server.widgets, timeoutSeconds=1) as watch:
        assert await watch.rest() == []


async def test_C90_into_and_out_of_a_selection(server: Subject) -> None:
    made = await server.make(server.widgets, widget(labels={"x": "no"}))
    path = f"{server.widgets}/a"
    version = made["metadata"]["resourceVersion"]
    async with server.watch(
        server.widgets, labelSelector="x=yes", resourceVersion=version
    ) as watch:
        entered = await server.patch(path, {"metadata": {"labels": {"x": "yes"}}})
        await server.patch(path, {"spec": {"size": 1}})
        left = await server.patch(path, {"metadata": {"labels": {"x": "no"}}, "spec": {"size": 2}})
        assert await watch.take(2) == [("ADDED", "a"), ("MODIFIED", "a")]
        event = await watch.next()
        assert event is not None
        assert event["type"] == "DELETED"
        assert event["object"]["metadata"]["labels"] == {"x": "yes"}
        assert event["object"]["spec"]["size"] == 1
        assert event["object"]["metadata"]["resourceVersion"] == left.version
        assert int(left.version) > int(entered.version)


async def test_C91_the_last_content(server: Subject) -> None:
    made = await server.make(server.widgets, widget(spec={"size": 7}))
    version = made["metadata"]["resourceVersion"]
    async with server.watch(server.widgets, resourceVersion=version) as watch:
        await server.delete(f"{server.widgets}/a")
        event = await watch.next()
    assert event is not None
    assert (event["type"], event["object"]["spec"]["size"]) == ("DELETED", 7)
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


async def test_C98_tables_on_watch(server: Subject) -> None:
    for name in ("a", "b"):
        await server.make(server.widgets, widget(name, spec={"size": 3}))
    async with server.watch(server.widgets, accept=TABLE) as watch:
        first, second = await watch.next(), await watch.next()
    assert first is not None
    assert second is not None
    assert first["object"]["kind"] == "Table"
    assert [c["name"] for c in first["object"]["columnDefinitions"]] == ["Name", "Size", "Age"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][:2] == ["b", 3]


async def test_watches_refuse_what_they_do_not_know(server: Subject) -> None:
    answer = await server.get(server.widgets, watch="true", resourceVersion="abc")
    assert answer.code == 500
    assert answer.message.startswith('resourceVersion: Invalid value: "abc"')
