"""The store alone: what it drops, what it overlays, what it announces."""

from __future__ import annotations

import pytest
from store_ear import Ear, replace

from konstat.base import limits
from konstat.cache import Change, Store
from konstat.objects.snapshot import Snapshot


def test_objects_are_found_by_name_uid_owner_namespace_and_labels(store, make):
    owner = {"apiVersion": "v1", "kind": "A", "name": "o", "uid": "o1"}
    other = {"apiVersion": "v1", "kind": "A", "name": "p", "uid": "o2", "controller": True}
    a = make("a", 1, namespace="x", metadata={"ownerReferences": [owner, other]})
    b = make("b", 2, namespace="x", metadata={"labels": {"app": "b", "tier": "1"}})
    c = make("c", 3, namespace="y", metadata={"labels": {"app": "c"}, "ownerReferences": [owner]})
    for snapshot in (c, b, a):
        store.apply(snapshot)
    assert store.get("x", "a") == a
    assert store.get("y", "a") is None
    assert store.by_uid("uid-b") == b
    assert store.by_owner("o1") == [a, c]
    assert store.by_owner("o2") == [a]
    assert store.by_owner("nobody") == []
    assert store.list() == [a, b, c]
    assert store.list("x") == [a, b]
    assert store.list("z") == []
    assert store.list(labels={"app": "b"}) == [b]
    assert store.list("x", {"app": "b", "tier": "2"}) == []
    assert len(store) == 3


def test_indices_follow_every_change(store, make):
    store.apply(make("a", 1, spec={"node": "n1"}))
    store.index("node", lambda s: [s.content.get("spec", {}).get("node", "")])
    assert [s.name for s in store.by_index("node", "n1")] == ["a"]
    store.apply(make("b", 2, spec={"node": "n1"}))
    store.apply(make("a", 3, spec={"node": "n2"}))
    assert [s.name for s in store.by_index("node", "n1")] == ["b"]
    assert [s.name for s in store.by_index("node", "n2")] == ["a"]
    store.delete(make("b", 4))
    assert store.by_index("node", "n1") == []
    with pytest.raises(KeyError):
        store.by_index("zone", "z")


def test_an_index_name_belongs_to_one_function(store):
    def names(snapshot: Snapshot) -> list[str]:
        return [snapshot.name]

    store.index("name", names)
    store.index("name", names)
    with pytest.raises(ValueError, match="choose another name"):
        store.index("name", lambda snapshot: [snapshot.uid])


def test_owners_of_many_objects_are_followed_through_changes(store, make):
    reference = {"apiVersion": "v1", "kind": "A", "name": "o", "uid": "o1"}
    owned = {"metadata": {"ownerReferences": [reference, reference]}}
    for number in range(5):
        store.apply(make(f"a{number}", number + 1, **owned))
    assert len(store.by_owner("o1")) == 5
    store.apply(make("a0", 10))
    assert len(store.by_owner("o1")) == 4
    for number in range(1, 5):
        store.delete(make(f"a{number}", 20 + number))
    assert store.by_owner("o1") == []
    assert len(store._owners) == 0


def test_a_new_subscriber_hears_of_present_objects_and_until_it_leaves(store, make):
    store.apply(make("a", 1))
    ear = Ear()
    leave = store.subscribe(ear)
    store.apply(make("a", 2))
    leave()
    leave()
    store.apply(make("a", 3))
    assert ear.versions == [(None, "1"), ("1", "2")]


def test_what_a_subscriber_raises_is_not_swallowed(store, make):
    def fail(change: Change) -> None:
        raise RuntimeError("my mistake")

    store.subscribe(fail)
    with pytest.raises(RuntimeError, match="my mistake"):
        store.apply(make("a", 1))


def test_F11_a_duplicate_is_dropped(store, ear, make):
    store.apply(make("a", 5))
    store.apply(make("a", 5))
    store.delete(make("a", 6))
    store.delete(make("a", 6))
    assert ear.versions == [(None, "5"), ("6", None)]
    assert store.statistics().dropped == 1


def test_F12_S5_an_older_version_of_a_uid_is_dropped(store, ear, make):
    store.apply(make("a", 10))
    store.apply(make("a", 9))
    store.delete(make("a", 8))
    assert store.get("n", "a").resource_version == "10"
    assert ear.versions == [(None, "10")]


def test_F15_an_object_that_was_deleted_unseen_is_no_ghost(store, ear, make):
    store.delete(make("a", 6))
    store.apply(make("a", 5))
    store.put_own(make("a", 5))
    assert len(store) == 0
    assert ear.changes == []


