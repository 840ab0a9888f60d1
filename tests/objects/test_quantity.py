"""Quantities by value."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects.pattern import python_pattern
from konstat.objects.quantity import QUANTITY_PATTERN, Quantity, same_amount

SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{s: Fraction(1000) ** (i + 1) for i, s in enumerate("kMGTPE")},
    **{f"{s}i": Fraction(1024) ** (i + 1) for i, s in enumerate("KMGTPE")},
    "e3": Fraction(1000),
    "E-2": Fraction(1, 100),
    "e+1": Fraction(10),
}
numbers = st.from_regex(r"\A[+-]?([0-9]{1,6}(\.[0-9]{0,4})?|\.[0-9]{1,4})\Z")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *[("1", "1000m"), ("1Gi", "1024Mi"), ("0.5", "500m"), ("1E", "1000P"), ("1E3", "1k")],
        *[(".5", "500m"), ("5.", "5"), ("+1", "1"), ("0", "-0m"), ("1.5Ki", "1536")],
        *[("0.1n", "1n"), ("-0.1n", "-1n"), ("1e-50", "1n")],  # rounded away from zero
        *[("1e50", "9223372036854775807"), ("9E", "8999999999999999999.9999999991")],
    ],
)
def test_equal_amounts(left: str, right: str) -> None:
    if left == "9E":
        assert Quantity(right) == Quantity("9000000000000000000")
    assert Quantity(left) == Quantity(right)
    assert hash(Quantity(left)) == hash(Quantity(right))


@pytest.mark.parametrize(
    "text",
    ["", "K", "1K", "1ki", "1e", "1 ", " 1", "٣", "1e+", "1e2.5", "1Kii", "1mm", "e3", "+-1", "1\n",
     ".", "1" * 129, "NaN", "inf", "0x1"],
)  # fmt: skip
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Quantity(text)


@given(numbers, st.sampled_from(sorted(SUFFIXES)))
def test_the_value_is_exact(number: str, suffix: str) -> None:
    exact = Fraction(number.removesuffix(".")) * SUFFIXES[suffix]
    nanos = exact * 10**9
    rounded = abs(nanos).__ceil__() * (1 if nanos >= 0 else -1)
    if abs(exact) < 2**63:
        assert Quantity(number + suffix).nanos == rounded


@given(numbers, st.sampled_from(sorted(SUFFIXES)), numbers, st.sampled_from(sorted(SUFFIXES)))
def test_order_follows_value(a: str, b: str, c: str, d: str) -> None:
    left, right = Quantity(a + b), Quantity(c + d)
    assert (left < right) is (left.value < right.value)
    assert (left == right) is (left.value == right.value)


@given(st.text(alphabet="0123456789.+-eEnumkMGTPKi\n", max_size=12))
def test_any_text_is_read_or_refused_as_the_pattern_says(text: str) -> None:
    fits = bool(re.search(python_pattern(QUANTITY_PATTERN), text))
    try:
        Quantity(text)
    except ValueError:
        assert not fits
    else:
        assert fits


def test_numbers_and_odd_values() -> None:
    assert Quantity(0.5) == Quantity("500m")
    assert Quantity(3) == Quantity("3")
    assert Quantity(1e-7) == Quantity("100n")
    assert Quantity("1Gi").value == Decimal(2**30)
    assert str(Quantity("1024Mi")) == "1024Mi"
    assert Quantity("1") != "1"
    assert not same_amount(True, "1")
    assert not same_amount(None, "1")
    assert same_amount(1, "1000m")
    with pytest.raises(ValueError):
        Quantity(10**200)
    with pytest.raises(AttributeError):
        Quantity("1").text = "2"
