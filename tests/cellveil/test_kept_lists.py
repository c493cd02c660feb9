"""Plain lists of cells that stay suppressed, as people and spreadsheets write them."""

import csv
from pathlib import Path
from unicodedata import normalize

import openpyxl
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.earlier_cells import Before, narrowed

GONE = {("01", "3"), ("02", "2")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"0{r},{s}" for r in (1, 2, 3) for s in (1, 2, 3) for _ in range(9 + r + s)]
    (tmp_path / "d.csv").write_text("\n".join(["region,size", *rows]) + "\n")
    (tmp_path / "size.hrc").write_text("small\n@1\n@2\nlarge\n@3\n")
    return tmp_path


def protect(folder: Path, *words: str, code: int = 0) -> tuple[str, set[tuple[str, str]]]:
    out = folder / "o.csv"
    call = ["protect", folder / "d.csv", "--by", "region,size", "--rules", "FREQ(3,10)", "-o", out]
    found = CliRunner().invoke(app, [str(word) for word in (*call, *words)], catch_exceptions=False)
    assert found.exit_code == code, found.output
    if code:
        return found.stderr, set()
    with out.open(encoding="utf-8", newline="") as file:
        return found.stderr, {
            (row["region"], row["size"]) for row in csv.DictReader(file) if not row["value"]
        }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("region,size\n01,3\n02,2\n", ""),
        ("region,size\n1,3\n2,2\n", "Codes of region are matched as numbers: 1 is 01."),
        ("Region;SIZE\n01;3\n02;2\n", ""),
        ("Suppressed 2025\n\nregion,size\n01,3\n02,2\n", ""),
        ("region,size,why\n01,3,sensitive\n02,2,secondary\n", "'why' is not read."),
    ],
)
def test_a_list_as_text(folder: Path, text: str, said: str) -> None:
    (folder / "list.csv").write_text(text)
    err, gone = protect(folder, "--keep", str(folder / "list.csv"))
    assert gone >= GONE
    assert "2 cells of list.csv stay suppressed." in err
    assert said in err


def test_a_sheet_with_numbers(folder: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["region", "size"], [1, 3], [2, 2.0]):
        book.active.append(row)
    book.save(folder / "list.xlsx")
    assert protect(folder, "--keep", str(folder / "list.xlsx"))[1] >= GONE


@pytest.mark.parametrize("name", ["before.csv", "before.csv.gz", "before.xlsx", "before.sdmx.csv"])
def test_codes_that_look_like_formulas_are_found_in_what_was_written_before(
    folder: Path, name: str
) -> None:
    text = (folder / "d.csv").read_text().replace("\n01,", "\n-unknown-,").replace("\n02,", "\n=2,")
    (folder / "d.csv").write_text(text)
    (folder / "list.csv").write_text("region,size\n-unknown-,3\n=2,2\n")
    call = ["protect", folder / "d.csv", "--by", "region,size", "--rules", "FREQ(3,10)",
            "--keep", folder / "list.csv", "-o", folder / name]  # fmt: skip
    assert CliRunner().invoke(app, list(map(str, call))).exit_code == 0
    err, gone = protect(folder, "--keep", str(folder / name))
    assert {("'-unknown-", "3"), ("'=2", "2")} <= gone
    assert f"2 cells of {name} stay suppressed." in err


@pytest.mark.parametrize("recoding", ["size=1", "size={}/size.grc"])
@pytest.mark.parametrize("kept", ["list.csv", "before.csv"])
def test_a_hierarchy_that_is_cut_says_what_old_codes_are_now(
    folder: Path, recoding: str, kept: str
) -> None:
    tree = ("--hierarchy", f"size={folder / 'size.hrc'}")
    (folder / "size.grc").write_text("<TREERECODE>\nsmall\nlarge\n")
    (folder / "list.csv").write_text("region,size\n01,3\n02,2\n")
    _, before = protect(folder, *tree, "--keep", str(folder / "list.csv"))
    (folder / "o.csv").rename(folder / "before.csv")
    _, now = protect(
        folder, *tree, "--keep", str(folder / kept), "--recode", recoding.format(folder)
    )
    into = {"1": "small", "2": "small", "3": "large"}
    wanted = {(r, into.get(s, s)) for r, s in (GONE if kept == "list.csv" else before)}
    assert wanted <= now


def test_a_cut_without_a_hierarchy_is_refused_with_a_way(folder: Path) -> None:
    rows = ["region,size,n", *(f"{r},{s},{n}" for r, s, n in [
        ("01", "small", 30), ("01", "1", 10), ("01", "2", 20), ("01", "large", 9), ("01", "3", 9),
        ("02", "small", 50), ("02", "1", 20), ("02", "2", 30), ("02", "large", 8), ("02", "3", 8),
    ])]  # fmt: skip
    (folder / "d.csv").write_text("\n".join(rows) + "\n")
    (folder / "list.csv").write_text("region,size\n01,3\n")
    err, _ = protect(
        folder, "--aggregated", "--value", "n", "--count", "n", "--keep", str(folder / "list.csv"),
        "--recode", "size=1", code=2,
    )  # fmt: skip
    assert "hierarchy" in err


@pytest.mark.parametrize("text", ["01,3\n02,2\n", "area;class\n01;a\n", ""])
def test_a_list_without_the_names_of_the_columns_is_told_them(folder: Path, text: str) -> None:
    (folder / "list.csv").write_text(text)
    err, _ = protect(folder, "--keep", str(folder / "list.csv"), code=2)
    assert "neither a plain list of cells (its first row would be region,size) nor a" in err


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_codes_that_stand_for_others_have_one_form(folder: Path, form: str) -> None:
    text = (folder / "d.csv").read_text().replace("01,", "Nö,")
    (folder / "d.csv").write_text(text, encoding="utf-8")
    (folder / "list.csv").write_text("region,size\nÄlt,3\n", encoding="utf-8")
    (folder / "codes.csv").write_text(normalize(form, "Ält,Nö\n"), encoding="utf-8")
    words = "--keep", str(folder / "list.csv"), "--keep-codes", f"region={folder / 'codes.csv'}"
    assert ("Nö", "3") in protect(folder, *words, "--keep-unknown", "skip")[1]


def test_dimensions_that_look_alike_are_not_cut_off() -> None:
    whole, apart = (normalize(form, "ré") for form in ("NFC", "NFD"))
    cells = (("a", "x"), ("a", "Total"))
    before = Before(("c", apart), ("Total",) * 2, (frozenset("a"), frozenset("x")), cells)
    found = narrowed(before, ("c", whole))
    assert (found.names, found.cells) == (("c", whole), cells)
