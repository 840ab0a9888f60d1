"""Names of built-in kinds whose rule is not the usual one (a DNS subdomain)."""

from __future__ import annotations

from konstat.embedded.metadata import label_problems, subdomain_problems

__all__ = ["any_name", "label_problems", "path_segment_problems", "subdomain_problems"]


def path_segment_problems(name: str) -> list[str]:
    """RBAC's rule: whatever can stand in a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def any_name(name: str) -> list[str]:
    """Events check their names themselves."""
    return []
