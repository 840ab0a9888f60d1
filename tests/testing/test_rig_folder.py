from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from konstat.base import limits
from konstat.errors import ControlPlaneError
from konstat.testing.rig_folder import claim_folder, remove_stale


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_old(folder: Path) -> None:
    lock = folder / "owner.lock"
    moment = lock.stat().st_mtime - limits.RIG_STALE_SECONDS - 1
    os.utime(lock, (moment, moment))


def leave_behind(parent: Path) -> Path:
    """A folder as an owner leaves it that was killed."""
    folder = parent / "konstat-rig-left"
    (folder / "etcd").mkdir(parents=True)
    (folder / "owner.lock").touch()
    return folder


def test_a_temporary_folder_is_private_and_goes(temporary: Path) -> None:
    with claim_folder() as folder:
        (folder / "file").touch()
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o077 == 0
    assert list(temporary.iterdir()) == []


def test_a_named_folder_is_made_and_stays(tmp_path: Path) -> None:
    with claim_folder(tmp_path / "a" / "b") as folder:
        (folder / "file").touch()
    assert (tmp_path / "a" / "b" / "file").exists()


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with (
        claim_folder(tmp_path),
        pytest.raises(ControlPlaneError, match="belongs to a control plane that runs"),
        claim_folder(tmp_path),
    ):
        pass


def test_what_a_killed_owner_left_is_removed_by_the_next(temporary: Path) -> None:
    left = leave_behind(temporary)
    make_old(left)
    with claim_folder():
        assert not left.exists()


def test_a_young_folder_is_left_alone(temporary: Path) -> None:
    left = leave_behind(temporary)
    remove_stale(temporary)
    assert left.exists()


def test_a_folder_in_use_is_left_alone(temporary: Path) -> None:
    with claim_folder() as folder:
        make_old(folder)
        remove_stale(temporary)
        assert folder.exists()


def test_other_folders_are_left_alone(temporary: Path) -> None:
    other = temporary / "konstat-rig-without-lock"
    other.mkdir()
    remove_stale(temporary)
    assert other.exists()


def test_the_lock_is_the_kernels(temporary: Path) -> None:
    left = leave_behind(temporary)
    make_old(left)
    with (left / "owner.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        remove_stale(temporary)
        assert left.exists()
