"""Random decoys: cells protected like primary ones, drawn by a keyed function, published unmarked.

An attacker who knows the algorithm but not the key cannot run it again, and so cannot exclude any
table that is consistent with the release (docs/decoys.md has theorem and proof).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from csp.decoys.key import Key
from csp.decoys.proportional_fitting import predicted
from csp.errors import InputError, subject
from csp.exact import Bools, Floats, Ints, Number, ceil_fraction, exact, number_text, read_fraction
from csp.formats.reading import as_object
from csp.tables.table import Table

_COIN, _NOISE = 64, 16
_RAREST = Fraction(1, 2**32)
_STEPS = 14
_SPAN, _HIGHEST, _FINE = 16, Fraction(1, 2), 24
_LARGEST_SUM = 2**52


@dataclass(frozen=True, slots=True)
class Decoys:
    """Defence of a mechanism whose algorithm is public.

    Attributes
    ----------
    rate : Number
        Probability that a cell which may be suppressed becomes a decoy, between 0 and 1 (neither,
        nor nearer to them than 2**-32: coins are drawn in steps of 2**-64); with `lean` their
        mean over those cells, but for rates that are cut to lie between ``rate / 16`` and one half.
    key : Key or bytes, optional
        The secret. Without one (None) this says what the public knows: enough to attack a release,
        not to make one.
    lean : int
        Whether coins favour cells predicted to be small from those that must be published: rates
        are proportional to ``(1 + prediction / width)**-lean``, and `rate` on average. A suppressed
        cell that is publicly expected to be large is unlikely to be primary; decoys where primary
        cells are likely hide more of them, and cost less. 0 means one rate for all cells, which is
        also what tables get in which no cell must be published.
    spread : Number
        The key also chooses among patterns of nearly the same cost: costs of secondary cells are
        multiplied by factors from 1 to ``1 + spread``, so that a proven optimum costs at most
        ``1 + spread`` times as much as the cheapest pattern for the same required cells.
    width : Number, optional
        Least width of the feasibility interval of every suppressed cell, as a number of the
        measure; by default that which the mechanism promises its primary cells.
    share : Number, optional
        In place of `width`, for tables whose cells differ by orders of magnitude: the interval of
        every suppressed cell is at least this share of its own upper end wide (and one unit).
    table : str
        Identity of the table. Tables of the same identity, and cells of the same label in them,
        have the same coins: publish anew under the same identity, and other statistics under
        others.

    Notes
    -----
    Coins depend on key, `table`, label and cells that must be published, never on values that may
    be suppressed, so that publishing again never averages them out, and no machine gives others.

    Examples
    --------
    >>> from csp import Decoys, Key, Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> decoys = Decoys(rate=0.1, key=Key(bytes(range(32))))
    >>> decoys
    Decoys(rate=0.1, key=Key(32 bytes))
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish", defence=decoys)
    >>> print(mechanism.protect(table).guarantee.claim)
    Every table that agrees with the published cells and the bounds could have been published so.
    """

    rate: Number
    key: Key | bytes | None = None
    lean: int = 4
    spread: Number = Fraction(1, 64)
    width: Number | None = None
    share: Number | None = None
    table: str = ""

    def __post_init__(self) -> None:
        if self.key is not None and not isinstance(self.key, Key):
            object.__setattr__(self, "key", Key(self.key))
        for name in ("rate", "spread", "width", "share"):
            if getattr(self, name) is not None or name in ("rate", "spread"):
                _check_number(name, getattr(self, name))
        if not _RAREST <= exact(self.rate) <= 1 - _RAREST:
            msg = (
                "rate must be above 0 and below 1, by at least 2**-32, got "
                f"{number_text(self.rate)}; 0.1 makes one cell in ten a decoy"
            )
            raise InputError(msg)
        if not isinstance(self.lean, int) or not 0 <= self.lean <= 20:
            msg = (
                f"lean must be a whole number from 0 to 20, got {self.lean!r}; 0 means one rate "
                "for all"
            )
            raise InputError(msg)
        if not 0 <= exact(self.spread) <= 100:
            shown = number_text(self.spread)
            msg = (
                f"{subject('spread')} must be from 0 to 100, got {shown}; 0.05 allows 5 percent "
                "more cost"
            )
            raise InputError(msg)
        if self.width is not None and self.share is not None:
            msg = "width and share exclude each other; give one of them"
            raise InputError(msg)
        if self.width is not None and exact(self.width) <= 0:
            msg = f"width must be above 0, got {number_text(self.width)}; decoys need room to move"
            raise InputError(msg)
        if self.share is not None and not 0 < exact(self.share) <= 1:
            shown = number_text(self.share)
            msg = f"share must be above 0 and at most 1, got {shown}; 0.2 means 20 percent"
            raise InputError(msg)
        if not isinstance(self.table, str):
            # Not quoted, nor is what is not a number: it may be a key in the wrong place.
            kind = type(self.table).__name__
            msg = f"table must be a text such as 'turnover 2026', got a {kind}"
            raise InputError(msg)

    def __repr__(self) -> str:
        shown = [f"rate={number_text(self.rate)}"]
        shown += [] if self.key is None else [f"key={self.key!r}"]
        for name in ("lean", "spread", "width", "share", "table"):
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                shown.append(f"{name}={value if isinstance(value, str) else number_text(value)!r}")
        return f"Decoys({', '.join(shown)})"

    @property
    def exact_rate(self) -> Fraction:
        """The rate as an exact number."""
        return exact(self.rate)

    @property
    def public(self) -> Decoys:
        """What may be public: the same without the key."""
        return replace(self, key=None)

    def rates(self, table: Table, fixed: Bools | None = None, width: int = 1) -> Floats:
        """Rate of every cell, (n,) float64; it depends on nothing that a release hides.

        Parameters
        ----------
        table : Table
            Values of cells that are not fixed are not read.
        fixed : (n,) bool, optional
            Cells that must be published (status z); none by default.
        width : int
            In units, for `lean`.
        """
        rate = exact(self.rate)
        even = np.full(table.n_cells, float(rate))
        if not self.lean or self.share is not None or fixed is None or not fixed.any():
            return even
        others = np.flatnonzero(~fixed).tolist()
        guess = predicted(table, fixed).tolist()
        weights = [_weight(max(guess[i], 0.0) / width, self.lean) for i in others]
        mean = math.fsum(weights) / max(len(weights), 1)
        least, most = rate / _SPAN, max(rate, _HIGHEST)
        for i, weight in zip(others, weights, strict=True):
            # In steps, so that the last bits of a float decide nothing.
            steps = Fraction(math.floor(float(rate) * weight / mean * 2**_FINE), 2**_FINE)
            even[i] = float(min(most, max(least, steps)))
        return even

    def coins(self, table: Table, fixed: Bools | None = None, width: int = 1) -> Bools:
        """Cells whose coin makes them decoys, (n,) bool; whether they may be is not asked.

        Parameters
        ----------
        table, fixed, width
            See `rates`.

        Raises
        ------
        InputError
            If there is no key.
        """
        rates = self.rates(table, fixed, width).tolist()
        drawn = [int.from_bytes(d[:8], "big") for d in self._draws(table)]
        below = [math.floor(Fraction(rate) * 2**_COIN) for rate in rates]
        return np.array([d < b for d, b in zip(drawn, below, strict=True)], dtype=bool)

    def costs(self, table: Table, cost: Ints) -> Ints:
        """Costs with the key's factors, (n,) int64, in steps of ``2**-14`` or coarser.

        Raises
        ------
        InputError
            If there is no key.
        """
        spread = exact(self.spread)
        largest = max(1, ceil_fraction(sum(cost.tolist()) * (1 + spread)))
        steps = 2 ** max(0, min(_STEPS, (_LARGEST_SUM // largest).bit_length() - 1))
        pairs = zip(cost.tolist(), self._draws(table), strict=True)
        whole = 2**_NOISE * spread.denominator
        return np.array(
            [
                c * steps + c * steps * spread.numerator * int.from_bytes(d[8:10], "big") // whole
                for c, d in pairs
            ],
            dtype=np.int64,
        )

    def _draws(self, table: Table) -> list[bytes]:
        if not isinstance(self.key, Key):
            msg = (
                "these decoys have no key, as the public knows them; to protect a table, give "
                "Decoys(rate, key=Key.read(path))"
            )
            raise InputError(msg)
        return [self.key.draw(("decoys 1", self.table, *words)) for words in _identities(table)]

    def to_dict(self) -> dict[str, Any]:
        """Return what the public knows as plain data; never the key."""

        def text(number: Number | None) -> str | None:
            return None if number is None else number_text(number)

        return {
            "kind": "decoys",
            "rate": text(self.rate),
            "lean": self.lean,
            "spread": text(self.spread),
            "width": text(self.width),
            "share": text(self.share),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decoys:
        """Public part of a defence from plain data as `to_dict` gives it.

        Raises
        ------
        InputError
            If a key of the data is unknown, or a value is not of the type that `to_dict` gives.
        """
        keys = dict.fromkeys(("kind", "rate", "lean", "spread", "width", "share"), False)
        given = as_object(data, keys | {"kind": True, "rate": True}, "a defence")
        if given.pop("kind") != "decoys":
            msg = "the key 'kind' of a defence must be 'decoys'"
            raise InputError(msg)
        if type(given.get("lean", 0)) is not int:
            msg = "the key 'lean' of a defence must be a whole number"
            raise InputError(msg)
        for key in ("rate", "spread", "width", "share"):
            if given.get(key) is None:
                given.pop(key, None)
            else:
                given[key] = number_of(given[key], key)
        if "rate" not in given:
            msg = "the key 'rate' of a defence must be a number"
            raise InputError(msg)
        return cls(**given)


def _weight(size: float, lean: int) -> float:
    """``(1 + size)**-lean`` by divisions, which every machine rounds alike."""
    weight = 1.0
    for _ in range(lean):
        weight /= 1 + size
    return weight


def _check_number(name: str, value: Any) -> None:
    try:
        exact(value)
    except InputError:
        msg = (
            f"{name} is not a finite number (its type is {type(value).__name__}); "
            "give one such as 0.1"
        )
        raise InputError(msg) from None


def number_of(value: Any, key: str) -> Number:
    """Exact number of plain data: a number, or its text.

    Raises
    ------
    InputError
        If it is anything else; the key is named.
    """
    if type(value) not in (int, float, str):
        msg = f"the key {key!r} must be a number or its text, not of type {type(value).__name__}"
        raise InputError(msg)
    try:
        number = read_fraction(value) if isinstance(value, str) else exact(value)
    except InputError as error:
        msg = f"the key {key!r}: {error}"
        raise InputError(msg) from error
    return int(number) if number.denominator == 1 else number


def _identities(table: Table) -> list[tuple[str, ...]]:
    """Words that name each cell: its dimensions and codes but for totals, in the order of names.

    Cells that `csp.link` takes for the same have the same words.
    """
    order = sorted(range(len(table.names)), key=lambda d: table.names[d])
    names, roots = table.names, table.roots
    return [
        tuple(
            word
            for d in order
            if not roots[d] or label[d] != roots[d]
            for word in (names[d], label[d])
        )
        for label in table.labels
    ]
