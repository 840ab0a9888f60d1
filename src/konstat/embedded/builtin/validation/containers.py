"""Checks of containers: names, ports, environment, mounts, probes, security."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from konstat.embedded.builtin.validation import basics, downward, resources
from konstat.embedded.builtin.validation.basics import Errors, Object, absent, one_of
from konstat.embedded.builtin.validation.paths import descending_path
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SECURITY: Final = (
    "Capabilities", "Privileged", "SELinuxOptions=seLinuxOptions", "WindowsOptions", "RunAsUser",
    "RunAsGroup", "RunAsNonRoot", "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation",
    "ProcMount", "SeccompProfile", "AppArmorProfile",
)  # fmt: skip
MAXIMUM_ID: Final = 2**31 - 1


def containers(path: str, given: Sequence[Object] | None, volumes: set[str]) -> Errors:
    """The regular containers of a Pod spec."""
    if not given:
        yield required_value(path)
        return
    names: set[str] = set()
    for index, one in enumerate(given):
        where = f"{path}[{index}]"
        yield from _container(where, one, volumes)
        if one.get("name") in names:
            yield duplicate_value(f"{where}.name", one.get("name"))
        names.add(one.get("name", ""))
        yield from _lifecycle_and_probes(where, one)
    yield from _host_ports(path, given)


def init_containers(
    path: str, given: Sequence[Object] | None, regular: Sequence[Object], volumes: set[str]
) -> Errors:
    """The init containers of a Pod spec."""
    names = {one.get("name", "") for one in regular}
    for index, one in enumerate(given or ()):
        where = f"{path}[{index}]"
        yield from _container(where, one, volumes)
        policy = one.get("restartPolicy")
        if policy is not None and policy not in ("Always", "Never", "OnFailure"):
            yield not_supported(f"{where}.restartPolicy", policy, ("Always", "Never", "OnFailure"))
        if one.get("name") in names:
            yield duplicate_value(f"{where}.name", one.get("name"))
        elif one.get("name"):
            names.add(one["name"])
        yield from _host_ports(path, [one])
        if policy == "Always":
            yield from _lifecycle_and_probes(where, one)
            continue
        for part in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if part in one:
                problem = "may not be set for init containers without restartPolicy=Always"
                yield forbidden_field(f"{where}.{part}", problem)


def _container(path: str, one: Object, volumes: set[str]) -> Errors:
    yield from absent(f"{path}.name", one.get("name"))
    if one.get("name"):
        yield from basics.label(f"{path}.name", one["name"])
    yield from absent(f"{path}.image", one.get("image"))
    policies = ("File", "FallbackToLogsOnError")
    yield from one_of(f"{path}.terminationMessagePolicy", one["terminationMessagePolicy"], policies)
    yield from _ports(f"{path}.ports", one.get("ports") or ())
    yield from _environment(f"{path}.env", one.get("env") or ())
    yield from _environment_sources(f"{path}.envFrom", one.get("envFrom") or ())
    yield from _mounts(f"{path}.volumeMounts", one, volumes)
    pulls = ("Always", "IfNotPresent", "Never")
    yield from one_of(f"{path}.imagePullPolicy", one.get("imagePullPolicy"), pulls)
    yield from resources.requirements(f"{path}.resources", one.get("resources") or {})
    yield from _security(f"{path}.securityContext", one.get("securityContext"))


def image_spaces(path: str, given: Sequence[Object]) -> Errors:
    """Of Pods (not of templates): an image's name without spaces around it."""
    for index, one in enumerate(given):
        image = one.get("image", "")
        if image and image.strip() != image:
            problem = "must not have leading or trailing whitespace"
            yield invalid_value(f"{path}[{index}].image", image, problem)


