"""A small survey goes the whole way through files, by the doors that the commands take.

Libraries that import well may still read, write or refuse in another way than cellveil expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cellveil.io.files import check_outputs, result_columns
from cellveil.io.inputs import read_rules, read_table
from cellveil.io.results import write_result
from cellveil.requests.source import Source
from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.formats.files import written_together
from csp.mechanism import Mechanism
from csp.release_file import read_release, write_release
from csp.tables.columns import read_columns

BY = ("place", "trade")

SURVEY = """\
place,trade,firm,turnover
N,A,a,900
N,A,b,30
N,B,c,210
N,B,d,190
N,B,e,250
S,A,f,410
S,A,g,380
S,A,h,320
S,B,i,280
S,B,j,300
S,B,k,350
"""
"""Turnover of firms; the cell of two is sensitive."""


def trial(frames: Sequence[str]) -> str | None:
    """Say what goes wrong with files and with these libraries of data frames; None if all is well.

    What the libraries raise is raised.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        survey = folder / "survey.csv"
        survey.write_text(SURVEY, encoding="utf-8")
        return _round_trip(survey, folder) or _refusal(survey, frames)


def _round_trip(survey: Path, folder: Path) -> str | None:
    """Protect the survey, write the result and the release, and read both back."""
    published, release = folder / "published.csv", folder / "release.json"
    packed = folder / "published.parquet"
    rule, keep = read_rules("P(10,1)|FREQ(3,10)", None, BY)
    mechanism = Mechanism(rule)
    table = read_table(Source(survey, BY, "turnover", "firm", reads=keep))
    protected = mechanism.protect(table)
    check_outputs({"-o": published, "--release": release}, [survey])
    hidden = protected.pattern.tolist()
    with written_together() as files:
        columns = result_columns(protected, intervals=True)
        write_result(published, protected, columns, files=files)
        write_result(packed, protected, columns, files=files)
        write_release(protected.release, release, mechanism, files=files)
    again, known = read_release(release)
    if (again.pattern != protected.pattern).any() or known != mechanism:
        return "a release is not read back as it was written"
    flags = read_columns(TextFile(published), ["published"]).arrays[0].tolist()
    if [str(flag).lower() == "false" for flag in flags] != hidden:
        return "a published table is not read back as it was written"
    values = read_columns(packed, ["value"]).arrays[0].tolist()
    # What is missing is None or, where numbers are floats, not equal to itself.
    if [value is None or value != value for value in values] != hidden:
        return "a published .parquet file does not leave suppressed values out"
    return None


def _refusal(survey: Path, frames: Sequence[str]) -> str | None:
    """Ask for a column that is not there: it must be refused by its name."""
    for source in (TextFile(survey), *_small(frames)):
        try:
            read_columns(source, ["nowhere"])
        except InputError as error:
            if "nowhere" in str(error):
                continue
        return "a missing column is not refused by its name"
    return None


def _small(frames: Sequence[str]) -> Iterator[Any]:
    """Yield a frame of each library."""
    for name in frames:
        library = import_module(name)
        make = library.table if name == "pyarrow" else library.DataFrame
        yield make({"place": ["N"]})
