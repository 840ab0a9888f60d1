"""Kinds that are missing, forbidden or broken: what the status says, and how it recovers."""

from __future__ import annotations

from typing import Any

import pytest
from stage import (
    Crate,
    CrateStatus,
    Stage,
    config_map,
    crates,
    fill,
    operating,
    ready,
    spin,
    worker_of,
)
from story import eventually, message

from konstat.base import chance, limits
from konstat.base.transport import Request
from konstat.client import Client
from konstat.controller import Context, Controller, Watch
from konstat.controller.run import install_kinds
from konstat.errors import KindNotInstalled, TransportError
from konstat.kinds import ConfigMap, CustomResourceDefinition, Deployment, Secret
from konstat.objects.kind import Kind
from konstat.objects.model import NoStatus, Spec
from konstat.objects.resource import Resource
from konstat.testing import ControlPlane, Rule, User

pytestmark = pytest.mark.realapi

CLUSTER_ROLE = Kind(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    namespaced=False,
)
EVENTS = Rule(verbs=("create", "patch"), groups=("events.k8s.io",), resources=("events",))
READ = ("get", "list", "watch")


class LabelSpec(Spec):
    text: str = ""


def label_kind() -> type[Resource[Any, Any]]:
    """A kind of its own group, so that tests install and remove it freely."""

    class Label(
        Resource[LabelSpec, NoStatus], group=f"{chance.suffix(6)}.example.com", version="v1"
    ):
        """Something beside a Crate that may not be installed."""

    return Label


async def remove_kind(client: Client, cls: type[Resource[Any, Any]]) -> None:
    await client.delete(CustomResourceDefinition, cls.kind.resource)


def because(reason: str, generation: int = 1) -> dict[str, tuple[str, str, int | None]]:
    return {
        "Ready": ("Unknown", reason, generation),
        "ContentReady": ("True", "Exists", generation),
        "Reconciling": ("True", reason, generation),
    }


def note(content: dict[str, Any]) -> str:
    return str((content.get("status") or {}).get("note"))


# --- kinds that are not installed ---------------------------------------------------------------


async def test_an_optional_kind_is_used_from_the_moment_it_is_installed(stage: Stage) -> None:
    label = label_kind()

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)
        if crate.name == "plain":
            return
        await context.apply(label.named(crate.name, text="hello"))

    await stage.create()
    await stage.create("plain")
    async with stage.running(crates(reconcile, optional=[label])) as manager:
        seen = await stage.says(because("KindNotInstalled"))
        assert "is not served" in message(seen, "Ready")
        assert "install its CustomResourceDefinition" in message(seen, "Ready")
        await stage.says(ready(), "plain")  # L3
        assert manager._ready() == {}  # optional: no reason to be unready
        await install_kinds(stage.client, [label])
        # A kind without a status of its own proves nothing by being there.
        await stage.says(because("StatusNotReported"))
        assert (await stage.client.get(label, "c", namespace=stage.namespace)).spec.text == "hello"


async def test_an_author_who_catches_the_error_is_called_again_once_the_kind_is_there(
    stage: Stage,
) -> None:
    label = label_kind()

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)
        try:
            found = context.list(label)
        except KindNotInstalled:
            context.status.note = "no labels here"
        else:
            context.status.note = f"{len(found)} labels"

    await stage.create()
    async with stage.running(crates(reconcile, optional=[label])):
        await eventually(stage.look, lambda c: note(c) == "no labels here")
        await install_kinds(stage.client, [label])
        await eventually(stage.look, lambda c: note(c) == "0 labels")


async def test_F55_a_kind_that_goes_and_comes_back_is_told_and_used_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNREADABLE_SECONDS", 0.2)
    label = label_kind()
    await install_kinds(stage.client, [label])

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)
        await context.apply(label.named(crate.name, text="hello"))

    await stage.create()
    async with stage.running(crates(reconcile, owns=[ConfigMap, label])) as manager:
        await stage.says(because("StatusNotReported"))
        await remove_kind(stage.client, label)
        # H3: nobody touched the Crate, and still it says that it cannot be judged.
        await stage.says(because("KindNotInstalled"))
        assert label.kind.resource in "".join(manager._ready())
        await install_kinds(stage.client, [label])
        await stage.says(because("StatusNotReported"))
        assert manager._ready() == {}


