"""What condition types mean by their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness.conditiontypes import role_of, speaks_of_trouble

ROLES = {
    "summary": "Ready Available Healthy Accepted Programmed WebAppReady",
    "work": "Succeeded Complete Finished",
    "supporting": "Synced ResolvedRefs WebhookReady NoErrors NotDegraded WebAppDatabaseReady"
    " ChecksSucceeding HealthChecksPassing Responding",
    "progress": "Progressing Reconciling Updating RollingOut Migrating NotReady ScalingUp"
    " Unprogrammed Unsynced RateLimited",
    "bad": "Degraded Stalled Failed StorageFailed ReconcileError MemoryPressure InvalidSpec"
    " Irreconcilable Abnormal Deadlocked Unbalanced AlertsFiring ErrorDetected LimitReached"
    " OverQuota UnderReplicated HighMemoryUsage NotResponding DataLoss OverlappingFilterConfig",
    "suspended": "Paused Suspended",
    "terminating": "Terminating Deleting",
    "running": "Running PodRunning Replicating MetricsExporting",
    "ignored": "Upgradeable UpdateAvailable DNSManaged",
    "active": "Active",
    "aside": "FirmwareUpgradeAvailable OrphanedResourceWarning GracefulShutdown RemediationAllowed"
    " NoWarnings",
    "foreign": "Shiny Sunny DesiredStateReached Unsealed HighAvailability",
}


@pytest.mark.parametrize("role", ROLES)
def test_roles(role: str) -> None:
    assert {t: role_of(t, "WebApp") for t in ROLES[role].split()} == dict.fromkeys(
        ROLES[role].split(), role
    )


def test_a_vendors_type_is_no_summary() -> None:
    assert role_of("example.com/Ready", "WebApp") == "supporting"
    assert role_of("example.com/Degraded", "WebApp") == "bad"


def test_types_that_speak_of_trouble() -> None:
    assert speaks_of_trouble("OutOfDiskSpace")
    assert speaks_of_trouble("MirrorErrorState")
    assert speaks_of_trouble("LossOfQuorum")
    assert not speaks_of_trouble("NoErrorState")
    assert not speaks_of_trouble("Shiny")


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_type_has_a_role(name: str, kind: str) -> None:
    assert isinstance(role_of(name, kind), str)
