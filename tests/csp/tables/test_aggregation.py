"""Records that DuckDB adds up where they lie, against the same records read as a whole."""

from __future__ import annotations

import math
import random
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import csp.tables.microdata.aggregation
import csp.tables.microdata.duckdb_records
from csp import Hierarchy, InputError, Table
from csp.formats.delimited import TextFile
from csp.tables.memory import memory_size
from csp.tables.microdata.contributions import Stage
from tests.csp.tables.test_sparse_tables import everything

CODES = (
    ["1", "2", "3"],
    [" a", "a", "b\u2003", "it's"],
    [7, 10, 9],
    [1.0, 2.0, 10.0],
    [Decimal("1.50"), Decimal("2.00")],
    [True, False],
)
VALUES = (
    lambda r: r.randint(0, 99),
    lambda r: r.randint(0, 999) / 100,
    lambda r: r.choice([0.1 + 0.2, 1e15, 0.3, 123456789.125]),
    lambda r: Decimal(r.randint(0, 999)) / 100,
    lambda r: r.choice(["1", "2.50", "+3.", " .5", "1e2", "007", "12345678901.25"]),
    lambda r: float(r.randint(0, 5)),
)
OWNERS = (
    lambda r: r.randint(0, 30),
    lambda r: r.randint(-5, 5),
    lambda r: 10 ** r.randint(0, 17),
    lambda r: f"e{r.randint(0, 30)}",
    lambda r: r.choice([" x", "x", "y\u00a0", "y", "ä", "z'"]),
    lambda r: float(r.randint(0, 12)),
)


def drawn(seed):
    """Columns of some records and the options of a table of them."""
    r = random.Random(seed)
    n = r.choice([1, 5, 30, 60])
    data = {name: [r.choice(codes) for _ in range(n)] for name, codes in (
        ("g", r.choice(CODES)), ("h", r.choice(CODES)))}  # fmt: skip
    make = r.choice(VALUES)
    data["v"] = [make(r) for _ in range(n)]
    options = {"top": r.choice([None, 1, 3])}
    options["value"] = r.choice([None, "v", "v"])
    if options["value"] and not isinstance(data["v"][0], str):
        options["negative"] = r.choice(["error", "abs", "shift", "split"])
        if options["negative"] != "error":
            data["v"] = [-v if r.random() < 0.3 else v for v in data["v"]]
    if r.random() < 0.7:
        options["contributor"] = "who"
    owner = r.choice(OWNERS)
    data["who"] = [owner(r) for _ in range(n)]
    if r.random() < 0.4:
        options["weight"] = "w"
    weights = r.choice([[1], [2], [1.5, 2.25, 1.0], [1.0]])
    each = {str(who).strip(): r.choice(weights) for who in data["who"]}
    data["w"] = [each[str(who).strip()] for who in data["who"]]
    if r.random() < 0.3:
        data["h"][0] = None
        options["missing"] = "none"
    if r.random() < 0.3:
        options["empty"] = "drop"
    return data, options


def outcome(data, options):
    options = dict(options)
    try:
        table = Table.from_microdata(data, ["g", "h"], options.pop("value"), **options)
        # Records that are read in parts tell nobody apart who has no name.
        return everything(table, named="contributor" in options)
    except InputError as error:
        return str(error)


def test_parquet_and_relations_give_the_table_of_memory(monkeypatch, tmp_path):
    tables = 0
    for seed in range(20):
        monkeypatch.setattr(
            csp.tables.microdata.duckdb_records, "MAX_BATCH", 2**22 if seed % 5 == 0 else 8
        )
        data, options = drawn(seed)
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(data), path)
        wanted = outcome(path, options)
        assert outcome(path, options | {"memory": "4GB"}) == wanted, seed
        with duckdb.connect() as connection:
            relation = connection.read_parquet(str(path))
            assert outcome(relation, options) == wanted, seed
            assert not connection.execute("SELECT * FROM duckdb_tables()").fetchall()
        tables += not isinstance(wanted, str)
    assert tables > 14


