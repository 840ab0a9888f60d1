"""The only source of randomness: seeded in tests and simulations, system entropy otherwise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_current: ContextVar[random.Random] = ContextVar("konstat_chance", default=random.SystemRandom())


def uniform(low: float, high: float) -> float:
    """A number between ``low`` and ``high``."""
    return _current.get().uniform(low, high)


def suffix(length: int = 5) -> str:
    """Letters and digits as the API server uses for generateName (no vowels, no 0, 1, 3)."""
    source = _current.get()
    return "".join(source.choice(_LETTERS) for _ in range(length))


def uuid() -> str:
    """A random UUID (version 4), as the API server gives to objects."""
    bits = _current.get().getrandbits(128)
    bits = bits & ~(0xF << 76) | (0x4 << 76)
    bits = bits & ~(0x3 << 62) | (0x2 << 62)
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@contextmanager
def use_seed(seed: int) -> Iterator[None]:
    """Draw from ``seed`` in this context and the tasks started from it."""
    token = _current.set(random.Random(seed))
    try:
        yield
    finally:
        _current.reset(token)
