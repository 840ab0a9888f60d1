"""A whole list takes the place of what a store holds, and no order of anything breaks it."""

from __future__ import annotations

import random
from collections.abc import Callable

from store_ear import replace

from konstat.base import limits
from konstat.cache import Change, Store
from konstat.cache.replacement import Replacement
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot


class TestLists:
    def test_F6_F14_a_list_adds_changes_and_ends_by_uid(self, store, ear, make):
        for name, version in (("same", 1), ("changed", 2), ("gone", 3)):
            store.apply(make(name, version))
        store.apply(make("again", 4, uid="one"))
        del ear.changes[:]
        replace(
            store,
            "20",
            make("same", 1),
            make("changed", 12),
            make("again", 14, uid="two"),
            make("new", 15),
        )
        assert [s.name for s in store.list()] == ["again", "changed", "new", "same"]
        assert sorted(ear.versions, key=str) == sorted(
            [("2", "12"), ("4", None), (None, "14"), (None, "15"), ("3", None)], key=str
        )

    def test_F33_what_we_wrote_after_the_list_stays(self, store, ear, make):
        store.apply(make("a", 5))
        store.put_own(make("a", 30))
        store.put_own(make("b", 31))
        replace(store, "20", make("a", 5))
        assert store.get("n", "a").resource_version == "30"
        assert store.get("n", "b").resource_version == "31"
        assert ear.versions == [(None, "5")]

    def test_a_foreign_change_that_a_list_shows_under_an_own_write_is_announced(
        self, store, ear, make
    ):
        store.apply(make("a", 5))
        store.put_own(make("a", 30))
        replace(store, "20", make("a", 8))
        assert ear.versions == [(None, "5"), ("5", "30")]
        store.apply(make("a", 30))
        assert store.pending == 0

    def test_a_list_that_shows_the_own_write_announces_what_it_may_have_hidden(
        self, store, ear, make
    ):
        store.apply(make("a", 5))
        store.put_own(make("a", 10))
        replace(store, "20", make("a", 10))
        assert ear.versions == [(None, "5"), ("5", "10")]
        assert store.pending == 0

    def test_an_own_deletion_after_the_list_was_asked_for_holds(self, store, ear, make):
        store.apply(make("a", 5))
        replacement = Replacement(store)
        replacement.add(make("a", 5))
        store.own_deletion("uid-a")
        for _ in replacement.commit("8", reset=False):
            pass
        assert len(store) == 0

    def test_F30_after_a_reset_the_list_is_the_truth(self, store, ear, make):
        store.apply(make("a", 50, spec={"x": 1}))
        store.apply(make("b", 51))
        store.put_own(make("c", 60))
        store.delete(make("d", 55))
        replace(store, "20", make("a", 10), make("d", 11), reset=True)
        assert [(s.name, s.resource_version) for s in store.list()] == [("a", "10"), ("d", "11")]
        store.apply(make("a", 21))
        assert store.get("n", "a").resource_version == "21"

    def test_F31_equal_versions_with_other_content_are_not_trusted(self, store, ear, make):
        store.apply(make("a", 50, spec={"x": 1}))
        replace(store, "60", make("a", 50, spec={"x": 2}))
        assert store.get("n", "a").content["spec"] == {"x": 2}
        assert ear.versions[-1] == ("50", "50")

    def test_F30_own_writes_since_the_list_was_asked_for_survive_a_reset(self, store, make):
        store.apply(make("a", 50))
        replacement = Replacement(store)
        replacement.add(make("a", 10))
        store.put_own(make("b", 21))
        for _ in replacement.commit("20", reset=True):
            pass
        assert [(s.name, s.resource_version) for s in store.list()] == [("a", "10"), ("b", "21")]

    def test_F74_lists_of_versions_that_are_not_numbers(self, store, make):
        store.apply(make("a", "x"))
        store.apply(make("b", "y"))
        replacement = Replacement(store)
        replacement.add(make("a", "z"))
        store.put_own(make("c", "w"))
        for _ in replacement.commit("v", reset=False):
            pass
        assert [(s.name, s.resource_version) for s in store.list()] == [("a", "z"), ("c", "w")]
        replace(store, "v2", make("a", "z"))
        assert [s.name for s in store.list()] == ["a"]

    def test_a_large_list_gives_the_loop_its_turns(self, store, make):
        replacement = Replacement(store)
        for number in range(10 * limits.DECODE_SLICE_OBJECTS):
            replacement.add(make(f"a{number}", number + 1))
        assert len(list(replacement.commit("9999", reset=False))) == 10
        assert len(list(Replacement(store).commit("99999", reset=False))) == 10

    def test_unchanged_objects_are_kept_as_they_are(self, store, make):
        store.apply(make("a", 5))
        before = store.get("n", "a")
        replace(store, "9", make("a", 5))
        assert store.get("n", "a") is before


