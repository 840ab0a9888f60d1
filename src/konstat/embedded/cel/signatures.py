"""What a rule may call: every function of the server's CEL environment with its overloads.

The table says types and the server's overload names, which decide costs and error texts. A
function that kube-apiserver 1.36 has and this table lacks is refused by name (`LACKING`), one
that it has not is an undeclared reference. Before: `types`. After: `checker`, `cost`, `functions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from konstat.embedded.cel.types import Type, parse_type


class Overload(NamedTuple):
    """One form of a function: its parameters (the target first, if ``member``) and its result."""

    id: str
    params: tuple[Type, ...]
    result: Type
    member: bool


# Functions of authorization have no meaning in the rules of a CRD: there is no authorizer.
LACKING: Final = frozenset(
    [
        "allowed",
        "authorizer",
        "check",
        "error",
        "errored",
        "fieldSelector",
        "group",
        "labelSelector",
        "path",
        "reason",
        "resource",
        "serviceAccount",
        "subresource",
    ]
)
IDENTIFIERS: Final = [
    "bool",
    "bytes",
    "double",
    "duration",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "timestamp",
    "type",
    "uint",
]

_OPERATORS: Final = """
    _?_:_(bool, A, A) -> A: conditional
    _&&_(bool, bool) -> bool: logical_and
    _||_(bool, bool) -> bool: logical_or
    !_(bool) -> bool: logical_not
    @not_strictly_false(bool) -> bool: not_strictly_false
    _==_(A, A) -> bool: equals
    _!=_(A, A) -> bool: not_equals
    _+_(bytes, bytes) -> bytes: add_bytes
    _+_(double, double) -> double: add_double
    _+_(duration, duration) -> duration: add_duration_duration
    _+_(duration, timestamp) -> timestamp: add_duration_timestamp
    _+_(timestamp, duration) -> timestamp: add_timestamp_duration
    _+_(int, int) -> int: add_int64
    _+_(list(A), list(A)) -> list(A): add_list
    _+_(string, string) -> string: add_string
    _+_(uint, uint) -> uint: add_uint64
    _/_(double, double) -> double: divide_double
    _/_(int, int) -> int: divide_int64
    _/_(uint, uint) -> uint: divide_uint64
    _%_(int, int) -> int: modulo_int64
    _%_(uint, uint) -> uint: modulo_uint64
    _*_(double, double) -> double: multiply_double
    _*_(int, int) -> int: multiply_int64
    _*_(uint, uint) -> uint: multiply_uint64
    -_(double) -> double: negate_double
    -_(int) -> int: negate_int64
    _-_(double, double) -> double: subtract_double
    _-_(duration, duration) -> duration: subtract_duration_duration
    _-_(int, int) -> int: subtract_int64
    _-_(timestamp, duration) -> timestamp: subtract_timestamp_duration
    _-_(timestamp, timestamp) -> duration: subtract_timestamp_timestamp
    _-_(uint, uint) -> uint: subtract_uint64
    @in(A, list(A)) -> bool: in_list
    @in(A, map(A, B)) -> bool: in_map
    _[_](list(A), int) -> A: index_list
    _[_](map(A, B), A) -> B: index_map
    _[_](optional_type(list(V)), int) -> optional_type(V): optional_list_index_int
    _[_](optional_type(map(K, V)), K) -> optional_type(V): optional_map_index_value
    _[?_](list(V), int) -> optional_type(V): list_optindex_optional_int
    _[?_](optional_type(list(V)), int) -> optional_type(V): optional_list_optindex_optional_int
    _[?_](map(K, V), K) -> optional_type(V): map_optindex_optional_value
    _[?_](optional_type(map(K, V)), K) -> optional_type(V): optional_map_optindex_optional_value
    _?._(dyn, string) -> optional_type(V): select_optional_field
