"""Names of a package that load when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package that costs next to nothing to import.

    Parameters
    ----------
    package : str
    homes : mapping of str to tuple of str
        Names by the module that holds them; a module without names is offered itself. No module of
        the package may share its name with one of them: importing the module would hide it.

    Returns
    -------
    get, names : callable
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if homes.get(f"{package}.{name}") == ():
            return import_module(f"{package}.{name}")
        if name not in home:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return get, names
