"""Attacks on microdata against brute force: all pairs, all completions, all persons."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import microagg
from csp import UNBOUNDED, InputError
from csp.errors import OutOfTime
from csp.release.release import Release
from csp.rules import as_rule
from microagg.aggregates import Generalised, aggregate_anonymise, candidate_counts
from microagg.compliance.asked import Asked, Found
from microagg.compliance.result import certified
from microagg.compliance.suppress import cluster_problem, suppress_clusters
from microagg.intruders import (
    aggregate_attack,
    candidates_of,
    homogeneity,
    identity_attack,
    insiders,
    link_records,
    rank_disclosure,
)
from tests.support.oracles_clusters import sensitive
from tests.support.shared import examples, shared_data


def partition_of(data, labels, k=1):
    labels = np.unique(labels, return_inverse=True)[1].ravel()
    return microagg.Partition.of(microagg.read_records(data), labels, k, "by hand")


# ---- record linkage ------------------------------------------------------------------------------


def nearest(persons, masked, spread):
    """Masked rows at the least distance from each person, by all pairs, in decimals."""
    found = []
    for person in persons:
        squares = [
            sum(
                ((Fraction(repr(float(x))) - Fraction(repr(float(y)))) / Fraction(float(s))) ** 2
                for x, y, s in zip(person, row, spread, strict=True)
            )
            for row in masked
        ]
        found.append([i for i, q in enumerate(squares) if q == min(squares)])
    return found


def spread_of(values, scale):
    return {
        "none": np.ones(values.shape[1]),
        "range": values.max(axis=0) - values.min(axis=0),
        "standardise": values.std(axis=0),
        "variance": values.var(axis=0),
    }[scale]


@examples(120)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=14),
    st.data(),
    st.sampled_from(["none", "range", "standardise", "variance"]),
    st.sampled_from([0, 10**9]),
    st.sampled_from([4, 5]),
)
def test_links_are_those_of_all_pairs(rows, data, scale, offset, parts):
    """Of fifths too: 0.2 lies between 0.1 and 0.3, though not as floats."""
    values = np.array(rows, float) / parts + offset
    assume((np.ptp(values, axis=0) > 0).all())
    step = st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0])
    noise = data.draw(
        st.lists(st.tuples(step, step), min_size=len(rows), max_size=len(rows)), label="noise"
    )
    masked = values + np.array(noise)
    order = np.array(data.draw(st.permutations(range(len(rows))), label="order"))
    kept = order[: data.draw(st.integers(1, len(rows)), label="kept")]
    expected = nearest(values, masked[kept], spread_of(values, scale))
    found = link_records(values, masked[kept], scale=scale, rows=kept)
    assert found.nearest.tolist() == [len(e) for e in expected]
    hits = [i in [kept[r] for r in e] for i, e in enumerate(expected)]
    assert found.right.tolist() == hits
    chances = [Fraction(h, len(e)) for h, e in zip(hits, expected, strict=True)]
    assert found.expected == sum(chances) / len(rows)
    assert found.highest == max(chances)
    assert found.certain == chances.count(1)
    for link, among in zip(found.links(seed=3).tolist(), expected, strict=True):
        assert link in among


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=16),
    st.integers(2, 4),
)
def test_k_anonymity_bounds_the_chance_of_a_right_link(rows, k):
    values = np.array(rows)
    assume((np.ptp(values, axis=0) > 0).all())
    found = link_records(values, microagg.mdav(values, min(k, len(rows))))
    assert found.highest <= Fraction(1, min(k, len(rows)))
    assert found.expected <= Fraction(1, min(k, len(rows)))


def test_simulated_links_agree_with_the_expected_share():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(400, 3))
    found = link_records(values, microagg.mdav(values, 5))
    runs = found.simulate(400, seed=1)
    chances = found.chances
    error = np.sqrt((chances * (1 - chances)).sum()) / len(values) / np.sqrt(len(runs))
    assert abs(runs.mean() - float(found.expected)) < 5 * error
    drawn = [(found.links(seed) == np.arange(400)).mean() for seed in range(60)]
    assert abs(np.mean(drawn) - float(found.expected)) < 5 * error * np.sqrt(len(runs) / 60)
    assert (found.simulate(3, seed=2) == found.simulate(3, seed=2)).all()
    assert float(found.expected) == pytest.approx(chances.mean())


def test_the_file_itself_links_everybody():
    values = np.array([[1, 2], [3, 4], [5, 9], [5, 9]])
    found = link_records(values, values)
    assert found.expected == Fraction(3, 4)
    assert found.certain == 2
    assert found.to_frame("pandas")["chance"].tolist() == [1, 1, 0.5, 0.5]
    named = {"x": values[:, 0], "y": values[:, 1]}
    assert link_records(named, values, attributes=["x"]).expected == Fraction(3, 4)
    assert link_records(values, values, attributes=["a2"]).expected == Fraction(3, 4)
    assert link_records(named, values[:, 1:], attributes=["y"]).expected == Fraction(3, 4)
    one = link_records(values, values[:1], rows=[0], scale="none")
    assert (one.nearest.tolist(), one.right.tolist()) == ([1] * 4, [True, False, False, False])


def test_files_that_cannot_be_linked_are_refused():
    data = {"a": [1, 2, 3], "b": [4, 4, 4]}
    for call, words in (
        (lambda: link_records(data, data), "'b' is constant"),
        (lambda: link_records(data, data, scale="log"), "scale 'log' is not one of"),
        (lambda: link_records(data, np.zeros((3, 3))), "masked file: 3 columns for 2"),
        (lambda: link_records(data, {"a": [1, 2, 3]}), "masked file: there is no column 'b'"),
        (lambda: link_records(data, {"a": [1, None, 3]}, attributes=["a"]), "masked file: row 2"),
        (lambda: link_records(data, {"a": [1, 2]}, attributes=["a"]), "2 records and the orig"),
        (lambda: link_records(data, data, attributes=["a"], rows=[0, 1]), "one row number"),
        (lambda: link_records(data, data, attributes=["a"], rows=[0, 1, 1]), "different numbers"),
        (lambda: link_records(data, data, attributes=["a"]).simulate(0), "runs must be"),
        (lambda: link_records(data, data, attributes=["a"]).simulate(seed=-1), "seed must be"),
        (lambda: link_records(data, data, attributes=["a"]).links(-1), "seed must be"),
    ):
        with pytest.raises(InputError, match=words):
            call()


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=12),
    st.sampled_from([0, 10, "33.3", 50, 100]), st.randoms(use_true_random=False),
)  # fmt: skip
def test_ranks_around_a_masked_value_by_hand(pairs, percent, random):
    order = list(range(len(pairs)))
    random.shuffle(order)
    data = {"x": [x for x, _ in pairs]}
    masked = {"x": [pairs[i][1] for i in order]}
    found = rank_disclosure(data, masked, percent=percent, rows=order)
    reach = Fraction(str(percent)) * len(pairs) / 100
    for row, (i, y) in enumerate(zip(order, masked["x"], strict=True)):
        # Values whose rank is near that of some record with the same masked value.
        ranked = sorted(masked["x"])
        places = [r for r, v in enumerate(ranked) if v == y]
        near = [v for r, v in enumerate(ranked) if min(abs(r - p) for p in places) <= reach]
        assert found.inside[row, 0] == (min(near) <= pairs[i][0] <= max(near))
    assert found.summary()["share"] == found.inside.mean()
    with pytest.raises(InputError, match="percent must be from 0 to 100"):
        rank_disclosure(data, masked, percent=101)


# ---- insiders ------------------------------------------------------------------------------------

CELL = st.lists(st.sampled_from([0, 0, 1, 2, 3, 7, 20]), min_size=1, max_size=5)


def reachable(own, total, size, low, high):
    """All values another record can have, by going through every cell with this sum."""
    most = high if high is not None else max(total - low * (size - 1), low)
    found = set()
    for others in product(range(low, most + 1), repeat=size - 1):
        if own + sum(others) == total:
            found |= set(others)
    return found


@examples(60)
@given(
    st.lists(st.integers(-1, 4), min_size=2, max_size=4), st.sampled_from([0, -1, -3]),
    st.sampled_from([None, 4, 5]),
)  # fmt: skip
def test_an_insider_knows_what_every_fitting_cell_has_in_common(values, low, high):
    assume(min(values) >= low)
    data = {"x": values}
    found = insiders(data, partition_of(data, [0] * len(values)), bounds={"x": (low, high)})
    known = False
    for i, own in enumerate(values):
        ends = reachable(own, sum(values), len(values), low, high)
        assert (found.lower[i, 0], found.upper[i, 0]) == (min(ends), max(ends))
        known |= len(ends) == 1
    assert found.point[0, 0] == known


@examples(150)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=4), min_size=1, max_size=3),
    st.sampled_from([5, 6, 9]), st.integers(-2, 0), st.sampled_from([1, 25, 60, 150]),
)  # fmt: skip
def test_a_known_upper_bound_makes_estimates_closer(cells, high, low, p):
    """Each person of a cell on each other, from every cell that fits; at `low` nothing is learned.

    The second attribute has no upper bound.
    """
    values = [v for cell in cells for v in cell]
    labels = [g for g, cell in enumerate(cells) for _ in cell]
    data = {"x": values, "y": values}
    bounds = {"x": (low, high), "y": (low, None)}
    found = insiders(data, partition_of(data, labels), bounds=bounds)
    for j, top in enumerate((high, None)):
        for g in range(len(cells)):
            rows = [i for i, label in enumerate(labels) if label == g]
            c = [values[i] for i in rows]
            ends = [reachable(own, sum(c), len(c), low, top) for own in c]
            far = {
                (i, r): min([max(ends[i]) - c[r], *([c[r] - min(ends[i])] * (min(ends[i]) > low))])
                for i in range(len(c)) for r in range(len(c)) if i != r
            }  # fmt: skip
            errors = {ir: Fraction(far[ir], c[ir[1]] - low) for ir in far if c[ir[1]] > low}
            close = {r for (_, r), error in errors.items() if 100 * error < p}
            assert {k for k, r in enumerate(rows) if found.exposed(p)[r, j]} == close
            assert found.disclosed(p)[g, j] == bool(close)
            if errors:
                assert found.error[g, j] == float(min(errors.values()))
                pair = rows.index(found.intruder[g, j]), rows.index(found.victim[g, j])
                assert errors[pair] == min(errors.values())


@examples(120)
@given(
    st.lists(CELL, min_size=1, max_size=5), st.sampled_from([1, 10, "33.3", 60, 100, 250]),
    st.integers(0, 3),
)  # fmt: skip
def test_disclosed_cells_are_those_sensitive_to_the_p_percent_rule(cells, p, low):
    shift = -low  # values are measured from the known lower bound
    values = [v + shift for cell in cells for v in cell]
    labels = [g for g, cell in enumerate(cells) for _ in cell]
    data = {"x": values, "y": values[::-1]}
    part = partition_of(data, labels)
    bounds = dict.fromkeys(data, (shift, None))
    found = insiders(data, part, bounds=bounds)
    limit = Fraction(str(p))
    exposed = found.exposed(p)
    for name, j in (("x", 0), ("y", 1)):
        for g in range(len(cells)):
            rows = [i for i, label in enumerate(labels) if label == g]
            c = [data[name][i] - shift for i in rows]
            assert found.disclosed(p)[g, j] == sensitive(c, ("P", limit))
            # No insider does better than the second largest on the largest: all pairs.
            errors = {
                (i, r): Fraction(sum(c) - c[i] - c[r], c[r])
                for i in range(len(c)) for r in range(len(c)) if i != r and c[r] > 0
            }  # fmt: skip
            if errors:
                assert found.error[g, j] == float(min(errors.values()))
                pair = rows.index(found.intruder[g, j]), rows.index(found.victim[g, j])
                assert errors[pair] == min(errors.values())
            for place, r in enumerate(rows):
                best = min((e for (_, v), e in errors.items() if v == place), default=None)
                if len(rows) > 1:
                    assert exposed[r, j] == (best is not None and 100 * best < limit)
    if not low:
        same = microagg.disclosure(data, part, f"P({p},1)").sensitive
        assert np.array_equal(found.disclosed(p), same)
        assert np.array_equal(insiders(data, part).disclosed(p), same)
    assert found.summary(p)["cells_disclosed"] == int(found.disclosed(p).sum())
    if all(len(cell) > 1 for cell in cells):  # a cell is disclosed if and only if a value is
        by_cell = [[exposed[[i for i, label in enumerate(labels) if label == g], j].any()
                    for j in (0, 1)] for g in range(len(cells))]  # fmt: skip
        assert np.array_equal(found.disclosed(p), by_cell)


def test_insiders_of_iris_and_the_rule_on_public_data():
    path = shared_data("microdata", "uci_concrete.csv")
    records = microagg.read_records(path)
    part = microagg.mdav(records, 3)
    found = insiders(records, part)
    for p in (10, 60, "66.6"):
        assert np.array_equal(
            found.disclosed(p), microagg.disclosure(records, part, f"P({p},1)").sensitive
        )
    assert int(found.disclosed(60).sum()) == found.summary(60)["cells_disclosed"] > 100


def test_sums_beyond_64_bits_are_compared_exactly():
    data = {"x": [2**51, 2**51 - 1, 3]}
    found = insiders(data, partition_of(data, [0, 0, 0]))
    tie = Fraction(300, 2**51)
    assert not found.disclosed(tie)[0, 0]
    assert found.disclosed(tie + Fraction(1, 2**80))[0, 0]


def test_results_of_masking_are_linked_as_their_columns_are():
    data = {"pay": [10, 11, 12, 30, 31, 35], "age": [1, 5, 2, 4, 6, 3]}
    swapped = microagg.ir_swap(data, 2, confidential=["pay"], seed=3)
    for masked in (swapped, microagg.individual_ranking(data, 2), microagg.mdav(data, 3)):
        columns = masked.to_columns()
        assert repr(link_records(data, masked)) == repr(link_records(data, columns))
        assert rank_disclosure(data, masked).share == rank_disclosure(data, columns).share


def test_insiders_need_bounds_where_values_are_negative():
    data = {"x": [1, -2, 3], "y": [1, 2, 3]}
    part = partition_of(data, [0, 0, 0])
    for bounds, words in (
        (None, "row 2, attribute 'x': the value is negative"),
        ({"x": (None, 3)}, "without a lower bound nothing follows"),
        ({"x": (-1, 3)}, "outside the bounds given"),
        ({"z": (0, 3)}, "names 'z', which is not among"),
    ):
        with pytest.raises(InputError, match=words):
            insiders(data, part, bounds=bounds)
    found = insiders(data, part, bounds={"x": (-5, 10)})
    with pytest.raises(InputError, match="percent must be above 0"):
        found.disclosed(0)
    with pytest.raises(InputError, match="give the data that was partitioned"):
        insiders({"x": [1], "y": [2]}, part)


# ---- identities ----------------------------------------------------------------------------------


def linear_interval(table, pattern, cell):
    """Ends of a cell by another solver, from the published numbers alone."""
    ends = [
        (lo if lo > -UNBOUNDED else None, up if up < UNBOUNDED else None) if hidden else (v, v)
        for v, hidden, lo, up in zip(table.values, pattern, table.lower, table.upper, strict=True)
    ]
    matrix = table.relations.toarray().astype(float)
    found = []
    for sign in (1, -1):
        cost = np.zeros(table.n_cells)
        cost[cell] = sign
        run = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=ends, method="highs")
        found.append(sign * run.fun if run.status == 0 else -sign * np.inf)
    return found


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=9, max_size=9), st.booleans(),
    st.sampled_from(["error", "abs"]),
)  # fmt: skip
def test_what_follows_of_suppressed_cells(rows, hidden, totals, negative):
    assume(any(hidden))
    a, b = (np.array(column) for column in zip(*rows, strict=True))
    data = {"all": a + b, "a": a, "b": b}
    part = partition_of(data, [0, 0, 1, 1, 2, 2])
    built = microagg.cluster_table(
        data, part, identities=["all = a + b"], totals=totals, negative=negative
    )
    shape = np.array(hidden).reshape(3, 3)
    found = identity_attack(built, shape)
    full = np.zeros(built.table.n_cells, bool)
    full[:9] = hidden
    assert found.cells.tolist() == np.flatnonzero(full).tolist()
    for cell, low, high, verdict in zip(
        found.cells, found.lower, found.upper, found.verdicts, strict=True
    ):
        expected = linear_interval(built.table, full, cell)
        assert (low, high) == pytest.approx(expected, abs=1e-6)
        assert verdict == (
            "open" if np.isinf(expected).any()
            else "exact" if expected[1] - expected[0] < 1e-6 else "interval"
        )  # fmt: skip
    # What an outsider has is enough.
    outside = identity_attack(Release.of(built.table, full))
    assert outside.ends == found.ends
    assert outside.labels == found.labels
    only = identity_attack(built, shape, primary=shape & (np.arange(9).reshape(3, 3) < 4))
    assert only.ends == found.ends[: len(only.ends)]
    for p in (0, 50):
        within = found.within(p)
        for (low, high), near in zip(found.ends, within, strict=True):
            if near and low != high:
                middle = (low + high) / 2
                assert abs(middle - low) <= Fraction(p, 100) * abs(low)
                assert abs(high - middle) <= Fraction(p, 100) * abs(high)
        assert within[found.exact].all()


def census(k):
    """The three linked attributes, the best pattern for totals alone, and the unsafe cells."""
    records = microagg.read_records(shared_data("microdata", "sdcMicro_CASCrefmicrodata.csv"))
    three = records.only(("PEARNVAL", "POTHVAL", "PTOTVAL"))
    part = microagg.Partition.of(three, microagg.mdav(records, k).labels, k, "MDAV")
    blind = suppress_clusters(microagg.cluster_table(three, part, identities=None), "P(60)")
    known = microagg.cluster_table(three, part, identities=["PTOTVAL = PEARNVAL + POTHVAL"])
    return known, blind, cluster_problem(known, "P(60)").primary


def test_census_gives_94_of_96_cells_away_through_its_identity():
    known, blind, primary = census(5)
    found = identity_attack(known, blind.hidden, primary=primary)
    assert (len(found.cells), found.count("exact")) == (96, 94)
    assert found.summary()["exact"] == sum(found.summary()["exact_by_attribute"].values()) == 94
    assert identity_attack(blind).count("exact") == 0  # to who does not know the identity


def test_a_pattern_made_for_the_identity_gives_nothing_away():
    known, blind, primary = census(10)
    found = identity_attack(known, blind.hidden, primary=primary)
    assert (len(found.cells), found.count("exact")) == (9, 9)
    assert identity_attack(suppress_clusters(known, "P(60)")).count("exact") == 0


def test_an_interval_is_within_p_percent_of_every_value_in_it():
    # a = 9 - b with b between 0 and 3: between 6 and 9, so 7.5 is off by a quarter of 6 at most.
    data = {"x": [4, 5, 0, 3], "y": [1, 1, 1, 1]}
    part = partition_of(data, [0, 0, 1, 1])
    built = microagg.cluster_table(data, part, identities=None, bounds={"x": (0, 6)})
    found = identity_attack(built, [[True, False], [True, False]])
    assert found.ends == ((Fraction(0), Fraction(12)),) * 2
    narrow = microagg.cluster_table(data, part, identities=None, bounds={"x": (0, 5)})
    found = identity_attack(narrow, [[True, False], [True, False]])
    assert found.ends == ((Fraction(2), Fraction(10)),) * 2  # 6 is off by 4, twice the least value
    assert found.within(200).all()
    assert not found.within("199.99").any()
    assert found.summary(200)["within_percent"] == 2
    signed = microagg.cluster_table(data, part, identities=None, negative="abs")
    assert not identity_attack(signed, [[True, False], [True, False]]).within(10**9).any()


def test_rounding_of_an_identity_is_not_seen():
    data = {"all": [4, 5, 7, 9], "a": [1, 2, 3, 4], "b": [2, 3, 4, 4]}
    part = partition_of(data, [0, 0, 1, 1])
    identity = microagg.Identity((("all", -1), ("a", 1), ("b", 1)), tolerance=Fraction(1))
    built = microagg.cluster_table(data, part, totals=False, identities=[identity])
    found = identity_attack(built, [[False, True, False], [False] * 3])
    assert found.ends == ((Fraction(2), Fraction(6)),)  # 9 - 5, two records off by one at most


def test_attacks_on_nothing_are_refused():
    data = {"all": [4, 5, 7, 9], "a": [1, 2, 3, 4]}
    part = partition_of(data, [0, 0, 1, 1])
    built = microagg.cluster_table(data, part, identities=None)
    hidden = np.array([[False, True], [False, True]])
    total = np.zeros(built.table.n_cells, bool)
    total[built.public] = True
    records = microagg.read_records({"x": [4, 5, 7]})
    one = microagg.Partition.of(records, np.zeros(3, int), 3, "by hand")
    asked = Asked(records, records.values, as_rule("P(1)"), 3)
    grown = certified(asked, "merge", Found(one, one))
    for call, words in (
        (lambda: identity_attack(built), "needs the pattern"),
        (lambda: identity_attack(built, ~hidden & hidden), "no cell is suppressed"),
        (lambda: identity_attack(built, [True]), "the pattern has shape"),
        (lambda: identity_attack(built, total), "is public"),
        (lambda: identity_attack(data), "target is a dict"),
        (lambda: identity_attack(grown), "nothing is suppressed"),
        (lambda: identity_attack(built, hidden, time_limit=0), "time_limit"),
        (lambda: identity_attack(Release.of(built.table, total), hidden), "leave pattern out"),
        (lambda: identity_attack(built, hidden).within(-1), "percent must be 0 or more"),
    ):
        with pytest.raises(InputError, match=words):
            call()
    with pytest.raises(OutOfTime):
        identity_attack(built, hidden, time_limit=1e-9)


# ---- aggregate knowledge -------------------------------------------------------------------------


def by_hand(units, lower, upper, weights):
    """Candidates of each record, and the sums that all of them leave."""
    found = []
    for t in units:
        f = sum(w * int(x) for w, x in zip(weights, t, strict=True))
        fits, sums = [], set()
        for r, (low, high) in enumerate(zip(lower, upper, strict=True)):
            corners = [
                sorted((w * int(a), w * int(b))) for w, a, b in zip(weights, low, high, strict=True)
            ]
            ends = [sum(corner) for corner in zip(*corners, strict=True)]
            if ends[0] <= f <= ends[1]:
                fits.append(r)
                wide = tuple(bool(a < b and w) for w, a, b in zip(weights, low, high, strict=True))
                known = sum(w * int(a) for w, a, m in zip(weights, low, wide, strict=True) if not m)
                sums.add((wide, f - known))
        found.append((fits, sums))
    return found


@examples(120)
@given(
    st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=4, max_size=12), st.integers(2, 3),
    st.sampled_from([(1, 1, 1), (2, 0, 1), (1, -1, 3)]), st.sampled_from(["aggranon", "mondrian"]),
)  # fmt: skip
def test_aggregate_knowledge_by_hand(rows, k, weights, method):
    units = np.array(rows)
    f = {f"a{j + 1}": w for j, w in enumerate(weights)}
    published = aggregate_anonymise(units, k, f, method=method)
    found = aggregate_attack(units, published, f)
    expected = by_hand(units, published.lower, published.upper, weights)
    assert found.candidates.tolist() == [len(fits) for fits, _ in expected]
    assert found.k >= k
    for t, (fits, sums) in enumerate(expected):
        known = sum(w * int(x) for w, x in zip(weights, units[t], strict=True))
        assert candidates_of(published, known, f).tolist() == fits
        wide, total = next(iter(sums))
        weighed = [bool(w) for w in weights]
        told = len(sums) == 1 and any(wide) and list(wide) != weighed
        assert found.sums[t] == told
        assert found.values[t] == (told and sum(wide) == 1)
        if told:
            assert found.disclosed[t] == total == sum(
                w * int(x) for w, x, m in zip(weights, units[t], wide, strict=True) if m
            )  # fmt: skip
            assert not found.values[t] or wide[found.attribute[t]]
    # The report of the maker counts one class only, so it can miss some and never invents any.
    assert published.residual.sums <= int(found.sums.sum())
    assert published.residual.values <= int(found.values.sum())


def test_paul_of_paper_002_and_his_other_income():
    # Tables I and III: f = 270, salary 30 and gains 40 are published, so other income is 200.
    rows = np.array([[10, 20, 100], [15, 15, 105], [30, 40, 200], [40, 30, 210]])
    published = aggregate_anonymise(rows, 2, method="aggranon")
    lower = np.array([[10, 20, 100], [10, 15, 105], [30, 40, 200], [40, 30, 200]])
    upper = np.array([[15, 20, 100], [15, 15, 105], [30, 40, 210], [40, 30, 210]])
    table_3 = Generalised(
        lower, upper, np.array([0, 0, 1, 1]), published.names, 0, 2, Fraction(0), ("sum",),
        "by hand", "", 0.0, 0.0, 2, None,
    )  # fmt: skip
    found = aggregate_attack(rows, table_3)
    assert found.candidates.tolist() == [2, 2, 2, 2]
    assert found.disclosed[2] == 200
    assert found.values[2]
    assert candidates_of(table_3, 270).tolist() == [2, 3]
    assert candidates_of(table_3, 250, d="0.1").tolist() == [2, 3]
    assert not len(candidates_of(table_3, 250))
    shown = repr(found) + json.dumps(found.summary()) + str(found.to_frame("pandas"))
    assert "200" not in shown
    assert "sum" in found.to_frame("pandas", reveal=True)
    frame = pd.DataFrame(rows, columns=list("xyz"))
    assert aggregate_attack(frame, aggregate_anonymise(frame, 2)).k >= 2


def test_disclosed_sums_are_in_the_measure_of_the_data():
    rows = np.array([[10, 20, 100], [15, 15, 105], [30, 40, 200], [40, 30, 210]]) / 10
    weights = ("0.5", "0.5", "0.5")
    published = aggregate_anonymise(rows, 2, weights, method="aggranon")
    found = aggregate_attack(rows, published, weights)
    assert found.sums.any()
    exact = [[Fraction(str(x)) * Fraction(str(w)) for x, w in zip(row, weights, strict=True)]
             for row in rows.tolist()]  # fmt: skip
    wide = published.lower < published.upper
    for t in np.flatnonzero(found.sums):
        assert found.disclosed[t] == sum(e for e, m in zip(exact[t], wide[t], strict=True) if m)
        assert t in candidates_of(published, sum(exact[t]), weights)


def test_several_aggregates_and_functions_are_counted():
    rng = np.random.default_rng(3)
    units = rng.integers(0, 9, (40, 3))
    both = ["sum", (0, 1, 2)]
    published = aggregate_anonymise(units, 3, both)
    found = aggregate_attack(units, published, both)
    assert found.candidates.tolist() == candidate_counts(units, published, both).tolist()
    alone = [aggregate_attack(units, published, f).sums for f in both]
    assert np.array_equal(found.sums, alone[0] | alone[1])

    def largest(rows):
        return rows.max(axis=1)

    other = aggregate_attack(units, published, largest)
    assert other.candidates.tolist() == candidate_counts(units, published, largest).tolist()
    assert not other.sums.any()
    for call, words in (
        (lambda: aggregate_attack(units, published, d=1), "d must be at least 0"),
        (lambda: aggregate_attack(units[:, :2], published), "3 attributes"),
        (lambda: candidates_of(published, 3, both), "give one aggregate"),
        (lambda: candidates_of(published, 3, d=1), "d must be at least 0 and below 1"),
        (lambda: candidates_of(published, 3, d=-1), "d must be at least 0 and below 1"),
    ):
        with pytest.raises(InputError, match=words):
            call()


# ---- homogeneity ---------------------------------------------------------------------------------


def certain(rows, keys, place, width):
    """Records whose confidential value follows for every person that may stand behind them."""
    domains = [{row[j] for row in rows} - {None} | {"fresh"} for j in range(keys)]
    found = []
    for row in rows:
        known = True
        for person in product(*([v] if v is not None else domains[j]
                                for j, v in enumerate(row[:keys]))):  # fmt: skip
            values = [
                other[place] for other in rows
                if all(s is None or s == v for s, v in zip(other[:keys], person, strict=True))
            ]  # fmt: skip
            if None in values or max(values) - min(values) > width:
                known = False
        found.append(known)
    return found


@examples(150)
@given(
    st.lists(
        st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from(["a", "b", None]),
                  st.sampled_from([0, 1, 5]), st.sampled_from([7, 7, 9, None])),
        min_size=1, max_size=8,
    ),
    st.sampled_from([0, 1, 4]),
)  # fmt: skip
def test_homogeneous_values_by_hand(rows, width):
    data = {name: [row[j] for row in rows] for j, name in enumerate(["u", "v", "x", "y"])}
    found = homogeneity(data, ["u", "v"], ["x", "y"], width={"x": width})
    for j, (place, w) in enumerate(((2, width), (3, 0))):
        told = certain(rows, 2, place, w)
        # Never more than what follows; and all of it, where nothing known is missing.
        assert not any(f and not t for f, t in zip(found.disclosed[:, j], told, strict=True))
        if not any(None in row[:2] for row in rows):
            assert found.disclosed[:, j].tolist() == told
        for i in found.rows("xy"[j]):
            low, high = (ends[j][found.classes[i]] for ends in (found.lower, found.upper))
            assert low <= rows[i][place] <= high
            assert found.exact[i, j] == (low == high)
    assert found.summary()["disclosed_records"] == int(found.disclosed.any(axis=1).sum())


def test_the_homogeneity_of_a_class_in_text():
    # The kind of class that l-diversity was proposed against: one illness among equal records.
    data = {
        "zip": ["130**"] * 2 + ["148**"] * 2,
        "illness": ["cancer", "cancer", "flu", "cancer"],
        "land": ["se"] * 4,
    }
    found = homogeneity(data, ["zip"], ["illness", "land"])
    assert found.rows("illness").tolist() == [0, 1]
    assert found.constant == (False, True)
    assert found.summary()["disclosed_records_beyond_constants"] == 2
    assert found.shares == {"illness": 0.5, "land": 1.0}
    shown = repr(found) + json.dumps(found.summary()) + str(found.to_frame("pandas"))
    assert "cancer" not in shown
    assert "cancer" in str(found.to_frame("pandas", reveal=True))
    for call, words in (
        (lambda: homogeneity(data, ["zip"], ()), "no confidential attribute"),
        (lambda: homogeneity(data, ["zip"], "illness", width=1), "must be 0 for text"),
        (lambda: homogeneity(data, ["zip"], "illness", width={"zip": 1}), "not among the confid"),
        (lambda: found.rows("zip"), "names 'zip', which is not among the confid"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_nothing_that_is_printed_shows_a_value():
    data = {"pay": [10007, 10009, 10037, 10039, 10061, 95083], "tax": [701, 709, 719, 727, 733, 7]}
    part = partition_of(data, [0, 0, 0, 1, 1, 1])
    built = microagg.cluster_table(data, part, identities=None)
    hidden = np.array([[True, False], [True, False]])
    results = [
        link_records(data, part), insiders(data, part), identity_attack(built, hidden),
        homogeneity(data, ["pay"], ["tax"]), homogeneity(data, ["tax"], ["pay"], width=99),
    ]  # fmt: skip
    shown = "".join(repr(r) + json.dumps(r.summary()) for r in results)
    shown += str(results[2].to_frame("pandas")) + str(results[1].to_frame(60, "pandas"))
    values = {str(v) for column in data.values() for v in column if v > 99}
    values |= {str(v) for v in built.table.values.tolist()}
    assert not [v for v in values if v in shown]
    assert "lower" in results[2].to_frame("pandas", reveal=True)
    assert "error" in results[1].to_frame(60, "pandas", reveal=True)
