"""What an outsider, and each contributor who is alone in a cell, can infer of sensitive cells.

`reread` begins at the records, decides which cells are sensitive, and follows their intervals under
what was published with a linear program (or one of whole numbers) of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import highspy
import numpy as np
from numpy.typing import NDArray

from csp.audits.second_reading.files import Statement
from csp.audits.second_reading.people import Columns, Label, Reading, read
from csp.audits.second_reading.rules import Need, needs
from csp.errors import InputError, SolverError

__all__ = ["Difference", "Exposure", "Published", "Rereading", "known_of", "reread"]

MOST_WHOLE = 60
"""Suppressed cells up to which the attacker's programs are solved in whole numbers."""

FAR = 1e6
"""Units that a cell moves at most in such programs: more than any level that they look for."""

_ENDLESS = 2**61
"""Bounds of a release from here on stand for none."""

_SLACK = 1e-6
"""Shares of a level (or of a unit) that a program in floats may miss."""


class Published(Protocol):
    """A published table as plain data; a `csp.Release` is one."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def roots(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def labels(self) -> Sequence[tuple[str, ...]]: ...  # noqa: D102
    @property
    def published(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def pattern(self) -> NDArray[np.bool_]: ...  # noqa: D102
    @property
    def lower(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def upper(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def scale(self) -> int: ...  # noqa: D102
    @property
    def structural(self) -> NDArray[np.bool_] | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell that the release and the records read differently.

    Attributes
    ----------
    label : tuple of str
    words, secret : str
        What differs; `secret` has the value of the records where `words` must not.
    """

    label: Label
    words: str
    secret: str


@dataclass(frozen=True, slots=True)
class Exposure:
    """A sensitive cell that is published, or known too well.

    Attributes
    ----------
    label : tuple of str
    attacker : str
        An outsider, or the only contributor of a cell.
    need : Need
    value : int
    down, up : float
        How far below and above its value the cell can be for this attacker, in units; both 0 where
        it is published, and no further than was needed.
    published : bool
    scale : int
        Decimal places of a unit.
    """

    label: Label
    attacker: str
    need: Need
    value: int
    down: float
    up: float
    published: bool
    scale: int

    def words(self, *, reveal: bool = False) -> str:
        """One sentence; numbers in it only with `reveal`."""
        how = (
            "is published"
            if self.published
            else f"keeps too narrow an interval for {self.attacker}"
        )
        text = f"cell ({', '.join(self.label)}) is sensitive by {self.need.rule} and {how}"
        if reveal:
            unit = 10**self.scale
            low, high = ((self.value + move) / unit for move in (-self.down, self.up))
            asked = f"{self.need.down / unit:.15g} down, {self.need.up / unit:.15g} up"
            text += f": value {self.value / unit:.15g} in [{low:.15g}, {high:.15g}], needed {asked}"
            text += f", width {self.need.width / unit:.15g}" if self.need.width else ""
        return text


