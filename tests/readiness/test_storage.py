"""The rules for claims, volumes, attachments and snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def claim(build: Any, phase: str, *conditions: Any, **spec: Any) -> dict[str, Any]:
    status = {"phase": phase, "conditions": list(conditions)}
    return build.thing("v1", "PersistentVolumeClaim", status, spec=spec)


def storage_class(mode: str) -> dict[str, Any]:
    return {
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "volumeBindingMode": mode,
    }


def test_D8_lost_claim_is_failed(build: Any) -> None:
    assert seen(compute(claim(build, "Lost"))) == (State.FAILED, Reason.CLAIM_LOST)


def test_R8_claim(build: Any) -> None:
    assert compute(claim(build, "Bound")).ready
    resizing = claim(build, "Bound", build.condition("FileSystemResizePending"))
    assert seen(compute(resizing)) == (State.PROGRESSING, Reason.CLAIM_RESIZING)
    assert seen(compute(claim(build, "Pending"))) == (State.PROGRESSING, Reason.CLAIM_PENDING)


def test_R8_claim_that_waits_for_its_consumer_is_ready(build: Any) -> None:
    waiting = claim(build, "Pending", storageClassName="fast")
    lazy = build.judge(waiting, storage_class("WaitForFirstConsumer"))
    assert seen(lazy) == (State.READY, Reason.WAITING_FOR_CONSUMER)
    eager = build.judge(waiting, storage_class("Immediate"))
    assert seen(eager) == (State.PROGRESSING, Reason.CLAIM_PENDING)
    chosen = claim(build, "Pending", storageClassName="fast")
    chosen["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "n1"}
    assert not build.judge(chosen, storage_class("WaitForFirstConsumer")).ready
    assert "StorageClass fast does not exist" in build.judge(waiting).message
    unread = compute(waiting, related=build.world(unsynced=["StorageClass"]))
    assert seen(unread) == (State.PROGRESSING, Reason.CLAIM_PENDING)
    assert "could not be read" in unread.message


def test_R8_volume(build: Any) -> None:
    released = compute(build.thing("v1", "PersistentVolume", {"phase": "Released"}))
    assert seen(released) == (State.PROGRESSING, Reason.VOLUME_RELEASED)
    for phase in ("Available", "Bound"):
        assert compute(build.thing("v1", "PersistentVolume", {"phase": phase})).ready
    failed = build.thing("v1", "PersistentVolume", {"phase": "Failed", "message": "no recycler"})
    assert compute(failed).state is State.FAILED
    assert compute(build.thing("v1", "PersistentVolume")).state is State.PROGRESSING


def test_R8_a_claim_that_nobody_has_looked_at_is_unknown(build: Any) -> None:
    fresh = build.thing("v1", "PersistentVolumeClaim", {})
    assert seen(build.judge(fresh)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


def test_R8_a_claim_that_asks_for_more_than_it_has_is_resizing(build: Any) -> None:
    bound = claim(build, "Bound", resources={"requests": {"storage": "2Gi"}})
    for has, ready in (("1Gi", False), ("2048Mi", True), ("3Gi", True), ("x", True), (None, True)):
        bound["status"]["capacity"] = {"storage": has}
        assert build.judge(bound).ready is ready, has
    bound["status"]["capacity"] = {"storage": "1Gi"}
    assert build.judge(bound).reason is Reason.CLAIM_RESIZING


@pytest.mark.parametrize("name", ["ControllerResizeError", "NodeResizeError", "ModifyVolumeError"])
def test_R8_a_resize_that_failed_is_failed(build: Any, name: str) -> None:
    failed = claim(build, "Bound", build.condition("Resizing"), build.condition(name))
    verdict = build.judge(failed)
    assert seen(verdict) == (State.FAILED, Reason.CLAIM_RESIZE_FAILED)
    assert verdict.turn is Turn.OWNER
    assert name in verdict.message


def test_R8_allocated_resource_statuses_count_like_conditions(build: Any) -> None:
    bound = claim(build, "Bound")
    for word, reason in (
        ("NodeResizePending", Reason.CLAIM_RESIZING),
        ("ControllerResizeInfeasible", Reason.CLAIM_RESIZE_FAILED),
    ):
        bound["status"]["allocatedResourceStatuses"] = {"storage": word}
        assert build.judge(bound).reason is reason


def test_B3_a_pending_claim_tells_what_its_provisioner_says(build: Any) -> None:
    waiting = claim(build, "Pending", storageClassName="fast")
    text = "rpc error: code = Internal desc = the pool is full"
    world = [storage_class("Immediate"), build.event("x", "ProvisioningFailed", text)]
    young = build.judge(waiting, *world)
    assert seen(young) == (State.PROGRESSING, Reason.VOLUME_NOT_PROVIDED)
    assert young.turn is Turn.OWNER
    assert young.message.startswith("waits for a volume of StorageClass fast: the pool is full;")
    world[1] = build.event("x", "ProvisioningFailed", text, since=300)
    assert build.judge(waiting, *world).state is State.FAILED
    world[1] = build.event("x", "ProvisioningFailed", text, since=9000, ago=8000)
    assert seen(build.judge(waiting, *world)) == (State.PROGRESSING, Reason.CLAIM_PENDING)


def test_events_make_no_claim_ready(build: Any) -> None:
    """That a claim waits for its consumer is believed of its class, not of an event."""
    waiting = claim(build, "Pending", storageClassName="fast")
    told = build.event("x", "WaitForFirstConsumer", "waiting for first consumer to be created")
    assert not build.judge(waiting, told).ready


def test_attachments(build: Any) -> None:
    def judged(status: Any) -> Any:
        return build.judge(build.thing("storage.k8s.io/v1", "VolumeAttachment", status))

    assert judged({"attached": True}).ready
    assert seen(judged({"attached": False})) == (State.PROGRESSING, Reason.ATTACH_PENDING)
    assert seen(judged(None)) == (State.PROGRESSING, Reason.ATTACH_PENDING)
    failed = judged({"attached": False, "attachError": {"message": "disk is in use"}})
    assert seen(failed) == (State.FAILED, Reason.VOLUME_NOT_ATTACHED)
    assert "disk is in use" in failed.message


SNAPSHOTS = (
    ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
    ("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent"),
    ("groupsnapshot.storage.k8s.io/v1beta1", "VolumeGroupSnapshot"),
    ("groupsnapshot.storage.k8s.io/v1beta1", "VolumeGroupSnapshotContent"),
)


@pytest.mark.parametrize(("version", "kind"), SNAPSHOTS)
def test_snapshots(build: Any, version: str, kind: str) -> None:
    def judged(status: Any) -> Any:
        return build.judge(build.thing(version, kind, status))

    assert judged({"readyToUse": True}).ready
    assert seen(judged(None)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)
    for status in ({"readyToUse": False}, {"readyToUse": "true"}, {"boundX": "c"}):
        assert seen(judged(status)) == (State.PROGRESSING, Reason.SNAPSHOT_PENDING)
    failed = judged({"readyToUse": True, "error": {"message": "no such disk"}})
    assert seen(failed) == (State.FAILED, Reason.SNAPSHOT_FAILED)
    assert "no such disk" in failed.message
