"""`PlanProblem`: why a container cannot become a process as it is. Stays inside this package."""

from __future__ import annotations


class PlanProblem(Exception):
    """The message is for people, as the one of a waiting container."""
