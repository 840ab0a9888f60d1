"""``$(NAME)`` in commands and variables, by the rules of Kubernetes. Pure.

A name that is not known stays as it is written; ``$$`` is a dollar sign, so ``$$(NAME)`` is the
text ``$(NAME)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, *known: Mapping[str, str]) -> str:
    """``text`` with its references replaced; the first mapping that has a name wins."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "$"
        return next((values[name] for values in known if name in values), found[0])

    return _REFERENCE.sub(replaced, text)
