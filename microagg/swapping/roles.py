"""What the attributes of a file are: quasi-identifiers, confidential, neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.columns import records_source
from csp.tables.sources.source import ColumnSource
from microagg.records import Records, read_records


@dataclass(frozen=True, eq=False, repr=False)
class Roles:
    """A whole file as the caller gave it, and the part its attributes have in masking.

    `records` are the quasi-identifiers, then the confidential attributes, as numbers.
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    records: Records
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    library: str

    @classmethod
    def of(
        cls,
        data: Any,
        quasi: Sequence[str] | None = None,
        confidential: Sequence[str] | None = (),
    ) -> Roles:
        """Read a file; None takes all names that are not of the other kind.

        Columns without a part may hold anything.
        """
        given = data if isinstance(data, Records) else records_source(data)
        names = given.names
        if quasi is None and confidential is None:
            msg = "name the quasi-identifiers or the confidential attributes; both are missing"
            raise InputError(msg)
        parts = []
        for chosen, other in ((quasi, confidential), (confidential, quasi)):
            if isinstance(chosen, str):
                msg = f"attributes must be a sequence of names, not the text {chosen!r}"
                raise InputError(msg)
            left = [name for name in names if name not in set(other or ())]
            parts.append(tuple(left if chosen is None else chosen))
        both = [name for name in parts[0] if name in parts[1]]
        if both:
            msg = (
                f"attribute {both[0]!r} is both a quasi-identifier and confidential; name it once: "
                "that informed intruders may know confidential attributes is understood"
            )
            raise InputError(msg)
        if not parts[0] + parts[1]:
            msg = "there is no attribute to mask; name the quasi-identifiers, or the confidential"
            raise InputError(msg)
        columns, library = _whole(given, names, (*parts[0], *parts[1]))
        records = read_records(dict(zip(names, columns, strict=True)), (*parts[0], *parts[1]))
        if library == "pandas":
            records = replace(records, index=given.index)
        return cls(names, columns, records, parts[0], parts[1], library)

    @property
    def n(self) -> int:
        """Number of records."""
        return self.records.n

    def places(self, names: Sequence[str]) -> list[int]:
        """Columns of `records` that some attributes are in."""
        return [self.records.names.index(name) for name in names]


def _whole(
    data: Records | ColumnSource, names: Sequence[str], numbers: Sequence[str]
) -> tuple[tuple[NDArray[Any], ...], str]:
    """All columns of some data, and the library of its frame.

    Attributes are numbers; what has no part in masking is published as it stands.
    """
    if isinstance(data, Records):
        return data.columns, data.library
    known = [name for name in numbers if name in names]  # others are named as unknown later
    rest = [name for name in names if name not in known]
    asked = ((known, known), (rest, data.as_they_stand))
    parts = [data.read(*each) for each in asked if each[0] or not names]
    arrays = [array for part in parts for array in part.arrays]
    read = dict(zip([*known, *rest], arrays, strict=True))
    return tuple(read[name] for name in names), parts[0].library
