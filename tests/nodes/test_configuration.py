"""What a pod needs of ConfigMaps and Secrets, and how its lack is said."""

from __future__ import annotations

from typing import Any

from konstat.nodes.configuration import CONFIG_MAP, SECRET, Found, check, needs
from konstat.nodes.podspec import PlayedPod


def pod(*, volumes: list[dict[str, Any]] | None = None, **container: Any) -> PlayedPod:
    return PlayedPod.from_content(
        {
            "metadata": {"name": "web", "namespace": "demo", "uid": "u1"},
            "spec": {
                "containers": [{"name": "main", "image": "app", **container}],
                "volumes": volumes or [],
            },
        }
    )


def message(of: PlayedPod, found: Found) -> str:
    configuration = check(of, found)
    return configuration.volume or configuration.containers.get("main", "")


def test_sources_of_variables() -> None:
    found = pod(
        envFrom=[{"configMapRef": {"name": "all"}}, {"secretRef": {"name": "s", "optional": True}}],
        env=[
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "b"}}},
            {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
    )
    assert {need.source for need in needs(found)} == {(CONFIG_MAP, "all"), (SECRET, "keys")}
    there: Found = {(CONFIG_MAP, "all"): frozenset(), (SECRET, "keys"): frozenset({"b"})}
    assert message(found, there) == ""
    assert message(found, {**there, (CONFIG_MAP, "all"): None}) == 'configmap "all" not found'
    assert message(found, {**there, (SECRET, "keys"): frozenset({"x"})}) == (
        "couldn't find key b in Secret demo/keys"
    )


def test_sources_of_volumes() -> None:
    found = pod(
        volumes=[
            {"name": "conf", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
            {"name": "cert", "secret": {"secretName": "s"}},
            {"name": "both", "projected": {"sources": [{"secret": {"name": "t"}}]}},
            {"name": "maybe", "configMap": {"name": "m", "optional": True}},
            {"name": "scratch", "emptyDir": {}},
        ]
    )
    there: Found = {
        (CONFIG_MAP, "c"): frozenset({"k"}),
        (SECRET, "s"): frozenset(),
        (SECRET, "t"): frozenset(),
    }
    assert {need.source for need in needs(found)} == set(there)
    assert message(found, there) == ""
    assert message(found, {**there, (SECRET, "s"): None}) == (
        'MountVolume.SetUp failed for volume "cert" : secret "s" not found'
    )
    assert message(found, {**there, (CONFIG_MAP, "c"): frozenset()}) == (
        'MountVolume.SetUp failed for volume "conf" : '
        "configmap references non-existent config key: k"
    )


def test_the_volume_of_the_service_account_is_not_waited_for() -> None:
    source = {"configMap": {"name": "kube-root-ca.crt"}}
    volume = {"name": "kube-api-access-abcde", "projected": {"sources": [source]}}
    assert needs(pod(volumes=[volume])) == ()


def test_nulls_of_a_real_server_read_as_absent() -> None:
    found = PlayedPod.from_content(
        {
            "metadata": {"name": "web", "namespace": "demo", "uid": "u1"},
            "spec": {"containers": [{"name": "main", "env": None}], "volumes": None},
        }
    )
    assert needs(found) == ()
