"""Insiders who lie: every report of a grid, and the guarantee of rules against all of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from attacks.release_alone.insider_knowledge import Knowledge, insiders
from csp import InputError, Mechanism, Problem, Release, Table, Unprotectable, suppress
from microagg.intruders import crafted_clusters, lie_bound, opening_lie
from tests.support.oracles_clusters import sensitive, text
from tests.support.oracles_microagg import mdav as plain_mdav
from tests.support.shared import examples

RULE = st.one_of(
    st.tuples(st.just("NK"), st.integers(1, 3), st.integers(20, 95)),
    st.tuples(st.just("P"), st.integers(5, 120)),
    st.tuples(st.just("PQ"), st.integers(5, 40), st.integers(50, 100)),
    st.tuples(st.just("FREQ"), st.integers(2, 6)),
)
RULES = st.lists(RULE, min_size=1, max_size=2, unique_by=lambda rule: rule[0])
CELL = st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 20]), min_size=2, max_size=5)


def passes(values, rules):
    return not any(sensitive(values, rule) for rule in rules)


def words(rules):
    return "|".join(map(text, rules))


@examples(150)
@given(CELL, st.integers(1, 2), RULES)
def test_a_lie_opens_a_cell_exactly_if_some_reports_do(cell, owned, rules):
    owned = min(owned, len(cell) - 1)
    mine, others = list(range(owned)), cell[owned:]
    found = opening_lie(cell, mine, words(rules))
    assert found.honest == passes(cell, rules)
    assert found.value == max(others)
    assert found.excess == sum(others) - max(others)
    reports = list(product(range(0, 45), repeat=owned))
    opening = [lies for lies in reports if passes([*lies, *others], rules)]
    if found.lie is None:
        assert not opening
        return
    unit = found.lie.denominator  # the rules do not depend on the unit
    whole = [int(found.lie * unit)] * owned + [x * unit for x in others]
    assert passes(whole, rules)
    # No reports with a smaller mean open it.
    assert all(Fraction(sum(lies), owned) >= found.lie for lies in opening)


@examples(100)
@given(RULES, st.integers(1, 2), st.data())
def test_no_lie_brings_an_estimate_below_the_bound(rules, owned, data):
    bound = lie_bound(words(rules), owned)
    others = data.draw(CELL)
    lies = data.draw(st.lists(st.integers(0, 60), min_size=owned, max_size=owned))
    if passes([*lies, *others], rules):
        for i, v in enumerate(others):
            assert sum(others) - others[i] >= bound * v


@examples(40)
@given(RULES, st.integers(1, 2))
def test_the_bound_is_sharp(rules, owned):
    """With the rest in dust, some reports of a fine grid come as near as the dust allows."""
    bound = lie_bound(words(rules), owned)
    unit, grain = 240, 6  # the victim has one unit; dust comes in grains
    near = []
    for y in range(0, 3 * unit, 12):
        rest = 0
        while rest <= 12 * unit:
            cell = [unit, *[y] * owned, *[grain] * (rest // grain)]
            if passes(cell, [rule for rule in rules if rule[0] != "FREQ"]):
                near.append(Fraction(rest, unit))
                break
            rest += grain
    # A grain among the largest counts for a few grains, a step of y for its slope.
    assert not near or min(near) >= bound
    if bound <= 8 and any(rule[0] != "FREQ" for rule in rules):
        assert min(near) <= bound + Fraction(1, 2)


@examples(25)
@given(
    st.lists(st.sampled_from([1, 2, 3, 10, 11, 12, 40, 41]), min_size=6, max_size=9),
    st.integers(2, 3),
    st.integers(1, 2),
    st.one_of(st.none(), st.tuples(st.just("P"), st.integers(5, 60))),
)
def test_lies_on_mdav_against_every_run(values, k, owned, rule):
    mine = list(range(owned))
    n = len(values)
    found = crafted_clusters(
        np.array(values)[:, None], k, mine, "a1", scale="none",
        rule=None if rule is None else text(rule), lies=[[v] for v in range(0, 45, 4)],
    )  # fmt: skip

    def errors(reported):
        labels = plain_mdav([[float(v)] for v in reported], k)
        result = []
        for i in range(n):
            mates = [j for j in range(n) if labels[j] == labels[i]]
            shown = rule is None or not sensitive([reported[j] for j in mates], rule)
            rest = sum(values[j] for j in mates if j not in mine and j != i)
            result.append(rest if shown and i not in mine else -1)
        return result

    assert found.honest.tolist() == errors(values)
    runs = [errors(values)] + [errors([v] * owned + values[owned:]) for v in range(0, 45, 4)]
    best = [min((run[i] for run in runs if run[i] >= 0), default=-1) for i in range(n)]
    assert found.crafted.tolist() == best
    if rule is not None:
        bound = lie_bound(text(rule), owned)
        assert all(b < 0 or b >= bound * v for b, v in zip(best, values, strict=True))


def test_records_of_one_owner_surround_a_victim_unless_contributors_must_differ():
    pay = [x * x for x in range(3, 24)]
    found = crafted_clusters({"pay": pay}, 3, [0, 1], "pay")
    facts = found.summary()
    assert facts["known_exactly_by_lies"] > 5 > facts["known_exactly_by_honest_reports"]
    for victim in (5, 12, 20):
        reported = {"pay": [pay[victim]] * 2 + pay[2:], "firm": [0, *range(20)]}
        for method in ("merge", "grow"):
            made = microagg.comply(reported, 3, "P(1)", method=method, diverse={"firm": 3})
            mates = np.flatnonzero(made.partition.labels == made.partition.labels[victim])
            assert sum(pay[i] for i in mates if i > 1 and i != victim) > 0


# Two regions by two trades, each firm one record: (region, trade, amount).
FIRMS = [(0, 0, 40), (0, 0, 6), (0, 0, 5), (0, 1, 9), (0, 1, 8), (0, 1, 7), (1, 0, 9), (1, 0, 8),
         (1, 0, 8), (1, 1, 7), (1, 1, 9), (1, 1, 9)]  # fmt: skip


def table_of(report):
    import pandas as pd

    firms = [(*FIRMS[0][:2], FIRMS[0][2]), (*FIRMS[1][:2], report), *FIRMS[2:]]
    frame = pd.DataFrame(firms, columns=["region", "trade", "amount"])
    frame["firm"] = [f"f{i}" for i in range(len(firms))]
    return Table.from_microdata(frame, ["region", "trade"], "amount", contributor="firm")


def test_what_is_left_of_suppressed_cells_does_not_depend_on_the_report():
    """For a fixed pattern: bounds of others' amounts, of every report."""
    seen = set()
    base = table_of(6)
    inner = [i for i, label in enumerate(base.labels) if "Total" not in label]
    mine = next(i for i in inner if int(base.values[i]) == 51)
    pattern = np.isin(np.arange(base.n_cells), inner)
    for report in (0, 6, 25, 90):
        table = table_of(report)
        own = {i: report for i in range(table.n_cells) if table.values[i] != table_of(0).values[i]}
        own.setdefault(mine, report)
        (view,) = insiders(Release.of(table, pattern), [Knowledge("firm", {}, own)])
        at = view.cells.tolist().index(mine)
        seen.add((view.rest_lower[at], view.rest_upper[at]))
    assert len(seen) == 1


