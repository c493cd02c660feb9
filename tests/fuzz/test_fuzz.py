"""A few thousand damaged files; `python -m tests.fuzz` makes millions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of time and memory")
@pytest.mark.parametrize(
    ("reader", "count"),
    [
        (None, 12),
        ("jj,hrc,tree,rda,asc,release,release-cells,mechanism,decoys,rules,numbers", 150),
        ("tab,tab-rda,hst,arb,sheet", 150),
        ("printed,flags", 150),
    ],
)  # fmt: skip
def test_damaged_files_are_read_or_refused(tmp_path: Path, reader: str | None, count: int) -> None:
    words = ["--count", str(count), "--seed", "21", "--failures", str(tmp_path)]
    words += [] if reader is None else ["--reader", reader]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words],
        capture_output=True, text=True, cwd=ROOT, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
