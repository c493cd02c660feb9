"""Regions of large tables: cuts lose no safe pattern, proposals hold, and workers do not matter."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from csp import InputError, Problem, suppress
from csp.clock import UNLIMITED
from csp.errors import OutOfTime
from csp.solve.large import region_programs, regions
from csp.solve.large.cut_pool import CutPool
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.exchange import exchange
from csp.solve.witnesses.field import Field
from tests.csp.solve.large.test_engine import office
from tests.csp.solve.test_agree import STRUCTURES
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import problems


def posed(problem: Problem) -> tuple[Problem, Field, Book, Builder] | None:
    """A problem with one level either way and costs, with witnesses; None if it has none."""
    axes = Axes(problem.table)
    if not axes.regular:
        return None
    levels = Field(problem)
    try:
        problem = replace(
            problem, lpl=levels.fall, upl=levels.rise, spl=np.zeros_like(levels.rise),
            cost=np.maximum(problem.cost, 1),
        )  # fmt: skip
    except InputError:  # even everything suppressed does not protect it
        return None
    field = Field(problem)
    book, builder = Book(field), Builder(field, axes)
    if builder.serve(book, builder.order(np.arange(len(field.cell))), field.price.copy()):
        return None
    return problem, field, book, builder


def whole_region(field: Field, book: Book, pool: CutPool) -> region_programs.Region | None:
    """The whole table as a region, everything being suppressed."""
    everything = field.problem.forced | field.problem.free
    return regions.region_of(book, pool, field.price, everything, np.arange(len(everything)))


def as_pattern(field: Field, region: region_programs.Region, x: np.ndarray[Any, Any]) -> Any:
    """What is suppressed if these cells of a region are."""
    pattern = field.problem.forced | field.problem.free
    pattern[region.cells[region.inside]] = x
    return pattern


@pytest.mark.parametrize("structure", ["counts", "hierarchy", "three-way", "linked", "negative"])
def test_what_a_region_asks_for_holds_for_every_minimal_pattern(structure: str) -> None:
    seen = {"safe": 0, "refused": 0}

    # Few problems have a minimal pattern within the region: as many are drawn under any profile.
    @settings(max_examples=100)
    @given(problems(STRUCTURES[structure], max_free=6, max_primary=2))
    def agree(problem: Problem) -> None:
        ready = posed(problem)
        if ready is None:
            return
        problem, field, book, _ = ready
        region = whole_region(field, book, CutPool(problem))
        if region is None:
            return
        search = region_programs._Search(region, np.random.default_rng(0))
        rows, lower = [*region.rows.toarray()], [*region.lower]
        add = search._add

        def noted(cuts: Any) -> None:
            rows.extend(row for row, _ in cuts)
            lower.extend(low for _, low in cuts)
            add(cuts)

        search._add = noted  # type: ignore[method-assign]
        search.run(UNLIMITED)
        choices = np.array(list(product((False, True), repeat=len(region.inside))))
        enough = (
            choices @ np.array(rows).reshape(-1, choices.shape[1]).T >= np.array(lower) - 1e-6
        ).all(1)
        safe = {tuple(x): oracles.is_safe(problem, as_pattern(field, region, x)) for x in choices}
        for x, holds in zip(choices, enough, strict=True):
            # A pattern may do without none of its cells.
            fewer = [np.where(np.arange(len(x)) == i, False, x) for i in np.flatnonzero(x)]
            if safe[tuple(x)] and not any(safe[tuple(y)] for y in fewer):
                seen["safe"] += 1
                assert holds
            seen["refused"] += not holds

    agree()
    assert seen["safe"] > 1
    assert seen["refused"] > 20


def test_cuts_of_the_pool_hold_for_every_safe_pattern() -> None:
    seen = {"safe": 0, "refused": 0}
    structures = ("counts", "hierarchy", "linked", "negative")
    # Together: by chance fifty hierarchies in a row have nothing that is refused.
    drawn = st.one_of(*(problems(STRUCTURES[s], max_free=8, max_primary=4) for s in structures))

    @examples(200)
    @given(drawn)
    def agree(problem: Problem) -> None:
        ready = posed(problem)
        if ready is None:
            return
        problem, field, book, _ = ready
        pool = CutPool(problem)
        region = whole_region(field, book, pool)
        if region is None:
            return
        choices = np.array(list(product((False, True), repeat=len(region.inside))))
        patterns = [as_pattern(field, region, x) for x in choices]
        search = region_programs._Search(region, np.random.default_rng(0))
        for pattern in patterns[:: max(1, len(patterns) // 8)]:
            suppressed = pattern[region.cells]
            _, lost = search._prove(suppressed, np.arange(len(region.need)), UNLIMITED)
            search._object(suppressed, lost, UNLIMITED)
        pool.add(search.objections)
        inside = region.cells[region.inside]
        fixed = (problem.forced | problem.free).astype(float)
        fixed[inside] = 0
        rows, lower = pool.asked(inside, fixed)
        for x, pattern in zip(choices, patterns, strict=True):
            holds = bool((rows @ x >= lower - 1e-6).all())
            safe = oracles.is_safe(problem, pattern)
            assert holds or not safe
            seen["safe"] += safe
            seen["refused"] += not holds

    agree()
    assert seen["safe"] > 10
    assert seen["refused"] > 10


def test_what_was_objected_to_in_one_region_is_refused_in_the_next() -> None:
    ready = posed(office(singletons=False))
    assert ready is not None
    problem, field, book, _ = ready
    pool = CutPool(problem)
    region = whole_region(field, book, pool)
    assert region is not None
    search = region_programs._Search(region, np.random.default_rng(0))
    choice = search._choice(UNLIMITED)
    assert choice is not None
    refused = as_pattern(field, region, choice)
    _, lost = search._prove(refused[region.cells], np.arange(len(region.need)), UNLIMITED)
    search._object(refused[region.cells], lost, UNLIMITED)
    pool.add(search.objections)
    again = whole_region(field, book, pool)
    assert again is not None
    assert len(search.objections) > 5
    assert (region.rows @ choice >= region.lower - 1e-6).all()
    assert (again.rows @ choice < again.lower - 1e-6).sum() > 5

    # Whatever a cut refuses misses its requirement, by programs over the whole table.
    rng, table, met = np.random.default_rng(1), problem.table, 0
    inside = region.cells[region.inside]
    fixed = (problem.forced | problem.free).astype(float)
    fixed[inside] = 0
    for one in search.objections:
        alone = CutPool(problem)
        alone.add([one])
        rows, lower = alone.asked(inside, fixed)
        for row, least in zip(rows.toarray(), lower, strict=True):
            x = rng.random(len(row)) < 0.5
            for i in rng.permutation(np.flatnonzero(row > 0)):
                if row[x].sum() < least - 1e-6:
                    break
                x[i] = False
            pattern = as_pattern(field, region, x)
            ends = np.stack([table.lower, table.upper], axis=1) - table.values[:, None]
            bounds = np.clip(ends, -1e6, 1e6) * pattern[:, None]
            cost = np.where(np.arange(len(pattern)) == one.cell, -one.sign, 0)
            zero = np.zeros(table.relations.shape[0])
            furthest = linprog(cost, A_eq=table.relations.astype(float), b_eq=zero, bounds=bounds)
            assert -furthest.fun < one.need - 1e-6
            met += 1
    assert met > 5


def test_what_a_cut_refuses_leaves_its_requirement_unmet() -> None:
    ready = posed(office(singletons=False))
    assert ready is not None
    _, field, book, _ = ready
    region = whole_region(field, book, CutPool(field.problem))
    assert region is not None
    search, cuts = region_programs._Search(region, np.random.default_rng(0)), []
    made = search._cut

    def noted(p: int, sign: float, need: float, suppressed: Any) -> Any:
        cut = made(p, sign, need, suppressed)
        if cut is not None:
            cuts.append((p, sign, need, *cut))
        if len(cuts) == 40:
            raise OutOfTime
        return cut

    search._cut = noted  # type: ignore[method-assign]
    with pytest.raises(OutOfTime):
        search.run(UNLIMITED)
    rng = np.random.default_rng(1)
    refused = 0
    for p, sign, need, row, lower in cuts:
        x = rng.random(len(row)) < 0.5
        # Cells that count go until the cut refuses the rest.
        for i in rng.permutation(np.flatnonzero(row > 0)):
            if row[x].sum() < lower - 1e-6:
                break
            x[i] = False
        if row[x].sum() >= lower - 1e-6:
            continue
        refused += 1
        suppressed = region.suppressed.copy()
        suppressed[region.inside] = x
        bounds = np.stack([-region.down * suppressed, region.up * suppressed], axis=1)
        cost = np.zeros(len(suppressed))
        cost[p] = -sign
        zero = np.zeros(region.matrix.shape[0])
        furthest = linprog(cost, A_eq=region.matrix.astype(float), b_eq=zero, bounds=bounds)
        assert -furthest.fun < need
    assert refused >= 20


@pytest.mark.parametrize("structure", ["hierarchy", "three-way", "linked"])
def test_a_proposal_costs_less_and_its_witnesses_hold(structure: str) -> None:
    taken = 0

    @examples(25)
    @given(problems(STRUCTURES[structure], max_free=8, max_primary=4))
    def agree(problem: Problem) -> None:
        nonlocal taken
        ready = posed(problem)
        if ready is None:
            return
        problem, field, book, builder = ready
        everything = problem.forced | problem.free
        region = whole_region(field, book, CutPool(problem))
        proposal = None if region is None else region_programs.propose(region, 1)
        if proposal is None or not len(proposal.published):
            return
        pattern = everything.copy()
        pattern[proposal.published] = False
        assert oracles.pattern_cost(problem, pattern) < oracles.pattern_cost(problem, everything)
        for cells, steps in proposal.witnesses:
            assert pattern[cells].all()
            assert not (problem.table.relations[:, cells] @ steps).any()
        before = oracles.pattern_cost(problem, book.pattern())
        offered = [field.along(*steps) for steps in proposal.witnesses]
        saved = exchange(
            book, builder, field.price, proposal.published, offered=offered, chosen=proposal.chosen
        )
        after = oracles.pattern_cost(problem, book.pattern())
        assert after == before - (saved or 0)
        assert oracles.is_safe(problem, book.pattern())
        taken += saved is not None

    agree()
    assert taken


def test_regions_hold_every_cell_that_could_go_and_batches_share_no_relation() -> None:
    ready = posed(office(singletons=False))
    assert ready is not None
    _, field, book, _ = ready
    axes, rng = Axes(field.problem.table), np.random.default_rng(3)
    found = list(regions.regions(book, axes, field.price, rng))
    dear = np.flatnonzero((book.used > 0) & (field.price > 0))
    assert set(dear.tolist()) <= set(np.concatenate(found).tolist())
    count = 0
    for batch in regions._batches(field, iter(found)):
        touched = [set(field.columns[:, cells].indices.tolist()) for cells in batch]
        assert sum(map(len, touched)) == len(set().union(*touched))
        count += len(batch)
    assert count == len(found)


def test_the_pattern_does_not_depend_on_where_regions_are_solved() -> None:
    problem, phases = office(singletons=False), []
    alone = suppress(
        problem, method="large", gap=0.26, progress=lambda now: phases.append(now.phase)
    )
    assert phases[-1] == "improved"
    assert alone.audit is not None
    assert alone.audit.safe
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            together = suppress(problem, method="large", gap=0.26)
        assert (alone.pattern == together.pattern).all()
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        spread = suppress(problem, method="large", gap=0.26)
    assert spread.notes == ()
    assert (alone.pattern == spread.pattern).all()


def die(*_: Any) -> None:
    """End the process without a word."""
    os._exit(1)


def test_a_worker_that_dies_costs_its_regions_and_not_the_run(monkeypatch: Any) -> None:
    problem = office(singletons=False)
    monkeypatch.setattr(regions, "propose", die)
    # On a busy machine loky may notice only when the other worker's patience ends (300 s).
    with joblib.parallel_config(backend="loky", n_jobs=2, idle_worker_timeout=5):
        found = suppress(problem, method="large", gap=0.26)
    assert found.audit is not None
    assert found.audit.safe
    assert found.notes[0].startswith("regions were left as they are: a worker was lost")
