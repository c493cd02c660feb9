"""The registry: what is measured, on which problem, within which limit, and beside whom.

Specs are frozen: a name stands for the same problem for ever (`benchmarks.frozen` holds the
fingerprints), so that figures of different days and machines can be laid side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import posed
from benchmarks.goals import Goal
from csp.errors import InputError
from csp.problem.problem import Problem

GROUPS = (
    "tiny", "2d", "sparse", "fs", "hierarchical", "3d", "hierarchical-3d", "jj", "small", "audit",
    "linked", "office", "solvers",
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
    goal : Goal
        What is aimed at.
    note : str
        What was reached before, and other words on the goal.
    peers : tuple of str
        Solvers beside ours that make sense here, by the names of `benchmarks.peers`;
        "ilp:*" is every solver that PuLP finds.
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
    absent : str
        What is missing to pose the problem; empty if nothing is.
    """

    name: str
    group: str
    build: Callable[[], Problem]
    goal: Goal
    note: str = ""
    peers: tuple[str, ...] = ("argus",)
    method: str = "auto"
    time_limit: float = 60.0
    task: str = "suppress"
    tables: int = 1
    known: tuple[int, int] | None = None
    absent: str = ""

    @property
    def path(self) -> str:
        """Group and name."""
        return f"{self.group}/{self.name}"

    @property
    def target(self) -> str:
        """What is aimed at, in words."""
        return f"{self.goal}; {self.note}" if self.note else str(self.goal)


def specs(data: Path | None = None) -> tuple[Spec, ...]:
    """All specs, those included whose public instance is absent.

    Parameters
    ----------
    data : Path, optional
        Folder with the folder "instances"; see `benchmarks.posed.data_folder`.
    """
    folder = posed.data_folder(data)
    return (
        *_tiny(), *_two_way(), *_sparse(), *_fs(), *_hierarchical(), *_three_way(),
        *_hierarchical_three_way(), *_instances(folder), *_small(), *_audits(), *_linked(),
        *_office(), *_solvers(),
    )  # fmt: skip


def choose(
    registry: Sequence[Spec], wanted: Sequence[str] = (), only: Sequence[str] = ()
) -> tuple[Spec, ...]:
    """Pick specs.

    Parameters
    ----------
    registry : sequence of Spec
    wanted : sequence of str
        Groups, names, or ``GROUP/NAME``; all by default.
    only : sequence of str
        Patterns with ``*`` and ``?``; of the specs wanted, those are taken whose name, or
        ``GROUP/NAME``, fits one of them.

    Raises
    ------
    InputError
        If there is no such group or name, or nothing fits; the message tells the nearest names.
    """
    names = {word for s in registry for word in (s.group, s.name, s.path)}
    for word in wanted:
        if word not in names:
            near = get_close_matches(word, sorted(names), n=3, cutoff=0.5)
            hint = f"nearest: {', '.join(near)}" if near else f"groups: {', '.join(GROUPS)}"
            msg = f"there is no group or spec {word!r}; {hint} (--list shows all)"
            raise InputError(msg)
    chosen = [s for s in registry if not wanted or {s.group, s.name, s.path} & set(wanted)]
    for pattern in only:
        if not any(_fits(s, pattern) for s in chosen):
            within = sorted({word for s in chosen for word in (s.name, s.path)})
            near = get_close_matches(pattern.strip("*?"), within, n=3, cutoff=0.4)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            msg = f"--only {pattern!r} fits none of the {len(chosen)} specs chosen{hint}"
            raise InputError(msg)
    return tuple(s for s in chosen if not only or any(_fits(s, pattern) for pattern in only))


def _fits(spec: Spec, pattern: str) -> bool:
    return fnmatchcase(spec.name, pattern) or fnmatchcase(spec.path, pattern)


def digest(spec: Spec, problem: Problem) -> str:
    """Fingerprint of what is posed: values, relations, bounds, levels, costs, status, attackers."""
    table = problem.table
    arrays = [
        table.values, table.lower, table.upper, table.relations.indptr, table.relations.indices,
        table.relations.data, problem.lpl, problem.upl, problem.spl, problem.cost,
    ]  # fmt: skip
    if spec.task == "batch":
        arrays += posed.batch_of(problem, 20)
    seen = hashlib.sha256()
    for array in arrays:
        seen.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    seen.update("".join(problem.status.tolist()).encode())
    if problem.singletons is not None:
        seen.update(problem.singletons.tobytes())
    return seen.hexdigest()[:12]


