"""For the tests of operators: a context without a cluster, a real control plane, pytest fixtures.

`FakeContext` and `attempt` test one attempt of a reconcile function without any server.
`control_plane` runs one for a block of code; the pytest plugin (`konstat.testing.plugin`, active
wherever konstat is installed) shares one for a whole test session.
Nothing here may be used by an operator at run time.
"""

from konstat.testing.fakes import Attempted, FakeContext, FakeEvent, attempt
from konstat.testing.rig_access import Access, Rule, User
from konstat.testing.rig_audit import AuditEvent, read_audit_log
from konstat.testing.rig_binaries import Binaries, find_binaries
from konstat.testing.rig_build import build as build_binaries
from konstat.testing.rig_commands import Options
from konstat.testing.rig_plane import ControlPlane, control_plane

__all__ = [
    "Access",
    "Attempted",
    "AuditEvent",
    "Binaries",
    "ControlPlane",
    "FakeContext",
    "FakeEvent",
    "Options",
    "Rule",
    "User",
    "attempt",
    "build_binaries",
    "control_plane",
    "find_binaries",
    "read_audit_log",
]
