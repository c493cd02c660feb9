"""Names of a package that load when they are first used (SPEC 1 of Scientific Python)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import get_data
from typing import Any

from csp.names.calls import named
from csp.names.guesses import unknown_name


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package that is cheap to import.

    The stub ``__init__.pyi`` beside the package names everything that it offers, once, as type
    checkers and editors read it too: a line ``from package.module import name as name`` for each.
    A module of the package that is offered itself stands there as ``from package import module``,
    another package as ``import package as package``, and all that another one offers as
    ``from package import *``.
    No other module of the package may share its name with one of them: importing it would hide it.

    What is offered names wrong arguments (`csp.names.calls.named`).

    Parameters
    ----------
    package : str

    Returns
    -------
    get, names : callable
    offered : list of str
        Names that the stub imports from modules, but for those of modules of Python's own.
    """
    home = dict(_offered(package))

    def get(name: str) -> Any:
        if name not in home:
            raise unknown_name("module " + repr(package), name, home)
        if not home[name]:
            return import_module(name)
        if home[name] == package:
            return import_module(f"{package}.{name}")
        module = import_module(home[name])
        for beside in getattr(module, "__all__", ()):
            if isinstance(getattr(module, beside), type):  # results of a function, often
                named(module, beside)
        value = named(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    # What `from package import *` brings must not hide a module of Python's own: csp.inspect.
    offered = {name for name, module in home.items() if module != package}
    return get, names, sorted(offered - sys.stdlib_module_names)


def _offered(package: str) -> Iterator[tuple[str, str]]:
    """Yield what a stub names, each with the module where it is found; "" for a package itself."""
    stub = get_data(package, "__init__.pyi")  # from an archive too
    assert stub is not None
    for line in ast.parse(stub).body:
        if isinstance(line, ast.Import):
            yield from ((alias.name, "") for alias in line.names)
        elif isinstance(line, ast.ImportFrom) and line.module is not None:
            for alias in line.names:
                if alias.name == "*":
                    yield from ((name, line.module) for name, _ in _offered(line.module))
                else:
                    yield alias.name, line.module
