"""Random decoys against the theorem: no one without the key can exclude a consistent table.

The procedure is written again in `tests.support.oracles_decoys`, where enumeration decides
everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import (
    Decoys,
    Key,
    Mechanism,
    MinFrequency,
    Table,
    Unprotectable,
    defend,
)
from csp.tables.link import link
from tests.support.oracles_decoys import Impossible, Public, chance, hulls, outcomes, published
from tests.support.shared import examples
from tests.support.strategies import REGIONS, cube


def key_of(number: int) -> Key:
    return Key(hashlib.sha256(b"a key for tests %d" % number).digest())


def sensitive(threshold: int, zero: bool) -> Callable[[int], bool]:
    return lambda value: (zero or value > 0) and value < threshold


class Setting:
    """A table, its mechanism, and the oracle's view of it."""

    def __init__(self, table: Table, threshold: int, width: int, zero: bool, **options: Any):
        margins = options.pop("margins", "publish")
        self.table, self.width, self.threshold, self.zero = table, width, threshold, zero
        self.may = ~table.margins if margins == "publish" else np.ones(table.n_cells, bool)
        self.decoys = Decoys(**options)
        self.mechanism = Mechanism(
            MinFrequency(threshold, zero_sensitive=zero),
            width=width,
            margins=margins,
            cost="unit",
            defence=self.decoys,
        )
        self.public = Public(table, self.may, sensitive(threshold, zero), max(width, threshold))
        problem = self.mechanism.problem(table)
        self.cost = self.decoys.costs(table, problem.cost)[self.may].tolist()
        self.coins = self.public.number(self.decoys.coins(table, ~self.may, self.public.width))
        rates = self.decoys.rates(table, ~self.may, self.public.width)
        self.rates = [Fraction(rate) for rate in rates[self.may].tolist()]

    @property
    def x(self) -> tuple[int, ...]:
        return tuple(self.table.values.tolist())

    def expected(self) -> int | None:
        try:
            return published(self.public, self.x, self.coins, self.cost)
        except Impossible:
            return None


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[Table, str]:
    """Tables with at most nine cells that may be suppressed, and what of their margins."""
    kind = draw(st.sampled_from(["2x3", "3x3", "2x4", "cube", "tree", "linked", "margins"]))
    high = draw(st.integers(2, 7))

    def counts(*shape: int, top: int = high) -> np.ndarray:
        n = int(np.prod(shape))
        return np.array(draw(st.lists(st.integers(0, top), min_size=n, max_size=n))).reshape(shape)

    if kind == "cube":
        return Table.from_array(counts(2, 2, 2)), "publish"
    if kind == "tree":
        return cube(counts(3, 2), [REGIONS, REGIONS.flat(["m", "f"])]), "publish"
    if kind == "linked":
        units = counts(2, 2, 2)
        one = Table.from_array(units.sum(axis=2), names=["region", "sex"])
        two = Table.from_array(units.sum(axis=1), names=["region", "age"])
        return link(one, two), "publish"
    if kind == "margins":
        table = Table.from_array(counts(2, 2, top=3))
        return table.replace(upper=np.full(9, 12)), "suppress"
    rows, columns = map(int, kind.split("x"))
    return Table.from_array(counts(rows, columns)), "publish"


@st.composite
def settings(draw: st.DrawFn) -> Setting:
    table, margins = draw(small_tables())
    threshold = draw(st.integers(1, 3))
    return Setting(
        table,
        threshold,
        draw(st.integers(1, threshold + 2)),
        draw(st.booleans()),
        margins=margins,
        rate=draw(st.sampled_from([Fraction(1, 20), Fraction(1, 5), Fraction(1, 2)])),
        key=key_of(draw(st.integers(0, 10**6))),
        spread=draw(st.sampled_from([0, Fraction(1, 64), 1])),
        lean=draw(st.sampled_from([0, 2, 4])),
    )


@examples(40)
@given(settings())
def test_the_pattern_is_that_of_brute_force(setting):
    expected = setting.expected()
    try:
        found = setting.mechanism.protect(setting.table)
    except Unprotectable:
        assert expected is None
        return
    assert setting.public.number(found.pattern) == expected
    every = setting.public.wide(setting.x, expected)
    assert every == expected, "every suppressed cell is wide"


