"""Tables as text with separators: .csv, .tsv, .txt, perhaps .gz."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from csp.errors import InputError
from csp.formats import reading
from csp.formats.kinds import PROGRAMS
from csp.formats.parquet import literal
from csp.formats.reading import chunks, encoding_name, other_encoding, regular_file

if TYPE_CHECKING:
    import duckdb

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DECIMALS = (".", ",")
TITLE = "line 1 has fewer fields than line 2 and looks like a title above the header: remove it"

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNS = (",", ".", '"', "'", "NA")
_ENDS = tuple(sign + end for sign in SEPARATORS for end in "\n\r")
_NEVER = "\x1f"
_HEAD = 2**20


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file of columns, and how it is written; it can stand wherever data can.

    What is None is found from the file, or an error says what to declare.

    Attributes
    ----------
    path : path-like
        .csv, .tsv or .txt, perhaps compressed (.gz), with the names of the columns in line 1.
    separator : {",", ";", tab, "|"}, optional
        The most frequent one of line 1 by default.
    decimal : {".", ","}, optional
        Decimal mark of numbers. A comma is found by itself where it cannot separate thousands.
    encoding : str, optional
        Such as "cp1252" (Windows, western Europe) or "latin-1". UTF-8 by default, or UTF-16
        where the file begins with its mark.
    missing : tuple of str, optional
        Texts that stand for a missing code or number, such as ("NA",); an empty field always
        does. None refuses NA as a code, since R writes it for missing ones; () takes it as one.
    labels : bool
        Of a file of Stata, SPSS or SAS instead: its labels stand for codes.

    Raises
    ------
    InputError
        For a separator, decimal mark or encoding that is not known, and labels of other files.

    Examples
    --------
    >>> from csp.formats.delimited import TextFile
    >>> TextFile("survey.csv", separator=";", decimal=",").decimal
    ','
    """

    path: str | os.PathLike[str]
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] | None = None
    labels: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None and self.separator not in SEPARATORS:
            msg = f"the separator {self.separator!r} is not a comma, semicolon, tab or bar (|)"
            raise InputError(msg)
        if self.decimal is not None and self.decimal not in DECIMALS:
            msg = f"the decimal mark {self.decimal!r} is not a point or a comma"
            raise InputError(msg)
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
                codecs.getincrementaldecoder(self.encoding)()
            except (LookupError, ValueError, TypeError) as error:
                msg = f"{self.encoding!r} is not a text encoding; write utf-8, cp1252, latin-1, ..."
                raise InputError(msg) from error
        program = PROGRAMS.get(Path(self.path).suffix.lower())
        if self.labels and program not in ("Stata", "SPSS"):
            kept = "; SAS keeps those in catalogues of their own, which are not read"
            msg = (
                f"{str(self.path)!r} holds no labels of codes: files of Stata and SPSS do (.dta, "
                f".sav, .zsav, .por){kept if program else ''}"
            )
            raise InputError(msg)
        if self.missing is not None:
            object.__setattr__(self, "missing", tuple(text.strip() for text in self.missing))

    @property
    def plain(self) -> bool:
        """Whether nothing is declared but the path."""
        return self == TextFile(self.path)


def check_plain(file: TextFile) -> None:
    """Refuse what is declared of a .parquet file as if it were another.

    Raises
    ------
    InputError
    """
    if not file.plain:
        msg = (
            f"{str(file.path)!r} is not a text file: separator, decimal mark, encoding, missing "
            "texts and labels (--sep, --decimal, --encoding, --na, --labels) do not apply to it"
        )
        raise InputError(msg)


