"""Imports go down only, and no folder is crowded; layers are under tool.importlinter (pyproject).

What these contracts do not see is a module that imports the package it lies in, which imports it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.support.shared import ROOT

PYPROJECT = ROOT / "pyproject.toml"


def test_imports_go_down_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PYPROJECT.parent)
    status = lint_imports(config_filename=str(PYPROJECT), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


LIBRARY = ("csp", "attacks", "microagg", "instances", "cellveil")
MOST_MODULES = 12


@pytest.mark.parametrize("package", LIBRARY)
def test_no_folder_holds_more_than_a_dozen_modules(package: str) -> None:
    modules = [path for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py"]
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder, count in Counter(path.parent for path in modules).items()
        if count > MOST_MODULES
    }
    assert not crowded


@pytest.mark.parametrize("package", LIBRARY)
def test_the_docstring_of_a_package_names_its_modules(package: str) -> None:
    for door in (ROOT / package).rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
        named = {part for name in re.findall(r"`([\w.]+)`", text) for part in name.split(".")}
        modules = {path.stem for path in door.parent.glob("*.py")} - {"__init__", "__main__"}
        assert modules <= named, (door, modules - named)


PACKAGES = (*LIBRARY, "studies", "benchmarks")


def imported_at_once(path: Path) -> set[str]:
    """What the top level of a module names in ``from x import y``: x itself."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_the_package_that_imports_it(package: str) -> None:
    for door in (ROOT / package).rglob("__init__.py"):
        own = ".".join(door.parent.relative_to(ROOT).parts)
        below = {name for name in imported_at_once(door) if name.startswith(f"{own}.")}
        for path in door.parent.rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert name not in below or own not in imported_at_once(path), path


MOST_DEFERRED = 25


def deferred(path: Path) -> list[tuple[int, bool]]:
    """Imports from the same package within functions: the line, and whether a comment says why."""
    lines = path.read_text(encoding="utf-8").splitlines()
    own = path.relative_to(ROOT).parts[0]
    found = {
        part.lineno
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for part in ast.walk(node)
        if isinstance(part, ast.ImportFrom) and (part.module or "").split(".")[0] == own
    }
    said: list[tuple[int, bool]] = []
    for line in sorted(found):
        together = bool(said) and said[-1][0] == line - 1 and said[-1][1]
        said.append((line, together or lines[line - 2].strip().startswith("#")))
    return said


def test_imports_within_functions_are_few_and_say_why() -> None:
    paths = [path for package in LIBRARY for path in (ROOT / package).rglob("*.py")]
    each = {path: deferred(path) for path in paths}
    assert not [(path, line) for path, some in each.items() for line, why in some if not why]
    assert sum(map(len, each.values())) <= MOST_DEFERRED
