"""τ-ARGUS layouts and data files."""

from __future__ import annotations

import csv
import gzip
import time
from collections import Counter
from decimal import Decimal

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from csp import InputError, Table
from csp.errors import NotAdditive
from csp.formats.layout import read_metadata
from csp.tables.argus import hierarchies, read_microdata
from tests.support.shared import shared_data

LAYOUT = """Region 1  2 99
  <RECODEABLE>
  <CODELIST> "c.cdl"
  <HIERARCHICAL> <HIERCODELIST> "C:\\data\\REGION.HRC"
  <HIERLEADSTRING> "@"
Branch 3 3 999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 1 2 0
  <DISTANCE> 1 2
Turnover 7 6 999999
  <NUMERIC> <DECIMALS> 2
Firm 13 2
  <HOLDING>
Wgt 15 3
  <WEIGHT>
  <DECIMALS> 1
Ask 18 1
  <REQUEST> "1" "2"
"""

RECORDS = [" 1101  10.50a 1.51", "10102   2.00b 2.02", "10201   7.25a 1.51", "99999   1.00c 1.00"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layout.rda").write_text(LAYOUT)
    (tmp_path / "data.asc").write_bytes("".join(r + "\r\n" for r in RECORDS).encode())
    (tmp_path / "region.hrc").write_text("N\n@ 1\n@ 2\nS\n@10\n")
    return tmp_path


def test_layout(folder):
    metadata = read_metadata(folder / "layout.rda")
    region, branch, turnover, firm, weight, ask = metadata.variables
    assert (region.start, region.length, region.missing, region.lead) == (1, 2, ("99",), "@")
    assert region.hierarchy_file.endswith("REGION.HRC")
    assert region.code_file == "c.cdl"
    assert (branch.levels, branch.distance, branch.line) == ((1, 2), (1, 2), 6)
    assert (turnover.decimals, weight.decimals) == (2, 1)
    assert firm.flags == {"HOLDING"}
    assert metadata.flagged("WEIGHT") == ("Wgt",)
    assert ask.request == ("1", "2")
    assert region.request is None
    assert metadata.separator == ""
    assert metadata.variable("Firm") is firm


def test_records_and_table(folder):
    columns, metadata = read_microdata(folder / "data.asc", folder / "layout.rda")
    assert columns["Region"].tolist() == ["1", "10", "10", "99"]
    assert columns["Turnover"].tolist() == ["10.50", "2.00", "7.25", "1.00"]
    trees = hierarchies(metadata, columns)
    assert trees["Region"].codes == ("1", "2", "N", "10", "S", "99", "Total")
    assert trees["Branch"].codes == ("101", "102", "1", "201", "2", "999", "Total")
    table = Table.from_microdata((columns, metadata), ["Region", "Branch"], "Turnover")
    assert table.values[table.position(("S", "1"))] == 200
    assert table.values[table.position(("Total", "Total"))] == 2075
    assert table.scale == 2
    assert table.structural is not None
    assert table.structural[table.position(("2", "101"))]
    explicit = Table.from_microdata(columns, ["Region"], "Turnover", contributor="Firm",
                                    hierarchies={"Region": trees["Region"]})  # fmt: skip
    assert explicit.contributors is not None
    total = explicit.position(("Total",))
    assert explicit.contributors.count[total] == 3
    assert explicit.contributors.top[total].tolist() == [1775, 200, 100, 0, 0]


def test_variables_that_take_no_part_are_named(folder):
    data = read_microdata(folder / "data.asc", folder / "layout.rda")
    plain = Table.from_microdata(data, ["Region"], "Turnover")
    assert [note.split(",")[0] for note in plain.notes] == [
        "the layout marks 'Firm' as <HOLDING>",
        "the layout marks 'Wgt' as <WEIGHT>",
        "the layout marks 'Ask' as <REQUEST>: the request rule is not applied",
    ]
    named = Table.from_microdata(data, ["Region"], "Turnover", contributor="Firm")
    assert [note for note in named.notes if "HOLDING" in note] == []
    words = ["--rda", str(folder / "layout.rda"), "--by", "Region", "--value", "Turnover"]
    words = ["protect", str(folder / "data.asc"), *words, "--rules", "FREQ(1,5)"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "but no contributor was named: each record is a contributor of its own." in said.stderr
    assert "HOLDING" not in CliRunner().invoke(app, [*words, "--contributor", "Firm"]).stderr


def test_compressed_file_is_the_same(folder):
    zipped = folder / "data.asc.gz"
    zipped.write_bytes(gzip.compress((folder / "data.asc").read_bytes()))
    plain, _ = read_microdata(folder / "data.asc", folder / "layout.rda")
    columns, _ = read_microdata(zipped, folder / "layout.rda")
    assert {k: v.tolist() for k, v in columns.items()} == {k: v.tolist() for k, v in plain.items()}
    zipped.write_bytes(zipped.read_bytes()[:20])
    with pytest.raises(InputError, match="damaged gzip"):
        read_microdata(zipped, folder / "layout.rda")


def test_separated_records(tmp_path):
    layout = '<SEPARATOR> ";"\nRegion "99"\n <RECODEABLE>\n <TOTCODE> "All"\nV\n <NUMERIC>\n'
    (tmp_path / "l.rda").write_text(layout)
    (tmp_path / "d.csv").write_text('"1";2,5\n"2; b";1\n')
    columns, metadata = read_microdata(tmp_path / "d.csv", tmp_path / "l.rda")
    assert columns["Region"].tolist() == ["1", "2; b"]
    assert columns["V"].tolist() == ["2.5", "1"]
    assert hierarchies(metadata, columns)["Region"].codes == ("1", "2; b", "All")
    table = Table.from_microdata((columns, metadata), ["Region"], "V")
    assert table.values.tolist() == [25, 10, 35]
    (tmp_path / "d.csv").write_text("1;2\n1\n")
    with pytest.raises(InputError, match=r"d\.csv: line 2 has 1 fields"):
        read_microdata(tmp_path / "d.csv", tmp_path / "l.rda")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A 1 2\n <WHAT>\n", ["line 2", "WHAT"]),
        ("A 1\n", ["line 1", "'A'", "width"]),
        ("A one 2\n", ["line 1", "'A'"]),
        ("A 0 2\n", ["line 1", "at least 1"]),
        ("\n<RECODEABLE>\nA 1 2\n", ["line 2", "RECODEABLE", "before"]),
        ("A 1 2\n <DECIMALS>\n", ["line 2", "DECIMALS"]),
        ("A 1 2\n <DECIMALS> x\n", ["line 2", "whole numbers"]),
        ("A 1 2\n <NUMERIC> 5\n", ["line 2", "'5'"]),
        ("A 1 2\nA 3 2\n", ["line 2", "'A'", "line 1"]),
        ("A 1 5\n <HIERLEVELS> 1 2\n", ["line 1", "3 digits", "5 wide"]),
        ("A 1 5\n <HIERARCHICAL>\n", ["line 1", "HIERCODELIST"]),
        ("A 1 5\n<SEPARATOR> ;\n", ["line 2", "SEPARATOR", "first"]),
        ("<SEPARATOR>\nA\n", ["line 1", "one word"]),
        ("A 1 5\n <<NUMERIC>\n", ["line 2", "<NUMERIC>"]),
        ("\n", ["no variables"]),
    ],
)
def test_malformed_layouts_name_the_line(text, words, tmp_path):
    path = tmp_path / "bad.rda"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_metadata(path)
    for word in ["bad.rda", *words]:
        assert word in str(caught.value)


