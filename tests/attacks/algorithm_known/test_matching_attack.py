"""The matching attack against brute force: every completion, every pattern, rules by hand."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attacks.algorithm_known import network_search
from attacks.algorithm_known.large_network_search import network_search_of
from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.network_enumeration import HULL, KERNELS, MATCHES, VALUES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.public_view import PublicView
from attacks.fibre.consistent_tables import Fibre
from csp import (
    Hierarchy,
    InputError,
    Mechanism,
    MinFrequency,
    Table,
    Unprotectable,
    Zero,
)
from csp.clock import Clock
from csp.compiled import at_once
from csp.release.release import Release
from csp.rules import Rule, Sensitivity
from tests.csp.solve.test_suppress import integer_safe
from tests.support import oracles
from tests.support.shared import ROOT, examples, uncompiled
from tests.support.strategies import (
    cube,
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    sparse_tables,
)


@dataclass(frozen=True)
class Options:
    """Options of a mechanism, as data."""

    threshold: int
    zero_sensitive: bool
    width: int | None
    strict: bool
    margin: int | None
    zero_level: int | None
    cost: str
    margins: str
    integer: bool

    def mechanism(self) -> Mechanism:
        rule: Any = MinFrequency(
            self.threshold, zero_sensitive=self.zero_sensitive, margin=self.margin
        )
        if self.zero_level is not None:
            rule = rule | Zero(self.zero_level)
        return Mechanism(
            rule, width=self.width, strict=self.strict, cost=self.cost, margins=self.margins,
            integer=self.integer,
        )  # fmt: skip

    def asked(self, value: int) -> tuple[bool, int, int, int]:
        """Primary, lower, upper and sliding level of a count, from the documented rules."""
        rare = value < self.threshold and (value > 0 or self.zero_sensitive)
        empty = self.zero_level is not None and value == 0
        if not (rare or empty):
            return False, 0, 0, 0
        low = up = wide = 0
        if rare and self.margin is not None:
            up = max(1, -(-value * self.margin // 100))
            low = min(up, value)
        if rare and self.margin is None:
            wide = self.threshold
        if empty:
            assert self.zero_level is not None
            up = max(up, self.zero_level)
        if self.width is not None:
            wide = max(wide, self.width + self.strict)
        return True, low, up, wide


@st.composite
def options(draw: st.DrawFn, *, integer: bool, margins: str | None = None) -> Options:
    width = draw(st.one_of(st.none(), st.integers(1, 8)))
    return Options(
        draw(st.integers(2, 5)),
        draw(st.booleans()),
        width,
        width is not None and draw(st.booleans()),
        draw(st.sampled_from([None, None, 30, 100])),
        draw(st.sampled_from([None, None, 2])),
        draw(st.sampled_from(["unit", "value"])),
        margins or draw(st.sampled_from(["publish", "publish", "suppress"])),
        integer,
    )


def problem_of(chosen: Options, release: Release, values: tuple[int, ...]) -> SimpleNamespace:
    """Suppression problem of a completion, without the package's rules."""
    n = len(values)
    totals = {
        int(c)
        for c, v in zip(release.relations.indices, release.relations.data, strict=True)
        if v < 0
    }
    fixed = [chosen.margins == "publish" and i in totals for i in range(n)]
    asked = [(False, 0, 0, 0) if f else chosen.asked(v) for f, v in zip(fixed, values, strict=True)]
    primary = [a[0] for a in asked]
    return SimpleNamespace(
        table=SimpleNamespace(
            values=np.array(values), relations=release.relations, lower=release.lower,
            upper=release.upper, labels=release.labels, roots=release.roots, n_cells=n,
        ),
        primary=np.array(primary),
        lpl=[a[1] for a in asked], upl=[a[2] for a in asked], spl=[a[3] for a in asked],
        cost=[1 if chosen.cost == "unit" else max(1, v) for v in values],
        status=["u" if p else "z" if f else "s" for p, f in zip(primary, fixed, strict=True)],
        forced=primary, singletons=None, alone=np.zeros(n, dtype=bool), union_rule=None,
    )  # fmt: skip