def test_another_uid_under_a_name_is_an_end_and_a_beginning(store, ear, make):
    store.apply(make("a", 5, uid="one"))
    store.apply(make("a", 9, uid="two"))
    store.apply(make("a", 6, uid="one"))
    store.delete(make("a", 7, uid="one"))
    assert store.get("n", "a").uid == "two"
    assert store.by_uid("one") is None
    assert ear.versions == [(None, "5"), ("5", None), (None, "9")]


def test_an_event_of_the_predecessor_is_dropped(store, ear, make):
    store.apply(make("a", 9, uid="two"))
    store.apply(make("a", 5, uid="one"))
    assert store.get("n", "a").uid == "two"
    assert ear.versions == [(None, "9")]


def test_C91_the_last_state_is_told_of_what_is_gone(store, ear, make):
    store.apply(make("a", 5))
    store.delete(make("a", 8, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert ear.changes[-1].old.deleting
    assert ear.versions[-1] == ("8", None)


def test_F74_versions_that_are_not_numbers_are_equal_or_not(store, ear, make):
    store.apply(make("a", "x"))
    store.apply(make("a", "x"))
    store.apply(make("a", "b"))
    store.put_own(make("a", "q"))
    assert store.get("n", "a").resource_version == "b"
    store.delete(make("a", "d"))
    store.put_own(make("a", "b"))
    store.apply(make("a", "b"))
    assert ear.versions == [(None, "x"), ("x", "b"), ("d", None)]
    assert len(store) == 0


def test_F74_an_own_creation_is_shown_and_its_echo_dropped(store, ear, make):
    store.put_own(make("a", "x"))
    assert store.get("n", "a").resource_version == "x"
    store.apply(make("a", "x"))
    assert (store.pending, ear.changes) == (0, [])
    store.apply(make("a", "y"))
    assert ear.versions == [("x", "y")]


class TestOwnWrites:
    def test_F35_an_own_write_is_read_at_once_and_its_echo_is_silent(self, store, ear, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 7))
        assert store.get("n", "a").resource_version == "7"
        assert store.pending == 1
        store.apply(make("a", 7))
        assert store.pending == 0
        store.apply(make("a", 8))
        assert ear.versions == [(None, "5"), ("7", "8")]

    def test_a_foreign_change_under_an_own_write_is_announced(self, store, ear, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 9, spec={"edited": True}))
        store.apply(make("a", 8, spec={"edited": True}))
        store.apply(make("a", 8, spec={"edited": True}))
        store.apply(make("a", 9, spec={"edited": True}))
        assert ear.versions == [(None, "5"), ("5", "9")]

    def test_foreign_changes_between_own_writes_are_announced(self, store, ear, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 6))
        store.put_own(make("a", 8))
        for version in (6, 7, 8):
            store.apply(make("a", version))
        assert ear.versions == [(None, "5"), ("6", "8")]
        assert store.pending == 0

    def test_a_later_foreign_version_replaces_an_own_write(self, store, ear, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 6))
        store.apply(make("a", 7))
        store.apply(make("a", 6))
        assert store.pending == 0
        assert ear.versions == [(None, "5"), ("6", "7")]

    def test_an_answer_after_its_echo_changes_nothing(self, store, ear, make):
        store.apply(make("a", 5))
        store.apply(make("a", 7))
        store.put_own(make("a", 7))
        store.put_own(make("a", 6))
        assert store.get("n", "a").resource_version == "7"
        assert store.pending == 0
        assert ear.versions == [(None, "5"), ("5", "7")]

    def test_an_answer_after_the_deletion_raises_no_ghost(self, store, make):
        store.apply(make("a", 5))
        store.delete(make("a", 8))
        store.put_own(make("a", 7))
        assert len(store) == 0

    def test_an_answer_after_a_list_that_lacks_the_object_raises_no_ghost(self, store, make):
        replace(store, "9")
        store.put_own(make("a", 7))
        assert len(store) == 0
        store.put_own(make("b", 10))
        assert len(store) == 1

    def test_an_own_creation_over_a_namesake_ends_the_namesake(self, store, ear, make):
        store.apply(make("a", 5, uid="one"))
        store.put_own(make("a", 9, uid="two"))
        store.delete(make("a", 8, uid="one"))
        assert store.get("n", "a").uid == "two"
        assert ear.versions == [(None, "5"), ("5", None)]

    def test_an_own_deletion_hides_at_once_and_for_good(self, store, ear, make):
        store.apply(make("a", 5))
        store.own_deletion("uid-a")
        assert store.get("n", "a") is None
        store.apply(make("a", 6))
        store.put_own(make("a", 6))
        store.delete(make("a", 7))
        assert len(store) == 0
        assert ear.versions == [(None, "5")]

    def test_other_writers_hear_of_own_writes_and_deletions(self, store, ear, make):
        mine, other = Ear(), Ear()
        store.subscribe(mine, writer="mine")
        store.subscribe(other, writer="other")
        store.put_own(make("a", 5), writer="mine")
        store.apply(make("a", 5))
        store.own_deletion("uid-a", writer="mine")
        assert mine.changes == []
        assert other.versions == ear.versions == [(None, "5"), ("5", None)]

    def test_a_store_of_one_namespace_takes_no_writes_to_others(self, kind, make):
        store = Store(kind, namespace="n")
        store.put_own(make("a", 5, namespace="m"))
        assert len(store) == 0

    def test_F10_an_own_write_that_the_watch_passed_is_overdue(self, store, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 7))
        assert not store.overdue("6")
        assert store.overdue("7")
        store.apply(make("a", 7))
        assert not store.overdue("9")

    def test_own_writes_remembered_are_bounded(self, store, ear, make):
        store.apply(make("a", 1))
        for version in range(2, 100):
            store.put_own(make("a", version))
        assert len(store.overlay("uid-a").own) == limits.STORE_OWN_VERSIONS
        for version in range(2, 100):
            store.apply(make("a", version))
        assert store.pending == 0
        assert store.get("n", "a").resource_version == "99"

    def test_remembered_deletions_are_bounded(self, store, make):
        for number in range(limits.STORE_TOMBSTONES + 10):
            store.own_deletion(f"uid-{number}")
        assert store.statistics().tombstones == limits.STORE_TOMBSTONES