# ---- the groups ----------------------------------------------------------------------------------

_PEERS = ("argus", "modular")


def _tiny() -> list[Spec]:
    """To try the benchmark out: every solver, in seconds."""
    return [
        Spec(
            f"frequency-{m}x{m}", "tiny", partial(posed.frequency, m, m),
            Goal(proven=True, agree=True), "", (*_PEERS, "ilp"),
        )
        for m in (5, 6)
    ]  # fmt: skip


def _two_way() -> list[Spec]:
    reached = {20: "0.05 s were reached", 30: "0.05 s were reached", 50: "0.16 s were reached"}
    counts = [
        Spec(
            f"frequency-{m}x{m}", "2d", partial(posed.frequency, m, m),
            Goal(proven=True, faster_than="argus"), reached[m], _PEERS,
        )
        for m in (20, 30, 50)
    ]  # fmt: skip
    magnitudes = [
        Spec(
            f"magnitude-{m}x{m}", "2d", partial(posed.magnitudes, m, m),
            Goal(proven=True, faster_than="argus"), "", _PEERS,
        )
        for m in (10, 20, 30)
    ]  # fmt: skip
    # The peer leaves sliding levels out of account, so its patterns cost less and are unsafe.
    sliding = [
        Spec(
            f"sliding-{m}x{m}", "2d", partial(posed.frequency, m, m, sliding=True),
            Goal(proven=True), "argus ignores sliding levels",
        )
        for m in (10, 20, 30, 50)
    ]  # fmt: skip
    return counts + magnitudes + sliding


def _sparse() -> list[Spec]:
    return [
        Spec(
            f"sparse-{m}x{m}", "sparse", partial(posed.sparse, m), Goal(proven=True, within=13),
            f"{reached} s were reached; argus ignores sliding levels",
        )
        for m, reached in ((20, "2.7"), (30, "0.2"), (50, "1.7"), (70, "12.8"))
    ]  # fmt: skip


def _fs() -> list[Spec]:
    proof = Goal(proven=True)
    sizes = (
        (100, 0.03, 60, proof, "0.15 s were reached", _PEERS),
        (200, 0.01, 60, proof, "0.95 s were reached", _PEERS),
        (300, 0.005, 60, proof, "4.0 s were reached", _PEERS),
        (500, 0.00224, 60, Goal(proven=True, within=60), "51 s were reached", ("argus",)),
        (1000, 0.001, 300, Goal(gap=0.05, memory=4096), "", ("argus",)),
    )
    found = [
        Spec(
            f"fs-{m}x{m}", "fs", partial(posed.fs_like, m, share), goal, note, peers,
            time_limit=limit,
        )
        for m, share, limit, goal, note, peers in sizes
    ]  # fmt: skip
    early = Spec(
        "fs-1000x1000-15s", "fs", partial(posed.fs_like, 1000, 0.001), Goal(),
        "with its gap, by the time limit of 15 s", (), time_limit=15,
    )  # fmt: skip
    return [*found, early]


def _hierarchical() -> list[Spec]:
    small, large = ((2, 4), (6, 8)), ((4, 7), (5, 5))
    return [
        Spec(
            "counts-605", "hierarchical", partial(posed.count_tree, small),
            Goal(proven=True), "", _PEERS,
        ),
        Spec(
            "frequency-1023", "hierarchical", partial(posed.tree_by_value, large),
            Goal(proven=True, within=3), "3.1 s were reached on a table of 925 cells", _PEERS,
        ),
        Spec(
            "magnitude-1023", "hierarchical", partial(posed.tree_magnitudes, large),
            Goal(proven=True, within=3), "",
        ),
    ]  # fmt: skip


def _three_way() -> list[Spec]:
    kinds = (("frequency", posed.cube, 0.1), ("magnitude", posed.magnitudes, 0.01))
    found = []
    for shape in ((5, 5, 5), (8, 8, 8), (10, 10, 5)):
        for kind, build, gap in kinds:
            goal = Goal(proven=True, within=2) if shape == (5, 5, 5) else Goal(gap=gap)
            note = "" if shape == (5, 5, 5) else "by the time limit of 60 s"
            name = f"{kind}-{'x'.join(map(str, shape))}"
            found.append(Spec(name, "3d", partial(build, *shape), goal, note))
    return found


