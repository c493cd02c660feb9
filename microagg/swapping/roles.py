"""What the attributes of a file are: quasi-identifiers, confidential, neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.columns import column_names, named_columns, read_columns
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
        names, columns, library = whole(data)
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
        table = dict(zip(names, columns, strict=True))
        if not parts[0] + parts[1]:
            msg = "there is no attribute to mask; name the quasi-identifiers, or the confidential"
            raise InputError(msg)
        records = read_records(table, (*parts[0], *parts[1]))
        if library == "pandas":
            records = replace(records, index=getattr(data, "index", None))
        return cls(names, columns, records, parts[0], parts[1], library)

    @property
    def n(self) -> int:
        """Number of records."""
        return self.records.n

    def places(self, names: Sequence[str]) -> list[int]:
        """Columns of `records` that some attributes are in."""
        return [self.records.names.index(name) for name in names]


def whole(data: Any) -> tuple[tuple[str, ...], tuple[NDArray[Any], ...], str]:
    """Names and columns of some data, and the library of its frame."""
    if isinstance(data, Records):
        return data.names, data.columns, data.library
    data = named_columns(data)
    names = column_names(data)
    found = read_columns(data, names)
    return names, found.arrays, found.library
