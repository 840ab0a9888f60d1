"""Checks that many kinds share, in the server's words.

Every check is a generator of FieldErrors; a path is text (``spec.ports[0].name``). The order of
the errors is the server's, because its message lists them in order.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from konstat.embedded.builtin.names import label_problems
from konstat.embedded.metadata import (
    label_key_problems,
    label_value_problems,
    subdomain_problems,
)
from konstat.embedded.status_errors import (
    FieldError,
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)

Object: TypeAlias = dict[str, Any]
Errors: TypeAlias = Iterator[FieldError]

IMMUTABLE: Final = "field is immutable"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_PERCENT: Final = re.compile(r"[0-9]+%")
_ENVIRONMENT: Final = re.compile(r"[ -<>-~]+")
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_PREFIXED_PATH: Final = re.compile(r"[a-zA-Z0-9/\-._~%!$&'()*+,;=:]+")
_ADDRESS_TEXT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_RANGE_TEXT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or"
    " '93%', regex used for validation is '[0-9]+%')"
)
ENVIRONMENT_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other"
    " than '='"
)
CONFIG_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
WILDCARD_TEXT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which"
    " must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric"
    r" character (e.g. '*.example.com', regex used for validation is"
    r" '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


# --- values -----------------------------------------------------------------------------------


def each(path: str, value: Any, problems: Iterable[str]) -> Errors:
    """One Invalid for each problem."""
    return (invalid_value(path, value, problem) for problem in problems)


def absent(path: str, value: Any, detail: str = "") -> Errors:
    """Required, if there is nothing."""
    if value in (None, "", [], {}):
        yield required_value(path, detail)


def not_negative(path: str, value: int | None) -> Errors:
    """At least 0; nothing given is fine."""
    if value is not None and value < 0:
        yield invalid_value(path, value, "must be greater than or equal to 0")


def numbers_not_negative(where: str, obj: Mapping[str, Any], names: Iterable[str]) -> Errors:
    """Each of these members is at least 0."""
    for name in names:
        yield from not_negative(f"{where}.{name}", obj.get(name))


def one_of(path: str, value: Any, choices: Sequence[str], *, required: bool = True) -> Errors:
    """One of the words that the server lists, in its order."""
    if value in (None, ""):
        if required:
            yield required_value(path)
    elif value not in choices:
        yield not_supported(path, value, choices)


def unchanged(path: str, new: Any, old: Any, *, shown: Any = None) -> Errors:
    """A field that an update may not change."""
    if new != old:
        yield invalid_value(path, new if shown is None else shown, IMMUTABLE)


def too_long(path: str, most: int) -> FieldError:
    """``Too long``, in bytes."""
    return FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {most} bytes")


def too_many(path: str, count: int, most: int) -> FieldError:
    """``Too many``."""
    text = f"Too many: {count}: must have at most {most} items"
    return FieldError(path, "FieldValueTooMany", text)


def not_found(path: str, value: str) -> FieldError:
    """``Not found``: a name that nothing has."""
    return FieldError(path, "FieldValueNotFound", f'Not found: "{value}"')


# --- names ------------------------------------------------------------------------------------


def subdomain(path: str, value: str) -> Errors:
    """A DNS subdomain."""
    return each(path, value, subdomain_problems(value))


def label(path: str, value: str) -> Errors:
    """A DNS label."""
    return each(path, value, label_problems(value))


def qualified(path: str, value: str) -> Errors:
    """A qualified name, as label keys are."""
    return each(path, value, label_key_problems(value))


def wildcard_or_subdomain(path: str, value: str) -> Errors:
    """A host of an Ingress."""
    if "*" not in value:
        yield from subdomain(path, value)
    elif not value.startswith("*.") or subdomain_problems(value[2:]):
        yield invalid_value(path, value, WILDCARD_TEXT)


def labels(path: str, given: Mapping[str, str] | None) -> Errors:
    """Keys and values of labels."""
    for key, value in sorted((given or {}).items()):
        yield from each(path, key, label_key_problems(key))
        yield from each(path, value, label_value_problems(value))


def annotation_keys(path: str, given: Mapping[str, str] | None) -> Errors:
    """Keys of annotations."""
    for key in sorted(given or {}):
        yield from each(path, key, label_key_problems(key.lower()))


def prefixed_path(path: str, value: str) -> Errors:
    """A path after a domain, such as ``example.com/name``."""
    host, slash, rest = value.partition("/")
    if not slash or not host or not rest:
        yield invalid_value(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from each(path, host, subdomain_problems(host))
    if not _PREFIXED_PATH.fullmatch(rest):
        yield invalid_value(path, rest, "Invalid path")


def config_key(path: str, key: str) -> Errors:
    """A key of a ConfigMap or Secret."""
    problems: list[str] = []
    if len(key.encode()) > 253:
        problems.append("must be no more than 253 characters")
    if not _CONFIG_KEY.fullmatch(key):
        problems.append(CONFIG_KEY_TEXT)
    elif key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    yield from each(path, key, problems)


def environment_name(path: str, name: str) -> Errors:
    """The name of an environment variable."""
    if not _ENVIRONMENT.fullmatch(name):
        yield invalid_value(path, name, ENVIRONMENT_TEXT)


# --- ports, addresses, amounts ----------------------------------------------------------------


def port_number(path: str, value: int) -> Errors:
    """A port's number."""
    if not 1 <= value <= 65535:
        yield invalid_value(path, value, PORT_RANGE)


