"""Why a suppressed cell is known, or bounded: relations and bounds, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from attacks.algorithm_known.excluded_values import Survivors, survivors_of
from attacks.algorithm_known.views.checks import check_mechanism
from attacks.descriptions import cell_name, joined, number, position, relation_name
from attacks.release_alone.bound_proofs import Equation, Proof, ends, shortened
from attacks.release_alone.disclosed_cells import combination, determined
from attacks.release_alone.exhaustive_proofs import none_beyond
from csp.attacker.view import components
from csp.clock import Clock
from csp.errors import CertificateError, InputError, OutOfTime
from csp.mechanism import Mechanism
from csp.release.completion import complete
from csp.release.release import Release


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation:
    """Why a suppressed cell is known or bounded.

    Attributes
    ----------
    release : Release
        What it is about; holds no suppressed value.
    cell : int
    lower, upper : Fraction or None
        Ends of the feasibility interval, in units; None where there is none.
    low, high : Proof or None
        Combinations of relations behind the two ends; None where there is no end.
    linear : bool
        The value follows by linear algebra alone: both proofs are the same, and use no bound.
    whole : tuple of (int or None, int or None), or None
        Interval over tables of whole units; None if that was not asked for.
    survivors : Survivors or None
        What remains when the algorithm is known, if a mechanism was given.
    cut_short : bool
        A mechanism was given, and the time limit passed before every table was judged.
    """

    release: Release
    cell: int
    lower: Fraction | None
    upper: Fraction | None
    low: Proof | None
    high: Proof | None
    linear: bool
    whole: tuple[int | None, int | None] | None
    survivors: Survivors | None = None
    cut_short: bool = False

    def __repr__(self) -> str:
        return f"Explanation(cell {cell_name(self.release, self.cell)}: {self._kind()})"

    def _kind(self) -> str:
        if self.linear:
            return "known by linear algebra"
        if self.lower is not None and self.lower == self.upper:
            return "known from relations and bounds"
        if self.whole is not None and self.whole[0] is not None and self.whole[0] == self.whole[1]:
            return "known as a whole number"
        return "bounded" if self.low or self.high else "not bounded"

    # ---- words ---------------------------------------------------------------------------------

    def text(self, *, reveal: bool = False) -> str:
        """Explain in words.

        Parameters
        ----------
        reveal : bool
            Whether to name values. Without it the text names cells and relations only, and
            neither amounts, ends nor how often a relation is used.

        Returns
        -------
        str
            A sentence a line.
        """
        name = f"cell {cell_name(self.release, self.cell)}"
        lines = []
        if self.linear and self.high is not None:
            lines.append(self._linear(name, self.high, reveal=reveal))
        elif self.lower is not None and self.lower == self.upper and not reveal:
            lines.append(f"{name} is known, because two bounds meet")
        if not self.linear:
            for proof, word in ((self.low, "at least"), (self.high, "at most")):
                if proof is None:
                    lines.append(f"{name} has no end {'below' if word == 'at least' else 'above'}")
                else:
                    lines.append(self._bounded(name, word, proof, reveal=reveal))
            lines += self._whole_words(name, reveal=reveal)
        if not self.release.withheld[self.cell]:
            lines.append(f"{name} is not withheld: it is rounded, or there is no number of it")
        if self.survivors is not None:
            lines += self.survivors.lines(reveal=reveal)
        if self.cut_short:
            lines.append(
                f"what knowing the algorithm excludes of {name} is undecided: the time limit "
                "passed before every consistent table was tested"
            )
        return "\n".join(lines)

    def _linear(self, name: str, proof: Proof, *, reveal: bool) -> str:
        relations = self._relations(proof, reveal=reveal)
        if not reveal:
            return f"{name} is known, because it is {relations}"
        equation = proof.equation(self.release)
        value = number(equation.end, self.release.scale)
        return f"{name} = {value}, because {relations}: {self._sum(proof, equation)} = {value}"

    def _bounded(self, name: str, word: str, proof: Proof, *, reveal: bool) -> str:
        release, scale = self.release, self.release.scale
        equation = proof.equation(release)
        if not reveal:
            # A bound that is known beforehand is not a secret, but may be one next to others.
            known = [self._relations(proof, reveal=False)] if proof.rows else []
            for cell, _, _ in equation.others:
                other = "it" if cell == self.cell else cell_name(release, cell)
                known.append(f"what is known beforehand of {other}")
            side = "below" if proof.sign < 0 else "above"
            return f"{name} is bounded {side}, because of {', '.join(known)}"
        end = number(equation.end, scale)
        if not proof.rows:
            return f"{name} is {word} {end}, because that is known beforehand"
        left = [(equation.divisor, cell_name(release, self.cell))]
        left += [(weight, cell_name(release, cell)) for cell, weight, _ in equation.others]
        total, parts = number(equation.total, scale), self._sum(proof, equation)
        given = "".join(
            f", {cell_name(release, cell)} {'>=' if (weight > 0) == (proof.sign > 0) else '<='} "
            f"{number(bound, scale)}"
            for cell, weight, bound in equation.others
        )
        return (
            f"{name} is {word} {end}, because {self._relations(proof, reveal=True)} gives "
            f"{joined(left)} = {parts}{'' if parts == total else f' = {total}'}{given}"
        )

    def _relations(self, proof: Proof, *, reveal: bool) -> str:
        terms = [
            (m if reveal else (1 if m > 0 else -1), relation_name(self.release, row))
            for row, m in zip(proof.rows, proof.multipliers, strict=True)
        ]
        return joined(terms) + (f", divided by {proof.divisor}" if reveal and self._divided(proof)
                                else "")  # fmt: skip

    def _divided(self, proof: Proof) -> bool:
        return self.linear and proof.divisor > 1

    def _sum(self, proof: Proof, equation: Equation) -> str:
        """Amounts of the relations, written as they are added."""
        scale = self.release.scale
        terms = []
        for amount, factor in zip(equation.amounts, proof.multipliers, strict=True):
            once = amount // factor
            text = number(once, scale)
            terms.append((factor, f"({text})" if once < 0 else text))
        whole = joined(terms)
        return f"({whole}) / {proof.divisor}" if self._divided(proof) else whole

    def _whole_words(self, name: str, *, reveal: bool) -> list[str]:
        if self.whole is None:
            return []
        lines = []
        for end, whole, word, beyond in (
            (self.lower, self.whole[0], "at least", "smaller"),
            (self.upper, self.whole[1], "at most", "larger"),
        ):
            if whole is None or end is None or whole == end:
                continue
            rounded = whole == (ceil(end) if word == "at least" else floor(end))
            why = (
                "it is a whole number of units"
                if rounded
                else f"no consistent table of whole units has a {beyond} one"
            )
            shown = f"{word} {number(whole, self.release.scale)}" if reveal else (
                f"bounded further {'below' if word == 'at least' else 'above'}"
            )  # fmt: skip
            lines.append(f"{name} is {shown}, because {why}")
        return lines

    # ---- proof ---------------------------------------------------------------------------------

    def check(self, release: Release | None = None, *, time_limit: float | None = 60.0) -> None:
        """Recompute everything that the text claims, in exact integers and without a solver.

        Parameters
        ----------
        release : Release, optional
            The one that was explained by default.
        time_limit : float, optional
            Wall seconds for searching tables of whole units, which only ends that no combination
            of relations proves need, and for judging tables again.

        Raises
        ------
        CertificateError
            If a claim does not hold in this release.
        OutOfTime
            If the search could not be finished.
        """
        clock = Clock.of(time_limit)
        given = self.release if release is None else release
        for proof, end, sign in ((self.low, self.lower, -1), (self.high, self.upper, 1)):
            if (proof is None) != (end is None):
                msg = f"{self!r}: an end needs a proof, and a proof an end"
                raise CertificateError(msg)
            if proof is None:
                continue
            equation = proof.equation(given)
            fits = proof.goal == ((self.cell, 1),) and proof.sign in (sign, sign * -self.linear)
            if not fits or equation.end != end or (self.linear and equation.others):
                msg = f"{self!r}: its numbers do not give the end that it claims"
                raise CertificateError(msg)
        if self.linear and self.lower != self.upper:
            msg = f"{self!r}: a value that follows by linear algebra cannot have two ends"
            raise CertificateError(msg)
        if self.whole is not None:
            self._check_whole(given, clock)
        if self.survivors is not None:
            self.survivors.check(given, clock=clock)

    def _check_whole(self, given: Release, clock: Clock) -> None:

        assert self.whole is not None
        for end, whole, sign in ((self.lower, self.whole[0], -1), (self.upper, self.whole[1], 1)):
            if (end is None) != (whole is None):
                msg = f"{self!r}: a cell has no end as a whole number and one as a fraction"
                raise CertificateError(msg)
            if end is None or whole is None or whole == (ceil(end) if sign < 0 else floor(end)):
                continue
            if not none_beyond(given, self.cell, whole, sign, clock):
                msg = f"{self!r}: some table of whole units goes beyond the end that it claims"
                raise CertificateError(msg)


def explain(
    release: Release,
    cell: int | Sequence[str],
    *,
    integer: bool | None = None,
    mechanism: Mechanism | None = None,
    time_limit: float | None = None,
) -> Explanation:
    """Explain why a suppressed cell is known, or between which values it lies.

    Parameters
    ----------
    release : Release
    cell : int or sequence of str
        Position or label of a suppressed cell.
    integer : bool, optional
        Whether the attacker knows that cells are whole units, so that the text says what that
        adds. As the mechanism has it by default, and true without one.
    mechanism : Mechanism, optional
        If given, also which values are excluded because this algorithm would have published
        another pattern; all consistent tables are tested for that.
    time_limit : float, optional
        Wall seconds. If only the tables were not all judged by then, the ends are explained
        without the mechanism (see `Explanation.cut_short`).

    Returns
    -------
    Explanation
        Its `text` is made only when asked for, and names values only with ``reveal=True``.

    Raises
    ------
    InputError
        If there is no such cell, it is published, no table is consistent with it, or the mechanism
        is a function.
    OutOfTime
        If the time limit passed before the ends were known.
    CertificateError
        If an end cannot be proved in exact arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Table
    >>> from csp.release.release import Release
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]], names=["r", "c"])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[[0, 0, 1], [0, 1, 0]] = True
    >>> found = explain(Release.of(table, pattern.ravel()), ("1", "1"))
    >>> print(found.text())
    cell (r=1, c=1) is known, because it is row r=1 - column c=2
    >>> print(found.text(reveal=True))
    cell (r=1, c=1) = 7, because row r=1 - column c=2: 18 - 11 = 7
    """
    clock = Clock.of(time_limit)
    i = position(release, cell)
    if not release.pattern[i]:
        msg = f"cell {cell_name(release, i)} is published; explain takes suppressed cells"
        raise InputError(msg)
    table = complete(release, time_limit=clock.seconds)
    if mechanism is not None:
        check_mechanism(mechanism, "explain", "attacks.matching, which says what is left of a cell")
    if integer is None:
        integer = mechanism is None or mechanism.attacker_is_integer(table)
    rational, whole = ends(table, release.pattern, integer=integer, cells=[i], clock=clock)
    found = rational[i]
    (view,) = (v for v in components(table, release.pattern) if i in v.cells)
    proofs = found.proofs()
    for end, proof in zip(found.pair, proofs, strict=True):
        if proof is None and end is not None:
            msg = f"no proof was found for an end of cell {cell_name(release, i)}"
            raise CertificateError(msg)
    low, high = (None if p is None else shortened(release, p, view, clock=clock) for p in proofs)
    linear = False
    if found.known:
        unit = determined(view.matrix, clock).get(int(np.searchsorted(view.cells, i)))
        if unit is not None:
            proof = combination(view, [i], *unit)
            low = high = shortened(release, proof, view, bounds=False, clock=clock)
            linear = True
    survivors, cut_short = None, False
    if mechanism is not None:
        try:
            survivors = survivors_of(release, mechanism, i, clock=clock)
        except OutOfTime:
            cut_short = True
    least, most = (None if end is None else int(end) for end in whole[i].pair)
    return Explanation(
        release, i, *found.pair, low, high, linear, (least, most) if integer else None,
        survivors, cut_short,
    )  # fmt: skip
