"""Sums of suppressed cells that a release discloses.

Two suppressed cells below a published total publish their sum; differences of relations publish
others. Where such a sum is sensitive itself, suppressing its cells has protected none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from attacks.descriptions import cell_name, position
from attacks.fibre.kernel_basis import kernel, with_pairs
from attacks.release_alone.bound_proofs import Proof, ends
from attacks.release_alone.disclosed_cells import combination, determined, mixed
from attacks.release_alone.insider_knowledge import interval
from csp.attacker.view import components
from csp.clock import Clock
from csp.errors import InputError, OutOfTime
from csp.exact import UNBOUNDED
from csp.release.completion import complete
from csp.release.release import Release
from csp.rules import Rule, union_sensitive
from csp.rules.base import as_rule
from csp.sparse import entries
from csp.tables.table import Table

Form = dict[int, int]
Found = dict[tuple[int, ...], tuple[str, Proof | None]]
"""Sums by their cells, and of each its source and proof."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sum:
    """A sum of suppressed cells, and what is known of it.

    Attributes
    ----------
    cells : tuple of int
    source : {"relation", "pair", "lattice", "given"}
        One relation, two of them, a short vector of the lattice of all of them, or the caller.
    lower, upper : Fraction or None
        Ends of its interval, in units; equal if it is disclosed.
    proof : Proof or None
        For disclosed ones from relations: the combination of relations that equals the sum.
    minimal : bool
        It is disclosed and no other sum found consists of some of its cells only.
    sensitive : bool or None
        Whether the rule calls the sum sensitive; None if it is not disclosed or no rule was given.
    """

    cells: tuple[int, ...]
    source: str
    lower: Fraction | None
    upper: Fraction | None
    proof: Proof | None
    minimal: bool
    sensitive: bool | None

    @property
    def disclosed(self) -> bool:
        """Whether every outsider knows its value."""
        return self.lower is not None and self.lower == self.upper

    def __repr__(self) -> str:
        words = ["disclosed" if self.disclosed else "bounded", self.source]
        words += ["sensitive"] if self.sensitive else []
        return f"Sum({len(self.cells)} cells: {', '.join(words)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sums:
    """Sums that a release discloses.

    Attributes
    ----------
    release : Release
        The one that was attacked, with cells that are known by themselves taken for published.
    sums : tuple of Sum
        Fewest cells first.
    complete : bool
        Whether short vectors of the lattice were looked for in every part of the pattern; larger
        parts than asked for are left out, and so is what the time limit cut off. Even if so,
        there may be other sums, of more relations.
    """

    release: Release
    sums: tuple[Sum, ...]
    complete: bool

    def __repr__(self) -> str:
        sensitive = sum(bool(s.sensitive) for s in self.sums)
        known = sum(s.disclosed for s in self.sums)
        return f"Sums({len(self.sums)} sums, {known} disclosed, {sensitive} sensitive)"

    def __iter__(self) -> Iterator[Sum]:
        return iter(self.sums)

    def __len__(self) -> int:
        return len(self.sums)


def with_sum(release: Release, cells: Sequence[int | Sequence[str]]) -> Release:
    """Release with one more suppressed cell, the sum of some: attacks and `explain` take it.

    Parameters
    ----------
    release : Release
    cells : sequence of int or labels
        Different suppressed cells, at least one.

    Returns
    -------
    Release
        The sum is its last cell.

    Raises
    ------
    InputError
        If there is no cell, one occurs twice, or one is published.
    """
    from scipy.sparse import csr_array, vstack

    chosen = [position(release, cell) for cell in cells]
    if not chosen or len(set(chosen)) < len(chosen):
        msg = f"a sum needs different cells, at least one; got {len(chosen)}"
        raise InputError(msg)
    for i in chosen:
        if not release.pattern[i]:
            msg = f"cell {cell_name(release, i)} is published; sums are of suppressed cells"
            raise InputError(msg)
    n, m = len(release.pattern), release.relations.shape[0]
    old = release.relations
    wider = csr_array((old.data, old.indices, old.indptr), shape=(m, n + 1))
    row = csr_array(
        (np.array([1] * len(chosen) + [-1]), (np.zeros(len(chosen) + 1, int), [*chosen, n])),
        shape=(1, n + 1),
    )
    name = f"sum of {len(chosen)} cells"
    while any(label[:1] == (name,) for label in release.labels):
        name += "'"
    return replace(
        release,
        published=np.append(release.published, 0),
        pattern=np.append(release.pattern, True),
        relations=csr_array(vstack([wider, row], format="csr")),
        lower=np.append(release.lower, -UNBOUNDED),
        upper=np.append(release.upper, UNBOUNDED),
        labels=(*release.labels, (name, *[""] * (len(release.names) - 1))),
        structural=None if release.structural is None else np.append(release.structural, False),
    )


