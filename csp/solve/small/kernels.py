"""The search for small networks, as numba compiles it."""

from __future__ import annotations

from typing import Any

from csp.compiled import Kernels

HOMES = ("csp.solve.small.flow", "csp.solve.small.search", "csp.solve.small.many")

# Called at each node, where a call would take a twentieth of the time of small tables.
_STEPS = ("push", "pay_all", "probe_all", "too_expensive", "shrink", "pick_cell")


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


KERNELS = Kernels(
    HOMES[-1],
    *("spread", "crossing", "augment", "probe"),
    *("ascend", "lone_lines", "by_size", *_STEPS, "ascend_further", "search", "fill", "start"),
    *("holds", "chosen_cost", "beaten", "solve_many", "decide", "decide_many"),
    beside=HOMES[:-1],
    inlined=_STEPS,
    built=_bit_counts,
    compiling=3.0,
)