@dataclass(frozen=True, slots=True)
class Rereading:
    """What the second reading of the records says of a release.

    Attributes
    ----------
    differences : tuple of Difference
    exposures : tuple of Exposure
    cells, attackers : int
        How many were compared and considered.
    notes : tuple of str
    """

    differences: tuple[Difference, ...]
    exposures: tuple[Exposure, ...]
    cells: int
    attackers: int
    notes: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether what is published is what the records give."""
        return not self.differences

    @property
    def safe(self) -> bool:
        """Whether every cell that is sensitive by this reading is protected."""
        return not self.exposures

    def lines(self, *, reveal: bool = False) -> list[str]:
        """Sentences about the result; values that must not be known only with `reveal`."""
        if self.agree and self.safe:
            return [f"Read twice, both agree: {self.cells} cells.", *self.notes]
        told = [d.secret if reveal else d.words for d in self.differences]
        told += [e.words(reveal=reveal) for e in self.exposures]
        return [
            f"The second reading differs: {told[0]}.",
            *(f"  {t}" for t in told[1:]),
            *self.notes,
        ]


@dataclass(frozen=True, slots=True)
class _Shown:
    """One cell as it was published; `value` is None where it was not."""

    value: Fraction | None
    empty: bool
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, slots=True)
class _Attacker:
    """Somebody with the cells that he knows, and those in which he takes part."""

    name: str
    knows: frozenset[Label]
    takes_part: frozenset[Label]


def reread(
    published: Published | Sequence[Published],
    records: Any,
    columns: Columns,
    rules: str,
    *,
    width: str | int | Fraction | None = None,
    strict: bool = False,
    margins: str = "suppress",
    singletons: bool | None = None,
    integer: bool | None = None,
    named: Collection[Sequence[str]] = (),
    apriori: Iterable[Statement] = (),
) -> Rereading:
    """Judge a release by a reading of the records that shares no code with the protection.

    Parameters
    ----------
    published : Published or sequence of Published
        One release, or those of several tables of `columns`, which are then read together.
    records : mapping of columns, or data frame
        As in the file; `rows_of` reads one.
    columns : Columns
    rules : str
        In τ-ARGUS's words: P(p,n), P(p,q,n), NK(n,k), FREQ(n,margin), ZERO(level), MAN(margin).
    width, strict, margins, singletons, integer
        As for `csp.Mechanism`.
    named : collection of label
        Cells that MAN speaks of, with the codes of all dimensions.
    apriori : iterable of (codes, word, numbers)
        What is known of single cells beforehand, from `statements_of`.

    Returns
    -------
    Rereading

    Raises
    ------
    InputError
        If the records cannot be read or contradict themselves, the release has other dimensions,
        or a rule is not known here.

    Notes
    -----
    Levels and attackers are those of Hundepool et al. (2012), chapter 4: every sensitive cell keeps
    its levels against an outsider, and against each contributor who is alone in a cell, but for
    cells in which that contributor takes part. Programs are solved in floats, and for whole
    numbers only up to `MOST_WHOLE` suppressed cells.
    """
    reading = read(records, columns)
    releases = list(published) if isinstance(published, Sequence) else [published]
    shown = _shown(releases, reading)
    labels = sorted({*reading.cells, *shown})
    sums = reading.sums(labels)
    _check_sums(reading, sums)
    bounds = {label: _bounds(reading, shown.get(label)) for label in labels}
    said = known_of(reading, apriori)
    sensitive = needs(
        reading, labels, rules, width=width, strict=strict, bounds=bounds,
        public={total for total, _ in sums} if margins == "publish" else (),
        named={tuple(map(str, label)) for label in named}, said=said,
    )  # fmt: skip
    hidden = [
        label for label in labels
        if (label not in shown or shown[label].value is None) and not reading.empty(label)
    ]  # fmt: skip
    whole = (columns.counts and columns.weight is None) if integer is None else integer
    notes = []
    if columns.rows == "records" and columns.contributor is None:
        notes.append("Each record counts as one contributor in both readings, since none is named.")
    if whole and len(hidden) > MOST_WHOLE:
        whole = False
        notes.append(
            f"An attacker who knows that cells are whole units was not considered: more than "
            f"{MOST_WHOLE} cells are suppressed."
        )
    known = not columns.counts and any(cell.count is not None for cell in reading.cells.values())
    attackers = [_Attacker("an outsider", frozenset(), frozenset())]
    if known if singletons is None else singletons:
        attackers += _alone(reading, labels, sums)
    system = _System.of(reading, hidden, sums, bounds, whole=whole)
    exposures = list(_exposures(system, reading, sensitive, attackers))
    # Beside a pattern that is unsafe, true values of other cells would disclose more.
    told = () if exposures else set(labels) - set(sensitive)
    differences = [
        *_differences(reading, shown, labels, told),
        *_disobeyed(said, shown, sensitive),
    ]
    return Rereading(
        tuple(differences), tuple(exposures), len(labels), len(attackers), tuple(notes)
    )


# ---- what was published --------------------------------------------------------------------------


def _shown(releases: Iterable[Published], reading: Reading) -> dict[Label, _Shown]:
    """Cells of all releases under the codes of all dimensions; one that any publishes is known."""
    names = reading.columns.names
    found: dict[Label, _Shown] = {}
    for one in releases:
        for name, root in zip(one.names, one.roots, strict=True):
            if name not in names or root != reading.columns.root(name):
                msg = f"the release has dimension {name!r} with total {root!r}; the records do not"
                raise InputError(msg)
        unit = 10**one.scale
        for i, codes in enumerate(one.labels):
            at = dict(zip(one.names, codes, strict=True))
            label = tuple(at.get(name, reading.columns.root(name)) for name in names)
            low, high = int(one.lower[i]), int(one.upper[i])
            value = None if one.pattern[i] else Fraction(int(one.published[i]), unit)
            earlier = found.get(label)
            if value is None and earlier is not None:
                value = earlier.value
            found[label] = _Shown(
                value,
                one.structural is not None and bool(one.structural[i]),
                None if low <= -_ENDLESS else Fraction(low, unit),
                None if high >= _ENDLESS else Fraction(high, unit),
            )
    return found


def _bounds(reading: Reading, shown: _Shown | None) -> tuple[int | None, int | None]:
    """Return what anybody knows of a cell beforehand: its sign, and what the release says."""
    unit = 10**reading.scale
    low = 0 if reading.columns.negative == "error" else None
    high = None
    if shown is not None and shown.low is not None:
        said = int(shown.low * unit)
        low = said if low is None else max(low, said)
    if shown is not None and shown.high is not None:
        high = int(shown.high * unit)
    return low, high


def _check_sums(reading: Reading, sums: Iterable[tuple[Label, tuple[Label, ...]]]) -> None:
    for total, parts in sums:
        if reading.cell(total).value != sum(reading.cell(part).value for part in parts):
            msg = f"cell ({', '.join(total)}) is not the sum of its parts in the records"
            raise InputError(msg)


def _differences(
    reading: Reading,
    shown: Mapping[Label, _Shown],
    labels: Iterable[Label],
    told: Collection[Label],
) -> Iterator[Difference]:
    """Compare cells; the words have the records' value of those that may be told."""
    unit = 10**reading.scale
    for label in labels:
        name = f"cell ({', '.join(label)})"
        value = Fraction(reading.cell(label).value, unit)
        own = f"{float(value):.15g}" if label in told else "another value"
        seen = shown.get(label)
        if seen is None:
            words = f"{name} has records, and the release has no such cell"
            yield Difference(label, words, words)
        elif any(
            code not in reading.codes[n]
            for n, code in zip(reading.columns.names, label, strict=True)
        ):
            words = f"{name} is in the release, and its codes are not in the records"
            yield Difference(label, words, words)
        elif seen.empty and reading.cell(label).count:
            words = f"{name} is published as known to be empty, and has contributors"
            yield Difference(label, words, words)
        elif seen.value is not None and seen.value != value:
            words = f"{name} is published as {float(seen.value):.15g}, and the records give"
            yield Difference(label, f"{words} {own}", f"{words} {float(value):.15g}")
        elif (seen.low is not None and value < seen.low) or (
            seen.high is not None and value > seen.high
        ):
            words = f"{name} lies outside what the release says is known of it"
            yield Difference(label, words, words)


