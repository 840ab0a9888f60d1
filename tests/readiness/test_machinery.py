"""The rules for the API's own machinery, and for Secrets and ConfigMaps."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute
from konstat.readiness.builtin import EXISTING


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


@pytest.mark.parametrize(("group", "kind"), sorted(EXISTING))
def test_R15_kinds_without_status_are_ready_once_they_exist(
    build: Any, group: str, kind: str
) -> None:
    plain = build.thing(f"{group}/v1" if group else "v1", kind)
    assert seen(compute(plain)) == (State.READY, Reason.EXISTS)
    plain["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert compute(plain).state is State.TERMINATING


def test_a_secrets_value_is_in_no_verdict(build: Any) -> None:
    assert "aHVudGVyMg" not in repr(
        compute(build.thing("v1", "Secret", data={"key": "aHVudGVyMg=="}))
    )


# --- Secrets and ConfigMaps ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_R15_required_keys_make_it_ready(build: Any, kind: str) -> None:
    keyed = build.thing("v1", kind, data={"a": "eA=="})
    assert seen(build.judge(keyed)) == (State.READY, Reason.EXISTS)
    keyed["metadata"]["annotations"] = {"readiness.konstat.dev/required-keys": "a, b"}
    lacking = build.judge(keyed)
    assert seen(lacking) == (State.PROGRESSING, Reason.KEYS_MISSING)
    assert lacking.message.startswith("lacks b;")
    for part, value in (("data", ""), ("data", None), ("binaryData", "eA=="), ("stringData", "x")):
        filled = {**keyed, part: {**keyed.get(part, {}), "b": value}}
        assert build.judge(filled).ready is bool(value), (part, value)


@pytest.mark.parametrize(
    ("type", "keys"),
    [
        ("kubernetes.io/tls", ("tls.crt", "tls.key")),
        ("kubernetes.io/service-account-token", ("token",)),
        ("kubernetes.io/dockerconfigjson", (".dockerconfigjson",)),
        ("Opaque", ()),
    ],
)
def test_R15_a_secrets_type_requires_keys(build: Any, type: str, keys: Any) -> None:
    secret = build.thing("v1", "Secret", type=type, data={})
    assert build.judge(secret).ready is (not keys)
    secret["data"] = dict.fromkeys(keys, base64.b64encode(b"x").decode())
    assert build.judge(secret).ready


# --- definitions and aggregated APIs ---------------------------------------------------------


def definition(build: Any, *conditions: Any) -> dict[str, Any]:
    status = {"conditions": list(conditions) or None}
    return build.thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", status)


def test_D9_definition_whose_names_clash_is_failed(build: Any) -> None:
    clash = definition(
        build,
        build.condition("NamesAccepted", "False", "PluralConflict"),
        build.condition("Established"),
    )
    assert seen(compute(clash)) == (State.FAILED, Reason.NAMES_NOT_ACCEPTED)


def test_R13_definition(build: Any) -> None:
    names = build.condition("NamesAccepted")
    served = definition(build, names, build.condition("Established"))
    assert compute(served).ready
    installing = definition(build, names, build.condition("Established", "False", "Installing"))
    assert compute(installing).state is State.PROGRESSING
    refused = definition(build, names, build.condition("Established", "False", "NotAccepted"))
    assert seen(compute(refused)) == (State.FAILED, Reason.NOT_ESTABLISHED)
    loose = definition(
        build, names, build.condition("Established"), build.condition("NonStructuralSchema")
    )
    assert seen(compute(loose)) == (State.FAILED, Reason.SCHEMA_INVALID)
    leaving = definition(build, build.condition("Established"), build.condition("Terminating"))
    assert seen(compute(leaving)) == (State.TERMINATING, Reason.DELETING)
    assert seen(compute(definition(build))) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


def api_service(build: Any, status: str, *, seconds: float | None) -> Any:
    available = build.condition("Available", status, "FailedDiscoveryCheck", "no response")
    if seconds is not None:
        available["lastTransitionTime"] = build.ago(seconds)
    status_part = {"conditions": [available]}
    return build.thing("apiregistration.k8s.io/v1", "APIService", status_part)


def test_R14_api_service_that_stays_away_for_a_minute_is_failed(build: Any) -> None:
    young = build.judge(api_service(build, "False", seconds=59))
    assert seen(young) == (State.PROGRESSING, Reason.API_UNAVAILABLE)
    assert young.turn is Turn.OWNER
    assert young.recheck_at == build.now + timedelta(seconds=1)
    for seconds in (60, 7200, None):
        verdict = build.judge(api_service(build, "False", seconds=seconds))
        assert seen(verdict) == (State.FAILED, Reason.API_UNAVAILABLE)
        assert verdict.recheck_at is None
    assert build.judge(api_service(build, "False", seconds=5), now=None).state is State.FAILED


def test_R14_api_service(build: Any) -> None:
    assert build.judge(api_service(build, "True", seconds=1)).ready
    unseen = build.thing("apiregistration.k8s.io/v1", "APIService", {})
    assert seen(build.judge(unseen)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


# --- requests, flow control, admission, quotas -----------------------------------------------


@pytest.mark.parametrize(
    ("kind", "field"),
    [("CertificateSigningRequest", "certificate"), ("PodCertificateRequest", "certificateChain")],
)
def test_signing_requests(build: Any, kind: str, field: str) -> None:
    def judged(*conditions: Any, **status: Any) -> Any:
        content = {**status, "conditions": list(conditions)}
        spec = {"signerName": "example.com/signer"}
        return build.judge(build.thing("certificates.k8s.io/v1", kind, content, spec=spec))

    approved = build.condition("Approved", "True", "ByAdmin")
    assert seen(judged()) == (State.PROGRESSING, Reason.APPROVAL_PENDING)
    assert judged().turn is Turn.OWNER
    assert seen(judged(approved)) == (State.PROGRESSING, Reason.RUNNING)
    assert "example.com/signer" in judged(approved).message
    assert judged(approved, **{field: "eA=="}).ready
    for name in ("Denied", "Failed"):
        refused = judged(approved, build.condition(name, "True", "Policy"), **{field: "eA=="})
        assert seen(refused) == (State.FAILED, Reason.DENIED)


def test_flow_schemas(build: Any) -> None:
    def judged(*conditions: Any) -> Any:
        group = "flowcontrol.apiserver.k8s.io/v1"
        return build.judge(build.thing(group, "FlowSchema", {"conditions": list(conditions)}))

    assert judged(build.condition("Dangling", "False")).ready
    dangling = judged(build.condition("Dangling", "True", "NotFound"))
    assert seen(dangling) == (State.FAILED, Reason.REFERENCE_NOT_RESOLVED)
    assert judged().state is State.UNKNOWN


def test_service_cidrs(build: Any) -> None:
    def judged(*conditions: Any) -> Any:
        status = {"conditions": list(conditions)}
        return build.judge(build.thing("networking.k8s.io/v1", "ServiceCIDR", status)).state

    assert judged(build.condition("Ready")) is State.READY
    assert judged(build.condition("Ready", "False", "Terminating")) is State.PROGRESSING
    assert judged(build.condition("Ready", "Unknown")) is State.UNKNOWN
    assert judged() is State.UNKNOWN


def test_component_statuses(build: Any) -> None:
    etcd = build.thing("v1", "ComponentStatus", conditions=[build.condition("Healthy")])
    assert build.judge(etcd).ready
    etcd["conditions"][0]["status"] = "Unknown"
    assert build.judge(etcd).state is State.FAILED
    del etcd["conditions"]
    assert build.judge(etcd).state is State.UNKNOWN


def test_admission_policies(build: Any) -> None:
    group = "admissionregistration.k8s.io/v1"
    policy = build.thing(group, "ValidatingAdmissionPolicy")
    assert build.judge(policy).reason is Reason.GENERATION_NOT_OBSERVED
    policy["status"] = {"observedGeneration": 1, "typeChecking": {}}
    assert build.judge(policy).ready
    warning = {"fieldRef": "spec.validations[0].expression", "warning": "undefined field"}
    policy["status"]["typeChecking"] = {"expressionWarnings": [warning]}
    warned = build.judge(policy)
    assert (*seen(warned), warned.turn) == (State.FAILED, Reason.NOT_ACCEPTED, Turn.USER)
    assert "spec.validations[0].expression: undefined field" in warned.message


def test_storage_migrations(build: Any) -> None:
    def judged(*names: str) -> Any:
        group = "storagemigration.k8s.io/v1beta1"
        status = {"conditions": [build.condition(name) for name in names]}
        return build.judge(build.thing(group, "StorageVersionMigration", status)).state

    assert judged() is State.UNKNOWN
    assert judged("Running") is State.PROGRESSING
    assert judged("Running", "Succeeded") is State.READY
    assert judged("Succeeded", "Failed") is State.FAILED


def test_requests_for_the_state_of_resource_pools(build: Any) -> None:
    def judged(*names: str) -> Any:
        status = {"conditions": [build.condition(name) for name in names]}
        kind = "ResourcePoolStatusRequest"
        return build.judge(build.thing("resource.k8s.io/v1alpha3", kind, status)).state

    assert judged() is State.UNKNOWN
    assert judged("Complete") is State.READY
    assert judged("Failed") is State.FAILED


def test_storage_versions(build: Any) -> None:
    def judged(status: str) -> Any:
        content = {"conditions": [build.condition("AllEncodingVersionsEqual", status)]}
        group = "internal.apiserver.k8s.io/v1alpha1"
        return build.judge(build.thing(group, "StorageVersion", content)).state

    assert judged("True") is State.READY
    assert judged("False") is State.PROGRESSING


def test_quotas(build: Any) -> None:
    quota = build.thing("v1", "ResourceQuota", spec={"hard": {"pods": "2", "cpu": "1000m"}})
    assert seen(build.judge(quota)) == (State.PROGRESSING, Reason.NOT_IN_FORCE)
    quota["status"] = {"hard": {"pods": "2"}}
    assert not build.judge(quota).ready
    quota["status"] = {"hard": {"pods": "2", "cpu": "1"}, "used": {"pods": "1", "cpu": "0"}}
    assert build.judge(quota).message == "exists"
    quota["status"]["used"]["pods"] = "2"
    assert build.judge(quota).message == "exists; used up: pods"
    quota["spec"]["hard"]["pods"] = "9"
    assert not build.judge(quota).ready
