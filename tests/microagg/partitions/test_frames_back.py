"""Masked frames go back to the rows that they came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import microagg
from csp import InputError

RNG = np.random.default_rng(5)
DATA = pd.DataFrame(
    {"pay": RNG.lognormal(3, 1, 40).round(1), "age": RNG.integers(18, 80, 40).astype(float)}
)
DATA.loc[[0, 7, 8, 21], "pay"] = np.nan
DATA["sex"] = ["f", "m"] * 20

MAKERS = {
    "mdav": lambda d: microagg.mdav(d, 3),
    "vmdav": lambda d: microagg.vmdav(d, 3),
    "mondrian": lambda d: microagg.mondrian(d, 3),
    "ranking": lambda d: microagg.individual_ranking(d, 3),
    "merge": lambda d: microagg.comply(d, 3, "P(20)", method="merge"),
    "suppress": lambda d: microagg.comply(d, 4, "P(20)", method="suppress"),
    "drop": lambda d: microagg.comply(d, 3, "P(60)", method="drop"),
    "swap": lambda d: microagg.mdav_swap(d, 3, confidential=["pay"]),
    "ranges": lambda d: microagg.aggregate_anonymise(d, 2),
}


class Survey(pd.DataFrame):
    """A class made of pandas' own, as GeoPandas has one."""

    @property
    def _constructor(self):
        return Survey


@pytest.mark.parametrize("kind", [pd.DataFrame, Survey])
@pytest.mark.parametrize("name", MAKERS)
def test_records_keep_their_rows(name, kind):
    """After dropna a new index put the means of one record beside another."""
    kept = kind(DATA.dropna()[["pay", "age"]])
    found = MAKERS[name](kept)
    frame = found.to_frame()
    rows = getattr(found, "rows", np.arange(len(kept)))
    assert frame.index.tolist() == kept.index[rows].tolist()
    columns = found.to_columns()
    beside = DATA.assign(masked=frame["pay"])  # pandas goes by the index
    for place, row in enumerate(rows.tolist()):
        given, mean = beside.loc[kept.index[row], "masked"], columns["pay"][place]
        assert given == mean or (pd.isna(given) and mean is None)


def test_columns_are_kept_beside_the_means():
    pay, age = [100, 101, 102, 103, 900, 50, 51, 52], [30, 31, 32, 33, 34, 60, 61, 62]
    data = pd.DataFrame({"pay": pay, "age": age, "sex": [*"fmfmfmfm"]}, index=range(10, 18))
    found = microagg.comply(data[["pay", "age"]], 3, "P(60)", method="drop")
    assert [one.row for one in found.dropped] == [4]
    frame = found.to_frame(keep=data[["sex"]])
    assert frame["sex"].to_dict() == data["sex"].drop(14).to_dict()
    with pytest.raises(InputError, match="'pay' of keep= is masked"):
        found.to_frame(keep=data[["pay"]])
    with pytest.raises(InputError, match="has 7 rows for 8 records"):
        found.to_frame(keep=data[["sex"]].iloc[:7])
    names = data.assign(name=[f"n{i}" for i in range(8)])[["name"]]
    with pytest.raises(InputError, match=r"identifies the record.*keep_identifiers=True"):
        found.to_frame(keep=names)
    assert "name" in found.to_frame(keep=names, keep_identifiers=True)
