"""The examples of docstrings are run, and the tests that they name exist."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re

import pytest

from tests.support.shared import ROOT

PACKAGES = ("csp", "attacks", "microagg", "cellveil")


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


def test_tests_that_docstrings_name_exist() -> None:
    """A docstring says what checks its module; a test of the same folder may go by its name."""
    named = 0
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            folder = None
            for test in re.findall(r"`+(tests/[\w/]+(?:\.py)?|test_\w+\.py)`+", path.read_text()):
                found = ROOT / test if folder is None or "/" in test else folder / test
                assert found.exists(), f"{path}: {test}"
                folder, named = found.parent, named + 1
    assert named > 20
