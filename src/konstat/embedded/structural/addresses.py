"""IP and MAC addresses and networks as Go reads them: for formats and for CEL's ip() and cidr().

Python reads addresses a little more freely (zones) or strictly (leading zeros) than Go; these
functions close the difference. Before: nothing but the standard library.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_DOTTED: Final = re.compile(r"(?<![0-9A-Fa-f])[0-9]+(?:\.[0-9]+){3}\Z")
_ALLOWED: Final = re.compile(r"[0-9A-Fa-f:.]+")
_PREFIX: Final = re.compile(r"[0-9]{1,9}")
_MAC_COUNTS: Final = (6, 8, 20)


def parse_address(text: str) -> Address | None:
    """An address without zone, or None; IPv4 octets have no leading zeros."""
    if not _ALLOWED.fullmatch(text):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def parse_address_sloppy(text: str) -> Address | None:
    """The same, but leading zeros of IPv4 octets are dropped, as in Go before 1.17."""
    match = _DOTTED.search(text)
    if match:
        octets = (str(int(octet)) for octet in match[0].split(".") if len(octet) < 100)
        text = text[: match.start()] + ".".join(octets)
    return parse_address(text)


def parse_network(text: str, *, sloppy: bool = False) -> tuple[Address, int] | None:
    """The address and the length of the prefix of ``10.0.0.1/8``, or None."""
    host, slash, prefix = text.partition("/")
    address = parse_address_sloppy(host) if sloppy else parse_address(host)
    if address is None or not slash or not _PREFIX.fullmatch(prefix):
        return None
    if not sloppy and len(prefix) > 1 and prefix.startswith("0"):
        return None
    length = int(prefix)
    return (address, length) if length <= address.max_prefixlen else None


def is_mac(text: str) -> bool:
    """Whether Go's ``net.ParseMAC`` takes the text: EUI-48, EUI-64 or InfiniBand."""
    if len(text) < 12:
        return False
    separator, width = ("", 2)
    if text[2] in ":-":
        separator, width = text[2], 2
    elif text[4] == ".":
        separator, width = ".", 4
    groups = text.split(separator) if separator else re.findall("..?", text)
    if any(not re.fullmatch(f"[0-9A-Fa-f]{{{width}}}", group) for group in groups):
        return False
    return len(groups) * width // 2 in _MAC_COUNTS
