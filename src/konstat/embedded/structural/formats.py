"""The string formats that the API server checks in custom resources, one function each.

A format that is not listed is ignored by the server, and so here; ``-`` in a name means nothing
(``date-time`` is ``datetime``). Verified on a real server over a table of texts. Before:
`addresses`, `golang_url`, `gotime`. After: `konstat.embedded.structural.validation`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from konstat.embedded.structural.addresses import (
    is_mac,
    parse_address,
    parse_address_sloppy,
    parse_network,
)
from konstat.embedded.structural.email import is_email
from konstat.embedded.structural.golang_url import URLError, parse_request_uri
from konstat.embedded.structural.gotime import is_date, is_date_time, is_duration

Check = Callable[[str], bool]


def checked_format(schema: Mapping[str, object]) -> str:
    """The format of a schema as far as the server checks it, else an empty text.

    Which formats count depends on the type: string formats on strings and on values of several
    types, int32 and int64 on integers, float and double on numbers.
    """
    name = schema.get("format")
    if not isinstance(name, str):
        return ""
    kind = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or ""
    if kind in ("", "string"):
        known = normalized(name) in FORMATS
    else:
        known = name in _NUMBER_FORMATS.get(str(kind), ())
    return name if known else ""


def normalized(name: str) -> str:
    """A format's name without dashes: how the server looks it up."""
    return name.replace("-", "")


def holds(name: str, text: str) -> bool:
    """Whether ``text`` is of the format; unknown formats hold."""
    check = FORMATS.get(normalized(name))
    return check is None or check(text)


# --- the checks -------------------------------------------------------------------------------

_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
_HOSTNAME: Final = re.compile(r"([a0](-?[a0]{0,62})?|([a0]([a0-]{0,61}[a0])?\.)+a{2,63})")
_CARD: Final = re.compile(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}"
)
_OCTET: Final = r"(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_GAP: Final = r"[\t\n\f\r ]*"
_SHORT_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str) -> Check:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str = "[0-9a-fA-F]", variant: str = "[0-9a-fA-F]") -> Check:
    digits = "[0-9a-fA-F]"
    return _matches(
        f"{digits}{{8}}-?{digits}{{4}}-?{version}{digits}{{3}}-?{variant}{digits}{{3}}"
        f"-?{digits}{{12}}"
    )


def _character_class(character: str) -> str:
    if character.isascii():
        if character.isalpha():
            return "a"
        return "0" if character.isdigit() else character
    category = unicodedata.category(character)[0]
    return {"L": "a", "S": "0"}.get(category, "!")


def _is_hostname(text: str) -> bool:
    """Host names as the server's library sees them: letters and symbols of any script."""
    # Symbols of ASCII ($+<=>^`|~) count as symbols too.
    classes = "".join("0" if c in "$+<=>^`|~" else _character_class(c) for c in text)
    if not _HOSTNAME.fullmatch(classes) or len(_bytes(text)) > 255:
        return False
    return all(len(_bytes(part)) <= 63 for part in text.split("."))


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(d) * 2 for d in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(d - 9 if d > 9 else d for d in doubled)) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = (10 if d == "X" else int(d) for d in digits)
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    total = sum(int(d) * (3 if place % 2 else 1) for place, d in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _is_ssn(text: str) -> bool:
    return len(text) == 11 and bool(re.fullmatch("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text))


def _is_ipv4(text: str) -> bool:
    return "." in text and parse_address_sloppy(text) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and parse_address(text) is not None


def _is_name(pattern: str, length: int) -> Check:
    matches = _matches(pattern)
    return lambda text: len(text) <= length and matches(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


FORMATS: Final[Mapping[str, Check]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": lambda text: parse_network(text, sloppy=True) is not None,
    "mac": is_mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89abAB]"),
    "uuid5": _uuid("5", "[89abAB]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _is_ssn,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\({_GAP}{_OCTET}{_GAP},{_GAP}{_OCTET}{_GAP},{_GAP}{_OCTET}{_GAP}\)"),
    # A backslash is taken too: the library's pattern escapes its slash inside a class.
    "byte": _matches(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": _is_name(_SHORT_NAME, 63),
    "k8slongname": _is_name(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", 253),
}
