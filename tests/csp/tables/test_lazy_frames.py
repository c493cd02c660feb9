"""Records that their engine adds up where they lie, against the same records in memory."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sys
import warnings
from itertools import pairwise

import dask
import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp.tables.microdata.workers
from csp import Hierarchy, InputError, Table
from csp.tables.columns import column_names, named_columns, read_columns
from csp.tables.microdata.contributions import Stage
from tests.csp.tables.test_aggregation import drawn, outcome
from tests.csp.tables.test_sparse_tables import alike
from tests.support.shared import examples

REGIONS = Hierarchy.from_parents({"N1": "N", "N2": "N", "S1": "S", "S2": "S", "S3": "S"})


def in_parts(data, count):
    """A Dask frame of several partitions, some of them perhaps empty."""
    frame = pd.DataFrame(data)
    cuts = np.linspace(0, len(frame), count + 1).astype(int)
    return dd.concat([dd.from_pandas(frame[a:b], npartitions=1) for a, b in pairwise(cuts)])


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(autouse=True)
def _many_ranges(monkeypatch):
    monkeypatch.setattr(csp.tables.microdata.workers, "_STEP", 3)


def check_drawn(seeds, frame_of, memory_of=lambda data: data):
    """Compare random tables, also what is refused, with those of the records in memory."""
    tables = 0
    for seed in seeds:
        data, options = drawn(seed)
        wanted, found = outcome(memory_of(data), options), outcome(frame_of(data, seed), options)
        tables += not isinstance(wanted, str)
        if isinstance(wanted, str):
            assert isinstance(found, str), seed
            assert found.endswith(wanted.partition(": ")[2]), seed
        else:
            assert found == wanted, seed
    assert tables > len(seeds) / 2


def test_dask_gives_the_table_of_memory():
    check_drawn(range(40), lambda data, seed: in_parts(data, seed % 5 + 1))


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "contributor": st.just("who"),
        "weight": st.just("weight"),
        "negative": st.sampled_from(["abs", "shift", "split"]),
        "top": st.integers(1, 4),
        "empty": st.sampled_from(["drop", "keep"]),
        "decimals": st.integers(2, 4),
    },
)


def survey(seed, n):
    """Records with regions in two levels, contributors with several of them, and gaps."""
    r = random.Random(seed)
    weights = [r.choice([1, 1.5, 2.25]) for _ in range(9)]
    who = [r.randrange(9) for _ in range(n)]
    return {
        "region": [r.choice(["N1", "N2", "S1", "S2", "S3"]) for _ in range(n)],
        "size": [r.choice([1, 2, 3, None]) for _ in range(n)],
        "value": [r.choice([0.1, 2.0, 3.25, 1000.5]) for _ in range(n)],
        "who": who,
        "weight": [weights[i] for i in who],
    }


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), OPTIONS)
def test_dask_with_hierarchies(seed, n, count, options):
    data, r = survey(seed, n), random.Random(seed)
    if options.get("negative"):
        data["value"] = [v * r.choice([1, -1]) for v in data["value"]]
    options = {"hierarchies": {"region": REGIONS}, "missing": "none", **options}
    wanted = Table.from_microdata(data, ["region", "size"], "value", **options)
    found = Table.from_microdata(in_parts(data, count), ["region", "size"], "value", **options)
    assert alike(found, wanted)


def test_nothing_but_cells_comes_back(monkeypatch):
    n = 20_000
    rng = np.random.default_rng(1)
    data = {
        "g": rng.integers(0, 4, n), "who": rng.integers(0, 5000, n), "v": rng.integers(0, 999, n)
    }  # fmt: skip
    monkeypatch.setattr(csp.tables.microdata.workers, "_STEP", 4096)
    monkeypatch.setattr(dd.DataFrame, "compute", lambda *_, **__: pytest.fail("it was collected"))
    sizes = []

    def scheduler(graph, keys, **options):
        found = dask.get(graph, keys, **options)
        sizes.append(len(pickle.dumps(found)))
        return found

    frame = dd.from_pandas(pd.DataFrame(data), npartitions=8)
    with dask.config.set(scheduler=scheduler):
        for contributor in (None, "who"):
            options = {"contributor": contributor}
            table = Table.from_microdata(frame, ["g"], "v", **options)
            assert alike(table, Table.from_microdata(data, ["g"], "v", **options))
    assert sizes
    assert max(sizes) < n  # a byte a record would be more, and a record has 24


def test_distributed_workers(monkeypatch):
    from distributed import Client

    data = survey(3, 60)
    options = {"contributor": "who", "weight": "weight", "missing": "none"}
    wanted = Table.from_microdata(data, ["region", "size"], "value", **options)
    wrong = in_parts(data | {"value": [-1.0] * 60}, 4)
    with (
        dask.config.set(scheduler=None),
        Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"),
    ):
        found = Table.from_microdata(in_parts(data, 4), ["region", "size"], "value", **options)
        with pytest.raises(InputError, match="'value' is negative"):
            Table.from_microdata(wrong, ["region", "size"], "value", **options)
    assert alike(found, wanted)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"g": ["a", None]}, {}, "row 2: the code in column 'g' is missing"),
        ({"g": ["a", "b"], "v": [1, -1]}, {"value": "v"}, "partition 2 of the frame, row 1: the v"),
        ({"g": ["a", "b"], "v": [1.5, None]}, {"value": "v"}, "partition 2 .* is missing"),
        ({"g": ["a", "b"], "v": [0.5, 2**53]}, {"value": "v"}, r"'v' has numbers beyond 2\*\*53"),
        ({"g": ["a", "b"], "who": ["x", None]}, {"contributor": "who"}, "contributor .* missing"),
        ({"g": ["a", "b"], "w": [1, 0]}, {"weight": "w"}, "'w' is not positive"),
        (
            {"g": ["a", "b"], "who": ["x", "x"], "w": [1, 2]},
            {"weight": "w", "contributor": "who"},
            r"one contributor \(column 'who'\) has two weights \(column 'w'\)",
        ),
        ({"g": ["a", "b"]}, {"value": "none"}, "there is no column 'none'"),
        ({"g": ["a", "b"]}, {"memory": "4GB"}, "workers of dask have limits of their own"),
        ({"g": ["a", "z"]}, {"hierarchies": {"g": Hierarchy.flat(["a"])}}, "row 2: code 'z'"),
        ({"g": []}, {}, "the data has no records"),
        ({"g": [str(i) for i in range(1000)]}, {}, "another code in each of the 1000 records"),
    ],
)
def test_what_is_refused(columns, options, message):
    with pytest.raises(InputError, match=message):
        Table.from_microdata(in_parts(columns, 2), ["g"], **{"value": None, **options})
    twice = in_parts({"g": ["a"]}, 1)
    twice = dd.concat([twice, twice], axis=1)
    with pytest.raises(InputError, match="two columns 'g'"):
        Table.from_microdata(twice, ["g"])


def test_a_frame_that_changes_is_refused():
    drawn_once = []

    def changing(frame):
        drawn_once.append(frame)
        return frame.assign(g="b") if len(drawn_once) > 1 else frame

    frame = in_parts({"g": ["a"]}, 1).map_partitions(changing, meta={"g": "object"})
    with pytest.raises(InputError, match=r"other records when it was read again; .* \.persist\(\)"):
        Table.from_microdata(frame, ["g"])


def test_progress_and_frames_inside_narwhals():
    told = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of narwhals, about its support of Dask
        frame = nw.from_native(in_parts(survey(1, 20), 3))
    table = Table.from_microdata(frame, ["region"], "value", progress=told.append)
    wanted = Table.from_microdata(survey(1, 20), ["region"], "value")
    assert alike(table, wanted)
    assert told == [Stage("reading codes"), Stage("adding up")]
    with duckdb.connect() as connection:
        relation = nw.from_native(connection.sql("SELECT 'a' AS g, 5 AS n"))
        table = Table.from_microdata(relation, ["g"], "n", progress=told.append)
    assert table.values.tolist() == [5, 5]
    assert Stage("sorting records") in told


# ---- engines that not every machine has ----------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no java (apt-get install default-jre-headless)")
    pyspark = pytest.importorskip(
        "pyspark", reason="pyspark is not installed (pip install pyspark)"
    )
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        builder = pyspark.sql.SparkSession.builder.master("local[1]")
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_table_of_memory(spark):
    import pyarrow

    def frame_of(data, seed):
        return spark.createDataFrame(pyarrow.table(data)).repartition(seed % 3 + 1)

    check_drawn(range(12), frame_of)
    data = survey(3, 60)
    options = {"contributor": "who", "weight": "weight", "missing": "none", "empty": "drop",
               "hierarchies": {"region": REGIONS}, "decimals": 2}  # fmt: skip
    found = Table.from_microdata(
        nw.from_native(frame_of(data, 2)), ["region", "size"], "value", **options
    )
    wanted = Table.from_microdata(data, ["region", "size"], "value", **options)
    assert alike(found, wanted)
    with pytest.raises(InputError, match="two weights"):
        Table.from_microdata(
            frame_of({"g": ["a", "b"], "who": ["x", "x"], "w": [1, 2]}, 1), ["g"],
            weight="w", contributor="who",
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["duckdb", "sqlite", "in memory"])
def test_ibis_gives_the_table_of_memory(backend, tmp_path):
    import pyarrow
    import pyarrow.parquet

    ibis = pytest.importorskip("ibis", reason="ibis is not installed (pip install ibis-framework)")
    if backend == "sqlite":
        pytest.importorskip("regex", reason="pip install ibis-framework[sqlite]")
    if backend == "in memory" and not hasattr(duckdb.DuckDBPyConnection, "fetch_record_batch"):
        pytest.skip("this ibis reads its tables in memory by a method that this DuckDB has not")
    connection = None if backend == "in memory" else getattr(ibis, backend).connect()

    def put(data, path):  # where booleans are true and false, as DuckDB writes them
        pyarrow.parquet.write_table(pyarrow.table(data), path)
        return path

    def frame_of(data, seed):
        if backend == "in memory":
            return ibis.memtable(pyarrow.table(data))
        if backend == "sqlite":
            pd.DataFrame(data).to_sql(f"t{seed}", connection.con, index=False)
        else:
            connection.con.register("given", pyarrow.table(data))
            connection.con.execute(f"CREATE TABLE t{seed} AS SELECT * FROM given")
        return connection.table(f"t{seed}")

    if backend == "duckdb":
        check_drawn(range(20), frame_of, lambda data: put(data, tmp_path / "a.parquet"))
    told = []
    frame = frame_of(survey(1, 20), 99)
    table = Table.from_microdata(
        nw.from_native(frame).filter(nw.col("value") > 1), ["region"], "value",
        contributor="who", progress=told.append,
    )  # fmt: skip
    data = pd.DataFrame(survey(1, 20))
    wanted = Table.from_microdata(data[data.value > 1], ["region"], "value", contributor="who")
    assert alike(table, wanted)
    assert Stage("sorting records") in told
    with pytest.raises(InputError, match="there is no column 'regio'; did you mean 'region'"):
        Table.from_microdata(frame, ["regio"])
    with pytest.raises(InputError, match="the Ibis expression cannot be read"):
        Table.from_microdata(ibis.table({"g": "string"}, name="nowhere"), ["g"])


@pytest.mark.parametrize(
    "read", [column_names, named_columns, lambda data: read_columns(data, "b")]
)
def test_lazy_frames_that_cannot_be_run_are_refused(read):
    lazy = pl.LazyFrame({"a": [1]}).select("b")
    with pytest.raises(InputError, match="the data frame cannot be read: "):
        read(lazy)


def test_what_a_library_says_of_values_is_not_repeated():
    lazy = pl.LazyFrame({"a": ["98765z"]}).with_columns(pl.col("a").cast(pl.Int64))
    with pytest.raises(InputError, match="the data frame cannot be read") as refused:
        read_columns(lazy, "a")
    assert "98765" not in str(refused.value)
