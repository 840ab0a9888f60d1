"""Names that Kubernetes accepts."""

from __future__ import annotations

import pytest

from konstat.objects import names


@pytest.mark.parametrize("name", ["a", "a-b", "1a", "x" * 63])
def test_dns_labels(name: str) -> None:
    assert names.label_problem(name) == ""


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a.b", "a\n", "x" * 64, "ä"])
def test_no_dns_labels(name: str) -> None:
    assert names.label_problem(name)
    assert names.service_label_problem(name)


def test_service_labels_begin_with_a_letter() -> None:
    assert names.service_label_problem("1a")
    assert not names.service_label_problem("v1beta1")


def test_subdomains() -> None:
    assert not names.subdomain_problem("demo.example.com")
    for name in ("", "a..b", ".a", "a.", "A.b", "x" * 254, "a_b"):
        assert names.subdomain_problem(name)


def test_label_keys_and_values() -> None:
    for key in ("a", "A_b.c-9", "example.com/a", "x" * 63):
        assert not names.label_key_problem(key)
    for key in ("", "/a", "a/", "EX/a", "a/b/c", "_a", "x" * 64, "a b", "a\n"):
        assert names.label_key_problem(key)
    for value in ("", "a", "A.b_c-9"):
        assert not names.label_value_problem(value)
    for value in ("-", "a b", "x" * 64, "a\n", "ä"):
        assert names.label_value_problem(value)
