"""Every command and every output in the README and the tutorial is true."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from story import eventually

from konstat.testing import Binaries

if TYPE_CHECKING:
    from story import Plane

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
BIN = Path(sys.executable).parent


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def environment(binaries: Binaries) -> dict[str, str]:
    """konstat, and the kubectl that belongs to the control plane, first on the path."""
    path = os.pathsep.join([str(BIN), str(binaries.folder), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "NO_COLOR": "1"}


def masked(text: str) -> list[str]:
    """Lines without what differs from run to run: pod and ReplicaSet names, ages, widths."""
    text = re.sub(r"shop-[0-9a-z]{6,10}(-[0-9a-z]{5})?\b", "shop-…", text)
    text = re.sub(r"\b\d+s\b", "…s", text)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_operator_in_the_readme_is_the_example() -> None:
    [shown] = blocks(README, "python")
    example = (ROOT / "examples/web_app/web_app.py").read_text()
    assert shown in example


def test_the_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    first = blocks(README, "sh")[0].split("\n")[:-1]
    assert first == ["make demo", "make test"]
    for command in first:
        assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


def test_the_files_that_are_named_exist() -> None:
    for name in re.findall(r"`((?:docs|examples)/[\w./]+)`", README):
        assert (ROOT / name).exists(), name


@pytest.mark.timeout(240)
@pytest.mark.parametrize("options", [[], pytest.param(["--rig"], marks=pytest.mark.realapi)])
def test_the_demo_ends_well_and_prints_what_the_readme_shows(
    options: list[str], request: pytest.FixtureRequest
) -> None:
    env = {**os.environ}
    if options:
        env = environment(request.getfixturevalue("rig_binaries"))
    ran = subprocess.run(
        [sys.executable, "-m", "konstat.cli.main", "demo", *options],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    [shown] = blocks(README, "text")
    printed = masked(ran.stdout)
    assert [line for line in masked(shown) if line not in printed] == []


@contextlib.asynccontextmanager
async def in_background(
    command: str, folder: Path, env: dict[str, str], ready: str
) -> AsyncIterator[None]:
    """One command of the README that runs until it is stopped."""
    log = folder / f"{command.split()[1]}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_shell(
            f"exec {command}", cwd=folder, env=env, stdout=output, stderr=output
        )

    async def text() -> str:
        assert process.returncode is None, log.read_text()
        return log.read_text()

    try:
        await eventually(text, lambda seen: ready in seen)
        yield
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(60):
            await process.wait()


async def in_foreground(command: str, folder: Path, env: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_shell(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, f"{command}\n{output.decode()}"
    return output.decode()


@pytest.mark.timeout(240)
async def test_the_readme_by_hand(rig_binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    _, dev, by_hand, any_object = blocks(README, "sh")
    export, *lines = [*by_hand.splitlines(), *any_object.splitlines()]
    name, _, file = export.removeprefix("export ").partition("=")
    env = {**environment(rig_binaries), name: file}
    async with in_background(dev.strip(), tmp_path, env, "running:"):
        outputs = [await in_foreground(line, tmp_path, env) for line in lines]
    created, waited, tree, explained, piped, waited_again = outputs
    assert "webapp.demo.example.com/shop created" in created
    assert "shop" in waited
    assert "WorkloadReady" in tree
    for text in (explained, piped):
        assert "Deployment default/shop is Ready (Available)" in text
    assert "shop" in waited_again


@pytest.mark.timeout(240)
async def test_the_tutorial(plane: Plane, rig_binaries: Binaries, tmp_path: Path) -> None:
    env = {**environment(rig_binaries), "KUBECONFIG": str(plane.kubeconfig)}
    types, reconcile, test = blocks(TUTORIAL, "python")
    (tmp_path / "greetings.py").write_text(f"{types}\n\n{reconcile}")
    first, second = blocks(TUTORIAL, "sh")
    show, run = first.splitlines()
    assert "minLength: 1" in await in_foreground(show, tmp_path, env)
    tests = f"from greetings import Greeting, reconcile\n{test}"
    (tmp_path / "test_greetings.py").write_text(tests)
    options = "-q -p no:cacheprovider -o asyncio_mode=auto"
    command = f"{sys.executable} -m pytest {options} test_greetings.py"
    assert "1 passed" in await in_foreground(command, tmp_path, env)
    async with in_background(run, tmp_path, env, "running:"):
        apply, show = second.split("kubectl get")
        await in_foreground(apply, tmp_path, env)
        wait = "kubectl wait --for=condition=Ready greeting/hello --timeout=30s"
        await in_foreground(wait, tmp_path, env)
        output = await in_foreground(f"kubectl get{show}", tmp_path, env)
    assert "ContentReady" in output
    await in_foreground("kubectl delete greeting hello", tmp_path, env)
