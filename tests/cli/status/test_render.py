from __future__ import annotations

from datetime import datetime, timedelta
from textwrap import dedent

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from konstat.base import clock, limits
from konstat.cli.status.outline import ASCII, UNICODE, age, printable
from konstat.cli.status.render import Layout, render
from konstat.cli.status.tree import Gathered, build
from konstat.objects.kind import Kind
from konstat.readiness import State

SECRETS = Kind(group="", version="v1", kind="Secret", plural="secrets")


def drawn(world: Gathered, now: datetime, layout: Layout) -> str:
    lines = render(build(world, now=now), world, now=now, layout=layout)
    return "\n".join(line.plain.rstrip() for line in lines) + "\n"


def test_the_tree_of_a_broken_resource_on_a_terminal(broken_shop: Gathered, now) -> None:
    world = msgspec.structs.replace(broken_shop, unread={SECRETS: "forbidden"})
    assert drawn(world, now, Layout(width=76, symbols=UNICODE)) == dedent(
        """\
        NAME                             STATE   TURN  AGE  REASON
        ✖ WebApp shop                    Failed  user  3m   ImagePullFailed
        │ · Ready                        False         2m   ImagePullFailed
        │   workload: image "nginx:nope" of container app cannot be pulled (the user
        │   must act)
        │ · WorkloadReady                False         2m   ImagePullFailed
        │ · NetworkReady (generation 2)  True          2m   Available
        │ · Stalled                      True          2m   ImagePullFailed
        ├─ ✖ Deployment shop             Failed  user  3m   ImagePullFailed
        │  │ 2 of 2 pods: image nginx:nope of container app cannot be pulled, e.g.
        │  │ pod shop-new-a; check the image's name and tag, and the pull secret
        │  ├─ ✖ ReplicaSet shop-new      Failed  user  3m   ImagePullFailed
        │  │  ├─ ✖ Pod shop-new-a        Failed  user  3m   ImagePullFailed
        │  │  │    image nginx:nope of container app cannot be pulled; check the
        │  │  │    image's name and tag, and the pull secret
        │  │  └─ ✖ Pod shop-new-b        Failed  user  3m   ImagePullFailed
        │  └─ · 1 ReplicaSet at zero
        └─ ✔ Service shop-web            Ready   -     3m   Available
        not read: secrets (forbidden)
        """
    )


def test_what_may_be_old_is_said(broken_shop: Gathered, now) -> None:
    kinds = [Kind(group="", version="v1", kind=k, plural=k) for k in "abcde"]
    world = msgspec.structs.replace(broken_shop, outdated=dict.fromkeys(kinds, "no route"))
    last = drawn(world, now, Layout()).splitlines()[-1]
    assert last == "may be out of date: a, b, c and 2 more (no route)"


def test_a_pipe_gets_ascii_and_unbroken_lines(broken_shop: Gathered, now) -> None:
    text = drawn(broken_shop, now, Layout(namespaces=True))
    assert text.isascii()
    assert "x WebApp demo/shop" in text
    cause = 'workload: image "nginx:nope" of container app cannot be pulled (the user must act)'
    assert f"|   {cause}\n" in text


def test_a_narrow_terminal_puts_the_reason_before_its_text(broken_shop: Gathered, now) -> None:
    text = drawn(broken_shop, now, Layout(width=60, symbols=UNICODE))
    assert "REASON" not in text
    assert 'ImagePullFailed: workload: image "nginx:nope"' in text


def test_a_healthy_resource_needs_few_lines(make, condition, now) -> None:
    ready = condition("Ready", "True", "Ready", "network and workload are ready")
    shop = make(
        "demo.example.com/v1",
        "WebApp",
        "shop",
        generation=3,
        age_seconds=90000,
        status={"observedGeneration": 3, "conditions": [ready]},
    )
    service = make("v1", "Service", "web", owner="shop", spec={"type": "ClusterIP"})
    world = Gathered(resources=(shop,), objects={("", "Service"): [service]})
    assert drawn(world, now, Layout()) == dedent(
        """\
        NAME              STATE  TURN  AGE  REASON
        + WebApp shop     Ready  -     25h  Ready
        | . Ready         True         2m   Ready
        `- + Service web  Ready  -     3m   Available
        """
    )


