"""JJ files: cell suppression problems as τ-ARGUS, sdcTable and the literature exchange them.

Line 1 is ``0``, line 2 the number of cells n, then n lines
``id value cost status lb ub lpl upl spl``, a line with the number of relations m, and m lines
``rhs k : id (coefficient) id (coefficient) ...``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, NotAdditive
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints, read_decimal, read_whole
from csp.formats.files import Together, joined
from csp.formats.reading import read_text
from csp.problem.problem import Problem
from csp.sparse import entries
from csp.tables.patterns import STATUS
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COLUMNS = ("id", "value", "cost", "status", "lb", "ub", "lpl", "upl", "spl")
MEMBERS = re.compile(r"(?:\s*\d+\s*\(\s*[+-]?\d+(?:\.0*)?\s*\))*\s*")
MEMBER = re.compile(r"(\d+)\s*\(\s*([+-]?\d+)")

MEASURES = ("value", "lb", "ub", "lpl", "upl", "spl")
"""Columns that share the scale of the table."""

SHORT = 18
"""Tokens of at most this many characters are numbers of 64 bits, whatever digits they hold."""

MAX_DECIMALS = 15
"""More decimal places than this cannot be held by a value of any size."""

Number = int | Decimal


def read_jj(path: str | os.PathLike[str]) -> Problem:
    """Read a cell suppression problem.

    Parameters
    ----------
    path : path-like
        Plain or gzipped.

    Returns
    -------
    Problem
        Labels are ``(id,)``. The scale is the smallest at which every value, bound and level is
        whole, the cost scale likewise; bounds beyond `csp.exact.MAX_VALUE` units count as
        `csp.UNBOUNDED`. A cell of status "u" whose levels are all 0 gets a sliding level of one
        unit: it must at least not be known exactly.

    Raises
    ------
    InputError
        For anything that breaks the layout or the rules of a problem; path, line number and what
        was expected are named.
    NotAdditive
        If a relation does not hold (line named).
    """
    lines = _Lines(path)
    if lines.whole("0, as in the first line of a JJ file") != 0:
        lines.fail("expected 0, as in the first line of a JJ file")
    n = lines.whole("the number of cells")
    if n < 1:
        lines.fail("a table needs at least one cell")
    cells = _Cells(lines, n)
    ids = cells.ids()
    status = cells.status()
    columns = {name: cells.numbers(name) for name in (*MEASURES, "cost")}
    scale = max(cells.decimals(name, columns[name]) for name in MEASURES)
    cost_scale = cells.decimals("cost", columns["cost"])
    units = {name: cells.units(name, columns[name], scale) for name in MEASURES}
    cost = cells.units("cost", columns["cost"], cost_scale)
    cells.check(units, cost, status == "u")
    levels = (units["lpl"], units["upl"], units["spl"])
    # A sensitive cell is at least not known exactly, as with MAN(0).
    bare = (status == "u") & ~np.any(levels, axis=0)
    units["spl"] = np.where(bare, 1, units["spl"])
    relations = _relations(lines, {code: i for i, code in enumerate(ids)}, units["value"])
    table = Table(
        units["value"],
        relations,
        units["lb"],
        units["ub"],
        tuple((str(code),) for code in ids),
        scale=scale,
        names=("cell",),
    )
    return Problem(
        table,
        status == "u",
        units["lpl"],
        units["upl"],
        units["spl"],
        cost,
        status,
        cost_scale=cost_scale,
    )


def write_jj(
    problem: Problem, path: str | os.PathLike[str], *, files: Together | None = None
) -> None:
    """Write a cell suppression problem, whole or not at all.

    Parameters
    ----------
    problem : Problem
        Cells whose labels are ids already keep them; other cells are numbered from 0. A JJ file
        holds no labels of several codes, no contributors and no names.
    path : path-like
        Gzipped if it ends with .gz.
    files : Together, optional
        To appear together with other files of a `csp.formats.files.written_together` block.

    Raises
    ------
    InputError
        If the file cannot be written, or the problem has singletons or a union rule, which the
        format cannot say.
    """
    table = problem.table
    if problem.alone.any():
        msg = (
            "a JJ file cannot say which cells are singletons; pose the problem with "
            "Mechanism(..., singletons=False), or write dataclasses.replace(problem, "
            "singletons=None): what solves the file does not guard against lone contributors"
        )
        raise InputError(msg)
    if problem.union_rule is not None:
        msg = (
            "a JJ file cannot hold a union rule; write "
            "dataclasses.replace(problem, union_rule=None) to leave it out"
        )
        raise InputError(msg)
    codes = [label[0] if len(label) == 1 else "" for label in table.labels]
    if not all(code.isascii() and code.isdigit() and str(int(code)) == code for code in codes):
        codes = [str(i) for i in range(table.n_cells)]
    columns = zip(
        codes,
        _texts(table.values, table.scale),
        _texts(problem.cost, problem.cost_scale),
        problem.status.tolist(),
        *(_texts(a, table.scale) for a in (table.lower, table.upper)),
        *(_texts(a, table.scale) for a in (problem.lpl, problem.upl, problem.spl)),
        strict=True,
    )
    relations = table.relations
    with joined(files) as group, group.writer(path) as out:
        out.write(f"0\n{table.n_cells}\n")
        out.writelines(" ".join(row) + "\n" for row in columns)
        out.write(f"{relations.shape[0]}\n")
        for members in (entries(relations, row) for row in range(relations.shape[0])):
            text = " ".join(f"{codes[c]} ({a})" for c, a in members)
            out.write(f"0 {len(members)} : {text}\n")


def _texts(units: Ints, scale: int) -> list[str]:
    """Shortest decimal text of each number; no bound stays a number beyond every value."""
    if not scale:
        return [str(v) for v in units.tolist()]
    return [
        str(v) if abs(v) >= UNBOUNDED else f"{Decimal(v).scaleb(-scale):f}".rstrip("0").rstrip(".")
        for v in units.tolist()
    ]


# ---- reading --------------------------------------------------------------------------------


class _Lines:
    """The lines of a file that hold something, with their numbers."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        text = read_text(path)
        self.lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
        self.next = 0
        if not text.isascii() or "_" in text:
            for number, line in self.lines:
                if not line.isascii() or "_" in line:
                    self.fail("a JJ file holds plain digits and letters only", number)

    def fail(
        self, why: str, number: int | None = None, kind: type[InputError] = InputError
    ) -> NoReturn:
        if number is None:
            number = self.lines[self.next - 1][0]
        msg = f"{self.path!r}, line {number}: {why}"
        raise kind(msg)

    def take(self, count: int, expected: str) -> list[tuple[int, str]]:
        found = self.lines[self.next : self.next + count]
        self.next += len(found)
        if len(found) < count:
            last = self.lines[-1][0] if self.lines else 1
            missing = f"{count - len(found)} more lines" if count > 1 else "one more line"
            self.fail(f"the file ends here; expected {missing}: {expected}", last)
        return found

    def whole(self, expected: str) -> int:
        ((number, line),) = self.take(1, expected)
        if not line.strip().isdigit():
            self.fail(f"expected {expected}", number)
        return self.integer(line, number)

    def integer(self, token: str, number: int) -> int:
        """Whole number of a token."""
        if len(token) <= SHORT:
            return int(token)
        try:
            return read_whole(token)
        except InputError as error:
            self.fail(str(error), number)


