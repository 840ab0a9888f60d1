"""The kubeconfig file that a server started here leaves where the user wants it, while it runs.

Shared by `konstat rig up`, `konstat serve` and `konstat dev`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from konstat.errors import UserError
from konstat.testing.rig_access import write_secret


def refuse_foreign(path: Path, *, cluster: str) -> None:
    """Raise UserError for a file that names other clusters than ``cluster``: it is not ours.

    Called before anything is started.
    """
    if not path.absolute().parent.is_dir():
        raise UserError(f"--kubeconfig {path}: the folder does not exist; make it first")
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
    write_secret(target, ours)
    try:
        yield target
    finally:
        # Another server that was started later may have put its own there.
        if target.exists() and target.read_bytes() == ours:
            target.unlink(missing_ok=True)


def _clusters(path: Path) -> list[str]:
    """The names of the clusters in a kubeconfig file; none if it is not one."""
    try:
        content = yaml.safe_load(path.read_bytes())
        return [cluster["name"] for cluster in content["clusters"]]
    except (yaml.YAMLError, KeyError, TypeError):
        return []
