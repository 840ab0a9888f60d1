"""What a worker remembers: deadlines, refused writes, and a status that another writer undoes."""

from __future__ import annotations

from stepped_clock import SteppedClock

from konstat.base import chance, limits
from konstat.base.clock import use_clock
from konstat.controller.attempt import Ended
from konstat.controller.memory import Memory
from konstat.readiness import Turn
from konstat.status import Ending, Outcome, refused


def waiting(reason: str = "NotYet") -> Ended:
    outcome = Outcome(ending=Ending.WAITING, reason=reason, message="m", turn=Turn.NOBODY)
    return Ended(outcome=outcome, wait_timeout_seconds=10)


def ending(memory: Memory, generation: int, reason: str = "NotYet") -> Ending:
    return memory.with_deadline(waiting(reason), generation).outcome.ending


def test_a_wait_is_overdue_after_its_time() -> None:
    clock, memory = SteppedClock(), Memory()
    with use_clock(clock):
        assert ending(memory, 1) is Ending.WAITING
        clock.seconds += 9
        assert ending(memory, 1) is Ending.WAITING
        clock.seconds += 1
        assert ending(memory, 1) is Ending.OVERDUE


def test_a_new_reason_or_a_new_spec_is_a_new_wait() -> None:
    clock, memory = SteppedClock(), Memory()
    with use_clock(clock):
        assert ending(memory, 1) is Ending.WAITING
        clock.seconds += 11
        assert ending(memory, 2) is Ending.WAITING
        clock.seconds += 11
        assert ending(memory, 2, "Other") is Ending.WAITING


def test_L2_refused_writes_of_one_burst_count_once() -> None:
    clock, memory = SteppedClock(), Memory()
    with use_clock(clock), chance.use_seed(1):
        first = memory.write_delay()
        assert [round(memory.write_delay(), 6) for _ in range(5)] == [round(first, 6)] * 5
        clock.seconds += first
        assert memory.write_delay() > first


def test_F18_a_status_that_is_undone_again_and_again_is_left_alone_for_a_while() -> None:
    clock, memory = SteppedClock(), Memory()
    mine = refused(1, reason="Mine", message="m")
    other = refused(2, reason="Mine", message="m")
    with use_clock(clock):
        memory.note_written(mine)
        for _ in range(limits.CONTESTED_CORRECTIONS):
            assert not memory.is_contested(mine)
            memory.note_written(mine)
            clock.seconds += 0.1
        assert memory.is_contested(mine)
        # Another wish is written at once, and after the window the same one too.
        assert not memory.is_contested(other)
        clock.seconds += limits.CONTESTED_WINDOW_SECONDS
        assert not memory.is_contested(mine)