class _Cells:
    """The cell lines of a file, column by column."""

    def __init__(self, lines: _Lines, n: int) -> None:
        self.lines = lines
        taken = lines.take(n, f"cells ({' '.join(COLUMNS)})")
        self.at = [number for number, _ in taken]
        rows = [line.split() for _, line in taken]
        for number, row in zip(self.at, rows, strict=True):
            if len(row) != len(COLUMNS):
                lines.fail(
                    f"{len(row)} columns, expected {len(COLUMNS)} ({' '.join(COLUMNS)}); "
                    f"the file announces {n} cells",
                    number,
                )
        self.columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))

    def ids(self) -> list[int]:
        seen: dict[int, int] = {}
        for number, token in zip(self.at, self.columns["id"], strict=True):
            if not token.isdigit():
                self.lines.fail(f"id {token!r} is not a whole number", number)
            code = self.lines.integer(token, number)
            if code in seen:
                self.lines.fail(f"id {code} occurs twice, first in line {seen[code]}", number)
            seen[code] = number
        return list(seen)

    def status(self) -> NDArray[np.str_]:
        for number, token in zip(self.at, self.columns["status"], strict=True):
            if token not in STATUS:
                self.lines.fail(f"status {token!r} is not one of {', '.join(STATUS)}", number)
        return np.array(self.columns["status"], dtype="U1")

    def numbers(self, name: str) -> list[Number]:
        tokens = self.columns[name]
        if max(map(len, tokens)) <= SHORT:
            with suppress(ValueError):
                return [int(token) for token in tokens]
        return [
            self._number(name, token, number) for number, token in zip(self.at, tokens, strict=True)
        ]

    def _number(self, name: str, token: str, number: int) -> Number:
        if name in ("lb", "ub") and token.lower().lstrip("+-") in ("inf", "infinity"):
            return -UNBOUNDED if token[0] == "-" else UNBOUNDED
        try:
            found = read_decimal(token)
        except InputError:
            self.lines.fail(f"{name} is not a finite number, or is too long", number)
        if abs(found) > UNBOUNDED:
            return -UNBOUNDED if found < 0 else UNBOUNDED
        return int(found) if found == found.to_integral_value() else found

    def decimals(self, name: str, numbers: Sequence[Number]) -> int:
        most = 0
        for number, value in zip(self.at, numbers, strict=True):
            if isinstance(value, Decimal):
                # Not normalize(): it rounds to the precision of the decimal context.
                _, digits, exponent = value.as_tuple()
                zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
                places = -int(exponent) - zeros
                if places > MAX_DECIMALS:
                    self.lines.fail(
                        f"{name} has {places} decimals, more than {MAX_DECIMALS}; round it", number
                    )
                most = max(most, places)
        return most

    def units(self, name: str, numbers: Sequence[Number], scale: int) -> Ints:
        factor = 10**scale
        whole = [v * factor if isinstance(v, int) else int(Fraction(v) * factor) for v in numbers]
        bound = name in ("lb", "ub")
        limit = MAX_VALUE if name == "value" or bound else UNBOUNDED - 1
        if max(map(abs, whole)) <= limit:
            return np.array(whole, dtype=np.int64)
        if bound:
            return np.array(
                [v if abs(v) <= limit else (UNBOUNDED if v > 0 else -UNBOUNDED) for v in whole],
                dtype=np.int64,
            )
        worst = next(i for i, v in enumerate(whole) if abs(v) > limit)
        unit = f"units of 10**-{scale}; use fewer decimals or a larger unit"
        self.lines.fail(f"{name} is beyond {limit} {unit}", self.at[worst])

    def check(self, units: dict[str, Ints], cost: Ints, primary: Bools) -> None:
        value, low, high = units["value"], units["lb"], units["ub"]
        lpl, upl, spl = units["lpl"], units["upl"], units["spl"]
        self._refuse(value < low, "value lies below lb; bounds must hold for the true value")
        self._refuse(value > high, "value lies above ub; bounds must hold for the true value")
        for name, level in (("lpl", lpl), ("upl", upl), ("spl", spl), ("cost", cost)):
            self._refuse(level < 0, f"{name} is negative; give 0 or more")
        self._refuse(
            primary & (lpl > value - np.maximum(low, -MAX_VALUE)),
            "value - lpl lies below lb; lower lpl or lb",
        )
        self._refuse(
            primary & (upl > np.minimum(high, 2 * MAX_VALUE) - value),
            "value + upl lies above ub; lower upl or raise ub",
        )

    def _refuse(self, wrong: Bools, why: str) -> None:
        if wrong.any():
            self.lines.fail(why, self.at[int(np.argmax(wrong))])