@examples(12)
@given(settings().filter(lambda s: len(s.public.cells) <= 8))
def test_every_table_that_fits_has_its_chance(setting):
    try:
        found = setting.mechanism.protect(setting.table)
    except Unprotectable:
        return
    assert found.guarantee.complete
    y = setting.public.number(found.pattern)
    fibre = setting.public.fibre(setting.x, y)
    n, hidden = len(setting.public.cells), y.bit_count()
    least = chance([y], setting.rates)
    # The log is a float of the same number, so that neither promises more.
    assert found.guarantee.log10_chance == pytest.approx(log10(least), abs=1e-9)
    assert (found.guarantee.suppressed, found.guarantee.suppressible) == (hidden, n)
    for x in fibre[:: 1 + len(fibre) // 12]:
        sets = outcomes(setting.public, x, setting.cost).get(y, [])
        assert y in sets, "coins that show the pattern itself lead to it"
        assert chance(sets, setting.rates) >= least


def log10(number: Fraction) -> float:
    return float(np.log10(float(number)))


@pytest.mark.parametrize("zero", [False, True])
def test_without_decoys_tables_are_excluded_and_intervals_are_too_narrow(zero):
    """So that the tests above can fail: what they find nowhere is common without coins."""
    rng = np.random.default_rng(5)
    excluded = narrow = with_decoys = 0
    for number in range(20):
        table = Table.from_array(rng.integers(0, 7, (2, 4)))
        setting = Setting(table, 2, 3, zero, rate=Fraction(1, 10), key=key_of(number))
        public, cost = setting.public, [1] * 8
        try:
            y = published(public, setting.x, 0, cost)
            assert y == published(public, setting.x, 0, cost, strong=False)
        except Impossible:
            continue
        fibre = public.fibre(setting.x, y)
        left = [x for x in fibre if reaches(public, x, cost, y)]
        excluded += len(left) < len(fibre)
        ends = hulls(left)
        primaries = [i for k, i in enumerate(public.cells) if public.primary(setting.x) >> k & 1]
        narrow += any(ends[i][1] - ends[i][0] < setting.width for i in primaries)
        if len(fibre) <= 12:
            with_decoys += any(y not in outcomes(public, x, cost) for x in fibre)
    assert excluded > 3
    assert narrow > 0
    assert with_decoys == 0


def reaches(public: Public, x: tuple[int, ...], cost: list[int], y: int) -> bool:
    try:
        return published(public, x, 0, cost) == y
    except Impossible:
        return False


# Found by a random search: the cheapest safe pattern has a secondary cell that is too narrow.
NARROW = [
    ([[2, 0, 2], [1, 2, 1], [2, 2, 0]], 2, 3, False),
    ([[2, 3, 0], [2, 1, 1], [0, 4, 5]], 2, 4, False),
    ([[2, 1, 3], [2, 2, 2], [4, 3, 4]], 2, 5, True),
]


@pytest.mark.parametrize(("inner", "threshold", "width", "zero"), NARROW)
def test_narrow_secondary_cells_are_protected_too(inner, threshold, width, zero):
    setting = Setting(
        Table.from_array(inner), threshold, width, zero, rate=Fraction(1, 10**6), key=key_of(0)
    )
    assert not setting.coins, "a rate of one in a million: no decoys here"
    weak = published(setting.public, setting.x, 0, setting.cost, strong=False)
    strong = published(setting.public, setting.x, 0, setting.cost)
    assert setting.public.wide(setting.x, weak) != weak
    found = setting.mechanism.protect(setting.table)
    assert setting.public.number(found.pattern) == strong != weak
    assert found.suppression.pattern.sum() > weak.bit_count()


@pytest.mark.parametrize(("inner", "threshold", "width", "zero"), NARROW[:2])
def test_without_the_repetition_some_tables_are_excluded(inner, threshold, width, zero):
    """A mutation that the theorem does not survive: publish with narrow secondary cells."""
    setting = Setting(
        Table.from_array(inner), threshold, width, zero, rate=Fraction(1, 10), key=key_of(0)
    )
    public, cost = setting.public, [1] * 9
    weak = published(public, setting.x, 0, cost, strong=False)
    assert any(
        weak not in outcomes(public, x, cost, strong=False) for x in public.fibre(setting.x, weak)
    )
    strong = published(public, setting.x, 0, cost)
    fibre = public.fibre(setting.x, strong)
    assert all(strong in outcomes(public, x, cost) for x in fibre[::5])


def test_a_secondary_cell_that_can_never_be_wide_stops_a_primary_cell_that_needs_it():
    setting = Setting(
        Table.from_array([[0, 1, 2], [3, 1, 1]]), 1, 3, True, rate=Fraction(1, 5), key=key_of(1)
    )
    assert published(setting.public, setting.x, 0, [1] * 6, strong=False) == 0b111111
    assert setting.expected() is None
    with pytest.raises(Unprotectable):
        setting.mechanism.protect(setting.table)


def test_the_whole_distribution_of_one_release():
    """Exact probabilities over all coins, by brute force and by the procedure itself."""
    table = Table.from_array([[1, 5, 3], [6, 2, 4], [1, 3, 1]])
    setting = Setting(table, 2, 3, False, rate=Fraction(1, 4), key=key_of(3), spread=0)
    public = setting.public
    by_pattern = outcomes(public, setting.x, [1] * 9)
    total = sum(chance(sets, setting.rates) for sets in by_pattern.values())
    assert total == 1
    assert len(by_pattern) > 2
    problem = setting.mechanism.problem(table)
    for y, sets in by_pattern.items():
        for coins in (sets[0], sets[-1]):
            flags = np.zeros(table.n_cells, bool)
            flags[[i for k, i in enumerate(public.cells) if coins >> k & 1]] = True
            fixed = with_coins(flags)
            found = defend(problem, fixed, integer=True, width=3, complete=True)
            assert public.number(found.pattern) == y


def with_coins(flags: np.ndarray, **options: Any) -> Decoys:
    """Decoys whose coins are these, whatever the key."""

    class Forced(Decoys):
        def coins(self, table: Table, fixed=None, width=1) -> np.ndarray:
            return flags.copy()

    return Forced(**{"rate": Fraction(1, 4), "key": key_of(0), "spread": 0, **options})
