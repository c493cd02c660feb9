"""Sums that hold in a table beyond those by which it was read.

Offices break one total down twice, by sex and by age beside each other, or print changes between
two years: a reader of the table adds there as well. So what holds is looked for in all lines in
which every cell is known: a code that is the sum of a run of others, or of two, and two runs with
the same sum; what can hardly be chance is taken. In tables of true values taking a chance for a
rule does no harm to safety, since an attacker who knows more finds more. In published ones it could
call a cell known that is not, so that less is left to chance there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, vstack

from csp.exact import Bools, Ints
from csp.published.cells import Published, unbound_notes
from csp.sparse import rows_of
from csp.tables.codes import Labels

_MOST = 150
"""Codes of a dimension up to which runs and pairs are compared."""

_CHANCES, _PUBLISHED = 20.0, 1000.0
"""A sum is believed where fewer than one in so many tables would have it by chance: of true values,
and published."""

_CELLS = 2_000_000
"""Size of tables up to which sums are looked for."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Codes of a dimension, some of which add up to the others in all lines.

    Attributes
    ----------
    dimension : int
    whole, parts : tuple of int
        Codes on either side, by their places in the categories.
    """

    dimension: int
    whole: tuple[int, ...]
    parts: tuple[int, ...]

    def text(self, codes: Sequence[str]) -> str:
        """Equation in codes."""
        return " = ".join(" + ".join(codes[c] for c in side) for side in (self.whole, self.parts))


def with_breakdowns(found: Published) -> Published:
    """Add the sums that hold wherever all is published, if no figure is rounded."""
    if found.ranged.any() or not found.hidden.any():
        return found
    whole = abs(found.relations) @ found.hidden.astype(np.int64) == 0
    if ((found.relations @ found.values)[whole] != 0).any():
        return found  # a table that was misread, or does not add up, is named as such
    labels = Labels.of(found.labels)
    further = breakdowns(found.values, labels, found.relations, ~found.hidden)
    if not further:
        return found
    relations = vstack([found.relations, rows_of_breakdowns(further, labels)], format="csr")
    sums = "; ".join(one.text(labels.categories[one.dimension]) for one in further)
    note = f"wherever all is published {sums}: such sums are taken to hold"
    dimensions = [*enumerate(found.names)]
    lone = [n for d, n in dimensions if len(_known(labels, found.relations, d)) == 1]
    bound = {found.names[one.dimension] for one in further}
    before = unbound_notes(found.names, lone)
    # What was said to bind nothing does, by these sums.
    notes = [said for said in found.notes if said not in before]
    notes = [said for said in notes if not any(
        said.startswith(f"{name}: ") and "is the sum of all others" in said for name in bound
    )]  # fmt: skip
    notes += unbound_notes(found.names, [name for name in lone if name not in bound])
    return replace(found, relations=relations, notes=(*notes, note))


def breakdowns(
    values: Ints, labels: Labels, relations: csr_array, known: Bools | None = None,
) -> tuple[Breakdown, ...]:  # fmt: skip
    """Find sums along each dimension that hold in all lines and do not follow from the others.

    Parameters
    ----------
    values : (n,) int64
    labels : Labels
        Of all combinations of the codes; nothing is found in other tables.
    relations : (m, n) csr_array
        Those that are known.
    known : (n,) bool, optional
        Published cells; all by default.
    """
    shape = tuple(len(codes) for codes in labels.categories)
    if len(values) != math.prod(shape) or len(values) > _CELLS:
        return ()
    cube, shown = np.zeros(shape, np.int64), np.ones(shape, bool)
    cube[tuple(labels.codes.T)] = values
    shown[tuple(labels.codes.T)] = True if known is None else known
    least = _CHANCES if known is None else _PUBLISHED
    found: list[Breakdown] = []
    for d, size in enumerate(shape):
        if 3 <= size <= _MOST:
            lines = np.moveaxis(cube, d, -1).reshape(-1, size)
            lines = lines[np.moveaxis(shown, d, -1).reshape(-1, size).all(axis=1)]
            if len(lines):
                found += _along(d, lines, _known(labels, relations, d), least)
    return tuple(found)


def rows_of_breakdowns(found: Sequence[Breakdown], labels: Labels) -> csr_array:
    """Relations (m, n) of the sums, one for each line."""
    shape = tuple(len(codes) for codes in labels.categories)
    place = np.zeros(shape, np.int64)
    place[tuple(labels.codes.T)] = np.arange(len(labels.codes))
    rows, columns, signs = [], [], []
    count = 0
    for one in found:
        lines = np.moveaxis(place, one.dimension, -1).reshape(-1, shape[one.dimension])
        for side, sign in ((one.whole, -1), (one.parts, 1)):
            for code in side:
                rows.append(count + np.arange(len(lines)))
                columns.append(lines[:, code])
                signs.append(np.full(len(lines), sign, np.int64))
        count += len(lines)
    none = np.zeros(0, np.int64)
    entries = np.concatenate([none, *signs])
    at = (np.concatenate([none, *rows]), np.concatenate([none, *columns]))
    return csr_array((entries, at), shape=(count, len(labels.codes)))


def _known(labels: Labels, relations: csr_array, d: int) -> Ints:
    """Return the sums along a dimension that are known, as rows over its codes."""
    codes, size = labels.codes[:, d], len(labels.categories[d])
    rows = {(0,) * size}
    for cells, signs in rows_of(relations):
        held = codes[cells]
        if len(set(held.tolist())) == len(held) > 1:
            row = np.zeros(size, np.int64)
            row[held] = signs
            rows.add(tuple(row.tolist()))
    return np.array(sorted(rows), np.int64)


def _surprise(lines: Ints, sums: Ints) -> float:
    """How unlikely it is, as a logarithm, that sums agree by chance; 0 for but one line of its own.

    Totals of other dimensions agree if their parts do: independent lines count.
    """
    own: list[int] = []
    for i in np.argsort(-np.abs(sums), kind="stable").tolist():
        if np.linalg.matrix_rank(lines[[*own, i]].astype(np.float64)) > len(own):
            own.append(i)
        if len(own) == lines.shape[1] - 1:
            break
    if len(own) < 2:
        return 0.0
    return float(np.log1p(np.abs(sums[own]).astype(np.float64)).sum())


def _along(d: int, lines: Ints, known: Ints, least: float) -> list[Breakdown]:
    """Find sums along one dimension; lines by codes."""
    size = lines.shape[1]
    tops = np.flatnonzero((known < 0).any(axis=0)).tolist()
    able = [c for c in range(size) if lines[:, c].any()]
    if not able:
        return []
    below = [c for c in able if c not in tops]
    sides: set[tuple[int, ...]] = {(c,) for c in able}
    sides |= set(combinations(able, 2))
    runs = {
        tuple(order[i:j]) for order in (able, below)
        for i in range(len(order)) for j in range(i + 2, len(order) + 1)
    }  # fmt: skip
    sides |= runs
    # Sums are compared by their products with random numbers first; these may overflow.
    random = np.random.default_rng(len(lines)).integers(1, 2**62, len(lines))
    marks = (lines * random[:, None]).sum(axis=0)
    same: dict[int, list[tuple[int, ...]]] = {}
    for side in sides:
        same.setdefault(int(marks[list(side)].sum()), []).append(side)
    pairs = [
        (one, other) for group in same.values() for one, other in combinations(sorted(group), 2)
        if not {*one} & {*other} and len(one) + len(other) > 2
    ]  # fmt: skip
    # A code that is 0 everywhere adds nothing: what follows with it follows without it.
    empty = np.eye(size, dtype=np.int64)[~lines.any(axis=0)]
    rows, found = [*known, *empty], list[Breakdown]()
    rank = int(np.linalg.matrix_rank(np.array(rows)))
    for one, other in sorted(pairs, key=lambda pair: (len(pair[0]) + len(pair[1]), pair)):
        whole, parts = (one, other) if len(one) <= len(other) else (other, one)
        sums = lines[:, list(whole)].sum(axis=1)
        if (sums != lines[:, list(parts)].sum(axis=1)).any():
            continue
        # As many comparisons as this one stand for: a known total, any code, or any two sides.
        single = len(whole) == 1 and parts in runs
        wholes = len(tops) if single and whole[0] in tops else len(able)
        chances = len(runs) * wholes if single else len(sides) ** 2
        everything = least == _CHANCES and len(whole) == 1 and {*whole, *parts} >= {*able}
        surprise = _surprise(lines[:, [*whole, *parts]], sums)
        if not everything and surprise < math.log(least * chances):
            continue
        row = np.zeros(size, np.int64)
        row[list(whole)], row[list(parts)] = -1, 1
        if int(np.linalg.matrix_rank(np.array([*rows, row]))) > rank:
            rank += 1
            rows.append(row)
            found.append(Breakdown(d, whole, parts))
    return found
