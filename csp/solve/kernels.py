"""The search for small networks compiled by numba, the first time it is asked for."""

from __future__ import annotations

import hashlib
from typing import Any

from csp.solve import bitflow, cases, hitting

__all__ = ["NAMES", "compiled"]

NAMES = (
    *("spread", "crossing", "push", "probe"),
    *("ascend", "lone_lines", "by_size", "ascend_further", "search", "fill", "start"),
    *("holds", "chosen_cost", "solve_many", "decide_many"),
)

_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of functions of `bitflow`, `hitting` and `cases`, by name.

    The plain functions stay as they are: numba gets copies that see one another.
    """
    if _compiled:
        return _compiled
    from inspect import getsource
    from types import CellType, FunctionType

    import numba

    space: dict[str, Any] = {**vars(bitflow), **vars(hitting), **vars(cases)}
    plain = {name: space[name] for name in NAMES}
    space.update(_bit_counts())
    # A copy is cached by its own file, but holds what it calls: all files are in the key.
    sources = "".join(getsource(module) for module in (bitflow, hitting, cases))
    stamp = CellType(hashlib.blake2b(sources.encode()).hexdigest())
    for name, f in plain.items():
        code = f.__code__.replace(co_freevars=("stamp",))
        copy = FunctionType(code, space, name, None, (stamp,))
        copy.__module__ = f.__module__
        space[name] = numba.njit(cache=True)(copy)
    _compiled.update({name: space[name] for name in NAMES})
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
