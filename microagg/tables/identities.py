"""Linear identities between attributes: what lets a reader subtract one cell from another.

If every record obeys ``PTOTVAL = PEARNVAL + POTHVAL``, so does every cluster, and a suppressed
cell of one attribute follows from the two others. Such identities are relations of the table.
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

from csp.errors import InputError
from csp.exact import Number, exact, number_text
from microagg.records import Records

__all__ = ["Identity", "stated_identities"]


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

    def off(self, records: Records) -> NDArray[np.bool_]:
        """Tell which records do not obey it, shape (n,)."""
        return np.asarray(np.abs(self._residual(records)) > self.tolerance * 10**records.scale)

    def rounded(self, scale: int) -> Identity:
        """Return the same with the tolerance that rounding to 10**-scale explains.

        Each attribute is off by at most half a unit, so a whole number of units is left.
        """
        units = sum(abs(c) for _, c in self.terms) // 2
        return replace(self, tolerance=Fraction(units, 10**scale))

    def column(self, names: Sequence[str]) -> NDArray[np.int64]:
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
            more = ", ..." if off.sum() > 5 else ""
            msg = (
                f"identity {identity} fails in {int(off.sum())} of {records.n} records (rows "
                f"{rows}{more}); correct them, leave it out, or allow exceptions with share="
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
