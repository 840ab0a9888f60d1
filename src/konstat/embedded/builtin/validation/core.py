"""Checks of ConfigMaps, Secrets, Namespaces, Nodes and Events."""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from konstat.embedded.builtin import events
from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object, absent
from konstat.embedded.builtin.validation.placement import EFFECTS
from konstat.embedded.metadata import label_key_problems, label_value_problems, subdomain_problems
from konstat.embedded.status_errors import (
    forbidden_field,
    invalid_value,
    required_value,
)

MOST_BYTES: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_REQUIRED_KEYS: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
_EVENT_FIELDS: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "reason", "type", "eventTime", "action", "related",
)  # fmt: skip
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def config_map(new: Object, old: Object | None) -> Errors:
    """A ConfigMap (C103)."""
    if old is not None:
        yield from _frozen(new, old, ("data", "binaryData"))
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    for key in sorted(data):
        yield from basics.config_key(f"data[{key}]", key)
        if key in binary:
            problem = "duplicate of key present in binaryData"
            yield invalid_value(f"data[{key}]", key, problem)
    for key in sorted(binary):
        yield from basics.config_key(f"binaryData[{key}]", key)
    size = sum(len(text.encode()) for text in data.values())
    size += sum(len(base64.b64decode(text)) for text in binary.values())
    if size > MOST_BYTES:
        yield basics.too_long("", MOST_BYTES)


def _frozen(new: Object, old: Object, names: tuple[str, ...]) -> Errors:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden_field("immutable", _FROZEN)
    for name in names:
        if (new.get(name) or {}) != (old.get(name) or {}):
            yield forbidden_field(name, _FROZEN)


def secret(new: Object, old: Object | None) -> Errors:
    """A Secret; its type stays as it is."""
    if old is not None:
        yield from basics.unchanged("type", new.get("type", ""), old.get("type", ""))
        yield from _frozen(new, old, ("data",))
    data = new.get("data") or {}
    for key in sorted(data):
        yield from basics.config_key(f"data[{key}]", key)
    if sum(len(base64.b64decode(text)) for text in data.values()) > MOST_BYTES:
        yield basics.too_long("data", MOST_BYTES)
    yield from _by_type(new, data)


def _by_type(new: Object, data: Object) -> Errors:
    kind = new.get("type", "")
    for key in _REQUIRED_KEYS.get(kind, ()):
        if key not in data:
            yield required_value(f"data[{key}]")
        elif key.startswith(".docker"):
            yield from _json_object(f"data[{key}]", data[key])
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        yield required_value("data[username]")
        yield required_value("data[password]")
    account = (new["metadata"].get("annotations") or {}).get(_ACCOUNT)
    if kind == "kubernetes.io/service-account-token" and not account:
        yield required_value(f"metadata.annotations[{_ACCOUNT}]")


def _json_object(path: str, text: str) -> Errors:
    try:
        value = msgspec.json.decode(base64.b64decode(text))
    except msgspec.DecodeError as error:
        yield invalid_value(path, "<secret contents redacted>", str(error))
        return
    if not isinstance(value, dict):
        problem = "json: cannot unmarshal into Go value of type map[string]interface {}"
        yield invalid_value(path, "<secret contents redacted>", problem)


def namespace(new: Object, old: Object | None) -> Errors:
    """A Namespace: its finalizers are known words or qualified names."""
    for name in new["spec"].get("finalizers") or ():
        yield from basics.each("spec.finalizers", name, label_key_problems(name))
        if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
            problem = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid_value("spec.finalizers", name, problem)


# --- nodes ------------------------------------------------------------------------------------


def node(new: Object, old: Object | None) -> Errors:
    """A Node; what a cloud assigned stays as it is."""
    spec = new["spec"]
    if old is None:
        yield from _taints(spec)
        for index, one in enumerate(spec.get("podCIDRs") or ()):
            yield from basics.address_range(f"spec.podCIDRs[{index}]", one)
        return
    before = old["spec"]
    for name, word in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and before[name] != spec.get(name):
            problem = f'node updates may not change {word} except from "" to valid'
            yield forbidden_field(f"spec.{name}", problem)
    yield from _taints(spec)


def _taints(spec: Object) -> Errors:
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        # The server places taints into the metadata.
        where = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        yield from basics.qualified(f"{where}.key", key)
        if problems := label_value_problems(taint.get("value", "")):
            yield invalid_value(f"{where}.value", taint.get("value", ""), ";".join(problems))
        yield from basics.one_of(f"{where}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            shown = {"Key": key, "Value": taint.get("value", ""), "Effect": effect,
                     "TimeAdded": taint.get("timeAdded")}  # fmt: skip
            problem = "taints must be unique by key and effect pair"
            yield basics.duplicate_struct(where, shown, problem)
        seen.add((key, effect))