def known_of(
    reading: Reading, statements: Iterable[Statement]
) -> dict[Label, dict[str, tuple[str, ...]]]:
    """Return what is said of each cell beforehand; a blank code is the total."""
    names, found = reading.columns.names, dict[Label, dict[str, tuple[str, ...]]]()
    for codes, word, numbers in statements:
        pairs = zip(names, codes, strict=True)
        label = tuple(code or reading.columns.root(name) for name, code in pairs)
        found.setdefault(label, {})[word] = numbers
    return found


def _disobeyed(
    said: Mapping[Label, Mapping[str, Any]],
    shown: Mapping[Label, _Shown],
    sensitive: Collection[Label],
) -> Iterator[Difference]:
    """Cells that are hidden though said to be public, or the other way round."""
    for label, own in said.items():
        if label not in shown:
            words = (
                f"cell ({', '.join(label)}) is named beforehand, and the release does not have it"
            )
            yield Difference(label, words, words)
            continue
        hidden = shown[label].value is None
        if (hidden and "p" in own) or (not hidden and "m" in own and label not in sensitive):
            how = "is suppressed" if hidden else "is published"
            words = f"cell ({', '.join(label)}) {how}, and the opposite was said beforehand"
            yield Difference(label, words, words)


# ---- contributors who are alone in a cell --------------------------------------------------------


