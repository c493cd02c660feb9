"""The R package: its own facts, and the same pattern as from Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from csp import Table, protect
from tests.support.shared import ROOT

if shutil.which("Rscript") is None:
    pytest.skip("R is not installed", allow_module_level=True)

COMMAND = Path(sys.executable).parent / "cellveil"


def r(*words: str, library: Path) -> str:
    ran = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "R_LIBS": str(library), "CELLVEIL_COMMAND": str(COMMAND)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("r")
    known = subprocess.run(
        ["Rscript", "-e", "stopifnot(requireNamespace('jsonlite'))"],
        capture_output=True, check=False,
    )  # fmt: skip
    if known.returncode:
        pytest.skip("R has no jsonlite")
    source = shutil.copytree(ROOT / "r", place / "source")
    (place / "library").mkdir()
    r("R", "CMD", "INSTALL", "-l", str(place / "library"), str(source), library=place / "library")
    return place / "library"


def test_facts_of_the_package_hold(library: Path) -> None:
    said = r("Rscript", str(ROOT / "r" / "tests" / "cellveil.R"), library=library)
    assert said.splitlines()[-1] == "all facts hold"


def test_the_pattern_is_that_of_python(library: Path, tmp_path: Path) -> None:
    """The firms of the vignette."""
    vignette = (ROOT / "r" / "vignettes" / "cellveil.Rmd").read_text(encoding="utf-8")
    chunks = re.findall(r"^```\{r\}\n(.*?)^```", vignette, re.MULTILINE | re.DOTALL)
    script, out = tmp_path / "vignette.R", tmp_path / "out"
    script.write_text(
        "library(cellveil)\n" + "\n".join(chunks)
        + f"\nwrite.csv(firms, '{out}-data.csv', row.names = FALSE)"
        + f"\nwrite.csv(as.data.frame(safe), '{out}-cells.csv', row.names = FALSE)\n"
    )  # fmt: skip
    said = r("Rscript", str(script), library=library)
    assert "9 cells, 1 withheld, 1 of these can be worked out" in said
    import pandas as pd

    from csp import Hierarchy

    table = Table.from_microdata(
        pd.read_csv(f"{out}-data.csv"), ["region", "sector"], "turnover", contributor="firm",
        hierarchies={"region": Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1"]})},
    )  # fmt: skip
    wanted = protect(table, "P(10,1)|FREQ(3,10)")
    cells = pd.read_csv(f"{out}-cells.csv")
    assert wanted.pattern.any()
    found = {(row.region, row.sector): row.value for row in cells.itertuples()}
    for label, value, hidden in zip(table.labels, table.values, wanted.pattern, strict=True):
        assert pd.isna(found[label]) if hidden else found[label] == value


def test_help_pages_and_exports_are_those_of_the_sources() -> None:
    exported = set(re.findall(r"export\((\w+)\)", (ROOT / "r" / "NAMESPACE").read_text()))
    aliases = set()
    for page in (ROOT / "r" / "man").glob("*.Rd"):
        aliases |= set(re.findall(r"\\alias\{(.*?)\}", page.read_text(encoding="utf-8")))
    assert exported <= aliases
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "r" / "R").glob("*.R"))
    defined = set(re.findall(r"#' @export\n(\w+) <- function", sources))
    assert exported == defined
