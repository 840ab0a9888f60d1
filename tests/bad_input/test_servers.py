"""What a user reads when the server is not there, not the right one, or does not let him in."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from odd_servers import answer, refusal, served

from konstat.client.calls import read_page

PAGE = "<!DOCTYPE html><html><style>b{}</style><h1>Sign&nbsp;in</h1><script>x()</script></html>"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LOGIN = "Location: https://login.example.com/in?state=s3cr3t"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            answer("200 OK", "text/html; charset=utf-8", PAGE),
            ["answered with a web page", "check the address in kc", "login page or proxy"],
        ),
        (
            answer("302 Found", "text/html", "", header=LOGIN),
            ["answered with a redirect to 'https://login.example.com/in'", "check the address"],
        ),
        (
            answer("502 Bad Gateway", "text/html", PAGE),
            ["a web page: 'Sign in' (HTTP 502)", "check the address in kc"],
        ),
        (
            answer("503 Off", "text/plain", "no healthy upstream"),
            ["no healthy upstream (HTTP 503)"],
        ),
        (answer("404 Not Found", "text/plain", "404 page not found"), ["404 page not found"]),
        (answer("200 OK", "application/json", ""), ["is not that of a Kubernetes API"]),
        (answer("200 OK", "application/json", "[1]"), ["is not that of a Kubernetes API"]),
        (answer("200 OK", "application/json", '{"a": 1}'), ["it lists no kinds"]),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ["does not speak HTTP; is the address of kc right?"]),
        (b"", ["broke before its answer was complete", "does it expect https?"]),
        (
            refusal(401, "Unauthorized", "Unauthorized"),
            ["the token is not accepted: log in again", "context 'dev' of kc"],
        ),
        (
            refusal(403, "Forbidden", 'User "jane" cannot get path "/api"'),
            ['User "jane" cannot get path "/api" (HTTP 403 Forbidden)'],
        ),
    ],
)
def test_an_answer_that_is_none_of_an_API(run_konstat, kubeconfig, data, says) -> None:
    with served(data) as address:
        result = run_konstat("status", "pods", "--kubeconfig", kubeconfig(f"http://{address}"))
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    for words in says:
        assert words in result.stderr


@pytest.mark.parametrize("data", [b'{"a": 1}', b"[]", b"", b"<html>", b'{"items": 5}'])
def test_what_is_no_list_is_never_an_empty_one(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_page(data)
    assert read_page(b'{"kind": "PodList", "items": null}').items == []


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({}, "kc holds no credentials: add them"),
        ({"username": "jane", "password": "s3cr3t"}, "the user and password is not accepted"),
        ({"tokenFile": "token"}, "token' is not accepted"),
    ],
)
def test_credentials_that_the_server_refuses(
    run_konstat, kubeconfig, folder: Path, user, says
) -> None:
    (folder / "token").write_text("s3cr3t")
    with served(refusal(401, "Unauthorized", "Unauthorized")) as address:
        path = kubeconfig(f"http://{address}", user=user)
        result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert says in result.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nobody_listens(run_konstat, kubeconfig, closed_port: int, host: str) -> None:
    path = kubeconfig(f"https://{host}:{closed_port}")
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert "accepts no connection: connection refused; is it running" in result.stderr


def test_a_name_that_nobody_knows(run_konstat, kubeconfig) -> None:
    path = kubeconfig("https://no-such-host.invalid:6443")
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert "the name in https://no-such-host.invalid:6443 cannot be resolved" in result.stderr
    assert "is the address of kc right" in result.stderr


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    run_konstat, kubeconfig, closed_port: int
) -> None:
    proxy = f"http://jane:s3cr3t@127.0.0.1:{closed_port}"
    path = kubeconfig("https://k.example:6443", **{"proxy-url": proxy})
    result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert f"the proxy http://127.0.0.1:{closed_port} gives no connection" in result.stderr
    assert "connection refused; check proxy-url of kc" in result.stderr


def test_a_proxy_that_is_none(run_konstat, kubeconfig) -> None:
    with served(b"SSH-2.0-OpenSSH_9.6\r\n") as address:
        path = kubeconfig("https://k.example:6443", **{"proxy-url": f"http://{address}"})
        result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert f"behind the proxy http://{address} does not speak HTTP" in result.stderr


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("name", "lives", "known", "says"),
    [
        ("127.0.0.1", {}, False, ["get local issuer certificate; check the certificate authority"]),
        (
            "127.0.0.1",
            {"not_after": LONG_AGO},
            True,
            ["certificate has expired", "renew it on the server, or set this machine's clock"],
        ),
        (
            "k.example",
            {},
            True,
            ["not valid for '127.0.0.1'", "check the host in server, or set tls-server-name"],
        ),
    ],
)
def test_a_certificate_that_is_not_accepted(
    run_konstat, kubeconfig, folder: Path, authority, name, lives, known, says
) -> None:
    (authority if known else trustme.CA()).cert_pem.write_to_path(folder / "ca.pem")
    context = _context(authority.issue_cert(name, **lives))
    with served(b"", context=context) as address:
        path = kubeconfig(f"https://{address}", **{"certificate-authority": "ca.pem"})
        result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    for words in says:
        assert words in result.stderr


def test_https_to_a_server_of_http(run_konstat, kubeconfig) -> None:
    with served(answer("400 Bad Request", "text/plain", "what?")) as address:
        path = kubeconfig(f"https://{address}")
        result = run_konstat("status", "pods", "--kubeconfig", path)
    assert result.exit_code == 1
    assert "does it speak https?" in result.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"client-certificate": "old.pem"}, "expired at 2020-01-01T00:00:00Z: get a new one"),
        ({"client-certificate": "other.pem"}, "expected a certificate and its own"),
        ({"client-certificate": "absent.pem"}, "absent.pem': no such file or directory"),
        ({"client-key": "absent.pem"}, "absent.pem': no such file or directory"),
    ],
)
def test_a_client_certificate_that_cannot_be_used(
    run_konstat, kubeconfig, folder: Path, authority, change, says
) -> None:
    good = authority.issue_cert("jane.users")
    old = authority.issue_cert("jane.users", not_after=LONG_AGO)
    good.private_key_pem.write_to_path(folder / "key.pem")
    for name, certificate in (("good", good), ("old", old)):
        certificate.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    authority.issue_cert("k").cert_chain_pems[0].write_to_path(folder / "other.pem")
    user = {"client-certificate": "good.pem", "client-key": "key.pem"} | change
    result = run_konstat(
        "status", "pods", "--kubeconfig", kubeconfig("https://127.0.0.1:9", user=user)
    )
    assert result.exit_code == 2
    assert says in result.stderr
