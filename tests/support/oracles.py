"""Brute force for small tables, written from the papers alone.

Nothing here is shared with the package: plain Python integers and fractions decide what an
attacker can infer (Minami and Abe 2019, equations 1 to 9) and which pattern is the cheapest safe
one (Definitions 2 to 4). Only the attributes of tables and problems are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

__all__ = [
    "best_pattern",
    "integer_interval",
    "integer_tables",
    "is_safe",
    "pattern_cost",
    "rational_interval",
]

NO_BOUND = 2**62
NOT_FINITE = "the hidden cells are not bounded; the oracle enumerates finite sets only"

Equation = tuple[dict[int, int], int]
Domain = dict[int, tuple[int | None, int | None]]


# ---- the system an attacker sees ------------------------------------------------------------


def rows_of(table: Any) -> list[dict[int, int]]:
    """Relations as dictionaries cell -> coefficient."""
    relations = table.relations.tocoo()
    rows: list[dict[int, int]] = [{} for _ in range(table.relations.shape[0])]
    for row, column, value in zip(*relations.coords, relations.data, strict=True):
        entry = rows[int(row)]
        entry[int(column)] = entry.get(int(column), 0) + int(value)
    return rows


def hidden_cells(pattern: Sequence[Any], known: Sequence[int] = ()) -> list[int]:
    return [i for i, flag in enumerate(pattern) if flag and i not in set(known)]


def equations(table: Any, unknown: Sequence[int]) -> list[Equation]:
    """Relations with every published value moved to the right-hand side."""
    values = [int(v) for v in table.values]
    hidden = set(unknown)
    found = []
    for row in rows_of(table):
        left = {i: c for i, c in row.items() if c and i in hidden}
        right = -sum(c * values[i] for i, c in row.items() if i not in hidden)
        if left:
            found.append((left, right))
    return found


def bounds_of(table: Any, cell: int) -> tuple[int | None, int | None]:
    low, high = int(table.lower[cell]), int(table.upper[cell])
    return (None if low <= -NO_BOUND else low), (None if high >= NO_BOUND else high)


# ---- integer tables -------------------------------------------------------------------------


def propagate(system: list[Equation], domain: Domain) -> Domain | None:
    """Narrow the domains until nothing changes; None if one becomes empty."""
    domain = dict(domain)
    changed = True
    rounds = 0
    while changed:
        changed = False
        rounds += 1
        if rounds > 100_000:
            raise ValueError(NOT_FINITE)
        for left, right in system:
            for i, c in left.items():
                # c * x_i = right - the others, whose range follows from their domains
                low: int | None = right
                high: int | None = right
                for j, d in left.items():
                    if j == i:
                        continue
                    least, most = domain[j] if d > 0 else domain[j][::-1]
                    high = None if high is None or least is None else high - d * least
                    low = None if low is None or most is None else low - d * most
                if c < 0:
                    low, high = high, low
                a, b = domain[i]
                if low is not None and (a is None or -(-low // c) > a):
                    a, changed = -(-low // c), True
                if high is not None and (b is None or high // c < b):
                    b, changed = high // c, True
                if a is not None and b is not None and a > b:
                    return None
                domain[i] = (a, b)
    return domain


def completions(system: list[Equation], domain: Domain | None) -> Iterator[dict[int, int]]:
    """All integer solutions within the domains, by depth-first search."""
    domain = None if domain is None else propagate(system, domain)
    if domain is None:
        return
    finite = {i: (a, b) for i, (a, b) in domain.items() if a is not None and b is not None}
    open_cells = [i for i, (a, b) in finite.items() if a < b]
    if not open_cells:
        if len(finite) < len(domain):
            raise ValueError(NOT_FINITE)
        yield {i: a for i, (a, _) in finite.items()}
        return
    best = min(open_cells, key=lambda i: finite[i][1] - finite[i][0])
    a, b = finite[best]
    for value in range(a, b + 1):
        yield from completions(system, {**domain, best: (value, value)})


def integer_tables(table: Any, pattern: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """Every integer table that agrees with the published cells, within the bounds."""
    unknown = hidden_cells(pattern)
    start = whole_domain(table, pattern)
    values = [int(v) for v in table.values]
    for found in completions(equations(table, unknown), start):
        yield tuple(found.get(i, v) for i, v in enumerate(values))


def integer_interval(
    table: Any, pattern: Sequence[Any], cell: int
) -> tuple[int | None, int | None]:
    """Smallest and largest value of a cell over all integer tables; None where there is none."""
    if not pattern[cell]:
        return int(table.values[cell]), int(table.values[cell])
    system = equations(table, hidden_cells(pattern))
    domain = whole_domain(table, pattern)
    low, high = domain[cell]
    value = int(table.values[cell])

    def possible(v: int) -> bool:
        return any(True for _ in completions(system, {**domain, cell: (v, v)}))

    # The true value is possible, so the search from each end stops there at the latest. A
    # rational ray can be scaled to integers and added to the true table: no rational end means
    # no integer end.
    least = None if low is None else next(v for v in range(low, value + 1) if possible(v))
    most = None if high is None else next(v for v in range(high, value - 1, -1) if possible(v))
    return least, most


def whole_domain(table: Any, pattern: Sequence[Any]) -> Domain:
    """Whole numbers within each hidden cell's rational interval."""
    view = Outsider(table, pattern)
    ends = {i: view.interval(i) for i in hidden_cells(pattern)}
    return {
        i: (None if a is None else ceil(a), None if b is None else floor(b))
        for i, (a, b) in ends.items()
    }


