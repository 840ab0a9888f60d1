"""Which command plays which container, and who may say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pod_stepper import container, content

from konstat.errors import UserError
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes import ProcessCommand, ProcessMap, load_processes, parse_process
from konstat.nodes.processes.mapping import COMMAND, repository


def mapping(*texts: str, allow_commands: bool = False) -> ProcessMap:
    return ProcessMap(map(parse_process, texts), allow_commands=allow_commands)


def command_of(found: ProcessMap, image: str) -> str | None:
    command = found.of_image(image)
    return command.command[0] if command else None


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("example.com/web:1", "exact"),
        ("example.com/web:2", "any-tag"),
        ("example.com/web", "any-tag"),
        ("example.com/web@sha256:" + "0" * 64, "any-tag"),
        ("example.com/website:1", "beginning"),
        ("example.com/tools/db:1", "longer"),
        ("other.com/web:1", None),
        ("localhost:5000/app:1", "port"),
        ("localhost:5000/app", "port"),
    ],
)
def test_the_closest_mapping_wins(image: str, expected: str | None) -> None:
    found = mapping(
        "example.com/web:1=exact",
        "example.com/web=any-tag",
        "example.com/*=beginning",
        "example.com/tools/*=longer",
        "localhost:5000/app=port",
    )
    assert command_of(found, image) == expected


def test_commands_are_quoted_as_in_a_shell() -> None:
    found = parse_process("app=sh -c 'echo \"a b\"; exit 3' x=y")
    assert found.command == ("sh", "-c", 'echo "a b"; exit 3', "x=y")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("app", "has no command"),
        ("app=", "has no command"),
        ("=sleep 1", "names no image"),
        ("app='open", "No closing quotation"),
        ("app=" + "x" * 70_000, "longer than 65536 characters"),
    ],
)
def test_what_is_no_mapping_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_process(text)


@given(st.text())
def test_any_text_is_a_mapping_or_a_user_error(text: str) -> None:
    try:
        parse_process(text)
    except UserError:
        return


@given(st.text())
def test_any_image_has_a_repository(image: str) -> None:
    assert image.startswith(repository(image))


def test_two_commands_of_one_image_are_refused() -> None:
    with pytest.raises(UserError, match="image app is mapped to two processes"):
        mapping("app=a", "app=b")


def test_a_file_holds_commands_as_text_or_list(tmp_path: Path) -> None:
    file = tmp_path / "processes.yaml"
    file.write_text(
        "- {image: a, command: 'x \"y z\"', env: {A: '1'}}\n- {image: b, command: [x, y z]}\n"
    )
    first, second = load_processes(file)
    assert first == ProcessCommand(image="a", command=("x", "y z"), env={"A": "1"})
    assert second.command == ("x", "y z")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("image: a", "expected a list"),
        ("- {image: a}", r"\[0\]: .*command"),
        ("- {image: a, command: x, evn: {}}", "evn"),
        ('- {image: a, command: "\'x"}', r"\[0\].command: No closing quotation"),
        ("- x", r"\[0\]"),
        ("- {image: a, command: []}", "has no command"),
        ("- {image: '', command: x}", "names no image"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "processes.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=problem):
        load_processes(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_processes(tmp_path / "none.yaml")


# --- what pods may say ----------------------------------------------------------------------


def annotated(line: str) -> PlayedPod:
    return PlayedPod.from_content(content(annotations={f"{COMMAND}main": line}))


def test_a_pod_names_no_command_unless_that_is_allowed() -> None:
    pod = annotated("sleep 5")
    [main] = pod.spec.containers
    strict = mapping()
    assert not strict.is_process(pod, main)
    [warning] = strict.refused(pod)
    assert (warning.reason, "--allow-commands" in warning.message) == ("CommandNotAllowed", True)

    open_one = mapping(allow_commands=True)
    found = open_one.of_container(pod, main)
    assert found is not None
    assert found.command == ("sleep", "5")
    assert open_one.refused(pod) == []


def test_a_mapped_image_plays_although_its_annotation_is_not_allowed() -> None:
    pod = annotated("sleep 5")
    found = mapping("app=server").of_container(pod, pod.spec.containers[0])
    assert found is not None
    assert found.command == ("server",)


@pytest.mark.parametrize("line", ["'open", "", "''"])
def test_an_annotation_that_is_no_command_line_is_a_process_that_cannot_start(line: str) -> None:
    pod, found = annotated(line), mapping(allow_commands=True)
    assert found.is_process(pod, pod.spec.containers[0])
    with pytest.raises(ValueError, match=r"quotation|empty"):
        found.of_container(pod, pod.spec.containers[0])


def test_the_own_command_of_containers_needs_a_permission() -> None:
    with pytest.raises(UserError, match="--allow-commands"):
        mapping("app=$(command) $(args)")
    assert len(mapping("app=$(command) $(args)", allow_commands=True)) == 1


def test_every_container_of_a_pod_is_mapped_for_itself() -> None:
    pod = PlayedPod.from_content(content(container(), container("side", image="other:1")))
    found = mapping("other=server")
    assert [found.is_process(pod, c) for c in pod.spec.containers] == [False, True]
