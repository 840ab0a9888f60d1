"""Runs the file or module that a command was given, and explains why it could not.

Before: `konstat.cli.target` splits the attribute off. The author's mistakes (syntax, a missing
module, an exception at the top level) become TargetErrors that name the author's own line.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import konstat
from konstat.base import limits
from konstat.errors import KonstatError, TargetError


def import_source(source: str) -> ModuleType:
    """The module that is the file ``source``, or that has that dotted name.

    A file's folder, or for a module the current folder, goes to the front of ``sys.path``; the
    file's module is named by its stem, so ``if __name__ == "__main__"`` does not run.
    Raises TargetError.
    """
    if is_file(source):
        return _import_file(source)
    return _import_module(source)


def is_file(source: str) -> bool:
    """Whether a source is meant as a file, not as a module; TargetError if it can be neither."""
    if source.endswith(".py") or os.sep in source or os.path.isfile(source):
        return True
    if not source or not all(part.isidentifier() for part in source.split(".")):
        raise TargetError(
            f"{source!r} is neither a file nor a module: write file.py or package.module"
        )
    return False


def _import_file(source: str) -> ModuleType:
    shown = shown_path(source)
    try:
        path = Path(source).resolve()
        require_file(path, shown)
    except OSError as error:  # a path that is too long, a folder that may not be entered
        raise TargetError(
            f"{shown} cannot be read: {(error.strerror or '').lower()}: correct the path"
        ) from error
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None:
        if _is_same_file(loaded, path):
            return loaded
        raise TargetError(
            f"{shown}: a module called {name!r} is loaded already"
            f" ({getattr(loaded, '__file__', None) or 'built into Python'}): rename the file"
        )
    _put_in_front(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    loader = spec.loader if spec is not None else None
    assert spec is not None and loader is not None, "a .py file has a loader"  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        _explained(lambda: loader.exec_module(module), shown=shown, root=path.parent)
    except BaseException:
        # Half a module must not be found by a later import.
        sys.modules.pop(name, None)
        raise
    return module


def require_file(path: Path, shown: str) -> None:
    """Raise TargetError, with what may be meant, unless ``path`` is a Python file."""
    if path.is_dir():
        raise TargetError(f"{shown} is a folder: name a .py file in it, or write package.module")
    if path.suffix != ".py":
        beside = path.with_name(path.name + ".py")
        hint = f"did you mean {shown}.py?" if beside.is_file() else "name a file that ends in .py"
        raise TargetError(f"{shown} is not a Python file: {hint}")
    if not path.is_file():
        names = [found.name for found in path.parent.glob("*.py")]
        close = difflib.get_close_matches(path.name, names, n=limits.MESSAGE_NAMES)
        hint = f"did you mean {' or '.join(close)}?" if close else "correct the path"
        raise TargetError(f"{shown} does not exist (looked in {path.parent}): {hint}")


def _import_module(name: str) -> ModuleType:
    folder = Path.cwd()
    _put_in_front(folder)
    root = _package_folder(name) or folder
    before = set(sys.modules)
    try:
        _explained(lambda: importlib.import_module(name), shown=name, root=root)
    except TargetError:
        for added in set(sys.modules) - before:
            if added == name or added.startswith(f"{name}."):
                del sys.modules[added]
        raise
    return sys.modules[name]


def _package_folder(name: str) -> Path | None:
    """The folder of the top-level package or module ``name`` begins with; None if not found."""
    try:
        spec = importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None
    return (
        Path(spec.origin).parent if spec is not None and spec.has_location and spec.origin else None
    )


def _explained(load: Callable[[], object], *, shown: str, root: Path) -> None:
    """Run ``load``; what it raises becomes a TargetError about a line below ``root``."""
    try:
        load()
    except SyntaxError as error:
        text = (error.text or "").strip()[: limits.MESSAGE_CHARACTERS]
        place = shown_path(error.filename or shown)
        place += f", line {error.lineno}" if error.lineno else ""
        raise TargetError(f"{place}: {error.msg}{f': {text}' if text else ''}") from error
    except ModuleNotFoundError as error:
        raise TargetError(_missing_module(error, shown=shown, root=root)) from error
    except ImportError as error:
        hint = ""
        if "relative import" in str(error):
            hint = ": the file belongs to a package: run it as package.module"
        raise TargetError(f"{_place(error, shown, root)}: {error}{hint}") from error
    except SystemExit as error:
        raise TargetError(
            f"{_place(error, shown, root)}: the program ends (SystemExit {error.code}) while it is"
            ' imported: put that under `if __name__ == "__main__":`'
        ) from error
    except KonstatError as error:
        raise TargetError(f"{_place(error, shown, root)}: {error}") from error
    except UnicodeDecodeError as error:
        raise TargetError(
            f"{_place(error, shown, root)}: not text in UTF-8 (byte {error.start}): is it Python?"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever an author may raise, CancelledError included
        raise TargetError(f"{_place(error, shown, root)}: {_in_words(error)}") from error


def _in_words(error: BaseException) -> str:
    try:
        text = str(error)[: limits.MESSAGE_CHARACTERS]
    except Exception:  # noqa: BLE001 - an author's class may have a __str__ that fails
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _missing_module(error: ModuleNotFoundError, *, shown: str, root: Path) -> str:
    missing = error.name or str(error)
    if shown == missing or shown.startswith(f"{missing}."):
        return (
            f"there is no module {missing!r} in {Path.cwd()} nor in this Python's packages:"
            " correct the name, change the folder, or give a file (file.py)"
        )
    return (
        f"{_place(error, shown, root)}: no module named {missing!r}: put it beside the file or"
        f" install it into this Python ({sys.executable})"
    )


def _place(error: BaseException, shown: str, root: Path) -> str:
    """The innermost line of the author's own code that ``error`` came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if _is_below(f.filename, [root]) and not _is_foreign(f.filename, root)]
    if not own:
        return shown
    return f"{shown_path(own[-1].filename)}, line {own[-1].lineno}"


def _is_foreign(filename: str, root: Path) -> bool:
    """Whether a file is Python's, a dependency's or konstat's; never where ``root`` is itself."""
    folders = [Path(sysconfig.get_path(key)) for key in ("stdlib", "purelib", "platlib")]
    folders.append(Path(next(iter(konstat.__path__))))
    return _is_below(filename, [f for f in folders if not root.is_relative_to(f)])


def _is_below(filename: str, folders: Iterable[Path]) -> bool:
    path = Path(filename)
    return path.is_absolute() and any(path.is_relative_to(folder) for folder in folders)


def _is_same_file(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path


def _put_in_front(folder: Path) -> None:
    text = str(folder)
    if sys.path[:1] != [text]:
        sys.path.insert(0, text)


def shown_path(path: str) -> str:
    """A path as a person would write it: relative when it is below the current folder."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return path
