"""Commands, variables and files of a container, from what the pod and its sources say."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pod_stepper import container, content

from konstat.nodes.configuration import CONFIG_MAP, SECRET, Contents, sources
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes import ProcessCommand
from konstat.nodes.processes.fields import PodFacts, field_value
from konstat.nodes.processes.plan import Places, Plan, mount_variable, plan, volume_files
from konstat.nodes.processes.problems import PlanProblem
from konstat.nodes.processes.volumes import write_volume

FACTS = PodFacts(address="127.244.0.9", host_address="198.18.0.1")
PLACES = Places(
    volumes=Path("/pod/volumes"),
    work=Path("/pod/work"),
    temporary=Path("/pod/tmp"),
    termination_log=Path("/pod/run/termination-log"),
    hosts=Path("/hosts/demo"),
)
CONTENTS: Contents = {
    (CONFIG_MAP, "settings"): {"COLOR": b"red", "raw": b"\xff", "bad=name": b"x"},
    (SECRET, "keys"): {"TOKEN": b"s3cret"},
    (CONFIG_MAP, "missing"): None,
}


def played(*containers: dict[str, Any], **spec: Any) -> PlayedPod:
    return PlayedPod.from_content(content(*containers, **spec))


def planned(pod: PlayedPod, *command: str, env: dict[str, str] | None = None) -> Plan:
    return plan(
        pod,
        pod.spec.containers[0],
        ProcessCommand(image="app", command=command or ("run",), env=env or {}),
        CONTENTS,
        facts=FACTS,
        places=PLACES,
        base={"PATH": "/bin", "LANG": "C"},
    )


def variable(name: str, **source: Any) -> dict[str, Any]:
    return {"name": name, "valueFrom": source}


def key(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "key": key, **more}


def test_names_of_the_pod_are_replaced_in_the_command() -> None:
    pod = played(
        container(ports=[{"name": "http", "containerPort": 80}], env=[{"name": "A", "value": "1"}]),
        volumes=[{"name": "data", "emptyDir": {}}],
    )
    found = planned(pod, "run", "$(podIP):$(port:http)", "$(mount:data)/x", "$(A)", "$(NONE)")
    assert found.command == (
        "run",
        "127.244.0.9:80",
        "/pod/volumes/data/x",
        "1",
        "$(NONE)",
    )
    assert found.env[mount_variable("data")] == "/pod/volumes/data"
    assert found.env["KONSTAT_POD_IP"] == "127.244.0.9"


def test_arguments_of_the_container_go_where_the_mapping_says() -> None:
    pod = played(
        container(command=["own"], args=["--a", "$(A)"], env=[{"name": "A", "value": "1"}])
    )
    assert planned(pod, "run", "x").command == ("run", "x")
    assert planned(pod, "run", "$(args)", "x").command == ("run", "--a", "1", "x")
    assert planned(pod, "$(command)", "$(args)").command == ("own", "--a", "1")
    with pytest.raises(PlanProblem, match="command of container main is empty"):
        planned(played(container()), "$(command)")


def test_variables_come_from_values_fields_and_sources() -> None:
    pod = played(
        container(
            envFrom=[{"prefix": "S_", "secretRef": {"name": "keys"}}],
            env=[
                {"name": "A", "value": "1"},
                {"name": "B", "value": "$(A)2$(LATER)"},
                {"name": "LATER", "value": "x"},
                variable("NAME", fieldRef={"fieldPath": "metadata.name"}),
                variable("IP", fieldRef={"fieldPath": "status.podIP"}),
                variable("COLOR", configMapKeyRef=key("settings", "COLOR")),
                variable("TOKEN", secretKeyRef=key("keys", "TOKEN")),
                variable("GONE", configMapKeyRef=key("missing", "x", optional=True)),
                variable("LACKS", secretKeyRef=key("keys", "x", optional=True)),
            ],
        )
    )
    env = planned(pod, env={"A": "mapped", "JAVA": "$(podIP)"}).env
    assert (env["A"], env["B"], env["LATER"]) == ("1", "12$(LATER)", "x")
    assert (env["NAME"], env["IP"], env["JAVA"]) == ("web", "127.244.0.9", "127.244.0.9")
    assert (env["COLOR"], env["TOKEN"], env["S_TOKEN"]) == ("red", "s3cret", "s3cret")
    assert not {"GONE", "LACKS"} & env.keys()
    assert (env["PATH"], env["HOME"], env["HOSTNAME"]) == ("/bin", "/pod/work", "web")


def test_nothing_of_the_actor_s_own_environment_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    assert "AWS_SECRET_ACCESS_KEY" not in planned(played()).env


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"env": [variable("A", configMapKeyRef=key("missing", "x"))]}, "find key x in ConfigMap"),
        ({"env": [variable("A", secretKeyRef=key("keys", "x"))]}, "find key x in Secret demo/keys"),
        ({"env": [variable("A", resourceFieldRef={"resource": "limits.cpu"})]}, "variable A takes"),
        ({"env": [variable("A", fieldRef={"fieldPath": "spec.x"})]}, "fieldRef 'spec.x'"),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        ({"envFrom": [{"configMapRef": {"name": "settings"}}]}, "variable 'bad=name' holds"),
        ({"env": [{"name": "A", "value": "s3cret\0"}]}, "variable 'A' holds a null byte"),
    ],
)
def test_what_cannot_be_given_is_said(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanProblem, match=problem) as failure:
        planned(played(container(**options)))
    assert "s3cret" not in str(failure.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.namespace", "demo"),
        ("metadata.uid", "u1"),
        ("spec.nodeName", "n"),
        ("status.hostIP", "198.18.0.1"),
        ("metadata.annotations['a/b']", 'x"y'),
        ("metadata.labels['none']", ""),
        ("metadata.annotations", 'a/b="x\\"y"'),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    pod = played(annotations={"a/b": 'x"y'})
    assert field_value(pod, path, FACTS) == expected


@given(st.text())
def test_any_path_is_a_field_or_a_problem(path: str) -> None:
    try:
        field_value(played(), path, FACTS)
    except PlanProblem:
        return


# --- volumes --------------------------------------------------------------------------------


def files(volume: dict[str, Any]) -> dict[str, tuple[bytes, int]]:
    pod = played(volumes=[{"name": "v", **volume}])
    [(_, found)] = volume_files(pod, CONTENTS, FACTS)
    return {str(file.path): (file.data, file.mode) for file in found}


def test_each_kind_of_volume_has_its_files() -> None:
    settings = {"name": "settings", "items": [{"key": "COLOR", "path": "a/b", "mode": 0o600}]}
    assert files({"configMap": settings}) == {"a/b": (b"red", 0o600)}
    secret = {"secretName": "keys", "defaultMode": 0o440}
    assert files({"secret": secret}) == {"TOKEN": (b"s3cret", 0o440)}
    downward = {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}
    assert files({"downwardAPI": downward}) == {"name": (b"web", 0o644)}
    both = [{"secret": {"name": "keys"}}, {"downwardAPI": downward}]
    assert files({"projected": {"sources": both}}).keys() == {"TOKEN", "name"}
    assert files({"emptyDir": {}}) == {}
    assert files({"configMap": {"name": "missing", "optional": True}}) == {}


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        ({"hostPath": {"path": "/"}}, 'volume "v" : its kind is not played'),
        ({"persistentVolumeClaim": {"claimName": "c"}}, "its kind is not played"),
        ({"projected": {"sources": [{"serviceAccountToken": {}}]}}, "projected source is not"),
        ({"configMap": {"name": "missing"}}, 'configmap "missing" not found'),
        ({"secret": {"secretName": "keys", "items": [{"key": "x", "path": "x"}]}}, "no key x"),
        (
            {"secret": {"secretName": "keys", "items": [{"key": "TOKEN", "path": "../x"}]}},
            "outside of its volume",
        ),
        ({"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {}}]}}, "takes no fieldRef"),
    ],
)
def test_volumes_that_cannot_be_made_are_named(volume: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanProblem, match=problem):
        files(volume)


def test_the_token_of_the_service_account_is_left_out() -> None:
    token = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {}}]}}
    assert list(volume_files(played(volumes=[token]), CONTENTS, FACTS)) == []


def test_optional_sources_are_looked_up_too() -> None:
    pod = played(volumes=[{"name": "v", "configMap": {"name": "settings", "optional": True}}])
    assert sources(pod) == ((CONFIG_MAP, "settings"),)


def test_a_volume_is_replaced_as_a_whole(tmp_path: Path) -> None:
    pod = played(volumes=[{"name": "v", "configMap": {"name": "settings"}}])
    [(_, found)] = volume_files(pod, CONTENTS, FACTS)
    write_volume(tmp_path, "v", found, keep=False)
    assert (tmp_path / "v" / "COLOR").read_bytes() == b"red"
    write_volume(tmp_path, "v", found[:1], keep=False)
    assert [path.name for path in (tmp_path / "v").iterdir()] == [str(found[0].path)]
    assert len([path for path in tmp_path.iterdir() if path.name != "v"]) == 1
    assert found[0].path == PurePosixPath("COLOR")


def test_an_empty_dir_keeps_what_is_in_it(tmp_path: Path) -> None:
    write_volume(tmp_path, "v", (), keep=True)
    (tmp_path / "v" / "x").touch()
    write_volume(tmp_path, "v", (), keep=True)
    assert (tmp_path / "v" / "x").exists()
