"""The kubeconfig file that a server started here leaves where the user wants it, while it runs.

Shared by `konstat rig up`, `konstat serve` and `konstat dev`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from konstat.base.yamltext import load_yaml
from konstat.client.files import read_text
from konstat.errors import UserError
from konstat.testing.rig_access import write_secret


def refuse_foreign(path: Path, *, cluster: str) -> None:
    """Raise UserError for a file that names other clusters than ``cluster``: it is not ours.

    Called before anything is started.
    """
    if not path.absolute().parent.is_dir():
        raise UserError(f"--kubeconfig {path}: the folder does not exist; make it first")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UserError(f"--kubeconfig {path}: the folder is not writable; name another file")
    if path.exists() and _clusters(path) != [cluster]:
        raise UserError(
            f"--kubeconfig {path}: the file exists and is not of {cluster}; name another file"
        )


@contextmanager
def copied(source: Path, target: Path | None) -> Iterator[Path]:
    """The kubeconfig file, at ``target`` for the length of the block if there is one."""
    if target is None:
        yield source
        return
    ours = source.read_bytes()
    try:
        write_secret(target, ours)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise UserError(
            f"--kubeconfig {target}: cannot be written: {problem}; name another file"
        ) from error
    try:
        yield target
    finally:
        # Another server that was started later may have put its own there.
        if target.exists() and target.read_bytes() == ours:
            target.unlink(missing_ok=True)


def _clusters(path: Path) -> list[str]:
    """The names of the clusters in a kubeconfig file; none if it is not one."""
    try:
        content = load_yaml(read_text(path, what="the kubeconfig"), source=str(path))
        return [cluster["name"] for cluster in content["clusters"]]
    except (UserError, KeyError, TypeError):
        return []
