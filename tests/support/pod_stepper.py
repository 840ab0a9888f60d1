"""Steps one pod through time, as its kubelet does, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from konstat.base import clock
from konstat.nodes.configuration import Configuration
from konstat.nodes.kubelet import Step, next_status
from konstat.nodes.memory import Pace, PodMemory, recall
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.pretended import PretendedRuntime

START = datetime(2026, 1, 1, tzinfo=UTC)
BAD_IMAGE = "registry.invalid/app:1"


def container(name: str = "main", image: str = "app:1", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def content(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod with a container ``main`` unless told else."""
    annotations = spec.pop("annotations", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "namespace": "demo",
            "uid": "u1",
            "generation": 1,
            "annotations": annotations,
        },
        "spec": {"containers": list(containers) or [container()], "nodeName": "n", **spec},
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


class PodStepper:
    """Steps one pod through time and keeps its status as a server would."""

    def __init__(self, pod: dict[str, Any], **options: Any) -> None:
        self.pod = pod
        self.now = START
        self.pace = options.pop("pace", Pace())
        self.runtime = PretendedRuntime(**options)
        self.configuration = Configuration()
        self.memory: PodMemory | None = None

    def step(self) -> Step:
        pod = PlayedPod.from_content(self.pod)
        memory = self.memory or recall(
            pod, address="10.244.0.1", host_address="198.18.0.1", now=self.now
        )
        step = next_status(
            pod,
            memory,
            runtime=self.runtime,
            now=self.now,
            configuration=self.configuration,
            pace=self.pace,
        )
        self.memory = step.memory
        foreign = [
            entry
            for entry in self.pod["status"].get("conditions", ())
            if entry["type"] not in {own["type"] for own in step.status["conditions"]}
        ]
        self.pod["status"] |= {**step.status, "conditions": foreign + step.status["conditions"]}
        return step

    def wait(self, seconds: float) -> Step:
        self.now += timedelta(seconds=seconds)
        return self.step()

    def wake(self) -> Step:
        """Go on to the moment that the machine asks for."""
        seconds = self.step().wake_seconds
        assert seconds is not None
        return self.wait(seconds)

    def delete(self, grace_seconds: int = 30) -> None:
        until = clock.timestamp(self.now + timedelta(seconds=grace_seconds))
        self.pod["metadata"] |= {
            "deletionTimestamp": until,
            "deletionGracePeriodSeconds": grace_seconds,
        }

    # --- what it shows ------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        return self.pod["status"]["phase"]

    def entry(self, name: str = "main") -> dict[str, Any]:
        status = self.pod["status"]
        entries = status.get("initContainerStatuses", []) + status["containerStatuses"]
        return next(entry for entry in entries if entry["name"] == name)

    def state(self, name: str = "main") -> str:
        """``running``, or the reason of waiting or of the end."""
        [(word, detail)] = self.entry(name)["state"].items()
        return detail.get("reason", word)

    def condition(self, type: str) -> dict[str, Any]:
        return next(c for c in self.pod["status"]["conditions"] if c["type"] == type)
