"""Quotas and limits are enforced; what nobody would enforce is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from builtin_bench import Bench, changed

from konstat.embedded.status_errors import StatusError

Object = dict[str, Any]


def quota(hard: Object, *, scopes: list[str] | None = None, name: str = "q") -> Object:
    spec: Object = {"hard": hard, **({"scopes": scopes} if scopes else {})}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}


def pod(name: str = "p", resources: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": resources or {}}
    content: Object = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": content}


def limits(*items: Object) -> Object:
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"},
            "spec": {"limits": list(items)}}  # fmt: skip


def named(kind: str, name: str, **content: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}


def claim(size: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return named("PersistentVolumeClaim", "c", spec=spec)


def service(*ports: Object, **spec: Any) -> Object:
    return named("Service", "a", spec={"selector": {"a": "b"}, "ports": list(ports), **spec})


def refused(bench: Bench, obj: Object) -> str:
    with pytest.raises(StatusError) as raised:
        bench.create(obj)
    assert (raised.value.code, raised.value.reason) == (403, "Forbidden")
    return raised.value.message


# --- quotas (texts measured) ------------------------------------------------------------------


def test_a_quota_of_pods_refuses_one_too_many() -> None:
    bench = Bench()
    bench.create(quota({"pods": "1"}))
    bench.create(pod("one"))
    assert refused(bench, pod("two")) == (
        'pods "two" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1,'
        " limited: pods=1"
    )


def test_a_pod_that_has_ended_uses_no_quota() -> None:
    bench = Bench()
    bench.create(quota({"pods": "1"}))
    bench.create(pod("one"))
    bench.stored["", "pods", "default", "one"]["status"]["phase"] = "Succeeded"
    assert bench.create(pod("two"))["metadata"]["name"] == "two"


def test_a_quota_of_compute_resources_wants_every_container_to_ask() -> None:
    bench = Bench()
    bench.create(quota({"requests.cpu": "1", "limits.memory": "1Gi"}))
    assert refused(bench, pod()) == (
        'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c;'
        " requests.cpu for: c"
    )
    asked = {"requests": {"cpu": "2"}, "limits": {"memory": "2Gi"}}
    assert refused(bench, pod(resources=asked)) == (
        'pods "p" is forbidden: exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=2,'
        " used: limits.memory=0,requests.cpu=0, limited: limits.memory=1Gi,requests.cpu=1"
    )


def test_a_quota_counts_objects_of_other_kinds() -> None:
    bench = Bench()
    bench.create(quota({"count/configmaps": "1", "services.nodeports": "1"}))
    bench.create(named("ConfigMap", "a"))
    assert refused(bench, named("ConfigMap", "b")) == (
        'configmaps "b" is forbidden: exceeded quota: q, requested: count/configmaps=1,'
        " used: count/configmaps=1, limited: count/configmaps=1"
    )
    plain = bench.create(service({"port": 80}))
    opened = changed(plain, "spec.type", "NodePort")
    opened["spec"]["ports"] = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    with pytest.raises(StatusError, match=r"requested: services\.nodeports=2, used"):
        bench.update(opened, plain)


def test_a_scope_limits_the_pods_that_a_quota_sees() -> None:
    bench = Bench()
    bench.create(quota({"pods": "0"}, scopes=["BestEffort"]))
    bench.create(pod("asks", {"requests": {"cpu": "1"}}))
    assert "exceeded quota: q" in refused(bench, pod("best-effort"))


@pytest.mark.parametrize(
    ("hard", "scopes", "what"),
    [
        ({"count/widgets.example.com": "1"}, None, "quotas that count widgets.example.com"),
        ({"pods": "1"}, ["CrossNamespacePodAffinity"], "the scope CrossNamespacePodAffinity"),
    ],
)
def test_a_quota_that_would_not_be_kept_is_refused(
    hard: Object, scopes: list[str] | None, what: str
) -> None:
    with pytest.raises(StatusError, match=f"does not implement {what}") as raised:
        Bench().create(quota(hard, scopes=scopes))
    assert raised.value.code == 501


# --- limit ranges (texts measured) ------------------------------------------------------------

OWN = {
    "type": "Container",
    "max": {"cpu": "2", "memory": "1Gi"},
    "min": {"cpu": "100m"},
    "default": {"cpu": "1", "memory": "512Mi"},
    "defaultRequest": {"cpu": "500m"},
}


def test_a_limit_range_gives_a_pod_its_defaults() -> None:
    bench = Bench()
    bench.create(limits(OWN))
    made = bench.create(pod())
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "512Mi"},
        "requests": {"cpu": "500m", "memory": "512Mi"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c;"
        " cpu, memory limit for container c"
    }
    assert made["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        ({"limits": {"cpu": "3"}}, "maximum cpu usage per Container is 2, but limit is 3"),
        (
            {"requests": {"cpu": "50m"}},
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"limits": {"memory": "2Gi"}},
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        ),
    ],
)
def test_a_limit_range_refuses_what_exceeds_it(resources: Object, problem: str) -> None:
    bench = Bench()
    bench.create(limits(OWN))
    assert refused(bench, pod(resources=resources)) == f'pods "p" is forbidden: {problem}'


def test_a_limit_range_bounds_the_whole_pod_and_claims() -> None:
    bench = Bench()
    bench.create(
        limits(
            {"type": "Pod", "max": {"cpu": "1"}},
            {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}},
        )
    )
    assert refused(bench, pod(resources={"limits": {"cpu": "2"}})) == (
        'pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 2'
    )
    assert refused(bench, claim("512Mi")) == (
        'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim'
        " is 1Gi, but request is 512Mi"
    )


# --- what is refused by name ------------------------------------------------------------------


def test_a_webhook_that_would_have_to_be_called_is_refused() -> None:
    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://example.com/x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    content: Object = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                       "metadata": {"name": "w"}, "webhooks": [hook]}  # fmt: skip
    assert Bench().create(content)["webhooks"][0]["failurePolicy"] == "Fail"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    content["webhooks"] = [{**hook, "rules": [rule]}]
    with pytest.raises(StatusError, match="does not implement admission webhooks") as raised:
        Bench().create(content)
    assert raised.value.code == 501


def test_enforced_pod_security_is_refused() -> None:
    label = "pod-security.kubernetes.io/enforce"
    with pytest.raises(StatusError, match="does not implement Pod Security") as raised:
        Bench().create(
            named("Namespace", "n") | {"metadata": {"name": "n", "labels": {label: "baseline"}}}
        )
    assert raised.value.code == 501
    allowed = changed(named("Namespace", "n"), "metadata.labels", {label: "privileged"})
    made = Bench().create(allowed)
    assert made["metadata"]["labels"][label] == "privileged"


def test_an_aggregated_api_server_is_refused() -> None:
    spec: Object = {"group": "g", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                    "service": {"name": "s", "namespace": "n"}}  # fmt: skip
    content: Object = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                       "metadata": {"name": "v1.g"}, "spec": spec}  # fmt: skip
    with pytest.raises(StatusError, match="does not implement aggregated API servers"):
        Bench().create(content)


def test_there_is_one_default_priority_class() -> None:
    bench = Bench()
    first: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                     "metadata": {"name": "a"}, "value": 5, "globalDefault": True}  # fmt: skip
    bench.create(first)
    assert refused(bench, changed(first, "metadata.name", "b")) == (
        'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as'
        " default. Only one default can exist"
    )
    assert bench.create(pod())["spec"]["priority"] == 5


def test_a_runtime_class_is_never_found() -> None:
    assert refused(Bench(), pod(runtimeClassName="x")) == (
        'pods "p" is forbidden: pod rejected: RuntimeClass "x" not found'
    )


# --- accounts, classes, allocation ------------------------------------------------------------


def test_without_an_account_a_pod_gets_its_name_but_no_token() -> None:
    bench = Bench()
    del bench.stored["", "serviceaccounts", "default", "default"]
    spec = bench.create(pod())["spec"]
    assert spec["serviceAccountName"] == "default"
    assert "volumes" not in spec


def test_the_newest_default_storage_class_is_taken() -> None:
    bench = Bench()
    for name, born in (("old", "2024-01-01T00:00:00Z"), ("new", "2025-01-01T00:00:00Z")):
        annotation = {"storageclass.kubernetes.io/is-default-class": "true"}
        bench.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p",
                      "metadata": {"name": name, "annotations": annotation}})  # fmt: skip
        bench.stored["storage.k8s.io", "storageclasses", "", name]["metadata"][
            "creationTimestamp"
        ] = born
    assert bench.create(claim("1Gi"))["spec"]["storageClassName"] == "new"


def test_a_node_port_belongs_to_one_service() -> None:
    bench = Bench()
    first = service({"port": 80, "nodePort": 30080}, type="NodePort")
    bench.create(first)
    with pytest.raises(StatusError, match="provided port is already allocated"):
        bench.create(changed(first, "metadata.name", "b"))
    with pytest.raises(StatusError, match="The range of valid ports is 30000-32767"):
        bench.create(service({"port": 80, "nodePort": 80}, type="NodePort"))


def test_a_service_keeps_what_was_allocated_when_a_client_leaves_it_out() -> None:
    bench = Bench()
    sent = service({"port": 80}, type="NodePort")
    old = bench.create(sent)
    given = changed(sent, "metadata", old["metadata"])
    assert bench.update(given, old)["spec"] == old["spec"]


def test_a_service_that_becomes_external_gives_its_address_back() -> None:
    bench = Bench()
    old = bench.create(
        named("Service", "a", spec={"selector": {"a": "b"}, "ports": [{"port": 80}]})
    )
    given = changed(changed(old, "spec.type", "ExternalName"), "spec.externalName", "example.com")
    spec = bench.update(given, old)["spec"]
    assert "clusterIP" not in spec
    assert "internalTrafficPolicy" not in spec
