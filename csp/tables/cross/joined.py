"""A table some of whose codes become one: their cells are added up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, UNBOUNDED
from csp.tables.cells import T
from csp.tables.codes import Labels

__all__ = ["joined"]


def joined(table: T, name: str, mapping: Mapping[str, str]) -> T:
    """Table with codes of a dimension joined.

    Parameters
    ----------
    table : csp.Table
        Of counts, or of which no contributors are known: those of several cells do not add up.
    name : str
    mapping : mapping of str to str
        New code of codes of the dimension. All of the codes below one, where it gets its name.

    Raises
    ------
    InputError
        If contributors are known, or a new code is one of the table and not joined.
    """
    from scipy.sparse import csr_array

    if table.contributors is not None:
        msg = (
            "contributors of several cells do not add up, so cells cannot be joined; recode the "
            "records"
        )
        raise InputError(msg)
    d = table.names.index(name)
    labels = Labels.of(table.labels)
    known = {code: code for code in labels.categories[d]} | {
        old: new for old, new in mapping.items() if old in labels.categories[d]
    }
    # Cells of a code whose name others get are its sums already.
    tops = {new for old, new in known.items() if old != new and new in labels.categories[d]}
    kept: dict[tuple[str, ...], int] = {}
    target = np.empty(table.n_cells, np.int64)
    counts = np.ones(table.n_cells, bool)
    for i in range(table.n_cells):
        label = labels[i]
        new = known[label[d]]
        target[i] = kept.setdefault((*label[:d], new, *label[d + 1 :]), len(kept))
        counts[i] = not (new in tops and label[d] != new)
    n = len(kept)

    def summed(column: Any) -> Any:
        out = np.zeros(n, np.int64)
        np.add.at(out, target[counts], np.asarray(column)[counts])
        return out

    values = summed(table.values)
    if int(np.abs(values).max(initial=0)) > MAX_VALUE:
        msg = "joined cells are too large; use fewer decimals or a larger unit"
        raise InputError(msg)
    bounds = []
    for side, sign in ((table.lower, -1), (table.upper, 1)):
        open_, far = np.zeros(n, bool), np.abs(side) >= UNBOUNDED
        np.logical_or.at(open_, target, far)
        bounds.append(np.where(open_, sign * UNBOUNDED, summed(np.where(far, 0, side))))
    rows: dict[tuple[tuple[int, int], ...], None] = {}
    relations = table.relations
    for k in range(relations.shape[0]):
        span = slice(relations.indptr[k], relations.indptr[k + 1])
        cells = target[relations.indices[span]].tolist()
        members = {*zip(cells, relations.data[span].tolist(), strict=True)}
        # What was the sum of codes that are joined is the joined code itself.
        if len({cell for cell, _ in members}) == len(members):
            rows[tuple(sorted(members))] = None
    flat = [(k, cell, sign) for k, row in enumerate(rows) for cell, sign in row]
    at = np.array(flat, np.int64).reshape(-1, 3)
    structural = None
    if table.structural is not None:
        structural = np.ones(n, bool)
        np.logical_and.at(structural, target, table.structural)
    return table.replace(
        values=values, lower=bounds[0], upper=bounds[1], labels=list(kept),
        relations=csr_array((at[:, 2], (at[:, 0], at[:, 1])), shape=(len(rows), n)),
        structural=structural,
    )  # fmt: skip
