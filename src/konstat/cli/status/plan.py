"""Which kinds a status tree needs: from the words of the command line and what the server serves.

After: `konstat.cli.status.gather` reads them. The kinds of children are those that operators
usually own, and the custom kinds of the resources' own API groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from konstat import kinds
from konstat.cli.status.tree import Content, GroupKind
from konstat.client.api import Client
from konstat.client.discovery import Discovery, ServedKind
from konstat.errors import Forbidden, UserError
from konstat.objects.crd import MANAGED_BY
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource
from konstat.objects.selector import format_selector
from konstat.readiness import reading

MANAGED: Final = format_selector(MANAGED_BY)

# In the order in which children are shown.
_CHILDREN: Final[tuple[type[Resource[Any, Any]], ...]] = (
    kinds.Deployment,
    kinds.StatefulSet,
    kinds.DaemonSet,
    kinds.CronJob,
    kinds.Job,
    kinds.ReplicaSet,
    kinds.Pod,
    kinds.Service,
    kinds.Ingress,
    kinds.PersistentVolumeClaim,
    kinds.PodDisruptionBudget,
    kinds.HorizontalPodAutoscaler,
)
_CHILDREN_BY_METADATA: Final[tuple[type[Resource[Any, Any]], ...]] = (
    kinds.NetworkPolicy,
    kinds.ConfigMap,
    kinds.Secret,
    kinds.ServiceAccount,
    kinds.Role,
    kinds.RoleBinding,
)
_LOOKED_UP: Final[tuple[type[Resource[Any, Any]], ...]] = (kinds.StorageClass,)
# What causes may lie in beside owned objects: where pods run, what they mount, what happened.
_CAUSES: Final[tuple[type[Resource[Any, Any]], ...]] = (
    kinds.PersistentVolumeClaim,
    kinds.Node,
    kinds.Event,
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to read. ``namespace`` None means all; ``name`` empty means every resource.

    ``metadata_only`` are those of ``children`` whose content is not asked for, ``looked_up`` are
    kinds that verdicts look up by name, ``statusless`` resource kinds without a status.
    """

    resources: tuple[Kind, ...]
    name: str = ""
    namespace: str | None = "default"
    children: tuple[Kind, ...] = ()
    metadata_only: frozenset[Kind] = frozenset()
    looked_up: frozenset[Kind] = frozenset()
    statusless: frozenset[GroupKind] = frozenset()

    def children_namespace(self, resources: Sequence[Content]) -> str | None:
        """Where children may be: a cluster-scoped resource owns objects in any namespace."""
        placed = all(reading.at(r, "metadata", "namespace") for r in resources)
        return self.namespace if placed else None


async def make_plan(
    client: Client,
    discovery: Discovery,
    *,
    word: str,
    name: str,
    namespace: str | None,
    causes: bool = False,
) -> Plan:
    """The plan for a KIND (empty: every kind that konstat manages), a NAME and a namespace.

    ``causes`` adds the kinds in which causes are looked for beside owned objects.
    Raises UserError when no kind is meant, and APIError or TransportError from discovery.
    """
    found = [await discovery.find(word)] if word else await _managed(client, discovery)
    return await plan_for(found, discovery, name=name, namespace=namespace, causes=causes)


async def plan_for(
    resources: Sequence[Kind],
    discovery: Discovery,
    *,
    name: str = "",
    namespace: str | None,
    causes: bool = False,
) -> Plan:
    """As `make_plan`, for kinds that are known."""
    served = await discovery.kinds()
    children = [*_custom(served, resources), *_served(served, _CHILDREN)]
    slim = _served(served, _CHILDREN_BY_METADATA)
    return Plan(
        resources=tuple(resources),
        name=name,
        namespace=namespace,
        children=(*children, *slim),
        metadata_only=frozenset(slim),
        looked_up=frozenset(_served(served, (*_LOOKED_UP, *(_CAUSES if causes else ())))),
        statusless=_without_status(served, resources),
    )


async def _managed(client: Client, discovery: Discovery) -> list[Kind]:
    """The kinds whose CRDs say that konstat manages them."""
    try:
        found = await client.list(kinds.CustomResourceDefinition, label_selector=MANAGED)
    except Forbidden as error:
        raise UserError(
            "without KIND the CustomResourceDefinitions must be listed, which you may not:"
            " give a KIND, for example `konstat status webapps`"
        ) from error
    managed: list[Kind] = []
    for definition in sorted(found, key=lambda d: d.name):
        served = await discovery.served(definition.spec.group, definition.spec.names.kind)
        if served is not None:
            managed.append(served.kind)
    if not managed:
        raise UserError(
            f"no CustomResourceDefinition carries the label {MANAGED}: install one with"
            " `konstat crd TARGET | kubectl apply --server-side -f -`, or give a KIND, for example"
            " `konstat status deployments`"
        )
    return managed


def _custom(served: Iterable[ServedKind], resources: Sequence[Kind]) -> list[Kind]:
    """The kinds of the resources' own groups, in their preferred version."""
    builtin = {group for group, _ in kinds.BY_KIND}
    groups = {kind.group for kind in resources} - builtin
    found: dict[GroupKind, Kind] = {}
    for entry in served:
        kind = entry.kind
        if kind.group in groups and "list" in entry.verbs:
            found.setdefault((kind.group, kind.kind), kind)
    return list(found.values())


def _served(
    served: Iterable[ServedKind], classes: Iterable[type[Resource[Any, Any]]]
) -> list[Kind]:
    """Those of the built-in kinds that this server serves in the version that we know."""
    known = {entry.kind for entry in served}
    return [cls.kind for cls in classes if cls.kind in known]


def _without_status(
    served: Iterable[ServedKind], resources: Sequence[Kind]
) -> frozenset[GroupKind]:
    # Of built-in kinds everybody knows which ones have nothing to report.
    wanted = {kind for kind in resources if (kind.group, kind.kind) not in kinds.BY_KIND}
    return frozenset(
        (entry.kind.group, entry.kind.kind)
        for entry in served
        if entry.kind in wanted and "status" not in entry.subresources
    )