def brute(chosen: Options, release: Release, table: Table) -> list[tuple[int, ...]]:
    """Completions that would have been published with the same pattern."""
    wanted = tuple(release.pattern.tolist())
    found = []
    for values in oracles.integer_tables(table, release.pattern):
        problem = problem_of(chosen, release, values)
        also = integer_safe(problem) if chosen.integer else None  # type: ignore[arg-type]
        if oracles.best_pattern(problem, also=also) == wanted:
            found.append(tuple(np.array(values)[release.pattern].tolist()))
    return found


def attacked(chosen: Options, table: Table, most: int) -> tuple[Release, Mechanism]:
    """Release of a table, if it has a small fibre."""
    mechanism = chosen.mechanism()
    try:
        release = mechanism.protect(table).release
    except (Unprotectable, InputError):
        assume(False)
    assume(release.pattern.any())
    try:
        tables = oracles.integer_tables(table, release.pattern)
        size = sum(1 for _ in itertools.islice(tables, most + 1))
    except ValueError:
        size = most + 1
    assume(size <= most)
    return release, mechanism


def has_engine(release: Release, mechanism: Mechanism) -> bool:
    return network_search_of(PublicView.of(release, mechanism)) is NetworkSearch


def assert_found(release: Release, mechanism: Mechanism, truth: list[tuple[int, ...]]) -> None:
    columns = [sorted(set(column)) for column in zip(*truth, strict=True)]
    fast = has_engine(release, mechanism)
    for method in ("auto", "all", "reference", *(("hull", "values") if fast else ())):
        found = matching(release, mechanism, method=method)
        assert found.complete
        assert found.lower.tolist() == [c[0] for c in columns]
        assert found.upper.tolist() == [c[-1] for c in columns]
        if found.values is not None:
            assert [v.tolist() for v in found.values] == columns
        if method in ("all", "reference"):
            assert found.matched == len(truth)
    listed = [
        tuple(x.tolist())
        for x in match_test_of(PublicView.of(release, mechanism)).listed()
        for x in x
    ]
    assert sorted(listed) == sorted(truth)


def assert_verdicts(
    chosen: Options, release: Release, mechanism: Mechanism, truth: list[tuple[int, ...]]
) -> None:
    found = matching(release, mechanism, method="all")
    for e, column in enumerate(zip(*truth, strict=True)):
        low, high = min(column), max(column)
        cell = int(found.cells[e])
        asked = [problem_of(chosen, release, full_of(release, x)) for x in truth]
        kept, primary = True, []
        for value, problem in zip(column, asked, strict=True):
            primary.append(bool(problem.primary[cell]))
            if primary[-1]:
                kept &= value - problem.lpl[cell] >= low
                kept &= value + problem.upl[cell] <= high
                kept &= problem.spl[cell] <= high - low
        assert found.verdict[e] == ("proved safe" if kept else "proved unsafe")
        word = "always" if all(primary) else "sometimes" if any(primary) else "never"
        assert found.named[e] == word


def full_of(release: Release, x: tuple[int, ...]) -> tuple[int, ...]:
    full = release.published.copy()
    full[release.pattern] = x
    return tuple(full.tolist())


@examples(8)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=7), sparse_tables()),
)
def test_two_way_tables(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 12)
    truth = brute(chosen, release, table)
    assert_found(release, mechanism, truth)
    assert_verdicts(chosen, release, mechanism, truth)


@examples(6)
@given(options(integer=False, margins="suppress"), frequency_2d(max_side=2, high=7))
def test_margins_that_may_be_suppressed(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 12)
    assert_found(release, mechanism, brute(chosen, release, table))


@examples(6)
@given(
    st.booleans().flatmap(lambda whole: options(integer=whole, margins="publish")),
    st.one_of(frequency_3d(high=5), hierarchical_tables(high=5)),
)
def test_cubes_and_hierarchies(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 12)
    truth = brute(chosen, release, table)
    assert_found(release, mechanism, truth)
    assert_verdicts(chosen, release, mechanism, truth)


