"""τ-ARGUS tables (.tab): the same table as from the records, and as another program reads it."""

from __future__ import annotations

import importlib.util
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from csp import Hierarchy, InputError, Table, parse_rules
from csp.exact import units_text
from csp.tables import argus

RULES = ["P(10,1)", "NK(2,80)", "FREQ(4,20)", "P(15,1)|FREQ(3,10)"]
LAYOUT = """\
   <SEPARATOR> ";"
   <SAFE> "s"
   <UNSAFE> "u"
   <PROTECT> "p"
Region
  <RECODABLE>
  <TOTCODE> "All"
  <HIERARCHICAL>
  <HIERCODELIST> "C:\\somewhere\\REGION.hrc"
  <HIERLEADSTRING> "@"
Size
  <RECODEABLE>
  <TOTCODE> "Total"
Value
  <NUMERIC>
  <DECIMALS> 1
N
  <FREQUENCY>
Top1
  <MAXSCORE>
  <DECIMALS> 1
Top2
  <MAXSCORE>
  <DECIMALS> 1
"""


def survey(seed: int) -> Table:
    draw = random.Random(seed)
    rows = [
        (draw.choice(["N1", "N2", "S1"]), draw.choice("ab"), i, f"{draw.randint(1, 2000) / 10:.1f}")
        for i in range(45)
    ]
    region, size, who, value = map(list, zip(*rows, strict=True))
    tree = Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1"]}, total="All")
    data = {"Region": region, "Size": size, "who": who, "Value": value}
    return Table.from_microdata(
        data, ["Region", "Size"], "Value", contributor="who", hierarchies={"Region": tree}
    )


def write(folder: Path, table: Table, more: str = "", columns: tuple[list[str], ...] = ()) -> None:
    (folder / "t.rda").write_text(LAYOUT + more)
    (folder / "region.hrc").write_text("North\n@N1\n@N2\nSouth\n@S1\n")
    people = table.contributors
    lines = [
        ";".join(
            [
                *(f'"{code}"' for code in label),
                f"{units_text(int(table.values[i]), table.scale):>9}".replace(".", ","),
                str(people.count[i]),
                *(units_text(int(v), table.scale) for v in people.top[i, :2]),
                *(column[i] for column in columns),
            ]
        )
        for i, label in enumerate(table.labels)
    ]
    (folder / "t.tab").write_text("\n".join(lines) + "\n")


def read(folder: Path) -> tuple[Table, argus.TableData]:
    layout = argus.read_metadata(folder / "t.rda")
    cells = argus.read_table_data(folder / "t.tab", layout)
    trees = argus.hierarchies(layout, cells.columns, cells.by)
    return (
        Table.from_frame(
            cells.columns, cells.by, cells.value, count=cells.count, top=cells.top,
            hierarchies=trees,
        ),
        cells,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_table_file_is_the_table_of_the_records(tmp_path: Path, seed: int) -> None:
    table = survey(seed)
    write(tmp_path, table)
    found, cells = read(tmp_path)
    assert (cells.by, cells.value, cells.count) == (("Region", "Size"), "Value", "N")
    assert cells.statements == ()
    assert list(found.labels) == list(table.labels)
    assert np.array_equal(found.values, table.values)
    assert np.array_equal(found.contributors.count, table.contributors.count)
    assert np.array_equal(found.contributors.top[:, :2], table.contributors.top[:, :2])
    for rules in RULES:
        assert np.array_equal(parse_rules(rules)(found).primary, parse_rules(rules)(table).primary)


@pytest.mark.skipif(
    importlib.util.find_spec("pytauargus") is None, reason="pytauargus is not installed"
)
@pytest.mark.parametrize("rules", RULES)
def test_another_program_reads_the_same_and_finds_the_same_sensitive_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str
) -> None:
    from pytauargus.engine import run_batch

    monkeypatch.chdir(tmp_path)  # the peer leaves its working files where it is run
    write(tmp_path, survey(7))
    (tmp_path / "t.tab").write_text((tmp_path / "t.tab").read_text().replace('"', ""))
    (tmp_path / "REGION.hrc").write_text((tmp_path / "region.hrc").read_text())
    (tmp_path / "region.hrc").unlink()
    layout = (tmp_path / "t.rda").read_text().replace("C:\\somewhere\\", "")
    (tmp_path / "t.rda").write_text(layout)
    (tmp_path / "t.arb").write_text(
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n'
        f'<SPECIFYTABLE> "Region""Size"|"Value"||\n<SAFETYRULE> {rules}\n<READTABLE>\n'
        '<WRITETABLE> (1,5,+SO,"out.txt")\n'.replace("+SO", "SO+")
    )
    run_batch(tmp_path / "t.arb")
    theirs = {}
    for line in (tmp_path / "out.txt").read_text().splitlines():
        fields = [field.strip('" ') for field in line.split(";")]
        theirs[fields[0], fields[1]] = (Decimal(fields[2]), fields[5] == "U")
    table, _ = read(tmp_path)
    primary = parse_rules(rules)(table).primary
    ours = {
        label: (Decimal(int(table.values[i])).scaleb(-table.scale), bool(primary[i]))
        for i, label in enumerate(table.labels)
    }
    assert theirs == ours


