"""What holds a pod whose containers are not wrong: volumes, sandbox, readiness gates.

Volumes and sandboxes fail without a trace in the pod's status; there Events are asked, as long as
nothing newer says that the pod got past that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from konstat.readiness import events, reading, wording
from konstat.readiness.causes import Cause
from konstat.readiness.containers import SETTING_UP
from konstat.readiness.events import Told
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of
from konstat.readiness.verdict import Evidence, Reason, State

_MOUNT: Final = frozenset({"FailedMount", "FailedMapVolume"})
_ATTACH: Final = frozenset({"FailedAttachVolume"})
_SANDBOX: Final = frozenset({"FailedCreatePodSandBox"})
_PAST: Final = frozenset({"Created", "Pulled", "Pulling", "Started"})
# A kubelet sums up after two minutes with a text that names no cause.
_SUMMARY: Final = "Unable to attach or mount volumes"
_RUNTIME_WORDS: Final = "desc = "

_CLASSES: Final = (
    (_ATTACH, Reason.VOLUME_NOT_ATTACHED, "a volume cannot be attached"),
    (_MOUNT, Reason.VOLUME_NOT_MOUNTED, "a volume cannot be mounted"),
    (_SANDBOX, Reason.SANDBOX_FAILED, "the pod's sandbox cannot be created"),
)


def setting_up(content: Mapping[str, Any], found: list[Condition], around: Subject) -> Cause:
    """A pod whose containers have not come to be: what Events tell of it, or that it waits."""
    sandbox = reading.condition(found, "PodReadyToStartContainers", bad="False")
    seen = (evidence_of(sandbox),) if sandbox is not None else ()
    waits = sandbox is not None and sandbox.status == "False"
    if sandbox is None or waits:
        told = _told(content, around, seen)
        if told is not None:
            return told
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.PODS_STARTING,
        text="the pod waits for its network and volumes" if waits else SETTING_UP,
        evidence=seen,
    )


def _told(content: Mapping[str, Any], around: Subject, seen: tuple[Evidence, ...]) -> Cause | None:
    """What fails, from Events: Progressing while it is young, Failed once it lasts."""
    about = around.events_of(reading.text(reading.at(content, "metadata", "uid")))
    if not about:
        return None
    past = events.newest(about, _PAST)
    for reasons, reason, what in _CLASSES:
        telling = events.fresh(about, reasons, now=around.now, after=past)
        if telling is None:
            continue
        cited = telling.first_by_text(last_resort=_SUMMARY)
        why = wording.steady(cited.message.rpartition(_RUNTIME_WORDS)[2])
        return Cause(
            state=State.FAILED if telling.is_lasting else State.PROGRESSING,
            reason=reason,
            text=wording.with_detail(what, why),
            evidence=(*seen, cited.evidence),
            until=telling.until,
        )
    return None


def probes_told(content: Mapping[str, Any], around: Subject) -> list[Told]:
    """Fresh events about failing probes; the pod's own address is left out of their texts."""
    about = around.events_of(reading.text(reading.at(content, "metadata", "uid")))
    telling = events.fresh(about, {"Unhealthy"}, now=around.now) if about else None
    if telling is None:
        return []
    address = reading.text(reading.at(content, "status", "podIP"))
    if not address:
        return list(telling.told)
    return [
        each._replace(message=each.message.replace(address, "the pod")) for each in telling.told
    ]


def pull_told(content: Mapping[str, Any], around: Subject) -> str:
    """The words of a fresh event about an image that could not be pulled; empty without one."""
    about = around.events_of(reading.text(reading.at(content, "metadata", "uid")))
    pulls = [entry for entry in about if _is_pull(entry)]
    telling = events.fresh(pulls, {"Failed"}, now=around.now) if pulls else None
    return telling.first_by_text().message if telling is not None else ""


def _is_pull(entry: Mapping[str, Any]) -> bool:
    text = reading.text(entry.get("message")) or reading.text(entry.get("note"))
    return text.startswith("Failed to pull image")


# --- readiness gates -------------------------------------------------------------------------


def gate_cause(content: Mapping[str, Any], found: list[Condition]) -> Cause | None:
    """Readiness gates that are not True, once all containers are ready (KEP-580)."""
    containers_ready = reading.condition(found, "ContainersReady", bad="False")
    if containers_ready is None or containers_ready.status != "True":
        return None
    missing: dict[str, str] = {}
    for gate in reading.mappings(reading.at(content, "spec", "readinessGates")):
        name = reading.text(gate.get("conditionType"))
        met = reading.condition(found, name, bad="False")
        if met is None or met.status != "True":
            missing[name] = _gate(name, met, content)
    if not missing:
        return None
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.READINESS_GATE_NOT_MET,
        text=f"waits for readiness gate {wording.listed(missing.values())}",
        evidence=(
            evidence_of(containers_ready),
            *(
                Evidence(f'status.conditions[type="{n}"].status', _status(found, n))
                for n in missing
            ),
        ),
    )


def _status(found: Iterable[Condition], name: str) -> str | None:
    met = reading.condition(found, name, bad="False")
    return None if met is None else met.status


def _gate(name: str, met: Condition | None, content: Mapping[str, Any]) -> str:
    """One gate: its name, who must set it, and what that one says."""
    manager = _manager_of(content, name)
    domain, slash, _ = name.rpartition("/")
    if manager:
        who = f"which {manager} sets"
    elif slash:
        who = f"which the controller of {domain} must set"
    else:
        who = "which another controller must set"
    said = "" if met is None else wording.with_detail(met.reason, met.message)
    return wording.steady(wording.with_detail(f"{name}, {who}", said))


def _manager_of(content: Mapping[str, Any], name: str) -> str:
    """Who wrote the condition ``name``, as the server's field ownership tells; empty if nobody."""
    key = f'k:{{"type":"{name}"}}'
    entries = reading.mappings(reading.at(content, "metadata", "managedFields"))
    managers = sorted(
        reading.text(entry.get("manager"))
        for entry in entries
        if reading.at(entry, "fieldsV1", "f:status", "f:conditions", key) is not None
    )
    return managers[0] if managers else ""