def _alone(
    reading: Reading, labels: Sequence[Label], sums: Sequence[tuple[Label, tuple[Label, ...]]]
) -> list[_Attacker]:
    """Contributors who are alone somewhere, with what they know.

    Records say who it is. Of cells in rows it is known only that two of them with a filled
    cell in common belong to one contributor, and so do a total and its only filled part.
    """
    lone = [label for label in labels if reading.cell(label).count == 1]
    groups: dict[object, set[Label]] = {}
    takes_part: dict[object, set[Label]] = {}
    if reading.columns.rows == "records":
        for label in lone:
            groups.setdefault(reading.cell(label).people[0], set()).add(label)
        for who in groups:
            takes_part[who] = {
                label for label in labels
                if who in reading.cell(label).listed
                or any(reading.below(own, label) for own in groups[who])
            }  # fmt: skip
    else:
        left = list(lone)
        while left:
            part = _spread(reading, labels, sums, left[0])
            own = {label for label in lone if label in part}
            groups[left[0]], takes_part[left[0]] = own, part
            left = [label for label in left if label not in own]
    return [
        _Attacker(
            f"the only contributor of cell ({', '.join(min(own))})",
            frozenset(c for c in labels if any(reading.below(c, o) for o in own)),
            frozenset(takes_part[who]),
        )
        for who, own in groups.items()
    ]


def _spread(
    reading: Reading,
    labels: Sequence[Label],
    sums: Sequence[tuple[Label, tuple[Label, ...]]],
    start: Label,
) -> set[Label]:
    """Cells in which the only contributor of a cell is certain to take part."""

    def filled(label: Label) -> bool:
        cell = reading.cell(label)
        return bool(cell.count) if cell.count is not None else cell.value != 0

    part, before = {start}, 0
    while len(part) != before:
        before = len(part)
        part |= {c for c in labels if any(reading.below(p, c) for p in part)}
        for total, parts in sums:
            within = [p for p in parts if filled(p)]
            if total in part and (len(within) == 1 or reading.cell(total).count == 1):
                part.update(within)
    return part


# ---- how far cells can move ----------------------------------------------------------------------


