"""The data folder of one control plane: claimed by one owner, removed with it or after it.

A temporary folder goes when its control plane stops. An owner that is killed cannot remove it;
the kernel then drops the owner's lock, and the next `claim_folder` finds and removes what is left.
A folder that the caller names is kept, and a later control plane continues with its data.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from konstat.base import clock, limits
from konstat.errors import ControlPlaneError

_PREFIX: Final = "konstat-rig-"
_LOCK: Final = "owner.lock"


@contextmanager
def claim_folder(folder: Path | None = None, *, prefix: str = _PREFIX) -> Iterator[Path]:
    """Own ``folder``, which is kept, or a fresh temporary one, which is removed at the end.

    The name of a temporary one begins with ``prefix``, which says what it is of. Raises
    `konstat.errors.ControlPlaneError` when a running control plane owns ``folder``.
    """
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(folder):
            yield folder.resolve()
        return
    remove_stale(Path(tempfile.gettempdir()), prefix=prefix)
    fresh = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        with _lock(fresh):
            yield fresh
    finally:
        shutil.rmtree(fresh)


def remove_stale(parent: Path, *, prefix: str = _PREFIX) -> None:
    """Remove the temporary folders in ``parent`` whose owner is gone.

    A young folder is left alone: its owner may not hold the lock yet.
    """
    for folder in parent.glob(f"{prefix}*"):
        lock = folder / _LOCK
        try:
            state = lock.stat()
        except OSError:
            continue  # gone meanwhile, or not one of ours
        age_seconds = clock.now().timestamp() - state.st_mtime
        if state.st_uid != os.getuid() or age_seconds < limits.RIG_STALE_SECONDS:
            continue
        try:
            with _lock(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except ControlPlaneError:
            continue  # its owner lives


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ControlPlaneError(
                f"data folder {folder} belongs to a control plane that runs: "
                f"stop that one or name another folder"
            ) from None
        yield
