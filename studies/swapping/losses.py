"""The loss of every method over group sizes and runs, as plain rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.names.calls import whole_number
from microagg.partitions.methods.mdav import mdav_labels
from microagg.records import check_k
from microagg.scaling import scaled
from microagg.swapping.correlations import correlations, pairs, standard_rows
from microagg.swapping.grouping import Grouping
from microagg.swapping.moves import (
    Move,
    Original,
    checked_seed,
    informed_moves,
    joint_move,
    ranking_moves,
)
from microagg.swapping.roles import Roles

METHODS = {
    "MDAV-ID": "all attributes, confidential ones too, replaced by the means of groups",
    "MDAV-SWAP sequential": "groups of all others, as they stand",
    "MDAV-SWAP simultaneous": "groups of all others, as they were",
    "MDAV-SWAP forward": "groups of quasi-identifiers and attributes swapped before",
    "MDAV-SWAP uninformed": "one permutation, groups of the quasi-identifiers",
    "IR-SWAP mdav": "groups of neighbouring values by MDAV",
    "IR-SWAP optimal": "groups of neighbouring values with the least squared errors",
}
"""What the study compares: the ways of `microagg.swapping.methods`, by name."""

TABLES = ("MDAV-ID", "MDAV-SWAP sequential", "IR-SWAP mdav")
"""Those of them that Tables X and XI of the paper are about."""


@dataclass(frozen=True)
class SwapLoss:
    """Loss of one method at one k, over all runs.

    Attributes
    ----------
    method : str
    k, runs : int
        Methods without chance have one run.
    seed : int
        Of the first run; run r has ``seed + r``, the seed with which the function of the method
        gives the same file.
    mean, std : float
        Of absolute differences of correlations, over pairs (see
        `microagg.swapping.correlations.CorrelationLoss`) and runs together.
    run_std : float
        Standard deviation of the means of single runs.
    entries : int
        Pairs of each run.
    unchanged : float
        Share of the confidential values that are still their record's own, on average.
    """

    method: str
    k: int
    runs: int
    seed: int
    mean: float
    std: float
    run_std: float
    entries: int
    unchanged: float

    def row(self) -> dict[str, Any]:
        """Plain data, for a frame or JSON."""
        return asdict(self)

    def with_zeros(self, zeros: int) -> tuple[float, float]:
        """Mean and standard deviation if `zeros` unchanged pairs were averaged as well."""
        share = self.entries / (self.entries + zeros)
        mean = share * self.mean
        return mean, math.sqrt(max(share * (self.std**2 + self.mean**2) - mean**2, 0.0))


@dataclass(frozen=True, eq=False, repr=False)
class _File:
    """What every cell of the study needs: plain arrays, cheap to send to a process."""

    names: tuple[str, ...]
    values: NDArray[np.float64]
    points: NDArray[np.float64]
    count: int

    @property
    def quasi(self) -> list[int]:
        return list(range(len(self.names) - self.count))

    @property
    def confidential(self) -> list[int]:
        return list(range(len(self.names) - self.count, len(self.names)))


def swap_losses(
    X: Any,
    *,
    confidential: Sequence[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    methods: Sequence[str] = TABLES,
    ks: Sequence[int] = (5, 7, 9, 11, 25, 50, 100, 200, 300),
    runs: int = 100,
    scale: str = "none",
    seed: int = 0,
    n_jobs: int = 1,
) -> Iterator[SwapLoss]:
    """Measure how far correlations to confidential attributes move.

    Parameters
    ----------
    X : data
        As `microagg.read_records` takes it.
    confidential, quasi_identifiers : sequence of str, optional
        Either one left out takes all attributes that are not of the other kind.
    methods : sequence of str
        Of `METHODS`.
    ks : sequence of int
    runs : int
    scale : str
        One of `microagg.scaling.SCALES`; "none" gives the figures of the paper.
    seed : int
        Of the first run of every method and k.
    n_jobs : int
        Processes, by joblib; rows do not depend on it. Each does one method at one k.

    Returns
    -------
    iterator of SwapLoss
        Method by method, k by k, each measured when it is asked for.

    Raises
    ------
    InputError
        For unknown methods, no runs, and what the methods refuse; before anything is measured.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        msg = f"there is no method {unknown[0]!r}; there are {', '.join(METHODS)}"
        raise InputError(msg)
    runs = whole_number("runs", runs)
    if n_jobs == 0:
        msg = "n_jobs 0 runs nothing; give the number of processes, or -1 for all cores"
        raise InputError(msg)
    if seed is None:
        msg = "a study needs a seed, so that it can be run again; give a whole number"
        raise InputError(msg)
    seed = checked_seed(seed)
    roles = Roles.of(X, quasi_identifiers, confidential)
    if not roles.confidential:
        msg = "there is no confidential attribute to swap; name at least one"
        raise InputError(msg)
    if "MDAV-SWAP uninformed" in methods and not roles.quasi:
        msg = "uninformed intruders know quasi-identifiers, and there are none; name at least one"
        raise InputError(msg)
    file = _File(
        roles.records.names, roles.records.values, scaled(roles.records, scale),
        len(roles.confidential),
    )  # fmt: skip
    cells = [
        (file, name, check_k(k, roles.n), runs, seed) for name in methods for k in ks
    ]  # fmt: skip
    return iter(_in_turn(cells, n_jobs))