def _hierarchical_three_way() -> list[Spec]:
    # Made after the description of a published comparison (sizes and levels; the draws are ours),
    # in which Modular's patterns cost 2520 and 11122.
    sizes = (("1625", ((3, 3), (4, 5), (4,))), ("7644", ((3, 3), (4, 4), (3, 8))))
    return [
        Spec(
            f"counts-{cells}", "hierarchical-3d", partial(posed.count_tree, branching),
            Goal(below="modular"), "safe over all relations at once", ("modular",),
        )
        for cells, branching in sizes
    ]  # fmt: skip


_INSTANCES: tuple[tuple[str, float, tuple[int, int] | None, Goal, str], ...] = (
    ("targus", 60, (2033155, 2033155), Goal(proven=True), ""),
    ("table8", 60, (103, 103), Goal(proven=True), ""),
    ("osorio", 60, (13, 13), Goal(proven=True), ""),
    ("dale", 60, (256, 256), Goal(proven=True), ""),
    ("cbs", 60, (403, 403), Goal(proven=True), ""),
    ("table7", 120, (3906958, 3906958), Goal(proven=True, faster_than="argus"), "aim 10 s"),
    ("table1", 60, (116974442, 116974442), Goal(proven=True, within=10), "9 s were reached"),
    ("hier13x7x7d", 300, (489276, 558090), Goal(gap=0.05, tighter=(489276, 558090)), ""),
    ("table3", 300, (7182610, 8971112), Goal(gap=0.05, tighter=(7182610, 8971112)), ""),
    (
        "jjtabeltest3", 300, (396498118, 497966085),
        Goal(gap=0.05, tighter=(396498118, 497966085)), "",
    ),
    (
        "toy3dsarah", 300, (193501533672, 206253172419),
        Goal(gap=0.05, tighter=(193501533672, 206253172419)), "",
    ),
    ("hier13", 300, (3958648, 7694746), Goal(gap=0.2), ""),
    ("hier13x13x7d", 300, (1453233, 2324456), Goal(gap=0.2), ""),
    ("hier13x13x13a", 300, (4379442, 7903453), Goal(gap=0.2), ""),
    ("two5in6", 300, (4456897, 15841381), Goal(gap=0.2), ""),
    ("ninenew", 300, (3258183, 14433577), Goal(gap=0.2), ""),
    ("hier13x13x13d", 300, None, Goal(), ""),
)  # fmt: skip
"""Public instances: limit in seconds, what was known of the optimum before (secondary cells;
proved by, or found with, τ-ARGUS's branch and cut and prototypes of this project), goal."""

_EARLY = ("hier13", "hier13x13x7d", "hier13x13x13a", "two5in6", "ninenew")
"""Instances of which a good pattern is wanted within a minute."""


def _instances(folder: Path | None) -> list[Spec]:
    found = []
    for name, limit, known, goal, note in _INSTANCES:
        build = partial(posed.instance, name, folder)
        absent = posed.missing(name, folder)
        found.append(
            Spec(
                name, "jj", build, goal, note, time_limit=limit, known=known, absent=absent
            )
        )  # fmt: skip
        if name in _EARLY:
            assert known is not None
            found.append(
                Spec(
                    f"{name}-60s", "jj", build, Goal(at_most=known[1]),
                    "by the time limit of 60 s", (), time_limit=60, known=known, absent=absent,
                )
            )  # fmt: skip
    return found


def _small() -> list[Spec]:
    aims = {4: (10e-6, "12 µs"), 5: (30e-6, "60 µs"), 6: (200e-6, "0.7 ms"), 7: (1e-3, "12 ms")}
    return [
        Spec(
            f"small-{m}x{m}-{'value' if by_value else 'unit'}", "small",
            partial(posed.small_template, m, by_value=by_value), Goal(proven=True, within=aim),
            f"mean; {reached} were reached with unit costs", ("ilp",), time_limit=60,
            task="batch", tables=10_000 if m < 6 else 1_000,
        )
        for by_value in (False, True)
        for m, (aim, reached) in aims.items()
    ]  # fmt: skip


