"""`Plan`: the command, the variables and the volumes of one container. Pure.

From what the mapping says, what the container declares and what its ConfigMaps and Secrets hold.
What cannot be given is a PlanProblem, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from konstat.nodes.configuration import CONFIG_MAP, SECRET, Contents, is_token_volume
from konstat.nodes.podspec import PlayedContainer, PlayedEnvVar, PlayedPod, Volume
from konstat.nodes.processes.expansion import expand
from konstat.nodes.processes.fields import PodFacts, field_value
from konstat.nodes.processes.mapping import OWN_ARGUMENTS, OWN_COMMAND, ProcessCommand
from konstat.nodes.processes.problems import PlanProblem
from konstat.nodes.processes.volumes import VolumeFile, files_of


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where the things of one run lie: the pod's volumes, its folders, the message, names."""

    volumes: Path
    work: Path
    temporary: Path
    termination_log: Path
    hosts: Path


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, with exactly these variables."""

    command: tuple[str, ...]
    env: Mapping[str, str]


def plan(
    pod: PlayedPod,
    container: PlayedContainer,
    command: ProcessCommand,
    contents: Contents,
    *,
    facts: PodFacts,
    places: Places,
    base: Mapping[str, str],
) -> Plan:
    """How a container is run; ``base`` are the variables that every program gets.

    Later variables win: base, ours, the mapping's, envFrom, env. Raises PlanProblem.
    """
    names = _names(pod, container, facts, places)
    env: dict[str, str] = {**base, **_own_variables(pod, facts, places)}
    for name, value in command.env.items():
        env[name] = expand(value, names, env)
    declared = dict(_from_sources(container, contents))
    for variable in container.env:
        value = _value(pod, variable, contents, facts, declared, names)
        if value is not None:
            declared[variable.name] = value
    env |= declared
    arguments: list[str] = []
    for element in command.command:
        if element == OWN_COMMAND:
            arguments += container.command
        elif element == OWN_ARGUMENTS:
            arguments += container.args
        else:
            arguments.append(element)
    expanded = tuple(expand(argument, names, env) for argument in arguments)
    if not expanded or not expanded[0]:
        raise PlanProblem(f"the command of container {container.name} is empty")
    _refuse_nulls(expanded, env)
    return Plan(command=expanded, env=env)


def volume_files(
    pod: PlayedPod, contents: Contents, facts: PodFacts
) -> Iterator[tuple[Volume, tuple[VolumeFile, ...]]]:
    """Each volume with its files; the token of the service account is not played.

    Raises PlanProblem.
    """
    for volume in pod.spec.volumes:
        if not is_token_volume(volume):
            yield volume, files_of(pod, volume, contents, facts)


def mount_variable(volume: str) -> str:
    """The variable that names the folder of a volume."""
    return f"KONSTAT_MOUNT_{volume.upper().replace('-', '_').replace('.', '_')}"


def _own_variables(pod: PlayedPod, facts: PodFacts, places: Places) -> dict[str, str]:
    mounts = {
        mount_variable(volume.name): str(places.volumes / volume.name)
        for volume in pod.spec.volumes
        if not is_token_volume(volume)
    }
    return {
        "HOME": str(places.work),
        "TMPDIR": str(places.temporary),
        "HOSTNAME": pod.name,
        "KONSTAT_POD_IP": facts.address,
        "KONSTAT_TERMINATION_LOG": str(places.termination_log),
        "KONSTAT_HOSTS": str(places.hosts),
        **mounts,
    }


def _names(
    pod: PlayedPod, container: PlayedContainer, facts: PodFacts, places: Places
) -> dict[str, str]:
    """What commands and variables can name beside variables; no variable has such a name."""
    mounts = {
        f"mount:{volume.name}": str(places.volumes / volume.name)
        for volume in pod.spec.volumes
        if not is_token_volume(volume)
    }
    ports = {f"port:{port.name}": str(port.container_port) for port in container.ports if port.name}
    own = {"podIP": facts.address, "work": str(places.work), "hosts": str(places.hosts)}
    return {**own, **mounts, **ports}


def _from_sources(container: PlayedContainer, contents: Contents) -> Iterator[tuple[str, str]]:
    for whole in container.env_from:
        for kind, reference in ((CONFIG_MAP, whole.config_map_ref), (SECRET, whole.secret_ref)):
            if reference is None:
                continue
            content = contents.get((kind, reference.name))
            if content is None:
                if reference.optional:
                    continue
                raise PlanProblem(f'{kind.lower()} "{reference.name}" not found')
            for key, data in content.items():
                yield whole.prefix + key, data.decode(errors="surrogateescape")


def _value(
    pod: PlayedPod,
    variable: PlayedEnvVar,
    contents: Contents,
    facts: PodFacts,
    declared: Mapping[str, str],
    names: Mapping[str, str],
) -> str | None:
    """The value of a variable; None when its optional source is not there."""
    source = variable.value_from
    if source is None:
        return expand(variable.value, declared, names)
    if source.field_ref is not None:
        return field_value(pod, source.field_ref.field_path, facts)
    by_kind = ((CONFIG_MAP, source.config_map_key_ref), (SECRET, source.secret_key_ref))
    for kind, selector in by_kind:
        if selector is None:
            continue
        data = (contents.get((kind, selector.name)) or {}).get(selector.key)
        if data is not None:
            return data.decode(errors="surrogateescape")
        if selector.optional:
            return None
        raise PlanProblem(
            f"couldn't find key {selector.key} in {kind} {pod.namespace}/{selector.name}"
        )
    raise PlanProblem(
        f"variable {variable.name} takes its value from a source that local processes do not have:"
        " use fieldRef, configMapKeyRef or secretKeyRef"
    )


def _refuse_nulls(command: tuple[str, ...], env: Mapping[str, str]) -> None:
    """The system takes no such text; a value is not shown, as it may be a secret."""
    if any("\0" in argument for argument in command):
        raise PlanProblem("the command holds a null byte, which no program can be given")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise PlanProblem(
                f"variable {name!r} holds a null byte or an equals sign in its name, which no"
                " program can be given"
            )
