"""Certificates are loaded from anywhere, checked for their age, and left nowhere."""

from __future__ import annotations

import base64
import os
import tempfile
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base.clock import use_clock
from konstat.client.cluster import ClusterConfig
from konstat.client.tls import TLSContexts, build_context, certificate_expiry
from konstat.errors import ConfigError

BASE = {"server": "https://k", "source": "file.yaml"}


def build(**fields):
    return build_context(ClusterConfig(**BASE | fields), None)


def test_the_expiry_is_read(certificates):
    when = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    certificate, _ = certificates.client("amina", not_after=when)
    assert certificate_expiry(certificate) == when


@given(st.binary(max_size=80))
def test_arbitrary_bytes_have_no_expiry_or_one(data):
    for pem in (
        data,
        b"-----BEGIN CERTIFICATE-----\n" + data + b"-----END CERTIFICATE-----",
        b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(data) + b"-----END CERTIFICATE-----",
    ):
        assert isinstance(certificate_expiry(pem), datetime | None)


def test_a_cut_certificate_has_no_expiry(certificates):
    certificate, _ = certificates.client("amina")
    der = base64.b64decode(b"".join(certificate.splitlines()[1:-1]))
    for length in range(0, len(der), 7):
        body = base64.b64encode(der[:length])
        pem = b"-----BEGIN CERTIFICATE-----\n" + body + b"\n-----END CERTIFICATE-----"
        assert certificate_expiry(pem) is None or length > 100


def test_an_expired_client_certificate_is_told(certificates):
    now = datetime.now(UTC)
    certificate, key = certificates.client(
        "amina", not_before=now - timedelta(days=2), not_after=now - timedelta(days=1)
    )
    with pytest.raises(ConfigError, match=r"file\.yaml expired at 20.*get a new one"):
        build(client_certificate_data=certificate, client_key_data=key)


def test_a_key_of_another_certificate_is_told(certificates):
    certificate, _ = certificates.client("amina")
    _, key = certificates.client("bela")
    with pytest.raises(ConfigError, match=r"are not usable: .*KEY_VALUES_MISMATCH"):
        build(client_certificate_data=certificate, client_key_data=key)


def test_rubbish_is_told_and_leaves_no_file(certificates, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ConfigError, match="client certificate and key of"):
        build(client_certificate_data=b"secret", client_key_data=b"secret")
    certificate, key = certificates.client("amina")
    build(client_certificate_data=certificate, client_key_data=key)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("data", [b"rubbish", b"\xff", b"-----BEGIN CERTIFICATE-----\n"])
def test_an_unusable_authority_is_told(data):
    with pytest.raises(ConfigError, match=r"authority \(certificate-authority-data\) is not us"):
        build(ca_data=data)


def test_files_that_cannot_be_read_are_named(tmp_path):
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(ConfigError, match=r"authority from .*missing\.pem.*no such file"):
        build(ca_file=missing)
    with pytest.raises(ConfigError, match=r"client certificate from .*missing\.pem"):
        build(client_certificate_file=missing, client_key_file=missing)


def test_F64_a_replaced_authority_gives_a_new_context(certificates, tmp_path, simulated_clock):
    file = tmp_path / "ca.crt"
    file.write_bytes(certificates.ca_pem)
    contexts = TLSContexts(ClusterConfig(**BASE, ca_file=str(file)))
    with use_clock(simulated_clock):
        first = contexts.current(None)
        file.write_bytes(certificates.ca_pem + b"\n")
        assert contexts.current(None) is first  # files are not looked at for every request
        contexts.expire()
        second = contexts.current(None)
        assert second is not first
        file.write_bytes(b"")
        simulated_clock.advance(31)
        assert contexts.current(None) is second  # what was good serves while the file is written
