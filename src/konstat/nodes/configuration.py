"""The ConfigMaps and Secrets that a pod needs before its containers can start. Pure.

`konstat.nodes.pods` reads the objects that `needs` names; `check` says what lacks, in the words of
a kubelet: a volume holds the whole pod up, a variable only its container.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from konstat.nodes.podspec import (
    ConfigMapVolume,
    EnvFrom,
    PlayedContainer,
    PlayedEnvVar,
    PlayedPod,
    SecretVolume,
    Volume,
)

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"
# The admission plugin adds this volume to every pod; its root certificate appears by itself.
_TOKEN_VOLUME: Final = "kube-api-access-"
_SECRET_WORDS: Final = "references non-existent secret"

Source = tuple[str, str]
"""``ConfigMap`` or ``Secret``, and the name of one."""

Found = Mapping[Source, frozenset[str] | None]
"""The keys of each source that was looked for; None where it does not exist."""

Contents = Mapping[Source, Mapping[str, bytes] | None]
"""What each source holds that was looked for; None where it does not exist."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One mention of a source: by the volume or by the container of that name.

    ``key`` is empty when the whole source is meant; an ``optional`` one may be missing.
    """

    volume: str = ""
    container: str = ""
    source: Source
    key: str = ""
    optional: bool = False


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What lacks; ``containers`` are messages by container name."""

    volume: str = ""
    containers: Mapping[str, str] = msgspec.field(default_factory=dict)


def needs(pod: PlayedPod) -> tuple[Need, ...]:
    """Every source that must be there; optional ones are left out."""
    return tuple(need for need in _needs(pod) if not need.optional)


def sources(pod: PlayedPod) -> tuple[Source, ...]:
    """Every source that the pod names, optional ones among them."""
    return tuple(dict.fromkeys(need.source for need in _needs(pod)))


def is_token_volume(volume: Volume) -> bool:
    """Whether the admission plugin added this volume, so that nobody has to provide for it."""
    return volume.name.startswith(_TOKEN_VOLUME)


def _needs(pod: PlayedPod) -> Iterator[Need]:
    for volume in pod.spec.volumes:
        if not is_token_volume(volume):
            yield from _of_volume(volume)
    for container in pod.spec.all_containers:
        yield from _of_container(container)


def _of_volume(volume: Volume) -> Iterator[Need]:
    parts: list[ConfigMapVolume | SecretVolume | None] = [volume.config_map, volume.secret]
    for projection in volume.projected.sources if volume.projected else ():
        parts += [projection.config_map, projection.secret]
    for part in parts:
        if part is None:
            continue
        if isinstance(part, SecretVolume):
            source = (SECRET, part.secret_name or part.name)
        else:
            source = (CONFIG_MAP, part.name)
        for key in [item.key for item in part.items] or [""]:
            yield Need(volume=volume.name, source=source, key=key, optional=part.optional)


def _of_container(container: PlayedContainer) -> Iterator[Need]:
    for whole in container.env_from:
        yield from _of_env_from(container, whole)
    for variable in container.env:
        yield from _of_variable(container, variable)


def _of_env_from(container: PlayedContainer, whole: EnvFrom) -> Iterator[Need]:
    for kind, reference in ((CONFIG_MAP, whole.config_map_ref), (SECRET, whole.secret_ref)):
        if reference is not None:
            source = (kind, reference.name)
            yield Need(container=container.name, source=source, optional=reference.optional)


def _of_variable(container: PlayedContainer, variable: PlayedEnvVar) -> Iterator[Need]:
    if variable.value_from is None:
        return
    by_kind = (
        (CONFIG_MAP, variable.value_from.config_map_key_ref),
        (SECRET, variable.value_from.secret_key_ref),
    )
    for kind, selector in by_kind:
        if selector is not None:
            yield Need(
                container=container.name,
                source=(kind, selector.name),
                key=selector.key,
                optional=selector.optional,
            )


def check(pod: PlayedPod, found: Found) -> Configuration:
    """What of `needs` lacks in ``found``; the first lack of each container and of the volumes."""
    volume, containers = "", {}
    for need in needs(pod):
        if need.volume:
            volume = volume or _volume_lack(need, found)
        elif need.container not in containers:
            lack = _variable_lack(pod, need, found)
            if lack:
                containers[need.container] = lack
    return Configuration(volume=volume, containers=containers)


def _volume_lack(need: Need, found: Found) -> str:
    kind, name = need.source
    keys = found.get(need.source)
    if keys is None:
        lack = f'{kind.lower()} "{name}" not found'
    elif need.key and need.key not in keys:
        part = "configmap references non-existent config" if kind == CONFIG_MAP else _SECRET_WORDS
        lack = f"{part} key: {need.key}"
    else:
        return ""
    return f'MountVolume.SetUp failed for volume "{need.volume}" : {lack}'


def _variable_lack(pod: PlayedPod, need: Need, found: Found) -> str:
    kind, name = need.source
    keys = found.get(need.source)
    if keys is None:
        return f'{kind.lower()} "{name}" not found'
    if need.key and need.key not in keys:
        return f"couldn't find key {need.key} in {kind} {pod.namespace}/{name}"
    return ""
