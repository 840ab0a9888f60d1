"""Checks of Pod specs, of Pods, and of what an update of a Pod may change."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from konstat.embedded.builtin.validation import basics, containers, placement, volumes
from konstat.embedded.builtin.validation.basics import Errors, Object, one_of
from konstat.embedded.builtin.validation.printed import difference
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    required_value,
)

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST: Final = 2**31 - 1
_UPDATES: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def pod_spec(path: str, spec: Object) -> Errors:
    """The spec of a Pod or of a template, in the order of the server's checks."""
    found: set[str] = set()
    yield from volumes.volumes(f"{path}.volumes", spec.get("volumes"), found)
    regular = spec.get("containers") or []
    yield from containers.containers(f"{path}.containers", regular, found)
    initial = spec.get("initContainers")
    yield from containers.init_containers(f"{path}.initContainers", initial, regular, found)
    yield from _host_network(path, spec)
    yield from one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    yield from one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from basics.labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    yield from _security(f"{path}.securityContext", spec.get("securityContext") or {}, spec)
    yield from placement.affinity(f"{path}.affinity", spec.get("affinity"))
    yield from _dns(f"{path}.dnsConfig", spec)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        where = f"{path}.readinessGates[{index}].conditionType"
        yield from basics.qualified(where, gate.get("conditionType", ""))
    yield from _scheduling_gates(f"{path}.schedulingGates", spec.get("schedulingGates"))
    constraints = spec.get("topologySpreadConstraints")
    yield from placement.spreading(f"{path}.topologySpreadConstraints", constraints)
    yield from _names(path, spec)
    yield from placement.tolerations(f"{path}.tolerations", spec.get("tolerations"))
    yield from _aliases(f"{path}.hostAliases", spec.get("hostAliases"))
    for name in ("priorityClassName", "runtimeClassName"):
        if spec.get(name):
            yield from basics.subdomain(f"{path}.{name}", spec[name])
    policies = ("PreemptLowerPriority", "Never")
    policy = spec.get("preemptionPolicy")
    yield from one_of(f"{path}.preemptionPolicy", policy, policies, required=False)


def _host_network(path: str, spec: Object) -> Errors:
    if not spec.get("hostNetwork"):
        return
    for index, one in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(one.get("ports") or ()):
            if port.get("hostPort", 0) not in (0, port.get("containerPort")):
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                problem = "must match `containerPort` when `hostNetwork` is true"
                yield invalid_value(where, port["hostPort"], problem)


def _security(path: str, given: Object, spec: Object) -> Errors:
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from containers.user_or_group(f"{path}.{name}", given.get(name))
    for index, group in enumerate(given.get("supplementalGroups") or ()):
        yield from containers.user_or_group(f"{path}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        problem = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid_value(f"{path}.shareProcessNamespace", True, problem)
    yield from containers.seccomp(f"{path}.seccompProfile", given.get("seccompProfile"))
    policy, where = given.get("supplementalGroupsPolicy"), f"{path}.supplementalGroupsPolicy"
    yield from one_of(where, policy, ("Merge", "Strict"), required=False)
    policy, where = given.get("seLinuxChangePolicy"), f"{path}.seLinuxChangePolicy"
    yield from one_of(where, policy, ("Recursive",), required=False)


def _dns(path: str, spec: Object) -> Errors:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            problem = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield required_value(path, problem)
            return
        if not config.get("nameservers"):
            problem = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required_value(f"{path}.nameservers", problem)
            return
    servers = (config or {}).get("nameservers") or []
    if len(servers) > 3:
        problem = "must not have more than 3 nameservers"
        yield invalid_value(f"{path}.nameservers", servers, problem)
    for index, server in enumerate(servers):
        yield from basics.address(f"{path}.nameservers[{index}]", server)
    for index, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield required_value(f"{path}.options[{index}]", "must not be empty")


def _scheduling_gates(path: str, gates: Sequence[Object] | None) -> Errors:
    seen: set[str] = set()
    for index, gate in enumerate(gates or ()):
        name = gate.get("name", "")
        yield from basics.qualified(f"{path}[{index}]", name)
        if name in seen:
            yield duplicate_value(f"{path}[{index}]", name)
        seen.add(name)


def _names(path: str, spec: Object) -> Errors:
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            yield from basics.subdomain(f"{path}.{name}", spec[name])
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST:
        problem = f"must be between 1 and {_MOST}, inclusive"
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, problem)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from basics.label(f"{path}.{name}", spec[name])


