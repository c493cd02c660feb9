"""Tables as offices publish them, one command each; and what this program writes comes back in."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.published import read_public
from csp import Mechanism, PPercent, Table, protect
from csp.release_file import read_release
from tests.support.oracles import null_space

openpyxl = pytest.importorskip("openpyxl")

# Turnover of 3 x 4 cells with totals; what is withheld of it. North-Farms and South-Mining follow
# from their rows, nothing else does.
REGIONS, SECTORS = ["North", "South", "West"], ["Farms", "Mining", "Trade", "Hotels"]
VALUES = np.array([[120, 45, 310, 75], [60, 20, 480, 90], [35, 80, 260, 15]])
FULL = np.pad(VALUES, ((0, 1), (0, 1)))
FULL[:-1, -1] = VALUES.sum(axis=1)
FULL[-1] = FULL[:-1].sum(axis=0)
HIDDEN = np.zeros(FULL.shape, bool)
HIDDEN[[0, 3, 2, 2, 1], [0, 0, 1, 2, 1]] = True
HIDDEN[3, [1, 2]] = True


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def audit(*words, code=1):
    """Facts of an audit."""
    run("audit", *words, "--summary", "facts.json", code=code)
    return json.loads(Path("facts.json").read_text(encoding="utf-8"))


def determined(total_row="Total", total_column="Total"):
    """Withheld cells that the equations determine, by elimination in fractions."""
    place = {cell: k for k, cell in enumerate(np.ndindex(*FULL.shape))}
    system = []
    for i in range(4):
        line = {place[i, j]: 1 for j in range(4)} | {place[i, 4]: -1}
        system.append(line)
    for j in range(5):
        line = {place[i, j]: 1 for i in range(3)} | {place[3, j]: -1}
        system.append(line)
    flat, hidden = FULL.ravel(), HIDDEN.ravel()
    rows = [
        ({k: a for k, a in line.items() if hidden[k]},
         -sum(a * int(flat[k]) for k, a in line.items() if not hidden[k]))
        for line in system
    ]  # fmt: skip
    unknown = np.flatnonzero(hidden).tolist()
    moving = {k for k, row in zip(unknown, null_space(rows, unknown), strict=True) if any(row)}
    names = [*REGIONS, total_row], [*SECTORS, total_column]
    return {
        (names[0][k // 5], names[1][k % 5]) for k in unknown if k not in moving
    }  # fmt: skip


def grid(mark, total=("Total", "Total"), group=""):
    def text(i, j):
        return mark if HIDDEN[i, j] else f"{FULL[i, j]:,}".replace(",", group)

    rows = [[name, *(text(i, j) for j in range(5))] for i, name in enumerate([*REGIONS, total[0]])]
    return ["", *SECTORS, total[1]], rows


def write(path, rows, separator=","):
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


def workbook(path, rows, indents=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cell, depth in indents:
        book.active[cell].alignment = openpyxl.styles.Alignment(indent=depth)
    book.save(path)


def numbers(rows):
    return [[int(x) if x.isdigit() else x for x in row] for row in rows]


def german():
    head, rows = grid(".", ("Insgesamt", "Insgesamt"), ".")
    title = [["Umsatz nach Regionen, 2023"], ["in 1 000 EUR"], []]
    notes = [[], [". = Zahlenwert unbekannt oder geheim zu halten"], ["Quelle: Amt"]]
    write("t.csv", [*title, head, *rows, *notes], ";")
    return ["t.csv", "--marks", "destatis"]


def british():
    head, rows = grid("[c]")
    rows = numbers([[name, *entries] for name, *entries in rows])
    workbook("t.xlsx", [["Table 1: Turnover"], ["Some shorthand is used: [c]"], head, *rows])
    return ["t.xlsx"]


def canadian():
    head, rows = grid("x")
    workbook("t.xlsx", [["Turnover by region"], head, *numbers(rows), ["x suppressed"]])
    return ["t.xlsx", "--marks", "statcan"]


def american():
    """D in a column of flags and 0 in the value, as County Business Patterns had it."""
    rows = [["region", "sector", "payroll", "flag"]]
    for i, region in enumerate([*REGIONS, "Total"]):
        for j, sector in enumerate([*SECTORS, "Total"]):
            hidden = HIDDEN[i, j]
            rows.append([region, sector, 0 if hidden else FULL[i, j], "D" if hidden else ""])
    write("t.csv", rows)
    return ["t.csv", "--by", "region,sector", "--value", "payroll", "--marks", "census"]


def long_rows(mark=""):
    for i, region in enumerate([*REGIONS, "Total"]):
        for j, sector in enumerate([*SECTORS, "Total"]):
            yield region, sector, (mark if HIDDEN[i, j] else int(FULL[i, j])), bool(HIDDEN[i, j])


def sdmx():
    rows = [
        [
            "STRUCTURE",
            "STRUCTURE_ID",
            "freq",
            "region",
            "sector",
            "OBS_VALUE",
            "OBS_STATUS",
            "CONF_STATUS",
        ]
    ]
    rows += [
        ["dataflow", "X:Y(1.0)", "A", r, s, v, "Q" if h else "A", "C" if h else "F"]
        for r, s, v, h in long_rows()
    ]  # fmt: skip
    write("t.csv", rows)
    return ["t.csv"]


def eurostat():
    rows = [["freq", "region", "sector", "OBS_VALUE", "OBS_FLAG"]]
    rows += [["A", r, s, v, "c" if h else ""] for r, s, v, h in long_rows()]
    write("t.csv", rows)
    return ["t.csv"]


def health():
    head, rows = grid("*")
    write("t.csv", [["Cases"], head, *rows])
    return ["t.csv", "--marks", "health"]


def missing_rows():
    rows = [["region", "sector", "value"], *([r, s, v] for r, s, v, h in long_rows() if not h)]
    write("t.csv", rows)
    return ["t.csv"]


def indented():
    """A total first, regions below it, each with an indent of its own."""
    head, rows = grid("[c]")
    rows = numbers([rows[-1], *rows[:-1]])
    workbook("t.xlsx", [head, *rows], [("A3", 1), ("A4", 1), ("A5", 1)])
    return ["t.xlsx"]


def hungarian():
    head, rows = grid("\u2026", ("Összesen", "Összesen"), "\u00a0")
    write("t.csv", [head, *rows], "\t")
    return ["t.csv", "--marks", "ksh"]


SHAPES = [
    german, british, canadian, american, sdmx, eurostat, health, missing_rows, indented, hungarian,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_command_finds_every_determined_cell_and_no_other(shape) -> None:
    facts = audit(*shape())
    total = {"german": "Insgesamt", "hungarian": "Összesen"}.get(shape.__name__, "Total")
    found = {tuple(one["cell"].values()) for one in facts["disclosed_cells"]}
    assert found == determined(total, total)
    assert len(found) == 3
    assert facts["cells"] == 20
    assert facts["suppressed"] == int(HIDDEN.sum())
    assert facts["contradictions"] == []
    shown = json.dumps(facts)
    for i, j in zip(*np.nonzero(HIDDEN), strict=True):
        if (FULL[i, j] == FULL).sum() == 1 and FULL[i, j] > 20:
            assert f'"{FULL[i, j]}"' not in shown


def test_values_only_with_reveal() -> None:
    words = sdmx()
    assert " = 120" not in run("audit", *words, code=1).output
    assert " = 120" in run("audit", *words, "--reveal", code=1).output


def test_size_classes_beside_the_flags() -> None:
    """Employment is withheld with a flag that is a size class."""
    classes = {
        (0, 0): "C",
        (3, 0): "C",
        (1, 1): "B",
        (2, 1): "B",
        (3, 1): "C",
        (2, 2): "E",
        (3, 2): "G",
    }
    rows = [["region", "sector", "emp", "empflag"]]
    for i, region in enumerate([*REGIONS, "Total"]):
        for j, sector in enumerate([*SECTORS, "Total"]):
            flag = classes.get((i, j), "")
            rows.append([region, sector, 0 if flag else FULL[i, j], flag])
    write("t.csv", rows)
    facts = audit("t.csv", "--by", "region,sector", "--value", "emp", "--status", "empflag",
                  "--marks", "census", code=1)  # fmt: skip
    assert facts["ranged"] == 0
    assert facts["suppressed"] == 7
    # Two rows and a column with one each; four cells make a rectangle. A class is not the value.
    assert facts["disclosed"] == 3


@pytest.fixture(scope="module")
def protected():
    columns = {"region": [], "sector": [], "n": []}
    for i, region in enumerate(REGIONS):
        for j, sector in enumerate(SECTORS):
            columns["region"] += [region] * 4
            columns["sector"] += [sector] * 4
            columns["n"] += [VALUES[i, j], 1, 2, 3]
    return columns


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.xlsx", "t.sdmx.csv", "t.parquet", "t.sbs", "t.sdctable.csv"]
)
def test_what_is_written_for_publication_comes_back(protected, name) -> None:
    rows = zip(*protected.values(), strict=True)
    write("survey.csv", [["region", "sector", "n"], *rows])
    run("protect", "survey.csv", "--by", "region,sector", "--value", "n", "--rules", "P(10)",
        "-o", name, "--release", "r.json")  # fmt: skip
    wanted, _ = read_release("r.json")
    found, _ = read_public(Path(name), quiet=True)
    assert int(wanted.pattern.sum()) > 1
    places = {tuple(label): i for i, label in enumerate(found.labels)}
    assert len(places) == len(wanted.labels)
    for i, label in enumerate(wanted.labels):
        k = places[tuple(label)]
        assert found.pattern[k] == wanted.pattern[i]
        assert found.published[k] == wanted.published[i]
    assert found.relations.shape[0] == wanted.relations.shape[0]
    run("audit", name)
    run("attack", "report", name)
    run("report", name, "-o", "page.html")
    run("diff", name, "r.json") if found.names == wanted.names else None
    if found.names == wanted.names:
        again = run("protect", "survey.csv", "--by", "region,sector", "--value", "n", "--rules",
                    "P(10)", "--keep", name, "--release", "again.json")  # fmt: skip
        assert "Traceback" not in again.output
        later, _ = read_release("again.json")
        assert (later.pattern >= wanted.pattern).all()


def test_levels_of_codes_come_back_from_a_workbook() -> None:
    """Names of the parts say nothing of what they are parts of, and most totals are withheld."""
    rows = [["region", "sector", "n"], *(
        [region, sector, str(7 * i + j + 3)]
        for i, region in enumerate(["Alp", "Bay", "Cape", "Dune"])
        for j, sector in enumerate(["m", "w"])
    )]  # fmt: skip
    write("survey.csv", rows)
    Path("r.hrc").write_text("North\n@Alp\n@Dune\nSouth\n@Bay\n@Cape\n", encoding="utf-8")
    run("protect", "survey.csv", "--by", "region,sector", "--value", "n", "--rules", "FREQ(2,10)",
        "--hierarchy", "region=r.hrc", "-o", "t.xlsx", "--release", "r.json")  # fmt: skip
    wanted, _ = read_release("r.json")
    found, _ = read_public(Path("t.xlsx"), quiet=True)

    def sums(release):
        labels = [tuple(label) for label in release.labels]
        return {
            frozenset((labels[k], int(a)) for k, a in enumerate(row) if a)
            for row in release.relations.toarray()
        }

    assert found.pattern.sum() == wanted.pattern.sum() > 3
    assert sums(found) == sums(wanted)
    assert "from the sheet 'hierarchies'" in run("audit", "t.xlsx", code=0).output
    # What the user says of a dimension goes before it.
    Path("r.hrc").write_text("North\n@Alp\n@Bay\nSouth\n@Dune\n@Cape\n", encoding="utf-8")
    run("audit", "t.xlsx", "--hierarchy", "region=r.hrc")


def test_a_release_states_how_it_is_read(protected) -> None:
    table = Table.from_microdata(protected, ["region", "sector"], "n")
    from csp.release_file import write_release

    write_release(protect(table, "P(10)").release, "r.json")
    assert (
        "--marks: said of a published table"
        in run("audit", "r.json", "--marks", "statcan", code=2).output
    )
    assert Mechanism(PPercent(10)).protect(table).audit.safe
    run("audit", "r.json")


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        ([["region", "n"], ["a", "1"], ["Total", "3"], ["Total", "4"]], ["--by", "region"],
         "rows 3 and 4 are both cell (region=Total)"),
        ([["region", "n"], ["a", "q?"], ["Total", "3"]], ["--by", "region", "--value", "n"],
         "'q?' (1 cell) is not a number"),
        ([["", "a", "a"], ["x", "1", "2"]], [], "both have the header 'a'"),
        ([["region", "n", "lo", "hi"], ["a", "", "9", "5"], ["Total", "3", "", ""]],
         ["--by", "region", "--value", "n", "--lower", "lo", "--upper", "hi"],
         "the range is empty"),
        ([["some", "words"], ["and", "more"]], [],
         "which column holds the cells: none holds numbers; name it with --value"),
        ([["a text without a table"]], [], "holds no table: looked for"),
        ([["region", "n"], ["", "1"], ["Total", "3"]], ["--by", "region", "--value", "n"],
         "the code in column 'region' is missing"),
        ([["region", "n"], ["a", "1"], ["Total", "3"]], ["--by", "region", "--total", "region=All"],
         "the total 'All' of column 'region' does not occur"),
    ],
)  # fmt: skip
def test_bad_input_is_named(rows, words, said) -> None:
    write("t.csv", rows)
    output = " ".join(run("audit", "t.csv", *words, code=2).output.split())
    assert said in output, output


def test_contradictions_are_named_and_healed() -> None:
    rows = [["", "a", "b", "Total"], ["N", 10, 20, 31], ["S", "[c]", 5, 20], ["Total", 25, 25, 51]]
    write("t.csv", rows)
    output = run("audit", "t.csv", code=1).output
    assert "off by 1" in output
    healed = audit("t.csv", "--tolerance", "1", code=0)
    assert healed["contradictions"] == []


def test_what_is_not_available_is_told_apart_on_screen_in_facts_and_on_the_page() -> None:
    """Statistics Canada: x is withheld, .. and F are not available, ... is not applicable."""
    head, rows = grid("x")
    rows[0][1] = ".."  # follows from its row: known before as (North, Farms)
    rows[3][3] = "F"
    write("t.csv", [["Turnover"], head, *rows, ["x suppressed"]])
    facts = audit("t.csv", "--marks", "statcan")
    assert facts["suppressed"] == int(HIDDEN.sum()) - 2
    assert (facts["unavailable"], facts["not_applicable"]) == (2, 0)
    named = {tuple(one["cell"].values()) for one in facts["disclosed_cells"]}
    gone = {("North", "Farms"), ("Total", "Trade")}
    assert named == determined() - gone
    assert facts["unavailable_inferred"] == len(determined() & gone)
    words = "audit", "t.csv", "--marks", "statcan", "--report", "page.html"
    assert "Not available: 2." in run(*words, code=1).output
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Not available: 2." in page
    assert "one that is not available" in page


def test_the_header_above_the_cells_is_named() -> None:
    head, rows = grid("[c]")
    wide = [["", "Firms", *[""] * 4, "Turnover", *[""] * 4], ["", *head[1:], *head[1:]]]
    wide += [[name, *["7"] * 5, *entries] for name, *entries in rows]
    write("t.csv", wide)
    facts = audit("t.csv", "--value", "Turnover")
    assert {tuple(one["cell"].values()) for one in facts["disclosed_cells"]} == determined()
    assert "no column has the header 'Jobs'" in " ".join(
        run("audit", "t.csv", "--value", "Jobs", code=2).output.split()
    )


@pytest.mark.parametrize("book", [False, True])
def test_a_table_that_begins_in_column_b_is_audited_whole(tmp_path, book):
    lines = [["Farms"], [], ["", "Region", "Farms", "Trade", "All"], ["", "Ash", 12, "[c]", 95],
             ["", "Elm", "[c]", "[c]", 90], ["", "Fir", "[c]", "[c]", 60]]  # fmt: skip
    path = tmp_path / ("b.xlsx" if book else "b.csv")
    if book:
        pages = openpyxl.Workbook()
        for line in lines:
            pages.active.append([item or None for item in line])
        pages.save(path)
    else:
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    said = run("audit", path, "--marks", "uk", code=1).output
    assert "5 cells of 9 are withheld." in said
    assert "(Region=Ash, columns=Trade)" in said


def test_ranges_below_a_row_of_units_are_audited(tmp_path):
    (tmp_path / "size.csv").write_text(
        "Region,Farms,Trade,All\n,persons,,\nAsh,1-4,5-9,13\nElm,[c],[c],90\nFir,[c],[c],60\n"
    )
    said = run("audit", tmp_path / "size.csv", "--withheld", "[c]", code=1).output
    assert "6 cells of 9 are withheld." in said
    assert "2 cells can be worked out exactly" in said