def port_name_problems(name: str) -> list[str]:
    """What keeps a text from being the name of a port (an IANA service name)."""
    problems: list[str] = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]*", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    elif not re.search(r"[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_or_name(path: str, value: int | str) -> Errors:
    """A port by number or by name."""
    if isinstance(value, int):
        return port_number(path, value)
    return each(path, value, port_name_problems(value))


def address(path: str, value: str) -> Errors:
    """An IP address."""
    if parsed_address(value) is None:
        yield invalid_value(path, value, _ADDRESS_TEXT)


def parsed_address(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text names, if any."""
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def address_range(path: str, value: str) -> Errors:
    """A range in CIDR notation."""
    if parsed_range(value) is None:
        yield invalid_value(path, value, _RANGE_TEXT)


def parsed_range(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The range that a text names, if any."""
    try:
        return ipaddress.ip_network(value, strict=False) if "/" in value else None
    except ValueError:
        return None


def special_address(path: str, value: str) -> Errors:
    """Addresses that no endpoint may have."""
    found = parsed_address(value)
    if found is None:
        return
    if found.is_unspecified:
        yield invalid_value(path, value, f"may not be unspecified ({value!s})")
    if found.is_loopback:
        problem = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        yield invalid_value(path, value, problem)
    if found.is_link_local:
        problem = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        yield invalid_value(path, value, problem)
    if found.is_multicast and found in _LINK_LOCAL_MULTICAST[found.version]:
        problem = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield invalid_value(path, value, problem)


_LINK_LOCAL_MULTICAST: Final[Mapping[int, Any]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def amount_or_percent(path: str, value: int | str | None) -> Errors:
    """An int of at least 0, or a percentage."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid_value(path, value, PERCENT_TEXT)
    else:
        yield from not_negative(path, value)


def at_most_all(path: str, value: int | str | None) -> Errors:
    """No more than 100%."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield invalid_value(path, value, "must not be greater than 100%")


def number_of(value: int | str | None) -> int:
    """The number in an amount or a percentage."""
    if isinstance(value, str):
        return int(value[:-1]) if _PERCENT.fullmatch(value) else 0
    return value or 0


# --- selectors --------------------------------------------------------------------------------


def selector(path: str, given: Mapping[str, Any] | None) -> Errors:
    """A LabelSelector; nothing given is fine."""
    if given is None:
        return
    yield from labels(f"{path}.matchLabels", given.get("matchLabels"))
    for index, one in enumerate(given.get("matchExpressions") or ()):
        yield from _expression(f"{path}.matchExpressions[{index}]", one)


def _expression(path: str, given: Mapping[str, Any]) -> Errors:
    operator, values = given.get("operator", ""), given.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            problem = "must be specified when `operator` is 'In' or 'NotIn'"
            yield required_value(f"{path}.values", problem)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            problem = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_field(f"{path}.values", problem)
    else:
        yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    yield from qualified(f"{path}.key", given.get("key", ""))
    for index, value in enumerate(values):
        yield from each(f"{path}.values[{index}]", value, label_value_problems(value))


def go_struct(given: Mapping[str, Any] | None, *names: str) -> Any:
    """A value as the server's internal type prints it: Go's names, absent members as null.

    ``names`` are Go's names in their order; each stands for the member that begins in lower case,
    or for the one given after ``=``.
    """
    if given is None:
        return None
    made: Object = {}
    for name in names:
        go_name, _, member = name.partition("=")
        member = member or go_name[0].lower() + go_name[1:]
        made[go_name] = given.get(member)
    return made


def ordered_selector(given: Mapping[str, Any] | None) -> Any:
    """A LabelSelector with its members in the server's order."""
    if given is None:
        return None
    made: Object = {}
    if given.get("matchLabels"):
        made["matchLabels"] = dict(sorted(given["matchLabels"].items()))
    if given.get("matchExpressions"):
        made["matchExpressions"] = [
            {key: one[key] for key in ("key", "operator", "values") if key in one}
            for one in given["matchExpressions"]
        ]
    return made


def invalid_selector(path: str, given: Mapping[str, Any] | None, problem: str) -> FieldError:
    """Invalid, with a selector shown in the server's order."""
    return invalid_struct(path, ordered_selector(given), problem)


def selector_unchanged(new: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    """``spec.selector`` stays as it is."""
    if new.get("selector") != old.get("selector"):
        yield invalid_selector("spec.selector", new.get("selector"), IMMUTABLE)


def invalid_struct(path: str, value: Any, problem: str) -> FieldError:
    """Invalid, with a struct shown in the order of its fields."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {text}: {problem}")


def unsupported_struct(path: str, value: Any, choices: Sequence[str]) -> FieldError:
    """NotSupported, with a struct shown in the order of its fields."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    words = ", ".join(f'"{choice}"' for choice in choices)
    return FieldError(
        path, "FieldValueNotSupported", f"Unsupported value: {text}: supported values: {words}"
    )


def duplicate_struct(path: str, value: Any, problem: str = "") -> FieldError:
    """Duplicate, with a struct shown in the order of its fields."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    detail = f": {problem}" if problem else ""
    return FieldError(path, "FieldValueDuplicate", f"Duplicate value: {text}{detail}")
