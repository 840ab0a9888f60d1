"""The pure parts of the job's bench, and programs of their own that fail."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from datetime import UTC, datetime

import msgspec
import pytest

from bench import driver, job_changes, job_settled, processes, stage
from bench.environments import locked_version
from konstat.errors import ControlPlaneError
from konstat.testing import AuditEvent


def phase(cpu: float, requests: int) -> job_changes.Phase:
    latencies = [float(number) for number in range(100)]
    asked = Counter({"patch widgets/status": requests})
    return job_changes.Phase(changes=10, cpu=cpu, latencies=latencies, requests=asked)


def test_changes_are_judged_by_ratios_of_the_same_round() -> None:
    slow, fast = (rate for rate, _ in job_changes.PHASES)
    ours = [{slow: phase(1.0, 20), fast: phase(1, 1)}, {slow: phase(4.0, 20), fast: phase(1, 1)}]
    theirs = [
        {slow: phase(10.0, 30), fast: phase(1, 1)},
        {slow: phase(10.0, 30), fast: phase(1, 1)},
    ]
    changes = {"konstat": ours, "kopf": theirs}
    assert job_changes.ratio(changes, slow, "cpu").median == 0.25
    assert [bound.holds for bound in job_changes.bounds(changes)] == [False, True]
    rows = {str(row[0]): row for row in job_changes.table(changes).rows}
    assert str(rows[f"requests per change at {slow}/s"][2]) == "3.00"
    assert str(rows[f"spec → status p99 ms at {slow}/s"][1]) == "99.0"
    assert "patch widgets/status 1.05" in job_changes.table(changes).notes[1]


def settled(seconds: float, **writes: int) -> job_settled.Settled:
    return job_settled.Settled(
        growing=5.0,
        restarted=[7.0],
        seconds=[seconds],
        cpu_seconds=[1.0],
        writes=[Counter(writes)],
        idle=Counter({"watch widgets": 2}),
    )


def test_settled_objects_are_judged_and_resumed_watches_are_no_requests() -> None:
    found = {"konstat": settled(1.0), "kopf": settled(2.0, patch=3)}
    assert found["konstat"].idle_requests == 0
    bounds = {bound.what: bound.holds for bound in job_settled.bounds(found)}
    assert bounds.pop("KiB per pair after a restart") is False
    assert all(bounds.values())
    assert "patch 3" in job_settled.table(found).notes[-1]


def event(**fields: object) -> AuditEvent:
    default = dict.fromkeys(AuditEvent.__struct_fields__, "")
    whole = {**default, "code": 200, "time": datetime.now(UTC), **fields}
    return msgspec.convert(whole, AuditEvent)


def test_requests_are_counted_by_what_they_do() -> None:
    events = [
        event(verb="patch", resource="widgets", subresource="status"),
        event(verb="patch", resource="widgets", code=409),
        event(verb="watch", resource="configmaps"),
    ]
    assert stage.count_requests(events) == {
        "patch widgets/status": 1,
        "patch widgets (409)": 1,
        "watch configmaps": 1,
    }


def widget(**status: object) -> driver.Widget:
    ready = {"type": "Ready", "status": "True", "observedGeneration": 2}
    whole = {
        "metadata": {"name": "widget-00001", "generation": 2},
        "spec": {"value": 7},
        "status": {"observedGeneration": 2, "value": 7, "conditions": [ready], **status},
    }
    return msgspec.convert(whole, driver.Widget)


def test_a_status_is_true_for_the_present_spec_only() -> None:
    assert widget().true
    assert not widget(observedGeneration=1).true
    assert not widget(value=6).true
    assert not widget(conditions=[]).true


def test_settings_have_the_size_that_is_asked_for_and_differ() -> None:
    made = driver.settings_of(1, job_settled.SETTINGS_BYTES)
    assert 6_000 <= len(msgspec.json.encode(made)) <= 6_600
    assert made != driver.settings_of(2, job_settled.SETTINGS_BYTES)
    assert driver.settings_of(1, 0) == {}


def test_the_kind_is_the_same_for_all_with_a_place_for_what_kopf_keeps() -> None:
    schema = stage.manifest()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert set(schema["properties"]["status"]["properties"]) >= {"value", "conditions", "kopf"}
    assert locked_version("kopf", "kopf")


async def test_a_program_that_fails_says_why() -> None:
    options = ("--kubeconfig=missing.kubeconfig", "edit", "--number=1", "--value=1")
    with pytest.raises(ControlPlaneError, match=r"missing\.kubeconfig"):
        await processes.ask("bench.driver", *options)


async def test_a_process_at_rest_is_seen_and_one_that_works_is_not() -> None:
    sleeper = await asyncio.create_subprocess_exec("sleep", "60")
    worker = await asyncio.create_subprocess_exec("sh", "-c", "while :; do :; done")
    try:
        await processes.rest(sleeper.pid, quiet_seconds=0.3)
        assert processes.resident_bytes(sleeper.pid) > 0
        with pytest.raises(TimeoutError, match="does not come to rest"):
            # So long that a machine with other work gives it its turn.
            await processes.rest(worker.pid, quiet_seconds=1.5, within_seconds=1.5)
    finally:
        for process in (sleeper, worker):
            process.kill()
            await process.wait()
    assert processes.cpu_seconds(os.getpid()) > 0
