"""Which column is suggested where records were taken for contributors."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import csp
import microagg
from cellveil.cli.app import app
from csp.tables.columns import source_of
from csp.tables.microdata.repeats import repeating_identifier, telling_names
from tests.support.shared import examples

N = 40
TWICE = [i // 2 for i in range(N)]
TEXT = [f"K{i // 2:03}x" for i in range(N)]


def found(columns: dict[str, list[Any]], *apart: str) -> str | None:
    return repeating_identifier(source_of(columns), apart, N)


@pytest.mark.parametrize(
    ("name", "column", "suggested"),
    [
        ("nr", TWICE, True),
        ("firm_id", TWICE, True),
        ("personNr", TWICE, True),
        ("holding", TEXT, True),
        ("K", TEXT, True),  # text, though its name does not tell
        ("pay", TWICE, False),  # whole numbers may be amounts
        ("pay", list(map(str, TWICE)), False),
        ("nr", [i // 8 for i in range(N)], True),  # a panel of eight waves
        ("nr", [i // 20 for i in range(N)], False),
        ("K", [f"K{i // 3}x" for i in range(N)], False),
        ("nr", list(range(N)), False),  # nothing repeats
        ("nr", [i / 2 for i in TWICE], False),
        ("nr", [f"{i}.5" for i in TWICE], False),
        ("id", [f"2024-01-{i + 1:02}" for i in TWICE], False),
        ("id", [datetime.date(2024, 1, i + 1) for i in TWICE], False),
        ("id", [[i] for i in TWICE], False),
        ("id", [None, *TEXT[1:]], False),
        ("id", ["", *TEXT[1:]], False),
        ("id", [bool(i % 2) for i in TWICE], False),
    ],
)
def test_by_name_and_content(name: str, column: list[Any], *, suggested: bool) -> None:
    assert found({"region": ["a"] * N, name: column}, "region") == (name if suggested else None)


def test_telling_names_come_first_and_roles_are_apart() -> None:
    data = {"K": TEXT, "nr": TWICE, "firm": TEXT}
    assert found(data) == "nr"
    assert found(data, "nr") == "firm"
    assert found(data, "nr", "firm") == "K"
    assert found(data, *data) is None
    assert repeating_identifier(source_of(data), (), 10**6) is None
    assert telling_names(["Firm", "FIRM_ID", "paid", "grid", "firm_size", "ID", "x"]) == [
        "Firm", "FIRM_ID", "ID",
    ]  # fmt: skip


@given(st.lists(st.integers(0, 30), min_size=10, max_size=60))
@examples(100)
def test_bounds_by_sets(numbers: list[int]) -> None:
    n, different = len(numbers), len(set(numbers))
    wanted = different < n <= 10 * different
    assert (repeating_identifier(source_of({"id": numbers}), (), n) == "id") == wanted
    texts = [f"c{number}" for number in numbers]
    assert (repeating_identifier(source_of({"K": texts}), (), n) == "K") == (
        different < n <= 2 * different
    )


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_notes_of_tables_and_clusters(make: Any) -> None:
    data = make({"region": ["a", "b"] * (N // 2), "pay": [5 + i % 7 for i in range(N)],
                 "nr": TWICE})  # fmt: skip
    hint = "each record counts as one contributor; 'nr' repeats: contributor='nr'?"
    table = csp.Table.from_microdata(data, ["region"], "pay")
    assert table.notes == (hint.replace(";", ", since none is named;"),)
    assert csp.Table.from_microdata(data, ["region"], "pay", contributor="nr").notes == ()
    assert hint in csp.inspect(data, ["region"], "pay").problems
    assert microagg.mdav(data, 3, attributes=["pay"]).notes == (hint,)
    assert microagg.mdav(data, 3, attributes=["pay"], contributor="nr").notes == ()
    assert microagg.mdav(data, 3, attributes=["pay", "nr"]).notes == ()
    made = microagg.comply(data, 3, "P(10)", method="merge", attributes=["pay"])
    assert made.notes == (hint,)
    assert made.summary()["notes"] == [hint]
    varied = microagg.comply(data, 3, "P(10)", method="merge", attributes=["pay"],
                             diverse={"nr": 3})  # fmt: skip
    assert varied.notes == ()
    assert microagg.checks.anonymity(data, ["region"]).notes == (hint,)
    assert microagg.checks.anonymity(data, ["region"], contributor="nr").notes == ()


def test_what_lies_elsewhere_is_not_read() -> None:
    lazy = pl.LazyFrame({"region": ["a"] * N, "nr": TWICE})
    assert repeating_identifier(source_of(lazy), (), N) is None
    assert csp.Table.from_microdata(lazy, ["region"]).notes == (
        "each record counts as one contributor, since none is named",
    )


def test_commands_name_their_option(tmp_path: Any) -> None:
    path = tmp_path / "panel.csv"
    rows = [f"{TWICE[i]},{'ab'[i % 2]},{5 + i % 7}" for i in range(N)]
    path.write_text("\n".join(["nr,region,pay", *rows]) + "\n")
    by = ("--by", "region", "--value", "pay", "--rules", "P(10)")
    for words in (
        ("protect", path, *by, "-o", tmp_path / "o.csv"),
        ("inspect", path, *by),
        ("microdata", "microaggregate", path, "-k", 3, "--attributes", "pay"),
        ("microdata", "check", path, "--quasi-identifiers", "region"),
    ):
        said = " ".join(CliRunner().invoke(app, list(map(str, words))).output.split())
        assert re.search(r"Each record counts as one contributor[^;]*; 'nr' repeats: ", said), words
        assert "--contributor nr?" in said
        assert "?." not in said
        again = CliRunner().invoke(app, [*map(str, words), "--contributor", "nr"]).output
        assert "repeats" not in again


def test_a_column_that_nobody_asked_for_breaks_nothing(tmp_path: Any) -> None:
    path = tmp_path / "data.csv"
    rows = [f"{'NA' if i % 5 else ''},{'ab'[i % 2]}" for i in range(N)]
    path.write_text("\n".join(["id,region", *rows]) + "\n")
    result = CliRunner().invoke(
        app, ["protect", str(path), "--by", "region", "--rules", "FREQ(3)", "-o",
              str(tmp_path / "o.csv")]
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "repeats" not in result.output
