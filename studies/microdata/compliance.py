"""Compliant k-anonymity in five ways, and what suppression needs to know of relations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.microdata.files import FILES, load

if TYPE_CHECKING:
    from microagg.partitions.partition import Partition
    from microagg.records import Records

RULE = "P(60)"
SETS = ("iris", "concrete", "census", "EIA11", "abalone", "ionosphere", "adult")

SUPPRESSED = ("census", "EIA", "iris", "abalone", "concrete")
"""Files whose means are suppressed."""

OPTIMISED = 1200
"""Most records of a file for which the study asks for the optimum."""


@dataclass(frozen=True, slots=True)
class Way:
    """One file made compliant in one way."""

    data: str
    k: int
    method: str
    information_loss: float
    unsafe: int
    clusters: int
    dropped: int
    bound: float | None
    seconds: float

    def row(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Suppressing:
    """Suppression of one file's unsafe means, by what is known to the attacker."""

    data: str
    k: int
    cells: int
    primary: int
    blind: int
    exposed: int
    exact: int
    secondary: int
    proven: bool
    gap: float
    pairs: int
    pairs_exposed: int
    identities: str
    seconds: float

    def row(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def ways(
    folder: Path,
    *,
    sets: tuple[str, ...] = SETS,
    ks: tuple[int, ...] = (3, 5, 8, 10),
    limit: float = 120.0,
    say: Callable[[str], None] | None = None,
) -> Iterator[Way]:
    """Make each file compliant with `RULE` in each way; judged anew by the rules of tables."""
    import microagg
    from csp.errors import CellveilError

    for name in sets:
        records = load(name, folder)
        negative = FILES[name].negative
        for k in ks:
            if say is not None:
                say(f"{name}, k = {k}")
            start = time.process_time()
            plain = microagg.mdav(records, k, constant="keep")
            spent = time.process_time() - start
            yield _way(name, records, plain, k, "MDAV", negative, spent)
            for title, method in (
                ("merge", microagg.Merge(moves=False)), ("merge, moved", microagg.Merge()),
                ("grow, moved", microagg.Grow()), ("drop", microagg.Drop()),
                ("optimise", microagg.Optimise()),
            ):  # fmt: skip
                if title == "optimise" and records.n > OPTIMISED:
                    continue
                begun = None if method.name == "grow" else plain
                start = time.process_time()
                try:
                    found = microagg.comply(
                        records, k, RULE, method=method, negative=negative, constant="keep",
                        partition=begun, time_limit=limit,
                    )  # fmt: skip
                except CellveilError:
                    continue
                spent = time.process_time() - start
                kept = records if not found.dropped else _kept(records, found.rows)
                yield _way(
                    name, kept, found.partition, k, title, negative, spent, len(found.dropped),
                    found.bound,
                )  # fmt: skip


def uniform_k(folder: Path, name: str, *, most: int = 150) -> tuple[int, float] | None:
    """Smallest k from 3 on with which plain MDAV has no unsafe cell, and its information loss."""
    import microagg

    records = load(name, folder)
    for k in range(3, most + 1):
        partition = microagg.mdav(records, k, constant="keep")
        found = microagg.disclosure(records, partition, RULE, negative=FILES[name].negative)
        if not found.count:
            return k, partition.information_loss
    return None


def suppressing(
    folder: Path,
    *,
    sets: tuple[str, ...] = SUPPRESSED,
    ks: tuple[int, ...] = (3, 5, 8, 10),
    limit: float = 120.0,
    say: Callable[[str], None] | None = None,
) -> Iterator[Suppressing]:
    """Suppress with and without knowing the identities of attributes, and in pairs."""
    import microagg
    from csp.errors import CellveilError
    from microagg.compliance.suppress import cluster_problem, paired, suppress_clusters

    for name in sets:
        records = load(name, folder)
        for k in ks:
            if say is not None:
                say(f"suppressing {name}, k = {k}")
            partition = microagg.mdav(records, k)
            options: dict[str, Any] = {"negative": FILES[name].negative, "top": 2}
            known = microagg.cluster_table(records, partition, **options)
            blind = microagg.cluster_table(records, partition, identities=None, **options)
            problem = cluster_problem(known, RULE, unions=False)
            start = time.process_time()
            try:
                columns = suppress_clusters(blind, RULE, time_limit=limit)
                found = suppress_clusters(known, RULE, time_limit=limit)
            except CellveilError:
                continue
            spent = time.process_time() - start
            c, d = known.shape
            pattern = problem.forced.copy()
            pattern[: c * d] = columns.hidden.ravel()
            exposed, exact = _exposed(problem, pattern)
            pairs = paired(known, RULE)
            primary = int(problem.primary.sum())
            yield Suppressing(
                name, k, c * d, primary, int(columns.hidden.sum()) - primary, exposed, exact,
                int(found.hidden.sum()) - primary, found.suppression.proven,
                found.suppression.gap,
                int(pairs[: c * d].sum()) - primary, _exposed(problem, pairs)[0],
                "; ".join(map(str, known.identities)), spent,
            )  # fmt: skip


def _exposed(problem: Any, pattern: Any) -> tuple[int, int]:
    """Primary cells that miss their levels under a pattern, and those known exactly."""
    from csp.audits.audit import audit

    seen = audit(problem, pattern)
    kinds = ("lower", "upper", "sliding")
    short = {v.cells[0] for v in seen.violations if v.kind in kinds}
    exact = problem.primary & (seen.lower == seen.upper)
    return len(short | set(np.flatnonzero(exact).tolist())), int(exact.sum())


def _way(
    name: str,
    records: Records,
    partition: Partition,
    k: int,
    method: str,
    negative: str,
    seconds: float,
    dropped: int = 0,
    bound: float | None = None,
) -> Way:
    import microagg

    unsafe = microagg.disclosure(records, partition, RULE, negative=negative).count
    return Way(
        name, k, method, partition.information_loss, unsafe, len(partition.sizes), dropped, bound,
        seconds,
    )  # fmt: skip


def _kept(records: Records, rows: Any) -> Records:
    from microagg.records import Records

    return Records(records.names, tuple(c[rows] for c in records.columns), records.scale)
