"""The built-in kinds answer to the corpus as a real server was recorded to answer."""

from __future__ import annotations

from typing import Any

import pytest
from builtin_bench import (
    NOW,
    TYPES,
    Bench,
    answers,
    changed,
    difference,
    manifests,
    masked,
    mistakes,
    outcome_of,
    plain,
    refusal,
)

from konstat.embedded.status_errors import StatusError

ANSWERS = answers()
MANIFESTS = dict(manifests())
MISTAKES = mistakes()


def key_of(case: list[Any]) -> str:
    return repr(case)


def test_every_case_has_a_recorded_answer() -> None:
    assert set(ANSWERS["manifests"]) == set(MANIFESTS)
    assert set(ANSWERS["creates"]) == {key_of(case) for case in MISTAKES["creates"]}
    assert set(ANSWERS["updates"]) == {key_of(case) for case in MISTAKES["updates"]}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_good_manifest_is_completed_as_on_a_real_server(name: str) -> None:
    given = MANIFESTS[name]
    created = Bench().create(given)
    kind = TYPES[given["apiVersion"], given["kind"]]
    if kind.to_stored is not None and kind.from_stored is not None:
        created = kind.from_stored(kind.to_stored(created))
    assert plain(created) == ANSWERS["manifests"][name]["object"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_C98_the_columns_are_those_of_a_real_server(name: str) -> None:
    given = MANIFESTS[name]
    kind = TYPES[given["apiVersion"], given["kind"]]
    created = Bench().create(given)
    stored = created if kind.to_stored is None else kind.to_stored(created)
    recorded = ANSWERS["manifests"][name]
    shown = [[one.name, one.type, one.format, one.priority] for one in kind.columns]
    assert shown == recorded["columns"]
    cells = {
        one.name: one.cells(stored, NOW)
        for one in kind.columns
        if one.name not in ("Age", "Created At", "Last Seen", "First Seen", "Name")
    }
    assert masked(cells) == recorded["cells"]


@pytest.mark.parametrize("case", MISTAKES["creates"], ids=key_of)
def test_C51_a_mistake_is_refused_in_the_words_of_a_real_server(case: list[Any]) -> None:
    base, path, value = case
    given = changed(MISTAKES["bases"][base], path, value)
    assert outcome_of(Bench(), given) == ANSWERS["creates"][key_of(case)]


@pytest.mark.parametrize("case", MISTAKES["updates"], ids=key_of)
def test_an_update_has_the_outcome_of_a_real_server(case: list[Any]) -> None:
    base, first_path, first, path, value = case
    bench = Bench()
    given = changed(MISTAKES["bases"][base], first_path, first)
    given["metadata"]["name"] += "-0-test"
    old = bench.create(given)
    try:
        new = bench.update(changed(old, path, value), old)
    except StatusError as error:
        found = refusal(error.status(), old["metadata"]["name"])
    else:
        found = {"code": 200, "changed": masked(difference(new, old))}
    assert found == ANSWERS["updates"][key_of(case)]
