"""What every kind of data answers: the names of its columns, and some of these columns."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.formats.delimited import TITLE

Place = Literal["memory", "file", "elsewhere"]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Some columns of a data set.

    Attributes
    ----------
    arrays : tuple of (n,) arrays
        Integers, floats or objects (None where a value is missing), in the order asked for.
    library : str
        "pandas", "polars" or "pyarrow" if the data came as such a frame, otherwise "".
    note : str
        Sentence that says how a text file was read, where that was found from the file and is not
        the rule (commas between the fields, decimal points, UTF-8); otherwise "".
    """

    arrays: tuple[NDArray[Any], ...]
    library: str = ""
    note: str = ""


class ColumnSource(ABC):
    """Data of one kind, to be asked for its columns."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""

    @abstractmethod
    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        """Read named columns into memory; see `csp.tables.columns.read_columns`."""

    @property
    def place(self) -> Place:
        """Where the columns are: reading one more costs nothing, a pass over a file, or a query."""
        return "memory"

    @property
    def index(self) -> Any:
        """Labels of the rows of a frame of pandas, otherwise None."""
        return None

    @property
    def as_they_stand(self) -> tuple[()] | None:
        """What `read` takes for `numbers` where columns are published as they are.

        What a text file declares as missing is missing then; where it declares nothing, NA is text.
        """
        return None


def check_names(names: Sequence[str], known: Sequence[str], *, title: bool = False) -> None:
    """Refuse names that no column has.

    Parameters
    ----------
    names, known : sequence of str
    title : bool
        Whether line 1 of the file looks like a title above its header.

    Raises
    ------
    InputError
        Naming the first, with names near to it.
    """
    for name in names:
        if not isinstance(name, str):
            msg = f"columns are named by text, not {name!r}; rename the column"
            raise InputError(msg)
        if name not in known:
            near = get_close_matches(str(name), [str(k) for k in known], 3)
            listed = ", ".join(str(k) for k in known[:10]) + (", ..." if len(known) > 10 else "")
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?"
                if near
                else f"there are {listed}"
                if listed
                else "the data has no columns"
            )
            if title:
                hint += f"; {TITLE}"
            sign = next((s for s in ",;\t|" if list(known) != [name] and len(known) == 1
                         and name in str(known[0]).split(s)), None)  # fmt: skip
            if sign is not None:
                hint = (
                    f"there is one column, {known[0]!r}, whose name seems to be several; declare "
                    + argument("separator", sign, option=f"--sep {shlex.quote(sign)}")
                )
            msg = f"there is no column {name!r}; {hint}"
            raise InputError(msg)