# ---- rational tables ------------------------------------------------------------------------


def null_space(system: list[Equation], unknown: Sequence[int]) -> list[list[Fraction]]:
    """One row for each unknown: its deviation as a combination of the free deviations."""
    place = {cell: k for k, cell in enumerate(unknown)}
    rows = []
    for left, _ in system:
        row = [Fraction(0)] * len(unknown)
        for cell, c in left.items():
            row[place[cell]] = Fraction(c)
        rows.append(row)
    pivots: list[int] = []
    for column in range(len(unknown)):
        rank = len(pivots)
        chosen = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if chosen is None:
            continue
        rows[rank], rows[chosen] = rows[chosen], rows[rank]
        lead = rows[rank][column]
        rows[rank] = [v / lead for v in rows[rank]]
        for r, row in enumerate(rows):
            if r != rank and row[column]:
                factor = row[column]
                rows[r] = [v - factor * w for v, w in zip(row, rows[rank], strict=True)]
        pivots.append(column)
    free = [k for k in range(len(unknown)) if k not in set(pivots)]
    basis = []
    for k in range(len(unknown)):
        if k in set(pivots):
            row = rows[pivots.index(k)]
            basis.append([-row[j] for j in free])
        else:
            basis.append([Fraction(int(j == k)) for j in free])
    return basis


def maximum(goal: list[int], rows: list[list[int]], room: list[int]) -> Fraction | None:
    """Largest goal*t with rows*t <= room for free t, room >= 0; None if unbounded.

    Simplex from t = 0 with Bland's rule, in integers over one common denominator.
    """
    split = [[*row, *(-v for v in row)] for row in rows]
    width = 2 * len(goal)
    slack = len(rows)
    tableau = [[*row, *(int(i == j) for j in range(slack)), room[i]] for i, row in enumerate(split)]
    objective = [*goal, *(-v for v in goal), *([0] * slack), 0]
    basis = [width + i for i in range(slack)]
    denominator = 1
    while True:
        entering = next((j for j in range(width + slack) if objective[j] > 0), None)
        if entering is None:
            return Fraction(-objective[-1], denominator)
        leaving = None
        for i, row in enumerate(tableau):
            if row[entering] <= 0:
                continue
            if leaving is None:
                leaving = i
                continue
            other = tableau[leaving]
            order = row[-1] * other[entering] - other[-1] * row[entering]
            if order < 0 or (order == 0 and basis[i] < basis[leaving]):
                leaving = i
        if leaving is None:
            return None
        pivot_row = tableau[leaving]
        pivot = pivot_row[entering]
        for row in [*(r for k, r in enumerate(tableau) if k != leaving), objective]:
            factor = row[entering]
            row[:] = [
                (v * pivot - factor * w) // denominator for v, w in zip(row, pivot_row, strict=True)
            ]
        basis[leaving] = entering
        denominator = pivot


