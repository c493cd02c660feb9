"""Equation 1 of probabilistic k-anonymity for any mechanism: posteriors over all matchings.

An intruder knows the quasi-identifiers of N persons, the M published records (all persons' or those
of a sample), and how likely the mechanism makes any record of any person. A matching gives each
record a person of its own; its probability is in proportion to the product of the likelihoods.
J. Soria-Comas and J. Domingo-Ferrer (2012), Probabilistic k-anonymity through microaggregation and
data swapping, section III, Definition 3, Equation 1 and Examples 4 to 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.clock import Clock
from csp.errors import InputError, OutOfTime
from csp.exact import Bools, Floats, Ints
from csp.names.calls import whole_number
from microagg.records import Frozen

EXACT = 3_000_000
"""Steps of the recursion of one component above which matchings are drawn; some three seconds."""

JOINT = 1_000_000
"""Matchings that are listed at most for a mechanism whose records depend on each other."""

SURE = 1e-3
"""Probability that any interval of drawn matchings is wrong."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkagePosterior(Frozen):
    """How probable each link of a person to a record is for an intruder who knows the mechanism.

    Attributes
    ----------
    probability : (N, M) Fraction or float64
        Fractions where all matchings were counted.
    error : float
        0 if they were; else what no probability is off by more than, all at once with probability
        0.999.
    """

    probability: NDArray[Any]
    error: float

    def __repr__(self) -> str:
        persons, records = self.probability.shape
        how = "exact" if not self.error else f"give or take {self.error:.3f}"
        return (
            f"LinkagePosterior({persons} persons, {records} records: "
            f"best link right with probability {float(self.worst):.4f}, {how})"
        )

    @property
    def worst(self) -> Fraction | float:
        """Probability of the most probable link: at most 1/k is probabilistic k-anonymity."""
        worst: Fraction | float = self.probability.max(initial=0)
        return worst

    @property
    def released(self) -> NDArray[Any]:
        """Probability that each person is among those who were released, shape (N,)."""
        return np.asarray(self.probability.sum(axis=1))

    def is_anonymous(self, k: int) -> bool | None:
        """Whether the release is probabilistically k-anonymous; None if the draws cannot tell."""
        if not self.error:
            return bool(self.worst * k <= 1)
        if self.worst - self.error > 1 / k:
            return False
        return True if min(self.worst + self.error, 1) <= 1 / k else None


def linkage_posterior(
    likelihood: ArrayLike | Callable[[tuple[int, ...]], Any],
    shape: tuple[int, int] | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
    time_limit: float | None = None,
) -> LinkagePosterior:
    """Probability of each link of a person to a record, given the mechanism and the release.

    Parameters
    ----------
    likelihood : (N, M) array-like, or callable
        How likely the mechanism makes the quasi-identifiers of record j of those of person i:
        probabilities or densities, on any scale of each record. Fractions and whole numbers are
        taken as they are, floats as the binary numbers that they are. If records are not made
        independently of each other, a function: from the person behind each record to the
        likelihood of all records; all matchings are then listed.
    shape : (int, int), optional
        Persons and records, for a function.
    draws, seed : int
        Matchings to draw where there are too many states to count.
    time_limit : float, optional
        Wall seconds for the draws.

    Returns
    -------
    LinkagePosterior

    Raises
    ------
    InputError
        If a likelihood is not a finite number of at least 0, there are more records than persons,
        no matching is possible, or a function has more than a million of them.
    OutOfTime
        If not all draws were made in time.

    Notes
    -----
    Persons and records that no likelihood connects are looked at apart. Within a component,
    persons are placed one after another, and what is kept is how many records of each kind are
    taken; records that are equally likely for all persons are of one kind, so that a group of a
    swap costs hardly more than its size squared, and records that are likely for few neighbours
    only cost little too. What is too large for that is drawn from its exact distribution, by the
    rejection of M. Huber and J. Law (2008, Fast approximation of the permanent for very dense
    problems, Lemma 1), with the bound of Hoeffding on the shares that are counted.

    Examples
    --------
    A record made of one of two persons, who were published both (Example 5), and only the first
    record (Example 4):

    >>> from microagg.intruders import linkage_posterior
    >>> both = linkage_posterior([[9, 9], [1, 1]])
    >>> str(both.worst)
    '1/2'
    >>> str(linkage_posterior([[9], [1]]).worst)
    '9/10'
    """
    whole_number("draws", draws)
    whole_number("seed", seed, 0)
    if callable(likelihood):
        if shape is None:
            msg = "a function of matchings needs shape=(persons, records)"
            raise InputError(msg)
        return _listed(likelihood, *_checked_shape(shape))
    weights = _checked(likelihood)
    persons, records = weights.shape
    probability: NDArray[Any] = np.full((persons, records), Fraction(0), object)
    components = _components(weights != 0)
    clock = Clock.of(time_limit)
    hard = []
    for part in components:
        counted = _counted(weights[np.ix_(*part)])
        if counted is None:
            hard.append(part)
        else:
            probability[np.ix_(*part)] = counted
    if not hard:
        return LinkagePosterior(probability, 0.0)
    links = sum(len(rows) * len(columns) for rows, columns in hard)
    rng = np.random.default_rng(seed)
    shares = probability.astype(float)
    for rows, columns in hard:
        shares[np.ix_(rows, columns)] = _drawn(weights[np.ix_(rows, columns)], draws, rng, clock)
    return LinkagePosterior(shares, math.sqrt(math.log(2 * links / SURE) / (2 * draws)))


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(shape, Sequence) or len(shape) != 2:
        msg = f"shape must be two numbers, (persons, records), not {shape!r}"
        raise InputError(msg)
    persons, records = (whole_number("each number of shape", number, 0) for number in shape)
    if not 1 <= records <= persons:
        msg = (
            f"{records} records of {persons} persons: each record has a person of its own; give "
            "all persons that a record may be of"
        )
        raise InputError(msg)
    return persons, records


