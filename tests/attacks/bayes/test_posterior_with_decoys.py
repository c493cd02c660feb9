"""Likelihoods under decoys against the procedure itself, coin set by coin set."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attacks import choose_rate, matching, normal_counts, posterior
from attacks.bayes import decoys as decoy_rules
from attacks.bayes.decoys import DecoyRule, key_from
from attacks.bayes.risk import risk_of
from attacks.bayes.rule_table import RuleTable
from attacks.fibre.consistent_tables import Fibre
from csp import Decoys, InputError, Key, Mechanism, MinFrequency, Table
from csp.clock import UNLIMITED
from csp.decoys.suppress import settle
from csp.decoys.width import Wide
from csp.release.release import Release
from studies.matching.scenarios import SCENARIOS, draw_table
from studies.publishing.optimal import Plain

KEY = Key(bytes(range(32)))


def chance(mechanism, table, pattern, cost, rates):
    """Sum over the coins of the pattern's cells, by the procedure that protects."""
    cells = np.flatnonzero(pattern)
    problem = replace(mechanism, defence=None).problem(table)
    total = Fraction(0)
    for coins in product((False, True), repeat=len(cells)):
        drawn = np.zeros(table.n_cells, bool)
        drawn[cells] = coins
        found = settle(
            replace(problem, cost=cost), drawn & problem.free, Wide(8, None),
            guarantee=lambda _: None, integer=True, method="small",
        )  # fmt: skip
        if (found.pattern == pattern).all():
            weights = (
                Fraction(q) if c else 1 - Fraction(q)
                for c, q in zip(coins, rates[cells].tolist(), strict=True)
            )
            total += np.prod([*weights])
    return float(total)


@pytest.mark.parametrize(("index", "lean", "spread"), [(2, 0, 0), (4, 3, 1), (8, 4, "0.1")])
def test_likelihood_is_that_of_the_procedure(index, lean, spread):
    table = draw_table(SCENARIOS["plain"], 4, index, 0)
    decoys = Decoys("0.1", KEY, lean=lean, spread=spread)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=decoys)
    rule = DecoyRule(mechanism, table, orders=1, precision=0)
    pattern = rule.publish(table.values, np.random.default_rng(index))
    assert 0 < pattern.sum() <= 6
    fibre = Fibre(Release.of(table, pattern), table)
    some = np.vstack(list(fibre.blocks()))[:: max(1, fibre.count() // 3)][:3]
    tables = np.repeat(table.values[None], len(some), axis=0)
    tables[:, fibre.cells] = some
    found = rule.likelihood(pattern, tables)
    rng = np.random.default_rng([0, len(fibre.cells)])
    cost = replace(decoys, key=key_from(rng)).costs(table, np.ones(table.n_cells, np.int64))
    rates = decoys.rates(table, table.margins, 8)
    wanted = [chance(mechanism, table.replace(values=v), pattern, cost, rates) for v in tables]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    rough = DecoyRule(mechanism, table, orders=1, precision=0.05).likelihood(pattern, tables)
    assert (rough <= found * (1 + 1e-12)).all()
    assert (rough >= found * 0.95).all()


def test_order_of_cells_changes_no_likelihood():
    table = draw_table(SCENARIOS["plain"], 4, 2, 0)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=Decoys("0.1"))
    pattern = DecoyRule(mechanism, table).publish(table.values, np.random.default_rng(0))
    turn = np.random.default_rng(1).permutation(table.n_cells)
    turned = table.replace(
        values=table.values[turn], relations=table.relations[:, turn], lower=table.lower[turn],
        upper=table.upper[turn], labels=tuple(table.labels[i] for i in turn.tolist()),
    )  # fmt: skip
    plain = DecoyRule(mechanism, table).likelihood(pattern, table.values[None])
    other = DecoyRule(mechanism, turned).likelihood(pattern[turn], turned.values[None])
    assert plain == pytest.approx(other)


def test_posterior_under_decoys_weighs_tables_by_their_likelihood():
    table = draw_table(SCENARIOS["plain"], 4, 7, 0)
    prior = normal_counts(15, 10)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=Decoys("0.1", KEY))
    release = mechanism.protect(table).release
    found = posterior(release, mechanism, prior=prior, keys=2)
    fibre = Fibre(release)
    every = np.vstack(list(fibre.blocks()))
    tables = np.repeat(table.values[None], len(every), axis=0)
    tables[:, fibre.cells] = every
    weight = DecoyRule(mechanism, table, orders=2).likelihood(release.pattern, tables)
    weight *= np.exp(sum(prior(every[:, e]) for e in range(every.shape[1])))
    for e, values in enumerate(found.values):
        sums = np.array([weight[every[:, e] == v].sum() for v in values])
        np.testing.assert_allclose(found.probability[e], sums / sums.sum(), atol=1e-12)
        sensitive = weight[every[:, e] < 5].sum() / weight.sum()
        assert found.sensitive[e] == pytest.approx(sensitive)
    # No table is excluded, and the naive posterior is that of any mechanism.
    assert all((p > 0).all() == (n > 0).all() for p, n in zip(found.probability, found.naive,
                                                             strict=True))  # fmt: skip
    assert "2 keys" in repr(found)


