from __future__ import annotations

from pathlib import Path

import pytest

from konstat.errors import InternalError
from konstat.testing.rig_module import PACKAGES, load_module

TEXT = """\
module example.dev/rig

go 1.26.0

require (
\tk8s.io/kubernetes v1.36.3
)
"""


def write_module(folder: Path, *, text: str = TEXT, sums: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text(text)
    (folder / "go.sum").write_text(sums)
    return folder


def test_the_shipped_module_names_every_program_as_a_tool() -> None:
    module = load_module()
    text = (module.folder / "go.mod").read_text()
    tools = text[text.index("tool (") : text.index("require (")].split()
    assert set(PACKAGES.values()) <= set(tools)


def test_the_key_has_the_version_and_changes_with_every_file(tmp_path: Path) -> None:
    first = load_module(write_module(tmp_path / "a"))
    assert first.key.startswith("v1.36.3-")
    assert first.key == load_module(write_module(tmp_path / "b")).key
    other_sums = load_module(write_module(tmp_path / "c", sums="x"))
    other_text = load_module(write_module(tmp_path / "d", text=f"{TEXT}\n// more\n"))
    assert len({first.key, other_sums.key, other_text.key}) == 3


def test_the_command_stamps_the_version(tmp_path: Path) -> None:
    module = load_module(write_module(tmp_path / "a"))
    command = module.build_command("kubectl", go="/go", output=tmp_path / "kubectl")
    assert command[:2] == ["/go", "build"]
    assert command[-3:] == ["-o", str(tmp_path / "kubectl"), PACKAGES["kubectl"]]
    stamps = next(part for part in command if part.startswith("-ldflags="))
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in stamps
    assert "-X k8s.io/component-base/version.gitMinor=36" in stamps


def test_go_version_is_the_least_one(tmp_path: Path) -> None:
    assert load_module(write_module(tmp_path / "a")).go == "1.26"


def test_a_module_that_is_not_there_is_our_mistake(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match=r"go\.mod cannot be read"):
        load_module(tmp_path)


def test_a_module_without_kubernetes_is_our_mistake(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="has no line like"):
        load_module(write_module(tmp_path / "a", text="module x\n\ngo 1.26\n"))
