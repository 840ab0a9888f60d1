"""Typed views of the rbac group."""

from __future__ import annotations

import msgspec

from konstat.kinds.view import BuiltIn, View
from konstat.objects.model import NoSpec, NoStatus

_GROUP = "rbac.authorization.k8s.io"


class PolicyRule(View):
    """Which verbs are allowed on what."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(name="nonResourceURLs", default=())


class RoleRef(View):
    """The role that a binding grants."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class Subject(View):
    """Who gets a role."""

    kind: str = ""
    api_group: str = ""
    name: str = ""
    namespace: str = ""


class _Rules(BuiltIn[NoSpec, NoStatus]):
    __slots__ = ()

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        return self.items("rules", PolicyRule)


class _Binding(BuiltIn[NoSpec, NoStatus]):
    __slots__ = ()

    @property
    def role_ref(self) -> RoleRef:
        return self.part("roleRef", RoleRef)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return self.items("subjects", Subject)


class Role(_Rules, group=_GROUP, version="v1"):
    """Permissions in one namespace."""

    __slots__ = ()


class ClusterRole(_Rules, group=_GROUP, version="v1", scope="Cluster"):
    """Permissions in the whole cluster."""

    __slots__ = ()


class RoleBinding(_Binding, group=_GROUP, version="v1"):
    """A role granted in one namespace."""

    __slots__ = ()


class ClusterRoleBinding(_Binding, group=_GROUP, version="v1", scope="Cluster"):
    """A role granted in the whole cluster."""

    __slots__ = ()
