"""Data that is not part of the project: found beside it, or the test is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(*parts: str) -> Path:
    """Path below the directory CELLVEIL_DATA, else ../shared/data beside the repository."""
    repository = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("CELLVEIL_DATA", repository.parent / "shared" / "data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in CELLVEIL_DATA or ../shared/data")
    return path
