"""Rule files of platforms: what their kinds say beyond the words that the general reading knows."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Rules, State, Turn, compute


def thing(kind: str, status: Any = None, **more: Any) -> dict[str, Any]:
    """An object of ``Kind.group``; ``status`` None stands for none at all."""
    name, _, group = kind.partition(".")
    head = {
        "apiVersion": f"{group}/v1",
        "kind": name,
        "metadata": {"name": "x", "namespace": "default", "generation": 1},
    }
    return {**head, **more} if status is None else {**head, **more, "status": status}


def condition(name: str, status: str = "True", reason: str = "", message: str = "") -> Any:
    return {"type": name, "status": status, "reason": reason, "message": message}


def conditions(*entries: Any) -> dict[str, Any]:
    return {"conditions": list(entries)}


CONFIGURATION = [
    "Composition.apiextensions.crossplane.io",
    "ProviderConfig.aws.upbound.io",
    "ProviderConfig.aws.m.upbound.io",
    "ClusterProviderConfig.kubernetes.m.crossplane.io",
    "AWSMachineTemplate.infrastructure.cluster.x-k8s.io",
    "VirtualService.networking.istio.io",
    "PeerAuthentication.security.istio.io",
    "Telemetry.telemetry.istio.io",
    "TriggerAuthentication.keda.sh",
    "Pipeline.tekton.dev",
    "Task.tekton.dev",
    "TriggerBinding.triggers.tekton.dev",
    "VolumeSnapshotLocation.velero.io",
    "Password.generators.external-secrets.io",
    "PolicyException.kyverno.io",
    "PolicyReport.wgpolicyk8s.io",
    "ServiceMonitor.monitoring.coreos.com",
    "PrometheusRule.monitoring.coreos.com",
    "OperatorGroup.operators.coreos.com",
    "MetricTemplate.flagger.app",
    "EnvoyProxy.gateway.envoyproxy.io",
    "Middleware.traefik.io",
    "Middleware.traefik.containo.us",
    "KongIngress.configuration.konghq.com",
    "Mapping.getambassador.io",
    "ServiceProfile.linkerd.io",
    "Server.policy.linkerd.io",
    "CiliumIdentity.cilium.io",
    "GlobalNetworkPolicy.crd.projectcalico.org",
    "BGPPeer.metallb.io",
    "ResourceFlavor.kueue.x-k8s.io",
    "ServingRuntime.serving.kserve.io",
    "WorkflowTemplate.argoproj.io",
    "BackendConfig.cloud.google.com",
    "SecretProviderClass.secrets-store.csi.x-k8s.io",
    "NetworkAttachmentDefinition.k8s.cni.cncf.io",
    "VulnerabilityReport.aquasecurity.github.io",
]


@pytest.mark.parametrize("kind", CONFIGURATION)
def test_configuration_is_ready_once_it_exists(kind: str) -> None:
    assert compute(thing(kind)).state is State.READY


REPORTING = [
    "Bucket.s3.aws.upbound.io",
    "Object.kubernetes.crossplane.io",
    "Provider.pkg.crossplane.io",
    "CompositeResourceDefinition.apiextensions.crossplane.io",
    "Cluster.cluster.x-k8s.io",
    "Service.serving.knative.dev",
    "ScaledObject.keda.sh",
    "TaskRun.tekton.dev",
    "Backup.velero.io",
    "ExternalSecret.external-secrets.io",
    "ClusterPolicy.kyverno.io",
    "ValidatingPolicy.policies.kyverno.io",
    "Prometheus.monitoring.coreos.com",
    "Subscription.operators.coreos.com",
    "ClusterExtension.olm.operatorframework.io",
    "NodePool.karpenter.sh",
    "EC2NodeClass.karpenter.k8s.aws",
    "Canary.flagger.app",
    "Bundle.trust.cert-manager.io",
    "HTTPProxy.projectcontour.io",
    "SealedSecret.bitnami.com",
    "VaultAuth.secrets.hashicorp.com",
    "CiliumEndpoint.cilium.io",
    "K8sRequiredLabels.constraints.gatekeeper.sh",
    "ClusterQueue.kueue.x-k8s.io",
    "PyTorchJob.kubeflow.org",
    "InferenceService.serving.kserve.io",
    "RayCluster.ray.io",
    "SparkApplication.sparkoperator.k8s.io",
    "Pipeline.numaflow.numaproj.io",
    "Rollout.argoproj.io",
    "EventBus.argoproj.io",
    "Application.core.oam.dev",
    "TargetGroupBinding.elbv2.k8s.aws",
    "VMAgent.operator.victoriametrics.com",
    "ServiceDefaults.consul.hashicorp.com",
]


@pytest.mark.parametrize("kind", REPORTING)
@pytest.mark.parametrize("status", [None, {}], ids=["none", "empty"])
def test_a_kind_that_reports_is_awaited(kind: str, status: Any) -> None:
    assert compute(thing(kind, status)).state is State.PROGRESSING


SYNCED = condition("Synced", reason="ReconcileSuccess")
READY = condition("Ready", reason="Available")
FINISHED = condition("Finished", reason="JobFinished", message="Job finished successfully")
BROKE = condition("Finished", reason="JobFinished", message="Job has reached the backoff limit")
RELEASED = {"currentState": {"currentStateSummary": "ResourceReleased"}}
PODS = {"byPod": [{"id": "a", "observedGeneration": 1, "enforced": True}]}
STATUSES = [
    ("Bucket.s3.aws.upbound.io", conditions(SYNCED), State.PROGRESSING),
    ("Bucket.s3.aws.upbound.io", conditions(SYNCED, READY), State.READY),
    (
        "Bucket.s3.aws.upbound.io",
        conditions(SYNCED, READY, condition("AsyncOperation", "False", "Ongoing")),
        State.PROGRESSING,
    ),
    (
        "Bucket.s3.aws.upbound.io",
        conditions(SYNCED, READY, condition("LastAsyncOperation", "False", "ApplyFailure")),
        State.FAILED,
    ),
    ("ProviderConfig.aws.upbound.io", {"users": 3}, State.READY),
    ("Machine.cluster.x-k8s.io", {"phase": "Provisioned"}, State.PROGRESSING),
    ("Cluster.cluster.x-k8s.io", {"phase": "Provisioned"}, State.UNKNOWN),
    (
        "ScaledObject.keda.sh",
        conditions(condition("Ready"), condition("Active", "False")),
        State.READY,
    ),
    (
        "PipelineRun.tekton.dev",
        conditions(condition("Succeeded", "Unknown", "PipelineRunPending")),
        State.SUSPENDED,
    ),
    (
        "Service.serving.knative.dev",
        conditions(condition("Ready", "Unknown", "RevisionMissing")),
        State.PROGRESSING,
    ),
    ("Backup.velero.io", {"phase": "WaitingForPluginOperations"}, State.PROGRESSING),
    ("Backup.velero.io", {"phase": "FinalizingPartiallyFailed"}, State.FAILED),
    ("ValidatingPolicy.policies.kyverno.io", {"conditionStatus": {"ready": True}}, State.READY),
    ("CatalogSource.operators.coreos.com", {"reason": "SpecInvalidError"}, State.FAILED),
    (
        "ClusterExtension.olm.operatorframework.io",
        conditions(condition("Installed", reason="Succeeded")),
        State.PROGRESSING,
    ),
    (
        "ClusterExtension.olm.operatorframework.io",
        conditions(
            condition("Installed", reason="Succeeded"),
            condition("Progressing", reason="Retrying", message="no such version"),
        ),
        State.FAILED,
    ),
    ("Canary.flagger.app", {"phase": "WaitingPromotion"}, State.SUSPENDED),
    ("VaultAuth.secrets.hashicorp.com", {"valid": True, "error": ""}, State.READY),
    ("VaultAuth.secrets.hashicorp.com", {"valid": False, "error": "no role"}, State.FAILED),
    ("VaultStaticSecret.secrets.hashicorp.com", {"lastGeneration": 0}, State.PROGRESSING),
    ("K8sRequiredLabels.constraints.gatekeeper.sh", {**PODS, "totalViolations": 4}, State.READY),
    ("Workload.kueue.x-k8s.io", conditions(FINISHED), State.READY),
    ("Workload.kueue.x-k8s.io", conditions(BROKE), State.UNKNOWN),
    ("PyTorchJob.kubeflow.org", conditions(condition("Created")), State.PROGRESSING),
    (
        "SparkApplication.spark.apache.org",
        {**RELEASED, "stateTransitionHistory": {"0": {"currentStateSummary": "Succeeded"}}},
        State.READY,
    ),
    (
        "SparkApplication.spark.apache.org",
        {**RELEASED, "stateTransitionHistory": {"0": {"currentStateSummary": "DriverEvicted"}}},
        State.FAILED,
    ),
    ("Application.core.oam.dev", {"status": "workflowSuspending"}, State.SUSPENDED),
    ("TargetGroupBinding.elbv2.k8s.aws", {"observedGeneration": 1}, State.READY),
    ("VMAgent.operator.victoriametrics.com", {"updateStatus": "operational"}, State.READY),
    ("Upstream.gloo.solo.io", {"statuses": {"gloo": {"state": "Accepted"}}}, State.READY),
    ("Upstream.gloo.solo.io", {"statuses": {"gloo": {"state": 2}}}, State.FAILED),
    ("Promotion.kargo.akuity.io", {"phase": "Running"}, State.PROGRESSING),
    ("Build.shipwright.io", {"registered": "True", "reason": "Succeeded"}, State.READY),
    ("Tenant.capsule.clastix.io", {"state": "Cordoned"}, State.SUSPENDED),
    ("NetworkPolicy.crd.antrea.io", {"phase": "Realizing"}, State.PROGRESSING),
    (
        "HTTPProxy.projectcontour.io",
        conditions({**condition("Valid"), "errors": [{"type": "TLSError", "message": "gone"}]}),
        State.FAILED,
    ),
    (
        "RootSync.configsync.gke.io",
        conditions(condition("Syncing", "False", "Sync"), condition("Stalled", "False")),
        State.READY,
    ),
    (
        "RootSync.configsync.gke.io",
        conditions({**condition("Syncing", "False"), "errorSummary": {"totalCount": 2}}),
        State.FAILED,
    ),
    (
        "Kiali.kiali.io",
        conditions(condition("Running", reason="Running", message="Running reconciliation")),
        State.PROGRESSING,
    ),
    (
        "ResourceBinding.work.karmada.io",
        {
            **conditions(condition("FullyApplied")),
            "aggregatedStatus": [{"clusterName": "a", "applied": True, "health": "Unhealthy"}],
        },
        State.FAILED,
    ),
    (
        "DatadogMonitor.datadoghq.com",
        {**conditions(condition("Active")), "monitorState": "Alert"},
        State.READY,
    ),
    ("ActionSet.cr.kanister.io", {"state": "running"}, State.PROGRESSING),
    (
        "ApisixRoute.apisix.apache.org",
        conditions(condition("ResourcesAvailable", "False", "ResourceSyncAborted")),
        State.FAILED,
    ),
    (
        "VirtualService.networking.istio.io",
        {"validationMessages": [{"level": "ERROR", "type": {"code": "IST0101"}}]},
        State.FAILED,
    ),
    (
        "VirtualService.networking.istio.io",
        {"validationMessages": [{"level": "WARNING", "type": {"code": "IST0108"}}]},
        State.READY,
    ),
]


@pytest.mark.parametrize(("kind", "status", "state"), STATUSES)
def test_what_a_status_means(kind: str, status: Any, state: State) -> None:
    assert compute(thing(kind, status)).state is state


@pytest.mark.parametrize(("kind", "status", "state"), STATUSES)
def test_no_status_is_too_good_without_the_rules(kind: str, status: Any, state: State) -> None:
    verdict = compute(thing(kind, status), rules=Rules(builtin=False))
    assert not verdict.ready or state is State.READY


@pytest.mark.parametrize("kind", ["ActionSet", "JobFlow", "Promotion", "FileTransfer"])
def test_work_that_runs_is_not_done(kind: str) -> None:
    assert compute(thing(f"{kind}.x.example.org", {"phase": "Running"})).state is State.PROGRESSING
    assert compute(thing(f"{kind}.x.example.org", {"phase": "Completed"})).state is State.READY


def test_a_part_may_be_in_order_for_want_of_anything() -> None:
    nothing = condition("WorkersAvailable", reason="NoWorkers")
    verdict = compute(thing("Thing.x.example.org", conditions(condition("Ready"), nothing)))
    assert verdict.state is State.READY


def test_a_pod_of_gatekeeper_that_is_behind_is_waited_for() -> None:
    behind = thing("K8sRequiredLabels.constraints.gatekeeper.sh", PODS)
    behind["metadata"]["generation"] = 2
    assert compute(behind).state is State.PROGRESSING


def test_the_spec_of_a_kind_without_status_may_tell_that_work_is_left() -> None:
    bound = {"bindings": [{"resources": [{"name": "a", "applied": True}, {"name": "b"}]}]}
    kind = "ClusterResourceSetBinding.addons.cluster.x-k8s.io"
    assert compute(thing(kind, spec=bound)).state is State.READY
    bound["bindings"][0]["resources"][1]["applied"] = False  # type: ignore[index]
    assert compute(thing(kind, spec=bound)).state is State.PROGRESSING


def test_a_policy_that_nobody_has_accepted_is_unknown() -> None:
    attached = {"targetRefs": [{"kind": "Gateway", "name": "waypoint"}]}
    policy = thing("AuthorizationPolicy.security.istio.io", spec=attached)
    assert compute(policy).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Workload.kueue.x-k8s.io", {"active": False}),
        ("ClusterQueue.kueue.x-k8s.io", {"stopPolicy": "Hold"}),
        ("ClusterCatalog.olm.operatorframework.io", {"availabilityMode": "Unavailable"}),
        ("Pipeline.numaflow.numaproj.io", {"lifecycle": {"desiredPhase": "Paused"}}),
        ("CiliumLoadBalancerIPPool.cilium.io", {"disabled": True}),
    ],
)
def test_a_wish_to_rest(kind: str, spec: Any) -> None:
    assert compute(thing(kind, {}, spec=spec)).state is State.SUSPENDED


def test_who_has_to_approve_an_install_plan() -> None:
    verdict = compute(thing("InstallPlan.operators.coreos.com", {"phase": "RequiresApproval"}))
    assert (verdict.state, verdict.turn) == (State.SUSPENDED, Turn.USER)
