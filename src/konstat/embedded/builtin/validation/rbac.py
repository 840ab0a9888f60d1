"""Checks of roles and their bindings."""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded.builtin.names import path_segment_problems
from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object
from konstat.embedded.status_errors import invalid_value, not_supported, required_value

GROUP: Final = "rbac.authorization.k8s.io"
_KINDS: Final = ("ServiceAccount", "User", "Group")


def role(new: Object, old: Object | None) -> Errors:
    """A Role."""
    return _rules(new, namespaced=True)


def cluster_role(new: Object, old: Object | None) -> Errors:
    """A ClusterRole."""
    yield from _rules(new, namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is None:
        return
    where = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors")
    if not selectors:
        problem = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required_value(where, problem)
    for index, selector in enumerate(selectors or ()):
        yield from basics.selector(f"{where}[{index}]", selector)


def _rules(new: Object, *, namespaced: bool) -> Errors:
    for index, rule in enumerate(new.get("rules") or ()):
        where = f"rules[{index}]"
        if not rule.get("verbs"):
            yield required_value(f"{where}.verbs", "verbs must contain at least one value")
        urls = rule.get("nonResourceURLs")
        if urls:
            if namespaced:
                problem = "namespaced rules cannot apply to non-resource URLs"
                yield invalid_value(f"{where}.nonResourceURLs", urls, problem)
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                problem = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid_value(f"{where}.nonResourceURLs", urls, problem)
            continue
        for name, one in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(name):
                problem = f"resource rules must supply at least one {one}"
                yield required_value(f"{where}.{name}", problem)


def role_binding(new: Object, old: Object | None) -> Errors:
    """A RoleBinding; what it refers to stays as it is."""
    return _binding(new, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(new: Object, old: Object | None) -> Errors:
    """A ClusterRoleBinding; what it refers to stays as it is."""
    return _binding(new, old, ("ClusterRole",), namespaced=False)


def _binding(
    new: Object, old: Object | None, kinds: tuple[str, ...], *, namespaced: bool
) -> Errors:
    reference: dict[str, Any] = new["roleRef"]
    if reference.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name", "")
    if not name:
        yield required_value("roleRef.name")
    else:
        yield from basics.each("roleRef.name", name, path_segment_problems(name))
    for index, subject in enumerate(new.get("subjects") or ()):
        yield from _subject(f"subjects[{index}]", subject, namespaced=namespaced)
    if old is not None and old["roleRef"] != reference:
        shown = basics.go_struct(reference, "APIGroup=apiGroup", "Kind", "Name")
        yield basics.invalid_struct("roleRef", shown, "cannot change roleRef")


def _subject(path: str, subject: Object, *, namespaced: bool) -> Errors:
    name, kind, group = (subject.get(key, "") for key in ("name", "kind", "apiGroup"))
    if not name:
        yield required_value(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from basics.subdomain(f"{path}.name", name)
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required_value(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != GROUP:
            yield not_supported(f"{path}.apiGroup", group, (GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, _KINDS)
