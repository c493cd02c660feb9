"""Names of cells and relations for people, and numbers in the unit of the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from csp.errors import InputError
from csp.exact import units_text
from csp.formats.codes import plain_code
from csp.release.release import Release
from csp.sparse import entries
from csp.tables import codes


def cell_name(release: Release, cell: int) -> str:
    """Name of a cell: its dimensions and codes."""
    return codes.cell_name(release.names, release.labels[cell])


def position(release: Release, cell: int | Sequence[str]) -> int:
    """Position of a cell given by its position or its label.

    Raises
    ------
    InputError
        If there is no such cell.
    """
    if isinstance(cell, int) and not isinstance(cell, bool):
        if 0 <= cell < len(release.labels):
            return cell
        msg = f"there is no cell {cell}; positions run from 0 to {len(release.labels) - 1}"
        raise InputError(msg)
    if hasattr(cell, "__index__"):
        return position(release, int(cell))
    wanted = tuple(plain_code(code) for code in cell)
    if wanted in release.labels:
        return release.labels.index(wanted)
    msg = f"no cell has the label {wanted}; codes are compared as text"
    raise InputError(msg)


def relation_name(release: Release, row: int) -> str:
    """Name of a relation: "row a=1" in a two-way table, else what is summed up into which cell.

    Totals of a part of a dimension say so, since a dimension with a hierarchy has several.
    """
    terms = entries(release.relations, row)
    cells = [c for c, _ in terms]
    totals = [c for c, a in terms if a < 0]
    ones = all(abs(a) == 1 for _, a in terms)
    if len(totals) == 1 and ones:
        total = release.labels[totals[0]]
        differ = {
            d
            for c in cells
            for d, (a, b) in enumerate(zip(release.labels[c], total, strict=True))
            if a != b
        }
        if len(differ) == 1:
            return _margin_name(release, total, differ.pop())
    shown = joined((a, cell_name(release, c)) for c, a in terms[:4])
    return f"relation {row + 1} ({shown}{' ...' if len(cells) > 4 else ''} = 0)"


def _margin_name(release: Release, total: tuple[str, ...], over: int) -> str:
    names = release.names
    root = over < len(release.roots) and total[over] == release.roots[over]
    fixed = [f"{names[d]}={code}" for d, code in enumerate(total) if d != over]
    if len(total) == 2 and root:
        return f"{'row' if over else 'column'} {fixed[0]}"
    what = f"sum over {names[over]}" if root else f"sum into {names[over]}={total[over]}"
    return f"{what} at {', '.join(fixed)}" if fixed else what


def number(value: Fraction | int, scale: int) -> str:
    """Text of an exact number of units of ``10**-scale``: decimals, or a fraction."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return units_text(int(exact), scale)
    return str(exact / 10**scale)


def joined(terms: Iterable[tuple[int, str]]) -> str:
    """Sum of terms with their factors: "text - 2 x text + text"."""
    parts: list[str] = []
    for factor, text in terms:
        sign = "-" if factor < 0 else "+"
        times = "" if abs(factor) == 1 else f"{abs(factor)} x "
        first = "-" if factor < 0 else ""
        parts.append(f"{sign} {times}{text}" if parts else f"{first}{times}{text}")
    return " ".join(parts)
