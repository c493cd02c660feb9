"""What stands in each row of a published table, by its entry and the flags beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, Bools, Ints, exact, most_text
from csp.published.entries import Convention, Entry, convention_of, read_entry, sign_of
from csp.published.marks import EVERY_OFFICE, Marks, Range, marks_of
from csp.published.told import Told
from csp.tables.units import MAX_DECIMALS


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What stands in the cells; rows with the same entry and flags are read once.

    Attributes
    ----------
    numbers, ends : list
        Of each kind of row; kinds are in the order of their first rows.
    which : (n,) int64
        Kind of each row.
    first : (kinds,) int64
        First row of each kind.
    hidden, classed, empty, unavailable : (n,) bool
    """

    numbers: list[Decimal | int | None]
    ends: list[tuple[Fraction | None, Fraction | None, bool, bool] | None]
    which: Ints
    first: Ints
    hidden: Bools
    classed: Bools
    empty: Bools
    unavailable: Bools

    @classmethod
    def of(
        cls, entries: Sequence[Any], flags: Mapping[str, Sequence[Any]], told: Told,
        notes: list[str],
    ) -> Rows:  # fmt: skip
        """Read entries and flags."""
        which, first = alike([entries, *flags.values()])
        count = np.bincount(which, minlength=len(first)).tolist()
        rows = first.tolist()
        texts = [sign_of(plain_item(entries[i])) for i in rows]
        numeric = {t for t, i in zip(texts, rows, strict=True) if not isinstance(entries[i], str)}
        flags = {name: [sign_of(column[i]) for i in rows] for name, column in flags.items()}
        distinct = dict.fromkeys(texts)
        try:
            printed = [t for t, i in zip(texts, rows, strict=True) if isinstance(entries[i], str)]
            convention = convention_of(printed, told.decimal)
        except InputError as error:
            said = str(error)
            unclear = next((t for t in distinct if t and repr(t) in said), None)
            where = "" if unclear is None else f"row {rows[texts.index(unclear)] + 1}: "
            msg = f"{where}{error.template}"
            raise InputError(msg) from error
        if convention.note:
            notes.append(convention.note)
        # Numbers that are not text have points, whatever the texts beside them have.
        read = {t: read_entry(t, Convention() if t in numeric else convention) for t in distinct}
        numbers = [None if not read[t].is_number else bool(read[t].low) for t in texts]
        kinds, meaning = _flagged(flags, numbers, count, told, notes)
        # What stands beside a flag that says why is not asked again.
        left = (
            "" if kind or read[text].is_number or read[text].ranged else text
            for text, kind in zip(texts, kinds, strict=True)
        )
        signs = _counted(left, count)
        named = told.named_ranges
        marks, said = marks_of(
            None if flags and meaning else told.marks, signs, withheld=told.withheld, ranges=named,
            legend=told.legend,
        )  # fmt: skip
        if said:
            notes.append(said)
        _notes_beside(read, notes)
        numbers_of, ends, states = cls._made(texts, kinds, read, marks, meaning, named)
        return cls(numbers_of, ends, which, first, *states[:, which])

    @classmethod
    def _made(
        cls, texts: list[str], kinds: list[str], read: Mapping[str, Entry], marks: Marks,
        flag_marks: Mapping[str, Marks], named: Mapping[str, Range],
    ) -> tuple[
        list[Decimal | int | None],
        list[tuple[Fraction | None, Fraction | None, bool, bool] | None],
        Bools,
    ]:  # fmt: skip
        """Numbers, ends, and what is hidden, classed, empty and unavailable, by kind of row."""
        n = len(texts)
        numbers: list[Decimal | int | None] = [None] * n
        ends: list[tuple[Fraction | None, Fraction | None, bool, bool] | None] = [None] * n
        states = np.zeros((4, n), bool)
        hidden, classed, empty, unavailable = states
        ranges = {k: v for one in flag_marks.values() for k, v in one.ranges.items()}
        ranges = {**ranges, **marks.ranges, **named}
        for i, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
            entry = read[text]
            sign = kind or text
            if kind.startswith("="):  # a flag that is a range
                word = kind[1:]
                low, high = ranges[word]
                ends[i] = Fraction(low), None if high is None else Fraction(high), False, False
                hidden[i] = True
            elif kind in ("withheld", "unknown"):
                hidden[i], unavailable[i] = True, kind == "unknown"
            elif kind in ("empty", "zero"):
                numbers[i], empty[i] = 0, kind == "empty"
            elif entry.is_number:
                numbers[i] = entry.low
            elif entry.ranged:
                ends[i] = (_exact(entry.low), _exact(entry.high), *entry.strict)
                hidden[i] = True
            else:
                meant = marks.meaning(sign) or EVERY_OFFICE.meaning(sign)
                if meant == "range":
                    low, high = marks.ranges[sign]
                    ends[i] = Fraction(low), None if high is None else Fraction(high), False, False
                    hidden[i] = True
                elif meant in ("empty", "zero"):
                    numbers[i], empty[i] = 0, meant == "empty"
                else:
                    hidden[i], unavailable[i] = True, meant == "unknown"
        classed[:] = [one is not None for one in ends]
        return numbers, ends, states

    def units(self, told: Told, least: int = 0) -> tuple[int, Ints]:
        """Decimal places that all numbers need, `least` at least, and the numbers in these units.

        Raises
        ------
        InputError
            If they need too many, or a number is too large (row named).
        """
        distinct = {number for number in self.numbers if number is not None}
        needed = [exact(told.tolerance), exact(told.rounded or 0)]
        needed += [end for one in set(self.ends) if one for end in one[:2] if end is not None]
        needed += [Fraction(number) for number in distinct]
        scale = max((_places(number) for number in needed), default=0)
        scale = max(scale, least)
        if scale > MAX_DECIMALS:
            msg = f"numbers have more than {MAX_DECIMALS} decimal places; round them"
            raise InputError(msg)
        made = {number: int(Fraction(number) * 10**scale) for number in distinct}
        for number, units in made.items():
            if abs(units) > MAX_VALUE:
                row = int(self.first[self.numbers.index(number)]) + 1
                msg = f"row {row}: the number is beyond {most_text(scale)}; use a larger unit"
                raise InputError(msg)
        values = [0 if number is None else made[number] for number in self.numbers]
        return scale, np.array(values, np.int64)[self.which]