class TestWriting:
    def test_an_echo_before_the_answer_is_silent(self, store, ear, make):
        store.apply(make("a", 5))
        with store.writing("n", "a"):
            store.apply(make("a", 6))
            assert store.get("n", "a").resource_version == "6"
            store.put_own(make("a", 6))
        assert ear.versions == [(None, "5")]
        assert store.pending == 0

    def test_a_creation_whose_echo_comes_first_is_silent(self, store, ear, make):
        with store.writing("n", "a"):
            store.apply(make("a", 6))
            store.put_own(make("a", 6))
        assert ear.changes == []

    def test_a_foreign_change_meanwhile_is_told_at_the_end(self, store, ear, make):
        store.apply(make("a", 5))
        with store.writing("n", "a"):
            store.apply(make("a", 6))
            store.apply(make("a", 7))
            assert ear.versions == [(None, "5")]
            store.put_own(make("a", 7))
        assert ear.versions == [(None, "5"), ("5", "7")]

    def test_a_write_without_an_answer_is_told(self, store, ear, make):
        def write() -> None:
            with store.writing("n", "a"):
                store.apply(make("a", 6))
                raise TimeoutError

        with pytest.raises(TimeoutError):
            write()
        assert ear.versions == [(None, "6")]

    def test_an_answer_before_its_echo_is_silent_too(self, store, ear, make):
        store.apply(make("a", 5))
        with store.writing("n", "a"):
            store.put_own(make("a", 6))
        store.apply(make("a", 6))
        assert ear.versions == [(None, "5")]

    def test_two_writes_at_once_end_together(self, store, ear, make):
        store.apply(make("a", 5))
        with store.writing("n", "a"):
            with store.writing("n", "a"):
                store.apply(make("a", 6))
                store.apply(make("a", 7))
                store.put_own(make("a", 7))
            store.put_own(make("a", 6))
        assert ear.versions == [(None, "5")]

    def test_other_objects_and_deletions_are_told_at_once(self, store, ear, make):
        store.apply(make("a", 5))
        with store.writing("n", "a"):
            store.apply(make("b", 6))
            store.delete(make("a", 7))
            assert ear.versions == [(None, "5"), (None, "6"), ("7", None)]
        assert len(ear.changes) == 3

    def test_a_successor_that_appears_meanwhile_is_new(self, store, ear, make):
        store.apply(make("a", 5, uid="one"))
        with store.writing("n", "a"):
            store.apply(make("a", 6, uid="one"))
            store.apply(make("a", 8, uid="two"))
        assert ear.versions == [(None, "5"), ("6", None), (None, "8")]

    def test_other_writers_are_told_at_once(self, store, make):
        mine, other = Ear(), Ear()
        store.subscribe(mine, writer="mine")
        store.subscribe(other, writer="other")
        with store.writing("n", "a", writer="mine"):
            store.apply(make("a", 6))
            assert other.versions == [(None, "6")]
            store.put_own(make("a", 6), writer="mine")
        assert mine.changes == []
        assert len(other.changes) == 1

    def test_what_is_remembered_of_a_long_write_is_bounded(self, store, ear, make):
        store.apply(make("a", 1))
        with store.writing("n", "a"):
            for version in range(2, 200):
                store.apply(make("a", version))
            assert len(store._flights["n", "a"].seen) <= limits.STORE_OWN_VERSIONS + 1
            store.put_own(make("a", 50))
        assert ear.versions == [(None, "1"), ("1", "199")]
