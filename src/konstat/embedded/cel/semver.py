"""Semantic versions in rules, read as strictly as the server's library reads them.

Before: `operators`. After: `functions_kubernetes`.
"""

from __future__ import annotations

import re
from typing import Final

from konstat.embedded.cel.operators import no_overload
from konstat.embedded.cel.values import CelError, Value
from konstat.embedded.status_errors import quoted

_DIGITS: Final = re.compile(r"[0-9]*")
_WORD: Final = re.compile(r"[0-9A-Za-z-]+")
_UINT64: Final = 2**64


class SemverValue:
    """``semver('1.2.3-rc.1')``: ordered as semver.org says; build metadata does not count."""

    type_name = "kubernetes.Semver"

    def __init__(self, numbers: tuple[int, int, int], pre_release: tuple[str, ...]) -> None:
        self.numbers = numbers
        self.pre_release = pre_release

    def order(self) -> tuple[object, ...]:
        """What versions are compared by: a pre-release comes before its release."""
        parts = tuple(
            (0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre_release
        )
        return (self.numbers, not self.pre_release, parts)

    def same(self, other: Value) -> bool:
        """Whether another version is equal."""
        return isinstance(other, SemverValue) and self.order() == other.order()


def parse_semver(text: Value, normalize: Value = False) -> SemverValue:
    """``semver(text, normalize)``; raises CelError for what is no version."""
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise no_overload(text, normalize)
    return _parsed(_normalized(text) if normalize else text)


def is_semver(text: Value, normalize: Value = False) -> bool:
    """``isSemver(text, normalize)``."""
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise no_overload(text, normalize)
    try:
        parse_semver(text, normalize)
    except CelError:
        return False
    return True


def _parsed(text: str) -> SemverValue:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre_release = rest.partition("-")
    numbers = (major, minor, _number(patch, "patch"))
    words = tuple(pre_release.split(".")) if dash else ()
    for word in words:
        _check_pre_release(word)
    for word in build.split(".") if plus else ():
        if not word:
            raise CelError("Build meta data is empty")
        if not _WORD.fullmatch(word):
            raise CelError(f"Invalid character(s) found in build meta data {quoted(word)}")
    return SemverValue(numbers, words)


def _number(text: str, name: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        problem = f"{name.capitalize()} number must not contain leading zeroes {quoted(text)}"
        raise CelError(problem)
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= _UINT64:
        raise CelError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _check_pre_release(word: str) -> None:
    if not word:
        raise CelError("Prerelease is empty")
    if word.isascii() and word.isdigit():
        if len(word) > 1 and word[0] == "0":
            problem = "Numeric PreRelease version must not contain leading zeroes"
            raise CelError(f"{problem} {quoted(word)}")
        _number(word, "prerelease")
    elif not _WORD.fullmatch(word):
        raise CelError(f"Invalid character(s) found in prerelease {quoted(word)}")


def _normalized(text: str) -> str:
    """Without a ``v`` and leading zeros, with the minor version and patch that are missing."""
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[position] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))
