"""Importing csp costs next to nothing, and every public name resolves."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from tests.support.shared import ROOT

HEAVY = (
    "scipy", "highspy", "pulp", "sympy", "networkx", "duckdb", "numba", "pandas", "polars",
    "pyarrow", "narwhals", "typer", "rich",
)  # fmt: skip

PACKAGES = ("csp", "instances", "attacks", "microagg", "cellveil", "studies", "benchmarks")

MEASURE = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
import numpy  # which takes 0.1 to 0.3 s, whatever is made of it
began = time.process_time()
import csp
spent = time.process_time() - began
print(spent, *sorted(set(sys.modules) & set({HEAVY!r})))
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_import_is_light():
    runs = [run(MEASURE) for _ in range(3)]
    assert all(len(words) == 1 for words in runs), runs
    assert min(float(words[0]) for words in runs) < 0.060


@pytest.mark.parametrize("package", ["csp", "attacks"])
def test_every_public_name_resolves(package):
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="nowhere"):
        _ = module.nowhere
    # Importing a module of the same name would hide a function.
    modules = {path.stem for path in (ROOT / package).glob("*.py")}
    assert not modules & set(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_listed_once(package):
    """By the package that offers them: a module says by an underscore what is its own."""
    listed = set()
    for path in sorted((ROOT / package).rglob("*.py")):
        if path.name == "__main__.py":
            continue  # it runs on import
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        names = getattr(module, "__all__", ())
        assert all(hasattr(module, name) for name in names), path
        if names and path.name != "__init__.py":
            listed.add(path.relative_to(ROOT).as_posix())
    # These stand for a package: `csp.ilp` and `cellveil.plots`, offered as a whole.
    assert listed <= {"csp/ilp.py", "cellveil/render/plots.py"}
