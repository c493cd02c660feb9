"""Which cells a rule calls sensitive, and how uncertain they must stay: the formulas once more.

Written from the table of rules in the documentation, after Hundepool et al. (2012), chapter 4, and
Torra and Navarro-Arribas (2023), equations 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from csp.audits.second_reading.meaning import Cell, Label, Reading
from csp.errors import InputError

_WORD = re.compile(r"\s*([A-Za-z]+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, slots=True)
class Need:
    """How uncertain a sensitive cell must stay, in units.

    Attributes
    ----------
    down, up, width : int
        How far below and above its value its interval reaches at least, and how wide it is.
    rule : str
        The rule that asks for it.
    """

    down: int
    up: int
    width: int
    rule: str


@dataclass(frozen=True, slots=True)
class _Word:
    """One rule: its name, its numbers in order, and those with names."""

    name: str
    numbers: tuple[Fraction, ...]
    named: Mapping[str, Fraction]
    text: str


def _words(rules: str) -> list[_Word]:
    found = []
    for text in rules.split("|"):
        match = _WORD.fullmatch(text)
        if match is None:
            msg = f"{text.strip()!r} is not a rule such as P(10,1) or FREQ(3,10)"
            raise InputError(msg)
        numbers, named = [], {}
        for part in filter(None, (p.strip() for p in match[2].split(","))):
            key, equals, number = part.rpartition("=")
            number = {"True": "1", "False": "0"}.get(number.strip(), number)
            try:
                amount = Fraction(number.strip().removesuffix("%").strip())
            except ValueError as error:
                msg = f"{part!r} in {text.strip()!r} is not a number"
                raise InputError(msg) from error
            if equals:
                named[key.strip()] = amount
            else:
                numbers.append(amount)
        word = _Word(match[1].upper(), tuple(numbers), named, text.strip())
        # In τ-ARGUS's words P(0,0), NK(0,0) and FREQ(0,0) stand for no rule.
        if word.name not in ("ZERO", "MAN") and not any(numbers):
            continue
        found.append(word)
    return found


def needs(
    reading: Reading,
    labels: Iterable[Label],
    rules: str,
    *,
    width: str | int | Fraction | None = None,
    strict: bool = False,
    public: Collection[Label] = (),
    named: Collection[Label] = (),
    said: Mapping[Label, Mapping[str, tuple[str, ...]]] | None = None,
    bounds: Mapping[Label, tuple[int | None, int | None]],
) -> dict[Label, Need]:
    """Sensitive cells among some, and what they need.

    Parameters
    ----------
    reading : Reading
    labels : iterable of label
    rules : str
    width : number, optional
        Least width for all of them, as a number of the measure.
    strict : bool
        At least one unit more than `width`.
    public : collection of label
        Cells that are public whatever they show.
    named : collection of label
        Those that MAN speaks of.
    said : mapping of label to mapping of str to tuple of str, optional
        What is known of cells beforehand: s and p are not sensitive, u is, by MAN or the width
        if no rule says so, and pl has its levels.
    bounds : mapping of label to pair of int or None
        What anybody knows of each cell beforehand, in units.
    """
    words = _words(rules)
    unit = 10**reading.scale
    floor = 0 if width is None else ceil(Fraction(str(width)) * unit) + strict
    found: dict[Label, Need] = {}
    for label in labels:
        own = (said or {}).get(label, {})
        # A cell that is known to be empty hides nothing.
        if label in public or reading.empty(label) or "s" in own or "p" in own:
            continue
        cell = reading.cell(label)
        asked = [
            need
            for word in words
            if (need := _asked(word, cell, reading, named=label in named)) is not None
        ]
        if not asked and "u" in own:
            asked = [_margin(word, cell, reading, 0) for word in words if word.name == "MAN"]
            asked = asked or [Need(0, 0, 0, "what is known beforehand")]
        if not asked:
            continue
        down, up = max(n.down for n in asked), max(n.up for n in asked)
        if "pl" in own:
            down, up = (ceil(Fraction(level) * unit) for level in own["pl"])
        wide = max(floor, *(n.width for n in asked))
        low, high = bounds[label]
        if low is not None:
            down = max(0, min(down, cell.value - low))
        if high is not None:
            up = max(0, min(up, high - cell.value))
        if not (down or up or wide):
            wide = 1  # a sensitive cell is at least not known exactly
        found[label] = Need(down, up, wide, "|".join(n.rule for n in asked))
    return found


def _asked(word: _Word, cell: Cell, reading: Reading, *, named: bool) -> Need | None:
    """Return what a rule asks for a cell; None if it does not call it sensitive."""
    unit = 10**reading.scale
    match word.name:
        case "FREQ":
            return _frequency(word, cell, reading)
        case "MAN":
            return _margin(word, cell, reading, 0) if named else None
        case "ZERO":
            reported = reading.columns.respondents or cell.count != 0
            level = ceil(word.numbers[0] * unit)
            return Need(level, level, 0, word.text) if cell.value == 0 and reported else None
        case "P" | "PQ" | "NK":
            if not cell.sides and cell.count != 0:
                msg = f"{word.text} needs the largest contributions to each cell"
                raise InputError(msg)
            level = 0
            for side in cell.sides:
                short = _missing(word, side.total, side.top)
                if short > 0 and reading.columns.shadow is not None:
                    # The cell must stay as uncertain as the shadow, share for share.
                    short = max(Fraction(1), short * abs(cell.value) / side.total)
                level = max(level, ceil(short))
            return Need(level, level, 0, word.text) if level > 0 else None
        case _:
            msg = f"the second reading does not know the rule {word.text}"
            raise InputError(msg)


def _missing(word: _Word, total: int, top: tuple[int, ...]) -> Fraction:
    """By how much the contributions to a cell are too well known; 0 or less if they are not."""
    x = (*top, *([0] * 200))
    if word.name == "NK":
        n, k = int(word.numbers[0]), word.numbers[1]
        return Fraction(sum(x[:n]) * 100) / k - total
    p = word.numbers[0]
    q = word.numbers[1] if len(word.numbers) == 3 else Fraction(100)
    n = int(word.numbers[-1]) if len(word.numbers) > 1 else 1
    rest = total - x[0] - sum(x[1 : n + 1])
    return Fraction(p) / q * x[0] - rest


def _frequency(word: _Word, cell: Cell, reading: Reading) -> Need | None:
    """Fewer than n respondents; weights do not make one into many."""
    n = int(word.numbers[0])
    count = cell.stands_for if word.named.get("weighted") and cell.stands_for else cell.count
    if count is None:
        msg = f"{word.text} needs the number of contributors to each cell"
        raise InputError(msg)
    if not (0 < count < n or (count == 0 and word.named.get("zero"))):
        return None
    return _margin(word, cell, reading, n if reading.columns.respondents else 0)


def _margin(word: _Word, cell: Cell, reading: Reading, n: int) -> Need:
    """Level of a rule that names a margin in percent, a width, or neither."""
    unit = 10**reading.scale
    at = 1 if word.name == "FREQ" else 0
    given = word.numbers[at] if len(word.numbers) > at else word.named.get("margin")
    level = 0
    if given is not None:
        level = max(1, ceil(abs(cell.value) * given / 100))
    wide = ceil(word.named["width"] * unit) if "width" in word.named else 0
    if given is None and "width" not in word.named:
        wide = n * unit  # beyond the sensitive range 0 to n - 1
    return Need(level, level, wide, word.text)
