"""Is an object done, and if not, why, and whose turn is it: pure rules per kind.

Read `verdict` first (the words), then `compute` (the order of judgement), then the rules:
`workloads` with `pods`, `containers`, `images`, `causes` and `events`; `jobs`, `networking`,
`storage`, `cluster`, `machinery`, `gateway`; `generic` for all other kinds; `aggregate` for many
objects. `related` says where a rule finds the objects around. Nothing here awaits, keeps state, or
writes a condition: that is `konstat.status`.
"""

from __future__ import annotations

from konstat.readiness.aggregate import aggregate
from konstat.readiness.builtin import RULES
from konstat.readiness.compute import Judge, compute, exists
from konstat.readiness.related import Manifests, Related, RelatedEvents
from konstat.readiness.rulebook import DEFAULT, Rules
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence, Readiness, Reason, State, Turn

rule = DEFAULT.rule
load_rules = DEFAULT.load

__all__ = [
    "RULES",
    "Evidence",
    "Judge",
    "Manifests",
    "Readiness",
    "Reason",
    "Related",
    "RelatedEvents",
    "Rules",
    "State",
    "Subject",
    "Turn",
    "aggregate",
    "compute",
    "exists",
    "load_rules",
    "rule",
]
