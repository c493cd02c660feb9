"""Print the lowest releases that pyproject.toml allows, as constraints for pip.

``python .ci/lowest.py pyproject.toml`` reads the bounds themselves, so no list is kept beside them.
Bounds of tools for tests and pages are left out: only what the library runs with is held low.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUN_TIME = ("plot", "excel", "stat")
FRAMES = ("pandas", "polars", "pyarrow")
"""Libraries that callers bring; only the tests name a bound."""


def requirements(project: dict[str, Any]) -> Iterator[str]:
    """Yield what the library needs, with the extras that add to what it can do."""
    extras = project["optional-dependencies"]
    yield from project["dependencies"]
    for extra in RUN_TIME:
        yield from extras[extra]
    yield from (line for line in extras["test"] if line.partition(">")[0] in FRAMES)


def constraints(project: dict[str, Any]) -> list[str]:
    """Pin each requirement to its lower bound; every one must have one."""
    found = []
    for line in requirements(project):
        bound = re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line)
        if bound is None:
            sys.exit(f"{line!r} has no lower bound")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


if __name__ == "__main__":
    with Path(sys.argv[1]).open("rb") as file:
        print(*constraints(tomllib.load(file)["project"]), sep="\n")
