"""The files whose change reloads an operator of `konstat dev`, and what changed of them.

They are found without importing anything: the Python files beside the target's file, or those of
its package, and of the packages below. Before: `konstat.cli.target` takes a TARGET apart.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from konstat.base import limits
from konstat.cli.imports import is_file, require_file, shown_path
from konstat.errors import TargetError

Stamp = tuple[int, int, int]


class SourceFiles:
    """The Python files of a target's ``source``, as they were at the last look.

    Raises TargetError, when it is made, for a source that is not there, and when there are more
    than `limits.DEV_FILES` files.
    """

    def __init__(self, source: str) -> None:
        self._root = _root(source)
        self._shown = shown_path(str(self._root))
        self._seen = self._look()

    def __str__(self) -> str:
        return f"{len(self._seen)} Python file{'s' * (len(self._seen) != 1)} in {self._shown}"

    def changed(self) -> list[str]:
        """The files that were changed, added or removed since the last look, as a user knows them.

        A change within one tick of the file system's clock shows by the size or the inode.
        """
        before, self._seen = self._seen, self._look()
        paths = before.keys() | self._seen.keys()
        return sorted(
            shown_path(str(path)) for path in paths if before.get(path) != self._seen.get(path)
        )

    def _look(self) -> dict[Path, Stamp]:
        found: dict[Path, Stamp] = {}
        for path in _python_files(self._root):
            try:
                state = path.stat()
            except OSError:
                continue  # removed between listing and looking: it is not there
            found[path] = (state.st_mtime_ns, state.st_size, state.st_ino)
            if len(found) > limits.DEV_FILES:
                raise TargetError(
                    f"more than {limits.DEV_FILES} Python files are in {self._shown}: put the"
                    " operator into a folder of its own"
                )
        return found


def _root(source: str) -> Path:
    """The folder of a source."""
    if is_file(source):
        path = Path(source).resolve()
        require_file(path, shown_path(source))
        return path.parent
    name = source.partition(".")[0]
    here = Path.cwd()
    if (here / name).is_dir():
        return here / name
    if (here / f"{name}.py").is_file():
        return here
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.has_location or not spec.origin:
        raise TargetError(
            f"there is no module {name!r} in {here} nor in this Python's packages"
            f" ({sys.executable}): correct the name, change the folder, or give a file (file.py)"
        )
    return Path(spec.origin).parent


def _python_files(folder: Path) -> Iterator[Path]:
    """Those of a folder and of the packages below it; other folders may be anything."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # a folder that went, or may not be read, has no files for us
    for entry in listed:
        path = Path(entry.path)
        if entry.is_file() and path.suffix == ".py":
            yield path
        elif entry.is_dir(follow_symlinks=False) and (path / "__init__.py").is_file():
            yield from _python_files(path)
