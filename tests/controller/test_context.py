"""What an attempt reads and writes through its context, and what wakes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from stage import Crate, Stage, config_map, crates, fill, quiet, ready, spin
from story import eventually, message, said

from konstat.controller import Context, Watch
from konstat.errors import Conflict, KonstatError
from konstat.kinds import ConfigMap, Secret

pytestmark = pytest.mark.realapi


def named(reference: Any) -> list[str]:
    """The Crates that a Secret names in its annotation."""
    return (reference.metadata.annotations or {}).get("crates", "").split()


class Key:
    """A Secret that Crates refer to."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def put(self, *crates: str, **data: str) -> None:
        metadata = {
            "name": "key",
            "namespace": self.stage.namespace,
            "annotations": {"crates": " ".join(crates)},
        }
        content = {"metadata": metadata, "stringData": data}
        await self.stage.client.apply(
            Secret.kind, {"apiVersion": "v1", "kind": "Secret", **content}, force=True
        )


class Noter:
    """A reconcile that counts attempts by name."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    async def reconcile(self, crate: Crate, context: Context[Crate]) -> None:
        self.attempts.append(crate.name)
        await fill(crate, context)

    def count(self, name: str) -> int:
        return self.attempts.count(name)


# --- watches ------------------------------------------------------------------------------------


async def test_a_watch_wakes_who_is_named_before_and_after(stage: Stage) -> None:
    noter = Noter()
    key = Key(stage)
    for name in ("a", "b", "c"):
        await stage.create(name)
    controller = crates(noter.reconcile, watches=[Watch(Secret, named)])
    async with stage.running(controller):
        for name in ("a", "b", "c"):
            await stage.says(ready(), name)
        await quiet(stage.tap)
        noter.attempts.clear()
        await key.put("a")
        await spin(lambda: noter.count("a") == 1)
        await key.put("b")  # the old state names a, the new one b
        await spin(lambda: noter.count("a") == 2 and noter.count("b") == 1)
        await stage.client.delete(Secret, "key", namespace=stage.namespace)
        await spin(lambda: noter.count("b") == 2)
        assert (noter.count("a"), noter.count("c")) == (2, 0)


async def test_pairs_name_resources_of_other_namespaces(stage: Stage) -> None:
    noter = Noter()
    await stage.create("a")
    watch = Watch(Secret, lambda secret: [(stage.namespace, "a"), ("elsewhere", "a")])
    async with stage.running(crates(noter.reconcile, watches=[watch])):
        await stage.says(ready(), "a")
        await quiet(stage.tap)
        noter.attempts.clear()
        await Key(stage).put()
        await spin(lambda: noter.count("a") == 1)


def _raises(secret: Secret) -> Iterable[str]:
    raise LookupError("no such map")


def _exits(secret: Secret) -> Iterable[str]:
    raise SystemExit(3)


async def _awaits(secret: Secret) -> Iterable[str]:
    return ["c"]


MISTAKES: dict[str, tuple[Any, str]] = {
    "raises": (_raises, "LookupError: no such map"),
    "exits": (_exits, "SystemExit: 3"),
    "one text": (lambda secret: "abc", "it returned 'abc': return a list of names"),
    "nothing": (lambda secret: None, "TypeError"),
    "odd entries": (lambda secret: [None], "TypeError"),
    "triples": (lambda secret: [("a", "b", "c")], "ValueError"),
    "objects": (lambda secret: [secret], "TypeError"),
    "a refused spec": (lambda secret: [secret.spec.nothing], "AttributeError"),
}


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_map_function_that_is_wrong_is_logged_and_stops_nothing(
    stage: Stage, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    function, text = MISTAKES[name]
    await stage.create()
    watches = [Watch(Secret, function), Watch(Secret, named)]
    noter = Noter()
    async with stage.running(crates(noter.reconcile, watches=watches)):
        await stage.says(ready())
        await quiet(stage.tap)
        noter.attempts.clear()
        await Key(stage).put("c")
        await spin(lambda: noter.count("c") == 1)
        assert "the map function of Watch(Secret) failed for Secret" in caplog.text
        assert text in caplog.text
        await stage.edit(size=2)
        await stage.says(ready(2))


@pytest.mark.filterwarnings("ignore:coroutine '_awaits' was never awaited")
async def test_an_async_map_function_is_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.create()
    async with stage.running(crates(watches=[Watch(Secret, _awaits)])):  # type: ignore[arg-type]
        await stage.says(ready())
        await Key(stage).put("c")
        await spin(lambda: "the map function of Watch(Secret) failed" in caplog.text)


# --- own writes ---------------------------------------------------------------------------------


async def test_S5_an_attempt_sees_what_the_one_before_it_wrote_and_is_not_woken_by_it(
    stage: Stage,
) -> None:
    seen: list[tuple[int, str | None]] = []

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        config = context.get(ConfigMap, crate.name)
        text = None if config is None else config.raw("data")["text"]
        seen.append((context.status.size, text))
        await context.apply(config_map(crate), component=context.status.content)
        context.status.size += 1

    await stage.create(text="one")
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await quiet(stage.tap)
        assert seen == [(0, None)]
        # At once after its own writes, long before any watch can have shown them.
        await stage.edit(text="two")
        await stage.says(ready(2))
        await quiet(stage.tap)
        assert seen == [(0, None), (1, "one")]
        assert (await stage.look())["status"]["size"] == 2


async def test_H8_at_rest_nothing_is_written_or_read(stage: Stage) -> None:
    noter = Noter()
    for number in range(5):
        await stage.create(f"c{number}")
    async with stage.running(crates(noter.reconcile)) as manager:
        for number in range(5):
            await stage.says(ready(), f"c{number}")
        await quiet(stage.tap)
        (triggers,) = manager._triggers
        before = len(stage.tap.requests)
        noter.attempts.clear()
        await triggers.add_all()  # a resync
        await spin(lambda: len(noter.attempts) == 5)
        await quiet(stage.tap)
        assert len(stage.tap.requests) == before


# --- prune, delete, get, list -------------------------------------------------------------------


class Shelves:
    """One ConfigMap per word of the text, and no others; remembers what it pruned."""

    def __init__(self) -> None:
        self.pruned: list[str] = []

    async def reconcile(self, crate: Crate, context: Context[Crate]) -> None:
        for word in crate.spec.text.split():
            await context.apply(config_map(crate, word, w=word), component=context.status.content)
        self.pruned += await context.prune([ConfigMap])
        context.status.content.observe("rest", _good())


def _good() -> Any:
    from konstat.readiness import compute

    return compute({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})


async def test_prune_deletes_what_is_not_wanted_any_more_and_nothing_else(stage: Stage) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}}
    await stage.client.create(ConfigMap.kind, theirs, namespace=stage.namespace)
    await stage.create("first", text="a b")
    await stage.create("second", text="x")
    shelves = Shelves()
    async with stage.running(crates(shelves.reconcile)):
        await eventually(stage.configs, lambda names: names == ["a", "b", "theirs", "x"])
        await stage.edit("first", text="b c")
        await eventually(stage.configs, lambda names: names == ["b", "c", "theirs", "x"])
        await stage.edit("first", text="")
        await eventually(stage.configs, lambda names: names == ["theirs", "x"])
        await spin(lambda: sorted(shelves.pruned) == ["a", "b", "c"])


async def test_prune_keeps_a_child_whose_apply_failed(stage: Stage) -> None:
    """An author who goes on after a failure must not lose what still runs."""

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        data: Any = {"text": crate.spec.text or 7}  # 7 is refused: not a text
        try:
            await context.apply(
                ConfigMap(metadata={"name": "kept"}, data=data), component=context.status.content
            )
        except KonstatError:
            context.log.info("went on")
        await context.prune([ConfigMap])

    await stage.create(text="good")
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.edit(text="")
        seen = await eventually(stage.look, lambda c: said(c).get("Ready", ("", "", 0))[2] == 2)
        assert said(seen)["ContentReady"][0] == "False"
        assert await stage.configs() == ["kept"]


async def test_delete_removes_ours_and_refuses_a_namesake(stage: Stage) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}}
    await stage.client.create(ConfigMap.kind, theirs, namespace=stage.namespace)

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        if crate.spec.size == 1:
            return await fill(crate, context)
        gone = [await context.delete(ConfigMap, crate.name) for _ in range(2)]
        assert context.get(ConfigMap, crate.name) is None
        if any(gone):  # the echo of our own delete may bring another attempt
            context.status.note = repr(gone)
        context.status.content.good()
        if crate.spec.size == 3:
            await context.delete(ConfigMap, "theirs")
        return None

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.edit(size=2)
        seen = await stage.says(
            {"Ready": ("True", "Ready", 2), "ContentReady": ("True", "Good", 2)}
        )
        assert seen["status"]["note"] == "[True, False]"
        await stage.edit(size=3)
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "NamesakeError")
        assert "it is not ours to delete (the user must act)" in message(seen, "Ready")
        assert await stage.configs() == ["theirs"]


async def test_apply_refuses_a_namesake_and_goes_on_once_it_is_gone(stage: Stage) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    await stage.client.create(ConfigMap.kind, theirs, namespace=stage.namespace)
    await stage.create(text="ours")
    async with stage.running(crates()):
        seen = await stage.says(
            {
                "Ready": ("False", "NamesakeError", 1),
                "ContentReady": ("False", "NamesakeError", 1),
                "Reconciling": ("True", "NamesakeError", 1),
            }
        )
        assert "delete or rename it" in message(seen, "Ready")
        config = await stage.config()
        assert config is not None
        assert "data" not in config
        await stage.client.delete(ConfigMap, "c", namespace=stage.namespace)
        await stage.says(ready())


async def test_get_and_list_read_the_cache_and_the_owner_of_a_field_is_named(stage: Stage) -> None:
    seen: dict[str, Any] = {}

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        for color in ("red", "blue"):
            labels = {"color": color}
            await context.apply(
                ConfigMap(metadata={"name": color, "labels": labels}, data={"v": color}),
                component=context.status.content,
            )
        seen["all"] = sorted(c.name for c in context.list(ConfigMap) if c.metadata.labels)
        seen["red"] = [c.name for c in context.list(ConfigMap, labels={"color": "red"})]
        seen["none"] = context.get(ConfigMap, "green")
        seen["everywhere"] = {c.namespace for c in context.list(ConfigMap, namespace=None)}

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        assert seen["all"] == ["blue", "red"]
        assert (seen["red"], seen["none"]) == (["red"], None)
        assert seen["everywhere"] == {stage.namespace}
        before = len([r for r in stage.tap.requests if r.method == "GET"])
        await stage.edit(size=2)
        await stage.says(ready(2))
        assert len([r for r in stage.tap.requests if r.method == "GET"]) == before
        # Another writer takes a field: it is taken back, and an event names the writer.
        taken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "red"}}
        await stage.client.apply(
            ConfigMap.kind,
            {**taken, "data": {"v": "pink"}},
            namespace=stage.namespace,
            force=True,
            field_manager="painter",
        )
        found = await eventually(lambda: stage.events("Corrected"), bool)
        assert "painter" in found[0]["note"]


async def test_a_conflict_can_be_reported_instead(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await context.apply(
            config_map(crate), component=context.status.content, on_conflict="report"
        )

    await stage.create(text="ours")
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        taken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        await stage.client.apply(
            ConfigMap.kind,
            {**taken, "data": {"text": "theirs"}},
            namespace=stage.namespace,
            force=True,
            field_manager="painter",
        )
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "Conflict")
        assert "painter" in message(seen, "Ready")
        assert issubclass(Conflict, KonstatError)


# --- events -------------------------------------------------------------------------------------


async def test_events_of_attempts_are_counted_up_not_repeated(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.event("Painted", "it is green now")
        context.event("not a reason!", "x" * 5000, type="Warning")
        await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.edit(size=2)
        await stage.says(ready(2))
        found = await eventually(
            lambda: stage.events("Painted"), lambda e: bool(e) and bool(e[0].get("series"))
        )
        assert len(found) == 1
        assert (found[0]["note"], found[0]["series"]["count"]) == ("it is green now", 2)
        assert found[0]["reportingController"] == "crates.controller.example.com"
        (odd,) = await stage.events("NotAReason")
        assert odd["type"] == "Warning"
        assert len(odd["note"]) <= 1024