def _relations(lines: _Lines, place: dict[int, int], values: Ints) -> csr_array:
    from scipy.sparse import csr_array

    m = lines.whole("the number of relations")
    exact = values.tolist()
    indptr: list[int] = [0]
    indices: list[int] = []
    data: list[int] = []
    layout = "rhs k : id (coefficient) id (coefficient) ..."
    for number, line in lines.take(m, f"relations ({layout})"):
        head, colon, tail = line.partition(":")
        start = head.split()
        if not colon or len(start) != 2 or not start[1].isdigit():
            lines.fail(f"expected a relation: {layout}", number)
        if not MEMBERS.fullmatch(tail):
            lines.fail(f"expected whole coefficients in {layout}", number)
        _check_rhs(lines, start[0], number)
        members = sorted(
            (lines.integer(code, number), lines.integer(factor, number))
            for code, factor in MEMBER.findall(tail)
        )
        if len(members) != lines.integer(start[1], number):
            lines.fail(f"{len(members)} members, but {start[1]} announced", number)
        row: dict[int, int] = {}
        for code, factor in members:
            if code not in place:
                lines.fail(f"no cell has id {code}", number)
            if place[code] in row:
                lines.fail(f"id {code} occurs twice in the relation", number)
            if factor == 0 or abs(factor) > MAX_VALUE:
                lines.fail(f"coefficient of id {code} is zero or beyond {MAX_VALUE}", number)
            row[place[code]] = factor
        if sum(factor * exact[cell] for cell, factor in row.items()):
            lines.fail(
                "the relation does not hold for the values; correct the cells", number, NotAdditive
            )
        cells = sorted(row)
        indices.extend(cells)
        data.extend(row[cell] for cell in cells)
        indptr.append(len(indices))
    if lines.next < len(lines.lines):
        lines.fail(f"nothing may follow the {m} relations", lines.lines[lines.next][0])
    return csr_array(
        (np.array(data, dtype=np.int64), np.array(indices, dtype=np.int64), np.array(indptr)),
        shape=(m, len(exact)),
    )


def _check_rhs(lines: _Lines, token: str, number: int) -> None:
    try:
        zero = read_decimal(token) == 0
    except InputError:
        lines.fail("rhs is not a number", number)
    if not zero:
        lines.fail(
            "rhs must be 0; add a cell with the value of rhs, status z and equal bounds, and give "
            "it the coefficient -1 in the relation",
            number,
        )
