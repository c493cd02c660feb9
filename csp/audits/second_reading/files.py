"""Files as they stand: text, Parquet, workbooks, and those of τ-ARGUS by their layouts.

None of the library's readers is used; every file is taken apart once more, by what it plainly says.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Any
from unicodedata import normalize

import numpy as np

from csp.audits.second_reading.meaning import Columns
from csp.errors import InputError

Statement = tuple[tuple[str, ...], str, tuple[str, ...]]
"""Codes of a cell ("" is the total), what is said of it (s, u, p, m, c or pl), and numbers."""

_NUMBERS = ("NUMERIC", "WEIGHT", "FREQUENCY", "MAXSCORE", "COSTVAR", "COST", "SHADOW", "DECIMALS")

_WORDS = {"s": 0, "u": 0, "p": 0, "m": 0, "ml": 0, "c": 1, "w": 1, "pl": 2}


# ---- columns with names --------------------------------------------------------------------------


def rows_of(
    path: str | Path, *, separator: str | None = None, encoding: str = "utf-8-sig",
    decimal: str | None = None, na: Sequence[str] = (), sheet: str | None = None,
    numbers: Collection[str] | None = None,
) -> dict[str, list[Any]]:  # fmt: skip
    """Columns of a text file (.csv, .tsv, .txt, also .gz), a Parquet file or a workbook.

    Parameters
    ----------
    path : path
    separator : str, optional
        The most frequent one of , ; tab and | in the first line by default.
    encoding : str
    decimal : {".", ","}, optional
        By default a comma where it stands in numbers and cannot stand between thousands.
    na : sequence of str
        Texts that stand for a missing entry, besides the empty text.
    sheet : str, optional
        Of a workbook; the first one by default.
    numbers : collection of str, optional
        Columns of numbers, in which decimal commas become points; all that look like it by default.

    Returns
    -------
    dict of str to list
        Texts (numbers of a Parquet file or a workbook), None where an entry is missing.
    """
    path = Path(path)
    end = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if end not in ("csv", "tsv", "txt", "parquet", "xlsx", "xlsm"):
        msg = (
            f"the second reading knows .csv, .parquet and .xlsx, and {str(path)!r} is something "
            "else; save the records as one of these for it"
        )
        raise InputError(msg)
    try:
        if path.suffix == ".parquet":
            import duckdb

            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'")
                found = connection.read_parquet(str(path))
                kinds = list(map(str, found.types))
                rows = [list(map(_as_printed, row, kinds)) for row in found.fetchall()]
                lines: list[Any] = [found.columns, *rows]
        elif path.suffix in (".xlsx", ".xlsm"):
            import openpyxl

            book = openpyxl.load_workbook(path, data_only=True)
            page = book[sheet] if sheet else book.worksheets[0]
            lines = [
                row for row in page.iter_rows(values_only=True) if any(v is not None for v in row)
            ]
        else:
            text = _bytes(path).decode(encoding)
            first = text.split("\n", 1)[0]
            separator = separator or max(",;\t|", key=first.count)
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            lines = [line for line in reader if line]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        msg = f"{str(path)!r} cannot be read: {error}"
        raise InputError(msg) from error
    uneven = next((i for i, line in enumerate(lines) if len(line) != len(lines[0])), None)
    if not lines or uneven is not None:
        msg = f"{str(path)!r}: row {uneven or 0} has another number of columns than the first line"
        raise InputError(msg)
    names = [str(name).strip() for name in lines[0]]
    if len(set(names)) < len(names):
        msg = f"{str(path)!r}: two columns have the same name"
        raise InputError(msg)

    columns = {
        name: [None if line[i] == "" or line[i] in na else line[i] for line in lines[1:]]
        for i, name in enumerate(names)
    }
    if path.suffix not in (".parquet", ".xlsx", ".xlsm"):
        for name in names:
            if name not in (numbers or ()) and _has_apostrophes(columns[name]):
                columns[name] = [
                    x[1:] if x is not None and re.match(rf"'+{_SIGN}", x) else x
                    for x in columns[name]
                ]
    marked = [name for name in names if numbers is None or name in numbers]
    texts = [text for name in marked for text in columns[name] if isinstance(text, str)]
    if (decimal or _mark(texts)) == ",":
        for name in marked:
            columns[name] = [
                x.replace(",", ".") if isinstance(x, str) and _numeric(x) else x
                for x in columns[name]
            ]
    return columns


_SIGN = r"[=+\-@\t\r\n]"


def _has_apostrophes(column: Sequence[str | None]) -> bool:
    """Whether texts like formulas have an apostrophe before them, and none goes without.

    Numbers may go without, but not with and without: these are two codes.
    """
    texts = {x for x in column if x}
    number = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+|inf)")
    bare = [x for x in texts if re.match(_SIGN, x)]
    plain = all(number.fullmatch(x) and f"'{x}" not in texts for x in bare)
    return plain and any(re.match(rf"'+{_SIGN}", x) for x in texts)


def _as_printed(entry: Any, kind: str) -> Any:
    """Entry of a row; a narrow float is the number that it is printed as."""
    return entry if entry is None or kind != "FLOAT" else float(str(np.float32(entry)))


def _mark(texts: Sequence[str]) -> str:
    """Decimal mark: a comma where it stands in a number, and cannot stand between thousands."""
    numbers = [text.strip() for text in texts if _numeric(text)]
    commas = [text for text in numbers if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text)]
    sure = any(not re.fullmatch(r"[+-]?[0-9]{1,3},[0-9]{3}", text) for text in commas)
    return "," if sure and not any("." in text for text in numbers) else "."


def _bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _numeric(text: str) -> bool:
    return bool(text.strip()) and set(text.strip()) <= set("0123456789+-.,eE")


def parents_of(path: str | Path, lead: str = "@") -> dict[str, str]:
    """Codes and their parents in a τ-ARGUS hierarchy (.hrc); "" stands for the total."""
    above: list[str] = []
    found: dict[str, str] = {}
    for line in Path(path).read_text(encoding="utf-8-sig").splitlines():
        code = line.strip() if lead.strip() else line.rstrip()
        if not code:
            continue
        depth = 0
        while code.startswith(lead):
            code, depth = code[len(lead) :], depth + 1
        code = normalize("NFC", code.strip())
        if depth > len(above) or code in found:
            msg = f"{str(path)!r}: code {code!r} jumps a level, or is there twice"
            raise InputError(msg)
        found[code] = above[depth - 1] if depth else ""
        above[depth:] = [code]
    return found


# ---- τ-ARGUS: layouts, and what they describe ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """A record layout (.rda).

    Attributes
    ----------
    variables : mapping of str to mapping of str to list of str
        Of each variable, in the order of the file: its tags with the words behind them; those of
        the line of its name under "".
    header : mapping of str to str
        Tags before the first variable: SEPARATOR, and letters of statuses.
    folder : Path
    """

    variables: Mapping[str, Mapping[str, Sequence[str]]]
    header: Mapping[str, str]
    folder: Path

    def tagged(self, *tags: str) -> list[str]:
        """Variables with one of some tags."""
        return [name for name, own in self.variables.items() if any(tag in own for tag in tags)]

    def only(self, *tags: str) -> str | None:
        """Return the variable with one of some tags, if there is one.

        Raises
        ------
        InputError
            If there are two.
        """
        found = self.tagged(*tags)
        if len(found) > 1:
            msg = f"the layout has two variables <{tags[0]}>, {found[0]!r} and {found[1]!r}"
            raise InputError(msg)
        return found[0] if found else None


def _text_of(path: Path) -> str:
    raw = _bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252")


def layout_of(path: str | Path) -> Layout:
    """Read a record layout: a line with a name begins a variable, one with a tag adds to it."""
    variables: dict[str, dict[str, list[str]]] = {}
    header: dict[str, str] = {}
    own: dict[str, list[str]] | None = None
    for line in map(str.strip, _text_of(Path(path)).splitlines()):
        pieces = re.split(r"<\s*([A-Za-z]+)\s*>", line)
        if pieces[0]:
            name, *words = _words(pieces[0])
            if name in variables:
                msg = f"{str(path)!r} names {name!r} twice"
                raise InputError(msg)
            own = variables[name] = {"": words}
        for tag, rest in zip(pieces[1::2], pieces[2::2], strict=True):
            tag = tag.upper().replace("RECODABLE", "RECODEABLE")
            if own is None or tag in ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT"):
                header[tag] = "".join(_words(rest))
            else:
                own[tag] = _words(rest)
    if not variables:
        msg = f"{str(path)!r} names no variables"
        raise InputError(msg)
    return Layout(variables, header, Path(path).parent)


def _words(text: str) -> list[str]:
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', text)]


def by_layout(
    path: str | Path, layout: Layout, columns: Columns
) -> tuple[dict[str, list[Any]], Columns, list[Statement]]:
    """Read the file of a layout (.asc or .tab): its columns, what they mean, what is known.

    Parameters
    ----------
    path : path
    layout : Layout
    columns : Columns
        What is said beside the layout, which adds hierarchies, totals and decimals; of a table
        (.tab) also the roles of all columns. A table without `by` has all its dimensions.
    """
    path = Path(path)
    try:
        lines = _text_of(path).replace("\r\n", "\n").split("\n")
        while lines and not lines[-1].strip(" \t\x1a"):
            lines.pop()
        separator = layout.header.get("SEPARATOR")
        if separator:
            rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
        else:
            at = [(int(own[""][0]) - 1, int(own[""][1])) for own in layout.variables.values()]
            rows = [[line[first : first + wide] for first, wide in at] for line in lines]
    except (OSError, ValueError, IndexError, csv.Error) as error:
        msg = f"{str(path)!r} cannot be read by its layout: {error}"
        raise InputError(msg) from error
    if any(len(row) != len(layout.variables) for row in rows):
        msg = f"{str(path)!r}: a line has another number of entries than its layout"
        raise InputError(msg)
    data: dict[str, list[Any]] = {}
    for i, (name, own) in enumerate(layout.variables.items()):
        column = [normalize("NFC", row[i].strip()) for row in rows]
        if any(tag in own for tag in _NUMBERS):
            column = _points(column, name, own)
        data[name] = [text or None for text in column]
    table = path.name.lower().endswith(".tab")
    if table:
        columns = _roles(layout, columns)
    total, trees = dict(columns.total or {}), dict(columns.hierarchies or {})
    for name in columns.names:
        words = layout.variables.get(name, {}).get("TOTCODE")
        if words:
            total.setdefault(name, words[0])
        tree = _tree(layout, name, data)
        if tree:
            if columns.missing is not None and None in data[name]:
                tree.setdefault(columns.missing, "")
            trees.setdefault(name, [tree])
    decimals = columns.decimals
    if decimals is None and columns.value is not None and not table:
        words = layout.variables.get(columns.value, {}).get("DECIMALS")
        decimals = int(words[0]) if words else None
    columns = replace(columns, total=total, hierarchies=trees, decimals=decimals)
    return _table(data, layout, columns) if table else (data, columns, [])


def _points(column: Sequence[str], name: str, own: Mapping[str, Sequence[str]]) -> list[str]:
    """Numbers with decimal points; what may be thousands as well is refused."""
    marked = [text for text in column if "," in text or "." in text]
    thousands = [re.fullmatch(r"[+-]?[0-9]{1,3}[.,][0-9]{3}", text) for text in marked]
    if marked and all(thousands) and list(own.get("DECIMALS", ())) != ["3"]:
        msg = f"numbers of {name!r} may have decimals, or separators of thousands"
        raise InputError(msg)
    return [text.replace(",", ".") for text in column]


def _roles(layout: Layout, columns: Columns) -> Columns:
    """Roles of the columns of a table."""
    count, shadow = layout.only("FREQUENCY"), layout.only("SHADOW")
    top = tuple(columns.top or layout.tagged("MAXSCORE"))
    others = {"SHADOW", "COSTVAR", "COST", "LOWERPL", "UPPERPL"}
    numeric = [n for n in layout.tagged("NUMERIC") if not others & set(layout.variables[n])]
    value = columns.value or (numeric[0] if len(numeric) == 1 else None if numeric else count)
    if value is None:
        msg = "the layout does not tell which column holds the cells"
        raise InputError(msg)
    by = columns.by or (tuple(layout.tagged("RECODEABLE")),)
    shadow = columns.shadow or (shadow if top and shadow != value else None)
    return replace(
        columns, by=by, value=value, rows="cells", count=columns.count or count, top=top,
        shadow=shadow,
    )  # fmt: skip


def _tree(layout: Layout, name: str, data: Mapping[str, list[Any]]) -> dict[str, str]:
    """Hierarchy of a variable: that of its file, or by the leading digits of its codes."""
    own = layout.variables.get(name, {})
    codes = {code for code in data.get(name, ()) if code}
    unanswered = _plain(own.get("", ())[0 if "SEPARATOR" in layout.header else 2 :])
    root = _plain(own.get("TOTCODE", ["Total"]))
    if "HIERCODELIST" in own:
        file = PureWindowsPath(own["HIERCODELIST"][0]).name
        parents = parents_of(layout.folder / file, own.get("HIERLEADSTRING", ["@"])[0])
        return parents | {code: "" for code in unanswered & codes if code not in parents}
    parents = {}
    for code in sorted(codes) if "HIERLEVELS" in own else ():
        if code in root:
            continue
        stop, above = 0, ""
        for digits in () if code in unanswered else map(int, own["HIERLEVELS"]):
            stop += digits
            if digits:
                parents[code[:stop]] = above
                above = code[:stop]
        parents.setdefault(code, "")
    return parents


def _plain(words: Sequence[str]) -> set[str]:
    """Codes that a layout names, in the form of those of the records."""
    return {normalize("NFC", word.strip()) for word in words}


def _given(text: str | None) -> bool:
    return text is not None and text != "-"


def _table(
    data: dict[str, list[Any]], layout: Layout, columns: Columns
) -> tuple[dict[str, list[Any]], Columns, list[Statement]]:
    """Cells of a table that are not empty, and what its columns of statuses say of them."""
    kept = [i for i, text in enumerate(data[str(columns.value)]) if _given(text)]
    data = {name: [column[i] for i in kept] for name, column in data.items()}
    for name in columns.names:
        data[name] = [code or columns.root(name) for code in data[name]]
    for name in columns.top:
        data[name] = [text if _given(text) else "0" for text in data[name]]
    letters = {"UNSAFE": "U", "PROTECT": "P"} | dict(layout.header)
    words = {letters["UNSAFE"].upper(): "u", letters["PROTECT"].upper(): "p", "M": "m"}
    roles = (("STATUS",), ("COSTVAR", "COST"), ("LOWERPL",), ("UPPERPL",))
    blank: list[Any] = [None] * len(kept)
    status, cost, low, high = (
        data[own] if (own := layout.only(*tags)) else blank for tags in roles
    )
    found: list[Statement] = []
    for i in range(len(kept)):
        codes = tuple(data[name][i] for name in columns.names)
        word = words.get((status[i] or "").upper())
        if word:
            found.append((codes, word, ()))
        if _given(cost[i]):
            found.append((codes, "c", (cost[i],)))
        if word == "u" and _given(low[i]) and _given(high[i]):
            found.append((codes, "pl", (low[i], high[i])))
    return data, columns, found


def statements_of(path: str | Path, dimensions: int) -> list[Statement]:
    """Lines of an a-priori file (.hst): codes, a word, and its numbers."""
    found: list[Statement] = []
    sign = ""
    for line in filter(str.strip, _text_of(Path(path)).splitlines()):
        if not sign:
            fits = [x for x in ";,\t|" if _word(line.split(x), dimensions) in _WORDS]
            sign = fits[0] if fits else ";"
        fields = [normalize("NFC", text.strip().strip('"')) for text in line.split(sign)]
        word = _word(fields, dimensions)
        numbers = [text.replace(",", ".") for text in fields[dimensions + 1 :] if text]
        if _WORDS.get(word) != len(numbers):
            msg = f"{str(path)!r}: line {line!r} does not say what is known of a cell"
            raise InputError(msg)
        word = {"ml": "m", "w": "c"}.get(word, word)
        found.append((tuple(fields[:dimensions]), word, tuple(numbers)))
    return found


def _word(fields: Sequence[str], dimensions: int) -> str:
    return fields[dimensions].strip().lower() if len(fields) > dimensions else ""
