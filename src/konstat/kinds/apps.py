"""Typed views of the apps group: Deployment, ReplicaSet, StatefulSet, DaemonSet."""

from __future__ import annotations

from konstat.kinds.pods import PodTemplate
from konstat.kinds.view import BuiltIn, Condition, LabelSelector, View


class RollingUpdate(View):
    """Bounds of a rolling update; a number of pods or a percentage."""

    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    partition: int = 0


class UpdateStrategy(View):
    """How pods of an old revision are replaced; ``type`` empty means the kind's default."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(View):
    """What a Deployment asks for."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    paused: bool = False
    progress_deadline_seconds: int = 600
    revision_history_limit: int = 10


class DeploymentStatus(View):
    """``ready_replicas`` counts pods of old revisions too: never judge by it alone."""

    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    collision_count: int = 0


class Deployment(
    BuiltIn[DeploymentSpec, DeploymentStatus], group="apps", version="v1", short_names=("deploy",)
):
    """Equal pods, replaced revision by revision."""

    __slots__ = ()


class ReplicaSetSpec(View):
    """What a ReplicaSet asks for."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()
    min_ready_seconds: int = 0


class ReplicaSetStatus(View):
    """Condition ReplicaFailure carries denials by quota and admission."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(
    BuiltIn[ReplicaSetSpec, ReplicaSetStatus], group="apps", version="v1", short_names=("rs",)
):
    """Equal pods of one revision."""

    __slots__ = ()


class StatefulSetSpec(View):
    """What a StatefulSet asks for."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()
    service_name: str = ""
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    pod_management_policy: str = "OrderedReady"


class StatefulSetStatus(View):
    """No conditions are written by Kubernetes itself."""

    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class StatefulSet(
    BuiltIn[StatefulSetSpec, StatefulSetStatus], group="apps", version="v1", short_names=("sts",)
):
    """Numbered pods with storage of their own."""

    __slots__ = ()


class DaemonSetSpec(View):
    """What a DaemonSet asks for."""

    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0


class DaemonSetStatus(View):
    """Numbers of nodes, not of pods."""

    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    updated_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    number_misscheduled: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class DaemonSet(
    BuiltIn[DaemonSetSpec, DaemonSetStatus], group="apps", version="v1", short_names=("ds",)
):
    """One pod on every matching node."""

    __slots__ = ()