def alike(columns: Sequence[Sequence[Any]]) -> tuple[Ints, Ints]:
    """Find rows that are alike, so that each kind is read once.

    Parameters
    ----------
    columns : sequence of sequence
        Of equal lengths; at least one.

    Returns
    -------
    which : (n,) int64
        Kind of each row.
    first : (kinds,) int64
        First row of each kind, ascending.
    """
    key = _numbered(columns[0])
    for column in columns[1:]:
        more = _numbered(column)
        # Numbers stay below n, so that their pairs fit into 64 bits.
        _, key = np.unique(key * (int(more.max(initial=0)) + 1) + more, return_inverse=True)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[which.ravel()], first[order].astype(np.int64)


def _numbered(column: Sequence[Any]) -> Ints:
    """Give equal items of one type equal numbers."""
    items = column.tolist() if isinstance(column, np.ndarray) else list(column)
    kinds = set(map(type, items))
    keys: list[Any] = items if kinds <= {str} or kinds <= {int} else list(
        zip(map(type, items), map(repr, items), strict=True)
    )  # fmt: skip
    place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.fromiter(map(place.__getitem__, keys), np.int64, len(keys))


def plain_item(item: Any) -> Any:
    """Return floats as the numbers that they show: 1234.0 is 1234."""
    if isinstance(item, (bool, np.bool_)):
        return str(item)
    if isinstance(item, (float, np.floating)) and item == item:
        return str(int(item)) if float(item).is_integer() else repr(float(item))
    return item


