"""Checks of paths inside of volumes."""

from __future__ import annotations

import posixpath

from konstat.embedded.builtin.validation.basics import Errors
from konstat.embedded.status_errors import invalid_value


def no_backsteps(path: str, value: str) -> Errors:
    """No ``..`` in a path."""
    if ".." in value.split("/"):
        yield invalid_value(path, value, "must not contain '..'")


def descending_path(path: str, value: str) -> Errors:
    """A relative path that does not climb."""
    if posixpath.isabs(value):
        yield invalid_value(path, value, "must be a relative path")
    yield from no_backsteps(path, value)


def reserved_path(path: str, value: str) -> Errors:
    """A relative path that does not begin with two dots either."""
    if posixpath.isabs(value):
        yield invalid_value(path, value, "must be a relative path")
    if ".." in value.split("/"):
        yield invalid_value(path, value, "must not contain '..'")
    elif value.startswith(".."):
        yield invalid_value(path, value, "must not start with '..'")
