"""Image references: what runtimes take, and what cannot be pulled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.nodes.images import parse_image

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("team/app", "docker.io/team/app:latest"),
        ("example.com/app", "example.com/app:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/team/app:1", "localhost:5000/team/app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("Registry/app", "Registry/app:latest"),
        ("[2001:db8::1]:5000/app", "[2001:db8::1]:5000/app:latest"),
        (f"app@{DIGEST}", f"docker.io/library/app@{DIGEST}"),
        (f"app:1@{DIGEST}", f"docker.io/library/app:1@{DIGEST}"),
        ("a__b/c.d-e", "docker.io/a__b/c.d-e:latest"),
    ],
)
def test_defaults_are_filled_in(text: str, full: str) -> None:
    assert str(parse_image(text)) == full


@pytest.mark.parametrize(
    "text",
    [
        "",
        "App",
        "app:",
        "app:a b",
        "app:-1",
        "-app",
        "a//b",
        "a/",
        "/a",
        "a..b",
        "a___b",
        "app@sha256:12",
        "https://example.com/app",
        "ab" * 32,
        "a" * 256,
        "app:" + "t" * 129,
        "a" * 100_000,
        "ünicode",
        "app\n",
    ],
)
def test_what_no_runtime_takes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid reference format"):
        parse_image(text)


@pytest.mark.parametrize(
    ("text", "unreachable"),
    [
        ("registry.invalid/app", True),
        ("a.b.INVALID:5000/app", True),
        ("invalid:5000/app", True),
        ("example.com/app.invalid", False),
        ("notinvalid.com/app", False),
        ("xinvalid:5000/app", False),
        ("app.invalid", False),
    ],
)
def test_only_registries_under_invalid_are_unreachable(text: str, unreachable: bool) -> None:
    assert parse_image(text).unreachable is unreachable


def test_the_pull_error_names_what_was_asked_for() -> None:
    error = parse_image("registry.invalid:5000/team/app:2").pull_error
    assert 'Head "https://registry.invalid:5000/v2/team/app/manifests/2"' in error
    assert error.endswith("dial tcp: lookup registry.invalid: no such host")


def test_an_image_id_is_the_same_for_the_same_image() -> None:
    assert parse_image("nginx").image_id == parse_image("docker.io/library/nginx:latest").image_id
    assert parse_image("nginx").image_id != parse_image("nginx:1").image_id
    assert parse_image(f"app@{DIGEST}").image_id == f"docker.io/library/app@{DIGEST}"


@given(st.text(max_size=60) | st.from_regex(r"[a-zA-Z0-9./:@_-]{0,60}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reference = parse_image(text)
    except ValueError:
        return
    # The full form reads as itself.
    assert parse_image(str(reference)) == reference
