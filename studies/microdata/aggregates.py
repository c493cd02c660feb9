"""The series of figures on aggregate knowledge: loss and time against k, file size and d."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import exact
from microagg.aggregates.anonymise import METHODS, aggregate_anonymise
from microagg.aggregates.generalise import generalise_fully
from microagg.aggregates.generalised import Domains, width_sums
from microagg.aggregates.grouping import mondrian_groups
from microagg.partitions.methods.mondrian import CUTS
from microagg.records import Records, check_k, read_records

SERIES = (*(f"mondrian {cut}" for cut in CUTS), "aggranon", "hybrid", "best")
"""What the study compares: Mondrian by each of its cuts, and methods of `aggregate_anonymise`."""


@dataclass(frozen=True)
class Measurement:
    """One point of one curve.

    Attributes
    ----------
    varies : {"k", "records", "d"}
        Which axis the point belongs to.
    series : str
    k, records : int
    d : float
    ncp, ncp_per_attribute : float
        Loss over the common domain of the file, and over each attribute's own.
    seconds : float
        CPU time of the masking; its check is included where the method makes one.
    """

    varies: str
    series: str
    k: int
    records: int
    d: float
    ncp: float
    ncp_per_attribute: float
    seconds: float

    def row(self) -> dict[str, Any]:
        """Plain data, for a frame or JSON."""
        return asdict(self)


def measurements(
    X: Any,
    f: Any = "sum",
    *,
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
    series: Sequence[str] = SERIES,
    ks: Sequence[int] = (2, 5, 10, 25, 50),
    sizes: Sequence[int] = (50_000, 100_000),
    ds: Sequence[Any] = (0, 0.01, 0.02, 0.05, 0.1),
    k: int = 10,
    d: Any = 0,
    seed: int = 0,
) -> Iterator[Measurement]:
    """Measure loss and time while one of k, the number of records and d varies.

    Parameters
    ----------
    X, f, attributes, decimals
        As for `microagg.aggregates.aggregate_anonymise`.
    series : sequence of str
        Names of `SERIES`, or other methods. Mondrian takes no part where d varies, since it has
        no such parameter.
    ks, sizes, ds : sequence
        Points of the three axes. Sizes are of random samples, each one part of the next larger;
        the whole file comes last.
    k, d
        What holds where they do not vary (in the paper 10 and 0).
    seed : int
        Of the samples.

    Yields
    ------
    Measurement
        Axis by axis, point by point, in the order of the series.

    Raises
    ------
    InputError
        For unknown series, a sample larger than the file, and what `aggregate_anonymise` refuses.

    Notes
    -----
    O. Gkountouna, K. Lepenioti, M. Terrovitis, Privacy against aggregate knowledge attacks,
    Figures 2 and 3. Domains are those of the whole file in every sample, so that losses compare.
    """
    unknown = [name for name in series if name not in (*SERIES, *METHODS)]
    if unknown:
        msg = f"there is no series {unknown[0]!r}; there are {', '.join((*SERIES, *METHODS))}"
        raise InputError(msg)
    records = read_records(X, attributes, decimals=decimals)
    for size in sizes:
        if not 1 <= size <= records.n:
            msg = f"a sample of {size} records cannot be drawn from {records.n}"
            raise InputError(msg)
    units = records.units
    whole = Domains.of(units)
    _warm_up(records, f)
    for point in ks:
        for name in series:
            yield _measure("k", name, units, records.names, f, point, d, whole)
    drawn = np.random.default_rng(seed).permutation(records.n)
    for size in sorted({*sizes, records.n}):
        sample = units[np.sort(drawn[:size])]
        for name in series:
            yield _measure("records", name, sample, records.names, f, k, d, whole)
    for point in ds:
        for name in series:
            if not name.startswith("mondrian"):
                yield _measure("d", name, units, records.names, f, k, point, whole)


def _measure(
    varies: str,
    series: str,
    units: NDArray[np.int64],
    names: tuple[str, ...],
    f: Any,
    k: int,
    d: Any,
    whole: Domains,
) -> Measurement:
    columns = tuple(np.ascontiguousarray(column) for column in units.T)
    records = Records(names, columns, 0)  # units as they are: f compares them alike at any scale
    began = process_time()
    _, _, cut = series.partition(" ")
    if cut:
        k = check_k(k, len(units))
        labels = mondrian_groups(units, np.arange(len(units)), k, cut)
        lower, upper = generalise_fully(units, labels)
    else:
        found = aggregate_anonymise(records, k, f, d, method=series)
        lower, upper = found.lower, found.upper
    seconds = process_time() - began
    here = Domains(whole.least, whole.most, len(units))
    together, apart = here.penalties(width_sums(lower, upper))
    return Measurement(
        varies, series, k, len(units), float(exact(d)), float(together), float(apart), seconds
    )


def _warm_up(records: Records, f: Any) -> None:
    """Have everything compiled before time is taken."""
    few = Records(records.names, tuple(column[:50] for column in records.columns), records.decimals)
    aggregate_anonymise(few, min(3, few.n), f)
