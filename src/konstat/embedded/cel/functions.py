"""Every function that a rule can call, by name; arguments include what stands before the point.

Before: `operators`, `functions_time`, `functions_text`, `functions_list`, `functions_kubernetes`.
After: `evaluator`. Each function checks its arguments, since int-or-string is only known at run
time, and raises `values.CelError` in cel-go's words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from konstat.embedded.cel import (
    functions_kubernetes,
    functions_list,
    functions_network,
    functions_text,
    functions_time,
    operators,
)

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    **operators.FUNCTIONS,
    **functions_time.FUNCTIONS,
    **functions_text.FUNCTIONS,
    **functions_list.FUNCTIONS,
    **functions_kubernetes.FUNCTIONS,
    **functions_network.FUNCTIONS,
}
