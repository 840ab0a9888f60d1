"""Rights that an operator lacks: told where it can be, others go on, used once they are granted.

The embedded API has no authorization, so all of this runs on a real server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from stage import Crate, Stage, crates, operating, ready, spin
from story import eventually, message, said

from konstat.base import chance, limits
from konstat.controller import Manager
from konstat.controller.run import install_kinds
from konstat.kinds import Namespace
from konstat.objects.kind import Kind
from konstat.testing import ControlPlane, Rule, User

pytestmark = pytest.mark.realapi

RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLE = Kind(
    group=RBAC, version="v1", kind="ClusterRole", plural="clusterroles", namespaced=False
)
ROLE = Kind(group=RBAC, version="v1", kind="Role", plural="roles")
READ = ("get", "list", "watch")
GROUP = Crate.kind.group


def own(*verbs: str) -> Rule:
    return Rule(verbs=verbs, groups=(GROUP,), resources=("crates",))


def children(*verbs: str) -> Rule:
    return Rule(verbs=verbs, resources=("configmaps",))


STATUS = Rule(verbs=("patch",), groups=(GROUP,), resources=("crates/status",))
EVENTS = Rule(verbs=("create", "patch"), groups=("events.k8s.io",), resources=("events",))
ALL = (own(*READ, "patch"), children(*READ, "create", "patch", "delete"), STATUS, EVENTS)


def but(wrong: Rule, *, instead: Rule | None = None) -> tuple[Rule, ...]:
    """All rights with one rule missing or narrower."""
    kept = [rule for rule in ALL if rule != wrong]
    assert len(kept) == len(ALL) - 1
    return (*kept, instead) if instead else tuple(kept)


class Limited:
    """A user of the control plane whose rights the test changes."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name

    async def grant(self, *rules: Rule) -> None:
        """Let the user do this, and nothing that it could do before."""
        content = [
            {"verbs": r.verbs, "apiGroups": r.groups, "resources": r.resources} for r in rules
        ]
        patch = [{"op": "replace", "path": "/rules", "value": content}]
        await self.stage.client.patch(CLUSTER_ROLE, f"konstat-rig:{self.name}", patch, type="json")

    async def says(self, reason: str, text: str, name: str = "c") -> None:
        seen = await eventually(
            lambda: self.stage.look(name), lambda c: said(c).get("Ready", ("",) * 3)[1] == reason
        )
        assert text in message(seen, "Ready")
        assert "(the operator's owner must act)" in message(seen, "Ready")


Running = Callable[[Limited, Manager], Awaitable[None]]