"""

_STANDARD: Final = """
    size(bytes) -> int: size_bytes
    bytes.size() -> int: bytes_size
    size(list(A)) -> int: size_list
    list(A).size() -> int: list_size
    size(map(A, B)) -> int: size_map
    map(A, B).size() -> int: map_size
    size(string) -> int: size_string
    string.size() -> int: string_size
    type(A) -> type(A): type
    bool(bool) -> bool: bool_to_bool
    bool(string) -> bool: string_to_bool
    bytes(bytes) -> bytes: bytes_to_bytes
    bytes(string) -> bytes: string_to_bytes
    double(double) -> double: double_to_double
    double(int) -> double: int64_to_double
    double(string) -> double: string_to_double
    double(uint) -> double: uint64_to_double
    duration(duration) -> duration: duration_to_duration
    duration(int) -> duration: int64_to_duration
    duration(string) -> duration: string_to_duration
    dyn(A) -> dyn: to_dyn
    int(int) -> int: int64_to_int64
    int(double) -> int: double_to_int64
    int(duration) -> int: duration_to_int64
    int(string) -> int: string_to_int64
    int(timestamp) -> int: timestamp_to_int64
    int(uint) -> int: uint64_to_int64
    string(string) -> string: string_to_string
    string(bool) -> string: bool_to_string
    string(bytes) -> string: bytes_to_string
    string(double) -> string: double_to_string
    string(duration) -> string: duration_to_string
    string(int) -> string: int64_to_string
    string(timestamp) -> string: timestamp_to_string
    string(uint) -> string: uint64_to_string
    timestamp(timestamp) -> timestamp: timestamp_to_timestamp
    timestamp(int) -> timestamp: int64_to_timestamp
    timestamp(string) -> timestamp: string_to_timestamp
    uint(uint) -> uint: uint64_to_uint64
    uint(double) -> uint: double_to_uint64
    uint(int) -> uint: int64_to_uint64
    uint(string) -> uint: string_to_uint64
    string.contains(string) -> bool: contains_string
    string.endsWith(string) -> bool: ends_with_string
    string.startsWith(string) -> bool: starts_with_string
    matches(string, string) -> bool: matches
    string.matches(string) -> bool: matches_string
    timestamp.getDate() -> int: timestamp_to_day_of_month_1_based
    timestamp.getDate(string) -> int: timestamp_to_day_of_month_1_based_with_tz
    timestamp.getDayOfMonth() -> int: timestamp_to_day_of_month
    timestamp.getDayOfMonth(string) -> int: timestamp_to_day_of_month_with_tz
    timestamp.getDayOfWeek() -> int: timestamp_to_day_of_week
    timestamp.getDayOfWeek(string) -> int: timestamp_to_day_of_week_with_tz
    timestamp.getDayOfYear() -> int: timestamp_to_day_of_year
    timestamp.getDayOfYear(string) -> int: timestamp_to_day_of_year_with_tz
    timestamp.getFullYear() -> int: timestamp_to_year
    timestamp.getFullYear(string) -> int: timestamp_to_year_with_tz
    timestamp.getHours() -> int: timestamp_to_hours
    timestamp.getHours(string) -> int: timestamp_to_hours_with_tz
    duration.getHours() -> int: duration_to_hours
    timestamp.getMilliseconds() -> int: timestamp_to_milliseconds
    timestamp.getMilliseconds(string) -> int: timestamp_to_milliseconds_with_tz
    duration.getMilliseconds() -> int: duration_to_milliseconds
    timestamp.getMinutes() -> int: timestamp_to_minutes
    timestamp.getMinutes(string) -> int: timestamp_to_minutes_with_tz
    duration.getMinutes() -> int: duration_to_minutes
    timestamp.getMonth() -> int: timestamp_to_month
    timestamp.getMonth(string) -> int: timestamp_to_month_with_tz
    timestamp.getSeconds() -> int: timestamp_to_seconds
    timestamp.getSeconds(string) -> int: timestamp_to_seconds_tz
    duration.getSeconds() -> int: duration_to_seconds
