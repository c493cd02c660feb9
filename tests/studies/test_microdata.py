"""Studies of microdata: losses against k and d."""

from __future__ import annotations

import json

import numpy as np
import pytest

from csp.errors import InputError
from microagg.aggregates import aggregate_anonymise
from studies.microdata.aggregates import SERIES, measurements


def test_measurements_are_what_the_methods_give():
    X = np.random.default_rng(5).integers(0, 40, (300, 3))
    rows = list(measurements(X, ks=(2, 5), sizes=(100, 200), ds=(0, 0.1), k=5))
    assert [row.varies for row in rows] == ["k"] * 12 + ["records"] * 18 + ["d"] * 6
    assert {row.series for row in rows} == set(SERIES)
    for row in rows:
        assert json.loads(json.dumps(row.row()))["seconds"] >= 0
        if row.records == 300 and " " not in row.series:
            found = aggregate_anonymise(X, row.k, d=row.d, method=row.series)
            assert (row.ncp, row.ncp_per_attribute) == (found.ncp, found.ncp_per_attribute)
    for cut in ("nearest", "relaxed"):
        full = [row.ncp for row in rows if row.series == f"mondrian {cut}"]
        best = [row.ncp for row in rows if row.series == "best"]
        assert all(b <= m for b, m in zip(best, full, strict=False))
    with pytest.raises(InputError, match="no series"):
        next(measurements(X, series=["magic"]))
    with pytest.raises(InputError, match="sample of 301"):
        next(measurements(X, sizes=(301,)))
