"""τ-ARGUS data: the files that a record layout (.rda) describes, of records or of cells (.tab)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools
from csp.formats.apriori import Statement, read_amount
from csp.formats.codes import plain_code
from csp.formats.layout import Metadata, Variable, read_metadata
from csp.formats.reading import read_text
from csp.tables.codes import text_codes
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.hrc import parse_hrc
from csp.tables.hierarchies.orders import in_order

# Variables with one of these tags hold numbers.
_NUMBERS = frozenset({"NUMERIC", "WEIGHT", "FREQUENCY", "MAXSCORE", "COSTVAR", "COST", "SHADOW"})

# What else than a response a <NUMERIC> variable of a table may be.
_PARTS = frozenset({"SHADOW", "COSTVAR", "COST", "LOWERPL", "UPPERPL"})

_GROUP = 3
"""Digits between separators of thousands."""

_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}[.,][0-9]{3}")

_LEAST_COST = Decimal("0.0001")  # what τ-ARGUS takes for a cost of 0 in a table


def read_microdata(
    data: str | PathLike[str], layout: str | PathLike[str] | Metadata
) -> tuple[dict[str, NDArray[Any]], Metadata]:
    """Read the file that a record layout describes.

    Parameters
    ----------
    data : path
        Fixed-width (.asc) or separated text, plain or compressed (.gz).
    layout : path or Metadata
        The .rda file.

    Returns
    -------
    columns : dict of str to (n,) array of str objects
        The text of every field without surrounding spaces, in the order of the layout; None
        where it is blank. Decimal commas of numeric variables become points.
    metadata : Metadata

    Raises
    ------
    InputError
        If a file cannot be read or is empty, or a record does not fit the layout (line named).
    """
    metadata = layout if isinstance(layout, Metadata) else read_metadata(layout)
    lines = _records(Path(data))
    name = Path(data).name
    fields = _separated if metadata.separator else _fixed
    columns = {}
    for variable, texts in zip(metadata.variables, fields(lines, metadata, name), strict=True):
        if variable.flags & _NUMBERS or variable.decimals is not None:
            if variable.decimals != _GROUP:
                _check_thousands(texts, variable.name, name)
            texts = [text.replace(",", ".") for text in texts]
        columns[variable.name] = np.array([text or None for text in texts], dtype=object)
    return columns, metadata


def _check_thousands(texts: Sequence[str], variable: str, name: str) -> None:
    """Refuse numbers that may be thousands, 1,000, as well as have three decimal places."""
    marked = [i for i, text in enumerate(texts) if "," in text or "." in text]
    if marked and all(_THOUSANDS.fullmatch(texts[i]) for i in marked):
        msg = (
            f"{name}, line {marked[0] + 1}: the separator of {variable!r} may stand before "
            "decimals or between thousands; write numbers without separators of thousands, or "
            "declare <DECIMALS> 3 if these are decimals"
        )
        raise InputError(msg)


def hierarchies(
    metadata: Metadata,
    columns: Mapping[str, Any],
    names: Sequence[str] | None = None,
    total: str = "Total",
    missing: str | None = None,
) -> dict[str, Hierarchy]:
    """Hierarchies that a record layout declares, ready for `csp.Table.from_microdata`.

    Parameters
    ----------
    metadata : Metadata
    columns : mapping of str to column
        The records; digits of their codes make the levels of a <HIERLEVELS> variable, and codes
        for no answer that occur in them are put below the total.
    names : sequence of str, optional
        Variables wanted; all recodeable ones by default.
    total : str
        Code of the total where the layout gives none.
    missing : str, optional
        Code that stands for blank ones, put below the total where there are any.

    Returns
    -------
    dict of str to Hierarchy
        Only for hierarchical variables and those that declare their total; any other is flat.

    Raises
    ------
    InputError
        If a hierarchy file is missing or malformed, or a code does not have the declared digits.
    """
    found: dict[str, Hierarchy] = {}
    for name in metadata.flagged("RECODEABLE") if names is None else names:
        variable = metadata.variable(name)
        root = variable.total or plain_code(total)
        if not (variable.hierarchy_file or variable.levels or variable.total):
            continue
        seen = set(text_codes(np.asarray(columns[name], dtype=object)))
        codes = sorted(seen - {"", root})
        absent = {plain_code(missing)} if missing is not None and "" in seen else set()
        if variable.hierarchy_file:
            path = _beside(metadata.folder, variable.hierarchy_file, variable)
            parents = parse_hrc(path, lead=variable.lead, total=root)
            unanswered = absent.union(code for code in variable.missing if code in codes)
            parents |= dict.fromkeys(sorted(unanswered - set(parents)), root)
        elif variable.levels:
            parents = _digits(variable, codes, root)
            parents |= dict.fromkeys(absent - set(parents), root)
        else:
            parents = dict.fromkeys(in_order({*codes, *absent}), root)
        found[name] = Hierarchy.from_parents(parents, total=root)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TableData:
    """A τ-ARGUS table, for `csp.Table.from_frame`.

    Attributes
    ----------
    columns : dict of str to (n,) array of str objects
        Of the cells that are not empty; a blank code stands as the code of the total.
    by : tuple of str
        Dimensions: the <RECODEABLE> variables.
    value : str
        Column of the cell values: the <NUMERIC> variable, or <FREQUENCY> in a table of counts.
    count : str or None
        Column of the numbers of contributors: <FREQUENCY>.
    top : tuple of str
        Columns of the largest contributions: <MAXSCORE>.
    shadow : str or None
        Column of the variable to which those belong, where that is not `value`: <SHADOW>.
    statements : tuple of Statement
        What <STATUS>, <COSTVAR>, <LOWERPL> and <UPPERPL> say of cells.
    """

    columns: dict[str, NDArray[Any]]
    by: tuple[str, ...]
    value: str
    count: str | None
    top: tuple[str, ...]
    shadow: str | None
    statements: tuple[Statement, ...]


def read_table_data(
    data: str | PathLike[str],
    layout: str | PathLike[str] | Metadata,
    by: Sequence[str] = (),
    value: str | None = None,
    total: Mapping[str, str] | None = None,
) -> TableData:
    """Read the table (.tab) that a record layout describes, one line per cell.

    A cell without a value (blank or "-") is empty. Of the statuses, the letter of <UNSAFE> makes
    a cell sensitive, that of <PROTECT> public, M suppressed; that of <SAFE> says nothing, since
    τ-ARGUS obeys it only where no rule is given. The <MAXSCORE> columns are those of the <SHADOW>
    variable, where there is one.

    Parameters
    ----------
    data : path
    layout : path or Metadata
        The .rda file.
    by : sequence of str
        Dimensions in another order than that of the layout.
    value : str, optional
        Response, where the layout has several; `None` takes the only one, and where there is none
        the frequencies.
    total : mapping of str to str, optional
        Code of the total of dimensions whose layout gives none; "Total" by default.

    Returns
    -------
    TableData

    Raises
    ------
    InputError
        As for `read_microdata`, for dimensions that are not those of the layout, a response that
        is not told, an unknown status (line named), and a protection level without the other one.

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: open table; ``TableSet.buildCell`` of
    sdcTools/tauargus.
    """
    columns, metadata = read_microdata(data, layout)
    dims = metadata.flagged("RECODEABLE")
    if by and sorted(by) != sorted(dims):
        msg = (
            f"the dimensions of a table are all <RECODEABLE> variables of its layout, "
            f"{', '.join(dims)}; got {', '.join(by)}"
        )
        raise InputError(msg)
    frequency, shadow = (_only(metadata, {flag}) for flag in ("FREQUENCY", "SHADOW"))
    value = _response(metadata, value, frequency)
    if metadata.flagged("REQUEST") or any(v.request is not None for v in metadata.variables):
        msg = (
            "the layout marks cells whose contributors ask for protection with <REQUEST>, which is "
            "not obeyed in tables; make those cells unsafe by their <STATUS> or an a-priori file"
        )
        raise InputError(msg)
    filled = np.array([_given(v) for v in columns[value]], dtype=bool)
    lines = (np.flatnonzero(filled) + 1).tolist()
    _check_empty(columns, filled, metadata, Path(data).name)
    kept = {name: column[filled] for name, column in columns.items()}
    for name in dims:
        root = metadata.variable(name).total or plain_code((total or {}).get(name, "Total"))
        kept[name] = np.array([code or root for code in kept[name]], dtype=object)
    for name in metadata.flagged("MAXSCORE"):
        kept[name] = np.array([v if _given(v) else "0" for v in kept[name]], dtype=object)
    dims = tuple(by) or dims
    top = metadata.flagged("MAXSCORE")
    return TableData(
        kept, dims, value, frequency, top, shadow if top and shadow != value else None,
        _statements(kept, metadata, dims, [f"{Path(data).name}, line {i}" for i in lines]),
    )  # fmt: skip


def _check_empty(
    columns: Mapping[str, NDArray[Any]], filled: Bools, metadata: Metadata, name: str
) -> None:
    """Refuse a line that says that a cell is empty, and itself or another that it is not."""
    letters = {"UNSAFE": "U", "PROTECT": "P"} | dict(metadata.status)
    stated = {letters["UNSAFE"].upper(), letters["PROTECT"].upper(), "M"}
    status = _only(metadata, {"STATUS"})
    for i in np.flatnonzero(~filled).tolist() if status is not None else ():
        letter = (columns[str(status)][i] or "").upper()
        if letter in stated:
            msg = (
                f"{name}, line {i + 1}: status {letter} of a cell without a value; write its "
                "value, or leave the status out if it is empty"
            )
            raise InputError(msg)
    rows = list(zip(*(columns[dim] for dim in metadata.flagged("RECODEABLE")), strict=True))
    first: dict[tuple[Any, ...], int] = {}
    for i, row in enumerate(rows):
        other = first.setdefault(row, i)
        if other != i and not (filled[i] and filled[other]):
            msg = (
                f"{name}, lines {other + 1} and {i + 1} are the same cell, and one of them has no "
                "value; leave one out"
            )
            raise InputError(msg)


def _response(metadata: Metadata, value: str | None, frequency: str | None) -> str:
    numeric = [v.name for v in metadata.variables if "NUMERIC" in v.flags and not v.flags & _PARTS]
    if value is not None:
        metadata.variable(value)  # refuses one that is not there
        return value
    if len(numeric) > 1 or not (numeric or frequency):
        what = f"has several responses, {', '.join(numeric)}" if numeric else "has no response"
        msg = f"the layout {what}; name the column of the cell values"
        raise InputError(msg)
    return numeric[0] if numeric else str(frequency)


def _only(metadata: Metadata, flags: set[str]) -> str | None:
    """Return the variable with one of some flags; a second one would be left out in silence."""
    found = [v.name for v in metadata.variables if v.flags & flags]
    if len(found) > 1:
        msg = (
            f"the layout marks {found[0]!r} and {found[1]!r} as <{'> or <'.join(sorted(flags))}>, "
            "and a table takes one; take the mark off the other"
        )
        raise InputError(msg)
    return found[0] if found else None


def _given(text: str | None) -> bool:
    return text is not None and text != "-"


def _statements(
    columns: Mapping[str, NDArray[Any]], metadata: Metadata, by: Sequence[str], where: list[str]
) -> tuple[Statement, ...]:
    """Return what the columns of status, costs and levels say of the cells."""
    letters = {"SAFE": "S", "UNSAFE": "U", "PROTECT": "P"} | dict(metadata.status)
    words = {letters["UNSAFE"].upper(): "u", letters["PROTECT"].upper(): "p", "M": "m"}
    silent = {letters["SAFE"].upper(), "E", ""}
    roles = [
        _only(metadata, f) for f in ({"STATUS"}, {"COSTVAR", "COST"}, {"LOWERPL"}, {"UPPERPL"})
    ]
    status, cost, lower, upper = (None if name is None else columns[name] for name in roles)
    found = []
    for i, place in enumerate(where):
        codes = tuple(str(columns[name][i]) for name in by)
        letter = "" if status is None else (status[i] or "").upper()
        if letter not in words and letter not in silent:
            known = ", ".join([*words, *sorted(silent - {""})])
            msg = f"{place}: status {letter!r} is not one of {known}"
            raise InputError(msg)
        if letter in words:
            found.append(Statement(codes, words[letter], (), place))
        if cost is not None and _given(cost[i]):
            price = read_amount(cost[i], "the cost", place) or _LEAST_COST
            found.append(Statement(codes, "c", (price,), place))
        levels = [column[i] for column in (lower, upper) if column is not None]
        if words.get(letter) == "u" and any(map(_given, levels)):
            if len(levels) < 2 or not all(map(_given, levels)):
                msg = f"{place}: an unsafe cell has one protection level; give both, or none"
                raise InputError(msg)
            pair = tuple(read_amount(level, "the protection level", place) for level in levels)
            found.append(Statement(codes, "pl", pair, place))
    return tuple(found)


# ---- the records ---------------------------------------------------------------------------------


def _records(path: Path) -> list[str]:
    """Lines of a plain or compressed file, without blank lines at its end."""
    # Not splitlines(): a form feed or a line separator inside a field does not end the record.
    lines = read_text(path, windows=True).split("\n")
    while lines and not lines[-1].strip(" \t\x1a"):
        lines.pop()
    if not lines:
        msg = f"{path.name} has no records"
        raise InputError(msg)
    return lines


def _fixed(lines: list[str], metadata: Metadata, name: str) -> list[list[str]]:
    """Fields of fixed-width records, one list for each variable."""
    width = max(v.start - 1 + v.length for v in metadata.variables)
    short = next((i for i, line in enumerate(lines) if len(line) < width), None)
    if short is not None:
        msg = (
            f"{name}: line {short + 1} has {len(lines[short])} characters, but the layout needs "
            f"{width}; pad it with spaces or check that the file is whole"
        )
        raise InputError(msg)
    fields = []
    for variable in metadata.variables:
        start, stop = variable.start - 1, variable.start - 1 + variable.length
        fields.append([plain_code(line[start:stop]) for line in lines])
    return fields


def _separated(lines: list[str], metadata: Metadata, name: str) -> list[list[str]]:
    """Fields of separated records, one list for each variable."""
    count = len(metadata.variables)
    rows = []
    reader = csv.reader(lines, delimiter=metadata.separator, skipinitialspace=True)
    try:
        for row in reader:
            if len(row) != count:
                msg = (
                    f"{name}: line {reader.line_num} has {len(row)} fields, but the layout names "
                    f"{count} variables"
                )
                raise InputError(msg)
            rows.append([plain_code(field) for field in row])
    except csv.Error as error:
        msg = f"{name}: line {reader.line_num} cannot be read ({error}); check its quotes"
        raise InputError(msg) from error
    return [list(column) for column in zip(*rows, strict=True)]


# ---- hierarchies ---------------------------------------------------------------------------------


def _beside(folder: Path, wanted: str, variable: Variable) -> Path:
    """File of this name in the folder of the layout, whatever its case.

    Only the last part of the name counts: layouts carry the paths of the machine they were
    written on, and must not make us read elsewhere.
    """
    name = PureWindowsPath(wanted).name
    files = [path for path in folder.iterdir() if path.is_file()]
    exact = [path for path in files if path.name == name]
    alike = exact or [path for path in files if path.name.casefold() == name.casefold()]
    if len(alike) != 1:
        what = "several files are" if alike else "no file is"
        msg = (
            f"variable {variable.name!r} (line {variable.line} of the layout): {what} named "
            f"{name!r} beside the layout; put exactly one there"
        )
        raise InputError(msg)
    return alike[0]


def _digits(variable: Variable, codes: Sequence[str], root: str) -> dict[str, str]:
    """Parents by leading digits: every level adds some digits to the code above it."""
    width = sum(variable.levels)
    parents: dict[str, str] = {}
    for code in codes:
        if code in variable.missing:
            parents[code] = root
            continue
        if len(code) != width:
            msg = (
                f"code {code!r} of {variable.name!r} has {len(code)} characters, but its "
                f"<HIERLEVELS> need {width}; pad the code with zeros"
            )
            raise InputError(msg)
        above, stop = root, 0
        for digits in variable.levels:
            stop += digits
            parents[code[:stop]] = above
            above = code[:stop]
    return parents
