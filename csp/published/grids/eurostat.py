r"""Eurostat's text files: one field with all codes of a row, then one column for each period.

The first line is ``freq,nace_r2,geo\TIME_PERIOD`` and the periods; a row is ``A,C10,DE``, then
numbers with flags behind them (``12.5 p``), ``:`` for what is not available, ``: c`` for what is
confidential.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csp.published.entries import Convention, read_entry, sign_of
from csp.published.grids.grid import CrossGrid
from csp.published.sums.structure import Printed


def is_eurostat(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the first field of each row holds codes by commas, as many as the corner names."""
    corner = sign_of(rows[0][0]) if rows and rows[0] else ""
    if "\\" not in corner or "," not in corner or len(rows) < 2:
        return False
    commas = corner.partition("\\")[0].count(",")
    filled = [row for row in rows[1:] if row and any(map(sign_of, row))]
    return bool(filled) and all(sign_of(row[0]).count(",") == commas for row in filled)


def read_eurostat(rows: Sequence[Sequence[Any]]) -> CrossGrid:
    """Read such a file as a list of cells; dimensions of one code are left out, and said.

    Signs become those of the marks "eurostat".
    """
    head = [sign_of(item) for item in rows[0]]
    corner, _, across = head[0].partition("\\")
    names = [*(name.strip() for name in corner.split(",")), across.strip() or "columns"]
    columns: dict[str, list[str]] = {name: [] for name in names}
    entries, places, beside = [], [], set()
    for i, row in enumerate(rows[1:], 2):
        if not row or not any(map(sign_of, row)):
            continue
        codes = [code.strip() for code in sign_of(row[0]).split(",")]
        for j, period in enumerate(head[1:], 1):
            if not period:
                continue
            for name, code in zip(names, [*codes, period], strict=True):
                columns[name].append(code)
            entry, flags = _entry(sign_of(row[j]) if j < len(row) else "")
            entries.append(entry)
            places.append((i, j + 1))
            beside |= {*flags}
    kept = [name for name in names if len({*columns[name]}) > 1] or names
    single = [name for name in names if name not in kept]
    said = ", ".join(f"{name} ({len({*columns[name]})} codes)" for name in kept)
    told = [f"a file of Eurostat: {said}"]
    if single:
        told.append(
            f"{', '.join(map(repr, single))} {'has' if len(single) == 1 else 'have'} one code only"
        )
    if beside:
        told.append(f"flags behind numbers are left out: {', '.join(map(repr, sorted(beside)))}")
    return CrossGrid(
        tuple(kept), {name: columns[name] for name in kept}, entries, places, Printed(),
        tuple(told),
    )  # fmt: skip


def _entry(text: str) -> tuple[str, str]:
    """Return a number or a sign, and the flags behind a number."""
    first, _, flags = text.partition(" ")
    if first.startswith(":"):
        flags = (first[1:] + flags).replace(" ", "")
        return ": c" if "c" in flags else ":z" if "z" in flags else ":", ""
    if read_entry(first, Convention()).is_number:
        flags = flags.replace(" ", "")
        # What is confidential does not count, whatever stands there.
        return (": c", "") if "c" in flags else (first, flags)
    return text or ":", ""
