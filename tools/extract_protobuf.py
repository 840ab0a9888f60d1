"""Writes the field numbers of the built-in kinds' protobuf messages.

kubectl sends objects of built-in kinds in protobuf; `konstat.embedded.protobuf` reads them with
the table that this script makes from the ``generated.proto`` files of the Kubernetes modules:

    python tools/extract_protobuf.py GO_MODULE_CACHE/k8s.io 0.36.3

Only facts are taken (message, number, name, type), no text.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src/konstat/embedded/protobuf_fields.json"
PREFIX = "k8s.io."
ROOTS = {
    "api.core.v1": (
        "Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node",
        "PersistentVolume", "PersistentVolumeClaim", "Pod", "ResourceQuota", "Secret", "Service",
        "ServiceAccount",
    ),
    "api.apps.v1": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "api.autoscaling.v1": ("Scale",),
    "api.autoscaling.v2": ("HorizontalPodAutoscaler",),
    "api.batch.v1": ("CronJob", "Job"),
    "api.coordination.v1": ("Lease",),
    "api.discovery.v1": ("EndpointSlice",),
    "api.events.v1": ("Event",),
    "api.networking.v1": ("Ingress", "IngressClass", "NetworkPolicy"),
    "api.policy.v1": ("Eviction", "PodDisruptionBudget"),
    "api.rbac.v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "api.scheduling.v1": ("PriorityClass",),
    "api.storage.v1": ("CSIDriver", "StorageClass"),
    "api.authorization.v1": (
        "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ),
    "api.authentication.v1": ("SelfSubjectReview",),
    "apimachinery.pkg.apis.meta.v1": ("DeleteOptions",),
    "apimachinery.pkg.runtime": ("Unknown",),
}  # fmt: skip
FIELD = re.compile(
    r"(optional|repeated)?\s*(map<\s*(\w+)\s*,\s*([\w.]+)\s*>|\.?[\w.]+)\s+(\w+)\s*=\s*(\d+)"
)
SCALARS = {"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"}

Messages = dict[str, dict[str, list[str]]]


def messages_of(path: Path) -> Messages:
    """Every message of one file: its fields by number, as name, type and label."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    package = re.search(r"package ([\w.]+);", text)
    assert package is not None, path
    found: Messages = {}
    for block in re.finditer(r"message (\w+) \{(.*?)\n\}", text, re.DOTALL):
        fields: dict[str, list[str]] = {}
        for label, kind, _, value, name, number in FIELD.findall(block[2]):
            if kind.startswith("map"):
                fields[number] = [name, resolved(value, package[1]), "map"]
            else:
                fields[number] = [name, resolved(kind, package[1]), label]
        found[f"{package[1]}.{block[1]}"] = fields
    return found


def resolved(kind: str, package: str) -> str:
    """The full name of a type."""
    if kind in SCALARS:
        return kind
    if "." in kind:
        return kind.removeprefix(".")
    return f"{package}.{kind}"


def main(cache: Path, version: str) -> None:
    """Write the table of all messages that the roots reach."""
    known: Messages = {}
    for module in ("api", "apimachinery"):
        for path in sorted((cache / f"{module}@v{version}").rglob("generated.proto")):
            known |= messages_of(path)
    waiting = [f"{PREFIX}{package}.{name}" for package, names in ROOTS.items() for name in names]
    kept: dict[str, dict[str, str]] = {}
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        kept[name] = {}
        for number, (field, kind, label) in known[name].items():
            kept[name][number] = " ".join(
                [field, kind.removeprefix(PREFIX), "" if label == "optional" else label]
            ).strip()
            if kind not in SCALARS:
                waiting.append(kind)
    short = {name.removeprefix(PREFIX): fields for name, fields in sorted(kept.items())}
    TARGET.write_text(json.dumps(short, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
