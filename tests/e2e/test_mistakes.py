"""An operator process among mistakes: a missing CRD, hostile texts, a blocked event loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from story import Operator, eventually, keeps_contract, message, said

from konstat.client import Client
from konstat.controller.run import install_manifest
from konstat.errors import NotFound
from konstat.kinds import CustomResourceDefinition
from konstat.objects.crd import crd
from konstat.objects.kind import Kind
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component

if TYPE_CHECKING:
    from story import Plane

OPERATOR = Path(__file__).parent / "operators/mistaken.py"
JAR = Kind(group="mistakes.example.com", version="v1", kind="Jar", plural="jars")
HOSTILE = "\x1b[2J\x1b[31mgone\r\n2026-01-01 00:00:00 INFO konstat.manager: all is well\x07\0"


class JarSpec(Spec):
    text: str = ""


class JarStatus(Status):
    lid: Component


class Jar(Resource[JarSpec, JarStatus], group=JAR.group, version=JAR.version):
    """As the operator declares it."""


async def look(client: Client, namespace: str) -> dict[str, Any]:
    try:
        content = await client.get(JAR, "j", namespace=namespace)
    except NotFound:
        return {}
    assert keeps_contract(content)
    return content


async def test_an_operator_lives_through_mistakes(plane: Plane, place: str, tmp_path: Path) -> None:
    running = Operator(plane.kubeconfig, tmp_path / "operator.log", "-n", place, target=OPERATOR)

    async def log() -> str:
        return running.text()

    await running.start()
    async with plane.client() as client:
        try:
            text = f"jars.mistakes.example.com in {place} cannot be read: the cluster does not"
            await eventually(log, lambda t: text in t)
            await install_manifest(client, crd(Jar))
            await client.create(Jar.named("j", namespace=place, text=HOSTILE))
            seen = await eventually(lambda: look(client, place), lambda c: bool(said(c)))
            assert said(seen)["Ready"][:2] == ("Unknown", "ValueError")
            assert message(seen, "Ready").isprintable()
            patch = {"spec": {"text": "block"}}
            await client.patch(JAR, "j", patch, type="merge", namespace=place)
            await eventually(lambda: look(client, place), lambda c: said(c)["Ready"][0] == "True")
            await eventually(log, lambda t: "the event loop turns again after" in t)
            assert await running.stop() == 0
            shown = running.text()
            assert f"the attempt Jar {place}/j blocks it at {OPERATOR}:" in shown
            assert all(c.isprintable() or c in "\n\t" for c in shown)
            assert "\n2026-01-01" not in shown
        finally:
            await running.aclose()
            await client.delete(CustomResourceDefinition, JAR.resource)
