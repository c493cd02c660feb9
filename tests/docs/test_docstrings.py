"""The examples of docstrings are run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest


@pytest.mark.parametrize(
    ("package", "fewest"), [("attacks", 30), ("microagg", 30), ("studies", 10)]
)
def test_examples_give_what_they_say(package: str, fewest: int) -> None:
    home = importlib.import_module(package)
    names = [package, *(one.name for one in pkgutil.walk_packages(home.__path__, f"{package}."))]
    run = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(one.attempted for one in run) > fewest
    assert [n for n, one in zip(names, run, strict=True) if one.failed] == []
