"""What a runtime of processes refuses before anything runs, and where its pods live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from typing import Any

import pytest
from pod_stepper import container, content

from konstat.errors import UserError
from konstat.nodes import ProcessCommand, ProcessRuntime
from konstat.nodes.addresses import LOCAL_PODS, LOOPBACK_PODS
from konstat.nodes.memory import PodMemory
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes.network import answers, choose, pool_of
from konstat.nodes.runtime import Run

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY = PodMemory(started_at=NOW, address="127.244.0.1", host_address="198.18.0.1")


@pytest.fixture
def runtime() -> ProcessRuntime:
    return ProcessRuntime([ProcessCommand(image="registry.invalid/app", command=("run",))])


def pod(**options: Any) -> PlayedPod:
    return PlayedPod.from_content(content(container(image="registry.invalid/app", **options)))


def test_a_mapped_image_is_never_pulled(runtime: ProcessRuntime) -> None:
    assert runtime.image_problem("registry.invalid/app:2", pull_policy="Always") is None
    assert runtime.image_problem("registry.invalid/other", pull_policy="Always") is not None


def test_the_number_of_processes_is_bounded(
    runtime: ProcessRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runtime.lack(pod(), MEMORY, {}).containers == {}
    monkeypatch.setattr("konstat.base.limits.PROCESSES", 0)
    assert "runs 0 processes" in runtime.lack(pod(), MEMORY, {}).containers["main"]


def test_a_run_that_is_not_known_was_lost_unless_it_begins_now(runtime: ProcessRuntime) -> None:
    played = pod()
    [main] = played.spec.containers
    fresh = runtime.report(played, main, Run(attempt=0, started_at=NOW), now=NOW)
    assert (fresh.ending, fresh.started) == (None, False)
    before = Run(attempt=0, started_at=NOW - timedelta(seconds=1))
    lost = runtime.report(played, main, before, now=NOW).ending
    assert lost is not None
    assert (lost.exit_code, lost.reason) == (137, "ContainerStatusUnknown")


@pytest.mark.parametrize(
    ("options", "reasons"),
    [
        ({"livenessProbe": {"exec": {"command": ["x"]}}}, ["ProbeNotPlayed"]),
        ({"readinessProbe": {"grpc": {"port": 1}}}, ["ProbeNotPlayed"]),
        ({"readinessProbe": {"httpGet": {"port": 1}}}, []),
        ({"lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}, ["HookNotPlayed"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}, []),
        ({"lifecycle": {"postStart": {"exec": {"command": ["x"]}}}}, ["HookNotPlayed"]),
    ],
)
def test_what_is_not_played_is_told(
    runtime: ProcessRuntime, options: dict[str, Any], reasons: list[str]
) -> None:
    assert [warning.reason for warning in runtime.misunderstood(pod(**options))] == reasons


def test_pods_are_where_this_machine_answers() -> None:
    assert choose(None) == (LOCAL_PODS if answers(LOCAL_PODS) else LOOPBACK_PODS)
    assert answers(LOOPBACK_PODS)
    # Of the range for documentation, so no machine has it.
    with pytest.raises(UserError, match=r"ip route add local 192\.0\.2\.0/24 dev lo"):
        choose(IPv4Network("192.0.2.0/24"))


def test_two_actors_begin_apart() -> None:
    first, second = (pool_of(LOOPBACK_PODS).take("u1") for _ in range(2))
    third = pool_of(LOOPBACK_PODS).take("u1")
    assert len({first, second, third}) > 1