def _checked_weight(value: Any, of: str) -> Fraction:
    if not isinstance(value, (Real, Decimal)) or not math.isfinite(value) or value < 0:
        msg = f"the likelihood of {of} must be a finite number of at least 0, got {value!r}"
        raise InputError(msg)
    number: Any = float(value) if isinstance(value, np.floating) else value
    return Fraction(number)


def _checked(given: ArrayLike) -> NDArray[Any]:
    """Take likelihoods as fractions, or refuse them."""
    weights = np.array(given, object)
    if weights.ndim != 2:
        msg = f"likelihoods must be a table of persons by records, not of {weights.ndim} dimensions"
        raise InputError(msg)
    _checked_shape(weights.shape)
    for (i, j), value in np.ndenumerate(weights):
        weights[i, j] = _checked_weight(value, f"person {i} and record {j}")
    for j in range(weights.shape[1]):
        # A record's scale is in every matching alike.
        scale = math.lcm(*(value.denominator for value in weights[:, j]))
        whole = [int(value * scale) for value in weights[:, j]]
        shared = math.gcd(*whole)
        if not shared:
            msg = f"record {j} cannot be of any person; its likelihoods are all 0"
            raise InputError(msg)
        weights[:, j] = [value // shared for value in whole]
    return weights


def _components(linked: Bools) -> list[tuple[list[int], list[int]]]:
    """Persons and records of each connected part; a person without a record is in none."""
    from networkx import Graph, connected_components

    persons = len(linked)
    graph = Graph((i, persons + j) for i, j in np.argwhere(linked).tolist())
    parts = map(sorted, connected_components(graph))
    return [
        (
            [node for node in part if node < persons],
            [node - persons for node in part if node >= persons],
        )
        for part in parts
    ]


def _kinds(weights: NDArray[Any]) -> tuple[list[int], list[int], list[int]]:
    """Kind of each record, the first record of each kind, and how many there are of it."""
    first: dict[tuple[int, ...], int] = {}
    kinds = [first.setdefault(tuple(column), len(first)) for column in weights.T]
    return kinds, [kinds.index(kind) for kind in range(len(first))], np.bincount(kinds).tolist()


def _counted(weights: NDArray[Any]) -> NDArray[Any] | None:
    """Posterior of one component, by a recursion over persons there and back; None if too large.

    What is kept of the persons placed so far is how many records of each kind they have taken, as
    the digits of one number, and the total weight of the ways to do so. Records of a kind are told
    apart: with f of them free, a person is placed on the kind in f ways.
    """
    kinds, firsts, counts = _kinds(weights)
    units = np.cumprod([1, *(count + 1 for count in counts)], dtype=object).tolist()
    full = units[-1] - 1
    spare = weights.shape[0] > weights.shape[1]
    order = _nearby(weights != 0)
    places = [
        [(units[a], counts[a], row[first]) for a, first in enumerate(firsts) if row[first]]
        for row in weights[order]
    ]
    ways: list[dict[int, int]] = [{0: 1}]
    steps = 0
    for options in places:
        now: dict[int, int] = dict(ways[-1]) if spare else {}
        for state, total in ways[-1].items():
            for unit, count, weight in options:
                free = count - state // unit % (count + 1)
                if free:
                    now[state + unit] = now.get(state + unit, 0) + total * free * weight
        steps += len(ways[-1]) * len(options)
        if steps > EXACT:
            return None
        ways.append(now)
    whole = ways[-1].get(full)
    if not whole:
        msg = "no matching gives each record a person of its own that it can be of"
        raise InputError(msg)
    found = np.full(weights.shape, Fraction(0), object)
    after = {full: 1}  # ways to fill what is left, by what has been taken
    for i, options, before in zip(order[::-1], places[::-1], ways[-2::-1], strict=True):
        now, taken = {}, dict.fromkeys((unit for unit, _, _ in options), 0)
        for state, total in before.items():
            rest = after.get(state, 0) if spare else 0
            for unit, count, weight in options:
                free = count - state // unit % (count + 1)
                if free and state + unit in after:
                    step = after[state + unit] * free * weight
                    rest += step
                    taken[unit] += total * step
            if rest:
                now[state] = rest
        shares = {u: Fraction(t, whole) for u, t in taken.items()}
        found[i] = [shares.get(units[a], Fraction(0)) / counts[a] for a in kinds]
        after = now
    return found


def _nearby(linked: Bools) -> Ints:
    """Order of persons in which neighbours share records, so that few counts can occur at once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    shared = linked.astype(np.int32) @ linked.T.astype(np.int32)
    return np.asarray(reverse_cuthill_mckee(csr_array(shared), symmetric_mode=True), np.int64)


def _listed(
    likelihood: Callable[[tuple[int, ...]], Any], persons: int, records: int
) -> LinkagePosterior:
    """Posterior under a mechanism that makes its records together: every matching is asked for."""
    if math.perm(persons, records) > JOINT:
        msg = (
            f"{records} records of {persons} persons have {math.perm(persons, records):,} "
            f"matchings, and a function is asked for at most {JOINT:,}; give a smaller group, or "
            "likelihoods as an array"
        )
        raise InputError(msg)
    found = np.full((persons, records), Fraction(0), object)
    columns = np.arange(records)
    total = Fraction(0)
    for matching in permutations(range(persons), records):
        weight = _checked_weight(likelihood(matching), f"persons {matching}")
        if weight:
            total += weight
            found[matching, columns] += weight
    if not total:
        msg = "the function gives likelihood 0 to every matching"
        raise InputError(msg)
    return LinkagePosterior(found / total, 0.0)


def _drawn(weights: NDArray[Any], draws: int, rng: np.random.Generator, clock: Clock) -> Floats:
    """Shares of the links in matchings drawn from the posterior of one component.

    Persons who were not released are matched to records that all are equally likely for. Rows and
    columns are then scaled to the same sums, which changes no posterior and rejects less.
    """
    persons, records = weights.shape
    square = np.ones((persons, persons))
    top = np.array([max(column) for column in weights.T], object)
    square[:, :records] = (weights / top).astype(float)
    for _ in range(100):
        square /= square.sum(axis=1, keepdims=True)
        square /= square.sum(axis=0)
    square /= square.max(axis=1, keepdims=True)
    seen = np.zeros((persons, persons), np.int64)
    taken = 0
    while taken < draws:
        if clock.over:
            msg = f"{taken:,} of {draws:,} matchings were drawn in the time given; allow more"
            raise OutOfTime(msg)
        matching = _draw(square, rng)
        if matching is not None:
            seen[matching, np.arange(persons)] += 1
            taken += 1
    return seen[:, :records] / draws


def _draw(square: Floats, rng: np.random.Generator) -> Ints | None:
    """Draw the person of each record in turn; None if rejected.

    The probability of a person for a record is their likelihood times a bound on what is left,
    over the bound before; what these lack to 1 is rejected. All that is not is drawn from the
    posterior, since the bounds of one matching cancel.
    """
    n = len(square)
    left = np.arange(n)
    sums = square.sum(axis=1)
    matching = np.empty(n, np.int64)
    for j in range(n):
        column = square[left, j]
        after = np.maximum(sums[left] - column, 0.0)
        bounds = np.log(_bound(after) / math.e)
        chances = np.zeros(len(left))
        some = column > 0
        rest = bounds.sum() - bounds
        before = np.log(_bound(sums[left]) / math.e).sum()
        chances[some] = column[some] * np.exp(rest[some] - before)
        place = int(np.searchsorted(np.cumsum(chances), rng.random(), side="right"))
        if place == len(left):
            return None
        matching[j] = left[place]
        sums[left] = after
        left = np.delete(left, place)
    return matching


def _bound(sums: Floats) -> Floats:
    """Factor of a row in the bound on the permanent of numbers from 0 to 1 (times e)."""
    large = np.maximum(sums, 1.0)
    return np.where(
        sums >= 1.0, large + 0.5 * np.log(large) + math.e - 1.0, 1.0 + (math.e - 1.0) * sums
    )
