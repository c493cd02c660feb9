"""The data files of the papers, read the way that reproduces their tables.

They are public, and not part of this project; each is looked for under its name in one folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from csp.errors import InputError

if TYPE_CHECKING:
    from microagg.records import Records

__all__ = ["EIA", "FILES", "DataFile", "available", "load"]

EIA = (
    "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES",
    "OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES",
)  # fmt: skip
"""The ten continuous attributes of the EIA file."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file.

    Attributes
    ----------
    file : str
        Its name.
    origin : str
        Where it is from.
    columns : tuple of str
        Attributes used; all if empty.
    coded : str
        Attribute of categories that is used as a number; "" if none.
    codes : tuple of str
        Its categories, numbered 1, 2, ...
    skipped : int
        Records left out at the beginning.
    negative : str
        How rules read its negative values.
    """

    file: str
    origin: str
    columns: tuple[str, ...] = ()
    coded: str = ""
    codes: tuple[str, ...] = ()
    skipped: int = 0
    negative: str = "error"


FILES = {
    "concrete": DataFile("uci_concrete.csv", "UCI, concrete compressive strength"),
    "abalone": DataFile("uci_abalone.csv", "UCI, abalone", coded="sex", codes=("M", "F", "I")),
    # The file of the paper has 1,079 records: its first line was taken for a header, presumably.
    "1080": DataFile("sdcMicro_CASCrefmicrodata.csv", "CASC project, in sdcMicro", skipped=1),
    "iris": DataFile(
        "uci_iris.csv",
        "UCI, iris",
        coded="class",
        codes=("Iris-setosa", "Iris-versicolor", "Iris-virginica"),
    ),
    "ionosphere": DataFile(
        "uci_ionosphere.csv", "UCI, ionosphere", coded="class", codes=("g", "b"), negative="abs"
    ),
    "adult": DataFile("uci_adult_numeric6.csv", "UCI, adult, its six numerical attributes"),
    "census": DataFile("sdcMicro_CASCrefmicrodata.csv", "CASC project, in sdcMicro"),
    "EIA": DataFile("sdcMicro_EIA.csv", "CASC project, in sdcMicro", columns=EIA, negative="abs"),
    "EIA11": DataFile(
        "sdcMicro_EIA.csv",
        "CASC project, in sdcMicro",
        columns=("UTILITYID", *EIA),
        negative="abs",
    ),
    "IPUMS": DataFile(
        "uci_ipums_la_income7.csv.gz",
        "UCI, IPUMS Los Angeles, seven incomes",
        columns=("INCTOT", "INCWAGE", "INCBUS", "INCFARM", "INCSS", "INCWELFR", "INCOTHER"),
        negative="abs",
    ),
}
"""Files by the name that the papers give them."""


def available(folder: Path) -> tuple[str, ...]:
    """Names of the files that are there."""
    return tuple(name for name, spec in FILES.items() if (folder / spec.file).is_file())


def load(name: str, folder: Path) -> Records:
    """Read a file.

    Raises
    ------
    InputError
        If it is not in the folder.
    """
    from csp.tables.columns import column_names, read_columns
    from microagg.records import read_records

    spec = FILES[name]
    path = folder / spec.file
    if not path.is_file():
        msg = f"there is no {spec.file} in {str(folder)!r} ({spec.origin}); give --data FOLDER"
        raise InputError(msg)
    names = spec.columns or column_names(path)
    columns = {}
    for column, values in zip(names, read_columns(path, names).arrays, strict=True):
        kept = values[spec.skipped :]
        if column == spec.coded:
            kept = np.array([spec.codes.index(str(v).strip()) + 1 for v in kept])
        columns[column] = kept
    return read_records(columns)
