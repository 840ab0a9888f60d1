"""What the garbage collector does with one object, from what is known of its owners. Pure.

Before: `konstat.actors.content`. After: `konstat.actors.garbage`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from konstat.actors import content
from konstat.actors.content import Obj

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

OwnerState = Literal["solid", "waiting", "absent"]
"""There; there, and waiting for its dependents to be deleted; not there."""

Policy = Literal["Background", "Foreground", "Orphan"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Keep the object as it is, take ``dropped`` owners off it, or delete it."""

    action: Literal["keep", "drop owners", "delete"]
    dropped: tuple[str, ...] = ()
    policy: Policy = "Background"


def state_of(owner: Mapping[str, Any]) -> OwnerState:
    """The state of an owner that is there."""
    waits = content.deleting(owner) and FOREGROUND in content.finalizers(owner)
    return "waiting" if waits else "solid"


def judge(obj: Obj, states: Mapping[str, OwnerState], *, has_dependents: bool) -> Verdict:
    """What to do with an object; ``states`` by uid of each of its owners.

    One solid owner keeps it, and references to others that are gone or going are dropped. Without
    one it is deleted: in the foreground if an owner waits for it and it has dependents itself;
    otherwise as its own finalizers say.
    """
    if not states or content.deleting(obj):
        return Verdict(action="keep")
    going = tuple(uid for uid, state in states.items() if state != "solid")
    if len(going) < len(states):
        return Verdict(action="drop owners" if going else "keep", dropped=going)
    if has_dependents and "waiting" in states.values():
        return Verdict(action="delete", policy="Foreground")
    held = content.finalizers(obj)
    if ORPHAN in held:
        return Verdict(action="delete", policy="Orphan")
    if FOREGROUND in held:
        return Verdict(action="delete", policy="Foreground")
    return Verdict(action="delete")


def without_owners(obj: Obj, uids: Sequence[str]) -> list[Obj]:
    return [owner for owner in content.owners(obj) if owner.get("uid") not in uids]


def without_finalizer(obj: Obj, name: str) -> list[str]:
    return [found for found in content.finalizers(obj) if found != name]


def blocks(dependent: Obj, owner_uid: str) -> bool:
    """Whether ``dependent`` holds its owner back from being deleted in the foreground."""
    return any(
        owner.get("uid") == owner_uid and owner.get("blockOwnerDeletion")
        for owner in content.owners(dependent)
    )


def unblocked(dependent: Obj) -> list[Obj]:
    """The owners of ``dependent``, none of which it holds back (to end a cycle)."""
    return [
        {**owner, "blockOwnerDeletion": False} if owner.get("blockOwnerDeletion") else owner
        for owner in content.owners(dependent)
    ]