def test_statuses_costs_and_levels_become_statements(tmp_path: Path) -> None:
    table = survey(1)
    more = "St\n <STATUS>\nCost\n <NUMERIC> <COSTVAR>\n"
    more += "L\n <NUMERIC> <LOWERPL>\nU\n <NUMERIC> <UPPERPL>\n"
    n = table.n_cells
    status = (["U", "p", "M", "s", "u"] + ["S"] * n)[:n]
    cost = (["-", "0", "7,5"] + [""] * n)[:n]
    low = (["1.5"] + ["-"] * n)[:n]
    high = (["2"] + ["-"] * n)[:n]
    write(tmp_path, table, more, (status, cost, low, high))
    _, cells = read(tmp_path)
    labels = list(table.labels)
    assert [(s.codes, s.word, *map(str, s.numbers), s.where) for s in cells.statements] == [
        (labels[0], "u", "t.tab, line 1"),
        (labels[0], "pl", "1.5", "2", "t.tab, line 1"),
        (labels[1], "p", "t.tab, line 2"),
        (labels[1], "c", "0.0001", "t.tab, line 2"),
        (labels[2], "m", "t.tab, line 3"),
        (labels[2], "c", "7.5", "t.tab, line 3"),
        (labels[4], "u", "t.tab, line 5"),
    ]


def test_blank_codes_are_totals_and_dashes_are_empty_cells(tmp_path: Path) -> None:
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ","\nA\n <RECODEABLE>\nB\n <RECODEABLE>\n <TOTCODE> "All"\nn\n <FREQUENCY>\n'
    )
    (tmp_path / "t.tab").write_text("x,1,3\nx,2,-\nx,,3\ny,1,-\ny,2,4\ny,All,4\n,1,3\n,2,4\n,,7\n")
    layout = argus.read_metadata(tmp_path / "t.rda")
    cells = argus.read_table_data(tmp_path / "t.tab", layout)
    table = Table.from_frame(
        cells.columns, cells.by, cells.value, count=cells.count,
        hierarchies=argus.hierarchies(layout, cells.columns, cells.by),
    )  # fmt: skip
    assert cells.value == cells.count == "n"
    assert table.roots == ("Total", "All")
    assert table.values[table.position(("x", "2"))] == 0
    assert table.values[table.position(("Total", "All"))] == 7


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<MAXSCORE>", "<NUMERIC>", "several responses, Value, Top1"),
        (
            "Size\n  <RECODEABLE>",
            "Size\n  <HOLDING>",
            "are all <RECODEABLE> variables.*, Region; got",
        ),
        ("<FREQUENCY>", "<STATUS>", "t.tab, line 1: status '.*' is not one of U, P, M"),
    ],
)
def test_what_is_wrong_with_a_layout_is_named(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    write(tmp_path, survey(2))
    layout = (tmp_path / "t.rda").read_text()
    (tmp_path / "t.rda").write_text(layout.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        argus.read_table_data(tmp_path / "t.tab", tmp_path / "t.rda", ("Region", "Size"))


def test_a_cell_is_empty_or_not(tmp_path: Path) -> None:
    """Two lines for one cell, one of them without a value, contradict each other."""
    (tmp_path / "t.rda").write_text(LAYOUT)
    lines = ["N1;a;;;;", "S1;a;5;3;2;1", "N1;a;7;4;3;2"]
    (tmp_path / "t.tab").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"t\.tab, lines 1 and 3 are the same cell"):
        argus.read_table_data(tmp_path / "t.tab", tmp_path / "t.rda")
