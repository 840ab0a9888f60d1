"""konstat: Kubernetes operators whose status can be believed.

The names that operators need every day, each defined in the layer it belongs to; this module only
re-exports them, and imports a layer when one of its names is first used, so that light users (a
schema, a readiness verdict, ``konstat --help``) do not pay for the HTTP client.
Begin with `Resource`, `Controller` and `run`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from konstat.controller.context import Context
    from konstat.controller.controller import Controller, Watch
    from konstat.controller.manager import HealthAddress, Manager
    from konstat.controller.run import run
    from konstat.errors import APIError, KindUnavailable, KonstatError, UserError
    from konstat.objects.constraint import (
        Atomic,
        Description,
        Duration,
        Format,
        Immutable,
        IntOrString,
        Length,
        ListMap,
        ListSet,
        Pattern,
        PreserveUnknown,
        Range,
        Rule,
    )
    from konstat.objects.model import (
        Model,
        NoSpec,
        NoStatus,
        PerAttempt,
        Spec,
        Status,
        field,
    )
    from konstat.objects.quantity import Quantity
    from konstat.objects.resource import Column, Resource, Scale
    from konstat.readiness import Readiness, State, Turn
    from konstat.status.component import Component
    from konstat.status.outcome import Failed, RequeueAfter, Stalled, Waiting

__all__ = [
    "APIError",
    "Atomic",
    "Column",
    "Component",
    "Context",
    "Controller",
    "Description",
    "Duration",
    "Failed",
    "Format",
    "HealthAddress",
    "Immutable",
    "IntOrString",
    "KindUnavailable",
    "KonstatError",
    "Length",
    "ListMap",
    "ListSet",
    "Manager",
    "Model",
    "NoSpec",
    "NoStatus",
    "Pattern",
    "PerAttempt",
    "PreserveUnknown",
    "Quantity",
    "Range",
    "Readiness",
    "RequeueAfter",
    "Resource",
    "Rule",
    "Scale",
    "Spec",
    "Stalled",
    "State",
    "Status",
    "Turn",
    "UserError",
    "Waiting",
    "Watch",
    "field",
    "run",
]

_HOMES = {
    "konstat.controller.context": ("Context",),
    "konstat.controller.controller": ("Controller", "Watch"),
    "konstat.controller.manager": ("HealthAddress", "Manager"),
    "konstat.controller.run": ("run",),
    "konstat.errors": ("APIError", "KindUnavailable", "KonstatError", "UserError"),
    "konstat.objects.constraint": (
        "Atomic",
        "Description",
        "Duration",
        "Format",
        "Immutable",
        "IntOrString",
        "Length",
        "ListMap",
        "ListSet",
        "Pattern",
        "PreserveUnknown",
        "Range",
        "Rule",
    ),
    "konstat.objects.model": (
        "Model",
        "NoSpec",
        "NoStatus",
        "PerAttempt",
        "Spec",
        "Status",
        "field",
    ),
    "konstat.objects.quantity": ("Quantity",),
    "konstat.objects.resource": ("Column", "Resource", "Scale"),
    "konstat.readiness": ("Readiness", "State", "Turn"),
    "konstat.status.component": ("Component",),
    "konstat.status.outcome": ("Failed", "RequeueAfter", "Stalled", "Waiting"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'konstat' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
