"""Services of processes: their EndpointSlices hold addresses that answer.

No EndpointSlice takes a loopback address, so this needs a machine that answers on another range:
`konstat.nodes.processes.network` says how. Where it does not, the test runs itself in a network
namespace of its own, which needs no right beyond the one to make such a namespace.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from konstat.client.api import Client
from konstat.kinds import Deployment, EndpointSlice, Service
from konstat.nodes.addresses import LOCAL_PODS
from konstat.nodes.processes.network import answers, route_command

pytestmark = pytest.mark.realapi

IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net", "sh", "-c")
PREPARE = f"ip link set lo up && {route_command(LOCAL_PODS)}"
INSIDE = "KONSTAT_TEST_INSIDE_NAMESPACE"


def test_endpoints_of_a_service_answer_in_a_namespace() -> None:
    if answers(LOCAL_PODS):
        return  # the test below runs here
    if INSIDE in os.environ:
        pytest.fail("the route in the namespace does not work")
    if not all(map(shutil.which, ("unshare", "ip"))) or _run("true").returncode != 0:
        pytest.skip(f"as root, run {route_command(LOCAL_PODS)}: no namespace can be made here")
    ran = _run(f'exec "{sys.executable}" -m pytest -q -p no:cacheprovider "{__file__}"')
    assert ran.returncode == 0, ran.stdout


def _run(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*IN_NAMESPACE, f"{PREPARE} && {line}"],
        env={**os.environ, INSIDE: "yes"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


async def test_endpoints_of_a_service_answer(client: Client, play: Any, until: Any) -> None:
    if not answers(LOCAL_PODS):
        return  # the test above runs this one in a namespace
    labels = {"app": "web"}
    container = {
        "name": "main",
        "image": "example.com/web:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    ports = [{"port": 80, "targetPort": "http"}]
    server = (sys.executable, "-m", "http.server", "--bind", "$(podIP)", "$(port:http)")
    async with play(client, web=server):
        await client.create(Deployment.kind, {"metadata": {"name": "web"}, "spec": spec})
        service = {"selector": labels, "ports": ports}
        await client.create(Service.kind, {"metadata": {"name": "web"}, "spec": service})

        async def endpoints() -> list[tuple[str, int]]:
            found = [
                (address, slice["ports"][0]["port"])
                for slice in await client.list(EndpointSlice.kind)
                for endpoint in slice.get("endpoints") or ()
                if endpoint["conditions"]["ready"]
                for address in endpoint["addresses"]
            ]
            return found if len(found) == 2 else []

        for address, port in await until(endpoints, what="two ready endpoints"):
            assert address.startswith("198.19.")
            assert port == 8080
            assert await asyncio.to_thread(_status, address, port) == 200


def _status(address: str, port: int) -> int:
    with urllib.request.urlopen(f"http://{address}:{port}/", timeout=10) as answer:
        return answer.status