def disclosed_sums(
    release: Release,
    rule: Rule | str | Callable[[Table], Any] | None = None,
    *,
    table: Table | None = None,
    given: Iterable[Sequence[int | Sequence[str]]] = (),
    lattice: int = 40,
    integer: bool = True,
    time_limit: float | None = None,
) -> Sums:
    """Find sums of suppressed cells that relations, alone or combined, disclose.

    Parameters
    ----------
    release : Release
    rule : Rule, str or callable, optional
        Judges each disclosed sum as if it were a cell (`csp.rules.union_sensitive`). A release of
        counts needs nothing more; rules that look at contributors need the table.
    table : Table, optional
        The table behind the release, for the owner of the data who wants its rule applied.
    given : iterable of sequences of cells, optional
        Further sums, of suppressed cells, whose intervals are wanted.
    lattice : int
        Number of cells up to which a part of the pattern is searched for short vectors of the
        lattice that all relations span, and of their pairs. 0 for none.
    integer : bool
        Whether the attacker knows that cells are whole units; for sums that are not disclosed.
    time_limit : float, optional
        Wall seconds; then `Sums.complete` is false, and sums not bounded by then are left out.

    Returns
    -------
    Sums
        The suppressed part of every relation, every pair of relations that share a suppressed
        cell, short vectors of the lattice, and those given. Where a relation holds its suppressed
        total too, the interval of its suppressed parts.

    Raises
    ------
    InputError
        If nothing is suppressed, no table fits, the table is another one, or the rule cannot read
        it.
    OutOfTime
        If the time limit passed before a sum was found.

    Examples
    --------
    >>> from csp import MinFrequency, Table
    >>> table = Table.from_array([[1, 2, 60], [3, 1, 55], [60, 70, 60]])
    >>> found = disclosed_sums(Release.of(table, table.values < 5), MinFrequency(5))
    >>> found
    Sums(4 sums, 4 disclosed, 4 sensitive)
    >>> found.sums[0].cells
    (0, 1)
    """
    clock = Clock.of(time_limit)
    if table is not None:
        if table.labels != release.labels:
            msg = "the table is not the one behind the release: their cells differ"
            raise InputError(msg)
        release.table(table.values)
    judge = None if rule is None else as_rule(rule)
    fits = complete(release, time_limit=clock.seconds)
    wanted = [tuple(sorted(position(release, c) for c in cells)) for cells in given]
    for cells in wanted:
        with_sum(release, cells)
    seen = _known(release, fits, clock)
    found: Found = {}
    whole = True
    if seen.pattern.any():
        forms = _forms(seen)
        try:
            for source, factors, form in _pairs(forms, clock):
                _note(found, source, factors, form)
            whole = _lattice(seen, fits, lattice, found, clock)
        except OutOfTime:
            whole = False
        for form in forms.values():
            parts = tuple(sorted(c for c, a in form.items() if a > 0))
            if len(parts) > 1 and len(parts) < len(form) and all(form[c] == 1 for c in parts):
                found.setdefault(parts, ("relation", None))
    for cells in wanted:
        found.setdefault(cells, ("given", None))
    sets = [frozenset(cells) for cells, (_, proof) in found.items() if proof is not None]
    sums = []
    for cells in sorted(found, key=lambda cells: (len(cells), cells)):
        source, proof = found[cells]
        low: Fraction | None
        high: Fraction | None
        if proof is not None:
            low = high = proof.equation(seen).end
        else:
            try:
                clock.check("every sum was judged")
                low, high = _ends(seen, fits, cells, integer=integer, clock=clock)
            except OutOfTime:
                # Without its ends nothing is known of this one; those with a proof stand.
                whole = False
                continue
        known = low is not None and low == high
        sensitive = None
        if judge is not None and known:
            sensitive = union_sensitive(judge, fits if table is None else table, list(cells))
        minimal = known and not any(s < frozenset(cells) for s in sets)
        sums.append(Sum(cells, source, low, high, proof, minimal, sensitive))
    if not sums:
        clock.check("a sum was found")
    return Sums(seen, tuple(sums), whole)


