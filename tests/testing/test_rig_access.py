from __future__ import annotations

import base64
import csv
import stat
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from konstat.base import chance
from konstat.client.config import load_config
from konstat.errors import UserError
from konstat.testing.rig_access import (
    Identity,
    Rule,
    User,
    check_names,
    kubeconfig,
    rbac_objects,
    signing_key,
    token_file,
    write_secret,
)

READ_PODS = Rule(verbs=("get", "list"), resources=("pods",))


@given(st.integers(min_value=0))
@settings(max_examples=30, deadline=None)
def test_the_signing_key_is_a_key_on_p256(seed: int) -> None:
    with chance.use_seed(seed):
        key = load_pem_private_key(signing_key(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"
    signed = key.sign(b"text", ec.ECDSA(ec.hashes.SHA256()))
    key.public_key().verify(signed, b"text", ec.ECDSA(ec.hashes.SHA256()))


def test_each_signing_key_is_another() -> None:
    assert signing_key() != signing_key()


def test_token_file_has_a_row_for_each_identity() -> None:
    alice = Identity(name="alice", groups=("team-a", "team-b"), token="t1")
    odd = Identity(name='o"dd, name', token="t2")
    assert list(csv.reader(token_file([alice, odd]).splitlines())) == [
        ["t1", "alice", "uid-alice", "team-a,team-b"],
        ["t2", 'o"dd, name', 'uid-o"dd, name', ""],
    ]


def test_identities_differ_and_hide_their_token() -> None:
    first, second = Identity(name="a"), Identity(name="a")
    assert first.token != second.token
    assert first.token not in repr(first)


def test_kubeconfig_carries_the_authority_and_is_read_by_our_client(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(
        kubeconfig(server="https://127.0.0.1:1", authority=b"pem", token="t", user="alice")
    )
    config = load_config(kubeconfig=path, environment={})
    assert (config.server, config.ca_data, config.token) == ("https://127.0.0.1:1", b"pem", "t")
    assert config.insecure_skip_tls_verify is False
    content = msgspec.json.decode(path.read_bytes())
    data = content["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(data) == b"pem"


def test_kubeconfig_that_acts_as_another(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    bob = User(name="bob", groups=("team",))
    path.write_bytes(
        kubeconfig(server="https://x:1", authority=b"pem", token="t", user="bob", act_as=bob)
    )
    acts_as = load_config(kubeconfig=path, environment={}).impersonation
    assert acts_as is not None
    assert (acts_as.user, acts_as.groups) == ("bob", ("team",))


def test_a_user_without_namespaces_gets_a_cluster_role() -> None:
    role, binding = rbac_objects(User(name="alice", rules=(READ_PODS,)))
    assert role["kind"] == "ClusterRole"
    assert role["rules"] == [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]
    assert binding["kind"] == "ClusterRoleBinding"
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == "alice"


def test_a_user_with_namespaces_gets_a_role_in_each() -> None:
    objects = list(rbac_objects(User(name="alice", rules=(READ_PODS,), namespaces=("a", "b"))))
    assert [(one["kind"], one["metadata"]["namespace"]) for one in objects] == [
        ("Role", "a"),
        ("RoleBinding", "a"),
        ("Role", "b"),
        ("RoleBinding", "b"),
    ]


def test_a_user_without_rules_gets_nothing() -> None:
    assert list(rbac_objects(User(name="alice"))) == []


def test_rules_on_names_and_on_urls() -> None:
    named = Rule(verbs=("get",), resources=("secrets",), names=("one",))
    metrics = Rule(verbs=("get",), urls=("/metrics",))
    role, _ = rbac_objects(User(name="alice", rules=(named, metrics)))
    assert role["rules"][0]["resourceNames"] == ["one"]
    assert role["rules"][1] == {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "system:masters", "admin"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="of the control plane"):
        check_names([User(name=name)])


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(UserError, match="there twice"):
        check_names([User(name="alice"), User(name="alice")])


def test_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_secret(path, b"one")
    write_secret(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
