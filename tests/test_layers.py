"""Imports go down only; the layers are in pyproject.toml, under tool.importlinter.

What these contracts do not see is a module that imports the package it lies in, which imports it.
"""

from __future__ import annotations

import ast
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


PACKAGES = ("csp", "attacks", "microagg", "instances", "cellveil", "studies", "benchmarks")


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
