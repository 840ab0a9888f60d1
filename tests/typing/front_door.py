"""What type checkers see of declared classes; `test_typing` runs basedpyright on this file.

Each ``pyright: ignore`` stands on a line that must be an error: without the error the ignore
itself is reported.
"""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

from typing import Annotated, assert_type

from konstat.objects.constraint import Duration, IntOrString, ListMap, Pattern, Range, Rule
from konstat.objects.meta import Metadata
from konstat.objects.model import Model, Spec, Status, StatusPart
from konstat.objects.quantity import Quantity
from konstat.objects.resource import Resource


class Part(StatusPart):
    pass


class Port(Model, rules=[Rule("self.port != 81")]):
    name: Annotated[str, Pattern("^[a-z]+$")]
    port: Annotated[int, Range(1, 65535)] = 80


class WebSpec(Spec):
    image: str
    replicas: Annotated[int, Range(0, 50)] = 1
    ports: Annotated[list[Port], ListMap("name")] = []
    target: IntOrString = 80
    every: Duration = "1m"
    memory: Quantity = Quantity("1Gi")


class WebStatus(Status):
    workload: Part
    ready_replicas: int = 0


class Web(Resource[WebSpec, WebStatus], group="demo.example.com", version="v1", short_names=["w"]):
    """A web."""


def read(web: Web) -> None:
    assert_type(web.spec, WebSpec)
    assert_type(web.status, WebStatus)
    assert_type(web.metadata, Metadata)
    assert_type(web.spec.image, str)
    assert_type(web.spec.replicas, int)
    assert_type(web.spec.ports[0].port, int)
    assert_type(web.spec.target, int | str)
    assert_type(web.spec.every, str)
    assert_type(web.spec.memory < Quantity("2Gi"), bool)
    assert_type(web.status.workload, Part)
    assert_type(web.status.ready_replicas, int)
    assert_type(Web.named("a"), Web)
    assert_type(web.part("spec", WebSpec), WebSpec)
    web.status.ready_replicas = 5


def mistakes(web: Web) -> None:
    _ = web.spec.imgae  # pyright: ignore[reportAttributeAccessIssue]
    _ = web.status.ready_replica  # pyright: ignore[reportAttributeAccessIssue]
    web.status.ready_replica = 1  # pyright: ignore[reportAttributeAccessIssue]
    web.status.ready_replicas = "5"  # pyright: ignore[reportAttributeAccessIssue]
    web.spec.replicas = 5  # pyright: ignore[reportAttributeAccessIssue]
    WebSpec(replicas=1)  # pyright: ignore[reportCallIssue]
    WebSpec("x")  # pyright: ignore[reportCallIssue]
    WebSpec(image="x", replica=1)  # pyright: ignore[reportCallIssue]
    Port(name=5)  # pyright: ignore[reportArgumentType]
    Range("1")  # pyright: ignore[reportArgumentType]
