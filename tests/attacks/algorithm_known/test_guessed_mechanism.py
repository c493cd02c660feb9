"""Attacks with a guessed algorithm on tables that somebody else published, by brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import attacks
from attacks.algorithm_known.views.public_view import NeverPublished
from csp import InputError, Mechanism, MinFrequency, PPercent, Release
from tests.attacks.algorithm_known.test_matching_attack import Options, brute

CHOSEN = Options(
    5, zero_sensitive=False, width=6, strict=False, margin=None, zero_level=None, cost="unit",
    margins="publish", integer=True,
)  # fmt: skip
GUESSES = [CHOSEN, replace(CHOSEN, threshold=9), replace(CHOSEN, width=20),
           replace(CHOSEN, cost="value"), replace(CHOSEN, threshold=40)]  # fmt: skip

PLAIN = [
    ["", "a", "b", "c", "Total"],
    ["x", 3, 11, 30, 44],
    ["y", 12, 9, 20, 41],
    ["z", 20, 30, 14, 64],
    ["Total", 35, 50, 64, 149],
]  # fmt: skip
INDENTED = [
    ["", "a", "b", "Total"],
    ["North", 13, 19, 32],
    ["  N1", 4, 8, 12],
    ["  N2", 9, 11, 20],
    ["South", 25, 35, 60],
    ["Total", 38, 54, 92],
]  # fmt: skip
LONG = {  # regions have no total
    "region": ["x"] * 5 + ["y"] * 5,
    "sector": ["1", "11", "12", "2", "Total"] * 2,
    "value": [13, 4, 9, 6, 19, 30, 14, 16, 12, 42],
}
MORE = {  # totals show in three lines at least
    "region": [code for code in "xyzw" for _ in range(5)],
    "sector": ["1", "11", "12", "2", "Total"] * 4,
    "value": LONG["value"] + [31, 14, 17, 15, 46, 44, 21, 23, 19, 63],
}


def cross(rows, show):
    """A cross table in which `show` prints each cell."""
    head, *body = rows
    return [head, *([name, *(show(name.strip(), code, v) for code, v in zip(head[1:], values,
            strict=True))] for name, *values in body)]  # fmt: skip


def listed(columns, show):
    triples = zip(columns["region"], columns["sector"], columns["value"], strict=True)
    return columns | {"value": [show(*triple) for triple in triples]}


READ = {
    "plain": (PLAIN, cross, partial(Release.from_frame, cells="counts")),
    "indented": (INDENTED, cross, partial(Release.from_frame, cells="counts")),
    "no total": (
        LONG, listed, lambda data: Release.from_frame(
            data, ["region", "sector"], "value", hierarchies={"sector": "prefix"}, cells="counts"
        ),
    ),
    "found": (
        MORE, listed, lambda data: Release.from_frame(
            data, ["region", "sector"], "value", hierarchies={"sector": "found"}, cells="counts"
        ),
    ),
}  # fmt: skip


def as_published(name, ranges=False, chosen=CHOSEN):
    """Release of a table as it was printed, and the table; every other withheld cell as a range."""
    data, form, read = READ[name]
    true = read(data)
    table = true.table(true.published)
    pattern = chosen.mechanism().protect(table).pattern
    assert pattern.any()
    hidden = {label: k for k, label in enumerate(table.labels) if pattern[k]}
    order = itertools.count()

    def show(row, column, value):
        if (row, column) not in hidden:
            return value
        return f"{max(1, value - 5)}-{value + 7}" if ranges and not next(order) % 2 else "[c]"

    release = read(form(data, show))
    assert release.labels == table.labels
    assert (release.pattern == pattern).all()
    assert (release.classed is not None) is ranges
    return release, release.table(table.values)


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("name", READ)
def test_matches_are_those_of_a_search_through_everything(name, ranges) -> None:
    release, table = as_published(name, ranges)
    compare(release, table, GUESSES[::4] if name == "found" else GUESSES)


@pytest.mark.parametrize("cost", ["unit", "value"])
def test_totals_may_be_withheld_where_a_dimension_has_none(cost) -> None:
    # The oracle lists tables of whole numbers only where these have ends.
    chosen = replace(CHOSEN, margins="suppress", cost=cost, integer=False)
    release, table = as_published("no total", chosen=chosen)
    assert release.roots[0] == ""
    compare(release, table, [chosen, replace(chosen, width=12), replace(chosen, threshold=40)])


def compare(release, table, guesses):
    """Compare attacks with each guess, the last of which fits no table, with a full search."""
    expected = [brute(guess, release, table) for guess in guesses]
    assert expected[-1] == []
    assert any(expected)
    for guess, matches in zip(guesses, expected, strict=True):
        for method in ("auto", "all"):
            if not matches:
                with pytest.raises(NeverPublished, match="cannot have produced the release"):
                    attacks.matching(release, guess.mechanism(), method=method)
                continue
            found = attacks.matching(release, guess.mechanism(), method=method)
            assert found.complete
            assert found.lower.tolist() == np.min(matches, axis=0).tolist()
            assert found.upper.tolist() == np.max(matches, axis=0).tolist()
    found = attacks.mechanism_posterior([release], [one.mechanism() for one in guesses])
    assert found.matches.tolist() == [[len(matches) for matches in expected]]
    assert found.possible.tolist() == [bool(matches) for matches in expected]


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("name", READ)
def test_bounds_hold_of_the_rule_that_was_used(name, ranges) -> None:
    # It did not know the ranges, so they do not bound what it promised.
    release, _ = as_published(name, ranges)
    bounds = attacks.parameter_bounds([release], margins="publish")
    assert bounds.possible
    assert bounds.threshold_from <= CHOSEN.threshold
    assert bounds.threshold_to is None or bounds.threshold_to >= CHOSEN.threshold
    assert bounds.width_to is None or bounds.width_to >= CHOSEN.width
    plain = attacks.parameter_bounds([as_published(name)[0]], margins="publish")
    assert bounds.width_to is None or bounds.width_to <= plain.width_to
    assert bounds.threshold_from >= plain.threshold_from


def test_that_no_algorithm_of_a_family_fits_is_an_answer() -> None:
    release, _ = as_published("plain")
    family = [replace(CHOSEN, threshold=n).mechanism() for n in (30, 40)]
    found = attacks.mechanism_posterior([release, release], family)
    assert found.possible.tolist() == [False, False]
    assert found.matches.tolist() == [[0, 0], [0, 0]]
    assert found.probability[0].tolist() == [0.5, 0.5]
    assert np.isnan(found.probability[1:]).all()
    assert repr(found) == "MechanismPosterior(0 of 2 possible, releases: 2)"
    # 1 is published, so nothing is rare; some cell is primary all the same.
    small = [["", "a", "b", "Total"], ["x", "[c]", "[c]", 31], ["y", "[c]", "[c]", 3],
             ["z", 1, 60, 61], ["Total", 30, 65, 95]]  # fmt: skip
    assert not attacks.parameter_bounds([Release.from_frame(small, cells="counts")]).possible


ROUNDED = [["", "a", "b", "Total"], ["x", 10, 5, 15], ["y", 20, "[c]", 30], ["Total", 30, 15, 40]]
BLANK = [["", "a", "Total"], ["x", "[c]", "[c]"], ["y", 3, 3], ["Total", "[c]", "[c]"]]
HALVES = [["", "a", "b", "Total"], ["x", "[c]", "[c]", 3.5], ["y", "[c]", "[c]", 6.5],
          ["Total", 4.5, 5.5, 10]]  # fmt: skip
WRONG = [["", "a", "b", "Total"], ["x", "[c]", 9, 3], ["y", "[c]", "[c]", 6], ["Total", 4, 5, 9]]

HIDDEN = cross(PLAIN, lambda r, c, v: "[c]" if r != "Total" and c in "ab" else v)


@pytest.mark.parametrize(
    ("rows", "more", "rules", "words"),
    [
        (ROUNDED, {"rounded": 5}, MinFrequency(3), "no cell is published exactly"),
        (BLANK, {"cells": "counts"}, MinFrequency(3), "infinitely many tables"),
        (HALVES, {}, MinFrequency(3), "contributors"),
        (WRONG, {"cells": "counts"}, MinFrequency(3), "contradict"),
        (PLAIN, {"withheld": ["3", "x"]}, MinFrequency(3), "nothing to attack"),
        (HIDDEN, {}, MinFrequency(3), "does not tell whether .* cells='counts'"),
        (HIDDEN, {"cells": "values"}, MinFrequency(3), "contributors"),
        (HIDDEN, {"cells": "counts"}, PPercent(10), "contributors"),
    ],
)  # fmt: skip
def test_refusals_say_why(rows, more, rules, words) -> None:
    release = Release.from_frame(rows, **more)
    mechanism = Mechanism(rules, width=2, margins="suppress" if rows is BLANK else "publish")
    with pytest.raises(InputError, match=words):
        attacks.matching(release, mechanism)
    if release.pattern.any():
        with pytest.raises(InputError, match=words):
            attacks.mechanism_posterior([release], [mechanism])
    if words.startswith("no cell"):
        with pytest.raises(InputError, match=words):
            attacks.parameter_bounds([release])
        with pytest.raises(InputError, match=words):
            attacks.matching(release, lambda table: np.zeros(table.n_cells, bool))