def _aliases(path: str, given: Sequence[Object] | None) -> Errors:
    for index, one in enumerate(given or ()):
        yield from basics.address(f"{path}[{index}].ip", one.get("ip", ""))
        for number, name in enumerate(one.get("hostnames") or ()):
            yield from basics.subdomain(f"{path}[{index}].hostnames[{number}]", name)


def template(path: str, given: Object) -> Errors:
    """A Pod template: its metadata, then its spec."""
    metadata = given["metadata"]
    yield from basics.labels(f"{path}.labels", metadata.get("labels"))
    yield from basics.annotation_keys(f"{path}.annotations", metadata.get("annotations"))
    yield from pod_spec(f"{path}.spec", given["spec"])


# --- Pods -------------------------------------------------------------------------------------


def pod(new: Object, old: Object | None) -> Errors:
    """A Pod; an update may change little of its spec."""
    yield from pod_spec("spec", new["spec"])
    if old is None:
        for name in ("containers", "initContainers"):
            yield from containers.image_spaces(f"spec.{name}", new["spec"].get(name) or ())
        return
    yield from _update(new["spec"], old["spec"])


def _update(new: Object, old: Object) -> Errors:
    for name in ("containers", "initContainers"):
        after, before = new.get(name) or [], old.get(name) or []
        if len(after) != len(before):
            yield forbidden_field(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for index, one in enumerate(after):
            if not one.get("image"):
                yield required_value(f"spec.{name}[{index}].image")
        yield from containers.image_spaces(f"spec.{name}", after)
    if (refused := _deadline(new, old)) is not None:
        yield refused
        return
    yield from _only_added_tolerations(new.get("tolerations") or [], old.get("tolerations") or [])
    munged = _with_old_changeable(new, old)
    if munged != old:
        yield forbidden_field("spec", f"{_UPDATES}\n{difference(old, munged, 'PodSpec')}")


def _deadline(new: Object, old: Object) -> Any:
    where, name = "spec.activeDeadlineSeconds", "activeDeadlineSeconds"
    after, before = new.get(name), old.get(name)
    if after is None:
        if before is not None:
            return invalid_value(
                where, None, "must not update from a positive integer to nil value"
            )
    elif not 0 <= after <= _MOST:
        return invalid_value(where, after, f"must be between 0 and {_MOST}, inclusive")
    elif before is not None and before < after:
        return invalid_value(where, after, "must be less than or equal to previous value")
    return None


def _only_added_tolerations(new: list[Object], old: list[Object]) -> Errors:
    for one in old:
        kept = {k: v for k, v in one.items() if k != "tolerationSeconds"}
        if not any(kept == {k: v for k, v in n.items() if k != "tolerationSeconds"} for n in new):
            problem = "existing toleration can not be modified except its tolerationSeconds"
            yield forbidden_field("spec.tolerations", problem)
            return


def _with_old_changeable(new: Object, old: Object) -> Object:
    """The new spec with the old values of all that an update may change."""
    made = copy.deepcopy(new)
    for name in ("containers", "initContainers"):
        for one, before in zip(made.get(name) or (), old.get(name) or (), strict=True):
            one["image"] = before.get("image", "")
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _take(made, old, name)
    grace = "terminationGracePeriodSeconds"
    if old.get(grace, 0) < 0 and made.get(grace) == 1:
        made[grace] = old[grace]
    if old.get("schedulingGates"):
        _take(made, old, "nodeSelector")
        affinity = dict(made.get("affinity") or {})
        _take(affinity, old.get("affinity") or {}, "nodeAffinity")
        made["affinity"] = affinity
        if not affinity:
            _take(made, old, "affinity")
    return made


def _take(made: Object, old: Object, name: str) -> None:
    if name in old:
        made[name] = old[name]
    else:
        made.pop(name, None)
