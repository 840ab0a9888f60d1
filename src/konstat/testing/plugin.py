"""The pytest plugin: one control plane per session, fresh namespaces, loud skips.

Active wherever konstat is installed next to pytest. Fixtures:

``rig_binaries``
    The programs of a control plane; a test that starts its own asks for it.
``control_plane``
    A `konstat.testing.ControlPlane` that the whole session shares.
``start_control_plane``
    A function that starts further ones, with other `konstat.testing.Options`, for one test.
``namespace``
    The name of a fresh namespace of ``control_plane``, deleted after the test.

All of them work in plain tests and in async ones with any event loop. Where the programs are
missing, a test that needs them is skipped with the way to get them; with ``CI=true`` in the
environment, where nothing may be missing, it fails. Tests that use them carry the marker
``realapi``, so that ``pytest -m "not realapi"`` leaves them out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NoReturn, Protocol, TypeVar

import pytest

from konstat.base import chance, clock, limits
from konstat.errors import MissingToolError, NotFound
from konstat.testing.rig_binaries import Binaries, find_binaries
from konstat.testing.rig_commands import Options
from konstat.testing.rig_health import exists, wait_until
from konstat.testing.rig_plane import NAMESPACE, SERVICE_ACCOUNT, ControlPlane

T = TypeVar("T")

MARKER: Final = "realapi"
_FIXTURES: Final = frozenset({"rig_binaries", "control_plane", "start_control_plane"})
_STANDARD: Final = Options()


class StartControlPlane(Protocol):
    """What the fixture ``start_control_plane`` gives: call it with options."""

    def __call__(self, options: Options = ...) -> ControlPlane: ...


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: runs on a real Kubernetes control plane")


# First, so that the marker is there when -m chooses.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(MARKER)


@pytest.fixture(scope="session")
def rig_binaries() -> Binaries:
    """The programs of a control plane; skips, or fails in CI, where there are none."""
    try:
        return find_binaries()
    except MissingToolError as error:
        give_up(str(error))


@pytest.fixture(scope="session")
def control_plane(rig_binaries: Binaries) -> Iterator[ControlPlane]:
    """The control plane of this session, with an audit log."""
    with _running(Options(audit=True), rig_binaries) as plane:
        yield plane


@pytest.fixture
def start_control_plane(rig_binaries: Binaries) -> Iterator[StartControlPlane]:
    """Starts a further control plane; all of them stop with the test."""
    with ExitStack() as running:

        def start(options: Options = _STANDARD) -> ControlPlane:
            return running.enter_context(_running(options, rig_binaries))

        yield start


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace, ready for Pods; its deletion is asked for after the test."""
    name = f"test-{chance.suffix(8)}"
    _run(_create_namespace(control_plane, name))
    yield name
    _run(_delete_namespace(control_plane, name))


def give_up(reason: str) -> NoReturn:
    """Skip the test, or fail it where ``CI=true`` says that all its needs are installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true and {reason}", pytrace=False)
    pytest.skip(reason)


@contextmanager
def _running(options: Options, binaries: Binaries) -> Iterator[ControlPlane]:
    try:
        plane = ControlPlane(options, binaries=binaries)
    except MissingToolError as error:
        give_up(str(error))
    _run(plane.start())
    try:
        yield plane
    finally:
        _run(plane.stop())


async def _create_namespace(plane: ControlPlane, name: str) -> None:
    content = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    async with plane.client() as client:
        await client.create(NAMESPACE, content)
        if plane.options.controller_manager:
            await wait_until(
                lambda: exists(client, SERVICE_ACCOUNT, "default", namespace=name),
                what=f"the default ServiceAccount of namespace {name}",
                programs=(),
                deadline=clock.monotonic() + limits.RIG_START_SECONDS,
            )


async def _delete_namespace(plane: ControlPlane, name: str) -> None:
    async with plane.client() as client:
        try:
            await client.delete(NAMESPACE, name)
        except NotFound:
            return  # the test has done it


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a loop of its own, in a thread of its own.

    The thread that pytest runs in keeps its loop, whatever plugin has set one there.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="konstat-rig") as pool:
        return pool.submit(asyncio.run, work).result()
