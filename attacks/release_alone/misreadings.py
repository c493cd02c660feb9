"""Why published figures seem to contradict each other: most often they were read wrongly.

A total among the categories, a category that is not in the table, or a column of codes or averages
makes sums fail in a way that shows: by the same part in every line, to the same side, or at one
code only. This is looked for before rounding is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from attacks.descriptions import cell_name
from attacks.release_alone.contradictions import Contradiction
from csp.exact import UNBOUNDED, Bools, Ints
from csp.release.release import Release
from csp.sparse import entries, row_of
from csp.tables.codes import Labels

_MEND = "give a hierarchy, or let totals be found"

_PARTS = 60
"""Parts of a total up to which two of them are tried at once."""

_MOST = 4
"""Readings that are named."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Which dimension each relation sums over, its total, and whether all of it is published."""

    over: Ints
    total: Ints
    whole: Bools

    @classmethod
    def of(cls, release: Release) -> _Sums:
        """Look at all relations; those that are not sums over one dimension have -1."""
        matrix = release.relations
        m = matrix.shape[0]
        row = np.repeat(np.arange(m), np.diff(matrix.indptr))
        negative = matrix.data < 0
        total = np.full(m, -1, np.int64)
        total[row[negative]] = matrix.indices[negative]
        codes = Labels.of(release.labels).codes
        differ = codes[matrix.indices] != codes[total[row]]
        over = np.full(m, -1, np.int64)
        plain = np.bincount(row[negative], minlength=m) == 1
        for d in range(codes.shape[1]):
            # A part differs from its total in this dimension alone.
            one = differ[:, d] & (differ.sum(axis=1) == 1)
            count = np.bincount(row[one], minlength=m)
            over[plain & (count > 0) & (count == np.diff(matrix.indptr) - 1)] = d
        known = ~release.pattern
        if release.ranged is not None:
            ends = (np.abs(release.lower) < UNBOUNDED) & (np.abs(release.upper) < UNBOUNDED)
            known |= release.ranged & ends
        hidden = (~known).astype(np.int64)
        return cls(over, total, (abs(matrix) @ hidden) == 0)


def support(release: Release) -> dict[str, int]:
    """Count the published sums that show how the codes of each dimension add up.

    Parameters
    ----------
    release : Release

    Returns
    -------
    dict of str to int
        Sums of which every cell is published, by the dimension that they go over; dimensions in
        which nothing adds up are left out.
    """
    found = _Sums.of(release)
    return {
        name: int((found.whole & (found.over == d)).sum())
        for d, name in enumerate(release.names)
        if (found.over == d).any()
    }


def misreadings(release: Release, wrong: Sequence[Contradiction]) -> tuple[str, ...]:
    """Find readings of a table under which its contradictions would not be there.

    Parameters
    ----------
    release : Release
    wrong : sequence of Contradiction

    Returns
    -------
    tuple of str
        Sentences, the clearest first; at most 4. Empty if the figures themselves look wrong.
    """
    sums = _Sums.of(release)
    alone = [one.rows[0] for one in wrong if len(one.rows) == 1 and sums.whole[one.rows[0]]]
    alone = [row for row in alone if sums.over[row] >= 0]
    codes = Labels.of(release.labels).codes
    groups = dict.fromkeys((int(sums.over[r]), int(codes[sums.total[r], sums.over[r]]))
                           for r in alone)  # fmt: skip
    said = [*_not_applicable(release, [row for one in wrong for row in one.rows])]
    said += _at_one_code(release, sums, alone)
    for over, code in groups:
        same = (sums.over == over) & sums.whole
        rows = np.flatnonzero(same)
        rows = rows[codes[sums.total[rows], over] == code]
        said += _group(release, sums, over, code, rows)
    alone = [row for one in wrong if len(one.rows) == 1 for row in one.rows]
    said += [] if said else _too_much(release, sums, [row for row in alone if sums.over[row] >= 0])
    return tuple(dict.fromkeys(said))[:_MOST]


def _middle(release: Release) -> Ints:
    """Return published figures, also of cells whose figure is rounded."""
    if release.ranged is None:
        return release.published
    middle = (release.lower + release.upper) // 2
    return np.where(release.pattern & release.ranged, middle, release.published)


