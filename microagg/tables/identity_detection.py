"""Finding linear identities between attributes in the records themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Number, exact
from microagg.records import Ints, Records, read_records
from microagg.tables.identities import Identity, stated_identities

__all__ = ["as_identities", "detect_identities"]

TRIALS = 64
"""Samples of records whose identities are tried on the whole file."""

NARROW = 16
"""Records of a small sample: enough to tell what nearly vanishes from what does not."""

LARGEST = 10_000
"""Largest coefficient of an identity: no reader guesses others, and few records obey any."""

SMALL = 10
"""Largest coefficient of an identity that may hold up to rounding; others would excuse too much."""

FEW, DOUBT, LEAST_USED = 1000, 0.15, 30
"""Records that an identity is tried on first, how far their share may be below what is asked for,
and how many of them must say something of an attribute to count."""


def detect_identities(
    X: Any,
    *,
    attributes: Sequence[str] | None = None,
    share: Number = "0.95",
    decimals: int | None = None,
) -> tuple[Identity, ...]:
    """Find the linear identities that the records obey, by exact elimination.

    Identities of small samples of records are tried on the whole file, so that a few records that
    break one do not hide it. Those of a sample are found in two ways: its integer kernel, and
    short vectors of a lattice (LLL), which are small combinations of attributes that nearly
    vanish, as sums of rounded numbers do. What counts is the whole file: an identity must hold
    there exactly, or up to rounding.

    Parameters
    ----------
    X : data
        As `read_records` takes it.
    attributes : sequence of str, optional
    share : Number
        Least share of records that must obey an identity; see `Identity.share`.
    decimals : int, optional

    Returns
    -------
    tuple of Identity
        Linearly independent, with small coefficients, in a fixed order. The same for the same
        records in the same order.

    Examples
    --------
    >>> import microagg
    >>> data = {"all": [5, 9, 4, 8], "a": [2, 9, 1, 3], "b": [3, 0, 3, 5]}
    >>> [str(identity) for identity in microagg.detect_identities(data)]
    ['all = a + b']
    """
    records = read_records(X, attributes, decimals=decimals)
    least = exact(share)
    if not 0 < least <= 1:
        msg = f"share must be above 0 and at most 1, not {share!r}"
        raise InputError(msg)
    kept: dict[Identity, float] = {}
    tried: set[Identity] = set()
    evenly = np.linspace(0, records.n - 1, min(FEW, records.n)).astype(np.int64)
    few = records.at(np.unique(evenly))
    for sample in _samples(records):
        for identity in (*_kernel(records, sample), *_short(records, sample)):
            if identity in tried:
                continue
            tried.add(identity)
            rounded = identity.rounded(records.scale)
            if not _promising(rounded, few, float(least)):
                continue
            for candidate in (identity, rounded) if _rounds(identity) else (identity,):
                reached = candidate.share(records)
                if reached >= least:
                    kept[candidate] = reached
                    break
    return _independent(kept, records.names)


def as_identities(
    given: Any, records: Records, share: Number | None = None
) -> tuple[Identity, ...]:
    """Identities of a caller: detected, given (see `stated_identities`), or none.

    The least share of the records that must obey one is 0.95 by default for those to be detected.

    Raises
    ------
    InputError
        If an equation cannot be read, names an unknown attribute, or fails in too many records
        (how many, and the first of them).
    """
    if given is None:
        return ()
    if isinstance(given, str):
        if given != "detect":
            msg = f"identities {given!r}: give 'detect', None, or a list of equations"
            raise InputError(msg)
        return detect_identities(records, share="0.95" if share is None else share)
    return stated_identities(given, records, share)


def _promising(identity: Identity, few: Records, least: float) -> bool:
    """Whether some records leave a chance that enough of all obey an identity."""
    holds = ~identity.off(few)
    if float(holds.mean()) < least - DOUBT:
        return False
    for name, _ in identity.terms if not identity.constant else ():
        used = few.units[:, few.names.index(name)] != 0
        if used.sum() >= LEAST_USED and float(holds[used].mean()) < least - DOUBT:
            return False
    return True


def _rounds(identity: Identity) -> bool:
    """Whether rounding can be what keeps records from obeying it: its coefficients are small."""
    return max(abs(c) for _, c in identity.terms) <= SMALL


def _samples(records: Records) -> Iterator[Ints]:
    """Yield records to try: at random, but the same in every run."""
    d = len(records.names)
    random = np.random.default_rng(20231125)
    for trial in range(TRIALS if d <= 30 else TRIALS // 3):
        # Small samples seldom hold a record that breaks an identity; large ones leave fewer others.
        size = min(records.n, NARROW if trial % 2 else 2 * (d + 1))
        yield random.choice(records.n, size, replace=False)
        if size == records.n:
            return


def _kernel(records: Records, sample: Ints) -> list[Identity]:
    """Identities that a sample obeys exactly, with small coefficients."""
    from flint import fmpz_mat

    rows = np.unique(records.units[sample], axis=0).tolist()
    unit = 10**records.scale
    kernel, rank = fmpz_mat([[*row, -unit] for row in rows]).nullspace()
    if rank == 0:
        return []
    basis = fmpz_mat([[int(kernel[i, j]) for i in range(kernel.nrows())] for j in range(rank)])
    short = basis.lll()
    vectors = ([int(short[i, j]) for j in range(short.ncols())] for i in range(rank))
    return [found for v in vectors if (found := _identity(v, records.names)) is not None]


def _short(records: Records, sample: Ints) -> list[Identity]:
    """Find combinations of attributes that nearly vanish, or nearly are constant, on a sample."""
    from flint import fmpz_mat

    units = records.units[sample]
    d, m = len(records.names), len(sample)
    rows = [[int(i == j) for i in range(d)] + units[:, j].tolist() for j in range(d)]
    short = fmpz_mat([*rows, [0] * d + [1] * m]).lll()
    found = []
    for i in range(d + 1):
        coefficients = [int(short[i, j]) for j in range(d)]
        sums = units.astype(object) @ np.array(coefficients, dtype=object)
        often, counts = np.unique(sums.astype(str), return_counts=True)
        constant = Fraction(int(often[int(np.argmax(counts))]), 10**records.scale)
        size = math.gcd(*coefficients)
        if size:
            # As in a kernel: whole numbers, the constant last.
            unit = constant.denominator
            vector = [c * unit for c in coefficients] + [constant.numerator]
            identity = _identity(vector, records.names)
            if identity is not None:
                found.append(identity)
    return found


def _identity(vector: Sequence[int], names: Sequence[str]) -> Identity | None:
    """Identity of coefficients with the constant last; None if it says nothing of an attribute."""
    *coefficients, constant = vector
    size = math.gcd(*coefficients)
    if size == 0 or max(map(abs, coefficients)) > LARGEST * size:
        return None
    # The total stands alone on its side, so that it reads like a sum.
    signs = [c for c in coefficients if c]
    flip = sum(c < 0 for c in signs) > sum(c > 0 for c in signs) or (
        sum(c < 0 for c in signs) == sum(c > 0 for c in signs) and signs[0] > 0
    )
    size = -size if flip else size
    terms = [(name, c // size) for name, c in zip(names, coefficients, strict=True) if c]
    terms.sort(key=lambda term: (term[1] > 0, names.index(term[0])))
    return Identity(tuple(terms), Fraction(constant, size))


def _independent(kept: dict[Identity, float], names: Sequence[str]) -> tuple[Identity, ...]:
    """Drop identities that follow from others: the shorter ones stay."""
    from flint import fmpq, fmpq_mat

    def order(identity: Identity) -> tuple[Any, ...]:
        sizes = sum(abs(c) for _, c in identity.terms)
        places = tuple((names.index(name), c) for name, c in identity.terms)
        return (len(identity.terms), sizes, -kept[identity], places, identity.constant)

    chosen: list[Identity] = []
    rows: list[list[Any]] = []
    for identity in sorted(kept, key=order):
        constant = fmpq(identity.constant.numerator, identity.constant.denominator)
        row = [fmpq(int(c)) for c in identity.column(names)] + [constant]
        if fmpq_mat([*rows, row]).rank() > len(rows):
            rows.append(row)
            chosen.append(identity)
    return tuple(chosen)
