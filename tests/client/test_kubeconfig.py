"""A kubeconfig is understood as kubectl understands it, or the message says what to correct."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from konstat.client.cluster import ClusterConfig, ExecConfig, Impersonation
from konstat.client.config import in_cluster_config, load_config, proxy_from_environment
from konstat.errors import ConfigError


@pytest.fixture
def load(tmp_path):
    """Reads a kubeconfig with one context whose cluster, user and context are given."""

    def run(*, cluster=None, user=None, context=None, **root) -> ClusterConfig:
        content = {
            "kind": "Config",
            "current-context": "dev",
            "contexts": [{"name": "dev", "context": context or {"cluster": "here", "user": "me"}}],
            "clusters": [
                {"name": "here", "cluster": {"server": "https://k.example"} | (cluster or {})}
            ],
            "users": [{"name": "me", "user": user or {}}],
        }
        (tmp_path / "config").write_text(yaml.safe_dump(content | root))
        return load_config(kubeconfig=tmp_path / "config", environment={})

    return run


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_cluster_and_a_user(load, tmp_path):
    config = load(
        cluster={
            "server": "https://k.example:6443/path/",
            "certificate-authority-data": b64("CA"),
            "tls-server-name": "inner",
            "proxy-url": "http://proxy:3128",
        },
        user={
            "client-certificate-data": b64("CERT"),
            "client-key": "keys/me.pem",
            "username": "jane",
            "password": "pass",
        },
        context={"cluster": "here", "user": "me", "namespace": "play"},
    )
    assert config == ClusterConfig(
        server="https://k.example:6443/path",
        namespace="play",
        ca_data=b"CA",
        tls_server_name="inner",
        proxy_url="http://proxy:3128",
        client_certificate_data=b"CERT",
        client_key_file=str(tmp_path / "keys" / "me.pem"),
        username="jane",
        password="pass",
        context="dev",
        source=str(tmp_path / "config"),
    )


def test_paths_are_relative_to_their_file_and_absolute_ones_stay(load, tmp_path):
    config = load(cluster={"certificate-authority": "/etc/ca.crt"}, user={"tokenFile": "token"})
    assert (config.ca_file, config.token_file) == ("/etc/ca.crt", str(tmp_path / "token"))


def test_a_plugin(load, tmp_path):
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    config = load(
        cluster={"extensions": [{"name": "other", "extension": 1}, extension]},
        user={
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./bin/login",
                "args": ["--cluster", "c"],
                "env": [{"name": "A", "value": "b"}],
                "interactiveMode": "Never",
                "provideClusterInfo": True,
                "installHint": "get it",
            }
        },
    )
    assert config.exec is not None
    assert config.exec.command == str(tmp_path / "bin" / "login")
    assert config.exec.arguments == ("--cluster", "c")
    assert config.exec.environment == (("A", "b"),)
    assert config.exec.cluster_info
    assert bytes(config.exec.cluster_extension or b"") == b'{"audience":"x"}'


def test_a_plugin_without_a_slash_is_looked_for_on_the_path(load):
    version = "client.authentication.k8s.io/v1beta1"
    config = load(user={"exec": {"apiVersion": version, "command": "aws"}})
    assert config.exec == ExecConfig(command="aws", api_version=version)


def test_impersonation(load):
    config = load(
        user={"as": "jane", "as-groups": ["a"], "as-uid": "7", "as-user-extra": {"k": ["v", "w"]}}
    )
    assert config.impersonation == Impersonation(
        user="jane", groups=("a",), uid="7", extra=(("k", ("v", "w")),)
    )


def test_another_context_may_be_asked_for(tmp_path):
    (tmp_path / "c").write_text(
        """
        current-context: a
        contexts: [{name: b, context: {cluster: x}}]
        clusters: [{name: x, cluster: {server: "https://x"}}]
        """
    )
    assert load_config(kubeconfig=tmp_path / "c", context="b", environment={}).server == "https://x"


SECRET = "c2VjcmV0LXZhbHVl"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"current-context": "prod"}, r"context 'prod' is the current-context.*there are: dev"),
        ({"current-context": ""}, r"current-context is not set: .*one of the contexts: dev"),
        (
            {"context": {"cluster": "there", "user": "me"}},
            r"names cluster 'there'.*there are: here",
        ),
        ({"context": {"cluster": "here", "user": "you"}}, r"names user 'you'.*there are: me"),
        ({"context": {"user": "me"}}, r"contexts\[0\]\.context\.cluster: context 'dev' names no"),
        ({"clusters": {"here": 1}}, r"clusters: expected a list, not a mapping"),
        ({"clusters": ["here"]}, r"clusters\[0\]: expected a mapping, not text"),
        ({"users": [{"user": {}}]}, r"users\[0\]\.name: expected the name"),
        ({"kind": "Pod"}, r"kind: expected Config"),
        ({"cluster": {"server": "k.example"}}, r"clusters\[0\]\.cluster\.server: expected an addr"),
        ({"cluster": {"server": "https://"}}, r"server: expected an address"),
        ({"cluster": {"server": "https://k:99999"}}, r"server: expected an address"),
        ({"cluster": {"server": "https://u:p@k"}}, r"server: .*without user"),
        ({"cluster": {"proxy-url": "ftp://x"}}, r"proxy-url: expected an address.*socks5"),
        ({"cluster": {"certificate-authority-data": "&&"}}, r"authority-data: expected base64"),
        (
            {"cluster": {"insecure-skip-tls-verify": True, "certificate-authority": "x"}},
            r"insecure-skip-tls-verify: a certificate authority is given too",
        ),
        ({"cluster": {"insecure-skip-tls-verify": "yes"}}, r"expected true or false, not text"),
        ({"user": {"token": 5}}, r"users\[0\]\.user\.token: expected text, not a number"),
        ({"user": {"token": "a\nb"}}, r"users\[0\]\.user\.token: expected one line"),
        ({"user": {"client-certificate": "x"}}, r"needs its key.*add client-key"),
        ({"user": {"client-key-data": b64("x")}}, r"add client-certificate"),
        ({"user": {"auth-provider": {"name": "oidc"}}}, r"auth-provider: .*removed .*1\.26"),
        ({"user": {"as-groups": ["a"]}}, r"user\.as: .*need a user"),
        ({"user": {"as": "x", "as-groups": [1]}}, r"as-groups\[0\]: expected text, not a number"),
        ({"user": {"exec": {"command": "x"}}}, r"exec\.apiVersion: expected client\.auth"),
        (
            {"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}},
            r"exec\.apiVersion: expected client\.auth.*update the plugin",
        ),
        (
            {"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}},
            r"exec\.command: expected the program",
        ),
        (
            {
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "x",
                        "interactiveMode": "Sometimes",
                    }
                }
            },
            r"exec\.interactiveMode: expected one of Never",
        ),
    ],
)
def test_a_mistake_is_named_with_file_and_path(load, tmp_path, fields, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load(**fields)
    assert str(tmp_path / "config") in str(caught.value)


def test_secrets_are_not_shown(load):
    with pytest.raises(ConfigError) as caught:
        load(user={"token": [SECRET]})
    assert SECRET not in str(caught.value)
    config = load(user={"token": SECRET, "password": SECRET, "username": "x"})
    assert SECRET not in repr(config)


def test_a_file_that_is_no_yaml(tmp_path):
    (tmp_path / "c").write_text("a: [")
    with pytest.raises(ConfigError, match=r"c is not usable YAML: line"):
        load_config(kubeconfig=tmp_path / "c", environment={})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read the kubeconfig from .*no such file"):
        load_config(kubeconfig=tmp_path / "c", environment={})


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "c").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_config(kubeconfig=tmp_path / "c", environment={})


# --- where a configuration is looked for ----------------------------------------------------------


def write(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
    }
    path.write_text(json.dumps(content))
    return path


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_the_order_of_the_search(tmp_path):
    given = write(tmp_path / "given", "https://given")
    named = write(tmp_path / "named", "https://named")
    write(tmp_path / "home" / ".kube" / "config", "https://home")
    environment = {"KUBECONFIG": str(named), "HOME": str(tmp_path / "home")} | POD
    assert load_config(kubeconfig=given, environment=environment).server == "https://given"
    assert load_config(environment=environment).server == "https://named"
    del environment["KUBECONFIG"]
    assert load_config(environment=environment).server == "https://home"


def test_files_of_KUBECONFIG_that_are_not_there_are_skipped_unless_all_are(tmp_path):
    named = write(tmp_path / "named", "https://named")
    missing = tmp_path / "missing"
    environment = {"KUBECONFIG": f"{missing}:{named}:"}
    assert load_config(environment=environment).server == "https://named"
    with pytest.raises(ConfigError, match=r"KUBECONFIG names .*missing, which does not exist"):
        load_config(environment={"KUBECONFIG": str(missing)} | POD)


def test_nothing_anywhere_says_what_was_looked_at():
    with pytest.raises(ConfigError, match=r"no KUBECONFIG, no ~/\.kube/config, .*not a pod"):
        load_config(environment={})


def test_a_context_without_a_kubeconfig(tmp_path):
    with pytest.raises(ConfigError, match="context 'x' was asked for"):
        load_config(context="x", environment=POD)


def test_a_pod_without_a_token_says_why(tmp_path):
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster_config(POD, folder=tmp_path)


def test_a_pod_with_an_IPv6_server(tmp_path):
    (tmp_path / "token").write_text("x")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = in_cluster_config(environment, folder=tmp_path)
    assert (config.server, config.namespace) == ("https://[fd00::1]:443", "default")


@pytest.mark.parametrize(
    ("server", "environment", "proxy_url"),
    [
        ("https://k.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://k.example", {"https_proxy": "p:1"}, "http://p:1"),
        ("http://k.example", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://k.example", {}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://localhost", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x,10.0.0.0/8"}, ""),
        ("https://11.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1"),
        ("https://a.k.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".k.example"}, ""),
        (
            "https://ak.example",
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "k.example"},
            "http://p:1",
        ),
        ("https://k.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
    ],
)
def test_a_proxy_from_the_environment(server, environment, proxy_url):
    assert proxy_from_environment(server, environment) == proxy_url


# --- fuzz -----------------------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(
        ["here", "https://k", "a\nb", "client.authentication.k8s.io/v1", "aGk=", "\0", "Config"]
    )
)
KEYS = st.sampled_from(
    [
        *("kind", "current-context", "clusters", "contexts", "users", "name", "cluster", "user"),
        *("context", "server", "token", "exec", "apiVersion", "command", "args", "env", "value"),
        *("as", "as-groups", "as-user-extra", "extensions", "extension", "proxy-url", "tokenFile"),
        *("certificate-authority-data", "client-key-data", "namespace", "tls-server-name"),
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def named(key: str):
    entry = st.fixed_dictionaries({"name": st.just("here"), key: st.dictionaries(KEYS, ANYTHING)})
    return st.lists(entry | ANYTHING, max_size=2) | ANYTHING


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"current-context": st.just("here")},
        optional={
            "contexts": st.just([{"name": "here", "context": {"cluster": "here", "user": "here"}}])
            | named("context"),
            "clusters": named("cluster"),
            "users": named("user"),
        },
    )
    | ANYTHING
)
def test_any_content_gives_a_configuration_or_a_ConfigError(tmp_path, content):
    (tmp_path / "c").write_text(yaml.safe_dump(content, allow_unicode=True))
    try:
        config = load_config(kubeconfig=tmp_path / "c", environment={})
    except ConfigError:
        return
    assert config.server.startswith("http")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_any_bytes_give_a_ConfigError(tmp_path, data):
    (tmp_path / "c").write_bytes(data)
    with pytest.raises(ConfigError):
        load_config(kubeconfig=tmp_path / "c", environment={})
