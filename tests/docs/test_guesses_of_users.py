"""Calls as a researcher and a data scientist guessed them: each runs, or names the right one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import cellveil
import csp
import microagg

ANY: dict[str, Any] = {"cellveil": cellveil, "csp": csp, "microagg": microagg}
"""Modules without their types: some of what is called here is wrong on purpose."""

Table: Any = csp.Table
RULES = "FREQ(10,10)"


def firms() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 400
    found = pd.DataFrame(
        {
            "firm_id": [f"F{i}" for i in range(n)],
            "region": rng.choice([*"abc"], n),
            "nace": rng.choice(["A1", "A2", "B1", "B2"], n),
            "employees": pd.array(rng.integers(1, 300, n), dtype="Int64"),
            "turnover": np.round(rng.lognormal(5, 1, n), 2),
            "exporter": rng.random(n) < 0.3,
            "failed": pd.array(rng.random(n) < 0.1, dtype="boolean"),
        }
    )
    found["size"] = pd.cut(
        found.employees.astype(int), [0, 9, 49, 999], labels=["micro", "small", "large"]
    )
    found["region"] = found.region.astype("category")
    return found


def panel() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 60
    person = np.repeat(np.arange(n), 4)
    return pd.DataFrame(
        {
            "nr": person,
            "year": np.tile([1, 2, 3, 4], n),
            "wage": rng.normal(10, 2, 4 * n).round(2),
            "school": np.repeat(rng.integers(8, 14, n), 4),
            "ethn": np.repeat(rng.choice(["black", "other"], n), 4),
            "residence": np.repeat(rng.choice(["north", "south"], n), 4),
            "union": rng.choice(["yes", "no"], 4 * n),
        }
    )


# ---- a researcher in a secure lab ----------------------------------------------------------------


def test_calls_of_a_researcher_that_run() -> None:
    data = firms()
    by = data.region, data["size"]
    assert ANY["cellveil"].protect is csp.protect
    assert ANY["cellveil"].crosstab(*by, rules=RULES).safe
    whole = pd.crosstab(*by, margins=True)
    for table in (
        Table.from_frame(whole, count="value"),
        Table.from_microdata(data, ["region", "size"]),
        Table.from_microdata(data, "region"),
        Table.from_microdata(data, ["region", "failed", "exporter"]),
    ):
        assert int(table.values.max()) == len(data)
    sums = data.groupby(["region", "size"], observed=True).turnover.sum()
    pivot = data.pivot_table(
        index="region", columns="size", values="turnover", aggfunc="sum", margins=True,
        observed=False,
    )  # fmt: skip
    cents = round(100 * data.turnover.sum())
    for frame in (sums, pivot):
        assert int(Table.from_frame(frame, decimals=2).values.max()) == cents
    parts = data.groupby(["region", "size"], observed=True).turnover.agg(["sum", "count", "max"])
    table = Table.from_frame(parts, decimals=2, disjoint=True)
    assert csp.protect(table, "NK(1,75)|FREQ(10,10)").audit.safe
    nested = csp.inspect(data.assign(nace1=data.nace.str[0]), ["region", "nace"])
    assert nested.hierarchies == {"nace": ("nace1", "nace")}


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        (lambda d: ANY["cellveil"].crosstab(d.region, d["size"]), "rules= says which cells are"),
        (lambda d: ANY["cellveil"].crosstab(d, "region", "size", rules=RULES), "frame as data="),
        (lambda d: ANY["cellveil"].crosstab(d.region, margins=True, rules=RULES), "always part of"),
        (lambda d: ANY["csp"].crosstab(d.region, d["size"]), "there is cellveil.crosstab(index"),
        (lambda d: csp.protect(pd.crosstab(d.region, d["size"]), RULES), "a cross table of pandas"),
        (lambda d: ANY["csp"].protect(d, RULES, by=["region"]), "cellveil.crosstab"),
        (lambda d: ANY["csp"].protect(Table.from_microdata(d, "region"), threshold=10), "'rules'"),
        (lambda d: Table.from_dataframe(d, ["region"]), "Table.from_microdata (one record per"),
        (lambda d: Table.from_crosstab(d), "Table.from_frame, which takes a cross table"),
        (lambda d: Table.from_groupby(d), "Table.from_frame, which takes a cross table"),
        (lambda d: Table.from_series(d), "Table.from_frame, which takes a cross table"),
        (lambda d: Table.from_microdata(d, ["region"], "turnover", aggfunc="mean"),
         "for means there is cellveil.crosstab"),
        (lambda d: Table.from_microdata(d, ["region"], margins=True), "totals are always part"),
        (lambda d: Table.from_microdata(d.region, d["size"]), "takes the columns themselves"),
        (lambda d: Table.from_microdata(d, ["region"], values="turnover"), "did you mean 'value'"),
        (lambda d: Table.from_microdata(d, ["region"], dropna=True), "did you mean 'missing'"),
        (lambda d: Table.from_frame(d), "has no index of codes"),
        (lambda d: csp.protect(Table.from_microdata(d, "region"), RULES).to_xlsx("x"),
         "there is to_excel(path)"),
        (lambda d: csp.protect(Table.from_microdata(d, "region"), RULES).to_crosstab(),
         "there is crosstab()"),
        (lambda d: csp.protect(Table.from_microdata(d, "region"), RULES).pivot(),
         "there is crosstab()"),
        (lambda d: csp.protect(Table.from_microdata(d, "region"), RULES).save("x"),
         "there is write(path)"),
        (lambda d: csp.protect(Table.from_microdata(d, "region"), RULES).release.write("x"),
         "write_release(release, path)"),
        (lambda d: csp.Hierarchy.from_columns(d[["nace"]]), "missing a required argument"),
        (lambda d: ANY["cellveil"].attacks.differencing(1, 2), "differencing: too many positional"),
    ],
)  # fmt: skip
def test_guesses_of_a_researcher_are_answered(guess: Any, answer: str) -> None:
    with pytest.raises((AttributeError, csp.InputError)) as caught:
        guess(firms())
    assert answer in str(caught.value)


# ---- a data scientist who releases microdata -----------------------------------------------------


def test_calls_of_a_data_scientist_that_run() -> None:
    data = panel()
    attributes = ["school", "year", "wage"]
    keys = ["ethn", "residence"]
    call = ANY["microagg"].mdav
    masked = call(data, 5, attributes=attributes, within=keys, contributor="nr").to_frame("pandas")
    found = microagg.checks.anonymity(
        masked.assign(nr=data.nr), [*attributes, *keys], contributor="nr"
    )
    assert found.k >= 5
    gaps = data.assign(wage=data.wage.where(data.index % 9 != 0))
    assert len(call(gaps, 5, attributes=["wage"], missing="drop").to_frame("pandas")) < len(data)
    assert "union" in call(data, 5, attributes=attributes).to_frame(keep=data[["union"]])
    assert microagg.utility(data[attributes], masked[attributes]).to_frame() is not None


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        (lambda d: ANY["microagg"].anonymize(d, k=5), "there is microagg.mdav(records, k)"),
        (lambda d: ANY["microagg"].k_anonymize(d, 5), "there is microagg.mdav(records, k)"),
        (lambda d: ANY["microagg"].mdav(d, k=5), "key columns of text with within="),
        (lambda d: ANY["microagg"].mdav(d, 5, quasi_identifiers=["wage"]), "mean 'attributes'"),
        (lambda d: ANY["microagg"].mdav(d, 5, by="ethn"), "did you mean 'within'"),
        (lambda d: ANY["microagg"].mdav(d, 5, strata_variables="ethn"), "did you mean 'within'"),
        (lambda d: ANY["microagg"].mdav(d, 5, weight="wage"), "microagg.aggregated(records, part"),
        (lambda d: microagg.mdav(d, 5, attributes=["wage"]).to_frame(keep=["ethn"]),
         "not their names alone"),
        (lambda d: ANY["microagg"].information_loss(d[["wage"]], d[["wage"]]), "microagg.utility"),
        (lambda d: ANY["microagg"].mdav(d, 5, attributes=["wage"]).report("x"),
         "microagg.report(original, masked)"),
        (lambda d: ANY["microagg"].mdav(d, 5, attributes=["wage"]).summary(), "microagg.disclos"),
    ],
)  # fmt: skip
def test_guesses_of_a_data_scientist_are_answered(guess: Any, answer: str) -> None:
    with pytest.raises((AttributeError, csp.InputError)) as caught:
        guess(panel())
    assert answer in str(caught.value)