async def test_F55_the_resources_own_kind_goes_and_comes_back(stage: Stage) -> None:
    class CellSpec(Spec):
        text: str = ""

    group = f"{chance.suffix(6)}.example.com"

    class Cell(Resource[CellSpec, CrateStatus], group=group, version="v1"):
        """Like a Crate, in a group that may go."""

    await install_kinds(stage.client, [Cell])
    controller: Any = Controller(Cell, owns=[ConfigMap])

    @controller.reconcile
    async def reconcile(cell: Any, context: Any) -> None:
        await context.apply(config_map(cell), component=context.status.content)

    first = await stage.create("c", Cell)
    async with stage.running(controller, crates()) as manager:
        await stage.says(ready(), "c", Cell)
        await remove_kind(stage.client, Cell)
        await spin(lambda: bool(manager._ready()))
        await stage.create("other")
        await stage.says(ready(), "other")  # L3
        await install_kinds(stage.client, [Cell])
        second = await stage.create("c", Cell)
        await stage.says(ready(), "c", Cell)
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
        config = await stage.config()
        assert config is not None
        assert config["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]


# --- kinds that fail ----------------------------------------------------------------------------


async def test_F54_a_kind_that_only_fails_holds_nobody_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FIRST_LIST_SECONDS", 0.5)
    label = label_kind()
    await install_kinds(stage.client, [label])

    def broken(request: Request) -> Exception | None:
        if f"/{label.kind.plural}" in request.path:
            return TransportError("conversion webhook is down (as the test asked)")
        return None

    stage.tap.fault = broken

    class Pallet(Resource[LabelSpec, CrateStatus], group=label.kind.group, version="v1"):
        """Another resource, which needs the broken kind."""

    await install_kinds(stage.client, [Pallet])
    controller: Any = Controller(Pallet, owns=[ConfigMap, label])

    @controller.reconcile
    async def reconcile(pallet: Any, context: Any) -> None:
        await context.apply(config_map(pallet), component=context.status.content)
        context.list(label)

    await stage.create()
    await stage.create("p", Pallet)
    manager = stage.manager(controller, crates())
    async with operating(manager):
        await stage.says(ready())
        await stage.says(because("KindUnsynced"), "p", Pallet)
        stage.tap.fault = lambda _: None
        await stage.says(ready(), "p", Pallet)


# --- RBAC ---------------------------------------------------------------------------------------


def resources(*extra: Rule) -> tuple[Rule, ...]:
    """What an operator of Crates may do, but for ``extra``."""
    group = Crate.kind.group
    return (
        Rule(verbs=(*READ, "patch"), groups=(group,), resources=("crates",)),
        EVENTS,
        *extra,
    )


STATUS = Rule(verbs=("patch",), groups=(Crate.kind.group,), resources=("crates/status",))
CONFIGS = Rule(verbs=(*READ, "create", "patch", "delete"), resources=("configmaps",))


async def grant(stage: Stage, user: str, *rules: Rule) -> None:
    """Let ``user`` do this, and nothing that it could do before."""
    content = [{"verbs": r.verbs, "apiGroups": r.groups, "resources": r.resources} for r in rules]
    patch = [{"op": "replace", "path": "/rules", "value": content}]
    await stage.client.patch(CLUSTER_ROLE, f"konstat-rig:{user}", patch, type="json")


async def test_F61_a_forbidden_kind_is_told_and_used_once_it_is_granted(
    control_plane: ControlPlane, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNREADABLE_SECONDS", 0.2)
    user = f"op-{chance.suffix(6)}"
    await control_plane.add_user(User(name=user, rules=resources(STATUS)))
    await stage.create()
    async with control_plane.client(user=user) as client, stage.running(crates(), client=client):
        seen = await stage.says(
            {
                "Ready": ("Unknown", "KindForbidden", 1),
                "ContentReady": ("Unknown", "KindForbidden", 1),
                "Reconciling": ("True", "KindForbidden", 1),
            }
        )
        assert "may not be listed and watched" in message(seen, "Ready")
        assert "(the operator's owner must act)" in message(seen, "Ready")
        await grant(stage, user, *resources(STATUS, CONFIGS))
        await stage.says(ready())


async def test_F61_a_right_that_is_revoked_is_told_although_nothing_else_happens(
    control_plane: ControlPlane, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A watch that is open goes on after its right was revoked; the next one is refused (H3).
    monkeypatch.setattr(limits, "WATCH_TIMEOUT_SECONDS", 2)
    monkeypatch.setattr(limits, "WATCH_LIST_SECONDS", 2)
    monkeypatch.setattr(limits, "UNREADABLE_SECONDS", 0.2)
    user = f"op-{chance.suffix(6)}"
    await control_plane.add_user(User(name=user, rules=resources(STATUS, CONFIGS)))
    await stage.create()
    async with (
        control_plane.client(user=user) as client,
        stage.running(crates(), client=client) as manager,
    ):
        await stage.says(ready())
        await grant(stage, user, *resources(STATUS))
        await stage.says(
            {
                "Ready": ("Unknown", "KindForbidden", 1),
                "ContentReady": ("Unknown", "KindForbidden", 1),
                "Reconciling": ("True", "KindForbidden", 1),
            }
        )
        assert "configmaps" in "".join(manager._ready())
        await grant(stage, user, *resources(STATUS, CONFIGS))
        await stage.says(ready())


async def test_F62_a_forbidden_status_is_told_elsewhere_and_work_goes_on(
    control_plane: ControlPlane, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    user = f"op-{chance.suffix(6)}"
    await control_plane.add_user(User(name=user, rules=resources(CONFIGS)))
    await stage.create(text="one")
    async with (
        control_plane.client(user=user) as client,
        stage.running(crates(), client=client) as manager,
    ):
        found = await eventually(lambda: stage.events("WriteFailed"), bool)
        assert "crates/status" in found[0]["note"] or "write the status" in found[0]["note"]
        assert found[0]["type"] == "Warning"
        assert 'konstat_status_write_errors_total{kind="Crate"}' in manager.metrics.text().decode()
        assert "trying again in" in caplog.text
        await stage.edit(text="two")
        await eventually(stage.config, lambda c: c is not None and c["data"]["text"] == "two")
        # It is no failed attempt: the queue's back-off knows nothing of it.
        assert worker_of(manager).queue.statistics().failing == 0
        assert "status" not in await stage.look()
        await grant(stage, user, *resources(CONFIGS, STATUS))
        await stage.says(ready(2))


async def test_a_manager_of_one_namespace_needs_rights_there_only(
    control_plane: ControlPlane, stage: Stage
) -> None:
    user = f"op-{chance.suffix(6)}"
    rules = resources(CONFIGS, STATUS)
    await control_plane.add_user(User(name=user, rules=rules, namespaces=(stage.namespace,)))
    await stage.create()
    elsewhere = Stage(stage.client, "default")
    await elsewhere.create(name := f"c-{chance.suffix(6)}")
    async with control_plane.client(user=user) as client:
        async with stage.running(crates(), client=client) as manager:
            await stage.says(ready())
            await stage.edit(text="new")
            await stage.says(ready(2))
            assert manager._ready() == {}
            assert await stage.events("Ready")

        async def refused() -> list[str]:
            events = control_plane.audit_events(users=[user])
            return [e.request_uri for e in events if e.code == 403]

        assert await refused() == []
    assert "status" not in await elsewhere.look(name)


async def test_pods_that_may_not_be_read_leave_the_rest_working(
    control_plane: ControlPlane, stage: Stage
) -> None:
    user = f"op-{chance.suffix(6)}"
    deployments = Rule(
        verbs=(*READ, "create", "patch"), groups=("apps",), resources=("deployments",)
    )
    await control_plane.add_user(User(name=user, rules=resources(CONFIGS, STATUS, deployments)))

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)

    await stage.create()
    controller = crates(reconcile, owns=[ConfigMap, Deployment])
    async with (
        control_plane.client(user=user) as client,
        stage.running(controller, client=client) as manager,
    ):
        await stage.says(ready())
        assert manager._ready() == {}


# --- kinds that are shared ----------------------------------------------------------------------


async def test_two_controllers_share_what_one_owns_and_the_other_watches(stage: Stage) -> None:
    group = f"{chance.suffix(6)}.example.com"

    class Reader(Resource[LabelSpec, CrateStatus], group=group, version="v1"):
        """Reads the ConfigMap of the Crate of its name."""

    await install_kinds(stage.client, [Reader])
    readers: Any = Controller(Reader, watches=[Watch(ConfigMap, lambda config: [config.name])])

    @readers.reconcile
    async def read(reader: Any, context: Any) -> None:
        config = context.get(ConfigMap, reader.name)
        context.status.note = "" if config is None else config.raw("data")["text"]
        context.status.content.good()

    await stage.create("c", Reader)
    async with stage.running(crates(), readers):
        await stage.says(
            {"Ready": ("True", "Ready", 1), "ContentReady": ("True", "Good", 1)}, "c", Reader
        )
        await stage.create("c", text="first")
        # Written by the other controller of this process, whose own echo wakes only us.
        await eventually(lambda: stage.look("c", Reader), lambda c: note(c) == "first")
        await stage.edit("c", text="second")
        await eventually(lambda: stage.look("c", Reader), lambda c: note(c) == "second")


async def test_reading_an_undeclared_kind_says_what_to_write(stage: Stage) -> None:
    texts: dict[str, str] = {}

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        for name, read in (
            ("get", lambda: context.get(Secret, "s")),
            ("list", lambda: context.list(Secret)),
            ("far", lambda: context.get(ConfigMap, "c", namespace="elsewhere")),
        ):
            try:
                read()
            except Exception as error:  # noqa: BLE001 - the test looks at its text
                texts[name] = str(error)
        try:
            await context.apply(Secret(metadata={"name": "s"}))
        except Exception as error:  # noqa: BLE001
            texts["apply"] = str(error)
        try:
            await context.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        except Exception as error:  # noqa: BLE001
            texts["mapping"] = str(error)
        await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile)):
        await eventually(stage.look, lambda c: "status" in c)
    for name in ("get", "list", "apply"):
        assert "is not declared: add it to owns=[…]" in texts[name], name
    assert "add its class to owns=[…]" in texts["mapping"]
    assert "namespace 'elsewhere' is not among those that this manager works in" in texts["far"]