@pytest.fixture
async def stage(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    monkeypatch.setattr(limits, "UNREADABLE_SECONDS", 0.2)
    monkeypatch.setattr(limits, "UNAVAILABLE_RETRY_SECONDS", 1.0)
    monkeypatch.setattr(limits, "AVAILABILITY_LOOK_SECONDS", 0.1)
    async with control_plane.client() as client:
        await install_kinds(client, [Crate])
        yield Stage(client, namespace)


@asynccontextmanager
async def running(
    plane: ControlPlane, stage: Stage, *rules: Rule
) -> AsyncIterator[tuple[Limited, Manager]]:
    """An operator of Crates that may do no more than this."""
    user = f"op-{chance.suffix(6)}"
    await plane.add_user(User(name=user, rules=rules))
    async with (
        plane.client(user=user) as client,
        operating(stage.manager(crates(), client=client)) as manager,
    ):
        yield Limited(stage, user), manager


@pytest.mark.parametrize(
    ("verbs", "text"),
    [((), "cannot watch resource"), (("get", "list", "patch"), "cannot watch resource")],
    ids=["nothing", "no watch"],
)
async def test_F61_its_own_kind_is_told_in_log_and_readiness(
    control_plane: ControlPlane,
    stage: Stage,
    caplog: pytest.LogCaptureFixture,
    verbs: tuple[str, ...],
    text: str,
) -> None:
    await stage.create()
    rules = but(ALL[0], instead=own(*verbs) if verbs else None)
    async with running(control_plane, stage, *rules) as (user, manager):
        await spin(lambda: f"crates.{GROUP} in {stage.namespace} cannot be read:" in caplog.text)
        (problem,) = manager._ready().values()
        assert text in problem
        await user.grant(*ALL)
        await stage.says(ready())
        await spin(lambda: manager._ready() == {})


@pytest.mark.parametrize(
    ("verbs", "text"),
    [
        ((*READ, "create", "delete"), "cannot patch resource"),
        ((*READ, "patch", "delete"), "cannot create resource"),
        (("list", "watch", "create", "patch", "delete"), "cannot get resource"),
    ],
    ids=["no patch", "no create", "no get"],
)
async def test_F61_writes_of_children_are_told_on_the_resource(
    control_plane: ControlPlane, stage: Stage, verbs: tuple[str, ...], text: str
) -> None:
    await stage.create()
    rules = but(ALL[1], instead=children(*verbs))
    async with running(control_plane, stage, *rules) as (user, manager):
        await user.says("Forbidden", text)
        assert manager._ready() == {}  # the caches are read: nothing that a probe could mend
        await user.grant(*ALL)
        await stage.says(ready())


async def test_F72_events_that_are_forbidden_cost_the_events_and_one_line(
    control_plane: ControlPlane, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.create()
    async with running(control_plane, stage, *but(EVENTS)):
        await stage.says(ready())
        await stage.create("other")
        await stage.says(ready(), "other")
        await spin(lambda: "was not recorded" in caplog.text)
    assert caplog.text.count("was not recorded") == 1
    assert await stage.events() == []


async def test_a_right_to_patch_that_is_revoked_shows_at_the_next_write(
    control_plane: ControlPlane, stage: Stage
) -> None:
    await stage.create(text="one")
    async with running(control_plane, stage, *ALL) as (user, _):
        await stage.says(ready())
        await user.grant(*but(ALL[1], instead=children(*READ)))
        await stage.edit(text="two")
        await user.says("Forbidden", "cannot patch resource")
        await user.grant(*ALL)
        await stage.says(ready(2))


async def test_F61_L3_one_namespace_without_rights_holds_no_other_back(
    control_plane: ControlPlane, stage: Stage
) -> None:
    user = f"op-{chance.suffix(6)}"
    await control_plane.add_user(User(name=user, rules=ALL, namespaces=(stage.namespace,)))
    other = Stage(stage.client, f"{stage.namespace}-b")
    await stage.client.create(Namespace.named(other.namespace))
    await stage.create()
    await other.create()
    spaces = (stage.namespace, other.namespace)
    async with (
        control_plane.client(user=user) as client,
        operating(stage.manager(crates(), client=client, namespaces=spaces)) as manager,
    ):
        await stage.says(ready())
        await stage.edit(text="new")
        await stage.says(ready(2))
        problems = manager._ready()
        assert sorted(problems) == [
            f"configmaps in {other.namespace}",
            f"crates.{GROUP} in {other.namespace}",
        ]
        assert "status" not in await other.look()
        await grant_in(stage, user, other.namespace)
        await other.says(ready())
        await spin(lambda: manager._ready() == {})
    await stage.client.delete(Namespace, other.namespace)


async def grant_in(stage: Stage, user: str, namespace: str) -> None:
    """Give a user in another namespace the role that it has in its own."""
    role = await stage.client.get(ROLE, f"konstat-rig:{user}", namespace=stage.namespace)
    binding = Kind(group=RBAC, version="v1", kind="RoleBinding", plural="rolebindings")
    bound = await stage.client.get(binding, f"konstat-rig:{user}", namespace=stage.namespace)
    for kind, content in ((ROLE, role), (binding, bound)):
        copy = {**content, "metadata": {"name": content["metadata"]["name"]}}
        await stage.client.create(kind, copy, namespace=namespace)