@examples(10)
@given(options(integer=True, margins="publish"), frequency_2d(high=9))
def test_compiled_searches_do_what_plain_ones_do(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 60)
    read = PublicView.of(release, mechanism)
    for mode in (MATCHES, VALUES, HULL):
        runs = []
        for plain in (True, False):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(network_search, "_KEPT", 5)
                search = NetworkSearch(read, mode)
            found = []
            over = False
            with uncompiled(KERNELS) if plain else at_once():
                while not over:
                    over = search.step(7)
                    found += search.taken().tolist()
            runs.append((found, search.seen.tolist(), search.tested, search.matched, search.nodes))
        assert runs[0] == runs[1]


@examples(5)
@given(options(integer=True, margins="publish"), frequency_2d(high=9), st.integers(1, 5))
def test_a_search_may_change_from_plain_to_compiled_code(
    chosen: Options, table: Table, turn: int
) -> None:
    release, mechanism = attacked(chosen, table, 60)
    read = PublicView.of(release, mechanism)
    for mode in (MATCHES, VALUES, HULL):
        runs = []
        for first in (0, turn):
            search = NetworkSearch(read, mode)
            found = []
            over = False
            for step in itertools.count():
                if over:
                    break
                with uncompiled(KERNELS) if step < first else at_once():
                    over = search.step(3)
                found += search.taken().tolist()
            runs.append((found, search.seen.tolist(), search.tested, search.matched, search.nodes))
        assert runs[0] == runs[1]


def test_a_small_table_is_attacked_before_anything_of_the_search_is_compiled() -> None:
    code = (
        "from tests.attacks.algorithm_known.test_matching_attack import MECHANISM, ordinary\n"
        "from attacks import matching\n"
        "from attacks.algorithm_known import network_enumeration\n"
        "found = matching(MECHANISM.protect(ordinary()).release, MECHANISM)\n"
        "assert found.method == 'hull' and found.complete and found.matched\n"
        "assert 'compiled' not in vars(network_enumeration.KERNELS)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@examples(6)
@given(options(integer=True, margins="publish"), frequency_2d(high=9))
def test_marks_tell_more(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 8)
    protected = mechanism.protect(table)
    marks = protected.problem.primary
    truth = [
        x for x in brute(chosen, release, table)
        if (problem_of(chosen, release, full_of(release, x)).primary == marks).all()
    ]  # fmt: skip
    for method in ("auto", "all", "reference"):
        found = matching(release, mechanism, marks=marks, method=method)
        assert found.matched <= len(truth) or method != "all"
        columns = list(zip(*truth, strict=True))
        assert found.lower.tolist() == [min(c) for c in columns]
        assert found.upper.tolist() == [max(c) for c in columns]


# ---- what a user may do wrong, and limits ------------------------------------------------------

MECHANISM = Mechanism(MinFrequency(5, zero_sensitive=True), width=8, margins="publish")


def ordinary(side: int = 4, seed: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_array(np.abs(np.rint(rng.normal(15, 10, (side, side)))).astype(int))


def test_a_release_of_another_mechanism_is_refused() -> None:
    release = MECHANISM.protect(ordinary()).release
    with pytest.raises(InputError, match=r"is published with \d+, which the mechanism calls"):
        matching(release, Mechanism(MinFrequency(30), width=8, margins="publish"))
    table = cube(np.array([[1, 20, 30], [20, 30, 40], [30, 40, 50]]))
    suppressed = np.isin(np.arange(16), (0, 3, 12, 15))
    with pytest.raises(InputError, match="must be published"):
        matching(Release.of(table, suppressed), MECHANISM)
    more = np.isin(np.arange(16), (0, 1, 4, 5, 10))
    for method in ("auto", "all", "reference"):
        with pytest.raises(InputError, match="cannot have produced the release"):
            matching(Release.of(table, more), MECHANISM, method=method)
    money = Table.from_array([[1.5, 20.5], [30.5, 40.5]], decimals=1)
    with pytest.raises(InputError, match="contributors"):
        matching(Release.of(money, ~money.margins), MECHANISM)


def test_options_out_of_range_are_refused() -> None:
    release = MECHANISM.protect(ordinary()).release
    for wrong, words in (
        ({"method": "magic"}, "not one of"),
        ({"time_limit": 0}, "must be a positive number of seconds"),
        ({"max_tables": 0}, "max_tables must be a whole number of at least 1"),
        ({"draws": "3"}, "draws must be a whole number.* '3'"),
        ({"method": "sample", "seed": -1}, "seed must be a whole number of at least 0"),
        ({"marks": np.ones(25, dtype=bool)}, "none at a published cell"),
    ):
        with pytest.raises(InputError, match=words):
            matching(release, MECHANISM, **wrong)  # type: ignore[arg-type]
    nothing = MECHANISM.protect(Table.from_array([[20, 30], [40, 50]])).release
    with pytest.raises(InputError, match="no suppressed cell"):
        matching(nothing, MECHANISM)


def test_an_attack_cut_short_never_says_proved_unsafe() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(table).release
    whole = matching(release, mechanism, method="reference")
    assert whole.fibre_size == 18
    assert set(whole.verdict) == {"proved safe"}
    for most in (1, 6, 12, 17):
        found = matching(release, mechanism, method="reference", max_tables=most)
        assert not found.complete
        assert set(found.verdict) <= {"proved safe", "undecided"}


def test_an_interrupt_keeps_what_was_found() -> None:
    def stop(tested: int, matched: int) -> None:
        raise KeyboardInterrupt

    release = MECHANISM.protect(ordinary(6, 1)).release
    found = matching(release, MECHANISM, progress=stop)
    assert found.interrupted
    assert not found.complete
    assert set(found.verdict) <= {"proved safe", "undecided"}
    assert not matching(release, MECHANISM).interrupted


def test_reprs_show_no_value() -> None:
    table = ordinary()
    release = MECHANISM.protect(table).release
    found = matching(release, MECHANISM)
    digits = set("0123456789")
    allowed = {str(len(found.cells)), *(str(i) for i in range(len(found.cells) + 1))}
    words = "".join(c if c in digits else " " for c in repr(found)).split()
    assert set(words) <= allowed


@examples(10)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=9), sparse_tables(), frequency_3d(high=4)),
    st.integers(0, 99),
)
def test_an_incomplete_attack_never_contradicts_a_complete_one(
    chosen: Options, table: Table, seed: int
) -> None:
    release, mechanism = attacked(chosen, table, 60)
    whole = matching(release, mechanism, method="all")
    for draws in (1, 3, 10):
        found = matching(release, mechanism, method="sample", draws=draws, seed=seed)
        assert_agrees(found, whole)
    for most in (1, 4):
        assert_agrees(matching(release, mechanism, method="reference", max_tables=most), whole)


