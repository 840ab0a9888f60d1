"""Kubernetes' libraries for rules: URLs, IP addresses and networks.

Before: `operators`, `addresses`, `golang_url`. After: `functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import IPv6Address, ip_network
from typing import Final

from konstat.embedded.cel.operators import no_overload
from konstat.embedded.cel.values import CelError, ListValue, MapValue, Value
from konstat.embedded.status_errors import quoted
from konstat.embedded.structural.addresses import Address, parse_address, parse_network
from konstat.embedded.structural.golang_url import URL, URLError, parse_request_uri


class URLValue:
    """``url('https://example.com')``."""

    type_name = "kubernetes.URL"

    def __init__(self, url: URL) -> None:
        self.url = url

    def same(self, other: Value) -> bool:
        """Whether another URL is the same."""
        return isinstance(other, URLValue) and self.url == other.url


class IPValue:
    """``ip('10.0.0.1')``."""

    type_name = "net.IP"

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def size(self) -> int:
        """Bytes of the address."""
        return self.address.max_prefixlen // 8

    def same(self, other: Value) -> bool:
        """Whether another address is the same."""
        return isinstance(other, IPValue) and self.address == other.address

    def text(self) -> str:
        """The address in its canonical form."""
        return str(self.address)


class CIDRValue:
    """``cidr('10.0.0.0/8')``: the address is kept as it was given."""

    type_name = "net.CIDR"

    def __init__(self, address: Address, length: int) -> None:
        self.address = address
        self.length = length

    @property
    def size(self) -> int:
        """Bytes of the prefix."""
        return -(-self.length // 8)

    def same(self, other: Value) -> bool:
        """Whether another network is the same, host bits included."""
        return (
            isinstance(other, CIDRValue)
            and self.address == other.address
            and self.length == other.length
        )

    def text(self) -> str:
        """The network as a text."""
        return f"{self.address}/{self.length}"

    def holds(self, address: Address, length: int) -> bool:
        """Whether a network of this length or longer begins with this one's prefix."""
        if address.version != self.address.version or length < self.length:
            return False
        shift = self.address.max_prefixlen - self.length
        return int(address) >> shift == int(self.address) >> shift


# --- URLs -------------------------------------------------------------------------------------


def _parsed_url(text: Value) -> URL:
    if not isinstance(text, str):
        raise no_overload(text)
    return parse_request_uri(text)


def _url(text: Value) -> URLValue:
    try:
        parsed = _parsed_url(text)
        # A fragment is part of no URI for requests, but of what the URL is then read as.
        return URLValue(parse_request_uri(text.partition("#")[0]) if "#" in text else parsed)
    except URLError as error:
        problem = f"parse {quoted(text)}: {error}"
        raise CelError(f"URL parse error during conversion from string: {problem}") from error


def _is_url(text: Value) -> bool:
    try:
        _parsed_url(text)
    except URLError:
        return False
    return True


def _url_part(name: str, value: Value) -> str:
    if not isinstance(value, URLValue):
        raise no_overload(value)
    return str(getattr(value.url, name))


def _query(value: Value) -> MapValue:
    if not isinstance(value, URLValue):
        raise no_overload(value)
    return MapValue([(name, ListValue(found)) for name, found in value.url.values().items()])


# --- addresses and networks -------------------------------------------------------------------


def _read_address(text: Value) -> Address:
    if not isinstance(text, str):
        raise no_overload(text)
    address = parse_address(text.partition("%")[0])
    if address is None:
        problem = f"ParseAddr({quoted(text)}): unable to parse IP"
        raise CelError(
            f"IP Address {quoted(text)} parse error during conversion from string: {problem}"
        )
    if "%" in text:
        raise CelError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return address


def _is_mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _ip(value: Value) -> IPValue:
    if isinstance(value, CIDRValue):
        return IPValue(value.address)
    return IPValue(_read_address(value))


def _is_ip(text: Value) -> bool:
    try:
        _read_address(text)
    except CelError:
        if not isinstance(text, str):
            raise
        return False
    return True


def _read_network(text: Value) -> CIDRValue:
    if not isinstance(text, str):
        raise no_overload(text)
    found = parse_network(text)
    prefix = "network address parse error during conversion from string: "
    if found is None:
        problem = f"netip.ParsePrefix({quoted(text)}): unable to parse"
        raise CelError(f"{prefix}{prefix}{problem}")
    if _is_mapped(found[0]):
        raise CelError(f"{prefix}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDRValue(*found)


def _is_cidr(text: Value) -> bool:
    try:
        _read_network(text)
    except CelError:
        if not isinstance(text, str):
            raise
        return False
    return True


def _address(value: Value) -> Address:
    if not isinstance(value, IPValue):
        raise no_overload(value)
    return value.address


def _network(value: Value) -> CIDRValue:
    if not isinstance(value, CIDRValue):
        raise no_overload(value)
    return value


def _contains_ip(value: Value, other: Value) -> bool:
    network = _network(value)
    address = _read_address(other) if isinstance(other, str) else _address(other)
    return network.holds(address, address.max_prefixlen)


def _contains_cidr(value: Value, other: Value) -> bool:
    inner = _read_network(other) if isinstance(other, str) else _network(other)
    return _network(value).holds(inner.address, inner.length)


def _masked(value: Value) -> CIDRValue:
    network = _network(value)
    masked = ip_network((network.address, network.length), strict=False)
    return CIDRValue(masked.network_address, network.length)


def _link_local(multicast: bool, value: Value) -> bool:
    address = _address(value)
    if not multicast:
        return address.is_link_local
    if isinstance(address, IPv6Address):
        return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02
    return address.packed[:3] == b"\xe0\x00\x00"


def _is_global_unicast(value: Value) -> bool:
    address = _address(value)
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )


_UNARY: Final[Mapping[str, Callable[[Value], Value]]] = {
    "ip.isCanonical": lambda text: str(_read_address(text)) == text,
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "prefixLength": lambda value: _network(value).length,
}
FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    **_UNARY,
    "url": _url,
    "isURL": _is_url,
    "getScheme": partial(_url_part, "scheme"),
    "getHost": partial(_url_part, "host"),
    "getHostname": partial(_url_part, "hostname"),
    "getPort": partial(_url_part, "port"),
    "getEscapedPath": partial(_url_part, "path"),
    "getQuery": _query,
    "ip": _ip,
    "isIP": _is_ip,
    "isLinkLocalMulticast": partial(_link_local, True),
    "isLinkLocalUnicast": partial(_link_local, False),
    "isGlobalUnicast": _is_global_unicast,
    "cidr": _read_network,
    "isCIDR": _is_cidr,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "masked": _masked,
}
