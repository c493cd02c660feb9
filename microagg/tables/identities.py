"""Linear identities between attributes: what lets a reader subtract one cell from another.

If every record obeys ``PTOTVAL = PEARNVAL + POTHVAL``, so does every cluster, and a suppressed
cell of one attribute follows from the two others. Such identities are relations of the table. A
caller states them, or they are found in the records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.integer_matrices import null_vectors, reduced_rows, short_basis
from csp.errors import InputError, phrase
from csp.exact import Bools, Ints, Number, exact, number_text
from microagg.records import Records, read_records

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


@dataclass(frozen=True, slots=True)
class Identity:
    """``sum of coefficients * attributes = constant``, for each record.

    Attributes
    ----------
    terms : tuple of (str, int)
        Attributes and their coefficients, none 0; the first one is negative.
    constant : Fraction
        In the measure of the data; 0 for most.
    tolerance : Fraction
        How far a record may be off, in the measure of the data: 0, or what rounding of the
        attributes explains.
    """

    terms: tuple[tuple[str, int], ...]
    constant: Fraction = Fraction(0)
    tolerance: Fraction = Fraction(0)

    def __str__(self) -> str:
        left: list[tuple[str, Number]] = [(name, -c) for name, c in self.terms if c < 0]
        right = [(name, c) for name, c in self.terms if c > 0]
        if self.constant:
            left.append(("", self.constant))
        off = f" ± {number_text(self.tolerance)}" if self.tolerance else ""
        return f"{_side(left)} = {_side(right)}{off}"

    def off(self, records: Records) -> Bools:
        """Tell which records do not obey it, shape (n,)."""
        return np.asarray(np.abs(self._residual(records)) > self.tolerance * 10**records.scale)

    def rounded(self, scale: int) -> Identity:
        """Return the same with the tolerance that rounding to 10**-scale explains.

        Each attribute is off by at most half a unit, so a whole number of units is left.
        """
        units = sum(abs(c) for _, c in self.terms) // 2
        return replace(self, tolerance=Fraction(units, 10**scale))

    def column(self, names: Sequence[str]) -> Ints:
        """Coefficients over all attributes."""
        found = np.zeros(len(names), np.int64)
        for name, coefficient in self.terms:
            found[list(names).index(name)] = coefficient
        return found

    def share(self, records: Records) -> float:
        """Share of the records that obey it, where it says something.

        The smallest share over its attributes, each among the records where that attribute is not
        0: a sum that holds only where an attribute is 0 says nothing of the attribute. With a
        constant it says something of every record.
        """
        holds = ~self.off(records)
        if self.constant:
            return float(holds.mean())
        used = [records.units[:, records.names.index(name)] != 0 for name, _ in self.terms]
        return min((float(holds[u].mean()) if u.any() else 0.0 for u in used), default=0.0)

    def _residual(self, records: Records) -> NDArray[Any]:
        column = self.column(records.names)
        constant = self.constant * 10**records.scale
        size = float(np.abs(records.units.astype(np.float64)).max(initial=1.0))
        wide = size * float(np.abs(column).sum()) + abs(float(constant)) >= 2.0**62
        wide = wide or constant.denominator != 1
        units = records.units.astype(object) if wide else records.units
        found: NDArray[Any] = units @ (column.astype(object) if wide else column)
        return found - (int(constant) if constant.denominator == 1 else constant)


def stated_identities(
    given: Sequence[str | Identity], records: Records, share: Number | None = None
) -> tuple[Identity, ...]:
    """Identities that a caller states, as equations or as they are, checked against the records.

    `share` is the least share of the records that must obey them, see `Identity.share`; all of them
    by default.
    """
    least = Fraction(1) if share is None else exact(share)
    found = tuple(_parse(g, records.names) if isinstance(g, str) else g for g in given)
    for identity in found:
        unknown = [name for name, _ in identity.terms if name not in records.names]
        if unknown:
            msg = f"identity {identity}: there is no attribute {unknown[0]!r}"
            raise InputError(msg)
        off = identity.off(records)
        if off.any() and (least == 1 or identity.share(records) < least):
            rows = ", ".join(str(i + 1) for i in np.flatnonzero(off)[:5])
            mend = phrase(", leave it out, or allow exceptions with share=", " or leave it out")
            more = ", ..." if off.sum() > 5 else ""
            msg = (
                f"identity {identity} fails in {int(off.sum())} of {records.n} records (rows "
                f"{rows}{more}); correct them{mend}"
            )
            raise InputError(msg)
    return found


def _parse(text: str, names: Sequence[str]) -> Identity:
    """Identity of an equation in text."""
    sides = text.split("=")
    if len(sides) != 2:
        msg = f"identity {text!r} is not an equation; write it like 'total = part1 + part2'"
        raise InputError(msg)
    found: dict[str, Fraction] = {}
    constant = Fraction(0)
    for side, direction in zip(sides, (-1, 1), strict=True):
        for sign, number, name in _terms(side, text, names):
            value = direction * sign * number
            if name is None:
                constant -= value
            else:
                found[name] = found.get(name, Fraction(0)) + value
    found = {name: value for name, value in found.items() if value}
    if not found:
        msg = f"identity {text!r} does not depend on any attribute; name some"
        raise InputError(msg)
    unit = math.lcm(*(value.denominator for value in found.values()))
    return Identity(tuple((n, int(v * unit)) for n, v in found.items()), constant * unit)


def _terms(
    side: str, text: str, names: Sequence[str]
) -> Iterator[tuple[int, Fraction, str | None]]:
    # Names may hold anything, spaces and signs too: the longest known name at a place is read.
    known = sorted(names, key=len, reverse=True)
    place, first = 0, True
    while side[place:].strip():
        sign = re.match(r"\s*([+-])?\s*", side[place:])
        assert sign is not None
        rest = side[place + sign.end() :]
        # A name may be a number too, a year for instance: names come first.
        factor = (
            None if _name_at(rest, known) else re.match(r"([0-9]+(?:\.[0-9]+)?)\s*\*?\s*", rest)
        )
        rest = rest[factor.end() :] if factor else rest
        name = _name_at(rest, known)
        if (sign[1] is None and not first) or (name is None and factor is None):
            word = rest.split()[0] if rest.split() else side.strip()
            msg = (
                f"identity {text!r} cannot be read at {word!r}; attributes are "
                f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
            )
            raise InputError(msg)
        yield (-1 if sign[1] == "-" else 1), exact(factor[1] if factor else 1), name
        place = len(side) - len(rest) + len(name or "")
        first = False
    if first:
        msg = f"identity {text!r} has an empty side; write 0"
        raise InputError(msg)


def _name_at(text: str, known: Sequence[str]) -> str | None:
    return next((name for name in known if text.startswith(name)), None)


def _side(terms: Sequence[tuple[str, Any]]) -> str:
    words = []
    for name, size in terms:
        number = number_text(Fraction(size))
        sign = "-" if number.startswith("-") else "+"
        number = number.removeprefix("-")
        words.append((sign, number if not name else name if number == "1" else f"{number} {name}"))
    if not words:
        return "0"
    text = " ".join(f"{sign} {word}" for sign, word in words)
    return text.removeprefix("+ ")


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
    return detected(read_records(X, attributes, decimals=decimals), share)


def detected(records: Records, share: Number = "0.95") -> tuple[Identity, ...]:
    """Find the linear identities that records obey; see `detect_identities`."""
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
    An equation that fails in too many records is refused, with the first of them.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        if given != "detect":
            msg = f"identities {given!r}: give 'detect', None, or a list of equations"
            raise InputError(msg)
        return detected(records, "0.95" if share is None else share)
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
    rows = np.unique(records.units[sample], axis=0).tolist()
    unit = 10**records.scale
    vectors = short_basis(null_vectors([[*row, -unit] for row in rows]))
    return [found for v in vectors if (found := _identity(v, records.names)) is not None]


def _short(records: Records, sample: Ints) -> list[Identity]:
    """Find combinations of attributes that nearly vanish, or nearly are constant, on a sample."""
    units = records.units[sample]
    d, m = len(records.names), len(sample)
    rows = [[int(i == j) for i in range(d)] + units[:, j].tolist() for j in range(d)]
    found = []
    for vector in short_basis([*rows, [0] * d + [1] * m]):
        coefficients = vector[:d]
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

    def order(identity: Identity) -> tuple[Any, ...]:
        sizes = sum(abs(c) for _, c in identity.terms)
        places = tuple((names.index(name), c) for name, c in identity.terms)
        return (len(identity.terms), sizes, -kept[identity], places, identity.constant)

    chosen: list[Identity] = []
    rows: list[list[Fraction]] = []
    for identity in sorted(kept, key=order):
        row = [*map(Fraction, map(int, identity.column(names))), identity.constant]
        if len(reduced_rows([*rows, row])) > len(rows):
            rows.append(row)
            chosen.append(identity)
    return tuple(chosen)