"""

_EXTENSIONS: Final = """
    string.charAt(int) -> string: string_char_at_int
    string.indexOf(string) -> int: string_index_of_string
    string.indexOf(string, int) -> int: string_index_of_string_int
    list(A).indexOf(A) -> int: list_a_index_of_int
    string.lastIndexOf(string) -> int: string_last_index_of_string
    string.lastIndexOf(string, int) -> int: string_last_index_of_string_int
    list(A).lastIndexOf(A) -> int: list_a_last_index_of_int
    string.lowerAscii() -> string: string_lower_ascii
    string.replace(string, string) -> string: string_replace_string_string
    string.replace(string, string, int) -> string: string_replace_string_string_int
    string.split(string) -> list(string): string_split_string
    string.split(string, int) -> list(string): string_split_string_int
    string.substring(int) -> string: string_substring_int
    string.substring(int, int) -> string: string_substring_int_int
    string.trim() -> string: string_trim
    string.upperAscii() -> string: string_upper_ascii
    string.format(list(dyn)) -> string: string_format
    strings.quote(string) -> string: strings_quote
    list(string).join() -> string: list_join
    list(string).join(string) -> string: list_join_string
    string.find(string) -> string: string_find_string
    string.findAll(string) -> list(string): string_find_all_string
    string.findAll(string, int) -> list(string): string_find_all_string_int
    sets.contains(list(T), list(T)) -> bool: list_sets_contains_list
    sets.equivalent(list(T), list(T)) -> bool: list_sets_equivalent_list
    sets.intersects(list(T), list(T)) -> bool: list_sets_intersects_list
    list(T).slice(int, int) -> list(T): list_slice
    list(list(T)).flatten() -> list(T): list_flatten
    list(dyn).flatten(int) -> list(dyn): list_flatten_int
    lists.range(int) -> list(int): lists_range
    list(T).reverse() -> list(T): list_reverse
    list(T).distinct() -> list(T): list_distinct
    cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V): @mapInsert_map_map
    cel.@mapInsert(map(K, V), K, V) -> map(K, V): @mapInsert_map_key_value
    optional.of(V) -> optional_type(V): optional_of
    optional.ofNonZeroValue(V) -> optional_type(V): optional_ofNonZeroValue
    optional.none() -> optional_type(V): optional_none
    optional_type(V).value() -> V: optional_value
    optional_type(V).hasValue() -> bool: optional_hasValue
    optional_type(V).or(optional_type(V)) -> optional_type(V): optional_or_optional
    optional_type(V).orValue(V) -> V: optional_orValue_value
    list(V).last() -> optional_type(V): list_last
    list(V).first() -> optional_type(V): list_first
    optional.unwrap(list(optional_type(V))) -> list(V): optional_unwrap
    list(optional_type(V)).unwrapOpt() -> list(V): optional_unwrapOpt
"""

_KUBERNETES: Final = """
    quantity(string) -> kubernetes.Quantity: string_to_quantity
    isQuantity(string) -> bool: is_quantity_string
    sign(kubernetes.Quantity) -> int: quantity_sign
    kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool: quantity_is_greater_than
    kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool: quantity_is_less_than
    kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int: quantity_compare_to
    kubernetes.Quantity.asApproximateFloat() -> double: quantity_get_float
    kubernetes.Quantity.asInteger() -> int: quantity_get_int
    kubernetes.Quantity.isInteger() -> bool: quantity_is_integer
    kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity: quantity_add
    kubernetes.Quantity.add(int) -> kubernetes.Quantity: quantity_add_int
    kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity: quantity_sub
    kubernetes.Quantity.sub(int) -> kubernetes.Quantity: quantity_sub_int
    url(string) -> kubernetes.URL: string_to_url
    isURL(string) -> bool: is_url_string
    kubernetes.URL.getScheme() -> string: url_get_scheme
    kubernetes.URL.getHost() -> string: url_get_host
    kubernetes.URL.getHostname() -> string: url_get_hostname
    kubernetes.URL.getPort() -> string: url_get_port
    kubernetes.URL.getEscapedPath() -> string: url_get_escaped_path
    kubernetes.URL.getQuery() -> map(string, list(string)): url_get_query
    ip(string) -> net.IP: string_to_ip
    net.CIDR.ip() -> net.IP: cidr_ip
    isIP(string) -> bool: is_ip
    ip.isCanonical(string) -> bool: ip_is_canonical
    net.IP.family() -> int: ip_family
    net.IP.isUnspecified() -> bool: ip_is_unspecified
    net.IP.isLoopback() -> bool: ip_is_loopback
    net.IP.isLinkLocalMulticast() -> bool: ip_is_link_local_multicast
    net.IP.isLinkLocalUnicast() -> bool: ip_is_link_local_unicast
    net.IP.isGlobalUnicast() -> bool: ip_is_global_unicast
    string(net.IP) -> string: ip_to_string
    cidr(string) -> net.CIDR: string_to_cidr
    isCIDR(string) -> bool: is_cidr
    net.CIDR.containsIP(string) -> bool: cidr_contains_ip_string
    net.CIDR.containsIP(net.IP) -> bool: cidr_contains_ip_ip
    net.CIDR.containsCIDR(string) -> bool: cidr_contains_cidr_string
    net.CIDR.containsCIDR(net.CIDR) -> bool: cidr_contains_cidr
    net.CIDR.prefixLength() -> int: cidr_prefix_length
    net.CIDR.masked() -> net.CIDR: cidr_masked
    string(net.CIDR) -> string: cidr_to_string
    format.named(string) -> optional_type(kubernetes.NamedFormat): format-named
    kubernetes.NamedFormat.validate(string) -> optional_type(list(string)): format-validate
    semver(string) -> kubernetes.Semver: string_to_semver
    semver(string, bool) -> kubernetes.Semver: string_bool_to_semver
    isSemver(string) -> bool: is_semver_string
    isSemver(string, bool) -> bool: is_semver_string_bool
    kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool: semver_is_greater_than
    kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool: semver_is_less_than
    kubernetes.Semver.compareTo(kubernetes.Semver) -> int: semver_compare_to
    kubernetes.Semver.major() -> int: semver_major
    kubernetes.Semver.minor() -> int: semver_minor
    kubernetes.Semver.patch() -> int: semver_patch
