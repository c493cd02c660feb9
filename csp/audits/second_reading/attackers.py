"""What an outsider, and each contributor who is alone in a cell, can infer of sensitive cells.

`reread` begins at the records, decides which cells are sensitive, and follows their intervals under
what was published with a linear program (or one of whole numbers) of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from csp.audits.second_reading.files import Statement
from csp.audits.second_reading.findings import Difference, Rereading
from csp.audits.second_reading.meaning import Columns, Label, Reading
from csp.audits.second_reading.people import read
from csp.audits.second_reading.programs import Attacker, System, exposures_of
from csp.audits.second_reading.rules import needs
from csp.errors import InputError
from csp.exact import Bools, Ints

MOST_WHOLE = 60
"""Suppressed cells up to which the attacker's programs are solved in whole numbers."""

_ENDLESS = 2**61
"""Bounds of a release from here on stand for none."""


class Published(Protocol):
    """A published table as plain data; a `csp.Release` is one."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def roots(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def labels(self) -> Sequence[tuple[str, ...]]: ...  # noqa: D102
    @property
    def published(self) -> Ints: ...  # noqa: D102
    @property
    def pattern(self) -> Bools: ...  # noqa: D102
    @property
    def lower(self) -> Ints: ...  # noqa: D102
    @property
    def upper(self) -> Ints: ...  # noqa: D102
    @property
    def scale(self) -> int: ...  # noqa: D102
    @property
    def structural(self) -> Bools | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class _Shown:
    """One cell as it was published; `value` is None where it was not."""

    value: Fraction | None
    empty: bool
    low: Fraction | None
    high: Fraction | None


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
    attackers = [Attacker("an outsider", frozenset(), frozenset())]
    if known if singletons is None else singletons:
        attackers += _alone(reading, labels, sums)
    system = System.of(reading, hidden, sums, bounds, whole=whole)
    exposures = list(exposures_of(system, reading, sensitive, attackers))
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
) -> list[Attacker]:
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
        Attacker(
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
