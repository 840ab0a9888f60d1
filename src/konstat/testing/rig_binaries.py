"""Finds the programs of a control plane: given, in ``KUBEBUILDER_ASSETS``, or built before.

Nothing is built or started here; `konstat.testing.rig_build` builds and
`konstat.testing.rig_plane` starts. What is missing is said with the way to get it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from konstat.errors import MissingToolError
from konstat.testing.rig_module import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KUBECTL,
    PACKAGES,
    SCHEDULER,
    RigModule,
    load_module,
)

ASSETS_VARIABLE: Final = "KUBEBUILDER_ASSETS"
CACHE_VARIABLE: Final = "KONSTAT_CACHE"

# envtest's folder has neither of the last two; what a control plane lacks without each program.
_LACK: Final[Mapping[str, str]] = {
    ETCD: "there is no storage, so nothing can start",
    APISERVER: "there is no API, so nothing can start",
    CONTROLLER_MANAGER: (
        "no ReplicaSets and Pods are made, owned objects are not collected, namespaces do not "
        "finish their deletion and get no default ServiceAccount; "
        "control_plane(controller_manager=False) does without it"
    ),
    SCHEDULER: "no Pod is bound to a Node; control_plane(scheduler=False) does without it",
    KUBECTL: "kubectl cannot be run",
}


class Binaries(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with the programs of a control plane; ``source`` says who named it."""

    folder: Path
    source: str

    def has(self, program: str) -> bool:
        path = self.folder / program
        return path.is_file() and os.access(path, os.X_OK)

    def path(self, program: str) -> Path:
        """The file of ``program``; raises `MissingToolError` that tells what lacks without it."""
        if not self.has(program):
            raise MissingToolError(
                f"{self.folder} (from {self.source}) has no program {program}: {_LACK[program]}; "
                f"name a folder that has it in {ASSETS_VARIABLE}, or unset {ASSETS_VARIABLE} "
                f"and run `konstat rig build`"
            )
        return self.folder / program


def find_binaries(
    folder: Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Binaries:
    """The programs in ``folder``, else in ``KUBEBUILDER_ASSETS``, else those built before.

    Raises `konstat.errors.MissingToolError` when none of them holds at least etcd and
    kube-apiserver.
    """
    environment = os.environ if environment is None else environment
    if folder is not None:
        return _with_server(Binaries(folder=folder, source="the folder that was given"))
    if assets := environment.get(ASSETS_VARIABLE):
        return _with_server(Binaries(folder=Path(assets), source=ASSETS_VARIABLE))
    module = load_module()
    built = build_folder(module, environment=environment)
    if not built.is_dir():
        raise MissingToolError(
            f"no control plane programs: nothing is built at {built} and {ASSETS_VARIABLE} is not "
            f"set; run `konstat rig build` (needs Go >= {module.go}, once, some minutes) "
            f"or set {ASSETS_VARIABLE} to a folder with {', '.join(PACKAGES)}"
        )
    return _with_server(Binaries(folder=built, source="konstat rig build"))


def build_folder(module: RigModule, *, environment: Mapping[str, str] | None = None) -> Path:
    """Where a finished build of ``module`` is, whether it exists or not."""
    return cache_folder(environment=environment) / "rig" / module.key


def cache_folder(*, environment: Mapping[str, str] | None = None) -> Path:
    """``$KONSTAT_CACHE``, else ``$XDG_CACHE_HOME/konstat``, else ``~/.cache/konstat``."""
    environment = os.environ if environment is None else environment
    if own := environment.get(CACHE_VARIABLE):
        return Path(own)
    shared = environment.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "konstat"


def _with_server(binaries: Binaries) -> Binaries:
    binaries.path(ETCD)
    binaries.path(APISERVER)
    return binaries
