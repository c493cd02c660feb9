"""How soon releases disclose the parameters of the algorithm, where those are kept secret.

Minami and Abe (2019, Section 2.5) let an adversary who does not know threshold and width narrow
them down by what is published. Here the adversary weighs every pair, release after release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product

import numpy as np

from attacks.bayes.priors import normal_counts
from attacks.bayes.unknown_mechanism import mechanism_posterior, parameter_bounds
from attacks.fibre.consistent_tables import Fibre
from csp.errors import InputError, Unprotectable
from csp.mechanism import Mechanism
from csp.release.release import Release
from csp.rules import MinFrequency
from studies.matching.scenarios import DEVIATION, MEAN, THRESHOLD, WIDTH, Scenario, draw_table
from studies.pages import grid, machine

THRESHOLDS = range(2, 9)
WIDTHS = range(4, 12)
"""Candidates: every threshold with every width; the truth, 5 and 8, is one of 56."""

_MOST_TABLES = 500_000


@dataclass(frozen=True, slots=True)
class Erosion:
    """What a series of releases tells about the parameters, after each of them.

    Attributes
    ----------
    possible : tuple of int
        Candidates that may have made all releases so far.
    thresholds, widths : tuple of int
        Thresholds, and widths, among them.
    truth : tuple of float
        Probability of the true pair, if all were equally probable before.
    most_probable : tuple of bool
        Whether no other pair is as probable.
    bounds : tuple of int
        Pairs within what `attacks.parameter_bounds` proves without a list of tables.
    """

    possible: tuple[int, ...]
    thresholds: tuple[int, ...]
    widths: tuple[int, ...]
    truth: tuple[float, ...]
    most_probable: tuple[bool, ...]
    bounds: tuple[int, ...]


def erosion(index: int, *, releases: int = 8, side: int = 4, seed: int = 0) -> Erosion:
    """Attack one series of releases of different tables by the same mechanism.

    Parameters
    ----------
    index, seed : int
        The same numbers give the same series.
    releases : int
        Tables in it. Tables that cannot be protected, have nothing to suppress, or more than
        500,000 consistent tables are passed over.
    side : int
        Rows and columns; counts as in the experiments of the paper.

    Raises
    ------
    InputError
        If there is no release to attack.
    """
    if releases < 1:
        msg = f"a series needs at least one release, not {releases}"
        raise InputError(msg)
    pairs = list(product(THRESHOLDS, WIDTHS))
    true = pairs.index((THRESHOLD, WIDTH))
    series = _series(index, releases, side, seed)
    found = mechanism_posterior(
        series, [_mechanism(*pair) for pair in pairs], prior=normal_counts(MEAN, DEVIATION),
        max_tables=_MOST_TABLES,
    )  # fmt: skip
    alive = np.logical_and.accumulate(found.matches > 0, axis=0)
    threshold, width = np.array(pairs).T
    chances = found.probability[1:]
    others = np.delete(chances, true, axis=1).max(axis=1)
    return Erosion(
        tuple(alive.sum(axis=1).tolist()),
        tuple(len(set(threshold[row].tolist())) for row in alive),
        tuple(len(set(width[row].tolist())) for row in alive),
        tuple(chances[:, true].tolist()),
        tuple((chances[:, true] > others).tolist()),
        tuple(_pairs_within(series[: r + 1], pairs) for r in range(len(series))),
    )


def _mechanism(threshold: int, width: int) -> Mechanism:
    # The width belongs to the rule: left to itself, the rule asks for at least its threshold, and
    # pairs of a smaller width would all be one algorithm.
    rule = MinFrequency(threshold, zero_sensitive=True, width=width)
    return Mechanism(rule, margins="publish")


def _series(index: int, releases: int, side: int, seed: int) -> list[Release]:
    truth, found = _mechanism(THRESHOLD, WIDTH), []
    for number in count():
        table = draw_table(Scenario(), side, 1000 * index + number, seed)
        try:
            release = truth.protect(table).release
        except Unprotectable:
            continue
        if not release.pattern.any():
            continue
        size = Fibre(release).count()
        if size is None or size > _MOST_TABLES:
            continue
        found.append(release)
        if len(found) == releases:
            break
    return found


def _pairs_within(releases: Sequence[Release], pairs: Sequence[tuple[int, int]]) -> int:
    known = parameter_bounds(releases, margins="publish", zero_sensitive=True)
    most = max(THRESHOLDS) if known.threshold_to is None else known.threshold_to
    widest = max(WIDTHS) if known.width_to is None else known.width_to
    return sum(known.threshold_from <= t <= most and w <= widest for t, w in pairs)


def page(found: Sequence[Erosion], *, side: int, command: str) -> Iterator[str]:
    """Lines of a markdown page.

    Parameters
    ----------
    found : sequence of Erosion
        Of series of the same length.
    side : int
    command : str
        What makes the same page.
    """

    def mean(values: Callable[[Erosion], Sequence[float]], r: int) -> str:
        return f"{np.mean([values(one)[r] for one in found]):.1f}"

    n = len(THRESHOLDS) * len(WIDTHS)
    yield "# How long parameters stay secret"
    yield ""
    yield (
        "An office states how it suppresses, and keeps threshold and width to itself (Minami and "
        "Abe 2019, Section 2.5). An attacker lists every table that is consistent with a release, "
        "and asks which pairs of threshold and width publish one of them with this very pattern. "
        f"Here {n} pairs are possible at first: thresholds {THRESHOLDS[0]} to {THRESHOLDS[-1]}, "
        f"widths {WIDTHS[0]} to {WIDTHS[-1]}. The truth is {THRESHOLD} and {WIDTH}. Each release "
        f"is of another table of {side}x{side} counts, drawn as in the paper's experiments; there "
        f"are {len(found)} series."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    rows = [
        (
            r + 1, mean(lambda one: one.bounds, r), mean(lambda one: one.possible, r),
            mean(lambda one: one.thresholds, r), mean(lambda one: one.widths, r),
            f"{100 * np.mean([one.truth[r] for one in found]):.0f} %",
            f"{sum(one.most_probable[r] for one in found)} of {len(found)}",
        )
        for r in range(len(found[0].possible))
    ]  # fmt: skip
    yield from grid(
        ["releases", "pairs within simple bounds", "pairs possible", "thresholds", "widths",
         "probability of the truth", "truth the most probable"],
        rows,
    )  # fmt: skip
    yield ""
    yield (
        "Means over the series. *Simple bounds* are those of `attacks.parameter_bounds`: published "
        "counts and widths of intervals. *Possible* pairs and probabilities are those of "
        "`attacks.mechanism_posterior` with the distribution that the tables are drawn from. "
        "Tables with nothing to suppress, that cannot be protected, or with more than "
        f"{_MOST_TABLES:,} consistent tables were passed over, which the probabilities leave out "
        "of account."
    )
