"""Names of built-in kinds whose rule is not the usual one (a DNS subdomain)."""

from __future__ import annotations

from konstat.embedded import metadata


def label_problems(name: str) -> list[str]:
    """A DNS label; of a subdomain that is none, the server says just this."""
    problems = metadata.label_problems(name)
    if problems and "." in name and not metadata.subdomain_problems(name):
        return [*problems[:-1], "must not contain dots"]
    return problems


def path_segment_problems(name: str) -> list[str]:
    """RBAC's rule: whatever can stand in a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def any_name(name: str) -> list[str]:
    """Events check their names themselves."""
    return []
