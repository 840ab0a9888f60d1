"""What the server does to workloads before they are stored: templates, Job selectors, revisions."""

from __future__ import annotations

import base64
from typing import Any, Final

from konstat.base import clock
from konstat.embedded.builtin import pods
from konstat.embedded.builtin.preparing import keep
from konstat.embedded.registry import Host

Object = dict[str, Any]

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_JOB_PREFIX: Final = "batch.kubernetes.io/"
DEFAULT_INGRESS_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"


def deployment(new: Object, old: Object | None, host: Host) -> None:
    """Deployments and ReplicaSets."""
    pods.template_accounts(new["spec"]["template"]["spec"])


def stateful_set(new: Object, old: Object | None, host: Host) -> None:
    """Claims of a StatefulSet say what they are."""
    pods.template_accounts(new["spec"]["template"]["spec"])
    for claim in new["spec"].get("volumeClaimTemplates", ()):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def daemon_set(new: Object, old: Object | None, host: Host) -> None:
    """The generation of a DaemonSet's template is an annotation."""
    pods.template_accounts(new["spec"]["template"]["spec"])
    annotations = new["metadata"].setdefault("annotations", {})
    if old is None:
        annotations[TEMPLATE_GENERATION] = "1"
        return
    before = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1")
    moved = new["spec"]["template"] != old["spec"]["template"]
    annotations[TEMPLATE_GENERATION] = str(int(before) + 1) if moved else before


def cron_job(new: Object, old: Object | None, host: Host) -> None:
    """CronJobs."""
    pods.template_accounts(new["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def job(new: Object, old: Object | None, host: Host) -> None:
    """A Job selects its Pods by its own uid, unless its author selects by hand."""
    template = new["spec"]["template"]
    pods.template_accounts(template["spec"])
    if old is not None or new["spec"].get("manualSelector"):
        return
    uid, name = new["metadata"].get("uid", ""), new["metadata"].get("name", "")
    # The default has already given the Job the template's labels: they are one map on the server.
    shared = new["metadata"].get("labels") == template["metadata"].get("labels")
    labels = dict(template["metadata"].get("labels") or {})
    labels |= {"controller-uid": uid, "job-name": name}
    labels |= {f"{_JOB_PREFIX}controller-uid": uid, f"{_JOB_PREFIX}job-name": name}
    template["metadata"]["labels"] = labels
    if shared or not new["metadata"].get("labels"):
        new["metadata"]["labels"] = dict(labels)
    selector = new["spec"].setdefault("selector", {})
    selector.setdefault("matchLabels", {})[f"{_JOB_PREFIX}controller-uid"] = uid


def namespace(new: Object, old: Object | None, host: Host) -> None:
    """A Namespace has the finalizer of the namespace controller, and its name as label."""
    name = new["metadata"].get("name", "")
    new["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    if old is not None:
        keep(new, old, "spec")
        return
    finalizers = list(new["spec"].get("finalizers", ()))
    if "kubernetes" not in finalizers:
        new["spec"]["finalizers"] = [*finalizers, "kubernetes"]


def node(new: Object, old: Object | None, host: Host) -> None:
    """A new Node is not ready until its controller says so (TaintNodesByCondition)."""
    spec = new["spec"]
    if spec.get("podCIDR") and (spec.get("podCIDRs") or [""])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if old is None:
        taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        taints = spec.get("taints", [])
        if not any(
            one.get("key") == taint["key"] and one.get("effect") == taint["effect"]
            for one in taints
        ):
            spec["taints"] = [*taints, taint]


def secret(new: Object, old: Object | None, host: Host) -> None:
    """Texts of a Secret become data."""
    texts = new.pop("stringData", None)
    if texts:
        new["data"] = {**(new.get("data") or {}), **{k: _base64(v) for k, v in texts.items()}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def service_account(new: Object, old: Object | None, host: Host) -> None:
    """A ServiceAccount refers to its Secrets by name alone."""
    if new.get("secrets"):
        new["secrets"] = [{k: v for k, v in one.items() if k == "name"} for one in new["secrets"]]


def ingress(new: Object, old: Object | None, host: Host) -> None:
    """An Ingress without a class gets the default one (DefaultIngressClass)."""
    annotations = new["metadata"].get("annotations") or {}
    if old is not None or "ingressClassName" in new["spec"]:
        return
    if "kubernetes.io/ingress.class" in annotations:
        return
    found = [
        one
        for one in host.objects("networking.k8s.io", "ingressclasses")
        if (one["metadata"].get("annotations") or {}).get(DEFAULT_INGRESS_CLASS) == "true"
    ]
    if found:
        newest = max(one["metadata"].get("creationTimestamp", "") for one in found)
        names = [
            one["metadata"]["name"]
            for one in found
            if one["metadata"].get("creationTimestamp", "") == newest
        ]
        new["spec"]["ingressClassName"] = min(names)


def api_service(new: Object, old: Object | None, host: Host) -> None:
    """What the server serves itself is available at once."""
    if old is None and "service" not in new["spec"]:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": clock.timestamp(host.now()),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        new["status"] = {"conditions": [condition]}


def keep_labels(new: Object, old: Object, host: Host) -> None:
    """Writers of a Deployment's status do not change its labels."""
    keep(new["metadata"], old["metadata"], "labels")