@examples(15)
@given(
    st.booleans(), st.integers(1, 6), st.integers(2, 6),
    st.one_of(frequency_2d(high=7), sparse_tables(), frequency_3d(high=4)),
)  # fmt: skip
def test_values_that_are_primary_here_and_there(
    odd: bool, width: int, most: int, table: Table
) -> None:
    # Primary values do not form an interval, so that gaps of a hull matter.
    mechanism = Mechanism(Every(most, odd), width=width, margins="publish", integer=True)
    assume((table.values % 2 == odd).any())
    try:
        release = mechanism.protect(table).release
    except Unprotectable:
        assume(False)
    assume(release.pattern.any())
    size = Fibre(release).count()
    assume(size is not None and size <= 80)
    whole = matching(release, mechanism, method="all")
    assert whole.values is not None
    for method in (
        "auto",
        *(("hull", "values") if has_engine(release, mechanism) else ()),
    ):
        found = matching(release, mechanism, method=method)
        assert found.complete
        assert found.verdict.tolist() == whole.verdict.tolist()
        assert_agrees(found, whole)


@dataclass(frozen=True, repr=False)
class Every(Rule):
    """Small odd, or small even, values are sensitive."""

    most: int
    odd: bool

    @property
    def cellwise(self) -> bool:
        return True

    def __call__(self, table: Table) -> Sensitivity:
        flags = (table.values % 2 == self.odd) & (table.values <= self.most)
        return Sensitivity.of(table, flags, spl=1)


def assert_agrees(found: Any, whole: Any) -> None:
    """Nothing that is claimed is wrong."""
    for one, two in zip(found.verdict, whole.verdict, strict=True):
        assert one in (two, "undecided")
    for one, two in zip(found.named, whole.named, strict=True):
        assert one in (two, "")
    if found.complete:
        assert "undecided" not in set(found.verdict)