class Outsider:
    """The rational solutions left by a pattern, for attackers who know some suppressed cells."""

    def __init__(self, table: Any, pattern: Sequence[Any], known: Sequence[int] = ()) -> None:
        self.table = table
        self.place = {cell: k for k, cell in enumerate(hidden_cells(pattern, known))}
        unknown = list(self.place)
        # The true values of `known` cells move to the right-hand side like published ones.
        self.basis = null_space(equations(table, unknown), unknown)
        self.rows: list[list[int]] = []
        self.room: list[int] = []
        for cell, combination in zip(unknown, self.basis, strict=True):
            if not any(combination):
                continue
            scale = lcm(*(v.denominator for v in combination))
            row = [int(v * scale) for v in combination]
            value = int(table.values[cell])
            low, high = bounds_of(table, cell)
            if high is not None:
                self.rows.append(row)
                self.room.append((high - value) * scale)
            if low is not None:
                self.rows.append([-v for v in row])
                self.room.append((value - low) * scale)

    def interval(self, cell: int) -> tuple[Fraction | None, Fraction | None]:
        value = Fraction(int(self.table.values[cell]))
        k = self.place.get(cell)
        if k is None or not any(self.basis[k]):
            return value, value
        scale = lcm(*(v.denominator for v in self.basis[k]))
        goal = [int(v * scale) for v in self.basis[k]]
        up = maximum(goal, self.rows, self.room)
        down = maximum([-v for v in goal], self.rows, self.room)
        return (
            None if down is None else value - down / scale,
            None if up is None else value + up / scale,
        )


def rational_interval(
    table: Any, pattern: Sequence[Any], cell: int, known: Sequence[int] = ()
) -> tuple[Fraction | None, Fraction | None]:
    """Exact ends of a cell's interval over all rational tables; None where there is no end.

    `known` cells are suppressed, but the attacker knows their true values (an insider).
    """
    return Outsider(table, pattern, known).interval(cell)


# ---- safety and the optimum -----------------------------------------------------------------


def _reaches(problem: Any, view: Outsider, cell: int) -> bool:
    value = int(problem.table.values[cell])
    low, high = view.interval(cell)
    return (
        (low is None or low <= value - int(problem.lpl[cell]))
        and (high is None or high >= value + int(problem.upl[cell]))
        and (low is None or high is None or high - low >= int(problem.spl[cell]))
    )


def is_safe(
    problem: Any, pattern: Sequence[Any], also: Callable[[tuple[bool, ...]], bool] | None = None
) -> bool:
    """Whether every primary cell reaches its levels, also for each singleton's contributor.

    `also` is a further demand on the pattern; it is needed where the problem has a union rule.
    """
    if problem.union_rule is not None and also is None:
        msg = "the oracle does not know union rules; pass the demand as also="
        raise ValueError(msg)
    mask = tuple(bool(v) for v in pattern)
    if any(f and not m for f, m in zip(problem.forced, mask, strict=True)):
        return False
    if also is not None and not also(mask):
        return False
    primaries = [i for i, flag in enumerate(problem.primary) if flag]
    outsider = Outsider(problem.table, mask)
    if not all(_reaches(problem, outsider, p) for p in primaries):
        return False
    for s, flag in enumerate(problem.alone):
        if flag:
            known, part_of = knowledge(problem, s)
            insider = Outsider(problem.table, mask, known)
            if not all(_reaches(problem, insider, p) for p in primaries if p not in part_of):
                return False
    return True


