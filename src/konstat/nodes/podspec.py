"""What a kubelet reads of a pod, beyond what `konstat.kinds.Pod` names.

`PlayedPod` is another view of the same objects. All other modules of this package take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from konstat.kinds.pods import PodStatus, ReadinessGate
from konstat.kinds.view import BuiltIn, View


class KeySelector(View):
    """One key of a ConfigMap or Secret."""

    name: str = ""
    key: str = ""
    optional: bool = False


class FieldSelector(View):
    """A field of the pod itself, such as ``status.podIP``."""

    field_path: str = ""


class EnvSource(View):
    """Where the value of a variable comes from; fields of the pod itself are always there."""

    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None
    field_ref: FieldSelector | None = None


class PlayedEnvVar(View):
    """A variable; without ``value_from`` its value is the text."""

    name: str = ""
    value: str = ""
    value_from: EnvSource | None = None


class SourceReference(View):
    """A whole ConfigMap or Secret."""

    name: str = ""
    optional: bool = False


class EnvFrom(View):
    """All keys of one ConfigMap or Secret as variables, ``prefix`` before each name."""

    prefix: str = ""
    config_map_ref: SourceReference | None = None
    secret_ref: SourceReference | None = None


class HttpHeader(View):
    """One header that a probe sends."""

    name: str = ""
    value: str = ""


class HttpGet(View):
    """A request by HTTP; ``port`` is a number or the name of a container's port."""

    path: str = ""
    port: int | str = 0
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpSocket(View):
    """A connection that is opened and closed."""

    port: int | str = 0
    host: str = ""


class ExecAction(View):
    """A command beside the container's."""

    command: tuple[str, ...] = ()


class SleepAction(View):
    """A hook that only waits."""

    seconds: int = 0


class Probe(View):
    """How a kubelet finds out how a container is; defaults are Kubernetes' own."""

    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    exec: ExecAction | None = None
    grpc: dict[str, Any] | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Hook(View):
    """What is done before a container is told to end."""

    exec: ExecAction | None = None
    http_get: HttpGet | None = None
    sleep: SleepAction | None = None


class Lifecycle(View):
    """The hooks of a container."""

    pre_stop: Hook | None = None
    post_start: dict[str, Any] | None = None


class ContainerPort(View):
    """A port that a container names."""

    name: str = ""
    container_port: int = 0


class PlayedContainer(View):
    """One container; which kind of container it is, `PlayedSpec` and the functions below say."""

    name: str = ""
    image: str = ""
    image_pull_policy: str = "IfNotPresent"
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[PlayedEnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    restart_policy: str | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_policy: str = "File"


class KeyPath(View):
    """One key that a volume takes from its source, and the file that it becomes."""

    key: str = ""
    path: str = ""
    mode: int | None = None


class ConfigMapVolume(View):
    """A volume with the content of a ConfigMap; ``name`` also serves projected sources."""

    name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False
    default_mode: int = 0o644


class SecretVolume(View):
    """A volume with the content of a Secret; projected sources name it by ``name``."""

    name: str = ""
    secret_name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False
    default_mode: int = 0o644


class FieldPath(View):
    """A field of the pod itself, and the file that it becomes."""

    path: str = ""
    field_ref: FieldSelector | None = None
    mode: int | None = None


class DownwardVolume(View):
    """A volume with fields of the pod itself."""

    items: tuple[FieldPath, ...] = ()
    default_mode: int = 0o644


class Projection(View):
    """One source of a projected volume."""

    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    downward_api: DownwardVolume | None = msgspec.field(default=None, name="downwardAPI")


class ProjectedVolume(View):
    """Several sources in one volume."""

    sources: tuple[Projection, ...] = ()
    default_mode: int = 0o644


class Volume(View):
    """A volume, as far as it can lack its source or be made of files."""

    name: str = ""
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    projected: ProjectedVolume | None = None
    downward_api: DownwardVolume | None = msgspec.field(default=None, name="downwardAPI")
    empty_dir: dict[str, Any] | None = None


class PlayedSpec(View):
    """What a pod runs."""

    containers: tuple[PlayedContainer, ...] = ()
    init_containers: tuple[PlayedContainer, ...] = ()
    node_name: str = ""
    host_network: bool = False
    hostname: str = ""
    subdomain: str = ""
    service_account_name: str = ""
    readiness_gates: tuple[ReadinessGate, ...] = ()
    restart_policy: str = "Always"
    volumes: tuple[Volume, ...] = ()
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int = 30

    @property
    def all_containers(self) -> tuple[PlayedContainer, ...]:
        """Init containers first, in their order."""
        return self.init_containers + self.containers

    @property
    def sidecars(self) -> tuple[PlayedContainer, ...]:
        """The init containers that run beside the others (KEP-753)."""
        return tuple(c for c in self.init_containers if c.restart_policy == "Always")


class PlayedPod(BuiltIn[PlayedSpec, PodStatus], group="", version="v1", kind="Pod"):
    """A pod as its kubelet sees it."""

    __slots__ = ()

    @property
    def stored_status(self) -> Mapping[str, Any]:
        """The status as plain data; empty when there is none."""
        return self.raw("status") or {}


def is_sidecar(pod: PlayedPod, container: PlayedContainer) -> bool:
    return container.restart_policy == "Always" and container in pod.spec.init_containers


def is_regular_init(pod: PlayedPod, container: PlayedContainer) -> bool:
    """Whether the container must end well before the next one starts."""
    return container.restart_policy != "Always" and container in pod.spec.init_containers


def full_name(pod: PlayedPod) -> str:
    """How a kubelet names a pod in its messages."""
    return f"{pod.name}_{pod.namespace}({pod.uid})"
