"""The same kubectl commands against both servers; their output, masked, must be the same."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from both_servers import WIDGETS, fresh
from kubectl_pair import Kubectl, Ran, embedded_kubectl, real_kubectl

from konstat.testing import ControlPlane, Options
from konstat.testing.rig_binaries import Binaries

pytestmark = pytest.mark.realapi

MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: m, labels: {app: one}}
data: {a: "1", b: "2"}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app: d}}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - {name: c, image: "nginx:1", ports: [{containerPort: 80}]}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  selector: {app: d}
  ports: [{name: web, port: 80}]
"""
WIDGET = """
apiVersion: conformance.konstat.dev/v1
kind: Widget
metadata: {name: w}
spec: {size: 3, replicas: 1}
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: m, namespace: NAMESPACE}
reason: Because
message: something happened
type: Warning
count: 3
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
source: {component: test}
"""
ALL_DONE = (
    '{"status":{"observedGeneration":GEN,"replicas":2,"updatedReplicas":2,"readyReplicas":2,'
    '"availableReplicas":2,"conditions":[{"type":"Available","status":"True","reason":"R",'
    '"message":"m"}]}}'
)


class Pair(NamedTuple):
    """Both servers."""

    embedded: Kubectl
    real: Kubectl


def _run(work: object) -> None:
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, work).result()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pair(rig_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A real server without controllers beside an embedded one."""
    folder = tmp_path_factory.mktemp("kubectl")
    plane = ControlPlane(Options(controller_manager=False, scheduler=False), binaries=rig_binaries)
    _run(plane.start())
    try:
        with embedded_kubectl(plane.kubectl, folder) as embedded:
            found = Pair(embedded, real_kubectl(plane, folder))
            for kubectl in found:
                assert kubectl.run("apply", "-f", "-", text=yaml.safe_dump(WIDGETS)).code == 0
                name = "crd/widgets.conformance.konstat.dev"
                assert kubectl.run("wait", "--for=condition=Established", name).code == 0
            yield found
    finally:
        _run(plane.stop())


@pytest.fixture
def namespace(pair: Pair) -> str:
    name = fresh("kubectl-")
    for kubectl in pair:
        assert kubectl.run("create", "namespace", name).code == 0
    return name


class Session:
    """Runs commands on both and compares."""

    def __init__(self, pair: Pair, namespace: str) -> None:
        self._pair = pair
        self._namespace = namespace

    def __call__(
        self, line: str, *, text: str = "", environment: dict[str, str] | None = None
    ) -> Ran:
        ran = [
            kubectl.run(
                *line.split(" "),
                text=text.replace("NAMESPACE", self._namespace),
                namespace=self._namespace,
                environment=environment,
            )
            for kubectl in self._pair
        ]
        embedded, real = ran
        assert embedded == real, f"kubectl {line}\n{_difference(embedded, real)}"
        return real

    def both(self, line: str) -> tuple[Ran, Ran]:
        """Run on both without comparing: embedded, real."""
        first, second = (
            kubectl.run(*line.split(" "), namespace=self._namespace) for kubectl in self._pair
        )
        return first, second


def _difference(embedded: Ran, real: Ran) -> str:
    """The lines that differ: ``-`` the real server's, ``+`` the embedded one's."""
    sides = [f"{r.code}\n{r.output}\n{r.errors}".splitlines() for r in (real, embedded)]
    return "\n".join(difflib.unified_diff(*sides, n=1, lineterm=""))


@pytest.fixture
def kubectl(pair: Pair, namespace: str) -> Session:
    return Session(pair, namespace)


def test_client_side_apply(kubectl: Session) -> None:
    assert kubectl("apply -f -", text=MAP).output == "configmap/m created"
    assert kubectl("apply -f -", text=MAP).output == "configmap/m unchanged"
    changed = MAP.replace('b: "2"', 'c: "3"')
    assert kubectl("apply -f -", text=changed).output == "configmap/m configured"
    kubectl("get configmap m -o yaml --show-managed-fields")
    for manifest in (DEPLOYMENT, SERVICE, WIDGET):
        kubectl("apply -f -", text=manifest)
    kubectl("apply -f -", text=DEPLOYMENT.replace("nginx:1", "nginx:2"))
    kubectl("get deployment d -o json")
    kubectl("apply -f -", text=WIDGET.replace("size: 3", "size: 4"))
    kubectl("get widget w -o yaml")
    kubectl("apply -f - --dry-run=server", text=MAP)


def test_server_side_apply(kubectl: Session) -> None:
    for manifest in (MAP, DEPLOYMENT, WIDGET):
        kubectl("apply --server-side -f -", text=manifest)
        kubectl("apply --server-side -f -", text=manifest)
    other = MAP.replace('"1"', '"9"')
    ran = kubectl("apply --server-side --field-manager=other -f -", text=other)
    assert ran.code == 1
    assert "conflict" in ran.errors
    kubectl("apply --server-side --field-manager=other --force-conflicts -f -", text=other)
    kubectl("get configmap m -o yaml --show-managed-fields")
    kubectl("apply -f -", text=SERVICE)
    kubectl("apply --server-side -f -", text=SERVICE)


def test_get(kubectl: Session) -> None:
    for manifest in (MAP, MAP.replace("name: m", "name: n").replace("one", "two")):
        kubectl("create -f -", text=manifest)
    for manifest in (DEPLOYMENT, SERVICE, WIDGET):
        kubectl("create -f -", text=manifest)
    kubectl("get configmaps")
    kubectl("get configmaps -o wide --show-labels")
    kubectl("get configmaps -l app=one")
    kubectl("get configmaps -l app!=one,app")
    kubectl("get configmaps --field-selector metadata.name=n")
    kubectl("get configmaps -o name")
    kubectl("get deployments,services,widgets")
    kubectl("get deploy -o wide")
    kubectl("get wd")
    kubectl("get widgets w -o jsonpath={.spec.size}")
    kubectl("get configmaps --chunk-size=1")
    kubectl("get configmap absent")
    kubectl("get nothings")
    kubectl("get configmaps -l a=b=c")
    kubectl("get configmaps --field-selector data.a=1")
    assert kubectl("get widgets -A --no-headers").code == 0


def test_get_and_watch(kubectl: Session) -> None:
    kubectl("create -f -", text=MAP)
    kubectl("get configmaps m -w --request-timeout=2s")
    kubectl("get configmaps m --watch-only --request-timeout=2s")


def test_describe_and_events(kubectl: Session) -> None:
    kubectl("create -f -", text=MAP)
    kubectl("create -f -", text=EVENT)
    kubectl("describe configmap m")
    kubectl("events")
    kubectl("get events")
    for manifest in (DEPLOYMENT, SERVICE, WIDGET):
        kubectl("create -f -", text=manifest)
    kubectl("describe deployment d")
    kubectl("describe service s")
    kubectl("describe widget w")


def test_edit(kubectl: Session, tmp_path: Path) -> None:
    kubectl("create -f -", text=MAP)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/a: "1"/a: "edited"/\' "$1"\n')
    editor.chmod(0o755)
    kubectl("edit configmap m", environment={"EDITOR": str(editor)})
    assert kubectl("get configmap m -o jsonpath={.data.a}").output == "edited"


def test_patches(kubectl: Session) -> None:
    for manifest in (MAP, DEPLOYMENT, WIDGET):
        kubectl("create -f -", text=manifest)
    kubectl('patch configmap m --type=merge -p {"data":{"a":"5"}}')
    kubectl('patch configmap m --type=json -p [{"op":"remove","path":"/data/b"}]')
    kubectl('patch configmap m --type=json -p [{"op":"remove","path":"/data/absent"}]')
    kubectl(
        "patch deployment d -p"
        ' {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other:1"}]}}}}'
    )
    kubectl("get deployment d -o jsonpath={.spec.template.spec.containers}")
    kubectl('patch widget w --type=merge -p {"spec":{"size":7}}')
    kubectl('patch widget w --type=merge -p {"spec":{"size":700}}')
    kubectl('patch widget w -p {"spec":{"size":7}}')
    kubectl('patch widget w --type=merge --subresource=status -p {"status":{"phase":"x"}}')
    kubectl("get widget w -o yaml --show-managed-fields")


def test_scale_label_annotate_set(kubectl: Session) -> None:
    for manifest in (MAP, DEPLOYMENT, WIDGET):
        kubectl("create -f -", text=manifest)
    kubectl("scale deployment d --replicas=5")
    kubectl("scale deployment d --current-replicas=1 --replicas=2")
    kubectl("scale widget w --replicas=4")
    kubectl("get deployment/d widget/w -o jsonpath={.items[*].spec.replicas}")
    kubectl("label configmap m x=y app-")
    kubectl("label configmap m x=z")
    kubectl("label configmap m x=z --overwrite")
    kubectl("label configmap m bad=-value-")
    kubectl("annotate configmap m note=hello")
    kubectl("get configmap m -o yaml")
    kubectl("set image deployment/d c=nginx:9")
    kubectl("set env deployment/d A=B")
    kubectl("rollout pause deployment/d")
    kubectl("rollout resume deployment/d")
    kubectl("get deployment d -o jsonpath={.metadata.generation}")


def test_wait_and_rollout(kubectl: Session) -> None:
    for manifest in (DEPLOYMENT, WIDGET):
        kubectl("create -f -", text=manifest)
    kubectl("rollout status deployment/d --timeout=1s")
    status = ALL_DONE.replace("GEN", "1")
    kubectl(f"patch deployment d --subresource=status --type=merge -p {status}")
    kubectl("rollout status deployment/d --timeout=10s")
    kubectl("wait --for=condition=Available deployment/d --timeout=10s")
    kubectl("wait --for=condition=Absent deployment/d --timeout=1s")
    kubectl("wait --for=jsonpath={.spec.size}=3 widget/w --timeout=10s")
    kubectl("delete widget w --wait=false")
    kubectl("wait --for=delete widget/w --timeout=10s")


def test_delete(kubectl: Session) -> None:
    kubectl("create -f -", text=MAP)
    kubectl("delete configmap m")
    kubectl("delete configmap m")
    kubectl("delete configmap m --ignore-not-found")
    for cascade in ("background", "foreground", "orphan"):
        kubectl("create -f -", text=DEPLOYMENT)
        kubectl(f"delete deployment d --cascade={cascade} --wait=false")
        kubectl("get deployment d --ignore-not-found -o jsonpath={.metadata.finalizers}")
        kubectl('patch deployment d --type=merge -p {"metadata":{"finalizers":null}}')
    for name in ("x", "y"):
        kubectl("create -f -", text=MAP.replace("name: m", f"name: {name}"))
    kubectl("delete configmap -l app=one")
    kubectl("create -f -", text=WIDGET)
    kubectl("delete widgets --all")


def test_create(kubectl: Session) -> None:
    kubectl("create configmap c --from-literal=a=b")
    kubectl("create configmap c --from-literal=a=b")
    kubectl("create secret generic s --from-literal=a=b")
    kubectl("get secret s -o yaml")
    kubectl("create deployment e --image=nginx:1 --port=80 --replicas=2")
    kubectl("get deployment e -o yaml")
    kubectl("create service clusterip f --tcp=80:8080")
    kubectl("create role r --verb=get --resource=pods")
    kubectl("create job j --image=busybox:1 -- date")
    kubectl("create cronjob k --image=busybox:1 --schedule=@daily")
    kubectl("create -f -", text=MAP.replace("data:", "dada:"))
    kubectl("create -f -", text=MAP.replace('"1"', "1"))
    kubectl("create -f -", text=WIDGET.replace("size: 3", "size: three"))
    kubectl("create -f -", text=WIDGET.replace("size: 3", "unknown: 3"))
    kubectl("create -f - --validate=warn", text=WIDGET.replace("size: 3", "unknown: 3"))
    kubectl("create -f -", text=DEPLOYMENT.replace("matchLabels: {app: d}", "matchLabels: {a: b}"))
    kubectl("create -f -", text=MAP.replace("kind: ConfigMap", "kind: ConfigMop"))


def test_diff(kubectl: Session) -> None:
    kubectl("apply -f -", text=MAP)
    assert kubectl("diff -f -", text=MAP).code == 0
    ran = kubectl("diff -f -", text=MAP.replace('"2"', '"5"'))
    assert (ran.code, '+  b: "5"' in ran.output) == (1, True)
    kubectl("diff --server-side -f -", text=WIDGET)


def test_replace(kubectl: Session) -> None:
    kubectl("create -f -", text=MAP)
    kubectl("replace -f -", text=MAP.replace('"1"', '"8"'))
    kubectl("replace -f -", text=MAP.replace("name: m", "name: absent"))
    kubectl("replace --force -f -", text=MAP)
    kubectl("create -f -", text=WIDGET)
    kubectl("replace -f -", text=WIDGET.replace("size: 3", "size: 9"))


def test_auth(kubectl: Session) -> None:
    assert kubectl("auth can-i get pods").output == "yes"
    assert kubectl("auth can-i delete widgets").output == "yes"


@pytest.mark.parametrize(
    "path", ["configmap", "deployment.spec", "pod.spec.containers", "widget.spec", "service"]
)
def test_explain(kubectl: Session, path: str) -> None:
    embedded, real = kubectl.both(f"explain {path}")
    assert (embedded.code, embedded.errors) == (real.code, real.errors) == (0, "")
    assert _fields(embedded.output) == _fields(real.output) != []


def _fields(text: str) -> list[str]:
    """Names and types of the fields, without descriptions."""
    return re.findall(r"^\s{0,3}(\w+\s+<[^>]+(?:>+)?(?: -required-)?)", text, re.MULTILINE)


def test_api_resources(kubectl: Session) -> None:
    embedded, real = kubectl.both("api-resources --no-headers")
    served = {re.sub(r"\s+", " ", line) for line in embedded.output.splitlines()}
    known = {re.sub(r"\s+", " ", line) for line in real.output.splitlines()}
    assert served - known == set()
    assert len(served) > 40
