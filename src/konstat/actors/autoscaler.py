"""`AutoscalerActor`: HorizontalPodAutoscalers without metrics: bounds are kept, the rest is said.

As kube-controller-manager in a cluster that serves no metrics: a target outside ``minReplicas``
and ``maxReplicas`` is scaled into them; otherwise condition ScalingActive is False and says that
there are no metrics. Metrics are not played, whatever the server serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from konstat.actors import content
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.base import clock, limits
from konstat.client.discovery import Discovery
from konstat.errors import APIError
from konstat.kinds import HorizontalPodAutoscaler
from konstat.objects.kind import Kind

_SCALER = HorizontalPodAutoscaler.kind
_METRICS = (
    "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get"
    " metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could"
    " not find the requested resource (get pods.metrics.k8s.io)"
)


class AutoscalerActor(Actor):
    """Keyed by uid of the autoscaler; looks again from time to time, as the real one."""

    name: ClassVar[str] = "horizontal-pod-autoscaler"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_SCALER: self.add_itself}

    async def attempt(self, key: str) -> float | None:
        scaler = self.world.by_uid(_SCALER, key)
        if scaler is None:
            return None
        status = dict(content.status(scaler))
        try:
            target = await self._target(scaler)
            scale = await self.world.client.get(
                target,
                self._target_name(scaler),
                namespace=content.namespace(scaler),
                subresource="scale",
            )
        except APIError as error:
            text = "the HPA controller was unable to get the target's current scale"
            status = _with(
                status, "AbleToScale", "False", "FailedGetScale", f"{text}: {error.message}"
            )
            self.world.event(
                self.name, _SCALER, scaler, "FailedGetScale", error.message, type="Warning"
            )
        else:
            status = await self._scale(scaler, target, scale, status)
        await self.world.write_status(_SCALER, scaler, status)
        return limits.AUTOSCALER_SECONDS

    async def _scale(self, scaler: Obj, target: Kind, scale: Obj, status: Obj) -> Obj:
        present = content.spec(scale).get("replicas") or 0
        if not present:
            text = "the HPA controller was able to get the target's current scale"
            status = _with(status, "AbleToScale", "True", "SucceededGetScale", text)
            text = "scaling is disabled since the replica count of the target is zero"
            return _with(status, "ScalingActive", "False", "ScalingDisabled", text)
        status["currentReplicas"] = content.status(scale).get("replicas") or present
        wanted, why = _bounded(scaler, present)
        if wanted == present:
            text = "the HPA controller was able to get the target's current scale"
            status = _with(status, "AbleToScale", "True", "SucceededGetScale", text)
            return _with(status, "ScalingActive", "False", "FailedGetResourceMetric", _METRICS)
        await self.world.client.patch(
            target,
            self._target_name(scaler),
            {"spec": {"replicas": wanted}},
            type="merge",
            namespace=content.namespace(scaler),
            subresource="scale",
        )
        note = f"New size: {wanted}; reason: {why}"
        self.world.event(self.name, _SCALER, scaler, "SuccessfulRescale", note)
        status |= {"desiredReplicas": wanted, "lastScaleTime": clock.timestamp(clock.now())}
        text = f"the HPA controller was able to update the target scale to {wanted}"
        return _with(status, "AbleToScale", "True", "SucceededRescale", text)

    async def _target(self, scaler: Obj) -> Kind:
        reference = content.spec(scaler).get("scaleTargetRef") or {}
        group, _, version = str(reference.get("apiVersion") or "").rpartition("/")
        named = str(reference.get("kind") or "")
        found = await Discovery(self.world.client).served(group, named, version)
        if found is None:
            raise APIError(
                f'no matches for kind "{named}" in group "{group}"', code=404, reason="NotFound"
            )
        return found.kind

    @staticmethod
    def _target_name(scaler: Obj) -> str:
        return str((content.spec(scaler).get("scaleTargetRef") or {}).get("name") or "")


def _bounded(scaler: Obj, present: int) -> tuple[int, str]:
    spec = content.spec(scaler)
    least, most = spec.get("minReplicas") or 1, spec.get("maxReplicas") or present
    if present > most:
        return most, "Current number of replicas above Spec.MaxReplicas"
    if present < least:
        return least, "Current number of replicas below Spec.MinReplicas"
    return present, ""


def _with(
    status: Obj, type: str, value: Literal["True", "False"], reason: str, message: str
) -> dict[str, Any]:
    """``status`` with a condition in its place."""
    stored = list(status.get("conditions") or ())
    before = content.condition(status, type) or {}
    since = before.get("lastTransitionTime") if before.get("status") == value else None
    entry = {
        "type": type,
        "status": value,
        "lastTransitionTime": since or clock.timestamp(clock.now()),
        "reason": reason,
        "message": message,
    }
    if before:
        conditions = [entry if c.get("type") == type else c for c in stored]
    else:
        conditions = [*stored, entry]
    return {**status, "conditions": conditions}
