"""Imports go down only; the layers are in pyproject.toml, under tool.importlinter."""

from __future__ import annotations

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
