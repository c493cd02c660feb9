"""An insider who reports something else than the truth, to learn more of another contributor.

Torra and Navarro-Arribas (2023), section 2.2: "the attacker could craft special data values". The
intruder owns some of the records, knows what they report, and subtracts it. So a lie does not by
itself sharpen an estimate: what is left of a published sum is what the others put in, whatever the
intruder reported. A lie helps in two ways only. It can make a rule publish a cell that honest
reports would suppress (`opening_lie`), and it can choose who stands in the victim's cluster
(`crafted_clusters`). The first is bounded by the rule itself (`lie_bound`), and with it the second
if clusters are made to comply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints, Number, exact, number_text
from csp.names.calls import check_known, whole_number
from csp.rules import Rule
from csp.rules.concentration import Form
from microagg.partitions.means import cluster_sums
from microagg.partitions.methods.mdav import mdav_labels
from microagg.records import Frozen, Records, check_k, read_records
from microagg.scaling import scaled
from microagg.tables.contributions import sides_of_units
from microagg.tables.forms import Forms, forms_of

NOTHING = -1
"""Excess of an estimate that cannot be made, since the cell is suppressed."""


def lie_bound(rule: Rule | str, owned: int = 1) -> Fraction:
    """How far any estimate stays off, whatever an intruder reports: the guarantee of a rule.

    Parameters
    ----------
    rule : Rule or str
        Dominance, p%, pq, or several of them; minimum frequencies add nothing.
    owned : int
        Contributions that the intruder, or a coalition, reports.

    Returns
    -------
    Fraction
        The largest q such that in every published cell, for every contribution v of others, the
        others but v put in at least ``q * v``: the intruder's upper estimate of v, the sum less
        its own reports, exceeds v by that. 0 if there is none.

    Notes
    -----
    A cell is published if ``a1 x1 + .. + at xt <= 0`` for its contributions in descending order,
    where the a never rise and are -1 beyond those that the rule reads: (p, 0, -1, ..) for the p%
    rule, (q, .., q, -1, ..) with q = 100/k - 1 for (n, k)-dominance. *Proof of the bound.* The left
    side G is the largest weighted sum over all orders, so it is convex in the contributions and
    does not depend on their order; hence it cannot rise if contributions are made more equal with
    their sum kept. Let v be the victim's, R the sum of the other honest ones, and y what the
    intruder reports. Averaging the reports and splitting R into dust only lowers G, which tends to
    ``g(y) - R`` with g(y) the weighted sum of v and `owned` times y alone. So a published cell has
    ``R >= min g``, and g is piecewise linear in y with its only kink at v: its minimum over y >= 0
    is at 0, at v, or there is none. With v = 1 these are a1 and ``a1 + .. + a[owned + 1]``, so
    ``q = max(0, min(a1, a1 + .. + a[owned + 1]))``. Of several rules all must hold at one y, which
    is minimised over the same points and those where two of them are equal. As any y is allowed,
    honest or not, no lie does better than the worst honest file; dust shows that q is sharp.

    So P(p) leaves q = p/100 against one liar and nothing against two (P(p, 2) does against two),
    (n, k)-dominance 100/k - 1 against n - 1 liars, and against a single one (1, k)-dominance only
    100/k - 2: nothing for k of 50 or more.

    Examples
    --------
    >>> from microagg.intruders import lie_bound
    >>> print(*(lie_bound(rule) for rule in ("P(10)", "NK(2,80)", "NK(1,80)", "NK(1,40)")))
    1/10 1/4 0 1/2
    >>> lie_bound("P(10)", owned=2), lie_bound("P(10,2)", owned=2)
    (Fraction(0, 1), Fraction(1, 10))
    """
    whole_number("owned", owned)
    lines = []  # value at 0 and at 1, and slope beyond 1, of each rule's g
    for form in forms_of(rule).forms:
        a = [Fraction(w, form.unit) - 1 for w in form.weights[: owned + 1]]
        a += [Fraction(-1)] * (owned + 1 - len(a))
        lines.append((a[0], sum(a, Fraction(0)), sum(a[:-1], Fraction(0))))
    if not lines or all(slope < 0 for *_, slope in lines):
        return Fraction(0)
    points = {Fraction(0), Fraction(1)}
    for (p, q, s), (u, v, t) in combinations(lines, 2):
        if (p - u) * (q - v) < 0:
            points.add((p - u) / ((p - u) - (q - v)))
        if s != t and (cross := 1 + (v - q) / (s - t)) > 1:
            points.add(cross)

    def g(line: tuple[Fraction, Fraction, Fraction], y: Fraction) -> Fraction:
        start, end, slope = line
        return start + (end - start) * y if y <= 1 else end + slope * (y - 1)

    return max(Fraction(0), min(max(g(line, y) for line in lines) for y in points))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpeningLie:
    """What reports make a rule publish a cell.

    Attributes
    ----------
    honest : bool
        Whether the cell is published if all reports are true.
    lie : Fraction or None
        The least value that, reported by each of the intruder's records, gets the cell published;
        None if no reports whatever do.
    victim : int
        Whose contribution is then estimated most closely: the largest of the others.
    excess, value : int
        By how much the estimate exceeds that contribution, and the contribution.
    """

    honest: bool
    lie: Fraction | None
    victim: int
    excess: int
    value: int

    def __repr__(self) -> str:
        opened = "no lie opens it" if self.lie is None else "a lie opens it"
        return f"OpeningLie({'published' if self.honest else f'suppressed, and {opened}'})"

    @property
    def error(self) -> Fraction | None:
        """Relative error of the estimate once the cell is published; None for a victim of 0."""
        return Fraction(self.excess, self.value) if self.value else None


def opening_lie(contributions: Sequence[int], owned: Sequence[int], rule: Rule | str) -> OpeningLie:
    """Find the reports of an intruder with which a rule publishes a cell.

    Parameters
    ----------
    contributions : sequence of int
        All true contributions to the cell, not negative.
    owned : sequence of int
        Positions of those that the intruder reports; at least one other must be left.
    rule : Rule or str
        Dominance, p%, pq and minimum frequency.

    Returns
    -------
    OpeningLie
        Exact. The reports are equal: what any reports achieve, their mean achieves (see
        `lie_bound`). They are real numbers; between whole ones there may be no whole one.

    Raises
    ------
    InputError
        If a contribution is negative or no whole number, or the positions are not some of them.

    Examples
    --------
    A dominated cell is opened by a report as large as the dominant one, which is then known but for
    the 10 that two others put in. The p% rule does not fall for it.

    >>> from microagg.intruders import opening_lie
    >>> found = opening_lie([300, 1, 5, 5], [1], "NK(1,75)")
    >>> found, found.lie, found.error
    (OpeningLie(suppressed, and a lie opens it), Fraction(90, 1), Fraction(1, 30))
    >>> opening_lie([300, 1, 5, 5], [1], "P(10)")
    OpeningLie(suppressed, and no lie opens it)
    """
    amounts = list(contributions)
    wrong = [x for x in amounts if isinstance(x, bool) or not isinstance(x, (int, np.integer))]
    if wrong or min(amounts, default=0) < 0:
        msg = "contributions must be whole numbers of at least 0; choose a smaller unit"
        raise InputError(msg)
    mine = set(owned)
    if not mine or len(mine) >= len(amounts) or not mine <= set(range(len(amounts))):
        msg = (
            f"owned must name some, not all, of the positions 0 to {len(amounts) - 1}, "
            f"not {sorted(mine)}"
        )
        raise InputError(msg)
    forms = forms_of(rule)
    others = [int(x) for i, x in enumerate(amounts) if i not in mine]
    victim = max((i for i in range(len(amounts)) if i not in mine), key=lambda i: (amounts[i], -i))
    honest = _published(forms, [int(x) for x in amounts])
    lie = None
    if len(amounts) >= forms.frequency:
        low, high = Fraction(0), None
        for form in forms.forms:
            ends = _opened(form, others, len(mine))
            if ends is None:
                break
            low = max(low, ends[0])
            high = ends[1] if high is None else high if ends[1] is None else min(high, ends[1])
        else:
            lie = low if high is None or low <= high else None
    value = int(amounts[victim])
    return OpeningLie(honest, lie, victim, sum(others) - value, value)


def _left(form: Form, others: Sequence[int], owned: int, y: Fraction) -> Fraction:
    """Left side of a form less its right side, for reports of y: at most 0 if published."""
    amounts = sorted([*map(Fraction, others), *[y] * owned], reverse=True)
    strong = sum((w * x for w, x in zip(form.weights, amounts, strict=False)), Fraction(0))
    return strong - form.unit * sum(amounts)


def _opened(
    form: Form, others: Sequence[int], owned: int
) -> tuple[Fraction, Fraction | None] | None:
    """Find the ends of the reports with which a form publishes; the upper one may be None.

    The left side is convex in y, and linear between neighbouring contributions of others.
    """
    points = sorted({Fraction(0), *map(Fraction, others)})
    points.append(points[-1] + 1)  # for the slope beyond the largest
    sides = [_left(form, others, owned, y) for y in points]
    passing = [y for y, side in zip(points[:-1], sides[:-1], strict=True) if side <= 0]
    for (a, b), (s, t) in zip(pairwise(points[:-1]), pairwise(sides[:-1]), strict=True):
        if (s <= 0) != (t <= 0):
            passing.append(a + (b - a) * s / (s - t))
    last, slope = sides[-2], sides[-1] - sides[-2]
    if (last <= 0 and slope <= 0) or (last > 0 and slope < 0):
        start = points[-2] if last <= 0 else points[-2] - last / slope
        return min([*passing, start]), None
    if last <= 0:
        passing.append(points[-2] - last / slope)
    return (min(passing), max(passing)) if passing else None


def _published(forms: Forms, amounts: Sequence[int]) -> bool:
    return len(amounts) >= forms.frequency and all(
        _left(form, amounts, 0, Fraction(0)) <= 0 for form in forms.forms
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CraftedClusters(Frozen):
    """What reports that are chosen for it tell of other records in their cluster.

    Attributes
    ----------
    attribute : str
    owned : tuple of int
        Records of the intruder; they are not victims.
    value : (n,) int64
        True value of each record, in units.
    honest : (n,) int64
        By how much the intruder's upper estimate of each value exceeds it if it reports the truth,
        in units; -1 where the mean is suppressed, and for its own records.
    crafted : (n,) int64
        The same for the best of the lies tried, the truth included.
    lie : (n,) int64
        Which lie that is, -1 for the truth.
    """

    attribute: str
    owned: tuple[int, ...]
    value: Ints
    honest: Ints
    crafted: Ints
    lie: Ints

    def __repr__(self) -> str:
        return (
            f"CraftedClusters({len(self.owned)} of {len(self.value)} records lie, "
            f"{int((self.lie >= 0).sum())} values are estimated more closely for it)"
        )

    def exposed(self, percent: Number, *, honest: bool = False) -> Bools:
        """Values that the intruder estimates within less than p percent, shape (n,)."""
        p = exact(percent) / 100
        excess = (self.honest if honest else self.crafted).tolist()
        pairs = zip(excess, self.value.tolist(), strict=True)
        return np.array([e != NOTHING and e < p * v for e, v in pairs], bool)

    def summary(self, percent: Number = 10) -> dict[str, Any]:
        """Plain data for JSON: counts, no values."""
        return {
            "attribute": self.attribute,
            "records": len(self.value),
            "owned": len(self.owned),
            "percent": number_text(exact(percent)),
            "exposed_by_honest_reports": int(self.exposed(percent, honest=True).sum()),
            "exposed_by_lies": int(self.exposed(percent).sum()),
            "known_exactly_by_honest_reports": int((self.honest == 0).sum()),
            "known_exactly_by_lies": int((self.crafted == 0).sum()),
        }


def crafted_clusters(
    X: Any,
    k: int,
    owned: Sequence[int],
    attribute: str,
    *,
    lies: Any = None,
    rule: Rule | str | None = None,
    scale: str = "standardise",
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> CraftedClusters:
    """Try lies on MDAV, to put the intruder's records beside a victim.

    Parameters
    ----------
    X : data
        True records, as `microagg.read_records` takes them; not negative in `attribute`.
    k : int
        Least size of a cluster.
    owned : sequence of int
        Rows of the intruder, who reports the same lie in all of them.
    attribute : str
        Whose values are estimated.
    lies : data, optional
        Records to report instead, with the same attributes; by default what the other records
        hold, as if the intruder knew about where its victim stands.
    rule : Rule or str, optional
        Suppress means that fail it, judged by what is reported.
    scale, attributes, decimals
        As for `microagg.mdav`.

    Returns
    -------
    CraftedClusters
        The best of the lies for each victim. Which cluster the victim is in is taken as known.

    Raises
    ------
    InputError
        If the data cannot be read, rows are unknown or all are owned, or a value is negative.

    Notes
    -----
    One run of MDAV for each lie. What is left of a mean is the sum of the values of the others in
    the cluster, so by `lie_bound` no excess is below ``lie_bound(rule, len(owned))`` times the
    value where a rule is set. Without one, k - 1 owned records can surround a victim, whose value
    is then known; clusters with three different contributors each (``comply(diverse=...)``) always
    hold one more.

    Examples
    --------
    >>> from microagg.intruders import crafted_clusters
    >>> data = {"pay": [10, 11, 12, 13, 40, 41, 43, 44, 95]}
    >>> crafted_clusters(data, 2, [0], "pay").summary(10)["known_exactly_by_lies"]
    3
    >>> crafted_clusters(data, 3, [0], "pay", rule="P(10)").summary(10)["exposed_by_lies"]
    0
    """
    records = read_records(X, attributes, decimals=decimals)
    n = records.n
    k = check_k(k, n, 2)
    check_known("attribute", [attribute], records.names)
    mine = tuple(dict.fromkeys(int(i) for i in owned))
    if not mine or len(mine) >= n or min(mine) < 0 or max(mine) >= n:
        msg = f"owned must name some, not all, of the rows 0 to {n - 1}"
        raise InputError(msg)
    column = records.names.index(attribute)
    values = sides_of_units(records.units[:, [column]], [attribute], "error")[0][:, 0]
    theirs = values.copy()
    theirs[list(mine)] = 0
    told = records.units
    if lies is not None:
        told = read_records(lies, records.names, decimals=records.scale).units
    tried = [i for i in range(len(told)) if lies is not None or i not in mine]
    forms = None if rule is None else forms_of(rule)

    def excess(reported: Ints) -> Ints:
        """Sum what the others in each record's cluster put in; -1 where that is suppressed."""
        columns = tuple(np.ascontiguousarray(c) for c in reported.T)
        points = scaled(Records(records.names, columns), scale, constant="keep")
        labels = mdav_labels(points, k)
        found = np.asarray(cluster_sums(theirs[:, None], labels)[labels, 0] - theirs, np.int64)
        if forms is not None:
            said = sides_of_units(reported[:, [column]], [attribute], "error")[0][:, 0]
            groups = [said[labels == g].tolist() for g in range(int(labels.max()) + 1)]
            found[~np.array([_published(forms, group) for group in groups])[labels]] = NOTHING
        found[list(mine)] = NOTHING
        return found

    honest = excess(records.units)
    best, which = honest.copy(), np.full(n, -1, np.int64)
    for i in tried:
        reported = records.units.copy()
        reported[list(mine)] = told[i]
        found = excess(reported)
        better = (found != NOTHING) & ((best == NOTHING) | (found < best))
        best[better], which[better] = found[better], i
    return CraftedClusters(attribute, mine, values, honest, best, which)
