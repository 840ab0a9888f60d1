"""What a container asks for and a process here does not get, so that nobody waits in vain. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from konstat.nodes.podspec import Hook, PlayedContainer, Probe
from konstat.nodes.processes.probing import ProbeKind
from konstat.nodes.runtime import Warning

_OPT_IN = "needs a node actor that was started with --allow-commands"


def unplayed(container: PlayedContainer, *, commands_allowed: bool) -> Iterator[Warning]:
    """A warning for each probe and hook that will not be tried."""
    probes = (
        (ProbeKind.STARTUP, container.startup_probe),
        (ProbeKind.LIVENESS, container.liveness_probe),
        (ProbeKind.READINESS, container.readiness_probe),
    )
    for kind, probe in probes:
        problem = _of_probe(probe, commands_allowed=commands_allowed) if probe else ""
        if problem:
            effect = "it is left out" if kind is ProbeKind.LIVENESS else "it never passes"
            yield Warning(
                "ProbeNotPlayed",
                f"{kind.lower()} probe of container {container.name}: {problem}; {effect}",
            )
    if container.lifecycle is None:
        return
    if container.lifecycle.post_start is not None:
        yield _hook_warning(container, "postStart", "it is not played for local processes")
    before = container.lifecycle.pre_stop
    problem = _of_hook(before, commands_allowed=commands_allowed) if before else ""
    if problem:
        yield _hook_warning(container, "preStop", problem)


def _of_probe(probe: Probe, *, commands_allowed: bool) -> str:
    if probe.exec is not None:
        return "" if commands_allowed else f"a command {_OPT_IN}"
    if probe.http_get is not None or probe.tcp_socket is not None:
        return ""
    return "gRPC is not supported here: use httpGet or tcpSocket"


def _of_hook(hook: Hook, *, commands_allowed: bool) -> str:
    if hook.exec is not None:
        return "" if commands_allowed else f"a command {_OPT_IN}"
    if hook.http_get is not None or hook.sleep is not None:
        return ""
    return "its kind of action is not played for local processes"


def _hook_warning(container: PlayedContainer, hook: str, problem: str) -> Warning:
    text = f"{hook} hook of container {container.name}: {problem}; it is left out"
    return Warning("HookNotPlayed", text)
