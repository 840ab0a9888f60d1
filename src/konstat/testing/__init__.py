"""For the tests of operators: a context without a cluster, two API servers, pytest fixtures.

`FakeContext` and `attempt` test one attempt of a reconcile function without any server.
`embedded_api` serves an embedded API with controllers and nodes for a block of code, at once and
without further programs; `control_plane` does so with a real control plane. The pytest plugin
(`konstat.testing.plugin`, active wherever konstat is installed) shares one for a whole session.
Nothing here may be used by an operator at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from konstat.testing.fakes import Attempted, FakeContext, FakeEvent, attempt
from konstat.testing.rig_access import Access, Rule, User
from konstat.testing.rig_audit import AuditEvent, read_audit_log
from konstat.testing.rig_binaries import Binaries, find_binaries
from konstat.testing.rig_build import build as build_binaries
from konstat.testing.rig_commands import Options
from konstat.testing.rig_plane import ControlPlane, control_plane

if TYPE_CHECKING:
    from konstat.testing.embedded_plane import EmbeddedApi, embedded_api

__all__ = [
    "Access",
    "Attempted",
    "AuditEvent",
    "Binaries",
    "ControlPlane",
    "EmbeddedApi",
    "FakeContext",
    "FakeEvent",
    "Options",
    "Rule",
    "User",
    "attempt",
    "build_binaries",
    "control_plane",
    "embedded_api",
    "find_binaries",
    "read_audit_log",
]


def __getattr__(name: str) -> object:
    """Load the embedded API when it is asked for: every pytest run imports this package."""
    if name in ("EmbeddedApi", "embedded_api"):
        from konstat.testing import embedded_plane

        return getattr(embedded_plane, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