"""

NAMED_FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ORDERED: Final = {"<": "less", "<=": "less_equals", ">": "greater", ">=": "greater_equals"}
_NUMBERS: Final = ("int", "uint", "double")
_SUMMABLE: Final = ("int", "uint", "double", "duration")
_OVERLOAD_NAMES: Final = {"int": "int64", "uint": "uint64"}


@cache
def functions() -> Mapping[str, tuple[Overload, ...]]:
    """Every function by name, with its overloads in the order in which they are tried."""
    found: dict[str, list[Overload]] = {}
    for table in (_OPERATORS, _STANDARD, _EXTENSIONS, _KUBERNETES):
        for line in table.strip().splitlines():
            name, overload = _overload(line.strip())
            found.setdefault(name, []).append(overload)
    for name, overload in (*_comparisons(), *_list_functions(), *_formats()):
        found.setdefault(name, []).append(overload)
    return {name: tuple(overloads) for name, overloads in found.items()}


def _overload(line: str) -> tuple[str, Overload]:
    call, _, rest = line.partition(") -> ")
    result, _, overload_id = rest.rpartition(": ")
    opening = _opening(call)
    target, name = _split_head(call[:opening])
    params = [parse_type(text) for text in _split_types(call[opening + 1 :])]
    if target:
        params.insert(0, parse_type(target))
    return name, Overload(overload_id, tuple(params), parse_type(result), bool(target))


def _opening(call: str) -> int:
    """The parenthesis that opens the parameters: the last one that is still open."""
    depth = 0
    for position in range(len(call) - 1, -1, -1):
        if call[position] == ")":
            depth += 1
        elif call[position] == "(":
            if depth == 0:
                return position
            depth -= 1
    raise AssertionError(f"{call!r} opens no parameters")


def _split_head(head: str) -> tuple[str, str]:
    """``string.charAt`` into target and name; names such as ``sets.contains`` have no target."""
    target, dot, name = head.rpartition(".")
    namespaces = ("sets", "lists", "strings", "optional", "cel", "ip", "format")
    if not dot or target in namespaces or not name.isidentifier():
        return "", head
    return target, name


def _split_types(text: str) -> list[str]:
    """The types between commas outside of parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _comparisons() -> list[tuple[str, Overload]]:
    found: list[tuple[str, Overload]] = []
    for operator, word in _ORDERED.items():
        pairs = [(kind, kind) for kind in _COMPARABLE]
        pairs += [(a, b) for a in _NUMBERS for b in _NUMBERS if a != b]
        for left, right in pairs:
            names = [_OVERLOAD_NAMES.get(kind, kind) for kind in (left, right)]
            suffix = names[0] if left == right else "_".join(names)
            params = (parse_type(left), parse_type(right))
            overload = Overload(f"{word}_{suffix}", params, parse_type("bool"), False)
            found.append((f"_{operator}_", overload))
    return found


def _list_functions() -> list[tuple[str, Overload]]:
    found: list[tuple[str, Overload]] = []
    for kind in _COMPARABLE:
        values = parse_type(f"list({kind})")
        one, yes = parse_type(kind), parse_type("bool")
        target = (values,)
        found += [
            ("isSorted", Overload(f"list_{kind}_is_sorted_bool", target, yes, True)),
            ("max", Overload(f"list_{kind}_max_{kind}", target, one, True)),
            ("min", Overload(f"list_{kind}_min_{kind}", target, one, True)),
            ("sort", Overload(f"list_{kind}_sort", target, values, True)),
        ]
        if kind in _SUMMABLE:
            found.append(("sum", Overload(f"list_{kind}_sum_{kind}", target, one, True)))
        anything = parse_type("list(T)")
        keyed = (anything, values)
        overload = Overload(f"list_{kind}_sortByAssociatedKeys", keyed, anything, True)
        found.append(("@sortByAssociatedKeys", overload))
    return found


def _formats() -> list[tuple[str, Overload]]:
    result = parse_type("kubernetes.NamedFormat")
    return [
        (f"format.{name}", Overload(f"format.{name}", (), result, False)) for name in NAMED_FORMATS
    ]
