"""A result writes itself: frames, a workbook, a page and a release, without a suppressed value."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import attacks
from csp import InputError, Table, link, protect
from csp.outputs import output
from csp.release_file import read_release

SURVEY = pd.DataFrame(
    {
        "region": [*"aaabbbccc"] * 4,
        "size": pd.Categorical([*"zyxzyxzyx"] * 4, categories=[*"zyx"]),
        "sector": ["farms", "trade"] * 18,
        "pay": [1013 + 397 * i % 2111 + 23017 * (i % 7 == 0) for i in range(36)],
    }
)
RULES = "NK(1,75)|FREQ(2,10)"


def result():
    return protect(Table.from_microdata(SURVEY, ["region", "size"], "pay"), RULES)


def test_tables_of_a_link_come_back_one_by_one():
    one = Table.from_microdata(SURVEY, ["size", "region"], "pay")
    two = Table.from_microdata(SURVEY, ["sector", "size"], "pay")
    both = protect(link(one, two), RULES)
    first, second = both.tables()
    assert list(first.columns) == ["size", "region", "value", "status", "published"]
    assert list(second.columns) == ["sector", "size", "value", "status", "published"]
    for table, frame in ((one, first), (two, second)):
        labels = list(frame[list(table.names)].itertuples(index=False, name=None))
        assert labels == list(table.labels)
        shown = frame.published.to_numpy()
        assert (frame.value[shown].to_numpy() == table.values[shown]).all()
    assert first.published.sum() + second.published.sum() > both.pattern.sum() > 0
    # Shared cells have one status.
    margin = first[first.region == "Total"].set_index("size").status
    assert margin.equals(second[second.sector == "Total"].set_index("size").status)
    three = link(link(one, two), Table.from_microdata(SURVEY, ["sector"], "pay"))
    assert [part.names for part in three.parts] == [
        ("size", "region"), ("sector", "size"), ("sector",),
    ]  # fmt: skip
    (alone,) = result().tables()
    assert alone.equals(result().to_frame())


def test_the_cross_table_of_a_result():
    found = result()
    table = found.crosstab()
    assert list(table.columns) == ["z", "y", "x", "Total"]
    assert list(table.index) == ["a", "b", "c", "Total"]
    flat = found.to_frame()
    for row in flat.itertuples():
        value = table.at[row.region, row.size]
        assert np.isnan(value) if not row.published else value == row.value
    turned = found.crosstab("size", "region")
    assert turned.astype(float).equals(table.T.astype(float))
    assert found.crosstab(across="region").equals(turned)
    assert found.crosstab(mark="c").isin(["c"]).to_numpy().sum() == found.pattern.sum()
    with pytest.raises(InputError, match="have to name each dimension once"):
        found.crosstab("size", "size")


def test_files_hold_no_suppressed_value(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    found = result()
    found.to_excel(tmp_path / "r.xlsx")
    found.report(tmp_path / "r.html", title="Pay")
    found.write(tmp_path / "w.json")
    secret = {str(v) for v in found.table.values[found.pattern].tolist()}
    book = openpyxl.load_workbook(tmp_path / "r.xlsx")
    texts = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    texts += [path.read_text() for path in tmp_path.iterdir() if path.suffix != ".xlsx"]
    texts += [found.crosstab().to_csv(), *(frame.to_csv() for frame in found.tables())]
    numbers = {n for text in texts for n in re.findall(r"\d+", text.replace(",", ""))}
    assert found.pattern.any()
    assert not secret & numbers
    assert "<h1>Pay</h1>" in (tmp_path / "r.html").read_text()
    release, mechanism = read_release(tmp_path / "w.json")
    assert (release.pattern == found.pattern).all()
    assert str(mechanism.rules) == RULES


def test_a_workbook_has_the_signs_title_and_footnotes_of_a_house(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    found = result()
    found.to_excel(tmp_path / "r.xlsx", mark="uk", title="Pay", footnotes=["Source: a test."])
    sheet = openpyxl.load_workbook(tmp_path / "r.xlsx").worksheets[0]
    texts = [str(cell.value) for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert texts[0] == "Pay"
    assert texts[-1] == "Source: a test."
    assert texts.count("[c]") == found.pattern.sum()
    with pytest.raises(InputError, match=r"^mark= '0' must be a short sign"):
        found.to_excel(tmp_path / "s.xlsx", mark="0")
    assert not (tmp_path / "s.xlsx").exists()


@pytest.mark.parametrize("method", ["to_excel", "report"])
def test_other_endings_are_refused(method, tmp_path):
    with pytest.raises(InputError, match="must end with"):
        getattr(result(), method)(tmp_path / "r.txt")
    assert not list(tmp_path.iterdir())


def test_an_output_that_nothing_makes():
    with pytest.raises(InputError, match="install cellveil as a whole"):
        output("telex")


def test_tables_of_a_part_of_the_records_are_named_as_such():
    part = SURVEY[SURVEY.sector == "farms"]
    whole, some = (Table.from_microdata(d, ["region", "size"], "pay") for d in (SURVEY, part))
    words = "table 2 is nowhere larger than table 1, as if it were of some of its records"
    with pytest.raises(InputError, match=words):
        link(whole, some)
    with pytest.raises(
        InputError, match=words.replace("2", "0").replace("1", "2").replace("0", "1")
    ):
        link(some, whole)
    releases = [protect(table, "FREQ(2,10)").release for table in (whole, some)]
    with pytest.raises(InputError, match=r"release 2 is nowhere larger.*condition a dimension"):
        attacks.differencing(releases)
    other = SURVEY.assign(pay=SURVEY.pay[::-1].to_numpy())
    with pytest.raises(InputError, match="must come from the same records"):
        link(whole, Table.from_microdata(other, ["region", "size"], "pay"))
