"""For hypothesis: schemas of the supported keywords, values that nearly fit, and rules.

Everything is small, so that refusals and acceptances are both frequent.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]
WORDS = st.sampled_from(["", "a", "b", "ab", "abc", "1", "é", "10.0.0.1", "2020-01-01", "1h"])
WHOLE = st.integers(-2, 6)
NUMBERS = WHOLE | st.sampled_from([0.5, 1.5, 2.0, 2.5, -1.5])
NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.none() | st.booleans() | NUMBERS | WORDS


def json_values(leaves: int = 6) -> st.SearchStrategy[Any]:
    """Any small JSON."""
    return st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=leaves,
    )


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


def _joined(*parts: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    return st.tuples(*parts).map(lambda dicts: {k: v for one in dicts for k, v in one.items()})


STRING_LIMITS = some(
    minLength=st.integers(0, 3),
    maxLength=st.integers(0, 3),
    pattern=st.sampled_from(["^a", "b$", "^[a-z]*$"]),
    enum=st.lists(WORDS, min_size=1, max_size=3, unique=True),
    format=st.sampled_from(["date", "duration", "ipv4", "byte", "uuid", "date-time", "email"]),
)
NUMBER_LIMITS = some(
    minimum=WHOLE,
    maximum=WHOLE,
    exclusiveMinimum=st.booleans(),
    exclusiveMaximum=st.booleans(),
    multipleOf=st.integers(1, 3),
)
MAYBE_NULL = some(nullable=st.booleans())
LOGIC_LEAF = some(
    minLength=st.integers(0, 3),
    maxLength=st.integers(0, 3),
    minimum=WHOLE,
    maximum=WHOLE,
    enum=st.lists(LEAVES.filter(lambda leaf: leaf is not None), min_size=1, max_size=2),
    required=st.lists(NAMES, min_size=1, max_size=2, unique=True),
    minItems=st.integers(0, 2),
    maxProperties=st.integers(0, 2),
)
LOGIC = some(
    anyOf=st.lists(LOGIC_LEAF, min_size=1, max_size=2),
    oneOf=st.lists(LOGIC_LEAF, min_size=1, max_size=2),
    allOf=st.lists(LOGIC_LEAF, min_size=1, max_size=2),
)


def _of(name: str) -> st.SearchStrategy[Object]:
    return st.just({"type": name})


SCALAR = st.one_of(
    _joined(_of("string"), STRING_LIMITS, MAYBE_NULL),
    _joined(_of("integer"), NUMBER_LIMITS, MAYBE_NULL),
    _joined(_of("number"), NUMBER_LIMITS),
    _joined(_of("boolean"), MAYBE_NULL),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
    st.just({"type": "string", "default": "ab"}),
    st.just({"type": "integer", "default": 3}),
)


def _list(items: Object) -> st.SearchStrategy[Object]:
    limits = some(minItems=st.integers(0, 2), maxItems=st.integers(1, 3))
    return _joined(st.just({"type": "array", "items": items}), limits, MAYBE_NULL)


def _set(items: Object) -> Object:
    return {"type": "array", "items": items, "x-kubernetes-list-type": "set"}


KEYED = SCALAR.map(
    lambda value: {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
        "items": {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": value},
        },
    }
)


def _object(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    named = _joined(
        _of("object"),
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=3)}),
        some(
            required=st.lists(NAMES, min_size=1, max_size=2, unique=True),
            minProperties=st.integers(0, 2),
            nullable=st.booleans(),
        ),
        st.sampled_from([{}, {}, {"x-kubernetes-preserve-unknown-fields": True}]),
        LOGIC,
    )
    mapped = _joined(
        _of("object"),
        st.fixed_dictionaries({"additionalProperties": inner}),
        some(maxProperties=st.integers(0, 2)),
    )
    return named | mapped


SCHEMAS = (
    st.recursive(
        SCALAR,
        lambda inner: (
            inner.flatmap(_list) | st.sampled_from([{"type": "string"}]).map(_set) | _object(inner)
        ),
        max_leaves=5,
    )
    | KEYED
)


def root(spec: Object) -> Object:
    return {"type": "object", "properties": {"spec": spec}}


def fitting(schema: Object) -> st.SearchStrategy[Any]:
    """Values that have the form which a schema asks for, most of the time."""
    return st.one_of(_shaped(schema), _shaped(schema), _shaped(schema), json_values(3))


def _shaped(schema: Object) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties") or {}
        fields = {name: fitting(inner) for name, inner in properties.items()}
        known = st.fixed_dictionaries({}, optional=fields)
        others = schema.get("additionalProperties")
        rest = fitting(others) if isinstance(others, dict) else LEAVES
        return st.tuples(st.dictionaries(NAMES, rest, max_size=1), known).map(
            lambda pair: {**pair[0], **pair[1]}
        )
    if kind == "array":
        return st.lists(fitting(schema["items"]), max_size=3)
    leaves = {"string": WORDS, "integer": WHOLE, "number": NUMBERS, "boolean": st.booleans()}
    return leaves.get(kind or "", LEAVES)


# --- rules ------------------------------------------------------------------------------------

RULE_NODE: Object = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "maxLength": 5},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "l": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
        "ls": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 3}},
        "m": {
            "type": "object",
            "maxProperties": 3,
            "additionalProperties": {"type": "string", "maxLength": 3},
        },
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "e": {"x-kubernetes-int-or-string": True},
        "t": {"type": "string", "format": "date-time"},
        "d": {"type": "string", "format": "duration"},
    },
}
_ATOMS = [
    *["self.s", "self.i", "self.n", "self.b", "self.l", "self.ls", "self.m", "self.o", "self.e"],
    *["self.t", "self.d", "self.o.x", "self.l[0]", "self.ls[1]", "self.m['a']", "self.?s", "'a'"],
    *["1", "2", "1.5", "true", "null", "''", "[1, 2]", "['a']", "{'a': 'b'}", "b'a'", "1u"],
    *["timestamp('2020-01-01T00:00:00Z')", "duration('1h')", "quantity('1Gi')", "oldSelf.i"],
]
_FORMS = [
    *["({0}) == ({1})", "({0}) != ({1})", "({0}) < ({1})", "({0}) + ({1})", "({0}) && ({1})"],
    *["({0}) || ({1})", "!({0})", "-({0})", "({0}) * ({1})", "({0}) in ({1})", "size({0})"],
    *["({0}).size()", "({0}).contains({1})", "({0}).startsWith({1})", "string({0})", "int({0})"],
    *["({0}).all(v, v == {1})", "({0}).exists(v, v != {1})", "({0}).map(v, {1})", "type({0})"],
    *["({0}).filter(v, {1})", "({0}) ? ({1}) : false", "({0}).exists_one(v, v == {1})"],
    *["({0}).isSorted()", "({0}).sum()", "({0}).indexOf({1})", "({0}).orValue({1})"],
    *["({0}).hasValue()", "({0}).lowerAscii()", "({0}).matches('a')", "({0}) - ({1})"],
    *["({0}) / ({1})", "({0}) % ({1})", "({0}).min()", "({0}).split('a')", "dyn({0})"],
    *["has(self.o.x) && ({0})", "!has(self.s) || ({0})", "({0}).replace({1}, 'b')"],
]


def _formed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(_FORMS), inner, inner).map(
        lambda parts: parts[0].format(parts[1], parts[2])
    )


EXPRESSIONS = st.recursive(st.sampled_from(_ATOMS), _formed, max_leaves=4)
# What is compared is a truth value, whatever the sides are.
RULES = st.one_of(
    EXPRESSIONS,
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda pair: f"({pair[0]}) == ({pair[1]})"),
    EXPRESSIONS.map(lambda inner: f"dyn({inner}) == 1 || true"),
)
RULE_VALUES = some(
    s=WORDS,
    i=WHOLE,
    n=NUMBERS,
    b=st.booleans(),
    l=st.lists(WHOLE, max_size=3),
    ls=st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3),
    m=st.dictionaries(NAMES, st.sampled_from(["a", "b"]), max_size=2),
    o=some(x=WHOLE),
    e=WHOLE | WORDS,
    t=st.sampled_from(["2020-01-01T00:00:00Z", "2021-06-01T10:00:00.5+02:00"]),
    d=st.sampled_from(["1h", "90m", "-5s"]),
)