def _ports(path: str, given: Sequence[Object]) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(given):
        where = f"{path}[{index}]"
        if name := port.get("name"):
            if problems := basics.port_name_problems(name):
                yield from basics.each(f"{where}.name", name, problems)
            elif name in names:
                yield duplicate_value(f"{where}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield required_value(f"{where}.containerPort")
        else:
            yield from basics.port_number(f"{where}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            yield from basics.port_number(f"{where}.hostPort", port["hostPort"])
        yield from one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _host_ports(path: str, given: Sequence[Object]) -> Errors:
    taken: set[str] = set()
    for index, one in enumerate(given):
        for number, port in enumerate(one.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                yield duplicate_value(f"{path}[{index}].ports[{number}].hostPort", key)
            taken.add(key)


# --- environment ------------------------------------------------------------------------------


def _environment(path: str, given: Sequence[Object]) -> Errors:
    for index, one in enumerate(given):
        where = f"{path}[{index}]"
        yield from absent(f"{where}.name", one.get("name"))
        if one.get("name"):
            yield from basics.environment_name(f"{where}.name", one["name"])
        if "valueFrom" in one:
            yield from _value_from(f"{where}.valueFrom", one)


def _value_from(path: str, variable: Object) -> Errors:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        yield from downward.field_reference(
            f"{path}.fieldRef", source["fieldRef"], downward.ENVIRONMENT_FIELDS
        )
    if "resourceFieldRef" in source:
        yield from downward.resource_reference(
            f"{path}.resourceFieldRef", source["resourceFieldRef"]
        )
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            where = f"{path}.{name}"
            yield from absent(f"{where}.name", source[name].get("name"))
            if not source[name].get("key"):
                yield required_value(f"{where}.key")
            else:
                yield from basics.config_key(f"{where}.key", source[name]["key"])
    count = sum(name in source for name in _SOURCES)
    if count == 0:
        listed = ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        problem = f"must specify one of: {listed} or `{_SOURCES[-1]}`"
        yield invalid_value(path, "", problem)
    elif variable.get("value"):
        yield invalid_value(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid_value(path, "", "may not have more than one field specified at a time")


def _environment_sources(path: str, given: Sequence[Object]) -> Errors:
    for index, one in enumerate(given):
        where = f"{path}[{index}]"
        if one.get("prefix"):
            yield from basics.environment_name(f"{where}.prefix", one["prefix"])
        for name in ("configMapRef", "secretRef"):
            if name in one:
                target = one[name].get("name", "")
                if not target:
                    yield required_value(f"{where}.{name}.name")
                else:
                    yield from basics.subdomain(f"{where}.{name}.name", target)
        count = ("configMapRef" in one) + ("secretRef" in one)
        if count == 0:
            problem = "must specify one of: `configMapRef` or `secretRef`"
            yield invalid_value(path, "", problem)
        elif count > 1:
            yield invalid_value(path, "", "may not have more than one field specified at a time")


# --- mounts -----------------------------------------------------------------------------------


def _mounts(path: str, container: Object, volumes: set[str]) -> Errors:
    devices = {one.get("name"): one.get("devicePath") for one in container.get("volumeDevices", ())}
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where, name = f"{path}[{index}]", mount.get("name", "")
        place = mount.get("mountPath", "")
        yield from absent(f"{where}.name", name)
        if name not in volumes:
            yield basics.not_found(f"{where}.name", name)
        yield from absent(f"{where}.mountPath", place)
        if place in taken:
            yield invalid_value(f"{where}.mountPath", place, "must be unique")
        taken.add(place)
        if name in devices:
            yield invalid_value(f"{where}.name", name, "must not already exist in volumeDevices")
        # The server leaves the index out of the paths below.
        if mount.get("subPath"):
            yield from descending_path(f"{path}.subPath", mount["subPath"])
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                problem = "subPathExpr and subPath are mutually exclusive"
                yield invalid_value(f"{where}.subPathExpr", mount["subPathExpr"], problem)
            yield from descending_path(f"{path}.subPathExpr", mount["subPathExpr"])
        propagation = mount.get("mountPropagation")
        if propagation is not None:
            choices = ("Bidirectional", "HostToContainer", "None")
            yield from one_of(f"{path}.mountPropagation", propagation, choices, required=False)


# --- probes and hooks -------------------------------------------------------------------------


def _lifecycle_and_probes(path: str, one: Object) -> Errors:
    for hook in ("postStart", "preStop"):
        if hook in one.get("lifecycle", {}):
            yield from _action(f"{path}.lifecycle.{hook}", one["lifecycle"][hook])
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if kind in one:
            yield from _probe(f"{path}.{kind}", one[kind], readiness=kind == "readinessProbe")


def _probe(path: str, probe: Object, *, readiness: bool) -> Errors:
    yield from _action(path, probe)
    numbers = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
               "failureThreshold")  # fmt: skip
    yield from basics.numbers_not_negative(path, probe, numbers)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        where = f"{path}.terminationGracePeriodSeconds"
        yield invalid_value(where, grace, "must be greater than 0")
    if readiness and grace is not None:
        where = f"{path}.terminationGracePeriodSeconds"
        yield invalid_value(where, grace, "must not be set for readinessProbes")
    if not readiness and probe.get("successThreshold") != 1:
        where = f"{path}.successThreshold"
        yield invalid_value(where, probe.get("successThreshold", 0), "must be 1")


def _action(path: str, given: Object) -> Errors:
    found = 0
    for name in _ACTIONS:
        if name not in given:
            continue
        found += 1
        if found > 1:
            problem = "may not specify more than 1 handler type"
            yield forbidden_field(f"{path}.{name}", problem)
            continue
        yield from _one_action(f"{path}.{name}", name, given[name])
    if not found:
        yield required_value(path, "must specify a handler type")


def _one_action(path: str, name: str, given: Object) -> Errors:
    if name == "exec":
        yield from absent(f"{path}.command", given.get("command"))
    elif name == "httpGet":
        yield from absent(f"{path}.path", given.get("path"))
        yield from basics.port_or_name(f"{path}.port", given.get("port", 0))
        if given.get("scheme") not in ("HTTP", "HTTPS"):
            yield not_supported(f"{path}.scheme", given.get("scheme", ""), ("HTTP", "HTTPS"))
    elif name in ("tcpSocket", "grpc"):
        yield from basics.port_or_name(f"{path}.port", given.get("port", 0))
    elif name == "sleep" and given.get("seconds", 0) < 0:
        yield invalid_value(path, given.get("seconds", 0), "must be greater than or equal to 0")


# --- security ---------------------------------------------------------------------------------


def user_or_group(path: str, value: int | None) -> Errors:
    """The number of a user or a group."""
    if value is not None and not 0 <= value <= MAXIMUM_ID:
        problem = f"must be between 0 and {MAXIMUM_ID}, inclusive"
        yield invalid_value(path, value, problem)


def _security(path: str, given: Mapping[str, Any] | None) -> Errors:
    if given is None:
        return
    yield from user_or_group(f"{path}.runAsUser", given.get("runAsUser"))
    yield from user_or_group(f"{path}.runAsGroup", given.get("runAsGroup"))
    mount = given.get("procMount")
    if mount is not None and mount not in ("Default", "Unmasked"):
        yield not_supported(f"{path}.procMount", mount, ("Default", "Unmasked"))
    yield from seccomp(f"{path}.seccompProfile", given.get("seccompProfile"))
    if given.get("allowPrivilegeEscalation") is False:
        shown = basics.go_struct(given, *_SECURITY)
        if given.get("privileged"):
            problem = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield basics.invalid_struct(path, shown, problem)
        if "CAP_SYS_ADMIN" in (given.get("capabilities", {}).get("add") or ()):
            problem = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"  # noqa: E501
            yield basics.invalid_struct(path, shown, problem)


def seccomp(path: str, given: Mapping[str, Any] | None) -> Errors:
    """A seccomp profile."""
    if given is None:
        return
    kind = given.get("type", "")
    choices = ("Localhost", "RuntimeDefault", "Unconfined")
    if kind == "Localhost":
        if not given.get("localhostProfile"):
            where = f"{path}.localhostProfile"
            yield required_value(where, "must be set when seccomp type is Localhost")
    elif "localhostProfile" in given:
        where = f"{path}.localhostProfile"
        yield forbidden_field(where, "can only be set when seccomp type is Localhost")
    yield from one_of(f"{path}.type", kind, choices)


def names(given: Sequence[Object] | None) -> Iterator[str]:
    """The names of containers."""
    return (one.get("name", "") for one in given or ())