def _exact(number: Decimal | None) -> Fraction | None:
    return None if number is None else Fraction(number)


def _places(number: Fraction) -> int:
    scale = 0
    while (number * 10**scale).denominator != 1:
        scale += 1
        if scale > MAX_DECIMALS:
            break
    return scale


def _counted(signs: Iterable[str], often: Sequence[int]) -> dict[str, int]:
    """Count the signs of kinds of rows, each as often as it occurs; the most frequent first."""
    found: Counter[str] = Counter()
    for sign, times in zip(signs, often, strict=True):
        if sign:
            found[sign] += times
    return dict(found.most_common())


def _flagged(
    flags: Mapping[str, Sequence[str]],
    numbers: Sequence[bool | None],
    often: Sequence[int],
    told: Told,
    notes: list[str],
) -> tuple[list[str], dict[str, Marks]]:
    """Say of each row what its flags mean: "withheld", ..., "=A" for a range, "" for nothing."""
    kinds = [""] * len(numbers)
    chosen: dict[str, Marks] = {}
    for name, signs in flags.items():
        plain = name.casefold()
        preset: str | Marks | None = told.marks
        if plain in ("obs_status", "conf_status") and (
            preset in (None, "sdmx", "eurostat") or len(flags) > 1
        ):
            preset = "sdmx" if plain == "obs_status" else "eurostat"
        if plain == "status" and _are_own(signs, numbers):
            preset = "cellveil"  # whosever signs stand among the values
        count = _counted(signs, often)
        ranges = told.named_ranges
        try:
            marks, said = marks_of(
                preset, count, withheld=told.withheld, ranges=ranges, flags=True, legend=told.legend
            )
        except InputError:
            if preset is not None:
                raise
            seen = _by_what_stands_beside(signs, numbers)
            if seen is None:
                raise
            marks, said = (
                seen.also(told.withheld, ranges),
                (
                    "flags beside a number say nothing of secrecy, those beside none that the cell "
                    "is withheld"
                ),
            )
        chosen[name] = marks
        if said:
            notes.append(f"column {name!r}: {said}")
        meanings = {sign: marks.meaning(sign) or EVERY_OFFICE.meaning(sign) for sign in count}
        for i, sign in enumerate(signs):
            meant = meanings.get(sign, "")
            # A number other than 0 that stands there is published: the flag is of its quality.
            if meant in ("unknown", "range") and numbers[i]:
                continue
            if meant in ("withheld", "unknown", "empty", "zero"):
                kinds[i] = kinds[i] or meant
            elif meant == "range":
                kinds[i] = f"={sign}"
    return kinds, chosen


def _are_own(signs: Sequence[str], numbers: Sequence[bool | None]) -> bool:
    """Whether flags are those of this program: s and z beside numbers, x and u beside none."""
    found = {(sign, number is not None) for sign, number in zip(signs, numbers, strict=True)}
    return ("s", True) in found and found <= {("s", True), ("z", True), ("x", False), ("u", False)}


def _by_what_stands_beside(signs: Sequence[str], numbers: Sequence[bool | None]) -> Marks | None:
    """Read flags by whether a number stands beside them; None if one stands beside both, or 0."""
    beside: dict[str, set[bool | None]] = {}
    for sign, number in zip(signs, numbers, strict=True):
        if sign:
            beside.setdefault(sign, set()).add(number)
    if any(kinds not in ({None}, {True}, {True, False}) for kinds in beside.values()):
        return None
    blank = frozenset(sign for sign, kinds in beside.items() if kinds == {None})
    return Marks("", blank, beside=frozenset(beside) - blank)


def _notes_beside(read: Mapping[str, Entry], notes: list[str]) -> None:
    beside = sorted({entry.note for entry in read.values() if entry.note})
    if beside:
        shown = ", ".join(map(repr, beside[:5]))
        notes.append(f"signs behind numbers are left out: {shown}")
