"""How soon parameters are known: candidates against the algorithm run on every table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from csp import InputError, Mechanism, MinFrequency, Unprotectable
from studies.matching import secret_parameters
from studies.matching.secret_parameters import erosion, page
from tests.support import oracles

# A width below the threshold is an algorithm of its own.
PAIRS = list(itertools.product((4, 5, 6), (3, 8)))


def test_candidates_are_those_that_publish_some_table_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_parameters, "THRESHOLDS", (4, 5, 6))
    monkeypatch.setattr(secret_parameters, "WIDTHS", (3, 8))
    found = erosion(0, releases=2, side=3)
    possible = set(PAIRS)
    for release, count in zip(secret_parameters._series(0, 2, 3, 0), found.possible, strict=True):
        alive = set()
        table = release.table(secret_parameters.Fibre(release).origin)
        for values in oracles.integer_tables(table, release.pattern):
            one = table.replace(values=np.array(values))
            for threshold, width in possible - alive:
                rule = MinFrequency(threshold, zero_sensitive=True, width=width)
                try:
                    pattern = Mechanism(rule, margins="publish").protect(one).pattern
                except Unprotectable:
                    continue
                if (pattern == release.pattern).all():
                    alive.add((threshold, width))
        possible = alive
        assert count == len(possible)
    assert (5, 8) in possible
    assert len({pair in possible for pair in PAIRS}) == 2
    assert found.thresholds[-1] == len({t for t, _ in possible})
    assert found.widths[-1] == len({w for _, w in possible})
    assert all(p <= b for p, b in zip(found.possible, found.bounds, strict=True))
    assert found.truth[-1] >= 1 / len(PAIRS)


def test_a_page_says_what_was_drawn() -> None:
    one = secret_parameters.Erosion((5, 2), (3, 2), (4, 1), (0.25, 0.75), (False, True), (9, 8))
    text = "\n".join(page([one, one], side=4, command="run"))
    assert "| 2 | 8.0 | 2.0 | 2.0 | 1.0 | 75 % | 2 of 2 |" in text
    with pytest.raises(InputError, match="at least one release"):
        erosion(0, releases=0)
