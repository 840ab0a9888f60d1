"""Builds the programs of a control plane from the rig's Go module, once per version.

The result is a folder in konstat's cache, named after the version and a hash of all that decides
its content. A build grows in a folder beside it, program by program, and is renamed when whole:
a build that was cut off goes on where it was, and nobody sees half of one. A lock file lets one
builder work while others wait for it.

Before: `konstat.testing.rig_module` says what to build. After: `konstat.testing.rig_binaries`
finds it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from konstat.base import clock, limits
from konstat.errors import ControlPlaneError, MissingToolError
from konstat.testing.rig_binaries import ASSETS_VARIABLE, Binaries, build_folder
from konstat.testing.rig_module import MODULE_FILES, PACKAGES, RigModule, load_module

Report = Callable[[str], None]

_LOCK_POLL_SECONDS: Final = 0.5
_OUTPUT_CHARACTERS: Final = 4000  # of a failed build, shown in the error


async def build(
    *,
    report: Report = lambda _: None,
    module: RigModule | None = None,
    environment: Mapping[str, str] | None = None,
) -> Binaries:
    """Build the programs unless they are built, and give the folder that has them.

    ``report`` gets a line for each step. The first build takes minutes and downloads the module's
    dependencies by way of the Go module proxy; a build that exists is returned at once.

    Raises `konstat.errors.MissingToolError` when there is no Go that can build it, and
    `konstat.errors.ControlPlaneError` when a build fails or another builder does not end.
    """
    module = module or load_module()
    environment = os.environ if environment is None else environment
    target = build_folder(module, environment=environment)
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        async with _lock(target.with_name(f"{target.name}.lock"), report):
            if not target.is_dir():  # the builder that we waited for may have made it
                await _build_all(module, target, report, environment)
    report(f"the programs are in {target}")
    return Binaries(folder=target, source="konstat rig build")


async def _build_all(
    module: RigModule, target: Path, report: Report, environment: Mapping[str, str]
) -> None:
    partial = target.with_name(f"{target.name}.partial")
    partial.mkdir(exist_ok=True)
    environment = _go_environment(environment)
    # Go wants to write beside go.mod at times, and an installed wheel may be read-only.
    with tempfile.TemporaryDirectory(prefix="konstat-rig-module-") as name:
        work = Path(name)
        for file in MODULE_FILES:
            shutil.copyfile(module.folder / file, work / file)
        go = await _find_go(module, work, environment)
        for number, program in enumerate(PACKAGES, start=1):
            place = f"{program} ({number} of {len(PACKAGES)})"
            if (partial / program).exists():
                report(f"{place}: built before")
                continue
            report(f"{place}: building {PACKAGES[program]} …")
            began = clock.monotonic()
            fresh = partial / f"{program}.new"
            command = module.build_command(program, go=go, output=fresh)
            await _build_one(program, command, work, environment)
            fresh.rename(partial / program)
            report(f"{place}: built in {clock.monotonic() - began:.0f} s")
    partial.rename(target)


async def _build_one(
    program: str, command: list[str], work: Path, environment: Mapping[str, str]
) -> None:
    code, output = await _run(command, work, environment, timeout_seconds=limits.RIG_BUILD_SECONDS)
    if code != 0:
        raise ControlPlaneError(
            f"failed to build {program}: {' '.join(command[:2])} ended with {code}; what is built "
            f"so far is kept for the next try; it said:\n{output[-_OUTPUT_CHARACTERS:].strip()}"
        )


def _go_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what would build something else than for this machine."""
    left_out = {"GOOS", "GOARCH", "GOFLAGS", "GOWORK"}
    kept = {name: value for name, value in environment.items() if name not in left_out}
    return {**kept, "CGO_ENABLED": "0", "GOWORK": "off"}


async def _find_go(module: RigModule, work: Path, environment: Mapping[str, str]) -> str:
    """The go program, which must be able to build ``module``.

    A Go that is too old fetches a newer one by itself if it may; here it shows whether it can.
    """
    way_out = (
        f"install Go >= {module.go} (https://go.dev/dl), or set {ASSETS_VARIABLE} to a folder that "
        f"has etcd and kube-apiserver (and kube-controller-manager, kube-scheduler, kubectl: "
        f"without them a control plane does less)"
    )
    go = shutil.which("go", path=environment.get("PATH"))
    if go is None:
        raise MissingToolError(f"the program go is not on PATH: {way_out}")
    code, output = await _run(
        [go, "env", "GOVERSION"], work, environment, timeout_seconds=limits.RIG_BUILD_SECONDS
    )
    if code != 0:
        raise MissingToolError(f"{go} cannot build the rig: {way_out}; it said: {output.strip()}")
    if _version(output) < _version(module.go):
        raise MissingToolError(f"{go} is {output.strip()}: {way_out}")
    return go


def _version(text: str) -> tuple[int, int]:
    """Major and minor of a Go version; (0, 0) if there is none."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


async def _run(
    command: list[str], work: Path, environment: Mapping[str, str], *, timeout_seconds: float
) -> tuple[int, str]:
    """Run a command to its end; its code and output. Its children end with it."""
    child = await asyncio.create_subprocess_exec(
        *command,
        cwd=work,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_seconds):
            output, _ = await child.communicate()
    except TimeoutError:
        raise ControlPlaneError(
            f"{' '.join(command[:2])} has not ended within {timeout_seconds:g} s"
        ) from None
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)  # go has started compilers of its own
            await child.wait()
    assert child.returncode is not None
    return child.returncode, output.decode(errors="replace")


@asynccontextmanager
async def _lock(path: Path, report: Report) -> AsyncIterator[None]:
    """Hold the lock file; the kernel lets go of it however we end."""
    deadline = clock.monotonic() + limits.RIG_BUILD_WAIT_SECONDS
    with path.open("a") as file:
        waited = False
        while not _try_lock(file):
            if not waited:
                report(f"another builder is at work: waiting for {path}")
                waited = True
            if clock.monotonic() >= deadline:
                raise ControlPlaneError(
                    f"another builder holds {path} for more than "
                    f"{limits.RIG_BUILD_WAIT_SECONDS:g} s: stop it and try again"
                )
            await clock.sleep(_LOCK_POLL_SECONDS)
        yield


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
