"""The files of a pod's volumes: what lies in them, and how they get onto the disk.

`files_of` is pure; `write_volume` puts files there as a kubelet does, so that a program sees either
all of the old content or all of the new.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from konstat.nodes.configuration import CONFIG_MAP, SECRET, Contents, Source
from konstat.nodes.podspec import (
    ConfigMapVolume,
    DownwardVolume,
    KeyPath,
    PlayedPod,
    SecretVolume,
    Volume,
)
from konstat.nodes.processes.fields import PodFacts, field_value
from konstat.nodes.processes.problems import PlanProblem

_READABLE = 0o400  # whatever a mode says, our own program is to read it


class VolumeFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a volume; ``path`` is relative to it."""

    path: PurePosixPath
    data: bytes
    mode: int


def files_of(
    pod: PlayedPod, volume: Volume, contents: Contents, facts: PodFacts
) -> tuple[VolumeFile, ...]:
    """What lies in a volume at first; nothing in an emptyDir.

    Raises PlanProblem for a kind of volume that processes do not have, a path that leaves the
    volume, and content that is missing.
    """
    return tuple(_files(pod, volume, contents, facts))


def _files(
    pod: PlayedPod, volume: Volume, contents: Contents, facts: PodFacts
) -> Iterator[VolumeFile]:
    if volume.config_map is not None:
        source = (CONFIG_MAP, volume.config_map.name)
        yield from _of_source(volume.config_map, source, contents, volume.config_map.default_mode)
    elif volume.secret is not None:
        source = (SECRET, volume.secret.secret_name)
        yield from _of_source(volume.secret, source, contents, volume.secret.default_mode)
    elif volume.downward_api is not None:
        mode = volume.downward_api.default_mode
        yield from _of_fields(pod, volume.downward_api, facts, mode)
    elif volume.projected is not None:
        mode = volume.projected.default_mode
        for part in volume.projected.sources:
            if part.config_map is not None:
                source = (CONFIG_MAP, part.config_map.name)
                yield from _of_source(part.config_map, source, contents, mode)
            elif part.secret is not None:
                yield from _of_source(part.secret, (SECRET, part.secret.name), contents, mode)
            elif part.downward_api is not None:
                yield from _of_fields(pod, part.downward_api, facts, mode)
            else:
                raise PlanProblem(_unknown(volume, "projected source"))
    elif volume.empty_dir is None:
        raise PlanProblem(_unknown(volume, "kind"))


def _unknown(volume: Volume, what: str) -> str:
    return (
        f'MountVolume.SetUp failed for volume "{volume.name}" : its {what} is not played for local'
        " processes: use configMap, secret, downwardAPI, projected (of these) or emptyDir"
    )


def _of_source(
    part: ConfigMapVolume | SecretVolume, source: Source, contents: Contents, mode: int
) -> Iterator[VolumeFile]:
    content = contents.get(source)
    if content is None:
        if part.optional:
            return
        raise PlanProblem(f'{source[0].lower()} "{source[1]}" not found')
    items = part.items or tuple(KeyPath(key=key, path=key) for key in content)
    for item in items:
        if item.key in content:
            yield VolumeFile(
                path=_inside(item.path),
                data=content[item.key],
                mode=mode if item.mode is None else item.mode,
            )
        elif not part.optional:
            raise PlanProblem(f'{source[0].lower()} "{source[1]}" has no key {item.key}')


def _of_fields(
    pod: PlayedPod, part: DownwardVolume, facts: PodFacts, mode: int
) -> Iterator[VolumeFile]:
    for item in part.items:
        if item.field_ref is None:
            raise PlanProblem(
                f"file {item.path!r} of the downward API takes no fieldRef, and resource fields are"
                " not played for local processes"
            )
        value = field_value(pod, item.field_ref.field_path, facts)
        yield VolumeFile(
            path=_inside(item.path),
            data=value.encode(),
            mode=mode if item.mode is None else item.mode,
        )


def _inside(path: str) -> PurePosixPath:
    """The server refuses such paths; what is written to the disk is checked again."""
    found = PurePosixPath(path)
    if not path or "\0" in path or found.is_absolute() or ".." in found.parts or not found.parts:
        raise PlanProblem(f"file {path!r} would lie outside of its volume")
    return found


def write_volume(folder: Path, name: str, files: Sequence[VolumeFile], *, keep: bool) -> None:
    """Make ``folder/name`` hold exactly these files; with ``keep`` only see that it is there.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    if keep:
        place.mkdir(exist_ok=True)
        return
    before = Path(os.readlink(place)) if place.is_symlink() else None
    content = Path(tempfile.mkdtemp(prefix=f"..{name}-", dir=folder))
    for file in files:
        path = content / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(file.mode & 0o777 | _READABLE)
    link = content.with_name(f"{content.name}.link")
    link.symlink_to(content)
    link.replace(place)
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)