@pytest.mark.parametrize("report", [0, 1, 6, 20, 40, 41, 60, 150])
def test_suppression_by_the_p_percent_rule_keeps_its_promise_to_liars(report):
    """Whatever one record reports, its upper estimate of another exceeds that by p percent."""
    table = table_of(report)
    inner = [i for i, label in enumerate(table.labels) if "Total" not in label]
    mine = next(i for i in inner if int(table.values[i]) == 45 + report)
    mechanism = Mechanism("P(40)")
    try:
        problem = mechanism.problem(table)
        pattern = suppress(problem).pattern
    except Unprotectable:
        return
    assert isinstance(problem, Problem)
    upper = 45  # what the others put into the cell, where it is published
    if pattern[mine]:
        own = {mine: report}
        (view,) = insiders(Release.of(table, pattern), [Knowledge("firm", {}, own)])
        upper = view.rest_upper[view.cells.tolist().index(mine)]
    assert upper >= Fraction(140, 100) * 40


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: opening_lie([1, -1], [0], "P(10)"), "at least 0"),
        (lambda: opening_lie([1, 2], [0, 1], "P(10)"), "some, not all"),
        (lambda: opening_lie([1, 2], [5], "P(10)"), "positions 0 to 1"),
        (lambda: lie_bound("P(10)", 0), "at least 1"),
        (lambda: lie_bound("ZERO(5)"), "cannot steer"),
        (lambda: crafted_clusters({"pay": [1, 2, 3, 4]}, 2, [], "pay"), "rows 0 to 3"),
        (
            lambda: crafted_clusters({"pay": [1, 2, 3, 4]}, 2, [0], "age"),
            "not among the attributes",
        ),
        (lambda: crafted_clusters({"pay": [1, 2, 3, -4]}, 2, [0], "pay"), "negative"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