def _audits() -> list[Spec]:
    return [
        Spec(
            "audit-50x50", "audit", partial(posed.frequency, 50, 50), Goal(within=0.2),
            "330 primary cells", (), task="audit",
        ),
        Spec(
            "audit-1000x1000", "audit", partial(posed.fs_like, 1000, 0.039),
            Goal(within=10, memory=4096), "39,000 primary cells", (), time_limit=300, task="audit",
        ),
    ]  # fmt: skip


def _linked() -> list[Spec]:
    return [
        Spec(
            f"linked-{r}x{s}x{t}", "linked", partial(posed.linked_tables, r, s, t),
            Goal(proven=True),
        )
        for r, s, t in ((8, 6, 6), (20, 10, 12), (40, 15, 20))
    ]  # fmt: skip


def _office() -> list[Spec]:
    small, middle, large, million = (
        (((5, 4, 3), (4, 5), (5,)), 20_000),
        (((10, 4, 4), (5, 6), (6,)), 100_000),
        (((18, 4, 3, 2), (8, 6), (6,)), 600_000),
        (((20, 5, 12), (9, 8), (7,)), 2_000_000),
    )
    cubes = ((4, 3), (4, 3), (5,), (6,))
    cases: tuple[tuple[str, Callable[[], Problem], int, Goal], ...] = (
        ("values-12900", partial(posed.office, *small), 60, Goal(gap=0.15, memory=512)),
        (
            "values-12900-singletons", partial(posed.office, *small, singletons=True), 60,
            Goal(memory=512),
        ),
        (
            "counts-12900", partial(posed.office, *small, rule="FREQ(4)", counts=True), 60,
            Goal(memory=512),
        ),
        (
            "household-4941",
            partial(posed.office, ((60,), (26,), (2,)), 4_000, rule="FREQ(5)", counts=True), 30,
            Goal(memory=512),
        ),
        (
            "household-9455",
            partial(posed.office, ((60,), (30,), (4,)), 9_000, rule="FREQ(4)", counts=True), 30,
            Goal(memory=512),
        ),
        (
            "by-value-7224",
            partial(
                posed.office, ((5, 4, 3), (4, 4), (3,)), 12_000, rule="FREQ(3,10)|NK(1,85)",
                cost="value",
            ), 60, Goal(memory=512),
        ),
        ("overlapping-14448", partial(posed.office_overlapping, 20_000), 60, Goal(memory=1024)),
        ("linked-25800", partial(posed.office_linked, 60_000), 60, Goal(memory=1024)),
        ("four-way-12138", partial(posed.office, cubes, 60_000), 60, Goal(memory=1024)),
        (
            "five-way-52020",
            partial(posed.office, ((4, 3), (4, 3), (5,), (4,), (5,)), 100_000), 60,
            Goal(memory=1024),
        ),
        ("values-53172", partial(posed.office, *middle), 60, Goal(gap=0.2, memory=1024)),
        ("values-294861", partial(posed.office, *large), 300, Goal(gap=0.15, memory=2048)),
        (
            "values-866576", partial(posed.office, *million), 600,
            Goal(gap=0.2, memory=3072),
        ),
        ("sparse", partial(posed.office_sparse, 650_000), 600, Goal(memory=12_288)),
    )  # fmt: skip
    return [
        Spec(name, "office", build, goal, "", ("modular",), time_limit=limit)
        for name, build, limit, goal in cases
    ]


def _solvers() -> list[Spec]:
    cases: tuple[tuple[str, Callable[[], Problem]], ...] = (
        ("counts-4x4", partial(posed.frequency, 4, 4)),
        ("counts-6x6", partial(posed.frequency, 6, 6)),
        ("counts-8x8-sliding", partial(posed.frequency, 8, 8, sliding=True)),
        ("counts-3x3x3", partial(posed.cube, 3, 3, 3)),
        ("counts-10x10", partial(posed.frequency, 10, 10)),
        ("counts-14x14", partial(posed.frequency, 14, 14)),
        ("counts-20x20", partial(posed.frequency, 20, 20)),
    )
    return [
        Spec(name, "solvers", build, Goal(proven=True, agree=True), "", ("ilp:*",))
        for name, build in cases
    ]
