"""Typed views of Pod and of the pod template that workloads embed."""

from __future__ import annotations

import msgspec

from konstat.kinds.view import BuiltIn, Condition, View


class ContainerPort(View):
    """A port that a container listens on."""

    container_port: int = 0
    name: str = ""
    protocol: str = "TCP"


class EnvVar(View):
    """An environment variable; ``value`` is empty where ``valueFrom`` gives it."""

    name: str = ""
    value: str = ""


class ResourceRequirements(View):
    """What a container asks for at least and gets at most, as quantities."""

    requests: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    limits: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class Container(View):
    """One container; an init container with ``restart_policy`` Always is a sidecar."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None


class ReadinessGate(View):
    """A condition that must be True, beside the containers, for a pod to be ready."""

    condition_type: str = ""


class PodSpec(View):
    """What a pod runs, and where."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    priority_class_name: str = ""
    readiness_gates: tuple[ReadinessGate, ...] = ()
    restart_policy: str = "Always"
    service_account_name: str = ""
    termination_grace_period_seconds: int = 30


class ContainerStateWaiting(View):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(View):
    """Since when a container runs."""

    started_at: str | None = None


class ContainerStateTerminated(View):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(View):
    """Exactly one of the three is set on a real server."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View):
    """What the kubelet says of one container."""

    name: str = ""
    image: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(View):
    """What the kubelet and the scheduler say of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    pod_ip: str = msgspec.field(name="podIP", default="")
    host_ip: str = msgspec.field(name="hostIP", default="")
    start_time: str | None = None
    observed_generation: int = 0


class Pod(BuiltIn[PodSpec, PodStatus], group="", version="v1", short_names=("po",)):
    """Containers that run together on one node."""

    __slots__ = ()


class TemplateMetadata(View):
    """The metadata that pods made from a template get."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class PodTemplate(View):
    """``template`` of a workload."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: PodSpec = PodSpec()