def test_matching_excludes_nothing_and_needs_no_key():
    table = draw_table(SCENARIOS["plain"], 4, 0, 0)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=Decoys("0.1", KEY))
    release = mechanism.protect(table).release
    public = replace(mechanism, defence=Decoys("0.1"))
    by_theorem, listed = (matching(release, public, method=m) for m in ("auto", "all"))
    assert by_theorem.method == "theorem"
    assert by_theorem.complete
    assert listed.matched == listed.tested == listed.fibre_size
    for found in (by_theorem, listed):
        assert (found.lower == found.feasible_lower).all()
        assert (found.upper == found.feasible_upper).all()
        assert (found.verdict == "proved safe").all()
    with pytest.raises(InputError, match="takes the key"):
        matching(release, public, method="reference")


def test_releases_that_decoys_never_make_are_refused():
    table = Table.from_array([[1, 2, 30], [2, 1, 30], [30, 30, 30]])
    mechanism = Mechanism(MinFrequency(5), width=8, margins="publish")
    narrow = np.zeros((4, 4), bool)
    narrow[:2, :2] = True
    with pytest.raises(InputError, match="narrower than the defence allows"):
        matching(Release.of(table, narrow.ravel()), replace(mechanism, defence=Decoys("0.1")))


def test_levels_of_values_exclude_what_misses_them():
    """Levels in percent of a hidden value: the theorem is about tables that keep them."""
    table = Table.from_array([[2, 5, 6, 3], [4, 8, 7, 8], [3, 6, 8, 5]])
    mechanism = Mechanism("FREQ(5,60)", margins="publish", defence=Decoys("0.1", KEY, width=2))
    protected = mechanism.protect(table)
    assert not protected.guarantee.complete
    found = matching(protected.release, mechanism, method="all")
    fits = [x[protected.pattern] for x in (t.values for t in _completions(protected))]
    low, high = found.feasible_lower, found.feasible_upper
    kept = [
        all(
            not 0 < v < 5 or (v - level(v) >= a and v + level(v) <= b)
            for v, a, b in zip(x.tolist(), low, high, strict=True)
        )
        for x in fits
    ]
    assert found.tested == len(fits)
    assert 0 < found.matched == sum(kept) < len(fits)


def level(value):
    """Sixty percent, rounded up."""
    return -(-6 * value // 10)


def _completions(protected):
    fibre = Fibre(protected.release)
    for x in fibre:
        values = protected.table.values.copy()
        values[fibre.cells] = x
        yield protected.table.replace(values=values)


def test_the_rate_chosen_is_the_first_that_reaches_the_target():
    table = draw_table(SCENARIOS["plain"], 4, 2, 0)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=Decoys("0.5"))
    options = {"prior": normal_counts(15, 10), "keys": 2, "rates": ("0.3", "0.02")}
    whole = choose_rate(mechanism, table, target=0.0, **options)
    assert [point.rate for point in whole.curve] == ["0.02", "0.3"][: len(whole.curve)]
    reached = [p for p in whole.curve if p.posterior_unsafe <= 0.0]
    assert (whole.rate is None) == (not reached)
    easy = choose_rate(mechanism, table, target=0.999, **options)
    assert easy.rate == "0.02" or easy.curve[0].posterior_unsafe > 0.999
    assert all(p.extra >= 0 for p in whole.curve)
    for wrong, words in (
        ({"target": 1.0}, "target"),
        ({"keys": 0}, "keys"),
        ({"rates": ()}, "rates"),
    ):
        with pytest.raises(InputError, match=words):
            choose_rate(mechanism, table, **{"target": 0.1, **options, **wrong})
    with pytest.raises(InputError, match="no decoys"):
        choose_rate(replace(mechanism, defence=None), table, target=0.1)