def test_text_files_give_the_table_of_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(csp.tables.microdata.duckdb_records, "MAX_BATCH", 8)
    tables = 0
    for seed in range(20):
        data, options = drawn(seed)
        r = random.Random(seed)
        separator, comma = r.choice([(",", False), (";", True), (";", False)])
        if r.random() < 0.2:
            data["g"][-1] = "NA"
        lines = [separator.join(data)]
        for row in zip(*data.values(), strict=True):
            texts = ["" if item is None else str(item).strip("\u2003\u00a0") for item in row]
            if comma:
                texts[2], texts[4] = texts[2].replace(".", ","), texts[4].replace(".", ",")
            lines.append(separator.join(texts))
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        file = TextFile(path, missing=r.choice([None, ("NA",), ()]))
        wanted = outcome(file, options)
        assert outcome(file, options | {"memory": "4GB"}) == wanted, seed
        tables += not isinstance(wanted, str)
    assert tables > 10


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"g": ["a", None]}, {}),
        ({"g": ["a", None, "y"]}, {"missing": "y"}),
        ({"g": ["a", "b"], "v": [1, -1]}, {"value": "v"}),
        ({"g": ["a", "b"], "v": [1.5, None]}, {"value": "v"}),
        ({"g": ["a", "b"], "v": [1.5, math.inf]}, {"value": "v"}),
        ({"g": ["a", "b"], "v": ["1", "x"]}, {"value": "v"}),
        ({"g": ["a", "b"], "v": [1, 2**53 + 1]}, {"value": "v"}),
        ({"g": ["a", "b"], "v": [0.5, 0.123]}, {"value": "v", "decimals": 2}),
        ({"g": ["a", "b"], "v": [0.5, 0.1234567891234]}, {"value": "v"}),
        ({"g": ["a", "b"], "who": ["x", None]}, {"contributor": "who"}),
        ({"g": ["a", "b"], "who": ["x", " "]}, {"contributor": "who"}),
        ({"g": ["a", "b"], "who": [1, None]}, {"contributor": "who"}),
        ({"g": ["a", "b"], "w": [1, 0]}, {"weight": "w"}),
        ({"g": ["a", "Total"]}, {}),
        ({"g": ["a", "b"]}, {"value": "none"}),
        ({"g": [str(i) for i in range(1000)]}, {}),
        ({"g": np.zeros(0)}, {}),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(columns, options, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    messages = []
    for more in ({}, {"memory": "4GB"}):
        with pytest.raises(InputError) as caught:
            Table.from_microdata(path, ["g"], **{"value": None, **options, **more})
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_codes_outside_the_hierarchy_name_the_first_row(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a", "z", "q", "z"]}), path)
    trees = {"g": Hierarchy.flat(["a", "b"])}
    for more in ({}, {"memory": "4GB"}):
        with pytest.raises(InputError, match="row 2: code 'z'"):
            Table.from_microdata(path, ["g"], hierarchies=trees, **more)


def test_marks_in_numbers_are_undecided_in_the_same_words(tmp_path):
    for text in (
        "g;v\na;1,5\nb;2.5\n", 'g,v\na,1\nb,"1,500"\n', "g;v\na;1\nb;1.500\n", "g,v\nNA,1\nb,2\n"
    ):  # fmt: skip
        path = tmp_path / "a.csv"
        path.write_text(text)
        messages = []
        for more in ({}, {"memory": "4GB"}):
            with pytest.raises(InputError) as caught:
                Table.from_microdata(path, ["g"], "v", **more)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert "row" in messages[0]


def test_two_weights_of_a_contributor_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a", "b"], "who": ["x", "x"], "w": [1, 2]}), path)
    with pytest.raises(InputError, match=r"one contributor \(column 'who'\) has two weights"):
        Table.from_microdata(path, ["g"], contributor="who", weight="w", memory="4GB")


def test_fractions_are_not_identifiers(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a", "b"], "who": [1.5, 2.0]}), path)
    with pytest.raises(InputError, match="'who' holds fractions"):
        Table.from_microdata(path, ["g"], contributor="who", memory="4GB")


def test_progress_and_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(csp.tables.microdata.duckdb_records, "MAX_BATCH", 4)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a", "b"] * 5, "who": list("abcdefghij")}), path)
    told = []

    def progress(stage):
        assert list((tmp_path / "spill").iterdir())
        told.append(stage)

    Table.from_microdata(path, ["g"], contributor="who", memory="4GB", progress=progress)
    assert told[:2] == [Stage("reading codes"), Stage("sorting records")]
    assert {stage.words for stage in told[2:]} == {"adding up"}
    assert [stage.done for stage in told[2:]] == list(range(told[2].total))
    assert told[2].total > 2
    assert not list((tmp_path / "spill").iterdir())
    pq.write_table(pa.table({"g": ["a", None]}), path)
    with pytest.raises(InputError):
        Table.from_microdata(path, ["g"], memory="4GB")
    assert not list((tmp_path / "spill").iterdir())


def test_memory_is_a_size_and_enough(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a"]}), path)
    assert memory_size("2GB") == 2 * 10**9
    assert memory_size(" 1.5 GiB ") == 3 * 2**29
    assert memory_size("500mb") == 5 * 10**8
    assert memory_size(12345) == 12345
    for wrong in ("2", "GB", "-1GB", "0MB", 0, True, "much"):
        with pytest.raises(InputError, match="is not a size such as '2GB'"):
            memory_size(wrong)
    with pytest.raises(InputError, match=r"leaves .* beside what the program takes already; give"):
        Table.from_microdata(path, ["g"], memory="10MB")
    with pytest.raises(InputError, match="is in memory already, so leave it out"):
        Table.from_microdata({"g": ["a"]}, ["g"], memory="2GB")


def test_a_contributor_with_most_of_the_records(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"g": ["a", "b"] * 20, "who": ["x"] * 39 + ["y"]}), path)
    monkeypatch.setattr(csp.tables.microdata.duckdb_records, "MAX_BATCH", 8)
    monkeypatch.setattr(csp.tables.microdata.aggregation, "_RECORD", 10**9)
    with pytest.raises(InputError, match="have 40 records, more than fit into the memory allowed"):
        Table.from_microdata(path, ["g"], contributor="who", memory="9GB")


def test_paths_are_taken_as_they_are(tmp_path):
    path = Path(tmp_path) / "it's [1].parquet"
    pq.write_table(pa.table({"it's": ["a", "b'"]}), path)
    table = Table.from_microdata(path, ["it's"], memory="4GB")
    assert table.labels == (("a",), ("b'",), ("Total",))


def test_a_relation_may_be_about_a_table_of_any_name():
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE source AS SELECT 'a' AS g, 5 AS n UNION ALL VALUES ('b', 6)"
        )
        connection.execute("CREATE VIEW records AS SELECT * FROM source")
        for name in ("source", "records"):
            for _ in range(2):
                table = Table.from_microdata(connection.table(name), ["g"], "n")
                assert table.values.tolist() == [5, 6, 11]
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [
            ("source",)
        ]
        views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        assert connection.execute(views).fetchall() == [("records",)]
