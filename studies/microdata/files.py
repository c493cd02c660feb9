"""The data files of the papers, read the way that reproduces their tables.

They are public, and not part of this project; each is looked for under its name in one folder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from csp.errors import InputError

if TYPE_CHECKING:
    from microagg.records import Records

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


SHA256 = {
    "sdcMicro_CASCrefmicrodata.csv": (
        "data set CASCrefmicrodata of the R package sdcMicro, as CSV",
        "455aaecb2426a62c60c8aaa85ac09a9f01e35001063c07f32a67d82ad2e3be9f",
    ),
    "sdcMicro_EIA.csv": (
        "data set EIA of the R package sdcMicro, as CSV",
        "0ccc4ada7995f5b3d4047afdf670852834ad8651ce8ea60d87a7c41ca74d34de",
    ),
    "uci_abalone.csv": (
        "UCI Machine Learning Repository, Abalone, with a line of names",
        "a2daaed9c48ef860360f6438a224a2fde2576f1ebcf4f821ffe23645c229b23e",
    ),
    "uci_adult_numeric6.csv": (
        "UCI, Adult, training and test records, the six numerical columns",
        "4b9b71fb856272e216a647df1d7fb53d00505fe92460fd64812c5ca672572bf8",
    ),
    "uci_concrete.csv": (
        "UCI, Concrete Compressive Strength, as CSV",
        "2b5f0aeec20b56e48960a479d6729b5569f643e393e544c5960f5736af8acec7",
    ),
    "uci_ionosphere.csv": (
        "UCI, Ionosphere, with a line of names",
        "9ca46748234d9aa11a6dd72db4ba6cf74f68271c54835e7686ff3647be0101c4",
    ),
    "uci_ipums_la_income7.csv.gz": (
        "UCI, IPUMS Census Database (Los Angeles), year and seven incomes of all three years",
        "e3fa2f0bde91c3484c8c2f38f3a84ec79992efa1c334bcf00a1818ce89451c0a",
    ),
    "uci_iris.csv": (
        "UCI, Iris, with a line of names",
        "e1412f8c8c69c78fea91c42d8732f7edeb182234e9a67261b29617cc6097cc7b",
    ),
}
"""Where each file comes from, and the SHA-256 of the one that the studies were made with."""

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


def missing(folder: Path | None) -> dict[str, str]:
    """Say of each file why studies cannot be rerun with it; {} if all can."""
    found = {}
    for name, (_, digest) in SHA256.items():
        path = None if folder is None else folder / name
        if path is None or not path.is_file():
            found[name] = "absent"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            found[name] = "another version"
    return found


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
