"""Annotations by which a test tells pretended containers how to misbehave. Pure.

On the pod (so, in a Deployment, in the annotations of its template):

``nodes.konstat.dev/crash: "<container>=<exit code>[:<reason>[:<message>]]"``
    Each run ends after a moment, so the container crash-loops where its restart policy
    restarts it. Example: ``main=137:OOMKilled``, or
    ``main=1:Error:the database is unreachable``.
``nodes.konstat.dev/exit: "<container>=<exit code>[:<reason>[:<message>]]"``
    Only the first run ends; a restarted container runs on. With ``main=0`` a Job's pod succeeds.
``nodes.konstat.dev/unready: "<container>"``
    It runs but never becomes ready; an init container never ends.

Entries are separated by commas. Without them a pretended init container ends well at once and
any other container runs for ever. A change of the annotations acts on what runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

CRASH: Final = "nodes.konstat.dev/crash"
EXIT: Final = "nodes.konstat.dev/exit"
UNREADY: Final = "nodes.konstat.dev/unready"

_REASON: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_EXIT_CODE_MAXIMUM: Final = 255
_NOTHING: Final[Mapping[str, ScriptedEnding]] = MappingProxyType({})


class ScriptedEnding(msgspec.Struct, frozen=True, kw_only=True):
    """How a run shall end."""

    exit_code: int
    reason: str
    message: str = ""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations of one pod ask for; ``problems`` are entries that make no sense."""

    crashes: Mapping[str, ScriptedEnding] = _NOTHING
    exits: Mapping[str, ScriptedEnding] = _NOTHING
    unready: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


_EMPTY: Final = Script()


def read_script(annotations: Mapping[str, str] | None, *, containers: Collection[str]) -> Script:
    """Read the annotations of a pod with these containers; what is wrong is left out and told."""
    if not annotations or not {CRASH, EXIT, UNREADY} & annotations.keys():
        return _EMPTY
    problems: list[str] = []
    crashes = _endings(annotations, CRASH, containers, problems)
    exits = _endings(annotations, EXIT, containers, problems)
    unready: set[str] = set()
    for name in _entries(annotations, UNREADY):
        if _known(name, UNREADY, containers, problems):
            unready.add(name)
    return Script(
        crashes=crashes, exits=exits, unready=frozenset(unready), problems=tuple(problems)
    )


def _entries(annotations: Mapping[str, str], key: str) -> list[str]:
    return [entry.strip() for entry in annotations.get(key, "").split(",") if entry.strip()]


def _known(name: str, key: str, containers: Collection[str], problems: list[str]) -> bool:
    if name in containers:
        return True
    problems.append(
        f"annotation {key} names container {name!r}, and the pod has {', '.join(containers)}"
    )
    return False


def _endings(
    annotations: Mapping[str, str], key: str, containers: Collection[str], problems: list[str]
) -> dict[str, ScriptedEnding]:
    endings: dict[str, ScriptedEnding] = {}
    for entry in _entries(annotations, key):
        name, _, how = entry.partition("=")
        if not _known(name.strip(), key, containers, problems):
            continue
        try:
            endings[name.strip()] = _ending(how)
        except ValueError as error:
            problems.append(
                f"annotation {key} says {entry!r}: {error};"
                " write it as main=1 or main=137:OOMKilled"
            )
    return endings


def _ending(text: str) -> ScriptedEnding:
    """``137:OOMKilled:message``; raises ValueError."""
    code, _, rest = text.strip().partition(":")
    reason, _, message = rest.partition(":")
    if not (code.isascii() and code.isdigit() and len(code) <= 3):
        raise ValueError(f"{code!r} is not an exit code")
    if int(code) > _EXIT_CODE_MAXIMUM:
        raise ValueError(f"exit code {code} is above {_EXIT_CODE_MAXIMUM}")
    if reason and not _REASON.fullmatch(reason):
        raise ValueError(f"{reason!r} is not a reason in CamelCase")
    default = "Error" if int(code) else "Completed"
    return ScriptedEnding(exit_code=int(code), reason=reason or default, message=message.strip())