@dataclass(frozen=True, slots=True)
class _Scan:
    """What one pass over a file found."""

    encoding: str
    rewrite: bool  # whether DuckDB needs another copy: another encoding, several kinds of line ends
    packed: bool
    head: str  # its first million characters or so
    # Of `_SIGNS` and `_ENDS`: what is in no line is not looked for in its columns.
    signs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Opened:
    """A text file that is open.

    Attributes
    ----------
    relation : DuckDB relation
        Columns c0, c1, ... of text.
    names : list of str
        Names of the columns.
    file : TextFile
        With what was found out about it.
    signs : frozenset of str
        Which of comma, point, apostrophe and "NA" can occur in its fields.
    title : bool
        Whether line 1 looks like a title above the header: line 2 has more fields.
    """

    relation: Any
    names: list[str]
    file: TextFile
    signs: frozenset[str]
    title: bool


def header(file: TextFile) -> list[str]:
    """Names of the columns of a text file.

    Raises
    ------
    InputError
        If the file cannot be read as text, or line 1 does not name each column once.
    """
    return _names(file, _scan(file))[0]


@contextmanager
def open_text(connection: duckdb.DuckDBPyConnection, file: TextFile) -> Iterator[Opened]:
    """Open a text file.

    The header decides how the file is read, not a guess at its rows: a torn row is an error then,
    and numbers stay the text they are.

    Raises
    ------
    InputError
        As for `header`.
    """
    import duckdb

    scan = _scan(file)
    names, separator = _names(file, scan)
    found = replace(file, separator=separator, encoding=scan.encoding)
    title = _is_title(file, scan)
    inside = separator != "," or '"' in scan.signs
    signs = scan.signs if inside else scan.signs - {","}
    with tempfile.TemporaryDirectory() as folder:
        path = regular_file(file.path)
        if scan.rewrite:
            path = Path(folder) / "copy.csv"
            _rewrite(file, scan.encoding, path)
        written: dict[str, Any] = {
            "header": True, "sep": separator, "quotechar": '"', "escapechar": '"',
            "auto_detect": False, "hive_partitioning": False,
            "compression": "gzip" if scan.packed and not scan.rewrite else "none",
        }  # fmt: skip
        fields = {f"c{i}": "VARCHAR" for i in range(len(names))}
        try:
            if any(separator == end[0] for end in scan.signs & set(_ENDS)):
                wider = connection.read_csv(
                    literal(path), columns=fields | {f"c{len(names)}": "VARCHAR"},
                    null_padding=True, parallel=False, na_values=_NEVER, **written,
                )  # fmt: skip
                _check_ends(file, wider, len(names))
            relation = connection.read_csv(literal(path), columns=fields, **written)
            yield Opened(relation, names, found, signs, title)
        except duckdb.Error as error:
            if not title or sum(map(bool, names)) > 1:
                raise
            msg = f"{str(file.path)!r}: {TITLE}"
            error.args = (msg,)  # the library's text may quote the data
            raise InputError(msg) from None


def _check_ends(file: TextFile, wider: Any, n: int) -> None:
    """Refuse rows with one field more than line 1, which the reader drops where it is empty."""
    longer = wider.project(f"row_number() OVER () AS row, c{n}").filter(f"c{n} IS NOT NULL")
    ((first,),) = longer.aggregate("min(row)").fetchall()
    if first is not None:
        msg = (
            f"{str(file.path)!r}, row {first}: the row ends with a separator and has one field "
            "more than line 1; take it out, or name the column"
        )
        raise InputError(msg)


