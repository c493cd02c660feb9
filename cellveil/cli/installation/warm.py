"""Compile everything that is ever compiled, so that no later call has to wait for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def compile_everything(report: Callable[[str], None]) -> None:
    """Do a little of all kinds of work with compiled code; `report` hears the name of each."""
    from csp.compiled import at_once

    with at_once():
        for name, work in WORKS.items():
            report(name)
            work()


def _two_way() -> None:
    from csp import Mechanism, protect, suppress
    from csp.solve.exact.state import PRICED_FROM
    from csp.solve.small.batch import SmallSolver
    from instances import synthetic

    # Large networks are searched by other code, and margins are not searched.
    for size in (12, int(PRICED_FROM**0.5) + 5):
        protect(synthetic.frequency_2d(size, size, 1), "FREQ(5,10)", width=8, time_limit=60)
    small = Mechanism("FREQ(5,10)", width=8).problem(synthetic.frequency_2d(5, 5, 1))
    suppress(small, method="small")
    solver = SmallSolver(small)
    found = solver.solve_many(small.table.values[None], small.primary[None])
    solver.decide(found.patterns[0], small.table.values[None], small.primary[None])


def _other() -> None:
    from scipy.sparse import csr_array

    from csp import protect
    from csp.solve.cuts import Cut
    from csp.solve.exact.zero_half import zero_half
    from csp.solve.general.classes import Classes
    from csp.solve.general.tableau import pivot
    from instances import synthetic

    protect(synthetic.frequency_nd((4, 4, 4), 1), "FREQ(5,10)", width=8, time_limit=60)
    pivot(np.ones((3, 3)), 0, 1)
    Classes(np.ones((3, 2)), np.zeros(3, bool), np.random.default_rng(1))
    pair, cells = np.ones((1, 2)), np.arange(2)
    row = Cut(cells, np.ones(2), 1.0, "capacity")
    zero_half([row], csr_array(pair), np.ones(1), cells, np.full(2, 0.5), 1)


def _sparse() -> None:
    from csp import Mechanism, Table
    from csp.solve.large.swaps import swaps
    from csp.solve.witnesses.axes import Axes
    from csp.solve.witnesses.field import Field
    from instances import synthetic

    trees = {
        "place": synthetic.tree((4, 3), "p"),
        "age": synthetic.tree((5,), "a"),
        "trade": synthetic.tree((3, 3), "t"),
    }
    codes = {name: [tree.codes[i] for i in tree.leaves] for name, tree in trees.items()}
    table = Table.from_microdata(
        synthetic.microdata(50, 1, codes), list(trees), "value", contributor="contributor",
        hierarchies=trees, empty="drop",
    )  # fmt: skip
    field = Field(Mechanism("P(10,1)|FREQ(3,10)").problem(table))
    list(swaps(field, Axes(table), field.price))


def _attacks() -> None:
    import attacks
    from attacks.algorithm_known.network_enumeration import HULL
    from attacks.algorithm_known.network_search import NetworkSearch
    from attacks.algorithm_known.views.public_view import PublicView
    from attacks.fibre.samples import draw
    from csp import Mechanism
    from instances import synthetic

    flat = Mechanism("FREQ(5,5)", width=8, integer=True)
    square, cube = synthetic.frequency_2d(4, 4, 1), synthetic.frequency_nd((3, 3, 3), 1)
    for table in (square, cube):
        release = flat.protect(table).release
        attacks.matching(release, flat, time_limit=60)
        attacks.posterior(release, flat, time_limit=60)
        draw(attacks.Fibre(release), 10, max_states=1, time_limit=60)
    release = flat.protect(square).release
    tables = np.array(list(attacks.Fibre(release)))
    NetworkSearch(PublicView.of(release, flat), HULL).test(tables)


def _published() -> None:
    from attacks.large_releases.engine import determined_cells
    from csp.release.release import Release
    from instances.business_patterns import business_patterns

    drawn = business_patterns(industries=24, states=3, counties=16)
    release = Release.from_frame(
        drawn.columns, ["naics", "area"], "emp", status="empflag", marks="census",
        hierarchies={"naics": "prefix", "area": "prefix"}, total={"naics": "------", "area": "US"},
        absent="zero",
    )  # fmt: skip
    determined_cells(release)


def _partitions() -> None:
    import microagg

    rng = np.random.default_rng(1)
    file = {name: rng.normal(size=5_000).round(3) for name in "ab"}
    microagg.mdav(file, 5)
    microagg.vmdav(file, 5)
    microagg.mondrian(file, 5)
    column = {"a": rng.integers(0, 10**6, 20_000)}
    microagg.individual_ranking(column, 5, method="optimal")
    strata = {"area": np.arange(40) % 12, **{name: part[:40] for name, part in file.items()}}
    microagg.mdav(strata, 5, within=["area"])


def _compliance() -> None:
    import microagg

    file = {name: np.random.default_rng(1).integers(1, 100, 40) for name in "ab"}
    for method in ("grow", "merge", "optimise"):
        microagg.comply(file, 4, "P(10)", method=method, time_limit=20)
    # Clusters that may not grow are mended record by record.
    skewed = {name: np.random.default_rng(1).lognormal(3, 2, 40).astype(int) for name in "ab"}
    microagg.comply(skewed, 4, "P(10)", method="merge", most=7, time_limit=20)


def _aggregates() -> None:
    import microagg
    from microagg.aggregates import METHODS

    file = {name: np.random.default_rng(1).integers(1, 100, 400) for name in "ab"}
    for method in METHODS:
        known = ["sum", {"a": 1}]
        found = microagg.aggregate_anonymise(file, 5, known, method=method)
        microagg.aggregates.candidate_counts(file, found, known)


WORKS: dict[str, Callable[[], None]] = {
    "two-way tables": _two_way,
    "other tables": _other,
    "sparse tables": _sparse,
    "attacks": _attacks,
    "published tables": _published,
    "partitions": _partitions,
    "compliance": _compliance,
    "aggregates": _aggregates,
}
"""All kinds of work for which something is compiled."""
