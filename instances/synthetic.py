"""Tables and microdata by seed: frequency, magnitude, hierarchical and linked.

The same arguments give the same table. Counts are ``round(|N(mean, sd)|)``, as in the experiments
of Minami and Abe (2019); contributions are lognormal, as turnover is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Ints
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.table import Table


def frequency_2d(rows: int, cols: int, seed: int, *, mean: float = 15, sd: float = 10) -> Table:
    """Draw counts of shape (rows, cols) with their margins.

    Raises
    ------
    InputError
        If there is no row or column.
    """
    return frequency_nd((rows, cols), seed, mean=mean, sd=sd)


def frequency_nd(shape: Sequence[int], seed: int, *, mean: float = 15, sd: float = 10) -> Table:
    """Draw counts of any number of dimensions with all their margins.

    Raises
    ------
    InputError
        If a side is less than 1.
    """
    return Table.from_array(_counts(shape, seed, mean, sd), margins=True)


def hierarchical(
    seed: int,
    branching: Sequence[Sequence[int]] = ((3, 3), (2, 4)),
    *,
    mean: float = 15,
    sd: float = 10,
) -> Table:
    """Draw counts over one hierarchy in each dimension.

    Parameters
    ----------
    seed : int
    branching : sequence of sequence of int
        For each dimension, how many children each code has on each level from the total down:
        (3, 3) is a total of 3 codes with 3 leaves each.
    mean, sd : float
        Of the leaf counts.

    Raises
    ------
    InputError
        If a level has no children.
    """
    names = [f"h{i + 1}" for i in range(len(branching))]
    trees = {name: tree(sides, name) for name, sides in zip(names, branching, strict=True)}
    shape = [len(h.leaves) for h in trees.values()]
    counts = _counts(shape, seed, mean, sd)
    return Table.from_array(counts, names=names, hierarchies=trees, margins=True)


def linked(
    seed: int, regions: int = 4, sizes: int = 3, sectors: int = 3, *, mean: float = 6, sd: float = 4
) -> Table:
    """Region by size and region by sector of the same records, as one table.

    Raises
    ------
    InputError
        If a side is less than 1.
    """
    from csp.tables.link import link

    records = _counts((regions, sizes, sectors), seed, mean, sd)
    return link(
        Table.from_array(records.sum(axis=2), names=["region", "size"]),
        Table.from_array(records.sum(axis=1), names=["region", "sector"]),
    )


def magnitude(
    shape: Sequence[int], seed: int, *, contributors: float = 5, sigma: float = 1.2
) -> Table:
    """Draw sums of lognormal contributions with their margins and largest contributors.

    Parameters
    ----------
    shape : sequence of int
        Number of codes along each dimension.
    seed : int
    contributors : float
        Contributors of an inner cell on average; some cells have none.
    sigma : float
        Spread of the logarithm of a contribution: above 1, single ones dominate.

    Raises
    ------
    InputError
        If a side is less than 1.
    """
    _check_shape(shape)
    names = [f"d{i + 1}" for i in range(len(shape))]
    data = microdata(
        max(1, round(contributors * int(np.prod(shape)))),
        seed,
        {name: _codes(side) for name, side in zip(names, shape, strict=True)},
        sigma=sigma,
    )
    trees = {name: Hierarchy.flat(_codes(side)) for name, side in zip(names, shape, strict=True)}
    return Table.from_microdata(data, names, "value", contributor="contributor", hierarchies=trees)


def microdata(
    n: int,
    seed: int,
    codes: Mapping[str, Sequence[str]],
    *,
    sigma: float = 1.2,
    shared: float = 0.1,
    skew: Mapping[str, float] | None = None,
) -> dict[str, NDArray[Any]]:
    """Draw records of contributors with a code in each dimension and a lognormal value.

    Parameters
    ----------
    n : int
        Number of records.
    seed : int
    codes : mapping of str to sequence of str
        Codes of each column; later codes are rarer.
    sigma : float
        Spread of the logarithm of the values.
    shared : float
        Share of the records that belong to the contributor of another record.
    skew : mapping of str to float, optional
        How much rarer later codes of a column are: the share of the i-th is ``i**-skew``; 0.5 where
        nothing is said.

    Returns
    -------
    dict of str to (n,) array
        The columns of `codes`, then "contributor" (int) and "value" (int, at least 1).

    Raises
    ------
    InputError
        If there are no records, or a column has no codes.
    """
    if n < 1 or any(len(c) < 1 for c in codes.values()):
        msg = f"microdata need at least one record and one code per column, got {n} records"
        raise InputError(msg)
    rng = np.random.default_rng(seed)
    columns: dict[str, NDArray[Any]] = {}
    for name, given in codes.items():
        share = 1 / np.arange(1, len(given) + 1) ** (skew or {}).get(name, 0.5)
        columns[name] = np.array(given)[rng.choice(len(given), size=n, p=share / share.sum())]
    columns["contributor"] = np.arange(n)
    again = rng.random(n) < shared
    columns["contributor"][again] = rng.integers(0, n, size=n)[again]
    columns["value"] = np.maximum(1, np.round(rng.lognormal(4, sigma, size=n))).astype(np.int64)
    return columns


def sparse(n: int, seed: int) -> tuple[dict[str, NDArray[Any]], dict[str, Hierarchy]]:
    """Draw records of a table most of whose cells are empty, and the hierarchies of its dimensions.

    Municipality by age, sex, occupation and education: 3,000 x 10 x 2 x 75 x 10 codes, 45 million
    inner cells and 110 million with margins. Of 650,000 records 3.8 million cells have one.

    Parameters
    ----------
    n : int
        Number of records.
    seed : int

    Returns
    -------
    data : dict of str to (n,) array
        See `microdata`.
    hierarchies : dict of str to Hierarchy

    Raises
    ------
    InputError
        If there are no records.
    """
    branching = {
        "municipality": (30, 10, 10),
        "age": (10,),
        "sex": (2,),
        "occupation": (15, 5),
        "education": (10,),
    }
    trees = {name: tree(sides, name[0]) for name, sides in branching.items()}
    codes = {name: [h.codes[i] for i in h.leaves] for name, h in trees.items()}
    skew = dict.fromkeys(trees, 1.2) | {"municipality": 1.1, "sex": 0.5}
    return microdata(n, seed, codes, skew=skew), trees


def tree(branching: Sequence[int], prefix: str = "c", total: str = "Total") -> Hierarchy:
    """Hierarchy in which every code of a level has the same number of children.

    Raises
    ------
    InputError
        If a level has no children.
    """
    if not branching or min(branching) < 1:
        msg = f"every level needs at least one child, got {tuple(branching)}"
        raise InputError(msg)
    codes: list[str] = []
    parent: list[int] = []

    def grow(name: str, depth: int) -> int:
        below = [
            grow(f"{name}.{i + 1}" if depth else f"{prefix}{i + 1}", depth + 1)
            for i in range(branching[depth] if depth < len(branching) else 0)
        ]
        codes.append(name)
        parent.append(-1)
        for child in below:
            parent[child] = len(codes) - 1
        return len(codes) - 1

    grow(total, 0)
    return Hierarchy(tuple(codes), tuple(parent))


def _counts(shape: Sequence[int], seed: int, mean: float, sd: float) -> Ints:
    _check_shape(shape)
    draws = np.random.default_rng(seed).normal(mean, sd, size=tuple(shape))
    return np.round(np.abs(draws)).astype(np.int64)


def _check_shape(shape: Sequence[int]) -> None:
    if not len(shape) or min(shape) < 1:
        msg = f"every side needs at least one code, got {tuple(shape)}"
        raise InputError(msg)


def _codes(side: int) -> list[str]:
    return [str(i + 1) for i in range(side)]
