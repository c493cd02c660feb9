"""What was asked of one table of a session, as it is told and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from csp.errors import InputError

DECISIONS = ("accepted", "rejected", "open")
"""What a checker may decide of a table."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What an output checker decided.

    Attributes
    ----------
    verdict : {"accepted", "rejected", "open"}
    by, reason : str
    """

    verdict: str = "open"
    by: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in DECISIONS:
            msg = f"verdict {self.verdict!r} is not one of {', '.join(DECISIONS)}"
            raise InputError(msg)


@dataclass(frozen=True, slots=True)
class Asked:
    """What makes a table of the records of a session.

    Attributes
    ----------
    index, columns, values : tuple of str
        Names of columns.
    aggfunc : tuple of str
    normalize, where, rules : str
        "" for none.
    decimals : int or None
    round : bool
    comment : str
    """

    index: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[str, ...]
    aggfunc: tuple[str, ...]
    rules: str
    normalize: str = ""
    where: str = ""
    decimals: int | None = None
    round: bool = False
    comment: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` makes the same."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], what: str) -> Asked:
        """Read plain data.

        Raises
        ------
        InputError
            If a field is unknown or missing; `what` names the place.
        """
        names = {field.name for field in fields(cls)}
        odd = sorted(names ^ data.keys())
        if odd:
            msg = f"{what}: {odd[0]!r} is {'missing' if odd[0] in names else 'not known'}"
            raise InputError(msg)
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in data.items()}
        return cls(**given)

    def call(self, name: str) -> str:
        """Python call that asks for the same."""
        options = {
            "values": list(self.values) or None, "aggfunc": list(self.aggfunc),
            "normalize": self.normalize or None, "where": self.where or None,
            "rules": self.rules, "name": name,
        }  # fmt: skip
        told = ", ".join(f"{key}={value!r}" for key, value in options.items() if value is not None)
        return f"session.crosstab({list(self.index)!r}, {list(self.columns)!r}, {told})"
