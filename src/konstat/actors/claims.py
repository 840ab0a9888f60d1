"""Whose an object is: adoption and release by selector. Pure decisions, and the writes for them.

An owner claims the objects that its selector matches and that nobody manages, and lets go those
that it manages and that match no more. Before: `konstat.actors.content`. After: the actors that
own by selector (ReplicaSet, Deployment, StatefulSet, DaemonSet, Job).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from konstat.actors import content, patch
from konstat.actors.content import Obj
from konstat.actors.world import World
from konstat.errors import NotFound
from konstat.objects.kind import Kind
from konstat.objects.selector import Selector

Claim = Literal["keep", "adopt", "release", "ignore"]


def decide(owner: Mapping[str, Any], selector: Selector, child: Mapping[str, Any]) -> Claim:
    """What ``owner`` does about ``child``.

    An owner or an orphan that is being deleted adopts nothing and is not adopted; an owner that is
    being deleted lets nothing go, for the garbage collector decides.
    """
    manager = content.controller(child)
    matches = selector.matches(content.labels(child))
    if manager is not None:
        if manager.get("uid") != content.uid(owner):
            return "ignore"
        if matches:
            return "keep"
        return "ignore" if content.deleting(owner) else "release"
    if not matches or content.deleting(owner) or content.deleting(child):
        return "ignore"
    return "adopt"


async def claim(
    world: World,
    owner_kind: Kind,
    owner: Obj,
    child_kind: Kind,
    children: Iterable[Obj],
    *,
    selector: Selector,
) -> list[Obj]:
    """The children of ``owner`` after adoptions and releases.

    Before the first adoption the server is asked whether ``owner`` still is what we think; raises
    NotFound when it is not.
    """
    kept: list[Obj] = []
    asked = False
    for child in children:
        decision = decide(owner, selector, child)
        if decision == "keep":
            kept.append(child)
        elif decision == "release":
            await _write_owners(world, child_kind, child, _without(child, content.uid(owner)))
        elif decision == "adopt":
            if not asked:
                await _check_adopter(world, owner_kind, owner)
                asked = True
            reference = content.controller_reference(owner_kind, owner)
            rest = _without(child, content.uid(owner))
            adopted = await _write_owners(world, child_kind, child, [*rest, reference])
            if adopted is not None:
                kept.append(adopted)
    return kept


async def _check_adopter(world: World, kind: Kind, owner: Obj) -> None:
    live = await world.live(kind, owner)
    if live is None or content.deleting(live):
        raise NotFound(
            f"{kind.kind} {content.namespace(owner)}/{content.name(owner)} is gone or going:"
            " it adopts nothing",
            code=404,
            reason="NotFound",
        )


async def _write_owners(world: World, kind: Kind, child: Obj, owners: list[Obj]) -> Obj | None:
    """The child with its new owners; None when it is gone."""
    try:
        return await world.change(kind, child, patch.metadata_patch(child, ownerReferences=owners))
    except NotFound:
        return None


def _without(child: Mapping[str, Any], owner_uid: str) -> list[Obj]:
    return [owner for owner in content.owners(child) if owner.get("uid") != owner_uid]
