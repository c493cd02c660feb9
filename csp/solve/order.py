"""The order of cells in which equally cheap patterns are compared: that of their labels.

The order in which a caller happens to list the cells must not decide which pattern is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from csp.audits.claims import Certificate
from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.solve.result import Suppression
from csp.tables.codes import Labels
from csp.tables.table import Table

BINARY_UP_TO = 2000
"""Number of cells up to which patterns are compared as binary numbers (part of the mechanism)."""


class Labelled(Protocol):
    """Cells with labels: a table, or a release of one."""

    @property
    def labels(self) -> Sequence[tuple[str, ...]]:
        """Codes of each cell."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Code of the total in each dimension."""


def label_order(table: Labelled) -> Ints:
    """Cells in the order of their labels.

    Codes are compared one dimension after the other: short codes before long ones, so that 9
    comes before 10, codes of one length by their characters, the total last.

    Returns
    -------
    (n,) int64
        Cell numbers; 0, 1, 2, ... for the cells of `Table.from_array`.

    Examples
    --------
    >>> from csp import Table
    >>> table = Table.from_array([[1, 2], [3, 4]])
    >>> label_order(table).tolist() == list(range(9))
    True
    """
    labels, ranks = Labels.of(table.labels), []
    for position, root in enumerate(table.roots):
        codes = labels.categories[position]
        ordered = sorted(
            range(len(codes)), key=lambda i: (codes[i] == root, len(codes[i]), codes[i])
        )
        rank = np.empty(len(codes), np.int64)
        rank[ordered] = np.arange(len(codes))
        ranks.append(rank[labels.codes[:, position]])
    return np.lexsort(ranks[::-1]).astype(np.int64)


def reordered(problem: Problem, order: Ints) -> Problem:
    """Return the same problem with its cells in another order.

    Parameters
    ----------
    problem : Problem
    order : (n,) int64
        Which cell comes first, second, and so on.
    """
    if (order[1:] > order[:-1]).all():
        return problem
    from scipy.sparse import csr_array

    table = problem.table
    structural, people = table.structural, table.contributors
    cells = ("primary", "lpl", "upl", "spl", "cost", "status")
    alone = problem.singletons
    return replace(
        problem,
        table=table.replace(
            values=table.values[order],
            relations=csr_array(table.relations[:, order]),
            lower=table.lower[order],
            upper=table.upper[order],
            labels=Labels.of(table.labels).take(order),
            contributors=None if people is None else people.take(order),
            structural=None if structural is None else structural[order],
        ),
        singletons=None if alone is None else alone[order],
        **{name: getattr(problem, name)[order] for name in cells},
    )


def restored(found: Suppression, table: Table, order: Ints) -> Suppression:
    """Return an answer to `reordered` with its cells in the order (n,) of the table again."""
    pattern = np.zeros(table.n_cells, dtype=bool)
    pattern[order] = found.pattern
    pattern.flags.writeable = False
    audit = found.audit
    if audit is not None:
        arrays = {name: getattr(audit, name) for name in ("lower", "upper", "exact")}
        for name, array in arrays.items():
            arrays[name] = np.empty_like(array)
            arrays[name][order] = array
            arrays[name].flags.writeable = False
        audit = replace(
            audit, **arrays, certificate=_renumbered(audit.certificate, table, pattern, order)
        )
    return replace(found, pattern=pattern, audit=audit)


def _renumbered(certificate: Certificate, table: Table, pattern: Bools, order: Ints) -> Certificate:
    places: dict[int, Ints] = {}
    claims = []
    for claim in certificate:
        # Claims that share a witness go on sharing it.
        cells = places.setdefault(id(claim.cells), order[claim.cells])
        cell, known = int(order[claim.cell]), tuple(int(order[c]) for c in claim.known)
        claims.append(replace(claim, cell=cell, known=known, cells=cells))
    return Certificate(table, pattern, tuple(claims))
