"""CPU seconds of every public example, in a process that has compiled nothing yet.

`python -m tests.support.cold_examples` prints them as JSON, by name. Imports come before.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

PACKAGES = ("csp", "attacks", "microagg", "instances")
LIBRARIES = (
    "numba", "pandas", "duckdb", "highspy", "pulp", "networkx", "sympy", "flint", "narwhals",
    "scipy.sparse", "scipy.spatial", "scipy.optimize", "scipy.stats", "numpy.ma", "matplotlib",
)  # fmt: skip
README = Path(__file__).resolve().parents[2] / "README.md"


def public(home: ModuleType) -> Iterator[Any]:
    """Functions and classes that a package offers, itself or by the modules that it offers."""
    for name in {*getattr(home, "__all__", ()), *dir(home)}:
        thing = getattr(home, name)
        if isinstance(thing, ModuleType):
            inside = thing.__name__.startswith(f"{home.__name__}.")
            names = getattr(thing, "__all__", ()) if inside else ()
            yield from (getattr(thing, one) for one in names)
        elif not name.startswith("_"):
            yield thing


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring example of what is public, methods included, once."""
    seen = set()
    for package in PACKAGES:
        for thing in public(import_module(package)):
            home = str(getattr(thing, "__module__", ""))
            name = f"{home}.{getattr(thing, '__qualname__', '')}"
            ours = home.partition(".")[0] in PACKAGES
            if name in seen or not ours or not callable(thing):
                continue
            seen.add(name)
            space = vars(sys.modules[home])
            finder = doctest.DocTestFinder(exclude_empty=True)
            yield from (
                one for one in finder.find(thing, name, module=False, globs=space) if one.examples
            )


def measured() -> dict[str, float]:
    """Seconds of each example and each Python block of the README; a failure counts as infinite."""
    found = {}
    for one in sorted(examples(), key=lambda one: one.name):
        runner, began = doctest.DocTestRunner(verbose=False), time.process_time()
        failed = runner.run(one, out=lambda _: None).failed
        found[one.name] = float("inf") if failed else time.process_time() - began
    names: dict[str, Any] = {"print": lambda *_: None}
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.DOTALL)
    for number, block in enumerate(blocks, 1):
        began = time.process_time()
        exec(block, names)
        found[f"README {number}"] = time.process_time() - began
    return found


if __name__ == "__main__":
    for library in LIBRARIES:
        import_module(library)
    for package in PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    print(json.dumps(measured()))
