"""The search for small networks compiled by numba, the first time it is asked for."""

from __future__ import annotations

from typing import Any

from csp.compiled import compile_together
from csp.solve.small import flow as bitflow
from csp.solve.small import many as cases
from csp.solve.small import search as hitting

__all__ = ["NAMES", "compiled"]

NAMES = (
    *("spread", "crossing", "augment", "push", "probe"),
    *("ascend", "lone_lines", "by_size", "ascend_further", "search", "fill", "start"),
    *("holds", "chosen_cost", "beaten", "solve_many", "decide", "decide_many"),
)

_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of functions of `bitflow`, `hitting` and `cases`, by name."""
    if not _compiled:
        bits = _bit_counts()
        _compiled.update(bits | compile_together((bitflow, hitting, cases), NAMES, bits))
    return _compiled


def _bit_counts() -> dict[str, Any]:
    """`lowest` and `size` as single machine instructions."""
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def lowest(_context: Any, mask: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], cgutils.true_bit)

        return types.int64(types.uint64), generate

    def size(_context: Any, mask: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    return {"lowest": intrinsic(lowest), "size": intrinsic(size)}
