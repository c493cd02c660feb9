"""What a file of columns is, by its name: text, Parquet, or of a statistical program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from csp.errors import InputError
from csp.formats.reading import regular_file

Kind = Literal["text", "parquet", "statistical"]

_KINDS: dict[str, Kind] = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".parquet": "parquet"
}  # fmt: skip

_WORKBOOKS = dict.fromkeys((".xls", ".xlsb"), "save it as .xlsx or .csv") | dict.fromkeys(
    (".xlsx", ".xlsm", ".ods"),
    "save the sheet as .csv, or read it with pandas and give the frame",
)
"""What to do with workbooks."""

PROGRAMS = {
    ".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS",
    ".xpt": "SAS",
}  # fmt: skip
"""Statistical programs by the ends of the names of their files."""


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Tell by its name what a file is; text may be packed (.gz).

    Raises
    ------
    InputError
        If the file is not an ordinary one, or its name has another end.
    """
    regular_file(path)
    ends = [end.lower() for end in Path(path).suffixes[-2:]]
    packed = ends[-1:] == [".gz"]
    end = "".join(ends[:-1] if packed else ends[-1:])
    kind: Kind | None = "statistical" if end in PROGRAMS else _KINDS.get(end)
    if kind is None:
        mend = _WORKBOOKS.get(end, "convert it to one")
        msg = (
            f"{str(path)!r} is not a file of columns that can be read: text (.csv, .tsv, .txt, "
            f".gz), .parquet, or of Stata, SPSS or SAS ({', '.join(PROGRAMS)}); {mend}"
        )
        raise InputError(msg)
    if packed and kind != "text":
        msg = f"{str(path)!r} is packed, and only text is read so; unpack it"
        raise InputError(msg)
    return kind
