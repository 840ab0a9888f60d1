"""What a Controller and a Manager refuse, and the text that says what to write instead."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest
from stage import Crate, CrateSpec, CrateStatus, crates, fill

from konstat.base.transport import Request, Response, Stream
from konstat.client import Client
from konstat.controller import Controller, Manager, Watch
from konstat.errors import ModelError
from konstat.kinds import ConfigMap, Pod
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component


class NoTransport:
    """Nothing is sent while things are declared."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(request)

    async def open(self, request: Request) -> Stream:
        raise AssertionError(request)

    async def close(self) -> None: ...


CLIENT = Client(NoTransport())


class Plain:
    """Not a resource."""


class Nameless(Resource[CrateSpec, CrateStatus]):
    """Without a group."""


class ReservedStatus(Status):
    conditions: int = 0


class Reserved(Resource[Spec, ReservedStatus], group="d.example.com", version="v1"):
    """Its status class names a field of konstat's."""


CONTROLLERS: dict[str, tuple[dict[str, Any], str]] = {
    "no class": ({"resource": Plain()}, "the resource of a Controller takes a Resource class, not"),
    "no resource": ({"resource": Plain}, "takes a Resource class, not <class"),
    "no group": ({"resource": Nameless}, "Nameless has no group and version"),
    "a built-in": ({"resource": Pod}, "Pod: its status type must be a subclass of Status"),
    "reserved": ({"resource": Reserved}, "konstat writes status.conditions itself"),
    "owns": ({"owns": ["ConfigMap"]}, "owns= takes a Resource class, not 'ConfigMap'"),
    "optional": ({"optional": [Plain]}, "optional= takes a Resource class, not"),
    "watches": ({"watches": [ConfigMap]}, "watches= takes Watch(Kind, map_function), not"),
    "a watched thing": ({"watches": [Watch(Plain, list)]}, "Watch takes a Resource class, not"),  # type: ignore[arg-type]
    "concurrency": ({"concurrency": 0}, "concurrency is 0: give at least 1"),
    "resync": ({"resync_seconds": 0}, "resync_seconds is 0: give a number above 0"),
    "timeout": ({"attempt_timeout_seconds": -1}, "attempt_timeout_seconds is -1: give a number"),
    "nan": ({"resync_seconds": float("nan")}, "resync_seconds is nan"),
    "finalizer": ({"finalizer": "hold"}, "finalizer is 'hold': the server takes a name such as"),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_refuses(name: str) -> None:
    options, text = CONTROLLERS[name]
    with pytest.raises(ModelError) as caught:
        Controller(**{"resource": Crate, **options})
    assert text in str(caught.value)


COMPONENTS: dict[str, tuple[dict[str, Any], str]] = {
    "one type twice": (
        {"a": Component(type="X"), "b": Component(type="X")},
        "Odd.b and Odd.a are both condition X: give one type=",
    ),
    "ours": ({"a": Component(type="Stalled")}, "Odd.a: konstat writes condition Stalled itself"),
    "no word": ({"a": Component(type="two words")}, "Odd.a: type='two words' is no condition type"),
    "no text": ({"a": Component(type=5)}, "Odd.a: type=5 is no condition type"),  # type: ignore[arg-type]
    "too long": ({"a": Component(type="X" * 317)}, "is no condition type: give a word such as"),
    "no component": ({"a": "good"}, "the default of component 'a' is 'good'"),
    "too many": (
        {f"part{n}": Component() for n in range(31)},
        "Odd publishes 31 components and may at most 30: declare some with Component(published=",
    ),
}


def with_components(parts: dict[str, Any]) -> type[Resource[Any, Any]]:
    body = {"__annotations__": dict.fromkeys(parts, Component), "__module__": __name__, **parts}
    odd: Any = type(Status)("Odd", (Status,), body)
    keywords = {"group": "d.example.com", "version": "v1"}
    return types.new_class("Declared", (Resource[Spec, odd],), keywords)


@pytest.mark.parametrize("name", COMPONENTS)
def test_components_that_cannot_be_conditions_are_refused(name: str) -> None:
    parts, text = COMPONENTS[name]
    with pytest.raises(ModelError) as caught:
        Controller(with_components(parts))
    assert text in str(caught.value)


def test_components_that_are_not_published_may_have_any_type() -> None:
    hidden = {f"part{n}": Component(type="Ready", published=False) for n in range(40)}
    Controller(with_components({**hidden, "b": Component(type="example.com/Good")}))


def plain(crate: Any, context: Any) -> None: ...


async def generator(crate: Any, context: Any) -> Any:
    yield


async def too_few(crate: Any) -> None: ...


async def too_many(crate: Any, context: Any, more: Any) -> None: ...


async def keywords(*, crate: Any, context: Any) -> None: ...


@pytest.mark.parametrize("register", ["reconcile", "cleanup"])
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (plain, "must be `async def {}(resource, context)`, not <function plain"),
        (generator, "must be `async def {}(resource, context)`, not <function generator"),
        (None, "must be `async def {}(resource, context)`, not None"),
        (too_few, "{0} is called as {0}(resource, context), which too_few cannot take"),
        (too_many, "{0} is called as {0}(resource, context), which too_many cannot take"),
        (keywords, "{0} is called as {0}(resource, context), which keywords cannot take"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(
    register: str, function: Any, text: str
) -> None:
    with pytest.raises(ModelError) as caught:
        getattr(Controller(Crate), register)(function)
    assert text.format(register) in str(caught.value)


def test_methods_and_partials_can_be_registered() -> None:
    class Operator:
        async def reconcile(self, crate: Crate, context: Any) -> None: ...

    async def three(shelf: str, crate: Crate, context: Any) -> None: ...

    Controller(Crate).reconcile(Operator().reconcile)
    Controller(Crate).reconcile(functools.partial(three, "upper"))


@pytest.mark.parametrize("register", ["reconcile", "cleanup"])
def test_a_second_function_is_refused(register: str) -> None:
    controller = Controller(Crate)
    getattr(controller, register)(fill)
    with pytest.raises(ModelError, match=f"Controller.Crate. has a {register} function already"):
        getattr(controller, register)(fill)


def test_a_manager_refuses_what_cannot_work() -> None:
    with pytest.raises(ModelError, match="a manager needs at least one Controller"):
        Manager(client=CLIENT)
    with pytest.raises(ModelError, match=r"has no reconcile function: decorate one with @"):
        Manager(Controller(Crate), client=CLIENT)
    with pytest.raises(ModelError, match=r"two controllers for crates.controller.example.com"):
        Manager(crates(), crates(), client=CLIENT)
    with pytest.raises(ModelError, match="namespaces is 'shop': give a list of names"):
        Manager(crates(), client=CLIENT, namespaces="shop")
    with pytest.raises(ModelError, match="namespaces contains an empty name"):
        Manager(crates(), client=CLIENT, namespaces=["shop", ""])


def test_names_that_follow_from_the_kind() -> None:
    controller = crates()
    assert controller.finalizer == "controller.example.com/crates"
    assert controller.field_manager == "crates.controller.example.com"
    assert crates(finalizer="x.example.com/mine").finalizer == "x.example.com/mine"
    assert repr(controller) == "Controller(Crate)"
