"""Kinds that the cluster does not serve as their classes say: told, waited for, and mended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from embedded_stage import embedded_stage
from stage import CrateStatus, Stage, config_map, operating, ready, spin
from story import eventually, message, said

from konstat.base import chance, limits
from konstat.controller import Controller, HealthAddress, Manager, availability
from konstat.controller.run import install_kinds, install_manifest
from konstat.errors import TransportError
from konstat.kinds import ConfigMap, CustomResourceDefinition
from konstat.objects.crd import crd
from konstat.objects.model import NoStatus, Spec, Status
from konstat.objects.resource import Resource
from konstat.readiness import exists
from konstat.status import Component

Definition = dict[str, Any]


@pytest.fixture(params=["embedded", pytest.param("rig", marks=pytest.mark.realapi)])
async def stage(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    """Looks every fraction of a second at what is missing."""
    monkeypatch.setattr(limits, "AVAILABILITY_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(limits, "AVAILABILITY_SURE_SECONDS", 0.3)
    monkeypatch.setattr(limits, "UNAVAILABLE_RETRY_SECONDS", 0.3)
    if request.param == "embedded":
        async with embedded_stage() as one:
            yield one
        return
    plane = request.getfixturevalue("control_plane")
    namespace = request.getfixturevalue("namespace")
    async with plane.client() as client:
        yield Stage(client, namespace)


class CellSpec(Spec):
    text: str = ""


def cell(version: str = "v1", scope: Any = "Namespaced") -> type[Resource[Any, Any]]:
    """A kind of a group of its own."""
    group = f"{chance.suffix(6)}.example.com"

    class Cell(Resource[CellSpec, CrateStatus], group=group, version=version, scope=scope):
        """Like a Crate."""

    return Cell


def cells(cls: type[Resource[Any, Any]]) -> Controller[Any]:
    controller: Any = Controller(cls, owns=[ConfigMap])

    @controller.reconcile
    async def reconcile(resource: Any, context: Any) -> None:
        await context.apply(config_map(resource), component=context.status.content)

    return controller


def problem(manager: Manager, cls: type[Resource[Any, Any]]) -> str:
    """What /readyz says of a kind."""
    problems = manager._ready().items()
    return "; ".join(text for name, text in problems if name.startswith(cls.kind.resource))


async def replace(stage: Stage, cls: type[Resource[Any, Any]], change: Callable[[Definition], Any]):
    """Install the CRD of a class, changed."""
    manifest = crd(cls)
    change(manifest)
    await install_manifest(stage.client, manifest)


def without_status(manifest: Definition) -> None:
    for version in manifest["spec"]["versions"]:
        version["subresources"] = {}


async def test_F55_a_kind_is_waited_for_visibly(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AVAILABILITY_TOLD_SECONDS", 0.2)
    cls = cell()
    name = cls.kind.resource
    async with operating(stage.manager(cells(cls))) as manager:
        told = f"{name} in {stage.namespace} cannot be read: the cluster does not serve it; install"
        await spin(lambda: caplog.text.count(told) >= 2)  # once in a while
        assert "the cluster does not serve it" in problem(manager, cls)
        await install_kinds(stage.client, [cls])
        await stage.create("c", cls)
        await stage.says(ready(), "c", cls)
        assert manager._ready() == {}


async def test_another_version_is_named(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    old = cell("v1alpha1")
    group = old.kind.group

    class Cell(Resource[CellSpec, CrateStatus], group=group, version="v1"):
        """The version that the operator wants."""

    await install_kinds(stage.client, [old])
    async with operating(stage.manager(cells(Cell))) as manager:
        name = f"cells.{group}"
        text = f"{name} is wanted in version v1, and the cluster serves v1alpha1 of it: install"
        await spin(lambda: text in problem(manager, Cell))
        assert f"{name} in {stage.namespace} cannot be read: {text}" in caplog.text


async def test_rule_44_a_kind_without_status_subresource_is_refused_and_others_go_on(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    bare, other = cell(), cell()
    await replace(stage, bare, without_status)
    await install_kinds(stage.client, [other])
    await stage.create("bare", bare)
    await stage.create("other", other)
    async with operating(stage.manager(cells(bare), cells(other))) as manager:
        await stage.says(ready(), "other", other)
        text = "its CRD has no status subresource, so no status can be written: install the CRD"
        assert text in problem(manager, bare)
        assert f"{bare.kind.resource}: {text}" in caplog.text
        assert await stage.configs() == ["other"]  # nothing was done for it
        await install_kinds(stage.client, [bare])
        await stage.says(ready(), "bare", bare)
        assert manager._ready() == {}


@pytest.mark.parametrize("way", ["no answer", "not listed yet"])
async def test_a_definition_that_could_not_be_looked_at_is_looked_at_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    tries: list[str] = []

    async def begins_badly(client: Any, cls: Any) -> str | None:
        tries.append(cls.kind.resource)
        if len(tries) > 1:
            return await misfit(client, cls)
        if way == "no answer":
            raise TransportError("the server was away")
        return None

    misfit = availability.misfit
    monkeypatch.setattr(availability, "misfit", begins_badly)
    bare = cell()
    await replace(stage, bare, without_status)
    async with operating(stage.manager(cells(bare))) as manager:
        await spin(lambda: "its CRD has no status subresource" in problem(manager, bare))


async def test_a_stop_is_not_held_up_by_a_kind_that_is_refused(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    bare = cell()
    await replace(stage, bare, without_status)
    await stage.create("bare", bare)
    async with operating(stage.manager(cells(bare))) as manager:
        await spin(lambda: problem(manager, bare) != "")
    assert "attempts did not end in time" not in caplog.text
    assert await stage.configs() == []


async def test_another_scope_is_refused(stage: Stage) -> None:
    cls = cell(scope="Cluster")

    def change(manifest: Definition) -> None:
        manifest["spec"]["scope"] = "Namespaced"

    await replace(stage, cls, change)
    async with operating(stage.manager(cells(cls), namespaces=())) as manager:
        text = "serves it with scope Namespaced, and the class says Cluster: delete the CRD"
        await spin(lambda: text in problem(manager, cls))


async def test_another_kind_of_that_plural_is_refused(stage: Stage) -> None:
    cls = cell()

    def change(manifest: Definition) -> None:
        manifest["spec"]["names"] |= {"kind": "Sell", "listKind": "SellList"}

    await replace(stage, cls, change)
    async with operating(stage.manager(cells(cls))) as manager:
        text = "serves cells as kind Sell, and the class is Cell"
        await spin(lambda: text in problem(manager, cls))


async def test_names_that_conflict_are_told_and_healed(stage: Stage) -> None:
    first = cell()
    group = first.kind.group

    class Cell(
        Resource[CellSpec, CrateStatus], group=group, version="v1", kind="Cell", plural="cellars"
    ):
        """Its kind is taken by the other."""

    await install_kinds(stage.client, [first])
    await stage.client.apply(CustomResourceDefinition.kind, crd(Cell), force=True)
    async with operating(stage.manager(cells(Cell))) as manager:
        text = f"CustomResourceDefinition cellars.{group} is there but not NamesAccepted:"
        await spin(lambda: text in problem(manager, Cell))
        await stage.client.delete(CustomResourceDefinition, first.kind.resource)
        await spin(lambda: manager._ready() == {})


class NewSpec(Spec):
    text: str = ""
    colour: str = ""


class NewStatus(Status):
    content: Component
    painted: bool = False


async def test_F57_fields_that_an_older_schema_drops_are_told(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    old = cell()

    class Cell(Resource[NewSpec, NewStatus], group=old.kind.group, version="v1"):
        """What the operator has become."""

    controller: Any = Controller(Cell)

    @controller.reconcile
    async def reconcile(resource: Any, context: Any) -> None:
        context.status.painted = True
        context.status.content.good()

    await install_kinds(stage.client, [old])
    await stage.create("c", old)
    async with operating(stage.manager(controller)) as manager:
        # It works, as far as the cluster lets it, and the log says how far that is.
        seen = await eventually(lambda: stage.look("c", Cell), lambda c: bool(said(c)))
        assert said(seen)["Ready"][0] == "True"
        assert "painted" not in seen["status"]
        name = Cell.kind.resource
        text = f"{name}: the CRD on the cluster does not know spec.colour, status.painted, so"
        await spin(lambda: text in caplog.text)
        assert manager._ready() == {}


async def test_a_schema_that_fits_is_not_complained_of(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    cls = cell()
    await install_kinds(stage.client, [cls])
    await stage.create("c", cls)
    caplog.set_level(logging.INFO)
    async with operating(stage.manager(cells(cls))) as manager:
        await stage.says(ready(), "c", cls)
        (fit,) = manager._availability._fits
        await spin(lambda: fit.fields_due is None)
        assert (fit.suspected, fit.problem) == ([], "")


async def test_an_owned_kind_that_is_missing_is_told_on_the_resource(stage: Stage) -> None:
    cls = cell()
    await install_kinds(stage.client, [cls])

    class Lid(Resource[CellSpec, NoStatus], group=cls.kind.group, version="v1"):
        """Not installed yet."""

    controller: Any = Controller(cls, owns=[Lid])

    @controller.reconcile
    async def reconcile(resource: Any, context: Any) -> None:
        lid = Lid.named(resource.name)
        await context.apply(lid, component=context.status.content, judge=exists)

    await stage.create("c", cls)
    async with operating(stage.manager(controller, health_address=HealthAddress())) as manager:
        seen = await eventually(lambda: stage.look("c", cls), lambda c: bool(said(c)))
        assert said(seen)["Ready"][:2] == ("Unknown", "KindNotInstalled")
        assert f"Lid ({cls.kind.group}/v1) is not served" in message(seen, "Ready")
        await spin(lambda: "the cluster does not serve it" in problem(manager, Lid))
        await install_kinds(stage.client, [Lid])
        await stage.says(ready(), "c", cls)
        assert manager._ready() == {}
