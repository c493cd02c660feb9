"""The search for small networks compiled by numba, the first time it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from csp.solve import bitflow, cases, hitting

__all__ = ["NAMES", "compiled", "twins"]

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
        _compiled.update(bits | twins((bitflow, hitting, cases), NAMES, bits))
    return _compiled


def twins(
    modules: tuple[ModuleType, ...], names: tuple[str, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Compile copies of plain functions that see one another; the plain ones stay as they are.

    Parameters
    ----------
    modules : tuple of module
        Where the functions are; a change of any of these files compiles all anew.
    names : tuple of str
        Functions to compile.
    given : mapping of str to function
        Compiled functions that take the place of plain ones of the same name.

    Returns
    -------
    dict of str to function
    """
    from inspect import getsource
    from types import CellType, FunctionType

    import numba

    space: dict[str, Any] = {}
    for module in modules:
        space |= vars(module)
    plain = {name: space[name] for name in names}
    space |= given
    # A copy is cached by its own file, but holds what it calls: all files are in the key.
    sources = "".join(getsource(module) for module in modules)
    stamp = CellType(hashlib.blake2b(sources.encode()).hexdigest())
    for name, f in plain.items():
        code = f.__code__.replace(co_freevars=("stamp",))
        copy = FunctionType(code, space, name, f.__defaults__, (stamp,))
        copy.__module__ = f.__module__
        space[name] = numba.njit(cache=True)(copy)
    return {name: space[name] for name in names}


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