@pytest.mark.parametrize("index", [0, 2, 5])
def test_risk_of_a_plain_release_is_its_posterior(index):
    table = draw_table(SCENARIOS["plain"], 4, index, 0)
    mechanism, prior = SCENARIOS["plain"].mechanism, normal_counts(15, 10)
    protected = mechanism.protect(table)
    rule, rules = Plain(mechanism, table), RuleTable(mechanism, table)
    found = risk_of(rule, rules, table, protected.pattern, prior)
    known = posterior(protected.release, mechanism, prior=prior)
    effective = matching(protected.release, mechanism, method="values")
    widths = {naive: np.diff(known.shortest(naive=naive), axis=0)[0] for naive in (False, True)}
    at = np.flatnonzero(protected.problem.primary[known.cells])
    assert [c.support for c in found.cells] == effective.width[at].tolist()
    assert [c.with_rule for c in found.cells] == widths[False][at].tolist()
    assert [c.without_rule for c in found.cells] == widths[True][at].tolist()
    np.testing.assert_allclose([c.primary for c in found.cells], known.sensitive[at])
    np.testing.assert_allclose([c.max_posterior for c in found.cells], known.mode_probability[at])
    assert found.fibre == Fibre(protected.release).count()
    drawn = risk_of(rule, rules, table, protected.pattern, prior, max_tables=1, draws=400)
    assert all(c.support is None for c in drawn.cells)
    assert drawn.effective is not None
    close = [abs(a.primary - b.primary) for a, b in zip(drawn.cells, found.cells, strict=True)]
    assert max(close) < 0.2
    nobody = risk_of(rule, rules, table, protected.pattern, prior, max_tables=1, draws=10)
    assert all(c.with_rule is None for c in nobody.cells)
    assert len(nobody.cells) == len(found.cells)


def test_long_patterns_weigh_drawn_coins():
    """Beyond 12 cells coins are drawn, rare sets too: no table gets the chance 0."""
    table = draw_table(SCENARIOS["plain"], 4, 8, 0)
    mechanism = replace(SCENARIOS["plain"].mechanism, defence=Decoys("0.1", KEY, lean=0))
    rule = DecoyRule(mechanism, table, orders=1, precision=0)
    pattern = rule.publish(table.values, np.random.default_rng(8))
    fibre = Fibre(Release.of(table, pattern), table)
    some = np.vstack(list(fibre.blocks()))[:12]
    tables = np.repeat(table.values[None], len(some), axis=0)
    tables[:, fibre.cells] = some
    exact = rule.likelihood(pattern, tables)
    short, decoy_rules.EXACT_UP_TO = decoy_rules.EXACT_UP_TO, 0
    try:
        drawn = DecoyRule(mechanism, table, orders=40, coins=512).likelihood(pattern, tables)
        summed = DecoyRule(mechanism, table, orders=40).likelihood
        decoy_rules.EXACT_UP_TO = short
        wanted = summed(pattern, tables)
    finally:
        decoy_rules.EXACT_UP_TO = short
    assert (drawn > 0).all()
    assert (exact > 0).all()
    np.testing.assert_allclose(drawn, wanted, rtol=0.35)


def test_turnover_is_no_count(tmp_path, monkeypatch):
    """A release says nothing of contributors, so nothing is said of their posterior."""
    from cellveil.cli.tables.defence import measured

    data = {"r": list("aabbaabb"), "c": list("xyxyxyxy"), "v": [20, 30, 25, 2, 30, 22, 28, 40]}
    table = Table.from_microdata(data, ["r", "c"], "v")
    mechanism = Mechanism(MinFrequency(3), width=10, margins="publish", defence=Decoys("0.3", KEY))
    assert "not_computed" in measured(mechanism.protect(table), UNLIMITED)
