"""What condition types mean by their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness.conditiontypes import role_of

ROLES = {
    "summary": "Ready Available Healthy Accepted Programmed WebAppReady",
    "work": "Succeeded Complete Finished",
    "supporting": "Synced ResolvedRefs WebhookReady NoErrors NotDegraded WebAppDatabaseReady",
    "progress": "Progressing Reconciling Updating RollingOut Migrating NotReady ScalingUp",
    "bad": "Degraded Stalled Failed StorageFailed ReconcileError MemoryPressure InvalidSpec",
    "suspended": "Paused Suspended",
    "terminating": "Terminating Deleting",
    "running": "Running PodRunning",
    "ignored": "Upgradeable UpdateAvailable DNSManaged",
    "active": "Active",
    "aside": "FirmwareUpgradeAvailable OrphanedResourceWarning GracefulShutdown RemediationAllowed",
    "foreign": "Shiny Sunny",
}


@pytest.mark.parametrize("role", ROLES)
def test_roles(role: str) -> None:
    assert {t: role_of(t, "WebApp") for t in ROLES[role].split()} == dict.fromkeys(
        ROLES[role].split(), role
    )


def test_a_vendors_type_is_no_summary() -> None:
    assert role_of("example.com/Ready", "WebApp") == "supporting"
    assert role_of("example.com/Degraded", "WebApp") == "bad"


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_type_has_a_role(name: str, kind: str) -> None:
    assert isinstance(role_of(name, kind), str)