def _scan(file: TextFile) -> _Scan:
    """Read a file once, and find whether it is text, and with what line ends."""
    encoding = file.encoding
    decoder: codecs.IncrementalDecoder | None = None
    head, last = b"", b""
    lines = returns = pairs = 0
    signs: set[str] = set()

    def fail(piece: bytes, why: str) -> NoReturn:
        line = 1 + lines + returns - pairs + len(re.findall(rb"\r\n?|\n", piece))
        msg = f"{str(file.path)!r}, line {line}: {why}"
        raise InputError(msg)

    def checked(chunk: bytes, *, final: bool = False) -> bytes:
        """Chunk as UTF-8; a chunk that is UTF-8 already is only looked at."""
        assert decoder is not None
        if encoding == "utf-8" and chunk.isascii() and not final and not decoder.getstate()[0]:
            return chunk
        try:
            text = decoder.decode(chunk, final)
        except UnicodeError as error:  # of some encodings without saying where
            before = ""
            if isinstance(error, UnicodeDecodeError):
                with suppress(UnicodeError):
                    before = error.object[: error.start].decode(error.encoding, "ignore")
            fail(
                before.encode(),
                f"not {encoding_name(encoding or '')} text; {other_encoding(file.encoding)}",
            )
        return chunk if encoding == "utf-8" else text.encode("utf-8", "replace")

    for chunk in chunks(file.path, reading.MAX_DATA_BYTES):
        if decoder is None:
            if encoding is None:
                encoding = next((e for bom, e in _BOMS if chunk.startswith(bom)), "utf-8")
            encoding = "utf-8" if codecs.lookup(encoding).name.startswith("utf-8") else encoding
            decoder = codecs.getincrementaldecoder(encoding)()
        plain = checked(chunk)
        if b"\0" in plain:
            fail(plain[: plain.index(b"\0")], "a NUL character; the file is damaged or not text")
        head += plain[: max(_HEAD - len(head), 0)]
        lines += plain.count(b"\n")
        if b"\r" in plain or last == b"\r":
            returns += plain.count(b"\r")
            pairs += plain.count(b"\r\n") + (last == b"\r" and plain[:1] == b"\n")
        looked_for = [sign for sign in (*_SIGNS, *_ENDS) if sign not in signs]
        signs |= {sign for sign in looked_for if sign.encode() in last + plain}
        last = plain[-1:] or last
    if decoder is None:
        encoding = "utf-8"
    else:
        checked(b"", final=True)
    signs |= {end for end in _ENDS if end[0] == last.decode("latin-1")}
    mixed = returns > pairs or pairs not in (0, lines)
    shown = head.decode("utf-8", "ignore").removeprefix("\ufeff")
    return _Scan(
        encoding or "utf-8", mixed or encoding != "utf-8", _is_packed(file), shown, frozenset(signs)
    )


def _is_packed(file: TextFile) -> bool:
    with regular_file(file.path).open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _rewrite(file: TextFile, encoding: str, path: Path) -> None:
    """Write the text as UTF-8 with line feeds, where only its owner can read it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    ends = io.IncrementalNewlineDecoder(decoder, translate=True)
    with path.open("w", encoding="utf-8", newline="\n", errors="replace") as out:
        for chunk in chunks(file.path, reading.MAX_DATA_BYTES):
            out.write(ends.decode(chunk))
        out.write(ends.decode(b"", final=True))


def _names(file: TextFile, scan: _Scan) -> tuple[list[str], str]:
    """Column names of a text file, and its separator: the most frequent of the usual ones."""
    first = re.split(r"\r\n?|\n", re.sub(r'"[^"]*"', "", scan.head), maxsplit=1)[0]
    separator = file.separator or max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(scan.head, newline=""), delimiter=separator)
    try:
        names = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        msg = f"{str(file.path)!r}, line 1: the names of the columns cannot be read ({error})"
        raise InputError(msg) from error
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if not names or twice is not None:
        what = "is empty" if twice is None else f"names column {twice!r} twice"
        mend = f"; {TITLE}" if _is_title(file, scan) else "; name each column once"
        msg = f"the header (line 1) of {str(file.path)!r} {what}{mend}"
        raise InputError(msg)
    return names, separator


def _is_title(file: TextFile, scan: _Scan) -> bool:
    lines = re.split(r"\r\n?|\n", re.sub(r'"[^"]*"', "", scan.head), maxsplit=2)[:2]
    separators = SEPARATORS if file.separator is None else (file.separator,)
    first, second = (
        max(line.rstrip(separator).count(separator) for separator in separators)
        for line in (*lines, "")[:2]
    )
    return first < second