def test_records_that_do_not_fit(folder):
    path = folder / "data.asc"
    path.write_text(RECORDS[0] + "\n" + RECORDS[1][:9] + "\n")
    with pytest.raises(InputError, match=r"data\.asc: line 2 has 9 characters.* 18"):
        read_microdata(path, folder / "layout.rda")
    path.write_text("\n\n")
    with pytest.raises(InputError, match="no records"):
        read_microdata(path, folder / "layout.rda")
    with pytest.raises(InputError, match=r"nowhere\.asc"):
        read_microdata(folder / "nowhere.asc", folder / "layout.rda")


def test_hierarchy_file_is_looked_for_beside_the_layout_only(folder):
    columns, metadata = read_microdata(folder / "data.asc", folder / "layout.rda")
    (folder / "region.hrc").unlink()
    with pytest.raises(InputError, match=r"'Region' \(line 1 .*REGION\.HRC"):
        hierarchies(metadata, columns)
    inner = folder / "inner"
    inner.mkdir()
    (folder / "region.hrc").write_text("N\n@ 1\n")
    (inner / "layout.rda").write_text(LAYOUT.replace("C:\\data\\REGION.HRC", "../region.hrc"))
    with pytest.raises(InputError, match=r"region\.hrc"):
        hierarchies(read_metadata(inner / "layout.rda"), columns)
    with pytest.raises(InputError, match="'Nowhere'"):
        hierarchies(metadata, columns, ["Nowhere"])


