"""Groups of records within which values are swapped, joined until they are diverse or close.

Groups that depend on the confidential values can betray some of them (the minimality attack of
R. C.-W. Wong and others, 2007): that two groups were joined says that one of them was not diverse
before. One in k stays the bound on links all the same: a permutation of values within the groups of
before changes neither what they hold nor whether they are joined, so that all records of such a
group, k or more, are equally likely for each published value. But one in the size of the joined
group is not a bound, and a value can be more probable than its share of the group. Where no groups
were joined, nothing is betrayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError, phrase
from csp.exact import Bools, Floats, Ints, exact
from csp.names.calls import check_choice, whole_number
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.methods.vmdav import vmdav_labels

GROUPS = {"mdav": "MDAV", "vmdav": "V-MDAV", "random": "random groups"}
"""How groups are made, and what it is called."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are made.

    They have at least k records, gamma is that of V-MDAV, and in the end they have at least l
    values of each confidential attribute, at most t away from those of the file.
    """

    k: int
    groups: str = "mdav"
    gamma: float = 0.2
    l: int | None = None  # noqa: E741
    t: Fraction | None = None

    @classmethod
    def of(cls, k: int, groups: str, gamma: float, l: Any, t: Any) -> Grouping:  # noqa: E741
        """Check what a caller asks for: words, l from 1 on, t from 0 to 1."""
        check_choice("groups", groups, GROUPS)
        most = None if t is None else exact(t)
        if most is not None and not 0 <= most <= 1:
            msg = f"{phrase('t', '--close')} must be from 0 to 1, not {t!r}"
            raise InputError(msg)
        return cls(k, groups, gamma, None if l is None else whole_number("l", l), most)

    @property
    def name(self) -> str:
        """What was asked for beyond MDAV's groups of k; "" if nothing was."""
        parts = [] if self.groups == "mdav" else [GROUPS[self.groups]]
        if self.l is not None:
            parts.append(f"{self.l}-diverse")
        if self.t is not None:
            parts.append(f"{float(self.t):g}-close")
        return ", ".join(parts)

    @property
    def looks_at_values(self) -> bool:
        """Whether confidential values decide about groups."""
        return self.l is not None or self.t is not None

    def labels(self, points: Floats, random: np.random.Generator) -> Ints:
        """Group of each record, from scaled points or by chance; values are not looked at."""
        if self.groups == "vmdav":
            return vmdav_labels(points, self.k, self.gamma)
        if self.groups == "mdav":
            return mdav_labels(points, self.k)
        n = len(points)
        labels = np.empty(n, np.int64)
        labels[random.permutation(n)] = np.minimum(np.arange(n) // self.k, n // self.k - 1)
        return labels

    def widened(self, labels: Ints, points: Floats, values: Mapping[str, Floats]) -> Ints:
        """Join each group that is not diverse or close to the nearest, until all are.

        Distances are taken of the points, from mean to mean, the lowest number first among equals;
        `values` are the attributes that are permuted within the groups. The same labels are
        returned if nothing had to be joined. If not even the whole file is diverse, that is an
        error.
        """
        if not self.looks_at_values:
            return labels
        codes = [np.unique(column, return_inverse=True)[1].ravel() for column in values.values()]
        everyone = np.zeros(len(labels), np.int64)
        for code, name in zip(codes, values, strict=True):
            if self._fails(everyone, [code]).any():
                found = int(code.max()) + 1
                msg = (
                    f"{name!r} has {found} different values in the whole file, so no group has "
                    f"{self.l}; ask for a smaller {phrase('l', '--diverse')}"
                )
                raise InputError(msg)
        while (bad := np.flatnonzero(self._fails(labels, codes))).size:
            labels = _joined(labels, points, bad)
        return labels

    def _fails(self, labels: Ints, codes: Sequence[Ints]) -> Bools:
        """Say in which groups some attribute is not diverse, or not close, enough."""
        n, sizes = len(labels), np.bincount(labels)
        bad = np.zeros(len(sizes), bool)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(sizes)
        for code in codes:
            m = int(code.max()) + 1
            file = np.cumsum(np.bincount(code, minlength=m))
            for group, end in enumerate(ends.tolist()):
                size = int(sizes[group])
                counts = np.bincount(code[order[end - size : end]], minlength=m)
                if self.l is not None and np.count_nonzero(counts) < self.l:
                    bad[group] = True
                if self.t is not None and m > 1:
                    # Earth mover's distance with neighbouring values 1 / (m - 1) apart.
                    moved = int(np.abs(n * np.cumsum(counts) - size * file).sum())
                    bad[group] |= moved > self.t * n * size * (m - 1)
        return bad


def _joined(labels: Ints, points: Floats, bad: Ints) -> Ints:
    """Join each of some groups to the one with the nearest mean."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) for column in points.T]) / sizes[:, None]
    nearest = np.empty(len(bad), np.int64)
    for place, group in enumerate(bad.tolist()):
        far = ((means - means[group]) ** 2).sum(axis=1)
        far[group] = np.inf
        nearest[place] = far.argmin()
    edges = coo_array((np.ones(len(bad)), (bad, nearest)), shape=(len(sizes), len(sizes)))
    return np.asarray(connected_components(edges, directed=False)[1], np.int64)[labels]
