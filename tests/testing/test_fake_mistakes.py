"""A FakeContext tells an author's mistakes as a cluster would."""

from __future__ import annotations

from typing import Any

import pytest
from trials import Trial, TrialContext, config

from konstat.kinds import ConfigMap
from konstat.testing import FakeContext, FakeEvent, attempt


def trial() -> Trial:
    return Trial.from_content({"metadata": {"name": "trial"}, "spec": {"scenario": ""}})


async def test_a_call_without_await_is_told_as_on_a_cluster() -> None:
    async def forgets(trial: Trial, context: TrialContext) -> None:
        context.status.main.good()
        context.status.hidden.good()
        context.apply(config("settings"))  # pyright: ignore[reportUnusedCoroutine]

    settled = await attempt(forgets, trial())
    assert settled.says("Ready") == ("Unknown", "NotAwaited")
    assert "context.apply(…) was called without await" in settled.message("Ready")


async def test_two_wishes_for_one_child_are_refused_as_on_a_cluster() -> None:
    async def wavers(trial: Trial, context: TrialContext) -> None:
        context.status.hidden.good()
        for text in texts:
            wanted = ConfigMap(metadata={"name": "settings"}, data={"text": text})
            await context.apply(wanted, component=context.status.main)

    texts = ["one", "one"]
    context: FakeContext[Trial] = FakeContext()
    assert (await attempt(wavers, trial(), context)).says("Ready") == ("True", "Ready")
    texts = ["one", "two"]
    settled = await attempt(wavers, trial(), context)
    assert settled.says("Ready") == ("False", "ManifestError")
    assert "applied twice in one attempt" in settled.message("Ready")
    texts = ["three"]
    assert (await attempt(wavers, trial(), context)).says("Ready") == ("True", "Ready")


async def test_arguments_that_are_none_are_refused_as_on_a_cluster() -> None:
    options: dict[str, Any] = {}

    async def mistaken(trial: Trial, context: TrialContext) -> None:
        await context.apply(config("settings"), **options)

    options = {"component": "main"}
    assert (await attempt(mistaken, trial())).says("Ready") == ("Unknown", "TypeError")
    options = {"judge": lambda _: True}
    settled = await attempt(mistaken, trial())
    assert "returned True: return a konstat.readiness.Readiness" in settled.message("Ready")


async def _gives_no_metadata(context: Any) -> None:
    await context.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"})


async def _reads_a_word(context: Any) -> None:
    context.get("ConfigMap", "c")


async def _lists_a_word(context: Any) -> None:
    context.list("ConfigMap")


async def _prunes_one_class(context: Any) -> None:
    await context.prune(ConfigMap)


async def _deletes_a_word(context: Any) -> None:
    await context.delete("ConfigMap", "c")


async def _deletes_itself(context: Any) -> None:
    await context.delete(Trial, context.resource.name)


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (_gives_no_metadata, "metadata of a ConfigMap to apply is 'x': give a mapping"),
        (_reads_a_word, "context.get takes a Resource class such as ConfigMap, not 'ConfigMap'"),
        (_lists_a_word, "context.list takes a Resource class"),
        (_prunes_one_class, "context.prune takes a list of Resource classes, not <class"),
        (_deletes_a_word, "context.delete takes a Resource class"),
        (_deletes_itself, "is the resource itself: use context.client.delete"),
    ],
)
async def test_mistakes_with_objects_are_told_as_on_a_cluster(mistake: Any, text: str) -> None:
    async def mistaken(trial: Trial, context: TrialContext) -> None:
        await mistake(context)

    settled = await attempt(mistaken, trial())
    assert settled.outcome.reason == "ManifestError"
    assert text in settled.message("Ready")


async def test_an_event_of_no_words_is_recorded_as_it_prints() -> None:
    async def mistaken(trial: Trial, context: Any) -> None:
        context.event(404, None, type="Wrong")

    context: FakeContext[Trial] = FakeContext()
    assert (await attempt(mistaken, trial(), context)).error is None
    assert context.events == [FakeEvent("Error", "None", "Warning")]
