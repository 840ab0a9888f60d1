"""ControllerRevisions: the history of pod templates of StatefulSets and DaemonSets.

The choice of a revision is pure; `keep_revisions` writes it down. Before:
`konstat.actors.claims`. After: `konstat.actors.statefulsets`, `konstat.actors.daemonsets`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from konstat.actors import claims, content, patch
from konstat.actors.content import Obj
from konstat.actors.world import World
from konstat.errors import AlreadyExists
from konstat.objects.diff import same
from konstat.objects.kind import Kind

CONTROLLER_REVISION: Final = Kind(
    group="apps", version="v1", kind="ControllerRevision", plural="controllerrevisions"
)
HASH_LABEL: Final = "controller-revision-hash"


def data_of(owner: Mapping[str, Any]) -> Obj:
    """What a revision keeps of ``owner``: the pod template, as a strategic merge patch."""
    template = content.spec(owner).get("template") or {}
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: Mapping[str, Any]) -> Obj:
    """The pod template that a revision keeps."""
    template = copy.deepcopy(content.spec(revision.get("data") or {}).get("template") or {})
    template.pop("$patch", None)
    return template


def number(revision: Mapping[str, Any]) -> int:
    return revision.get("revision") or 0


def in_order(revisions: Sequence[Obj]) -> list[Obj]:
    """Oldest first."""
    return sorted(revisions, key=lambda r: (number(r), *content.by_age(r)))


def equal_revisions(owner: Obj, revisions: Sequence[Obj]) -> list[Obj]:
    """The revisions of ``owner``'s template, oldest first."""
    wanted = data_of(owner)
    return [one for one in in_order(revisions) if same(one.get("data"), wanted)]


def revision_content(
    owner_kind: Kind,
    owner: Obj,
    revision: int,
    *,
    collisions: int | None,
    hash_label: str,
) -> Obj:
    """A new revision of ``owner``'s template; ``hash_label`` is what it carries its hash under."""
    template = content.spec(owner).get("template") or {}
    mark = content.template_hash(template, collisions)
    return {
        "metadata": {
            "name": content.name_with(content.name(owner), mark, most=253),
            "namespace": content.namespace(owner),
            "labels": {**content.labels(template), hash_label: mark},
            "annotations": dict(content.annotations(owner)),
            "ownerReferences": [content.controller_reference(owner_kind, owner)],
        },
        "data": data_of(owner),
        "revision": revision,
    }


def superfluous(revisions: Sequence[Obj], *, used: Sequence[str], limit: int | None) -> list[Obj]:
    """The oldest revisions beyond the history limit; those named in ``used`` count as none."""
    history = [one for one in in_order(revisions) if content.name(one) not in used]
    excess = len(history) - (10 if limit is None else limit)
    return history[: max(0, excess)]


async def owned_revisions(world: World, owner_kind: Kind, owner: Obj) -> list[Obj]:
    """The revisions of ``owner``, oldest first, after adoptions."""
    selector = content.selector(owner)
    if selector is None:
        return []
    found = await claims.claim(
        world,
        owner_kind,
        owner,
        CONTROLLER_REVISION,
        world.list(CONTROLLER_REVISION, content.namespace(owner)),
        selector=selector,
    )
    return in_order(found)


async def keep_revisions(
    world: World,
    owner_kind: Kind,
    owner: Obj,
    revisions: list[Obj],
    *,
    hash_label: str,
) -> tuple[list[Obj], Obj]:
    """All revisions and the one of the present template, which is created or made the latest.

    Raises AlreadyExists when its name is another's, after the collision was counted.
    """
    following = number(revisions[-1]) + 1 if revisions else 1
    equal = equal_revisions(owner, revisions)
    if equal:
        current = equal[-1]
        if number(current) == following - 1:
            return revisions, current
        renumbered = await world.change(
            CONTROLLER_REVISION, current, patch.set_members(current, ("/revision", following))
        )
        rest = [one for one in revisions if content.uid(one) != content.uid(current)]
        return [*rest, renumbered], renumbered
    collisions = content.status(owner).get("collisionCount")
    wanted = revision_content(
        owner_kind, owner, following, collisions=collisions, hash_label=hash_label
    )
    try:
        made = await world.create(CONTROLLER_REVISION, wanted)
    except AlreadyExists:
        live = await world.client.get(
            CONTROLLER_REVISION, content.name(wanted), namespace=content.namespace(owner)
        )
        if same(live.get("data"), wanted["data"]) and content.controlled_by(
            live, content.uid(owner)
        ):
            return [*revisions, live], live
        status = {**content.status(owner), "collisionCount": (collisions or 0) + 1}
        await world.write_status(owner_kind, owner, status)
        raise
    return [*revisions, made], made


async def trim_revisions(
    world: World, owner: Obj, revisions: Sequence[Obj], *, used: Sequence[str]
) -> None:
    """Delete what the history limit does not keep."""
    limit = content.spec(owner).get("revisionHistoryLimit")
    for one in superfluous(revisions, used=used, limit=limit):
        await world.delete(CONTROLLER_REVISION, one)
