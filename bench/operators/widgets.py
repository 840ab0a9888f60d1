"""The job in konstat: each Widget has a ConfigMap with its value, and a status that says so."""

from konstat import Component, Context, Controller, Resource, Spec, Status
from konstat.kinds import ConfigMap


class WidgetSpec(Spec):
    value: int = 0
    settings: dict[str, str] = {}  # noqa: RUF012 — a Spec copies it; gives an object its size


class WidgetStatus(Status):
    content: Component
    value: int = 0


class Widget(Resource[WidgetSpec, WidgetStatus], group="bench.example.com", version="v1"):
    """A value that is kept in a ConfigMap."""


widgets = Controller(Widget, owns=[ConfigMap])


@widgets.reconcile
async def reconcile(widget: Widget, context: Context[Widget]) -> None:
    config = ConfigMap(
        metadata={"name": widget.name, "labels": {"app.kubernetes.io/managed-by": "widgets"}},
        data={"value": str(widget.spec.value)},
    )
    await context.apply(config, component=context.status.content)
    context.status.value = widget.spec.value
