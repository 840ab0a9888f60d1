"""What calling a function costs at most, by function and overload: the server's table.

The numbers are part of the API: a rule above the limit cannot be created, so they are taken over
as they are, oddities included. Before: `sizes`. After: `cost`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from konstat.embedded.cel.sizes import MOST, ZERO, Span, fixed
from konstat.embedded.cel.tree import Call, Literal, Node

if TYPE_CHECKING:
    from konstat.embedded.cel.cost import Coster

TRAVERSAL: Final = 0.1  # of one character
REGEX: Final = 0.25  # of one character of a pattern
_LIST_BASE: Final = 10
_FORMAT_NAME: Final = 64
_FORMAT_REGEX: Final = 128


class CallCost(NamedTuple):
    """The cost of a call and the size of its result, if it has one that is known."""

    cost: Span
    size: Span | None = None


class Context(NamedTuple):
    """One call: the target before the point, if any, and the arguments."""

    coster: Coster
    node: Call
    overload: str
    target: Node | None
    args: Sequence[Node]

    def size(self, node: Node) -> Span:
        """The size of an argument; the widest span when it is not known."""
        return self.coster.size_or_unknown(node)


def estimate(
    coster: Coster,
    node: Call,
    name: str,
    overload: str,
    target: Node | None,
    arg_costs: Sequence[Span],
) -> CallCost:
    """The cost of one overload of a call, the costs of its arguments included."""
    context = Context(coster, node, overload, target, node.args)
    together = _sum(arg_costs)
    for table, entry in ((_OVERLOADS, overload), (_FUNCTIONS, name)):
        found = table[entry](context) if entry in table else None
        if found is not None:
            return CallCost(found.cost.plus(together), found.size)
    if overload in ("logical_and", "logical_or"):
        left, right = arg_costs[0], _sum(arg_costs[1:])
        return CallCost(Span(left.least, left.plus(right).most))
    if overload == "conditional":
        return _conditional(context, arg_costs)
    return CallCost(fixed(1).plus(together))


def _sum(costs: Sequence[Span]) -> Span:
    total = ZERO
    for cost in costs:
        total = total.plus(cost)
    return total


def _conditional(context: Context, arg_costs: Sequence[Span]) -> CallCost:
    yes, no = context.args[1], context.args[2]
    entries = context.coster.entries(yes)
    if entries is not None:
        context.coster.set_entries(context.node, entries.union(context.coster.entries(no)))
    size = context.size(yes).union(context.size(no))
    return CallCost(arg_costs[0].plus(arg_costs[1].union(arg_costs[2])), size)


# --- standard functions, by overload ----------------------------------------------------------


def _target_traversal(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    return CallCost(context.size(context.target).scaled(TRAVERSAL))


def _argument_traversal(context: Context) -> CallCost:
    return CallCost(context.size(context.args[0]).scaled(TRAVERSAL))


def _to_bytes(context: Context) -> CallCost:
    size = context.size(context.args[0])
    result = Span(size.least, (size.most * 4) % (MOST + 1))
    return CallCost(size.scaled(TRAVERSAL), result)


def _from_bytes(context: Context) -> CallCost:
    size = context.size(context.args[0])
    return CallCost(size.scaled(TRAVERSAL), Span(size.least // 4, size.most))


def _quote(context: Context) -> CallCost:
    size = context.size(context.args[0])
    result = Span(size.least + 2, (size.most * 2 + 2) % (MOST + 1))
    return CallCost(size.scaled(TRAVERSAL), result)


def _in_list(context: Context) -> CallCost:
    return CallCost(context.size(context.args[1]).scaled(1))


def _matches(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    text = context.size(context.target).plus(fixed(1)).scaled(TRAVERSAL)
    return CallCost(text.times(context.size(context.args[0]).scaled(REGEX)))


def _contains(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    text = context.size(context.target).scaled(TRAVERSAL)
    return CallCost(text.times(context.size(context.args[0]).scaled(TRAVERSAL)))


def _add(context: Context) -> CallCost:
    left, right = context.args
    size = context.size(left).plus(context.size(right))
    entries = context.coster.entries(left)
    if entries is not None:
        context.coster.set_entries(context.node, entries.union(context.coster.entries(right)))
    if context.overload == "add_list":
        return CallCost(fixed(1), size)
    return CallCost(size.scaled(TRAVERSAL), size)


def _compare(context: Context) -> CallCost:
    sizes = [context.size(arg) for arg in context.args]
    most = min(size.most for size in sizes)
    return CallCost(Span(1 if most > 0 else 0, most).scaled(TRAVERSAL))


# --- lists and sets, by overload --------------------------------------------------------------


def _list_call(factor: float, size: Span) -> CallCost:
    return CallCost(size.scaled(factor).plus(fixed(1 + _LIST_BASE)), size)


def _integer(node: Node, otherwise: int) -> int:
    if isinstance(node, Literal) and isinstance(node.value, int):
        return otherwise if isinstance(node.value, bool) else max(0, node.value)
    return otherwise


def _slice(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    start = _integer(context.args[0], 0)
    end = _integer(context.args[1], context.size(context.target).most)
    return _list_call(1, fixed((end - start) % (MOST + 1)))


def _range(context: Context) -> CallCost:
    return _list_call(1, fixed(_integer(context.args[0], MOST)))


def _reverse(context: Context) -> CallCost | None:
    return None if context.target is None else _list_call(1, context.size(context.target))


def _flatten(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    depth = _integer(context.args[0], MOST) if context.args else 1
    return _list_call(float(depth), context.size(context.target))


def _distinct(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    size = context.size(context.target)
    return _list_call(2, size.times(size))


def _sort(context: Context) -> CallCost | None:
    by_keys = context.overload.endswith("_sortByAssociatedKeys")
    node = context.args[0] if by_keys else context.target
    if node is None:
        return None
    kind = context.overload.split("_")[1]
    size = context.size(node)
    return _list_call(2 + (TRAVERSAL if kind in ("string", "bytes") else 0), size.times(size))


def _sets(factor: float) -> Callable[[Context], CallCost]:
    def estimated(context: Context) -> CallCost:
        left, right = (context.size(arg) for arg in context.args)
        return CallCost(left.times(right).scaled(factor).plus(fixed(1)))

    return estimated


# --- libraries of Kubernetes, by function -----------------------------------------------------


def _nominal(context: Context) -> CallCost:
    return CallCost(fixed(1))


def _search(context: Context) -> CallCost | None:
    """isSorted, sum, min, max, indexOf: each entry once, and its text."""
    if context.target is None:
        return None
    size = context.size(context.target)
    element = context.coster.element_size(context.target)
    if element is None:
        return CallCost(size.scaled(TRAVERSAL))
    kind, inner = element
    each = fixed(1)
    if kind.kind in ("string", "bytes"):
        each = each.plus(inner.scaled(TRAVERSAL))
    return CallCost(size.times(each))


def _url(context: Context) -> CallCost:
    size = context.size(context.args[0])
    return CallCost(size.scaled(TRAVERSAL), size)


def _same_text(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    size = context.size(context.target)
    return CallCost(size.scaled(TRAVERSAL), size)


def _replace(context: Context) -> CallCost | None:
    if context.target is None or len(context.args) < 2:
        return None
    size, old, new = (context.size(one) for one in (context.target, *context.args[:2]))
    if old.least == 0:
        most, kept_most = min(size.most + 1, MOST), size.most
    elif new.most <= old.least:
        most, kept_most = 0, size.most
    else:
        most, kept_most = _quotient(size.most, old.least), 0
    if old.most == 0:
        least, kept_least = min(size.least + 1, MOST), size.least
    elif old.most <= new.least:
        least, kept_least = 0, size.least
    else:
        least, kept_least = _quotient(size.least, old.most), 0
    result = Span(least, most).times(new).plus(Span(kept_least, kept_most))
    return CallCost(size.scaled(2 * TRAVERSAL), result)


def _quotient(amount: int, divisor: int) -> int:
    return min(math.ceil(float(amount) / float(divisor)), MOST)


def _split(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    size = context.size(context.target)
    most = size.most
    if len(context.args) > 1:
        limit = context.args[1]
        if isinstance(limit, Literal) and isinstance(limit.value, int):
            most = limit.value % (MOST + 1)
    return CallCost(size.scaled(2 * TRAVERSAL), Span(0, most))


def _join(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    count, size = context.size(context.target), ZERO
    element = context.coster.element_size(context.target)
    if element is not None:
        size = count.times(element[1])
    if context.args:
        between = Span(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(context.size(context.args[0]).times(between))
    return CallCost(size.scaled(TRAVERSAL), size)


def _find(context: Context) -> CallCost | None:
    if context.target is None:
        return None
    size = context.size(context.target)
    text = size.plus(fixed(1)).scaled(TRAVERSAL)
    cost = text.times(context.size(context.args[0]).scaled(REGEX))
    return CallCost(cost, Span(0, size.most))


def _parsed(context: Context) -> CallCost:
    """A text that is read: cidr(), quantity(), semver() and their tests."""
    return CallCost(context.size(context.args[0]).scaled(TRAVERSAL))


def _ip(context: Context) -> CallCost:
    return _nominal(context) if context.overload == "cidr_ip" else _parsed(context)


def _canonical(context: Context) -> CallCost:
    return CallCost(context.size(context.args[0]).scaled(2 * TRAVERSAL))


def _within(context: Context) -> CallCost:
    """containsIP and containsCIDR: addresses have 4 or 16 bytes."""
    address = Span(4, 16)
    cost = address.plus(address).scaled(TRAVERSAL)
    if context.overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(address.scaled(TRAVERSAL)).plus(fixed(1))
    if context.overload.endswith("_string"):
        cost = cost.plus(context.size(context.args[0]).scaled(TRAVERSAL))
    return CallCost(cost)


def _validate(context: Context) -> CallCost:
    size = context.size(context.args[0])
    return CallCost(size.scaled(TRAVERSAL).scaled(_FORMAT_REGEX * REGEX))


def _equal(context: Context) -> CallCost | None:
    """Equality of the types of libraries; None for all others."""
    left, right = (context.coster.type_of(arg) for arg in context.args)
    if left != right or left.kind != "opaque":
        return None
    if left.name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
        return CallCost(fixed(1))
    if left.name == "kubernetes.NamedFormat":
        return CallCost(Span(1, _FORMAT_NAME).scaled(TRAVERSAL))
    if left.name == "kubernetes.URL":
        size = context.coster.size(context.args[1])
        most = 1 if size is None else size.most
        return CallCost(Span(1, most).scaled(TRAVERSAL))
    return None


Estimator = Callable[[Context], CallCost | None]
_ORDER_WORDS: Final = ("less", "greater", "less_equals", "greater_equals")
_KINDS: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")

_OVERLOADS: Final[Mapping[str, Estimator]] = {
    "string_format": _target_traversal,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _from_bytes,
    "strings_quote": _quote,
    "starts_with_string": _argument_traversal,
    "ends_with_string": _argument_traversal,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _add,
    "add_bytes": _add,
    "add_list": _add,
    "not_equals": _compare,
    **{f"{word}_{kind}": _compare for word in _ORDER_WORDS for kind in ("string", "bytes")},
    "equals": lambda context: _equal(context) or _compare(context),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **{f"list_{kind}_sort": _sort for kind in _KINDS},
    **{f"list_{kind}_sortByAssociatedKeys": _sort for kind in _KINDS},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
_NOMINAL: Final = (
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast"
    " isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan"
    " isLessThan compareTo add sub major minor patch getScheme getHostname getHost getPort"
    " getEscapedPath getQuery"
)
_FUNCTIONS: Final[Mapping[str, Estimator]] = {
    **dict.fromkeys(_NOMINAL.split(), _nominal),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _search),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_text),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _parsed),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _parsed),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("containsIP", "containsCIDR"), _within),
    "url": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _canonical,
    "validate": _validate,
}
