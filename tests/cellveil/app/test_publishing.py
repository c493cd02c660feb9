"""Published tables as the page takes them: options, recognition, what is read and audited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellveil.app.publishing import placed, publication, published_kinds
from cellveil.app.work.publications import AUDIT, SHOWN, Examine, Interpret, Recognise
from cellveil.app.work.records import Records
from cellveil.app.work.tasks import Tell, perform
from cellveil.requests.option import fields_of, values_of
from cellveil.requests.publication import Publication
from csp import InputError

CROSS = ",Farms,Trade,Total\nNorth,{0},45,165\nSouth,12,8,20\nTotal,{0},53,185\n"
TELL = Tell(len, len)


def do(task, records=None):
    return perform(task, records or Records(), TELL)


def write(place: Path, text: str, name: str = "table.csv") -> Path:
    (place / name).write_text(text, encoding="utf-8")
    return place / name


def test_every_option_of_a_publication_is_on_the_page(tmp_path: Path) -> None:
    assert {f.name for f in placed().values()} == {f.name for f in fields_of(Publication)}
    assert placed()["published_negative"].choices == ("error", "allow")
    given = {
        "by": "a, b", "value": "v", "count": "n", "marks": "uk", "withheld": "h,k", "status": "s",
        "lower": "lo", "upper": "hi", "rounded": "5", "tolerance": "0.5", "total": "a=T, b=U",
        "hierarchy": "a=prefix, b=b.hrc", "absent_zero": True, "negative": "allow", "sheet": "x",
        "sep": ";", "decimal": ",", "encoding": "cp1252", "na": "NA", "labels": True,
        "cells": "counts",
    }  # fmt: skip
    tree, ranges = tmp_path / "1" / "b.hrc", tmp_path / "1" / "r.csv"
    made = publication(
        {f"published_{name}": value for name, value in given.items()},
        {"b.hrc": tree, "published_ranges": ranges},
    )
    assert values_of(made) == given | {
        "by": ("a", "b"), "withheld": ("h", "k"), "status": ("s",), "total": ("a=T", "b=U"),
        "hierarchy": ("a=prefix", f"b={tree}"), "na": ("NA",), "ranges": ranges,
    }  # fmt: skip
    # What is not said has its default, whatever the page sends for it.
    silent = {n: False if kind == "flag" else " " for n, kind in published_kinds().items()}
    assert publication(silent, {}) == Publication()
    assert publication({}, {}) == Publication()


@pytest.mark.parametrize(
    ("name", "text"),
    [("rounded", "five"), ("tolerance", "1e5"), ("hierarchy", "a=/etc/passwd"),
     ("hierarchy", "a=../b.hrc"), ("hierarchy", "b.hrc"), ("withheld", "a,,b")],
)  # fmt: skip
def test_wrong_options_are_refused(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        publication({f"published_{name}": text}, {"b.hrc": tmp_path / "b.hrc"})


@pytest.mark.parametrize(
    ("text", "published"),
    [
        (CROSS.format("[c]"), True),
        (CROSS.format("x"), True),
        (CROSS.format("."), True),
        (CROSS.format("20-99"), True),
        (CROSS.format("120"), False),  # nothing is withheld
        ("Title,,\n\n" + CROSS.format("*"), True),
        ("region,value,status\nN,,c\nS,5,\nTotal,9,\n", True),
        ("region,value,flag\nN,0,D\nS,5,\nTotal,9,\n", True),
        ("region,sector,turnover\nN,a,5\nS,b,.\nS,c,8\n", False),  # no total
        ("region,class,turnover\nN,x,5\nS,c,4\nS,c,8\n", False),  # codes are no signs
        ("", False),
        ("x", False),
        ('a,"b\n1,2\n', False),
    ],
)
def test_a_published_table_is_told_from_records(text: str, published: bool, tmp_path: Path) -> None:
    assert do(Recognise(write(tmp_path, text))) is published


def test_large_files_and_parquet_are_not_looked_at(tmp_path: Path) -> None:
    large = CROSS.format("[c]") + "n,1,2,3\n" * 2**18
    assert do(Recognise(write(tmp_path, large))) is False
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + b"0" * 20 + b"PAR1")
    assert do(Recognise(tmp_path / "t.parquet")) is False
    assert do(Recognise(write(tmp_path, "N;T;[c];0;U\n", "t.sbs"))) is True


@pytest.mark.parametrize(("sign", "published"), [("[c]", True), (120, False)])
def test_workbooks_are_looked_at(sign: object, published: bool, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Farms"], ["", "Farms", "Total"], ["N", sign, 5], ["S", 1, 2], ["Total", 2, 7]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert do(Recognise(tmp_path / "t.xlsx")) is published


def test_reading_says_what_was_recognised(tmp_path: Path) -> None:
    file = write(tmp_path, CROSS.format("x"))
    records = Records()
    read = do(Interpret(file, Publication()), records)
    assert (read.names, read.cells, read.withheld, read.ranged) == (("rows", "columns"), 9, 2, 0)
    assert any("taken for withheld" in note for note in read.notes)
    # It is not read again, unless it is to be read otherwise.
    kept = records.release(file, Publication())
    assert records.release(file, Publication()) is kept
    assert records.release(file, Publication(tolerance="1")) is not kept
    ranged = do(Interpret(write(tmp_path, CROSS.format("100-199"), "r.csv"), Publication()))
    assert (ranged.withheld, ranged.ranged) == (2, 0)
    unknown = write(tmp_path, ",A,Total\nN,hush,9\nS,1,2\nW,1,2\nTotal,9,13\n", "h.csv")
    with pytest.raises(InputError, match="hush"):
        do(Interpret(unknown, Publication()))


def test_an_audit_is_written_without_values_and_with_them(tmp_path: Path) -> None:
    file = write(tmp_path, CROSS.format("[c]"))
    done = do(Examine(file, Publication()))
    assert not done.safe
    assert done.disclosed == 2
    assert done.sentences[0] == "2 cells of 9 are withheld."
    for reveal in (False, True):
        page = done.file(SHOWN, reveal=reveal).read_text(encoding="utf-8")
        facts = json.loads(done.file(AUDIT, reveal=reveal).read_text(encoding="utf-8"))
        assert ("120" in page, "132" in page) == (reveal, reveal)
        assert ("value" in facts["disclosed_cells"][0]) is reveal
        assert ("Tell the office" in page) is reveal
        assert page.count('class="suppressed primary"') == 2
    done = do(Examine(file, Publication(tolerance="2"), percent="10"))
    assert done.safe
    page = done.file(SHOWN, reveal=False).read_text(encoding="utf-8")
    assert page.count('class="suppressed secondary"') >= 1


def test_ranges_and_contradictions_are_shown(tmp_path: Path) -> None:
    done = do(Examine(write(tmp_path, CROSS.format("100-199")), Publication()))
    assert "100 to 199" in done.file(SHOWN, reveal=False).read_text(encoding="utf-8")
    wrong = CROSS.format("[c]").replace("12,8,20", "12,8,21")
    done = do(Examine(write(tmp_path, wrong, "w.csv"), Publication()))
    assert not done.safe
    assert "cannot all be true" in done.file(SHOWN, reveal=False).read_text(encoding="utf-8")
