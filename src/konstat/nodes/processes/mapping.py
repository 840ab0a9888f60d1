"""`ProcessMap`: which containers are played by which local commands. Pure but for reading a file.

Whoever starts the actor maps images; a pod can name a command itself only where that was allowed,
because it then runs any program on this machine.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from konstat.base import limits
from konstat.base.yamltext import load_yaml
from konstat.errors import UserError
from konstat.nodes.podspec import PlayedContainer, PlayedPod
from konstat.nodes.runtime import Warning

COMMAND: Final = "nodes.konstat.dev/command."
"""Annotation of a pod; the container's name follows."""
OWN_COMMAND: Final = "$(command)"
OWN_ARGUMENTS: Final = "$(args)"

_FORM: Final = "write it as IMAGE=COMMAND, for example example.com/web=python3 -m http.server"


class ProcessCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What plays the containers of an image.

    ``image`` is a reference as pods write it, one without tag for all its tags, or a beginning
    that ends in ``*``. In ``command`` the elements ``$(args)`` and ``$(command)`` stand for what
    the container declares; a container's own command and args are not used otherwise. ``env`` is
    set before the container's own variables. Raises UserError for an empty image or command.
    """

    image: str
    command: tuple[str, ...]
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        if not self.image:
            raise UserError(f"a process names no image: {_FORM}")
        if not self.command or not self.command[0]:
            raise UserError(f"process for image {self.image} has no command: {_FORM}")
        if sum(map(len, self.command)) > limits.PROCESS_COMMAND_CHARACTERS:
            raise UserError(
                f"process for image {self.image}: its command is longer than"
                f" {limits.PROCESS_COMMAND_CHARACTERS} characters: put it into a script"
            )


def parse_process(text: str) -> ProcessCommand:
    """Read ``IMAGE=COMMAND``, the command in a shell's quoting; raises UserError."""
    image, equals, line = text.partition("=")
    if not equals:
        raise UserError(f"process {text!r} has no command: {_FORM}")
    try:
        command = tuple(shlex.split(line))
    except ValueError as error:
        raise UserError(f"process {text!r}: {error}: {_FORM}") from error
    return ProcessCommand(image=image.strip(), command=command)


def load_processes(path: Path) -> tuple[ProcessCommand, ...]:
    """Read a YAML list of ``image``, ``command`` (text or list) and ``env``; raises UserError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"processes file {path} cannot be read: {error}") from error
    entries = load_yaml(text, source=str(path))
    if not isinstance(entries, list):
        raise UserError(
            f"processes file {path}: expected a list of entries with image and command,"
            f" got {type(entries).__name__}"
        )
    return tuple(_entry(entry, f"{path}[{index}]") for index, entry in enumerate(entries))


def _entry(entry: object, place: str) -> ProcessCommand:
    if isinstance(entry, dict) and isinstance(entry.get("command"), str):
        try:
            entry = {**entry, "command": shlex.split(entry["command"])}
        except ValueError as error:
            raise UserError(f"{place}.command: {error}") from error
    try:
        return msgspec.convert(entry, ProcessCommand)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{place}: {error}: give image, command (text or a list) and, if need be, env"
        ) from error


class ProcessMap:
    """Finds the command of a container.

    An exact image goes before one without tag, and that before the longest beginning.
    Raises UserError for two commands of one image, and for ``$(command)`` without
    ``allow_commands``: it would let pods run any program.
    """

    def __init__(
        self, commands: Iterable[ProcessCommand] = (), *, allow_commands: bool = False
    ) -> None:
        self.allow_commands = allow_commands
        self._whole: dict[str, ProcessCommand] = {}
        self._beginnings: dict[str, ProcessCommand] = {}
        for command in commands:
            beginning = command.image.endswith("*")
            known = self._beginnings if beginning else self._whole
            image = command.image.removesuffix("*") if beginning else command.image
            if image in known:
                raise UserError(f"image {command.image} is mapped to two processes: keep one")
            if OWN_COMMAND in command.command and not allow_commands:
                raise UserError(
                    f"process for image {command.image} uses {OWN_COMMAND}, which lets pods run any"
                    " program on this machine: give --allow-commands, or write the command out"
                )
            known[image] = command

    def __len__(self) -> int:
        return len(self._whole) + len(self._beginnings)

    def of_image(self, image: str) -> ProcessCommand | None:
        """The command of an image; None when it is only pretended."""
        found = self._whole.get(image) or self._whole.get(repository(image))
        if found is not None:
            return found
        fitting = [beginning for beginning in self._beginnings if image.startswith(beginning)]
        return self._beginnings[max(fitting, key=len)] if fitting else None

    def of_container(self, pod: PlayedPod, container: PlayedContainer) -> ProcessCommand | None:
        """The command of a container: its annotation's where that is allowed, else its image's.

        Raises ValueError for an annotation that is no command line.
        """
        line = _annotation(pod, container)
        if line is None or not self.allow_commands:
            return self.of_image(container.image)
        command = tuple(shlex.split(line))
        if not command or not command[0] or len(line) > limits.PROCESS_COMMAND_CHARACTERS:
            raise ValueError("it is empty or too long")
        return ProcessCommand(image=container.image, command=command)

    def is_process(self, pod: PlayedPod, container: PlayedContainer) -> bool:
        """Whether a container is played by a process, be it one that cannot be started."""
        if self.allow_commands and _annotation(pod, container) is not None:
            return True
        return self.of_image(container.image) is not None

    def refused(self, pod: PlayedPod) -> list[Warning]:
        """Annotations that ask for a command where that is not allowed."""
        return [
            Warning(
                "CommandNotAllowed",
                f"annotation {COMMAND}{container.name} names a command, and this node actor was"
                " started without --allow-commands: the annotation is not followed",
            )
            for container in pod.spec.all_containers
            if not self.allow_commands and _annotation(pod, container) is not None
        ]


def _annotation(pod: PlayedPod, container: PlayedContainer) -> str | None:
    annotations: Mapping[str, str] = pod.metadata.annotations or {}
    return annotations.get(COMMAND + container.name)


def repository(image: str) -> str:
    """An image reference without its tag and digest."""
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]