def test_what_a_condition_says_is_not_said_twice(make, condition, now) -> None:
    ready = condition("Ready", "False", "QuotaExceeded", "no more of it is granted")
    shop = make(
        "demo.example.com/v1", "WebApp", "shop", generation=3, status={"conditions": [ready]}
    )
    assert drawn(Gathered(resources=(shop,)), now, Layout()) == dedent(
        """\
        NAME           STATE   TURN  AGE  REASON
        x WebApp shop  Failed  user  3m   QuotaExceeded
          . Ready      False         2m   QuotaExceeded
            no more of it is granted
        """
    )


def test_a_resource_whose_child_waits_for_a_node_is_no_worse_than_it(make, condition, now) -> None:
    held = condition("Ready", "False", "Unschedulable", "workload: no node takes the pod")
    going = condition("Reconciling", "True", "Unschedulable", "workload: no node takes the pod")
    status = {"conditions": [held, going]}
    shop = make("demo.example.com/v1", "WebApp", "shop", generation=3, status=status)
    [node] = build(Gathered(resources=(shop,)), now=now)
    assert node.state is State.PROGRESSING


def test_a_stale_status_is_marked_in_the_drawing(make, condition, now) -> None:
    ready = condition("Ready", "True", "Ready", generation=2)
    status = {"observedGeneration": 2, "conditions": [ready]}
    shop = make("demo.example.com/v1", "WebApp", "shop", generation=3, status=status)
    assert drawn(Gathered(resources=(shop,)), now, Layout()) == dedent(
        """\
        NAME                      STATE        TURN  AGE  REASON
        ~ WebApp shop             Progressing  -     3m   GenerationNotObserved
          not current: generation 3, observed 2
          . Ready (generation 2)  True               2m   Ready
        """
    )


def test_many_ready_children_are_counted_and_trouble_is_always_drawn(make, now) -> None:
    shop = make("demo.example.com/v1", "WebApp", "shop", status={})
    claims = [
        make(
            "v1",
            "PersistentVolumeClaim",
            f"data-{number:03}",
            owner="shop",
            status={"phase": "Lost" if number == 90 else "Bound"},
        )
        for number in range(100)
    ]
    world = Gathered(resources=(shop,), objects={("", "PersistentVolumeClaim"): claims})
    text = drawn(world, now, Layout())
    assert text.count("PersistentVolumeClaim data-") == limits.TREE_SIBLINGS + 1
    assert "x PersistentVolumeClaim data-090" in text
    assert "`- . 89 more of kind PersistentVolumeClaim, ready" in text


def test_no_escape_sequence_of_a_status_reaches_the_terminal(make, condition, now) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J red\u202e\r\nnext"
    status = {"observedGeneration": 1, "conditions": [condition("Ready", "False", evil, evil)]}
    shop = make("demo.example.com/v1", "Web\x1bApp", "sh\x1bop", status=status)
    text = drawn(Gathered(resources=(shop,), unread={SECRETS: evil}), now, Layout())
    assert all(c == "\n" or c.isprintable() for c in text)


def test_what_a_foreign_condition_says_is_bounded(make, condition, now) -> None:
    status = {"conditions": [condition("Ready", "False", "Bad", "m" * 1_000_000)]}
    text = drawn(Gathered(resources=(make("x.io/v1", "Odd", "o", status=status),)), now, Layout())
    assert "mmm … (cut)" in text
    assert len(text) < 5000


@given(st.text())
def test_what_is_printable_is_one_line_without_control_characters(text: str) -> None:
    assert printable(text).isprintable()


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_texts_keep_to_the_width(broken_shop: Gathered, now, width: int) -> None:
    text = drawn(broken_shop, now, Layout(width=width, symbols=UNICODE))
    remarks = [line for line in text.splitlines() if "image" in line]
    assert remarks
    assert all(cell_len(line) <= max(width, 40) for line in remarks)


def test_every_state_has_a_sign_in_both_alphabets() -> None:
    assert set(ASCII.states) == set(UNICODE.states) == set(State)
    for symbols in (ASCII, UNICODE):
        assert len(set(symbols.states.values())) == len(State)
    assert all(sign.isascii() for sign in ASCII.states.values())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7199, "119m"),
        (7200, "2h"),
        (172800, "2d"),
        (63072000, "2y"),
    ],
)
def test_ages_are_short(now: datetime, seconds: int, text: str) -> None:
    assert age(clock.timestamp(now - timedelta(seconds=seconds)), now=now) == text


@given(st.text())
def test_any_text_has_an_age_or_none(text: str) -> None:
    now = clock.parse_timestamp("2026-01-01T12:00:00Z")
    assert age(text, now=now)