class _System:
    """Deviations of suppressed cells that keep every published number, for one HiGHS model."""

    def __init__(
        self, labels: Sequence[Label], low: Any, high: Any, rows: Any, *, whole: bool
    ) -> None:
        self.at = {label: i for i, label in enumerate(labels)}
        if whole:  # the branch and bound of HiGHS may stop at 0 where whole columns have no bounds
            low = [max(end, -FAR) for end in low]
            high = [min(end, FAR) for end in high]
        self.low, self.high = low, high
        self.found: list[NDArray[np.float64]] = []
        self.model = highspy.Highs()
        self.model.setOptionValue("output_flag", False)  # noqa: FBT003
        self.model.setOptionValue("threads", 1)
        self.model.setOptionValue("mip_rel_gap", 0.0)
        n = len(labels)
        none = np.array([], dtype=np.int32)
        for i in range(n):
            self.model.addCol(0.0, low[i], high[i], 0, none, np.array([]))
            if whole:
                self.model.changeColIntegrality(i, highspy.HighsVarType.kInteger)
        for row in rows:
            cells = np.array(list(row), dtype=np.int32)
            numbers = np.array(list(row.values()), dtype=np.float64)
            self.model.addRow(0.0, 0.0, len(cells), cells, numbers)

    @classmethod
    def of(
        cls,
        reading: Reading,
        hidden: Sequence[Label],
        sums: Iterable[tuple[Label, tuple[Label, ...]]],
        bounds: Mapping[Label, tuple[int | None, int | None]],
        *,
        whole: bool,
    ) -> _System:
        """System of what is suppressed; cells that are published or empty do not move."""
        at = {label: i for i, label in enumerate(hidden)}
        rows = []
        for total, parts in sums:
            row = {at[part]: 1.0 for part in parts if part in at}
            if total in at:
                row[at[total]] = -1.0
            if row and row not in rows:
                rows.append(row)
        ends = [(reading.cell(label).value, *bounds[label]) for label in hidden]
        low = [-highspy.kHighsInf if lo is None else float(lo - v) for v, lo, _ in ends]
        high = [highspy.kHighsInf if hi is None else float(hi - v) for v, _, hi in ends]
        return cls(hidden, low, high, rows, whole=whole)

    def reach(self, cell: int, sign: int, most: int, fixed: Collection[int]) -> float:
        """How far a cell can move one way, up to `most`, while others are fixed."""
        model = self.model
        for i in fixed:
            model.changeColBounds(i, 0.0, 0.0)
        model.changeColBounds(cell, max(self.low[cell], -most), min(self.high[cell], most))
        model.changeColCost(cell, float(-sign))
        model.run()
        done = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
        moved = np.array(model.getSolution().col_value)
        model.changeColCost(cell, 0.0)
        for i in (cell, *fixed):
            model.changeColBounds(i, self.low[i], self.high[i])
        if not done:
            msg = "HiGHS found no optimum of a program of the second reading"
            raise SolverError(msg)
        self.found.append(moved)
        return float(sign * moved[cell])


def _exposures(
    system: _System,
    reading: Reading,
    sensitive: Mapping[Label, Need],
    attackers: Iterable[_Attacker],
) -> Iterator[Exposure]:
    """Sensitive cells that are published, or whose interval is too narrow for an attacker."""
    for attacker in attackers:
        fixed = sorted(system.at[label] for label in attacker.knows if label in system.at)
        outsider = not attacker.knows
        if not fixed and not outsider:
            continue  # knows what everybody knows
        for label, need in sensitive.items():
            if label not in system.at:
                if outsider:
                    yield _exposure(reading, label, need, attacker, 0.0, 0.0, published=True)
            elif label not in attacker.takes_part and label not in attacker.knows:
                down, up = _follow(system, system.at[label], need, fixed)
                if not _enough(need, down, up):
                    yield _exposure(reading, label, need, attacker, down, up, published=False)


def _exposure(
    reading: Reading, label: Label, need: Need, attacker: _Attacker, down: float, up: float,
    *, published: bool,
) -> Exposure:  # fmt: skip
    value = reading.cell(label).value
    return Exposure(label, attacker.name, need, value, down, up, published, reading.scale)


def _enough(need: Need, down: float, up: float) -> bool:
    pairs = ((down, need.down), (up, need.up), (down + up, need.width))
    return all(got >= wanted - _SLACK * max(1, wanted) for got, wanted in pairs)


def _follow(system: _System, cell: int, need: Need, fixed: Sequence[int]) -> tuple[float, float]:
    """How far a cell goes down and up; earlier solutions count where they keep what is fixed."""
    moves = [z[cell] for z in system.found if not len(fixed) or not np.abs(z[list(fixed)]).any()]
    down, up = max([0.0, *(-m for m in moves)]), max([0.0, *moves])
    if not _enough(need, down, up):
        down = system.reach(cell, -1, max(need.down, need.width), fixed)
        up = system.reach(cell, 1, max(need.up, need.width), fixed)
    return down, up
