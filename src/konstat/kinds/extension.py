"""Typed view of CustomResourceDefinition."""

from __future__ import annotations

from konstat.kinds.view import BuiltIn, Condition, View


class CustomResourceNames(View):
    """How a kind is called; ``plural`` is the word in URLs."""

    kind: str = ""
    list_kind: str = ""
    plural: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class CustomResourceVersion(View):
    """One version of a kind."""

    name: str = ""
    served: bool = False
    storage: bool = False
    deprecated: bool = False


class CustomResourceDefinitionSpec(View):
    """Which kind is defined."""

    group: str = ""
    scope: str = ""
    names: CustomResourceNames = CustomResourceNames()
    versions: tuple[CustomResourceVersion, ...] = ()


class CustomResourceDefinitionStatus(View):
    """Which names were accepted, and in which versions objects are stored."""

    accepted_names: CustomResourceNames = CustomResourceNames()
    stored_versions: tuple[str, ...] = ()
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class CustomResourceDefinition(
    BuiltIn[CustomResourceDefinitionSpec, CustomResourceDefinitionStatus],
    group="apiextensions.k8s.io",
    version="v1",
    scope="Cluster",
    short_names=("crd", "crds"),
):
    """A kind that the server serves beside its own."""

    __slots__ = ()
