"""Problems of the benchmark: generated tables with levels and costs, and public instances.

Every upper bound is finite, three times the grand total, because the peer reads no other; ours
are given the same problem.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csp import Hierarchy, Mechanism, PPercent, Problem, Table, link, read_jj
from csp.errors import InputError
from instances import synthetic

_SMALL_COUNT = 5
"""Counts below this are primary, as in Minami and Abe (2019)."""


def frequency(rows: int, cols: int, *, sliding: bool = False) -> Problem:
    """Draw counts of two dimensions; inner cells below 5 are primary.

    Each must stay open by 3 on either side (by its value downwards if that is less), or, if
    `sliding`, by 8 in total wherever that lies.
    """
    return _small_counts(synthetic.frequency_2d(rows, cols, 1), sliding=sliding)


def cube(*shape: int) -> Problem:
    """Draw counts of any number of dimensions, with the levels of `frequency`."""
    return _small_counts(synthetic.frequency_nd(shape, 1))


def tree_by_value(branching: Sequence[Sequence[int]]) -> Problem:
    """Draw counts over hierarchies, with the levels of `frequency`."""
    return _small_counts(synthetic.hierarchical(1, branching))


def linked_tables(regions: int, sizes: int, sectors: int) -> Problem:
    """Region by size and region by sector of the same records, as one problem.

    The smallest twelfth of the cells that are not totals are primary, open by a fifth either way.
    """
    table = _bounded(synthetic.linked(1, regions, sizes, sectors))
    primary = ~table.margins & (table.values > 0)
    primary &= table.values <= np.quantile(table.values[primary], 1 / 12)
    level = np.where(primary, -(-table.values // 5), 0)
    return Problem.of(table, primary, lpl=level, upl=level, cost=np.maximum(table.values, 1))


def count_tree(branching: Sequence[Sequence[int]]) -> Problem:
    """Draw counts over hierarchies; every cell below 5 is primary and must stay open by 1.

    A class of table that the tools of the field are compared on (``docs/benchmarks.md``). Zeros
    can only go up.
    """
    table = _bounded(synthetic.hierarchical(1, branching))
    primary = table.values < _SMALL_COUNT
    return Problem.of(
        table, primary, lpl=np.minimum(table.values, 1), upl=1, cost=np.maximum(table.values, 1)
    )


def sparse(side: int) -> Problem:
    """Draw counts of two dimensions of which only those below 2 are primary, with width 5.

    Few primary cells do not protect one another, which makes these hard for their size.
    """
    table = _bounded(synthetic.frequency_2d(side, side, 1))
    primary = ~table.margins & (table.values < 2)
    return Problem.of(table, primary, spl=5, cost=np.maximum(table.values, 1))


def fs_like(side: int, share: float) -> Problem:
    """Cells of 5 to 999 of which a share is replaced by 1 to 4 and primary.

    Made after the description of the random tables of Fischetti and Salazar-González
    (Mathematical Programming 84, 1999); not their files. Levels are half the value, rounded up.

    Parameters
    ----------
    side : int
        Rows, and columns.
    share : float
        Of the inner cells.
    """
    rng = np.random.default_rng(1)
    inner = rng.integers(5, 1000, size=(side, side))
    chosen = rng.choice(side * side, size=round(share * side * side), replace=False)
    inner.flat[chosen] = rng.integers(1, 5, size=len(chosen))
    table = _bounded(Table.from_array(inner))
    primary = ~table.margins & (table.values < _SMALL_COUNT)
    level = np.where(primary, -(-table.values // 2), 0)
    return Problem.of(table, primary, lpl=level, upl=level, cost=table.values)


def magnitudes(*shape: int) -> Problem:
    """Draw sums of lognormal contributions under the 10 percent rule, margins included."""
    return _ten_percent(synthetic.magnitude(shape, 1))


def tree_magnitudes(branching: Sequence[Sequence[int]]) -> Problem:
    """Draw sums of lognormal contributions over hierarchies, under the 10 percent rule."""
    names = [f"h{i + 1}" for i in range(len(branching))]
    trees = {
        name: synthetic.tree(sides, name) for name, sides in zip(names, branching, strict=True)
    }
    leaves = {name: [t.codes[i] for i in t.leaves] for name, t in trees.items()}
    records = 5 * int(np.prod([len(codes) for codes in leaves.values()]))
    data = synthetic.microdata(records, 1, leaves)
    table = Table.from_microdata(data, names, "value", contributor="contributor", hierarchies=trees)
    return _ten_percent(table)


def office(
    branching: Sequence[Sequence[int]], records: int, *, rule: str = "P(10,1)|FREQ(3,10)",
    counts: bool = False, singletons: bool = False, cost: str = "unit",
) -> Problem:  # fmt: skip
    """Draw enterprises over hierarchies, few of them in most cells, as offices tabulate them.

    Parameters
    ----------
    branching : sequence of sequence of int
        Of each dimension; see `instances.synthetic.tree`.
    records : int
    rule : str
    counts : bool
        Whether cells count the records rather than sum their values.
    singletons : bool
        Whether contributors who are alone in a cell count as attackers.
    cost : str
        See `csp.Mechanism`.
    """
    trees = {f"h{i + 1}": synthetic.tree(sides, f"h{i + 1}") for i, sides in enumerate(branching)}
    data = synthetic.microdata(
        records, 1, {name: [t.codes[i] for i in t.leaves] for name, t in trees.items()}
    )
    value, who = (None, None) if counts else ("value", "contributor")
    table = Table.from_microdata(data, list(trees), value, contributor=who, hierarchies=trees)
    width = 4 if counts else None
    guarded = singletons and not counts
    return Mechanism(rule, width=width, singletons=guarded, cost=cost).problem(table)


def office_linked(records: int) -> Problem:
    """Activity by region by size, and by legal form, of the same enterprises as one problem."""
    branching = {"activity": (5, 4, 3), "region": (4, 5), "size": (5,), "form": (6,)}
    trees = {name: synthetic.tree(sides, name) for name, sides in branching.items()}
    data = synthetic.microdata(
        records, 1, {name: [t.codes[i] for i in t.leaves] for name, t in trees.items()}
    )

    def table(*by: str) -> Table:
        return Table.from_microdata(
            data, list(by), "value", contributor="contributor",
            hierarchies={name: trees[name] for name in by},
        )  # fmt: skip

    both = link(table("activity", "region", "size"), table("activity", "region", "form"))
    return Mechanism("P(10,1)|FREQ(3,10)", singletons=False).problem(both)


def office_overlapping(records: int) -> Problem:
    """Activity by region by size, the regions by countries and by groups that cut across them."""
    activity, region = synthetic.tree((5, 4, 3), "activity"), synthetic.tree((4, 5), "region")
    size = synthetic.tree((5,), "size")
    ends = [region.codes[i] for i in region.leaves]
    # Every third region is of a group, whatever its country.
    codes: list[str] = []
    parent: list[int] = []
    for i in range(3):
        part = ends[i::3]
        codes += [*part, f"group{i + 1}"]
        parent += [len(codes) - 1] * len(part) + [len(ends) + 3]
    across = Hierarchy((*codes, "Total"), (*parent, -1))
    shared = {"activity": activity, "size": size}
    data = synthetic.microdata(
        records, 1,
        {name: [t.codes[i] for i in t.leaves] for name, t in (shared | {"region": region}).items()},
    )  # fmt: skip
    tables = (
        Table.from_microdata(
            data, ["activity", "region", "size"], "value", contributor="contributor",
            hierarchies=shared | {"region": tree},
        )
        for tree in (region, across)
    )  # fmt: skip
    return Mechanism("P(10,1)|FREQ(3,10)", singletons=False).problem(link(*tables))


def office_sparse(records: int) -> Problem:
    """Draw persons over 110 million combinations of codes, few of which occur."""
    data, trees = synthetic.sparse(records, 1)
    table = Table.from_microdata(
        data, list(trees), "value", contributor="contributor", hierarchies=trees, empty="drop"
    )
    return Mechanism("P(10,1)|FREQ(3,10)", singletons=False).problem(table)


def small_template(side: int, *, by_value: bool) -> Problem:
    """Pose what small tables of a batch share: primary below 5, margins public, width 5."""
    table = synthetic.frequency_2d(side, side, 1)
    primary = ~table.margins & (table.values < _SMALL_COUNT)
    cost = np.maximum(table.values, 1) if by_value else 1
    return Problem.of(table, primary, spl=5, cost=cost, publish=table.margins)


def instance(name: str, folder: Path | None) -> Problem:
    """Read a public instance (JJ file) from the data folder.

    Raises
    ------
    InputError
        If there is no data folder, or no such file in it.
    """
    lacking = missing(name, folder)
    if folder is None or lacking:
        msg = f"{lacking}; name the folder of public data with --data or CELLVEIL_DATA"
        raise InputError(msg)
    return read_jj(_instance_file(name, folder))


def missing(name: str, folder: Path | None) -> str:
    """Say what is missing to read a public instance; nothing if all is there."""
    if folder is None:
        return "there is no folder of public instances"
    file = _instance_file(name, folder)
    return "" if file.is_file() else f"there is no instances/{file.name} in the data folder"


def _instance_file(name: str, folder: Path) -> Path:
    return folder / "instances" / f"{name}.jj.gz"


def data_folder(named: Path | None = None) -> Path | None:
    """Folder of public data: the one named, else CELLVEIL_DATA, else one beside a checkout.

    Returns
    -------
    Path or None
        None if no folder was named and there is none beside the project's sources.

    Raises
    ------
    InputError
        If the folder that was named holds no folder "instances".
    """
    said = named or (Path(told) if (told := os.environ.get("CELLVEIL_DATA")) else None)
    if said is not None:
        if not (said / "instances").is_dir():
            msg = f"the data folder {str(said)!r} has no folder 'instances'"
            raise InputError(msg)
        return said
    project = Path(__file__).resolve().parents[1]
    beside = project.parent / "shared" / "data"
    checkout = (project / "pyproject.toml").is_file()
    return beside if checkout and (beside / "instances").is_dir() else None


def _small_counts(table: Table, *, sliding: bool = False) -> Problem:
    table = _bounded(table)
    primary = ~table.margins & (table.values < _SMALL_COUNT)
    cost = np.maximum(table.values, 1)
    if sliding:
        return Problem.of(table, primary, spl=8, cost=cost)
    return Problem.of(table, primary, lpl=np.minimum(table.values, 3), upl=3, cost=cost)


def _ten_percent(table: Table) -> Problem:
    # The peers' files cannot say who is alone in a cell.
    return Mechanism(PPercent(10), cost="value", singletons=False).problem(_bounded(table))


def _bounded(table: Table) -> Table:
    return table.replace(upper=np.full(table.n_cells, 3 * int(table.values.max())))


def batch_of(
    template: Problem, count: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Draw small tables with the structure of a template.

    Only tables with 2 to 10 primary cells are taken: others take no work, or are a rare case.

    Parameters
    ----------
    template : Problem
        From `small_template`.
    count : int

    Returns
    -------
    values, primary, cost : (count, n) array
    """
    sides = [
        len({label[d] for label in template.table.labels}) - 1
        for d in range(len(template.table.names))
    ]
    by_value = bool((template.cost > 1).any())
    inner = ~template.table.margins
    rng = np.random.default_rng(1)
    found: list[NDArray[np.int64]] = []
    while len(found) < count:
        counts = np.round(np.abs(rng.normal(15, 10, size=sides))).astype(np.int64)
        if 2 <= int((counts < _SMALL_COUNT).sum()) <= 10:
            rows = np.vstack([counts, counts.sum(axis=0)])
            found.append(np.hstack([rows, rows.sum(axis=1, keepdims=True)]).ravel())
    values = np.stack(found)
    primary = inner & (values < _SMALL_COUNT)
    return values, primary, np.maximum(values, 1) if by_value else np.ones_like(values)


def of_batch(
    template: Problem,
    values: NDArray[np.int64],
    primary: NDArray[np.bool_],
    cost: NDArray[np.int64],
) -> Problem:
    """One table of a batch as a problem."""
    table = template.table.replace(values=values)
    return Problem.of(table, primary, spl=5, cost=cost, publish=table.margins)
