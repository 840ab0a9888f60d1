"""Typed views of HorizontalPodAutoscaler and PodDisruptionBudget."""

from __future__ import annotations

from konstat.kinds.view import BuiltIn, Condition, LabelSelector, ObjectReference, View


class HorizontalPodAutoscalerSpec(View):
    """What is scaled, and between which bounds."""

    scale_target_ref: ObjectReference = ObjectReference()
    min_replicas: int = 1
    max_replicas: int = 0


class HorizontalPodAutoscalerStatus(View):
    """What the autoscaler wants now, and whether it can work."""

    current_replicas: int = 0
    desired_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class HorizontalPodAutoscaler(
    BuiltIn[HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus],
    group="autoscaling",
    version="v2",
    short_names=("hpa",),
):
    """Replicas by load."""

    __slots__ = ()


class PodDisruptionBudgetSpec(View):
    """How many pods of a set must stay; a number or a percentage."""

    selector: LabelSelector = LabelSelector()
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(View):
    """How many disruptions are allowed now."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(
    BuiltIn[PodDisruptionBudgetSpec, PodDisruptionBudgetStatus],
    group="policy",
    version="v1",
    short_names=("pdb",),
):
    """A bound on evictions."""

    __slots__ = ()