def test_levels_of_a_completion_may_reach_beyond_outside_bounds() -> None:
    mechanism = Mechanism(MinFrequency(5, margin=100, zero_sensitive=True), margins="publish")
    attacked_ = 0
    for seed in range(40):
        inner = np.random.default_rng(seed).integers(0, 11, (3, 3))
        table = Table.from_array(inner)
        table = table.replace(upper=table.values + 4)
        try:
            release = mechanism.protect(table).release
        except (Unprotectable, InputError):
            continue
        if not release.pattern.any():
            continue
        attacked_ += 1
        found = matching(release, mechanism)
        assert found.complete
        true = table.values[found.cells]
        assert (found.lower <= true).all()
        assert (true <= found.upper).all()
    assert attacked_ > 3


def test_ranges_too_wide_for_flags_are_refused() -> None:
    inner = np.array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    for power in (7, 10):
        table = Table.from_array(inner * 10**power)
        mechanism = Mechanism(MinFrequency(10 * 10**power), width=10 * 10**power, margins="publish")
        release = mechanism.protect(table).release
        with pytest.raises(InputError, match="a larger unit"):
            matching(release, mechanism, time_limit=2)


def test_limits_are_kept_by_draws_too() -> None:
    import time

    protected = MECHANISM.protect(ordinary(8, 4))
    # Loops are compiled by the first call, which no limit stops.
    for _ in range(2):
        began = time.process_time()
        found = matching(protected.release, MECHANISM, method="sample", draws=2000, time_limit=0.3)
    assert time.process_time() - began < 3
    assert set(found.verdict) <= {"proved safe", "undecided"}


def test_proofs_that_are_put_off_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        protected = MECHANISM.protect(ordinary(5, seed))
        if not protected.pattern.any():
            continue
        answers = []
        for quick, late in ((200, 1024), (1, 2), (1, 1024)):
            monkeypatch.setattr(network_search, "_QUICK", quick)
            monkeypatch.setattr(network_search, "_LATE", late)
            found = {
                method: matching(protected.release, MECHANISM, method=method)
                for method in ("hull", "values", "all")
            }
            assert all(one.complete for one in found.values())
            values = found["values"].values
            assert values is not None
            answers.append(
                (
                    found["hull"].lower.tolist(), found["hull"].upper.tolist(),
                    [v.tolist() for v in values], found["all"].matched,
                )
            )  # fmt: skip
        assert answers[0] == answers[1] == answers[2]


def test_proofs_cut_short_leave_cells_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    protected = MECHANISM.protect(ordinary(6, 1))
    read = PublicView.of(protected.release, MECHANISM)
    whole = NetworkSearch(read, HULL)
    while not whole.step(1000):
        pass
    monkeypatch.setattr(network_search, "_QUICK", 1)
    search = NetworkSearch(read, HULL, clock=Clock.of(1e-9))
    while not search.step(1000):
        pass
    assert whole.doubtful == 0
    assert (search.seen <= whole.seen).all()
    assert search.doubtful > 0 or (search.seen == whole.seen).all()


def test_hulls_of_what_is_no_network_are_refused_in_words_of_the_attack() -> None:
    rows = Hierarchy.from_dict({"A": ["a", "b"], "B": ["c", "d"]})
    columns = Hierarchy.from_dict({"X": ["x", "y"], "Z": ["z"]})
    counts = zip(
        itertools.product("abcd", "xyz"), [1, 5, 6, 4, 2, 7, 3, 5, 6, 7, 4, 5], strict=True
    )
    people = [pair for pair, n in counts for _ in range(n)]
    data = {"r": [r for r, _ in people], "c": [c for _, c in people]}
    table = Table.from_microdata(data, ["r", "c"], hierarchies={"r": rows, "c": columns})
    mechanism = Mechanism(MinFrequency(3), width=2)
    release = mechanism.protect(table).release
    for method in ("hull", "values"):
        with pytest.raises(InputError, match=r"needs a network of up to 64 cells .* method='auto'"):
            matching(release, mechanism, method=method)
    assert matching(release, mechanism, time_limit=5).method != "hull"
