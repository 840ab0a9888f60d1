"""Objects whose spec the types refuse although the server let them in, all beside a good one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pytest
from embedded_stage import embedded_stage
from msgspec import Meta
from stage import Stage
from story import eventually, message, said

from konstat.controller import Controller
from konstat.controller.run import install_manifest
from konstat.objects.crd import crd
from konstat.objects.model import Model, Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Port(Model):
    port: Annotated[int, Meta(ge=1, le=65535)]


class ShopSpec(Spec):
    image: str
    size: Size = Size.SMALL
    replicas: int = 1
    share: float = 0.5
    ports: list[Port] = []  # noqa: RUF012 - msgspec copies it
    labels: dict[str, str] = {}  # noqa: RUF012
    extra: Any = None


class ShopStatus(Status):
    opened: Component


class Shop(Resource[ShopSpec, ShopStatus], group="specs.example.com", version="v1"):
    """Wants many things of its spec."""


GOOD = {"image": "web:1"}

REFUSED: dict[str, tuple[Any, str]] = {
    "required": ({}, "spec: object missing required field `image`"),
    "type": ({"image": 5}, "spec.image: expected `str`, got `int`"),
    "null": ({"image": None}, "spec.image: expected `str`, got `null`"),
    "enum": ({**GOOD, "size": "huge"}, "spec.size: invalid enum value 'huge'"),
    "fraction": ({**GOOD, "replicas": 1.5}, "spec.replicas: expected `int`, got `float`"),
    "range": ({**GOOD, "ports": [{"port": 80}, {"port": 0}]}, "spec.ports[1].port: expected `int`"),
    "list": ({**GOOD, "ports": {"port": 80}}, "spec.ports: expected `array`, got `object`"),
    "map": ({**GOOD, "labels": {"a": 1}}, "spec.labels"),
    "text": ("open", "spec: expected `object`, got `str`"),
}
ACCEPTED: dict[str, Any] = {
    "large": {**GOOD, "replicas": 2**62, "share": 1e300},
    "whole": {**GOOD, "share": 1},
    "unknown": {**GOOD, "colour": "red"},
    "deep": {**GOOD, "extra": [[[[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]]]},
}


async def install_loose(stage: Stage) -> None:
    """The kind with a schema that lets everything in."""
    manifest = crd(Shop)
    schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"x-kubernetes-preserve-unknown-fields": True}
    await install_manifest(stage.client, manifest)


async def create(stage: Stage, name: str, spec: Any) -> None:
    metadata = {"name": name, "namespace": stage.namespace}
    content = {"apiVersion": Shop.kind.api_version, "kind": "Shop", "metadata": metadata}
    await stage.client.create(Shop.kind, {**content, "spec": spec}, namespace=stage.namespace)


async def test_L3_every_spec_that_is_refused_is_told_with_its_path_and_heals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts: list[str] = []
    controller: Controller[Shop] = Controller(Shop, concurrency=1)

    @controller.reconcile
    async def reconcile(shop: Shop, context: Any) -> None:
        attempts.append(shop.name)
        context.status.opened.good()

    async with embedded_stage(install=()) as stage:
        await install_loose(stage)
        for name, (spec, _) in REFUSED.items():
            await create(stage, name, spec)
        for name, spec in ACCEPTED.items():
            await create(stage, name, spec)
        async with stage.running(controller):
            for name in ACCEPTED:
                await eventually(
                    lambda name=name: stage.look(name, Shop),
                    lambda c: said(c).get("Ready", ("",))[0] == "True",
                )
            for name, (_, text) in REFUSED.items():
                seen = await eventually(
                    lambda name=name: stage.look(name, Shop), lambda c: bool(said(c))
                )
                assert said(seen)["Ready"] == ("False", "SpecInvalid", 1), name
                assert said(seen)["Stalled"] == ("True", "SpecInvalid", 1), name
                assert text in message(seen, "Ready"), name
                assert "(the user must act)" in message(seen, "Ready")
            assert set(attempts) == set(ACCEPTED)
            for name in REFUSED:
                patch = [{"op": "replace", "path": "/spec", "value": GOOD}]
                await stage.client.patch(
                    Shop.kind, name, patch, type="json", namespace=stage.namespace
                )
                await eventually(
                    lambda name=name: stage.look(name, Shop),
                    lambda c: said(c)["Ready"] == ("True", "Ready", 2),
                )
    assert "Traceback" not in caplog.text