def test_codes_must_have_the_digits_of_their_levels(folder):
    columns, metadata = read_microdata(folder / "data.asc", folder / "layout.rda")
    columns["Branch"][0] = "10"
    with pytest.raises(InputError, match=r"'10' of 'Branch'.*need 3"):
        hierarchies(metadata, columns, ["Branch"])


# ---- the test data of τ-ARGUS --------------------------------------------------------------------


def simple_table():
    """Published Size x Region cells of τ-ARGUS: label -> value, suppressed cells too."""
    with shared_data("tables", "Simple2D.txt").open(newline="") as file:
        rows = [(s.strip(), r.strip(), v) for s, r, v, _ in csv.reader(file)]
    return {(size, region): None if v == "-" else Decimal(v) for size, region, v in rows}


def test_test_data_is_tabulated_to_the_published_totals():
    start = time.perf_counter()
    pair = read_microdata(
        shared_data("tables", "tau_testW.asc.gz"), shared_data("tables", "Tau_TestW.rda")
    )
    table = Table.from_microdata(pair, ["Size", "Region"], "Var2")
    seconds = time.perf_counter() - start
    assert seconds < 20  # 0.5 s on the machine it was written on
    assert table.scale == 2
    ours = {
        label: Decimal(value).scaleb(-2)
        for label, value in zip(table.labels, table.values.tolist(), strict=True)
    }
    published = simple_table()
    empty = {label for label, value in published.items() if label[1] == "99"}
    assert all(published[label] is None for label in empty if label[0] == "Total")
    checked = 0
    for label, value in published.items():
        if label in empty:
            continue  # nobody has region 99
        if value is None:
            assert ours[label] == 0
        else:
            assert ours[label] == value
            checked += 1
    assert checked > 100
    assert ours["Total", "Total"] == Decimal("16847646.84")
    who = table.contributors
    assert who is not None
    assert who.count[table.position(("Total", "Total"))] == 42723
    sizes = Counter(pair[0]["Size"].tolist())
    for size, count in sizes.items():
        assert who.count[table.position((size, "Total"))] == count


def test_published_table_of_test_data_comes_out_of_the_frame_door():
    columns, metadata = read_microdata(
        shared_data("tables", "pp.tab"), shared_data("tables", "pp.rda")
    )
    trees = hierarchies(metadata, columns)
    by, options = ["Size", "Region"], {"count": "FreqVar", "hierarchies": trees}
    # In three of its relations the value column was changed by hand; the shadow column was not.
    with pytest.raises(NotAdditive, match="Region=4"):
        Table.from_frame(columns, by, "Var2", **options)
    table = Table.from_frame(columns, by, "Var2_Shadow", **options)
    micro = Table.from_microdata(
        read_microdata(
            shared_data("tables", "tau_testW.asc.gz"), shared_data("tables", "Tau_TestW.rda")
        ),
        by, "Var2",
    )  # fmt: skip
    assert table.contributors is not None
    assert micro.contributors is not None
    known = set(micro.labels)
    for i, label in enumerate(table.labels):
        if label not in known:  # nobody has region 99
            assert table.values[i] == 0
            continue
        j = micro.position(label)
        assert table.values[i] == micro.values[j]
        assert table.contributors.count[i] == micro.contributors.count[j]