def _known(release: Release, fits: Table, clock: Clock) -> Release:
    """Take cells that have no room for published: an attacker who knows a sum can subtract them."""
    rational, _ = ends(fits, release.pattern, integer=False, clock=clock)
    pattern, published = release.pattern.copy(), release.published.copy()
    for i, found in rational.items():
        if found.known and found.proved:
            pattern[i], published[i] = False, int(fits.values[i])
    return replace(release, pattern=pattern, published=published)


def _forms(release: Release) -> dict[int, Form]:
    """Suppressed part of every relation that has one, the same part once."""
    relations = release.relations
    forms: dict[int, Form] = {}
    seen = set()
    for row in range(relations.shape[0]):
        form = {c: a for c, a in entries(relations, row) if release.pattern[c]}
        key = tuple(sorted(form.items()))
        if form and key not in seen:
            seen.add(key)
            forms[row] = form
    return forms


def _pairs(forms: dict[int, Form], clock: Clock) -> Iterator[tuple[str, dict[int, int], Form]]:
    """Yield every relation, and every combination of two that cancels or joins a shared cell."""
    holders: dict[int, list[int]] = {}
    for row, form in forms.items():
        yield "relation", {row: 1}, form
        for c in form:
            holders.setdefault(c, []).append(row)
    for row, form in forms.items():
        clock.check()
        for other in sorted({r for c in form for r in holders[c] if r > row}):
            ways = {(1, 1), (1, -1)}
            for c in form.keys() & forms[other].keys():
                a, b = form[c], forms[other][c]
                common = gcd(a, b)
                ways.add((abs(b) // common, -a * (1 if b > 0 else -1) // common))
            for x, y in sorted(ways):
                yield "pair", {row: x, other: y}, mixed(form, x, forms[other], y)


def _note(found: Found, source: str, factors: dict[int, int], form: Form) -> None:
    """Keep a combination whose cells all have one coefficient: a sum that is known."""
    if not form or len(set(form.values())) > 1:
        return
    cells = tuple(sorted(form))
    if cells in found:
        return
    (a,) = set(form.values())
    sign = 1 if a > 0 else -1
    proof = Proof.of(cells, 1, {row: sign * v for row, v in factors.items()}, abs(a))
    found[cells] = source, proof


def _lattice(release: Release, fits: Table, most: int, found: Found, clock: Clock) -> bool:
    """Find sums among short vectors of all whole forms that are determined, and their pairs."""
    from scipy.sparse import csr_array, hstack, vstack

    whole = True
    for view in components(fits, release.pattern):
        clock.check()
        if not len(view.rows):
            continue
        if len(view.cells) > most:
            whole = False
            continue
        # Whatever all deviations leave alone is a form of published numbers; twice the kernel
        # gives all of them, and not only the combinations with whole multipliers.
        moves = kernel(view.matrix)
        basis = kernel(csr_array(moves.T) if moves.shape[1] else csr_array((1, len(view.cells))))
        for vector in with_pairs(basis):
            clock.check()
            entries = np.flatnonzero(vector)
            if not len(entries) or len(set(vector[entries].tolist())) > 1:
                continue
            cells = tuple(view.cells[entries].tolist())
            if cells in found:
                continue
            # A new cell for the sum: it is determined, and its combination is the proof.
            sides = (vector != 0).astype(np.int64)
            wide = hstack([view.matrix, csr_array((len(view.rows), 1), dtype=np.int64)])
            last = csr_array(np.append(sides, -1)[None, :])
            units = determined(csr_array(vstack([wide, last], format="csr")), clock)
            factors, divisor = units[len(view.cells)]
            extra = factors.pop(len(view.rows))
            # s = (factors + extra * (sum - s)) / divisor, so extra is -divisor and drops out.
            assert extra == -divisor
            found[cells] = "lattice", combination(view, cells, factors, divisor)
    return whole


def _ends(
    release: Release, fits: Table, cells: tuple[int, ...], *, integer: bool, clock: Clock
) -> tuple[Fraction | None, Fraction | None]:
    """Interval of a sum that the relations do not disclose."""
    fixed = [c for c in cells if not release.pattern[c]]
    base = sum(int(fits.values[c]) for c in fixed)
    rest = [c for c in cells if release.pattern[c]]
    if not rest:
        return Fraction(base), Fraction(base)
    wider = with_sum(release, rest)
    total = sum(int(fits.values[c]) for c in rest)
    values = np.append(fits.values[release.pattern], total)
    low, high = interval(
        wider.table(values), wider, len(release.pattern), integer=integer, clock=clock
    )
    return (None if low is None else low + base), (None if high is None else high + base)
