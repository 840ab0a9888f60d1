"""/healthz, /readyz and /metrics of a manager at work."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest
from stage import Crate, Stage, crates, operating, ready
from story import eventually

from konstat.base import chance
from konstat.base.transport import Request
from konstat.controller import Controller, HealthAddress, Manager
from konstat.errors import ConfigError, TransportError
from konstat.kinds import ConfigMap
from konstat.objects.model import NoStatus, Spec
from konstat.objects.resource import Resource

pytestmark = pytest.mark.realapi

FAMILIES = (
    "konstat_attempts_total",
    "konstat_attempt_seconds_bucket",
    "konstat_status_writes_total",
    "konstat_status_write_errors_total",
    "konstat_internal_errors_total",
    "konstat_applies_total",
    "konstat_resources",
    "konstat_queue_depth",
    "konstat_loop_blocked_seconds_total",
)


async def get(manager: Manager, path: str) -> tuple[int, str]:
    address = manager.health_address
    assert address is not None
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address.host}:{address.port}{path}") as answer,
    ):
        return answer.status, await answer.text()


def value(metrics: str, sample: str) -> float:
    """The value of one line, 0 when it is not there."""
    lines = (line.rpartition(" ") for line in metrics.splitlines())
    return next((float(number) for name, _, number in lines if name == sample), 0.0)


async def test_health_readiness_and_metrics_of_a_manager_at_work(stage: Stage) -> None:
    await stage.create()
    async with stage.running(crates(), health_address=HealthAddress()) as manager:
        assert manager.health_address is not None
        assert manager.health_address.host == "127.0.0.1"
        await stage.says(ready())
        assert await get(manager, "/healthz") == (200, "ok\n")
        assert await get(manager, "/readyz") == (200, "ok\n")
        code, text = await get(manager, "/metrics")
        assert code == 200
        missing = [f for f in FAMILIES if f"# HELP {f.removesuffix('_bucket')}" not in text]
        assert [f for f in missing if f.removesuffix("_total") not in text] == []
        assert value(text, 'konstat_applies_total{action="created",kind="ConfigMap"}') == 1
        assert value(text, 'konstat_resources{kind="Crate",ready="True"}') == 1

        async def resources() -> float:
            _, text = await get(manager, "/metrics")
            return value(text, 'konstat_resources{kind="Crate",ready="True"}')

        await stage.delete()
        await eventually(resources, lambda n: n == 0)
    with pytest.raises(aiohttp.ClientConnectionError):
        await get(manager, "/healthz")


async def test_a_resource_that_goes_while_it_is_attempted_is_not_counted_for_ever(
    stage: Stage,
) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def reconcile(crate: Crate, context: object) -> None:
        entered.set()
        await leave.wait()

    await stage.create()
    async with stage.running(crates(reconcile), health_address=HealthAddress()) as manager:
        await entered.wait()
        await stage.delete()
        (triggers,) = manager._triggers

        async def known() -> int:
            return len(triggers.worker._views.open(Crate.kind)[0].store)

        await eventually(known, lambda n: n == 0)
        leave.set()

        async def attempts() -> float:
            _, text = await get(manager, "/metrics")
            return sum(
                value(text, f'konstat_attempts_total{{ending="{e}",kind="Crate"}}')
                for e in ("error", "observed")
            )

        await eventually(attempts, lambda n: n == 1)
        _, text = await get(manager, "/metrics")
        counted = [line for line in text.splitlines() if line.startswith("konstat_resources{")]
        assert [line for line in counted if not line.endswith(" 0.0")] == []
        assert len(triggers.worker.memories) == 0


async def test_readyz_names_the_kind_that_cannot_be_read(stage: Stage) -> None:
    group = f"{chance.suffix(6)}.example.com"

    class Absent(Resource[Spec, NoStatus], group=group, version="v1"):
        """Never installed."""

    controller = crates(owns=[ConfigMap, Absent])
    async with stage.running(controller, health_address=HealthAddress()) as manager:
        code, text = await get(manager, "/readyz")
        assert code == 503
        assert f"absents.{group}" in text
        assert "configmaps" not in text
        assert (await get(manager, "/healthz"))[0] == 200


async def test_readyz_says_that_it_starts_and_that_it_stops(stage: Stage) -> None:
    stage.tap.fault = lambda _: TransportError("away (as the test asked)", sent=False)
    manager = stage.manager(crates(), health_address=HealthAddress())
    running = asyncio.ensure_future(manager.run())
    try:

        async def bound() -> bool:
            return manager.health_address is not None

        await eventually(bound, bool)
        code, text = await get(manager, "/readyz")
        assert code == 503
        assert "manager: starting: crates.controller.example.com\n" in text
        assert (await get(manager, "/healthz"))[0] == 200
    finally:
        manager.stop()
        await running


async def test_readyz_is_no_alarm_while_the_server_is_away(stage: Stage) -> None:
    """All replicas would be unready at once, and nothing would be better for it."""
    async with stage.running(crates(), health_address=HealthAddress()) as manager:

        def away(_: Request) -> Exception:
            return TransportError("away (as the test asked)", sent=False)

        stage.tap.fault = away
        assert (await get(manager, "/readyz"))[0] == 200


async def test_a_port_that_is_taken_is_a_config_error(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        manager = stage.manager(crates(), health_address=HealthAddress(port=port))
        before = asyncio.all_tasks()
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}"):
            async with operating(manager):
                pass
    assert asyncio.all_tasks() <= before


async def test_kinds_of_one_name_in_two_groups_live_in_one_manager(stage: Stage) -> None:
    from stage import CrateSpec, CrateStatus

    from konstat.controller.run import install_kinds

    group = f"{chance.suffix(6)}.example.com"

    class Other(Resource[CrateSpec, CrateStatus], group=group, version="v1", kind="Crate"):
        """A Crate of another group."""

    await install_kinds(stage.client, [Other])
    other: Controller[Other] = Controller(Other)

    @other.reconcile
    async def reconcile(resource: Other, context: object) -> None:
        raise LookupError("not today")

    await stage.create()
    await stage.create("c", Other)
    async with stage.running(crates(), other, health_address=HealthAddress()) as manager:
        await stage.says(ready())
        await eventually(lambda: stage.look("c", Other), lambda c: "status" in c)
        _, text = await get(manager, "/metrics")
        for resource in (f"crates.{group}", "crates.controller.example.com"):
            assert f'konstat_queue_depth{{resource="{resource}"}}' in text
