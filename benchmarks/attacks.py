"""How long the matching attack takes: ``python -m benchmarks.attacks``.

Tables of counts like those of Minami and Abe (2019, Section 4): rounded normal numbers of mean 15
and standard deviation 10, without signs; sensitive below 5, at least 8 wide. CPU seconds of each
attack in one call of `attacks.matching` with all releases of a row. What is compiled is loaded
first, in a call that is not counted: otherwise the table at which loading began to pay would seem
to take some tenths of a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

import numpy as np
import typer

from attacks import Matching, matching
from csp import Mechanism, MinFrequency, Table
from csp.compiled import at_once
from csp.errors import CellveilError
from csp.release.release import Release

MECHANISM = Mechanism(MinFrequency(5), width=8, margins="publish")


@dataclass(frozen=True, slots=True)
class Spec:
    """Tables of one shape, without margins, and the mean that is aimed at."""

    name: str
    shape: tuple[int, ...]
    tables: int
    aim: float
    time_limit: float = 60.0


SPECS = (
    Spec("4x4", (4, 4), 40, 0.001),
    Spec("5x5", (5, 5), 40, 0.002),
    Spec("6x6", (6, 6), 40, 0.005),
    Spec("8x8", (8, 8), 10, 1.0),
    Spec("9x9", (9, 9), 10, 1.0),
    Spec("10x10", (10, 10), 5, 1.0),
    Spec("3x3x3", (3, 3, 3), 15, 0.2),
    Spec("4x4x4", (4, 4, 4), 5, 1.0),
)


def releases(spec: Spec) -> Iterator[Release]:
    """Yield releases of tables that need suppression, and can be protected."""
    seed = found = 0
    while found < spec.tables:
        rng = np.random.default_rng(seed)
        seed += 1
        counts = np.abs(np.rint(rng.normal(15, 10, spec.shape))).astype(int)
        try:
            release = MECHANISM.protect(Table.from_array(counts), time_limit=30).release
        except CellveilError:
            continue
        if release.pattern.any():
            found += 1
            yield release


def measured(spec: Spec) -> tuple[list[float], int]:
    """CPU seconds of each attack, and how many did not look at all tables."""
    drawn = list(releases(spec))
    with at_once():
        matching(drawn[0], MECHANISM, time_limit=spec.time_limit)
    marks = [time.process_time()]
    found = matching(
        drawn, MECHANISM, time_limit=spec.time_limit,
        progress=lambda *_: marks.append(time.process_time()),
    )  # fmt: skip
    seconds = [end - begin for begin, end in pairwise(marks)]
    return seconds, sum(not (isinstance(one, Matching) and one.complete) for one in found)


def main() -> None:
    """Print a table in Markdown."""
    typer.echo("| tables | number | median | mean | largest | not complete | aim (mean) |")
    typer.echo("|---|---|---|---|---|---|---|")
    for spec in SPECS:
        if len(sys.argv) > 1 and not any(word in spec.name for word in sys.argv[1:]):
            continue
        seconds, cut = measured(spec)
        three = (f"{of(seconds):.3g} s" for of in (median, mean, max))
        cells = (spec.name, f"{spec.tables}", *three, f"{cut}", f"{spec.aim:g} s")
        typer.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
