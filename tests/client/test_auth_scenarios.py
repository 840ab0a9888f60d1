"""The thirteen ways to log in that a client must know, each against a server that refuses others.

Every test looks at what the server let in, so a credential that is not renewed shows as a 401.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from contextlib import asynccontextmanager

import msgspec
import pytest

from konstat.base.clock import timestamp, use_clock
from konstat.client.api import Client
from konstat.client.cluster import ClusterConfig, Impersonation
from konstat.client.config import in_cluster_config, load_config
from konstat.errors import ConfigError, TransportError, Unauthorized
from konstat.objects.kind import Kind

THINGS = Kind(group="", version="v1", kind="Thing", plural="things")


async def ask(client: Client) -> None:
    await client.exchange("GET", "/api/v1/things")


@asynccontextmanager
async def simulated(clock, config):
    with use_clock(clock):
        async with Client.connect(config) as client:
            yield client


async def test_scenario_1_exec_v1_runs_again_when_its_credential_expires(
    server, config, plugin, simulated_clock
):
    late = timestamp(simulated_clock.moment.replace(hour=1))
    plugin.will_give({"token": "one", "expirationTimestamp": late}, {"token": "two"})
    server.tokens = {"one", "two"}
    async with simulated(simulated_clock, config(exec=plugin.config())) as client:
        await ask(client)
        await ask(client)
        simulated_clock.advance(3600)
        await ask(client)
    assert server.users == ["one", "one", "two"]
    assert server.refused == 0
    assert len(plugin.runs) == 2


async def test_scenario_2_exec_v1_without_expiry_is_run_again_after_a_401(server, config, plugin):
    plugin.will_give({"token": "one"}, {"token": "two"})
    server.tokens = {"one"}
    async with Client.connect(config(exec=plugin.config())) as client:
        await ask(client)
        server.tokens = {"two"}
        await ask(client)
        async with client.watch(THINGS, resource_version="1") as events:
            assert [event async for event in events] == []
    assert server.users == ["one", "two", "two"]
    assert server.refused == 1


async def test_scenario_3_exec_v1beta1(server, config, plugin):
    plugin.will_give({"token": "one"}, version="v1beta1")
    server.tokens = {"one"}
    async with Client.connect(config(exec=plugin.config("v1beta1"))) as client:
        await ask(client)
    assert server.users == ["one"]
    assert plugin.runs[0]["info"]["apiVersion"] == "client.authentication.k8s.io/v1beta1"


@pytest.mark.parametrize("fraction", ["1", "123456", "123456789"])
async def test_scenario_4_expiry_with_fractions_of_a_second(
    server, config, plugin, simulated_clock, fraction
):
    plugin.will_give(
        {"token": "one", "expirationTimestamp": f"2026-01-01T00:10:00.{fraction}Z"},
        {"token": "two"},
    )
    server.tokens = {"one", "two"}
    async with simulated(simulated_clock, config(exec=plugin.config())) as client:
        await ask(client)
        simulated_clock.advance(601)
        await ask(client)
    assert server.users == ["one", "two"]


async def test_scenario_5_exec_gives_a_client_certificate(server, config, plugin, certificates):
    pairs = [certificates.client(name) for name in ("amina", "bela")]
    plugin.will_give(
        *({"clientCertificateData": c.decode(), "clientKeyData": k.decode()} for c, k in pairs)
    )
    server.certificate_users = {"amina"}
    async with Client.connect(config(exec=plugin.config())) as client:
        await ask(client)
        server.certificate_users = {"bela"}
        await ask(client)
    assert server.users == ["amina", "bela"]


async def test_scenario_6_provide_cluster_info(server, config, plugin, certificates):
    plugin.will_give({"token": "one"})
    server.tokens = {"one"}
    wanted = plugin.config(cluster_info=True, environment=(("FLAVOUR", "sweet"),))
    async with Client.connect(config(exec=wanted)) as client:
        await ask(client)
    run = plugin.runs[0]
    cluster = run["info"]["spec"]["cluster"]
    assert cluster["server"] == server.address
    assert base64.b64decode(cluster["certificate-authority-data"]) == certificates.ca_pem
    assert run["FLAVOUR"] == "sweet"
    assert run["info"]["spec"]["interactive"] is False


async def test_scenario_6_no_cluster_info_unless_it_is_asked_for(server, config, plugin):
    plugin.will_give({"token": "one"})
    server.tokens = {"one"}
    async with Client.connect(config(exec=plugin.config())) as client:
        await ask(client)
    assert "cluster" not in plugin.runs[0]["info"]["spec"]


async def test_scenario_7_client_certificate_in_place(server, config, certificates, tmp_path):
    certificate, key = certificates.client("amina")
    server.certificate_users = {"amina"}
    before = set(os.listdir(os.environ.get("TMPDIR", "/tmp")))
    async with Client.connect(
        config(client_certificate_data=certificate, client_key_data=key)
    ) as client:
        await ask(client)
    assert server.users == ["amina"]
    left = set(os.listdir(os.environ.get("TMPDIR", "/tmp"))) - before
    assert not [name for name in left if name.startswith("konstat-") and name.endswith(".pem")]


async def test_scenario_7_client_certificate_files_are_read_again_when_replaced_F64(
    server, config, certificates, tmp_path, simulated_clock
):
    files = tmp_path / "tls.crt", tmp_path / "tls.key"
    for file, data in zip(files, certificates.client("amina"), strict=True):
        file.write_bytes(data)
    server.certificate_users = {"amina", "bela"}
    paths = {"client_certificate_file": str(files[0]), "client_key_file": str(files[1])}
    async with simulated(simulated_clock, config(**paths)) as client:
        await ask(client)
        certificate, key = certificates.client("bela")
        files[0].write_bytes(certificate)
        simulated_clock.advance(31)
        await ask(client)  # half of the pair: the old one serves
        files[1].write_bytes(key)
        simulated_clock.advance(31)
        await ask(client)
    assert server.users == ["amina", "amina", "bela"]


async def test_scenario_8_impersonation(server, config):
    server.tokens = {"one"}
    who = Impersonation(
        user="jane",
        groups=("devs", "ops"),
        uid="17",
        extra=(("example.com/Scope of", ("a", "b")),),
    )
    async with Client.connect(config(token="one", impersonation=who)) as client:
        await ask(client)
    seen = server.seen[0]
    assert seen.header("Impersonate-User") == "jane"
    assert [v for k, v in seen.headers if k == "Impersonate-Group"] == ["devs", "ops"]
    assert seen.header("Impersonate-Uid") == "17"
    assert seen.header("Impersonate-Extra-example.com%2FScope%20of") == "a, b"


async def test_scenario_9_proxy_url(server, config, proxy):
    server.tokens = {"one"}
    address = proxy.address.replace("://", "://me:pass@")
    async with Client.connect(config(token="one", proxy_url=address)) as client:
        await ask(client)
    assert proxy.connects == [server.address.removeprefix("https://")]
    assert proxy.authorizations == ["Basic " + base64.b64encode(b"me:pass").decode()]
    assert server.users == ["one"]


async def test_scenario_9_proxy_that_refuses_is_named_without_its_password(config, proxy):
    proxy.refuse_with = "407 Proxy Authentication Required"
    address = proxy.address.replace("://", "://me:pass@")
    async with Client.connect(config(token="one", proxy_url=address)) as client:
        with pytest.raises(TransportError, match="407") as caught:
            await client.exchange("POST", "/api", retry=False)
    assert not caught.value.sent
    assert proxy.address in str(caught.value)
    assert "pass" not in str(caught.value)


async def test_scenario_9_socks_without_its_package_says_what_to_install(config, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "aiohttp_socks", None)
    with pytest.raises(ConfigError, match=r"install konstat\[socks\]"):
        async with Client.connect(config(token="one", proxy_url="socks5://127.0.0.1:1")):
            pass


async def test_scenario_9_socks_proxy_resolves_the_name(server, certificates, socks_proxy):
    pytest.importorskip("aiohttp_socks", reason="install konstat[socks] to run this test")
    server.tokens = {"one"}
    port = server.address.rpartition(":")[2]
    config = ClusterConfig(
        server=f"https://inside.example:{port}",
        ca_data=certificates.ca_pem,
        token="one",
        tls_server_name="kube.example",
        proxy_url=socks_proxy.address.replace("socks5:", "socks5h:"),
    )
    async with Client.connect(config) as client:
        await ask(client)
    assert socks_proxy.targets == [f"inside.example:{port}"]
    assert [(seen.user, seen.sni) for seen in server.seen] == [("one", "kube.example")]
    nobody = msgspec.structs.replace(config, proxy_url="socks5://127.0.0.1:1")
    async with Client.connect(nobody) as client:
        with pytest.raises(TransportError, match=r"the proxy socks5://127\.0\.0\.1:1 gives no"):
            await client.exchange("POST", "/api", retry=False)


async def test_scenario_10_tls_server_name(server, config):
    server.tokens = {"one"}
    async with Client.connect(config(token="one", tls_server_name="kube.example")) as client:
        await ask(client)
    assert [seen.sni for seen in server.seen] == ["kube.example"]


async def test_scenario_10_a_server_that_is_not_the_named_one_is_refused(server, config):
    async with Client.connect(config(token="one", tls_server_name="other.example")) as client:
        with pytest.raises(TransportError, match=r"other\.example.*tls-server-name") as caught:
            await client.exchange("POST", "/api")
    assert not caught.value.sent
    assert server.seen == []


async def test_scenario_11_token_file_is_read_again_after_a_401(server, config, tmp_path):
    file = tmp_path / "token"
    file.write_text("one\n")
    server.tokens = {"one"}
    async with Client.connect(config(token_file=str(file))) as client:
        await ask(client)
        file.write_text("two\n")
        server.tokens = {"two"}
        await ask(client)
    assert server.users == ["one", "two"]


async def test_scenario_11_token_file_is_read_again_after_a_minute_and_may_be_empty_F63(
    server, config, tmp_path, simulated_clock
):
    file = tmp_path / "token"
    file.write_text("one")
    server.tokens = {"one", "two"}
    async with simulated(simulated_clock, config(token_file=str(file))) as client:
        await ask(client)
        file.write_text("")
        simulated_clock.advance(61)
        await ask(client)
        file.write_text("two")
        simulated_clock.advance(61)
        await ask(client)
    assert server.users == ["one", "one", "two"]
    assert server.refused == 0


async def test_scenario_12_in_cluster_token_rotates(server, certificates, tmp_path):
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_bytes(certificates.ca_pem)
    (tmp_path / "namespace").write_text("mine\n")
    host, port = server.address.removeprefix("https://").split(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    found = in_cluster_config(environment, folder=tmp_path)
    server.tokens = {"one"}
    async with Client.connect(found) as client:
        assert client.namespace == "mine"
        await ask(client)
        (tmp_path / "token").write_text("two")
        server.tokens = {"two"}
        await ask(client)
    assert server.users == ["one", "two"]


async def test_scenario_13_several_files_in_KUBECONFIG(server, certificates, tmp_path):
    first, second = tmp_path / "a" / "one.yaml", tmp_path / "b" / "two.yaml"
    first.parent.mkdir()
    second.parent.mkdir()
    first.write_text(
        f"""
        current-context: test
        contexts: [{{name: test, context: {{cluster: here, user: me, namespace: play}}}}]
        clusters: [{{name: here, cluster: {{server: {json.dumps(server.address)},
          certificate-authority: ../ca.crt}}}}]
        """
    )
    second.write_text(
        """
        current-context: other
        clusters: [{name: here, cluster: {server: "https://wrong.example"}}]
        users: [{name: me, user: {tokenFile: ./token}}]
        """
    )
    (tmp_path / "ca.crt").write_bytes(certificates.ca_pem)
    (second.parent / "token").write_text("one")
    server.tokens = {"one"}
    found = load_config(environment={"KUBECONFIG": f"{first}{os.pathsep}{second}"})
    async with Client.connect(found) as client:
        assert client.namespace == "play"
        await ask(client)
    assert server.users == ["one"]


async def test_user_and_password(server, config):
    server.basic = {base64.b64encode("jane:pä:ss".encode()).decode()}
    async with Client.connect(config(username="jane", password="pä:ss")) as client:
        await ask(client)
    assert len(server.users) == 1


async def test_a_static_token_that_is_refused_is_not_sent_twice(server, config):
    async with Client.connect(config(token="stale")) as client:
        with pytest.raises(Unauthorized, match="get things"):
            await client.exchange("GET", "/api", request="get things")
    assert server.refused == 1


async def test_a_plugin_that_gives_the_same_refused_token_is_run_once_for_a_401(
    server, config, plugin
):
    plugin.will_give({"token": "stale"})
    async with Client.connect(config(exec=plugin.config())) as client:
        with pytest.raises(Unauthorized):
            await ask(client)
    assert server.refused == 1
    assert len(plugin.runs) == 2


async def test_a_plugin_that_fails_later_is_a_passing_failure(
    server, config, plugin, simulated_clock
):
    plugin.will_answer(
        {"stdout": _credential("one", "2026-01-01T01:00:00Z")},
        {"code": 3, "stderr": "the token service is away"},
        {"stdout": _credential("two", None)},
    )
    server.tokens = {"one", "two"}
    async with simulated(simulated_clock, config(exec=plugin.config())) as client:
        await ask(client)
        simulated_clock.advance(3600)
        with pytest.raises(TransportError, match="the token service is away") as caught:
            await client.exchange("POST", "/api", retry=False)
        assert not caught.value.sent
        await ask(client)
    assert server.users == ["one", "two"]


async def test_requests_at_once_share_one_run_of_the_plugin(server, config, plugin):
    plugin.will_give({"token": "one"}, {"token": "two"})
    server.tokens = {"one"}
    async with Client.connect(config(exec=plugin.config())) as client:
        await ask(client)
        server.tokens = {"two"}
        await asyncio.gather(*(ask(client) for _ in range(8)))
    assert server.users == ["one"] + ["two"] * 8
    assert len(plugin.runs) == 2


def _credential(token: str, expires: str | None) -> str:
    status = {"token": token, "expirationTimestamp": expires}
    version = "client.authentication.k8s.io/v1"
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
