"""What is waited for: a `Goal` from ``--for``, and whether one object has reached it. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from konstat.cli.status.tree import ConditionEntry, TreeNode
from konstat.readiness import State

READY: Final = "ready"
SUSPENDED: Final = "suspended"
GONE: Final = "gone"
CONDITION: Final = "condition"

_SYNONYMS: Final = {"delete": GONE, "deleted": GONE}


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """``what`` is one of ready, suspended, gone and condition; the last has a type and a value."""

    what: str
    condition: str = ""
    value: str = ""

    @property
    def text(self) -> str:
        """What is waited for, after "waiting until … is"."""
        return f"{self.condition}={self.value}" if self.what == CONDITION else self.what


def parse_goal(text: str) -> Goal:
    """The goal that ``--for`` names; raises ValueError saying which ones there are.

    ``condition=TYPE`` means True, as for kubectl; so does ``delete`` mean gone.
    """
    what, separator, rest = text.partition("=")
    what = _SYNONYMS.get(what.lower(), what.lower())
    if what in (READY, SUSPENDED, GONE) and not separator:
        return Goal(what=what)
    name, _, value = rest.partition("=")
    if what == CONDITION and name:
        return Goal(what=what, condition=name, value=value or "True")
    raise ValueError(
        f"{text!r} cannot be waited for: give ready, suspended, gone, condition=TYPE"
        " or condition=TYPE=VALUE"
    )


def is_reached(goal: Goal, node: TreeNode) -> bool:
    """Whether an object that exists is as wanted, for its present generation."""
    match goal.what:
        case "ready":
            return node.state is State.READY
        case "suspended":
            return node.state is State.SUSPENDED
        case "condition":
            found = condition_of(goal, node)
            return (
                found is not None
                and found.status.lower() == goal.value.lower()
                and is_current(found, node)
            )
        case _:
            return False


def condition_of(goal: Goal, node: TreeNode) -> ConditionEntry | None:
    """The condition that is waited for; type and value are compared as kubectl does, in any case.

    Of several with one type the last counts, as the one written over the others by readers that
    keep them by type; a valid object has one only.
    """
    wanted = goal.condition.lower()
    return next((c for c in reversed(node.conditions) if c.type.lower() == wanted), None)


def is_current(condition: ConditionEntry, node: TreeNode) -> bool:
    """Whether the condition is about the present generation, as far as anybody says.

    The condition's own generation goes before that of the status (rule 33 of the status rules,
    kubectl's order). Unequal either way is not current: after a restore it may be ahead.
    """
    observed = condition.observed_generation or node.observed_generation
    return not observed or not node.generation or observed == node.generation
