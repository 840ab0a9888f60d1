"""Evidence in, conditions out: the pure status engine. Nothing here awaits or knows a server."""

from konstat.status.component import Component
from konstat.status.condition import Condition
from konstat.status.outcome import (
    Ending,
    Failed,
    Outcome,
    RequeueAfter,
    Signal,
    Stalled,
    Waiting,
)
from konstat.status.patch import Plan, plan
from konstat.status.settle import TURN_TEXTS, Finding, Settlement, refused, settle, started

__all__ = [
    "TURN_TEXTS",
    "Component",
    "Condition",
    "Ending",
    "Failed",
    "Finding",
    "Outcome",
    "Plan",
    "RequeueAfter",
    "Settlement",
    "Signal",
    "Stalled",
    "Waiting",
    "plan",
    "refused",
    "settle",
    "started",
]
