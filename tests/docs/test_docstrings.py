"""The examples of docstrings are run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest


@pytest.mark.parametrize(
    ("package", "fewest"),
    [
        ("csp", 60),
        ("attacks", 30),
        ("microagg", 30),
        ("instances", 1),
        ("cellveil", 0),
        ("studies", 10),
    ],
)
def test_examples_give_what_they_say(package: str, fewest: int) -> None:
    home = importlib.import_module(package)
    names = [package, *(one.name for one in pkgutil.walk_packages(home.__path__, f"{package}."))]
    names = [name for name in names if not name.endswith("__main__")]
    run = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(one.attempted for one in run) > fewest
    assert [n for n, one in zip(names, run, strict=True) if one.failed] == []
