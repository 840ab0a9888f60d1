"""Regular expressions that mean the same for RE2 and for Python, or are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects.pattern import python_pattern


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),  # Python's own $ would let it through
        (r"^\d$", "٣", False),  # RE2's classes are ASCII
        (r"^\w$", "é", False),
        (r"^\s$", "\v", False),  # RE2 has no vertical tab in \s
        (r"^[\s]$", " ", True),
        (r"^\S$", "\v", True),
        ("b", "abc", True),  # unanchored
        ("(?i)^ABC$", "abc", True),
        ("(?s)^a.b$", "a\nb", True),
        ("^a.b$", "a\nb", False),
        (r"^[\]a$]+$", "a$]", True),
        ("^[]a]+$", "]a", True),
        ("^[[a]+$", "[a", True),
        (r"^\x41\z", "A", True),
        ("^(?P<x>a|b){2,3}?$", "ab", True),
        (r"^a\$b$", "a$b", True),
    ],
)
def test_the_python_form_has_the_meaning_of_re2(expression: str, text: str, matches: bool) -> None:
    assert bool(re.search(python_pattern(expression), text)) is matches


@pytest.mark.parametrize(
    "expression",
    [
        *["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#a)", "(?P=x)", "(?m)^a$", "(?x)a"],
        *["a(?i)b", "(?i:a)", r"(a)\1", r"\Z", r"\pL", r"\Qa\E", r"\u0041", "\\", r"[\S]", r"[\b]"],
        *["[[:alpha:]]", "[a", "(a", "a)", "a++", "a**", "a{2}{3}", "a{1001}", "a{,3}", "a{x}"],
        *["[a--b]", "[a&&b]", "*a", "a{3,2}", "[b-a]", "a{99999999999999999999}"],
    ],
)
def test_what_one_engine_does_not_know_is_refused(expression: str) -> None:
    with pytest.raises(ValueError):
        python_pattern(expression)


@given(st.text(alphabet="ab0[](){}*+?.^$|\\dswzx-:=!<>P,i\n", max_size=20))
def test_any_text_is_translated_or_refused(expression: str) -> None:
    try:
        translated = python_pattern(expression)
    except ValueError:
        return
    re.compile(translated)
