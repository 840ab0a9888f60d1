from __future__ import annotations

from pathlib import Path

import pytest

from konstat.errors import MissingToolError
from konstat.testing.rig_binaries import build_folder, cache_folder, find_binaries
from konstat.testing.rig_module import load_module


def fill(folder: Path, *programs: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return folder


def test_assets_win_over_a_build(tmp_path: Path) -> None:
    assets = fill(tmp_path / "assets", "etcd", "kube-apiserver")
    environment = {"KONSTAT_CACHE": str(tmp_path / "cache"), "KUBEBUILDER_ASSETS": str(assets)}
    fill(build_folder(load_module(), environment=environment), "etcd", "kube-apiserver")
    assert find_binaries(environment=environment).folder == assets


def test_a_build_is_found_in_the_cache(tmp_path: Path) -> None:
    environment = {"KONSTAT_CACHE": str(tmp_path)}
    folder = fill(build_folder(load_module(), environment=environment), "etcd", "kube-apiserver")
    assert find_binaries(environment=environment).folder == folder


def test_the_given_folder_wins(tmp_path: Path) -> None:
    given = fill(tmp_path / "given", "etcd", "kube-apiserver")
    found = find_binaries(given, environment={"KUBEBUILDER_ASSETS": "/nowhere"})
    assert found.path("etcd") == given / "etcd"


def test_nothing_at_all_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError) as caught:
        find_binaries(environment={"KONSTAT_CACHE": str(tmp_path)})
    text = str(caught.value)
    assert "konstat rig build" in text
    assert "Go >= 1.26" in text
    assert "KUBEBUILDER_ASSETS" in text


def test_assets_without_a_server_are_refused_by_name(tmp_path: Path) -> None:
    assets = fill(tmp_path, "kube-apiserver")
    with pytest.raises(MissingToolError, match=r"KUBEBUILDER_ASSETS.*has no program etcd"):
        find_binaries(environment={"KUBEBUILDER_ASSETS": str(assets)})


def test_assets_of_envtest_say_what_lacks(tmp_path: Path) -> None:
    assets = fill(tmp_path, "etcd", "kube-apiserver", "kubectl")
    found = find_binaries(environment={"KUBEBUILDER_ASSETS": str(assets)})
    assert found.has("kubectl")
    with pytest.raises(MissingToolError, match=r"no ReplicaSets.*controller_manager=False"):
        found.path("kube-controller-manager")
    with pytest.raises(MissingToolError, match=r"no Pod is bound.*scheduler=False"):
        found.path("kube-scheduler")


def test_a_file_that_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    fill(tmp_path, "etcd", "kube-apiserver")
    (tmp_path / "etcd").chmod(0o644)
    with pytest.raises(MissingToolError, match="etcd"):
        find_binaries(tmp_path)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"KONSTAT_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/konstat")),
        ({}, Path.home() / ".cache" / "konstat"),
    ],
)
def test_cache_folder(environment: dict[str, str], expected: Path) -> None:
    assert cache_folder(environment=environment) == expected