def knowledge(problem: Any, s: int) -> tuple[list[int], set[int]]:
    """Cells that the only contributor of cell s knows, and cells that it takes part in."""
    table = problem.table
    inside, filled = nesting(table)
    n = len(filled)
    singles = [i for i in range(n) if problem.alone[i]]
    ids = None if table.contributors is None else table.contributors.ids

    def same(a: int, b: int) -> bool:
        if ids is not None and ids[a][0] >= 0 and ids[a][0] == ids[b][0]:
            return True
        return any(inside[a][c] and inside[b][c] and filled[c] for c in range(n))

    alone = {s}
    while True:
        more = {t for t in singles if t not in alone and any(same(t, a) for a in alone)}
        if not more:
            break
        alone |= more
    known = [c for c in range(n) if any(inside[a][c] for a in alone)]
    mine = [c for c in known if filled[c]]
    part_of = {p for p in range(n) if p in known or any(inside[p][c] for c in mine)}
    if ids is not None:
        # Nobody can be an insider of a cell that lists it: it takes part in it.
        who = {int(i) for a in alone for i in ids[a] if i >= 0}
        part_of |= {p for p in range(n) if who & {int(i) for i in ids[p]}}
    return known, part_of


def nesting(table: Any) -> tuple[list[list[bool]], list[bool]]:
    """``inside[i][j]``: cell j is cell i or part of it; and which cells are not empty."""
    n = len(table.values)
    inside = [[i == j for j in range(n)] for i in range(n)]  # inside[i][j]: j is part of i
    for row in rows_of(table):
        for total in (i for i, a in row.items() if a < 0):
            for part in (i for i, a in row.items() if a > 0):
                inside[total][part] = True
    for k in range(n):
        for i in range(n):
            if inside[i][k]:
                inside[i] = [a or b for a, b in zip(inside[i], inside[k], strict=True)]
    people = table.contributors
    filled = [bool(v) for v in (table.values if people is None else people.count)]
    return inside, filled


def pattern_cost(problem: Any, pattern: Sequence[Any]) -> int:
    """Cost of the secondary cells: status s or x; primaries and w cells cost nothing."""
    return sum(
        int(c)
        for c, letter, flag in zip(problem.cost, problem.status, pattern, strict=True)
        if flag and letter in ("s", "x")
    )


def places(table: Any) -> list[int]:
    """Position of each cell among the sorted labels."""

    def key(label: Sequence[str]) -> list[tuple[int, int, str]]:
        pairs = zip(label, table.roots, strict=True)
        return [(1 if code == root else 0, len(code), code) for code, root in pairs]

    ranked = sorted(key(label) for label in table.labels)
    return [ranked.index(key(label)) for label in table.labels]


def best_pattern(
    problem: Any, also: Callable[[tuple[bool, ...]], bool] | None = None
) -> tuple[bool, ...] | None:
    """Cheapest safe pattern of all; ties go to the smallest sum of 2**i over suppressed cells.

    The i-th cell is the i-th in the order of labels: short codes first, totals last.

    None if no pattern is safe. Without `also`, a superset of a safe pattern is safe, so subsets
    of a pattern found unsafe need no test: each unsafe pattern is first grown as far as it stays
    unsafe.
    """
    n = problem.table.n_cells
    place = places(problem.table)
    forced = sum(1 << place[i] for i in range(n) if problem.status[i] in ("u", "x", "w"))
    cost_at = {place[i]: int(problem.cost[i]) for i in range(n) if problem.status[i] == "s"}
    free = sorted(cost_at)
    answers: dict[int, bool] = {}
    unsafe: list[int] = []

    def mask(code: int) -> tuple[bool, ...]:
        return tuple(bool(code >> place[i] & 1) for i in range(n))

    def safe(code: int) -> bool:
        if code not in answers:
            answers[code] = is_safe(problem, mask(code), also)
        return answers[code]

    everything = forced | sum(1 << i for i in free)
    if also is None and not safe(everything):
        return None
    costs = {0: 0}
    for i in free:
        costs |= {code | 1 << i: cost + cost_at[i] for code, cost in costs.items()}
    for _, extra in sorted((cost, code) for code, cost in costs.items()):
        code = forced | extra
        if also is None and any(code & ~big == 0 for big in unsafe):
            continue
        if safe(code):
            return mask(code)
        if also is None:
            for i in free:
                if not code >> i & 1 and not safe(code | 1 << i):
                    code |= 1 << i
            unsafe.append(code)
    return None