# --- events -----------------------------------------------------------------------------------


def core_event(new: Object, old: Object | None) -> Errors:
    """An Event of core/v1."""
    return _legacy(new, "reportingComponent")


def new_event(new: Object, old: Object | None) -> Errors:
    """An Event of events.k8s.io/v1: stricter, and hardly to be changed."""
    event = events.to_core(new)
    yield from _legacy(event, "reportingController")
    if old is not None:
        yield from _unchanged_event(event, events.to_core(old))
        return
    name = event["metadata"].get("name", "")
    yield from basics.each("metadata.name", name, subdomain_problems(name))
    yield from _series(event)
    if not event.get("eventTime"):
        yield required_value("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid_value("type", "", f"has invalid value: {event.get('type', '')}")
    for key in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(key):
            yield invalid_value(key, "", "needs to be unset")


def _legacy(event: Object, controller: str) -> Errors:
    namespace = event["metadata"].get("namespace", "")
    involved = event["involvedObject"].get("namespace", "")
    where = "involvedObject.namespace"
    if not event.get("eventTime"):
        allowed = ("", "default") if not involved else (involved,)
        if namespace not in allowed:
            yield invalid_value(where, involved, "does not match event.namespace")
        return
    if not involved and namespace not in ("default", "kube-system"):
        yield invalid_value(where, involved, "does not match event.namespace")
    reporter = event.get("reportingComponent", "")
    yield from absent(controller, reporter)
    yield from basics.qualified(controller, reporter)
    for name, most, required in (
        ("reportingInstance", 128, True),
        ("action", 128, True),
        ("reason", 128, True),
        ("message", 1024, False),
    ):
        value = event.get(name) or ""
        if required and not value:
            yield required_value(name)
        if len(value.encode()) > most:
            yield invalid_value(name, "", f"can have at most {most} characters")


def _series(event: Object) -> Errors:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid_value("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required_value("series.lastObservedTime")


def _unchanged_event(new: Object, old: Object) -> Errors:
    if new.get("series") != old.get("series"):
        yield from _series(new)
    for name in _EVENT_FIELDS:
        yield from basics.unchanged(name, new.get(name), old.get(name))
    reporter = "reportingComponent"
    yield from basics.unchanged("reportingController", new.get(reporter), old.get(reporter))
    instance = "reportingInstance"
    yield from basics.unchanged(instance, new.get(instance), old.get(instance))


# --- leases and priorities --------------------------------------------------------------------


def lease(new: Object, old: Object | None) -> Errors:
    """A Lease (C101)."""
    spec = new["spec"]
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    yield from basics.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def priority_class(new: Object, old: Object | None) -> Errors:
    """A PriorityClass; its value stays as it is."""
    name, value = new["metadata"].get("name", ""), new.get("value", 0)
    policies = ("PreemptLowerPriority", "Never")
    if old is not None:
        if value != old.get("value", 0):
            yield forbidden_field("value", "may not be changed in an update.")
        key = "preemptionPolicy"
        yield from basics.unchanged(key, new.get(key), old.get(key))
        return
    if name.startswith("system-"):
        yield from _system_class(name)
    elif value > 1_000_000_000:
        problem = "maximum allowed value of a user defined priority is 1000000000"
        yield forbidden_field("value", problem)
    yield from basics.one_of("preemptionPolicy", new.get("preemptionPolicy"), policies)


def api_service(new: Object, old: Object | None) -> Errors:
    """An APIService: its name says what it serves."""
    spec, name = new["spec"], new["metadata"].get("name", "")
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if name != wanted:
        problem = f'must be `spec.version+"."+spec.group`: "{wanted}"'
        yield invalid_value("metadata.name", name, problem)
    if spec.get("group"):
        yield from basics.subdomain("spec.group", spec["group"])
    for key, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        if not 0 < spec.get(key, 0) <= most:
            problem = f"must be positive and less than {most}"
            yield invalid_value(f"spec.{key}", spec.get(key, 0), problem)


def _system_class(name: str) -> Errors:
    if name not in ("system-node-critical", "system-cluster-critical"):
        problem = (
            "priority class names with 'system-' prefix are reserved for system use only. error:"
            f" {name} is not a known system priority class"
        )
        yield forbidden_field("metadata.name", problem)
