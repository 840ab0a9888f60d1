"""What a word comes to for objects that rest, run, check, or end."""

from __future__ import annotations

import pytest

from konstat.readiness.phaseoutcomes import outcome
from konstat.readiness.signals import Reader
from konstat.readiness.verdict import State
from konstat.readiness.words import of_phase


@pytest.mark.parametrize(
    ("kind", "word", "state"),
    [
        ("Thing", "Running", State.READY),
        ("BatchJob", "Running", State.PROGRESSING),
        ("NodeHealthCheck", "Running", State.PROGRESSING),
        ("NodeHealthCheck", "Enabled", State.READY),
        ("NodeHealthCheck", "Active", State.READY),
        ("NodeHealthCheck", "Failed", State.FAILED),
        ("BatchJob", "Active", State.PROGRESSING),
        ("Thing", "Paused", State.SUSPENDED),
        ("Thing", "Deleting", State.TERMINATING),
    ],
)
def test_a_word_of_the_whole(kind: str, word: str, state: State) -> None:
    found = outcome(of_phase(word), word, Reader(kind, None), whole=True)
    assert found is not None
    assert found[0] is state


def test_a_pause_of_a_side_is_no_news() -> None:
    assert outcome(of_phase("Paused"), "Paused", Reader("Thing", None), whole=False) is None
