"""What a kubelet reads of a pod, beyond what `konstat.kinds.Pod` names.

`PlayedPod` is another view of the same objects. All other modules of this package take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from konstat.kinds.pods import PodStatus, ReadinessGate
from konstat.kinds.view import BuiltIn, View


class KeySelector(View):
    """One key of a ConfigMap or Secret."""

    name: str = ""
    key: str = ""
    optional: bool = False


class EnvSource(View):
    """Where the value of a variable comes from; fields of the pod itself are always there."""

    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class PlayedEnvVar(View):
    """A variable, as far as it can lack its source."""

    name: str = ""
    value_from: EnvSource | None = None


class SourceReference(View):
    """A whole ConfigMap or Secret."""

    name: str = ""
    optional: bool = False


class EnvFrom(View):
    """All keys of one ConfigMap or Secret as variables."""

    config_map_ref: SourceReference | None = None
    secret_ref: SourceReference | None = None


class PlayedContainer(View):
    """One container; which kind of container it is, `PlayedSpec` and the functions below say."""

    name: str = ""
    image: str = ""
    image_pull_policy: str = "IfNotPresent"
    env: tuple[PlayedEnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    restart_policy: str | None = None
    readiness_probe: dict[str, Any] | None = None


class KeyPath(View):
    """One key that a volume takes from its source."""

    key: str = ""


class ConfigMapVolume(View):
    """A volume with the content of a ConfigMap; ``name`` also serves projected sources."""

    name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class SecretVolume(View):
    """A volume with the content of a Secret; projected sources name it by ``name``."""

    name: str = ""
    secret_name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class Projection(View):
    """One source of a projected volume."""

    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None


class ProjectedVolume(View):
    """Several sources in one volume."""

    sources: tuple[Projection, ...] = ()


class Volume(View):
    """A volume, as far as it can lack its source."""

    name: str = ""
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    projected: ProjectedVolume | None = None


class PlayedSpec(View):
    """What a pod runs."""

    containers: tuple[PlayedContainer, ...] = ()
    init_containers: tuple[PlayedContainer, ...] = ()
    node_name: str = ""
    host_network: bool = False
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
