"""The log and its views, against a model that keeps every state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.embedded.storage import ANY, Compacted, Key, Storage

TABLE = "things"
KEYS = [Key("n", "a"), Key("n", "b"), Key("m", "a"), Key("", "c")]


def _obj(value: int) -> dict[str, object]:
    return {"metadata": {}, "value": value}


def _values(entries: list[tuple[Key, dict[str, object]]]) -> dict[Key, object]:
    return {key: obj["value"] for key, obj in entries}


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans(), st.integers(0, 9)), max_size=30),
    st.integers(1, 8),
)
def test_views_of_every_revision(writes: list[tuple[Key, bool, int]], history: int) -> None:
    storage = Storage(history=history)
    states: dict[int, dict[Key, object]] = {storage.revision: {}}
    current: dict[Key, object] = {}
    for key, is_removal, value in writes:
        if is_removal and key in current:
            storage.remove(TABLE, key)
            del current[key]
        elif not is_removal:
            storage.put(TABLE, key, _obj(value))
            current[key] = value
        states[storage.revision] = dict(current)
    for revision, expected in states.items():
        if revision < storage.compacted:
            with pytest.raises(Compacted):
                storage.scan_at(TABLE, revision)
        else:
            assert _values(storage.scan_at(TABLE, revision)) == expected
    assert len(storage.log) < 2 * history


def test_C3_each_write_is_a_revision() -> None:
    storage = Storage()
    first = storage.put(TABLE, KEYS[0], _obj(1))
    second = storage.put("others", KEYS[0], _obj(2))
    removed = storage.remove(TABLE, KEYS[0])
    versions = [int(o["metadata"]["resourceVersion"]) for o in (first, second)]  # type: ignore[index]
    assert [*versions, removed] == [2, 3, 4]


def test_C74_order_is_that_of_keys() -> None:
    storage = Storage()
    for key in (Key("a", "x"), Key("a-b", "x"), Key("a", "a"), Key("a.b", "x")):
        storage.put(TABLE, key, _obj(1))
    ordered = [key.text for key, _ in storage.scan(TABLE)]
    assert ordered == ["a-b/x", "a.b/x", "a/a", "a/x"]


def test_changes_after_a_revision() -> None:
    storage = Storage()
    storage.put(TABLE, KEYS[0], _obj(1))
    revision = storage.revision
    storage.put(TABLE, KEYS[0], _obj(2))
    storage.remove(TABLE, KEYS[0])
    found = list(storage.changes(TABLE, revision))
    assert [change.operation for change in found] == ["MODIFIED", "DELETED"]
    storage.compact(storage.revision)
    with pytest.raises(Compacted):
        storage.changes(TABLE, revision)


def test_followers_are_woken_until_they_stop() -> None:
    storage = Storage()
    woken: list[str] = []
    stop = storage.follow(TABLE, lambda: woken.append("table"))
    storage.follow(ANY, lambda: woken.append("any"))
    storage.put(TABLE, KEYS[0], _obj(1))
    storage.put("others", KEYS[0], _obj(1))
    assert woken == ["table", "any", "any"]
    stop()
    storage.put(TABLE, KEYS[0], _obj(2))
    assert woken == ["table", "any", "any", "any"]
    assert storage.followers() == 1