def _in_turn(cells: Sequence[tuple[_File, str, int, int, int]], n_jobs: int) -> Iterable[SwapLoss]:
    if n_jobs == 1:
        for cell in cells:
            yield _measure(*cell)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_measure)(*c) for c in cells)


def _measure(file: _File, method: str, k: int, runs: int, seed: int) -> SwapLoss:
    """One method at one k."""
    runs = 1 if method == "MDAV-ID" else runs
    original = Original(file.points, file.names, file.quasi, file.confidential, Grouping(k))
    before = standard_rows(file.values, file.names, "original")
    zero = correlations(before, file.count)
    mask = pairs(len(file.names), file.count)
    sums, squares, same = np.empty(runs), np.empty(runs), np.empty(runs)
    for run in range(runs):
        if method == "MDAV-ID":
            means = _means(file.values, mdav_labels(file.points, k))
            rows = standard_rows(means, file.names, "masked")
            kept = means[:, file.confidential] == file.values[:, file.confidential]
        else:
            rows, kept = _swap(file, original, method, seed + run, before)
        change = np.abs(correlations(rows, file.count) - zero)[mask]
        sums[run], squares[run], same[run] = change.sum(), (change**2).sum(), kept.mean()
    entries = int(mask.sum())
    mean = math.fsum(sums) / (runs * entries)
    spread = max(math.fsum(squares) / (runs * entries) - mean**2, 0.0)
    return SwapLoss(
        method, k, runs, seed, mean, math.sqrt(spread), float((sums / entries).std()), entries,
        math.fsum(same) / runs,
    )  # fmt: skip


def _swap(
    file: _File, original: Original, method: str, seed: int, before: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give the standard rows of one run, and which confidential values stayed."""
    way, _, variant = method.partition(" ")
    chosen = file.confidential
    moves: list[Move]
    if way == "IR-SWAP":
        moves = ranking_moves(file.values, chosen, original.grouping.k, variant, seed)
    elif variant == "uninformed":
        moves = [joint_move(original, seed)] * file.count
    else:
        moves = informed_moves(original, variant, seed)
    rows = before.copy()
    kept = np.empty((len(file.values), file.count), bool)
    for place, (j, move) in enumerate(zip(chosen, moves, strict=True)):
        # Mean and length of a column are not moved by a permutation of it.
        rows[j] = before[j, move.source]
        kept[:, place] = file.values[move.source, j] == file.values[:, j]
    return rows, kept


def _means(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Every value replaced by the mean of its group."""
    sizes = np.bincount(labels)
    found = np.empty_like(values)
    for j, column in enumerate(values.T):
        found[:, j] = (np.bincount(labels, column) / sizes)[labels]
    return found
