"""k^f-anonymity: every aggregate an attacker may know matches at least k published records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError, argument
from csp.exact import Ints, exact
from csp.names.calls import check_choice, check_known
from microagg.aggregates.functions import Aggregate, Linear, read_aggregates, read_tolerance
from microagg.aggregates.generalise import generalise, generalise_fully
from microagg.aggregates.generalised import Domains, Generalised, residual_disclosure, width_sums
from microagg.aggregates.grouping import (
    cheapest_runs,
    consecutive,
    exposed,
    free_runs,
    mixed,
    mondrian_groups,
    sorted_by,
    unvaried,
    with_helpers,
)
from microagg.aggregates.verify import Case
from microagg.records import check_k, read_records
from microagg.variety import Variety, varieties_of, with_contributors

METHODS = ("best", "aggranon", "mondrian", "hybrid", "narrow")

# Steps of dynamic programming (records times k times attributes) that are worth waiting for.
_AFFORDABLE = 2 * 10**8


def aggregate_anonymise(
    X: Any,
    k: int,
    f: Any = "sum",
    d: Any = 0,
    *,
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
    method: str = "best",
    domain: str = "common",
    importance: Mapping[str, Any] | None = None,
    diverse: Mapping[str, int] | None = None,
    contributor: str | None = None,
    time_limit: float | None = None,
) -> Generalised:
    """Generalise records until the aggregates an attacker knows match at least k of them.

    Parameters
    ----------
    X : (n, a) array, data frame, mapping of columns, or path
        Numerical records.
    k : int
        Fewest candidates that aggregate knowledge may leave for a record, from 2 to n.
    f : str, mapping, sequence, callable, or list
        What the attacker knows of a record: "sum", "average", "range" or "variance" of the
        attributes, weights by attribute or one for each (whole or decimal numbers, taken exactly),
        a function of the user as `Monotone` or `Continuous` describes it, or a list of several of
        these, the most important first.
    d : number
        The attacker knows f(t) only within d times its size, 0 <= d < 1. The guarantee is for
        each record around its own f(t).
    attributes : sequence of str, optional
        Attributes that f is a function of; all by default.
    decimals : int, optional
        Decimal places of the data, where they are not to be found from it.
    method : {"best", "aggranon", "mondrian", "hybrid", "narrow"}
        * ``"aggranon"``: algorithm aggrAnon, groups of k consecutive records by f.
        * ``"mondrian"``: k-anonymity by Mondrian, the best of its three cuts.
        * ``"hybrid"``: records with k records within their reach stay as they are, Mondrian
          makes the others k-anonymous.
        * ``"narrow"``: several groupings, of all records and of those that need it, each
          generalised only as far as f asks for; the one that loses least.
        * ``"best"``: the one of all these that loses least.
    domain : {"common", "attribute"}
        Which of the two penalties decides what loses least.
    importance : mapping of str to number, optional
        What generalising an attribute costs, 1 where left out; at least 0, and not 0 for all. The
        penalties become weighted means, and attributes of less importance are generalised first:
        section III.B of the paper calls it straightforward.
    diverse : mapping of str to int, optional
        Different values of an attribute, which may be text, that the candidates of every record
        must have, so that knowledge of f does not tell a confidential value: ``{"disease": 2}``,
        the l-diversity that the paper leaves for the future. Missing values count for none. For
        one aggregate. These attributes are not generalised unless `attributes` names them too.
    contributor : str, optional
        Column that says whom a record belongs to, where one may have several: the k candidates of
        every record must be of k different contributors, which is what `diverse` asks for.
    time_limit : float, optional
        Wall seconds; then the one so far that loses least is taken. It is verified all the same.

    Returns
    -------
    Generalised

    Raises
    ------
    InputError
        For k, d, f, method or domain out of range or unknown, and for data that is not a table of
        numbers.
    Unprotectable
        If the whole file has fewer different values than `diverse` asks for.
    OutOfTime
        If the time limit passed before there was one.
    CertificateError
        If the published ranges fail the verifier. That cannot happen unless a function of the
        user is not what it promises.

    Notes
    -----
    O. Gkountouna, K. Lepenioti, M. Terrovitis, Privacy against aggregate knowledge attacks.
    Definition 1 is d = 0, Definition 2 is d > 0. For f < 0 the interval is f - d|f| to f + d|f|.
    What remains disclosed is counted in `Generalised.residual`.

    Examples
    --------
    >>> import microagg
    >>> data = {"rent": [5, 6, 5, 9, 4, 7], "food": [4, 3, 5, 1, 5, 2]}
    >>> microagg.aggregate_anonymise(data, 3, "sum")
    Generalised(6 records, k=3)
    """
    clock = Clock.of(time_limit)
    diverse = with_contributors(diverse, contributor, k, attributes)
    records = read_records(X, attributes, diverse=diverse or (), decimals=decimals)
    units = records.units
    k = check_k(k, len(units), 2)
    tolerance = read_tolerance(d)
    check_choice("method", method, METHODS)
    check_choice("domain", domain, _DOMAINS)
    aggregates = read_aggregates(f, records.names, diverse)
    for aggregate in aggregates:
        aggregate.check(units)
    varieties = varieties_of(records, diverse or {})
    weights = _importance(importance, records.names)
    domains = Domains.of(units, weights)
    task = _Task(units, aggregates, k, tolerance, _DOMAINS.index(domain), domains, varieties, clock)
    best = task.best(method)
    lower, upper = best.lower, best.upper
    case = Case(records, lower, upper, aggregates, tolerance)
    counts = case.candidates(k)
    if counts.min() < k:
        row = int(np.argmin(counts))
        msg = (
            f"row {row + 1} is left with {int(counts[row])} candidates instead of {k}; is f "
            "deterministic, row by row and monotone?"
        )
        raise CertificateError(msg)
    values = [case.values(variety) for variety in varieties]
    for variety, found in zip(varieties, values, strict=True):
        if found.min() < variety.least:
            msg = (
                f"row {int(np.argmin(found)) + 1} is left with candidates of {int(found.min())} "
                f"values of {variety.name!r} instead of {variety.least}"
            )
            raise CertificateError(msg)
    together, apart = domains.penalties(width_sums(lower, upper))
    # From 0 without gaps, in their order; -1 stays.
    classes = np.unique(np.append(best.labels, -1), return_inverse=True)[1].ravel()[:-1] - 1
    return Generalised(
        lower=lower,
        upper=upper,
        classes=classes,
        names=records.names,
        scale=records.scale,
        k=k,
        d=tolerance,
        aggregates=tuple(aggregate.name for aggregate in aggregates),
        method=method,
        chosen=best.name,
        ncp=float(together),
        ncp_per_attribute=float(apart),
        fewest=int(counts.min()),
        residual=residual_disclosure(units, lower, upper, classes, aggregates, tolerance),
        importance=weights,
        diverse=tuple(
            (variety.name, variety.least, int(found.min()))
            for variety, found in zip(varieties, values, strict=True)
        ),
        library=records.library,
        index=records.index,
    )


def _importance(given: Mapping[str, Any] | None, names: Sequence[str]) -> tuple[Fraction, ...]:
    """Read what attributes cost, nothing below 0 and not 0 for all; empty if they cost the same."""
    if not given:
        return ()
    check_known(argument("importance"), given, names)
    found = tuple(exact(given.get(name, 1)) for name in names)
    if min(found) < 0 or not any(found):
        msg = f"{argument('importance')} needs numbers of at least 0, and not 0 for all attributes"
        raise InputError(msg)
    return found


_DOMAINS = ("common", "attribute")
_CUTS = ("nearest", "relaxed", "median")


@dataclass(frozen=True, eq=False)
class _Attempt:
    """Ranges that satisfy the guarantee, and how they came about."""

    name: str
    labels: Ints
    lower: Ints
    upper: Ints


@dataclass
class _Task:
    """Records, what is asked for, and the smallest loss so far."""

    units: Ints
    aggregates: tuple[Aggregate, ...]
    k: int
    d: Fraction
    domain: int
    domains: Domains
    varieties: tuple[Variety, ...] = ()
    clock: Clock = UNLIMITED
    least: Fraction | None = None

    @cached_property
    def costs(self) -> Ints:
        """What generalising each attribute costs, in whole numbers."""
        weights = self.domains.importance
        if not weights:
            return np.ones(self.units.shape[1], np.int64)
        return Linear("importance", weights).whole

    @cached_property
    def values(self) -> Ints:
        """What the aggregates are of each record, shape (n, g)."""
        return np.column_stack([aggregate.values(self.units) for aggregate in self.aggregates])

    def best(self, method: str) -> _Attempt:
        """Attempt that loses least; of equal ones the first."""
        best = None
        for attempt in self.attempts(method):
            if attempt is not None:
                loss = self.loss(width_sums(attempt.lower, attempt.upper))
                if self.least is None or loss < self.least:
                    self.least, best = loss, attempt
            if self.clock.over:
                break
        if best is None:
            # Nothing is hopeless before something has succeeded: only the time ends an attempt.
            self.clock.check("there was a grouping")
        assert best is not None
        return best

    def attempts(self, method: str) -> Iterator[_Attempt | None]:
        """Make a method's attempts, the most promising ones first; None for hopeless ones."""
        every = np.arange(len(self.units))
        if method == "aggranon":
            yield self.consecutive()
        elif method == "mondrian":
            yield from (self.full("Mondrian", every, cut) for cut in _CUTS)
        else:
            in_need = exposed(self.values, self.k, self.d)
            if self.varieties:
                in_need |= unvaried(self.values[:, 0], self.varieties, self.d)
            needed = np.flatnonzero(with_helpers(self.units, in_need, self.k, self.varieties))
            name = "Mondrian of exposed records"
            if method == "hybrid":
                yield from (self.full(name, needed, cut) for cut in _CUTS)
                return
            # Ranges that f allows are never wider than full ones, so Mondrian itself is covered.
            yield from (self.narrowed_mondrian(name, needed, cut) for cut in _CUTS)
            yield self.runs("cheapest runs of exposed records", needed)
            if len(needed) < len(every):
                yield from (self.narrowed_mondrian("Mondrian", every, cut) for cut in _CUTS)
                yield self.runs("cheapest runs", every)
            if method == "best":
                yield self.consecutive()

    def consecutive(self) -> _Attempt | None:
        order = sorted_by(self.values, np.arange(len(self.units)))
        return self.narrowed("consecutive groups", consecutive(order, self.k, len(order)))

    def runs(self, name: str, rows: Ints) -> _Attempt | None:
        if not len(rows) or len(rows) * self.k * self.units.shape[1] > _AFFORDABLE:
            return None
        order = sorted_by(self.values, rows)
        free = free_runs(self.values[order], self.d)
        return self.narrowed(name, cheapest_runs(self.units, order, self.k, free, self.costs))

    def narrowed_mondrian(self, name: str, rows: Ints, cut: str) -> _Attempt | None:
        labels = mondrian_groups(self.units, rows, self.k, cut)
        return self.narrowed(f"{name} ({cut}), narrowed", labels)

    def narrowed(self, name: str, labels: Ints) -> _Attempt | None:
        labels = mixed(labels, self.values[:, 0], self.varieties)
        ranges = generalise(
            self.units, labels, self.aggregates, self.d, costs=self.costs, hopeless=self.hopeless
        )
        return ranges and _Attempt(name, labels, *ranges)

    def full(self, name: str, rows: Ints, cut: str) -> _Attempt:
        labels = mondrian_groups(self.units, rows, self.k, cut)
        labels = mixed(labels, self.values[:, 0], self.varieties)
        return _Attempt(f"{name} ({cut})", labels, *generalise_fully(self.units, labels))

    def hopeless(self, widths: tuple[int, ...]) -> bool:
        if self.clock.over:
            return True
        return self.least is not None and self.loss(widths) >= self.least

    def loss(self, widths: tuple[int, ...]) -> Fraction:
        return self.domains.penalties(widths)[self.domain]
