"""The Go module of the rig: where its two files are, which programs it builds and how.

The module names a Kubernetes control plane as Go tool dependencies; ``go.mod`` and ``go.sum`` are
all of it. In a checkout they are in ``rig/``, in an installed wheel beside this file.
`konstat.testing.rig_build` builds from it, `konstat.testing.rig_binaries` finds what was built.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from konstat.errors import InternalError

ETCD: Final = "etcd"
APISERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
KUBECTL: Final = "kubectl"

# Program to Go package. In the order of the build: what everything needs comes first.
PACKAGES: Final[Mapping[str, str]] = {
    ETCD: "go.etcd.io/etcd/server/v3",
    APISERVER: "k8s.io/kubernetes/cmd/kube-apiserver",
    KUBECTL: "k8s.io/kubernetes/cmd/kubectl",
    CONTROLLER_MANAGER: "k8s.io/kubernetes/cmd/kube-controller-manager",
    SCHEDULER: "k8s.io/kubernetes/cmd/kube-scheduler",
}

MODULE_FILES: Final = ("go.mod", "go.sum")
_VERSION_PACKAGES: Final = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_KEY_CHARACTERS: Final = 12


class RigModule(msgspec.Struct, frozen=True, kw_only=True):
    """The module's text and what follows from it.

    ``folder`` holds ``go.mod`` and ``go.sum`` and is only read. ``kubernetes`` is the version
    with its ``v``, ``go`` the least Go version that builds it.
    """

    folder: Path
    kubernetes: str
    go: str
    digest: str

    @property
    def key(self) -> str:
        """Names a finished build: the version, and a hash of all that decides its content."""
        return f"{self.kubernetes}-{self.digest}"

    def build_command(self, program: str, *, go: str, output: Path) -> list[str]:
        """The command line that builds ``program`` into the file ``output``."""
        return [go, "build", *_flags(self.kubernetes), "-o", str(output), PACKAGES[program]]


def load_module(folder: Path | None = None) -> RigModule:
    """Read the module that this konstat ships, or the one in ``folder``.

    Raises `konstat.errors.InternalError` when the files are missing or not as expected: they are
    part of the package.
    """
    folder = folder or _own_folder()
    content = [_read(folder / name) for name in MODULE_FILES]
    text = content[0].decode()
    kubernetes = _first(r"^\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+)\b", text, folder)
    digest = hashlib.sha256()
    for part in (*content, " ".join(_flags(kubernetes)).encode()):
        digest.update(hashlib.sha256(part).digest())
    return RigModule(
        folder=folder,
        kubernetes=kubernetes,
        go=_first(r"^go (\d+\.\d+)", text, folder),
        digest=digest.hexdigest()[:_KEY_CHARACTERS],
    )


def _flags(kubernetes: str) -> list[str]:
    """Flags of ``go build``: small, the same everywhere, and /version tells the truth."""
    major, minor = kubernetes.removeprefix("v").split(".")[:2]
    values = {
        "gitVersion": kubernetes,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    stamps = [f"-X {p}.{name}={value}" for p in _VERSION_PACKAGES for name, value in values.items()]
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags=-s -w {' '.join(stamps)}"]


def _own_folder() -> Path:
    shipped = Path(__file__).with_name("_rig")
    if shipped.is_dir():
        return shipped
    return Path(__file__).parents[3] / "rig"  # src/konstat/testing in a checkout


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InternalError(f"the rig's {path.name} cannot be read at {path}: {error}") from error


def _first(pattern: str, text: str, folder: Path) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise InternalError(f"{folder / 'go.mod'} has no line like {pattern!r}")
    return found[1]
