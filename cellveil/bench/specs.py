"""The registry: what is measured, on which problem, within which limit, and beside whom.

Specs are frozen: a name stands for the same problem for ever (a test holds their digests), so
that figures of different days and machines can be laid side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.bench import posed
from csp.problem import Problem

__all__ = ["GROUPS", "Spec", "choose", "digest", "groups", "specs"]

GROUPS = (
    "tiny", "2d", "sparse", "fs", "hierarchical", "3d", "hierarchical-3d", "jj", "small", "audit",
    "linked", "solvers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spec:
    """One line of the benchmark.

    Attributes
    ----------
    name : str
        Unique; ``GROUP/NAME`` names the spec as well.
    group : str
        One of `GROUPS`.
    build : callable
        Poses the problem.
    target : str
        What is aimed at, in words.
    peers : tuple of str
        Solvers beside ours that make sense here, by the names of `cellveil.bench.peers`;
        "compact:*" is every solver that PuLP finds.
    method : str
        Method of `csp.suppress`.
    time_limit : float
        Wall seconds for each solver.
    task : {"suppress", "batch", "audit"}
        "batch" solves `tables` small tables at once and reports the mean; "audit" times the audit
        of a pattern that is found beforehand.
    tables : int
        Number of tables of a batch.
    known : (int, int) or None
        Least and largest that the optimum can be, from elsewhere, in units of the cost; equal if
        it is known.
    """

    name: str
    group: str
    build: Callable[[], Problem]
    target: str = ""
    peers: tuple[str, ...] = ("argus",)
    method: str = "auto"
    time_limit: float = 60.0
    task: str = "suppress"
    tables: int = 1
    known: tuple[int, int] | None = None


def groups() -> tuple[str, ...]:
    """Names of the groups, in the order of a run."""
    return GROUPS


def specs() -> tuple[Spec, ...]:
    """All specs; those of public instances only where the instances are present."""
    return (
        *_tiny(), *_two_way(), *_sparse(), *_fs(), *_hierarchical(), *_three_way(),
        *_hierarchical_three_way(), *_instances(), *_small(), *_audits(), *_linked(), *_solvers(),
    )  # fmt: skip


def choose(wanted: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> tuple[Spec, ...]:
    """Specs of some groups (all by default), of these those of some names (all by default).

    Raises
    ------
    InputError
        If there is no such group or name.
    """
    from csp.errors import InputError

    for name in wanted:
        if name not in GROUPS:
            msg = f"there is no group {name!r}; there are {', '.join(GROUPS)}"
            raise InputError(msg)
    chosen = [spec for spec in specs() if not wanted or spec.group in wanted]
    known = {name for spec in chosen for name in (spec.name, f"{spec.group}/{spec.name}")}
    for name in only:
        if name not in known:
            msg = f"there is no spec {name!r} in the groups chosen; --list shows those there are"
            raise InputError(msg)
    if not chosen:
        msg = f"{', '.join(wanted)}: no public instances were found; name them in CELLVEIL_DATA"
        raise InputError(msg)
    return tuple(
        s for s in chosen if not only or s.name in only or f"{s.group}/{s.name}" in only
    )


def digest(problem: Problem) -> str:
    """Fingerprint of what a problem poses: values, relations, bounds, levels, costs, status."""
    table = problem.table
    seen = hashlib.sha256()
    for array in (
        table.values, table.lower, table.upper, table.relations.indptr, table.relations.indices,
        table.relations.data, problem.lpl, problem.upl, problem.spl, problem.cost,
    ):  # fmt: skip
        seen.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    seen.update("".join(problem.status.tolist()).encode())
    return seen.hexdigest()[:12]


# ---- the groups ----------------------------------------------------------------------------------


def _tiny() -> list[Spec]:
    """To try the benchmark out: seconds for everything."""
    return [
        Spec(
            "frequency-8x8", "tiny", partial(posed.frequency, 8, 8),
            "every solver answers, with one optimum", ("argus", "modular", "compact"),
        ),
    ]  # fmt: skip


def _two_way() -> list[Spec]:
    found = [
        Spec(
            f"frequency-{m}x{m}", "2d", partial(posed.frequency, m, m),
            f"proven; not slower than the peer; {reached} s were reached", ("argus", "modular"),
        )
        for m, reached in ((20, "0.05"), (30, "0.05"), (50, "0.16"))
    ]  # fmt: skip
    # The peer leaves sliding levels out of account, so its patterns cost less and are unsafe.
    return found + [
        Spec(
            f"sliding-{m}x{m}", "2d", partial(posed.frequency, m, m, sliding=True),
            f"proven; {reached} s were reached; the peer ignores sliding levels",
            ("argus", "compact") if m <= 10 else ("argus",),
        )
        for m, reached in ((10, "0.05"), (20, "0.05"), (30, "0.05"), (50, "0.16"))
    ]  # fmt: skip


def _sparse() -> list[Spec]:
    return [
        Spec(
            f"sparse-{m}x{m}", "sparse", partial(posed.sparse, m),
            f"proven within 13 s; {reached} s were reached; sliding, so the peer is unsafe here",
        )
        for m, reached in ((20, "2.7"), (30, "0.2"), (50, "1.7"), (70, "12.8"))
    ]  # fmt: skip


def _fs() -> list[Spec]:
    sizes = (
        (100, 0.03, 60, "proven; 0.15 s were reached", ("argus", "modular")),
        (200, 0.01, 60, "proven; 0.95 s were reached", ("argus", "modular")),
        (300, 0.005, 60, "proven; 4.0 s were reached", ("argus", "modular")),
        (500, 0.00224, 60, "proven within 60 s", ("argus",)),
        (1000, 0.001, 300, "gap 5 % within 300 s, memory within 4 GB", ("argus",)),
    )
    found = [
        Spec(
            f"fs-{m}x{m}", "fs", partial(posed.fs_like, m, share), target, peers,
            time_limit=limit,
        )
        for m, share, limit, target, peers in sizes
    ]  # fmt: skip
    return [
        *found,
        Spec(
            "fs-1000x1000-15s", "fs", partial(posed.fs_like, 1000, 0.001),
            "an audited pattern with its gap within 15 s", (), time_limit=15,
        ),
    ]  # fmt: skip


def _hierarchical() -> list[Spec]:
    small, large = ((2, 4), (6, 8)), ((4, 7), (4, 5))
    return [
        Spec(
            "counts-605", "hierarchical", partial(posed.count_tree, small),
            "proven, cheaper than Modular", ("argus", "modular"),
        ),
        Spec(
            "frequency-825", "hierarchical", partial(posed.tree_by_value, large),
            "proven within 3 s", ("argus", "modular"),
        ),
        Spec(
            "magnitude-825", "hierarchical", partial(posed.tree_magnitudes, large),
            "proven within 3 s", ("argus",),
        ),
    ]  # fmt: skip


def _three_way() -> list[Spec]:
    kinds = (("frequency", posed.cube), ("magnitude", posed.magnitudes))
    found = []
    for shape in ((5, 5, 5), (8, 8, 8), (10, 10, 5)):
        for kind, build in kinds:
            target = "proven within 2 s"
            if shape != (5, 5, 5):
                target = f"gap {10 if kind == 'frequency' else 1} % within 60 s"
            name = f"{kind}-{'x'.join(map(str, shape))}"
            found.append(Spec(name, "3d", partial(build, *shape), target))
    return found


def _hierarchical_three_way() -> list[Spec]:
    sizes = (("1625", ((3, 3), (4, 5), (4,))), ("7644", ((3, 3), (4, 4), (3, 8))))
    return [
        Spec(
            f"counts-{cells}", "hierarchical-3d", partial(posed.count_tree, branching),
            "cheaper than Modular within 60 s, safe over all relations", ("modular",),
        )
        for cells, branching in sizes
    ]  # fmt: skip


_OPEN = "gap 5 % within 300 s, better on both sides than what is known"
_HARD = "an audited pattern no dearer than the known one within 60 s, gap 20 % within 300 s"
_INSTANCES: tuple[tuple[str, float, tuple[int, int] | None, str], ...] = (
    ("targus", 60, (2033155, 2033155), "proven"),
    ("table8", 60, (103, 103), "proven"),
    ("osorio", 60, (13, 13), "proven"),
    ("dale", 60, (256, 256), "proven"),
    ("cbs", 60, (403, 403), "proven"),
    ("table7", 120, (3906958, 3906958), "proven before the peer; aim 10 s"),
    ("table1", 60, (116974442, 116974442), "proven within 10 s"),
    ("hier13x7x7d", 300, (489276, 558090), _OPEN),
    ("table3", 300, (7182610, 8971112), _OPEN),
    ("jjtabeltest3", 300, (396498118, 497966085), _OPEN),
    ("toy3dsarah", 300, (193501533672, 206253172419), _OPEN),
    ("hier13", 300, (3958648, 7694746), _HARD),
    ("hier13x13x7d", 300, (1453233, 2324456), _HARD),
    ("hier13x13x13a", 300, (4379442, 7903453), _HARD),
    ("two5in6", 300, (4456897, 15841381), _HARD),
    ("ninenew", 300, (3258183, 14433577), _HARD),
    ("hier13x13x13d", 300, None, "an audited pattern with its gap"),
)
"""Public instances: limit in seconds, what was known of the optimum before (secondary cells;
proved by, or found with, τ-ARGUS's branch and cut and prototypes of this project), target."""


def _instances() -> list[Spec]:
    folder = posed.data_folder()
    if folder is None:
        return []
    here = [row for row in _INSTANCES if (folder / "instances" / f"{row[0]}.jj.gz").is_file()]
    found = [
        Spec(name, "jj", partial(posed.instance, name), target, time_limit=limit, known=known)
        for name, limit, known, target in here
    ]
    early = [
        Spec(
            f"{name}-60s", "jj", partial(posed.instance, name),
            "an audited pattern no dearer than the known one", (), time_limit=60, known=known,
        )
        for name, _, known, target in here
        if target == _HARD
    ]  # fmt: skip
    return found + early


def _small() -> list[Spec]:
    aims = {4: "10 µs", 5: "30 µs", 6: "200 µs", 7: "1000 µs"}
    return [
        Spec(
            f"small-{m}x{m}-{'value' if by_value else 'unit'}", "small",
            partial(posed.small_template, m, by_value=by_value), f"mean {aims[m]} a table",
            ("compact",), time_limit=60, task="batch", tables=10_000 if m < 6 else 1_000,
        )
        for by_value in (False, True)
        for m in aims
    ]  # fmt: skip


def _audits() -> list[Spec]:
    return [
        Spec(
            "audit-50x50", "audit", partial(posed.frequency, 50, 50),
            "about 300 primaries within 0.2 s", (), task="audit",
        ),
        Spec(
            "audit-1000x1000", "audit", partial(posed.fs_like, 1000, 0.039),
            "39,000 primaries within 10 s, memory within 4 GB", (), time_limit=300, task="audit",
        ),
    ]  # fmt: skip


def _linked() -> list[Spec]:
    return [
        Spec(
            f"linked-{r}x{s}x{t}", "linked", partial(posed.linked_tables, r, s, t),
            "proven", ("argus",),
        )
        for r, s, t in ((8, 6, 6), (20, 10, 12), (40, 15, 20))
    ]  # fmt: skip


def _solvers() -> list[Spec]:
    cases: tuple[tuple[str, Callable[[], Problem]], ...] = (
        ("compact-4x4", partial(posed.frequency, 4, 4)),
        ("compact-6x6", partial(posed.frequency, 6, 6)),
        ("compact-8x8-sliding", partial(posed.frequency, 8, 8, sliding=True)),
        ("compact-3x3x3", partial(posed.cube, 3, 3, 3)),
    )
    return [
        Spec(name, "solvers", build, "every solver proves one optimum", ("compact:*",))
        for name, build in cases
    ]
