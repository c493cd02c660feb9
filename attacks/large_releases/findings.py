"""What an audit of a large release says: why cells are known, and how that was judged."""

from __future__ import annotations

import numpy as np

from attacks.descriptions import joined, relation_name
from attacks.large_releases.engine import LargeDisclosure
from attacks.large_releases.parallel_cells import ParallelCells
from attacks.large_releases.widths import Widths
from csp.exact import Ints

_NAMED = 8
"""Relations of a reason that are named; of a longer one their number is said."""


def reasons_of(found: LargeDisclosure, cells: Ints) -> dict[int, str]:
    """Say how known cells follow, in relations, without values."""
    said = {}
    for cell in cells.tolist():
        proof = found.proof(cell)
        if proof is not None:
            if len(proof.rows) > _NAMED:
                said[cell] = f"{len(proof.rows)} relations, added and subtracted"
                continue
            terms = zip(proof.multipliers, proof.rows, strict=True)
            text = joined((factor, relation_name(found.release, row)) for factor, row in terms)
            said[cell] = text if proof.divisor == 1 else f"({text}) / {proof.divisor}"
            continue
        if not found.exact[np.searchsorted(found.cells, cell)]:
            said[cell] = "only one whole number is consistent with the relations around it"
            continue
        rows = found.chain(cell)
        names = [relation_name(found.release, row) for row in dict.fromkeys(rows)]
        if not names:
            said[cell] = "many relations and bounds"
        elif len(names) > _NAMED:
            said[cell] = f"bounds by {len(names)} relations"
        else:
            said[cell] = f"bounds by {', then '.join(names)}"
    return said


def how_judged(found: LargeDisclosure, widths: Widths, parallel: ParallelCells) -> tuple[str, ...]:
    """Say what was looked for in a large release, and what was not."""
    lines = [
        "This is a large table: cells are judged by relations and bounds, each that these give "
        "with a proof in whole numbers. What only whole numbers rule out beyond that was looked "
        f"for in {int(found.looked_at.sum()):,} more cells that can hardly move, by the solver's "
        "search among the relations around each."
    ]
    undecided = int(widths.between.sum())
    if undecided:
        cells = "1 cell" if undecided == 1 else f"{undecided:,} cells"
        lines.append(f"How close {cells} can be worked out is not decided.")
    pairs = parallel.known_sums
    if pairs:
        lines.append(
            f"{'1 pair' if pairs == 1 else f'{pairs:,} pairs'} of cells that cannot be worked out "
            "have a known sum."
        )
    if found.settled:
        lines.append(
            "No other cell can be worked out by relations and bounds, as far as floating point "
            "numbers tell."
        )
    lines += [f"Not finished: {what}." for what in found.unfinished]
    return tuple(lines)
