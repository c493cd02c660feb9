"""A table some of whose codes become one: their cells are added up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, UNBOUNDED
from csp.sparse import rows_of
from csp.tables.cells import Cells, T
from csp.tables.codes import Labels
from csp.tables.margins import codes_along


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
        If contributors are known, or a new code is the sum of codes of the table and not all of
        these, or others, are joined.
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
    tops = _tops(table, d, known)
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
    for cells, signs in rows_of(table.relations):
        members = {*zip(target[cells].tolist(), signs.tolist(), strict=True)}
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


def _tops(table: Cells, d: int, known: Mapping[str, str]) -> set[str]:
    """Return the new codes whose cells are the sums already, as the relations show."""
    groups: dict[str, set[str]] = {}
    for old, new in known.items():
        if old != new:
            groups.setdefault(new, set()).add(old)
    labels = Labels.of(table.labels)
    texts = labels.categories[d]
    parts: dict[str, set[str]] = {}
    for above, part in codes_along(table.relations, labels.codes)[1][d].tolist():
        parts.setdefault(texts[above], set()).add(texts[part])
    tops = groups.keys() & parts.keys()
    for top in sorted(tops):
        below, stack = set[str](), [*parts[top]]
        while stack:
            code = stack.pop()
            if code not in below:
                below.add(code)
                stack.extend(parts.get(code, ()))
        if below != groups[top]:
            odd = min(below ^ groups[top])
            msg = (
                f"{top!r} is a sum of codes of {table.names[d]!r}, and {odd!r} is "
                + ("not joined with them" if odd in below else "not one of these")
                + "; choose another name, or join all of them and nothing else"
            )
            raise InputError(msg)
    return tops
