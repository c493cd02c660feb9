"""One door to numba: plain functions compiled together, anew whenever any of their files changes.

The functions stay plain Python: uncompiled they are the oracle of the compiled ones. What numba
keeps on disk is keyed by the file of one function alone, but holds the code of all that it calls;
here every file involved is in the key.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

__all__ = ["compile_together"]

_stamps: dict[int, tuple[Any, str]] = {}


def compile_together(
    modules: tuple[ModuleType, ...],
    names: tuple[str, ...],
    given: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> dict[str, Any]:
    """Compile copies of plain functions that see one another; the plain ones stay as they are.

    Parameters
    ----------
    modules : tuple of module
        Where the functions are; a change of any of these files compiles all anew.
    names : tuple of str
        Functions to compile.
    given : mapping of str to function
        Compiled functions that take the place of plain ones of the same name; a change of their
        files compiles all anew as well.
    **options
        Of ``numba.njit``.

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
    parts = (*modules, sys.modules[__name__])
    sources = [module.__name__ + getsource(module) for module in parts]
    sources += [f"{name} {_stamp_of(f)}" for name, f in sorted(given.items())]
    stamp = hashlib.blake2b("\0".join(sources).encode()).hexdigest()
    for name, f in plain.items():
        # numba's key holds the contents of closures.
        code = f.__code__.replace(co_freevars=("stamp",))
        copy = FunctionType(code, space, name, f.__defaults__, (CellType(stamp),))
        copy.__module__ = f.__module__
        # What is on disk names modules by where they were: after an upgrade that moved one, numba
        # cannot even read it. So every version has files of its own.
        copy.__qualname__ = f"{name}_{stamp[:12]}"
        space[name] = numba.njit(cache=True, **options)(copy)
        _stamps[id(space[name])] = space[name], stamp
    return {name: space[name] for name in names}


def _stamp_of(given: Any) -> str:
    """Return what a compiled function was made of."""
    from inspect import getsource

    if id(given) in _stamps:
        return _stamps[id(given)][1]
    # An intrinsic: the file that builds it.
    return getsource(sys.modules[given.__module__])