def _group(release: Release, sums: _Sums, over: int, code: int, rows: Ints) -> Iterator[str]:
    """Yield readings under which all published sums into one code hold."""
    labels = Labels.of(release.labels)
    name, texts = release.names[over], labels.categories[over]
    values = _middle(release)
    lines: list[dict[int, int]] = []
    totals: list[int] = []
    for row in rows.tolist():
        cells = [c for c, _ in entries(release.relations, row) if c != sums.total[row]]
        lines.append({int(labels.codes[c, over]): int(values[c]) for c in cells})
        totals.append(int(values[sums.total[row]]))
    off = [sum(line.values()) - total for line, total in zip(lines, totals, strict=True)]
    parts = list(dict.fromkeys(part for line in lines for part in line))
    many = f"{len(lines)} {'sum' if len(lines) == 1 else 'sums'}"
    into = repr(texts[code])

    def explains(some: tuple[int, ...]) -> bool:
        return all(
            d == sum(line.get(p, 0) for p in some) for d, line in zip(off, lines, strict=True)
        )

    single = [p for p in parts if explains((p,))]
    for p in single[:1]:
        yield (
            f"{name}: without {texts[p]!r} the {many} into {into} would hold, so it may be a "
            f"total, a code or a part of another category; {_MEND}"
        )
    if single:
        return
    if len(parts) > 2 and all(d == total for d, total in zip(off, totals, strict=True)):
        yield (
            f"{name}: the parts of {into} add up to twice of it in the {many}, so that there are "
            f"totals among them; {_MEND}"
        )
        return
    if 2 < len(parts) <= _PARTS:
        pairs = ((p, q) for i, p in enumerate(parts) for q in parts[i + 1 :])
        pair = next((one for one in pairs if explains(one)), None)
        if pair is not None and len(lines) > 1:
            names = " and ".join(repr(texts[p]) for p in pair)
            yield (
                f"{name}: without {names} the {many} into {into} would hold, so they may be totals "
                f"or parts of other categories; {_MEND}"
            )
            return
    if len(lines) > 1 and all(d < 0 for d in off):
        yield (
            f"{name}: the parts of {into} add up to less in all of the {many}, so that a category "
            "may be missing from the table"
        )


def _too_much(release: Release, sums: _Sums, alone: Sequence[int]) -> Iterator[str]:
    """Yield codes whose parts are more than they are in every line, whatever is withheld."""
    labels = Labels.of(release.labels)
    low = np.where(release.pattern, release.lower, release.published)
    high = np.where(release.pattern, release.upper, release.published)
    groups = dict.fromkeys((int(sums.over[row]), int(labels.codes[sums.total[row], sums.over[row]]))
                           for row in alone)  # fmt: skip
    for over, code in groups:
        rows = np.flatnonzero(sums.over == over)
        totals = sums.total[rows]
        rows = rows[(labels.codes[totals, over] == code) & (high[totals] < UNBOUNDED)]
        if len(rows) < 2:
            continue
        lines = abs(release.relations[rows])
        unbounded = lines @ (low <= -UNBOUNDED).astype(np.int64) > 0
        least = lines @ np.maximum(low, -UNBOUNDED) - low[sums.total[rows]]
        if not unbounded.any() and (least > high[sums.total[rows]]).all():
            yield (
                f"{release.names[over]}: the published parts of {labels.categories[over][code]!r} "
                f"are more than it in all of its {len(rows)} sums, so that there may be totals "
                f"among them; {_MEND}"
            )


def _at_one_code(release: Release, sums: _Sums, alone: Sequence[int]) -> Iterator[str]:
    """Yield the code at which all sums fail, while others hold."""
    codes = Labels.of(release.labels).codes
    bad = {*alone}
    for d, name in enumerate(release.names):
        across = [row for row in alone if sums.over[row] != d]
        at = {int(codes[sums.total[row], d]) for row in across}
        if len(at) != 1 or len(across) != len(alone):
            continue
        code = at.pop()
        others = np.flatnonzero(sums.whole & (sums.over >= 0) & (sums.over != d))
        here = [row for row in others.tolist() if codes[sums.total[row], d] == code]
        gross = len(here) > 1 or all(map(partial(_is_gross, release), here))
        if len(here) < len(others) and bad.issuperset(here) and gross:
            text = Labels.of(release.labels).categories[d][code]
            yield (
                f"all sums that fail are at {name}={text}, and none at it holds, so it may hold "
                "codes, averages or percentages; leave it out"
            )


def _is_gross(release: Release, row: int) -> bool:
    """Whether a sum is off by so much that one wrong figure hardly explains it."""
    values = _middle(release)
    cells, signs = row_of(release.relations, row)
    terms = signs * values[cells]
    return bool(4 * abs(int(terms.sum())) >= int(np.abs(terms).max()))


def _not_applicable(release: Release, rows: Sequence[int]) -> Iterator[str]:
    """Yield cells that are counted as 0 for their sign, and stand in what contradicts itself."""
    if release.structural is None:
        return
    for row in rows:
        cells, _ = row_of(release.relations, row)
        for cell in cells[release.structural[cells]].tolist():
            yield (
                f"{cell_name(release, cell)} has a sign that stands for 0 where a number cannot "
                "exist; if it means that there is a number, say whose signs these are"
            )