class History:
    """A server with its history, a watch that lags, answers that come in any order, lists.

    When everything has arrived the store is the server, no uid ever went back, and every foreign
    write was followed by a change that shows it. Steps are drawn evenly from a seed: rare orders
    of five or six steps are what breaks a cache, and thousands of short runs find them.
    """

    STEPS = (
        "foreign_write",
        "own_write",
        "own_write_answered",
        "own_write_watched",
        "foreign_deletion",
        "own_deletion",
        "own_deletion_answered",
        "event",
        "event",
        "event_twice",
        "answer",
        "list_asked",
        "list_arrives",
    )

    def __init__(self, kind: Kind, make: Callable[..., Snapshot], seed: int) -> None:
        self.make = make
        self.random = random.Random(seed)
        self.store = Store(kind)
        self.store.subscribe(self.hear)
        self.revision = 100
        self.server: dict[str, Snapshot] = {}
        self.waiting: list[tuple[str, Snapshot]] = []  # events on their way
        self.answers: list[tuple[str, Snapshot]] = []  # of own writes, on their way
        self.listing: tuple[Replacement, list[Snapshot], int] | None = None
        self.foreign: dict[str, int] = {}  # uid -> revision of its last foreign write
        self.told: dict[str, int] = {}  # uid -> newest version that was told
        self.highest: dict[str, int] = {}
        self.uids = 0
        self.steps: list[str] = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            step = self.random.choice(self.STEPS)
            self.steps.append(step)
            getattr(self, step)()
            self.check_step()
        self.finish()

    def hear(self, change: Change) -> None:
        if change.new is not None:
            self.told[change.new.uid] = int(change.new.resource_version)

    # --- the server ---

    def write(self, name: str = "") -> Snapshot:
        name = name or self.random.choice("ab")
        self.revision += 1
        present = self.server.get(name)
        self.uids += present is None
        uid = present.uid if present is not None else f"u{self.uids}"
        snapshot = self.make(name, self.revision, uid=uid, spec={"at": self.revision})
        self.server[name] = snapshot
        self.waiting.append(("apply", snapshot))
        return snapshot

    def erase(self) -> Snapshot | None:
        if not self.server:
            return None
        last = self.server.pop(self.random.choice(sorted(self.server)))
        self.revision += 1
        gone = self.make(last.name, self.revision, uid=last.uid, spec=last.content["spec"])
        self.waiting.append(("delete", gone))
        return gone

    def foreign_write(self) -> None:
        snapshot = self.write()
        self.foreign[snapshot.uid] = self.revision

    def foreign_deletion(self) -> None:
        self.erase()

    def own_write(self) -> None:
        self.answers.append(("put", self.write()))

    def own_write_answered(self) -> None:
        self.store.put_own(self.write())

    def own_write_watched(self) -> None:
        """Events, and perhaps a foreign write, come between an own write and its answer."""
        name = self.random.choice("ab")
        with self.store.writing("n", name):
            snapshot = self.write(name)
            for step in self.random.choices(("event", "foreign_write", "answer"), k=3):
                getattr(self, step)()
            if self.random.random() < 0.8:
                self.store.put_own(snapshot)

    def own_deletion(self) -> None:
        gone = self.erase()
        if gone is not None:
            self.answers.append(("deletion", gone))

    def own_deletion_answered(self) -> None:
        gone = self.erase()
        if gone is not None:
            self.store.own_deletion(gone.uid)

    # --- what reaches the store ---

    def event(self) -> None:
        if self.waiting and self.listing is None:  # while it lists, a watcher does not watch
            verb, snapshot = self.waiting.pop(0)
            getattr(self.store, verb)(snapshot)

    def event_twice(self) -> None:
        if self.waiting and self.listing is None:
            verb, snapshot = self.waiting[0]
            getattr(self.store, verb)(snapshot)
            self.event()

    def answer(self) -> None:
        if self.answers:
            verb, snapshot = self.answers.pop(self.random.randrange(len(self.answers)))
            if verb == "put":
                self.store.put_own(snapshot)
            else:
                self.store.own_deletion(snapshot.uid)

    def list_asked(self) -> None:
        self.waiting.clear()
        self.listing = (Replacement(self.store), list(self.server.values()), self.revision)

    def list_arrives(self) -> None:
        if self.listing is not None:
            replacement, listed, version = self.listing
            self.listing = None
            for snapshot in listed:
                replacement.add(snapshot)
            for _ in replacement.commit(str(version), reset=False):
                pass

    # --- what must hold ---

    def check_step(self) -> None:
        listed = self.store.list()
        assert len(listed) == len(self.store) == len({s.name for s in listed})
        assert all(self.store.by_uid(s.uid) is s for s in listed)
        assert self.store.statistics().bytes == sum(len(s.packed) for s in listed)
        for snapshot in listed:
            version = int(snapshot.resource_version)
            assert version >= self.highest.get(snapshot.uid, 0), "S5"
            self.highest[snapshot.uid] = version

    def finish(self) -> None:
        self.list_arrives()
        while self.answers:
            self.answer()
        while self.waiting:
            self.event()
        assert not self.store.overdue(str(self.revision))
        assert {s.name: s.content for s in self.store.list()} == {
            name: s.content for name, s in self.server.items()
        }
        assert self.store.pending == 0
        for snapshot in self.server.values():
            wanted = self.foreign.get(snapshot.uid, 0)
            assert self.told.get(snapshot.uid, 0) >= wanted, "a foreign write was hidden"


def test_no_order_of_events_answers_and_lists_loses_or_reverts_anything(make, kind):
    for seed in range(2000):
        history = History(kind, make, seed)
        try:
            history.run(steps=5 + seed % 20)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error} after {history.steps}") from error
