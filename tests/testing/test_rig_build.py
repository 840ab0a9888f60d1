from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from pathlib import Path

import pytest

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.errors import ControlPlaneError, MissingToolError
from konstat.testing.rig_binaries import find_binaries
from konstat.testing.rig_build import build
from konstat.testing.rig_module import PACKAGES, RigModule, load_module

# Answers as go does: its version, and a build that writes its working folder's files into the
# output. A file `refuse` beside it names a package that it will not build.
GO = """\
#!/bin/sh
here=$(dirname "$0")
if [ "$1" = env ]; then cat "$here/version"; exit 0; fi
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then output=$2; fi
  shift
done
echo "$1" >> "$here/built"
if [ "$1" = "$(cat "$here/refuse" 2>/dev/null)" ]; then echo "it does not compile"; exit 1; fi
ls > "$output"
chmod +x "$output"
"""


class Bench:
    """A module, a cache and a go of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = {
            "KONSTAT_CACHE": str(folder / "cache"),
            "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "GOFLAGS": "-mod=mod",
        }
        self.lines: list[str] = []

    def install_go(self, version: str = "go1.26.8") -> None:
        go = self.bin / "go"
        go.write_text(GO)
        go.chmod(0o755)
        (self.bin / "version").write_text(version)

    def refuse(self, package: str) -> None:
        (self.bin / "refuse").write_text(package)

    def built(self) -> list[str]:
        path = self.bin / "built"
        return path.read_text().split() if path.exists() else []

    async def build(self, module: RigModule | None = None) -> Path:
        done = await build(report=self.lines.append, module=module, environment=self.environment)
        return done.folder


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_builds_every_program_from_a_copy_of_the_module(bench: Bench) -> None:
    bench.install_go()
    folder = await bench.build()
    assert sorted(path.name for path in folder.iterdir()) == sorted(PACKAGES)
    assert bench.built() == list(PACKAGES.values())
    assert (folder / "etcd").read_text().split() == ["go.mod", "go.sum"]
    assert find_binaries(environment=bench.environment).folder == folder


async def test_a_build_that_exists_is_used_again(bench: Bench) -> None:
    bench.install_go()
    folder = await bench.build()
    (bench.bin / "go").unlink()
    assert await bench.build() == folder


async def test_a_module_folder_may_be_read_only(bench: Bench) -> None:
    bench.install_go()
    copy = bench.folder / "module"
    copy.mkdir()
    for name in ("go.mod", "go.sum"):
        (copy / name).write_bytes((load_module().folder / name).read_bytes())
    copy.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder = await bench.build(load_module(copy))
    assert (folder / "kubectl").exists()
    assert len(list(copy.iterdir())) == 2


async def test_a_failed_build_shows_why_and_the_next_goes_on(bench: Bench) -> None:
    bench.install_go()
    bench.refuse(PACKAGES["kubectl"])
    with pytest.raises(ControlPlaneError, match=r"(?s)failed to build kubectl.*does not compile"):
        await bench.build()
    with pytest.raises(MissingToolError):  # half a build is none
        find_binaries(environment=bench.environment)
    bench.refuse("")
    await bench.build()
    assert bench.built().count(PACKAGES["etcd"]) == 1
    assert bench.built().count(PACKAGES["kubectl"]) == 2
    assert "etcd (1 of 5): built before" in bench.lines


async def test_without_go_it_says_what_to_install(bench: Bench) -> None:
    with pytest.raises(MissingToolError) as caught:
        await bench.build()
    assert "install Go >= 1.26" in str(caught.value)
    assert "KUBEBUILDER_ASSETS" in str(caught.value)


async def test_an_old_go_is_refused(bench: Bench) -> None:
    bench.install_go("go1.22.1")
    with pytest.raises(MissingToolError, match=r"go1\.22\.1: install Go >= 1\.26"):
        await bench.build()
    assert bench.built() == []


async def test_two_builders_at_once_build_once(bench: Bench) -> None:
    bench.install_go()
    first, second = await asyncio.gather(bench.build(), bench.build())
    assert first == second
    assert bench.built() == list(PACKAGES.values())
    assert any("another builder is at work" in line for line in bench.lines)


async def test_a_builder_that_never_ends_is_not_waited_for_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.install_go()
    monkeypatch.setattr("konstat.base.limits.RIG_BUILD_WAIT_SECONDS", 0.0)
    target = bench.folder / "cache" / "rig" / load_module().key
    target.parent.mkdir(parents=True)
    with target.with_name(f"{target.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ControlPlaneError, match="another builder holds"):
            await bench.build()


async def test_a_cancelled_build_ends_the_compiler(bench: Bench) -> None:
    bench.install_go()
    pid_file = bench.folder / "pid"
    (bench.bin / "go").write_text(
        f'#!/bin/sh\n[ "$1" = env ] && {{ echo go1.26.8; exit 0; }}\n'
        f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; sleep 1000 & wait\n"
    )
    async with open_tasks() as tasks:
        work = tasks.start(bench.build(), name="build")
        deadline = clock.monotonic() + 30
        while not pid_file.exists():
            assert clock.monotonic() < deadline
            assert not work.done()
            await clock.sleep(0.01)
        work.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
