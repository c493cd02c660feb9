"""Clusters by attributes as a table: identities, relations, suppression."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import microagg
from csp import UNBOUNDED, InputError, Unprotectable, audit
from microagg.compliance.suppress import cluster_problem, paired, suppress_clusters
from tests.support.shared import examples, shared_data

ROWS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=8, max_size=30)


def parts_and_total(rows, extra=0):
    a, b = (np.array(column) for column in zip(*rows, strict=True))
    return {"all": a + b + extra, "a": a, "b": b}


# ---- identities ----------------------------------------------------------------------------------


@examples(80)
@given(ROWS, st.integers(0, 3))
def test_detected_identities_span_all_that_hold(rows, extra):
    data = parts_and_total(rows, extra)
    records = microagg.read_records(data)
    found = microagg.detect_identities(data, share=1)
    units = records.units
    assert all(not identity.off(records).any() for identity in found)
    basis = [[*identity.column(records.names), -identity.constant] for identity in found]
    rank = np.linalg.matrix_rank(np.array(basis, dtype=float).reshape(-1, 4)) if basis else 0
    assert rank == len(found)
    # Every identity with small coefficients that holds and says something follows from them.
    for *coefficients, constant in product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1), range(-3, 4)):
        if not any(coefficients) or np.any(units @ coefficients != constant):
            continue
        if any(c and not units[:, j].any() for j, c in enumerate(coefficients)):
            continue  # says nothing of an attribute that is 0 throughout
        wider = np.array([*basis, [*coefficients, -constant]], dtype=float)
        assert np.linalg.matrix_rank(wider) == rank, (coefficients, constant)


def test_identities_read_like_sums():
    rows = [(i * i % 17, 3 * i % 11) for i in range(20)]
    [identity] = microagg.detect_identities(parts_and_total(rows))
    assert str(identity) == "all = a + b"
    [identity] = microagg.detect_identities(parts_and_total(rows, 2))
    assert str(identity) in ("all = a + b + 2", "all + -2 = a + b", "all - 2 = a + b")


def test_a_few_exceptions_hide_no_identity_but_many_do():
    rows = [(i * i % 97, 31 * i % 89) for i in range(1, 201)]
    data = parts_and_total(rows)
    data["all"][[5, 50]] += 30
    [identity] = microagg.detect_identities(data)
    assert str(identity) == "all = a + b"
    assert np.flatnonzero(identity.off(microagg.read_records(data))).tolist() == [5, 50]
    assert microagg.detect_identities(data, share=1) == ()
    data["all"][::2] += np.arange(100)
    assert microagg.detect_identities(data) == ()


def test_rounding_is_told_from_error():
    rows = np.array([(i * i % 997, 31 * i % 89) for i in range(1, 301)]) / 10
    data = {"a": np.rint(rows[:, 0]), "b": np.rint(rows[:, 1]), "all": np.rint(rows.sum(axis=1))}
    [identity] = microagg.detect_identities(data)
    assert str(identity) == "all = a + b ± 1"
    assert not identity.off(microagg.read_records(data)).any()


@pytest.mark.parametrize("width", [3, 13, 40])
def test_rounded_sums_are_found_among_many_attributes(width):
    random = np.random.default_rng(width)
    parts = random.lognormal(5, 1, (500, width - 1))
    data = np.column_stack([np.rint(parts), np.rint(parts[:, 0] + parts[:, 1])])
    found = [str(identity) for identity in microagg.detect_identities(data)]
    assert found == [f"a{width} = a1 + a2 ± 1"]


def test_sparse_or_few_records_make_no_wild_identities():
    random = np.random.default_rng(0)
    sparse = random.lognormal(5, 1, (1000, 13)).astype(int)
    sparse[random.random(sparse.shape) < 0.8] = 0
    assert microagg.detect_identities(sparse) == ()
    assert microagg.detect_identities(random.integers(0, 10**5, (6, 6))) == ()


def test_names_that_are_numbers_are_names():
    data = {"total": [3, 5], "2019": [1, 2], "2020": [2, 3]}
    whole = microagg.Partition.of(microagg.read_records(data), [0, 0], 2, "whole")
    table = microagg.cells(data, whole, identities=["total = 2019 + 2020"], totals=False)
    assert table.relations.toarray().tolist() == [[-1, 1, 1]]


def test_groups_whose_sums_stay_sensitive_cannot_be_protected():
    a = [1, 100, 0, 20, 0, 2, 0, 2, 0, 20, 49, 2, 5, 100, 0, 20, 100, 2]
    b = [40, 0, 3, 3, 1, 0, 3, 1, 40, 40, 40, 8, 40, 1, 8, 47, 1, 8]
    data = parts_and_total(list(zip(a, b, strict=True)))
    labels = [i // 3 for i in range(18)]
    partition = microagg.Partition.of(microagg.read_records(data), labels, 3, "by hand")
    options = {"identities": ["all = a + b"], "groups": [0, 1] * 3}
    built = microagg.cluster_table(data, partition, **options)
    with pytest.raises(Unprotectable, match="sensitive sum"):
        suppress_clusters(built, "P(60)")
    assert suppress_clusters(built, "P(60)", unions=False).audit.safe


def test_an_attribute_that_is_mostly_zero_is_no_identity():
    rare = np.zeros(100, dtype=int)
    rare[[3, 70]] = 40
    data = {"x": np.arange(100) ** 2 % 101, "rare": rare}
    assert microagg.detect_identities(data) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all = a + c", "cannot be read at 'c'"),
        ("all = a + b = 0", "not an equation"),
        ("all = ", "empty side"),
        ("all = all", "does not depend on any attribute"),
        ("all a = b", "cannot be read"),
        ("all = a", r"fails in 3 of 3 records \(rows 1, 2, 3\)"),
    ],
)
def test_equations_that_cannot_be_read_or_fail_are_refused(text, words):
    data = {"all": [3, 5, 7], "a": [1, 2, 3], "b": [2, 3, 4]}
    whole = microagg.Partition.of(microagg.read_records(data), [0, 0, 0], 3, "whole")
    with pytest.raises(InputError, match=words):
        microagg.cells(data, whole, identities=[text])


def test_equations_take_numbers_and_names_with_spaces():
    data = {"net pay": ["7.5", "4"], "gross": [10, 5], "tax": ["2.5", "1"]}
    whole = microagg.Partition.of(microagg.read_records(data), [0, 0], 2, "whole")
    for text in ("net pay = gross - tax", "2 net pay + 2*tax = 2 gross", "0 = net pay-gross+tax"):
        table = microagg.cells(data, whole, identities=[text])
        assert table.relations.shape[0] == 4
    table = microagg.cells({"c": [20, 40], "f": [68, 104]}, microagg.Partition.of(
        microagg.read_records({"c": [20, 40], "f": [68, 104]}), [0, 0], 2, "whole"),
        identities=["f = 1.8 c + 32"])  # fmt: skip
    assert ("0", "(records)") in table.labels


# ---- the table -----------------------------------------------------------------------------------


@examples(60)
@given(
    arrays(np.int64, (9, 2), elements=st.integers(0, 60)),
    st.permutations([0, 0, 0, 1, 1, 1, 1, 2, 2]),
    st.integers(0, 2),
)
def test_cells_are_sums_and_the_relations_say_so(units, labels, decimals):
    data = {"a": units[:, 0] / 10**decimals, "b": units[:, 1] / 10**decimals}
    data["all"] = (units[:, 0] + units[:, 1]) / 10**decimals
    records = microagg.read_records(data, decimals=decimals)
    partition = microagg.Partition.of(records, labels, 2, "by hand")
    table = microagg.cells(records, partition, identities=["all = a + b"], groups=[0, 0, 1], top=4)
    value = dict(zip(table.labels, table.values.tolist(), strict=True))
    full = np.column_stack([units, units.sum(axis=1)])
    for j, name in enumerate(("a", "b", "all")):
        for g in range(3):
            inside = [int(full[i, j]) for i in range(9) if labels[i] == g]
            cell = table.position((str(g), name))
            assert value[str(g), name] == sum(inside)
            assert table.contributors.count[cell] == len(inside)
            largest = sorted(inside, reverse=True)
            assert table.contributors.top[cell].tolist() == (largest + [0] * 4)[:4]
        assert value["Total", name] == int(full[:, j].sum())
        assert value["group 0", name] == value["0", name] + value["1", name]
        assert value["group 1", name] == value["2", name]
    # Three totals, two groups of three, one identity in each of three clusters.
    assert table.relations.shape[0] == 3 + 6 + 3
    assert not np.any(table.relations @ table.values)


def test_an_identity_binds_only_clusters_in_which_it_holds():
    data = {"all": [3, 5, 7, 9], "a": [1, 2, 3, 4], "b": [2, 3, 4, 4]}
    pairs = microagg.Partition.of(microagg.read_records(data), [0, 0, 1, 1], 2, "pairs")
    table = microagg.cells(data, pairs, totals=False, identities=["all = a + b"], share="0.5")
    assert table.relations.shape[0] == 1
    assert sorted(table.labels[i] for i in table.relations.indices) == [
        ("0", "a"), ("0", "all"), ("0", "b"),
    ]  # fmt: skip


def test_rounding_is_an_unseen_cell_within_its_bounds():
    data = {"all": [4, 5, 7, 9], "a": [1, 2, 3, 4], "b": [2, 3, 4, 4]}
    pairs = microagg.Partition.of(microagg.read_records(data), [0, 0, 1, 1], 2, "pairs")
    identity = microagg.Identity((("all", -1), ("a", 1), ("b", 1)), tolerance=Fraction(1))
    built = microagg.cluster_table(data, pairs, totals=False, identities=[identity])
    cells = np.flatnonzero(built.unseen)
    assert built.table.values[cells].tolist() == [1, 1]
    assert built.table.lower[cells].tolist() == [-2, -2]
    assert built.table.upper[cells].tolist() == [2, 2]


def test_bounds_are_those_of_the_records_times_the_size():
    data = {"x": [1, 0, 1], "y": [5, 2, 9]}
    whole = microagg.Partition.of(microagg.read_records(data), [0, 0, 0], 3, "whole")
    table = microagg.cells(data, whole, totals=False, bounds={"x": (0, 1)}, identities=None)
    assert (table.lower.tolist(), table.upper.tolist()) == ([0, 0], [3, UNBOUNDED])
    with pytest.raises(InputError, match=r"row 3, attribute 'y'.*1 such rows"):
        microagg.cells(data, whole, bounds={"y": (0, 5)})
    with pytest.raises(InputError, match="bounds names 'z', which is not among"):
        microagg.cells(data, whole, bounds={"z": (0, 5)})
    for wrong in ((5, 1), (0, 1, 2)):
        with pytest.raises(InputError, match="bounds of 'y' must be the least and the largest"):
            microagg.cells(data, whole, bounds={"y": wrong})
    signed = {"x": [1, -3, 1]}
    whole = microagg.Partition.of(microagg.read_records(signed), [0, 0, 0], 3, "whole")
    with pytest.raises(InputError, match="row 2, attribute 'x': the value is negative"):
        microagg.cells(signed, whole)
    assert microagg.cells(signed, whole, negative="abs").lower.tolist() == [-UNBOUNDED] * 2
    # That the other attribute has no negative value is known, whatever the mode.
    both = {"x": [1, -3, 1], "y": [1, 2, 3]}
    whole = microagg.Partition.of(microagg.read_records(both), [0, 0, 0], 3, "whole")
    table = microagg.cells(both, whole, negative="abs", totals=False)
    assert table.lower.tolist() == [-UNBOUNDED, 0]


# ---- suppression ---------------------------------------------------------------------------------


def linear_interval(table, pattern, cell):
    """Least and largest value of a cell that agrees with what is published, by another solver."""
    matrix = table.relations.toarray().astype(float)
    values = table.values.astype(float)
    ends = [
        (v, v)
        if not hidden
        else (None if lo <= -UNBOUNDED else lo, None if up >= UNBOUNDED else up)
        for v, hidden, lo, up in zip(values, pattern, table.lower, table.upper, strict=True)
    ]
    found = []
    for sign in (1, -1):
        cost = np.zeros(len(values))
        cost[cell] = sign
        run = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=ends, method="highs")
        found.append(sign * run.fun if run.status == 0 else -sign * np.inf)
    return found


@examples(25)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 5, 9, 40]), st.sampled_from([0, 2, 6, 80])),
        min_size=12, max_size=12,
    ),
    st.permutations([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
)  # fmt: skip
def test_suppressed_clusters_withstand_an_attacker_who_uses_every_relation(rows, labels):
    data = parts_and_total(rows)
    partition = microagg.Partition.of(microagg.read_records(data), labels, 3, "by hand")
    try:
        found = microagg.comply(
            data,
            3,
            "P(60)",
            method=microagg.Suppress(identities=["all = a + b"]),
            partition=partition,
            constant="keep",
        )
    except Unprotectable:
        return
    table, problem = found.suppressed.cells.table, found.suppressed.problem
    pattern = found.suppressed.suppression.pattern
    for cell in np.flatnonzero(problem.primary):
        low, high = linear_interval(table, pattern, cell)
        value = int(table.values[cell])
        assert low <= value - problem.lpl[cell] + 1e-6
        assert high >= value + problem.upl[cell] - 1e-6
    assert np.array_equal(found.hidden.ravel(), pattern[: found.hidden.size])
    assert not pattern[table.n_cells - 3 :].any() or found.suppressed.cells.public[-3:].all()


def test_no_suppressed_mean_shows_anywhere(tmp_path):
    data = {"pay": [10, 11, 12, 10, 11, 9517, 14, 15, 13, 13, 15, 9643]}
    thirds = microagg.Partition.of(
        microagg.read_records(data), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], 3, "thirds"
    )
    found = microagg.comply(data, 3, "NK(1,90)", partition=thirds)
    assert found.hidden.ravel().tolist() == [False, True, False, True]
    hidden = {str(v) for v in (9538, 9671, 3179, 3223, 9517, 9643, 3179.3333333333335)}
    told = found.summary()
    told["suppression"].pop("seconds")
    shown = json.dumps(told) + repr(found) + repr(found.suppressed)
    shown += str(found.to_frame("pandas").to_dict()) + str(found.masked)
    shown += repr(found.suppressed.release) + str(found.suppressed.release.published.tolist())
    assert not [text for text in hidden if text in shown]
    assert found.to_frame("pandas")["pay"].isna().sum() == 6


def census(*names):
    path = shared_data("microdata", "sdcMicro_CASCrefmicrodata.csv")
    records = microagg.read_records(path)
    return records if not names else records.only(names), records


def test_census_leaks_through_its_identity_unless_that_is_a_relation():
    three, full = census("PEARNVAL", "POTHVAL", "PTOTVAL")
    labels = microagg.mdav(full, 5).labels
    partition = microagg.Partition.of(three, labels, 5, "MDAV")
    known = microagg.cluster_table(three, partition)
    assert [str(identity) for identity in known.identities] == ["PTOTVAL = PEARNVAL + POTHVAL"]
    # The best pattern for the totals alone, seen by an attacker who also knows the identity.
    blind = suppress_clusters(microagg.cluster_table(three, partition, identities=None), "P(60)")
    pattern = np.zeros(known.table.n_cells, dtype=bool)
    pattern[: blind.hidden.size] = blind.hidden.ravel()
    problem = cluster_problem(known, "P(60)")
    assert int(problem.primary.sum()) == 96
    seen = audit(problem, pattern)
    exact = problem.primary & (seen.lower == seen.upper)
    assert int(exact.sum()) == 94
    found = suppress_clusters(known, "P(60)")
    assert found.suppression.proven
    assert int(found.hidden.sum()) - 96 == 94
    assert found.audit.safe


def test_one_safe_cell_for_each_unsafe_one_wastes_and_leaks():
    path = shared_data("microdata", "sdcMicro_EIA.csv")
    names = ["RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES",
             "OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES"]  # fmt: skip
    records = microagg.read_records(path, names)
    partition = microagg.mdav(records, 10)
    built = microagg.cluster_table(records, partition, negative="abs", identities=None)
    problem = cluster_problem(built, "P(60)", unions=False)
    pattern = paired(built, "P(60)")
    best = suppress_clusters(built, "P(60)", unions=False)
    primary = int(problem.primary.sum())
    assert int(pattern.sum()) == 2 * primary
    assert int(best.hidden.sum()) - primary < primary / 4
    assert best.audit.safe
