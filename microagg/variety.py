"""How many different values of an attribute each group of records must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csp.errors import InputError, Unprotectable, argument
from csp.exact import Ints
from csp.names.calls import whole_number
from csp.tables.codes import numbered_codes
from microagg.records import Records, check_apart


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variety:
    """A demand for different values of an attribute in every group, `least` of them, at least 2.

    The attribute is confidential, or names the contributor of each record. Codes, (n,), are the
    value of each record from 1; 0 where it is missing.
    """

    name: str
    least: int
    codes: Ints


def check_diverse(diverse: object) -> None:
    """Refuse a demand that does not say how many values a column must have."""
    if diverse is not None and not isinstance(diverse, Mapping):
        msg = (
            f"{argument('diverse')} must say how many different values of each column are asked "
            f"for, such as {{'illness': 2}}, not {diverse!r}"
        )
        raise InputError(msg)


def with_contributors(
    diverse: Mapping[str, int] | None,
    contributor: str | None,
    k: int,
    attributes: Sequence[str] | None,
) -> Mapping[str, int] | None:
    """Ask for k different contributors, too."""
    check_diverse(diverse)
    if contributor is None:
        return diverse
    if not isinstance(contributor, str):
        msg = f"{argument('contributor')} must name a column here, not be {contributor!r}"
        raise InputError(msg)
    check_apart(contributor, attributes)
    if contributor in (diverse or {}):
        msg = (
            f"{argument('contributor', contributor)} asks for {k} values of a column that "
            f"{argument('diverse')} names too; leave it out of one"
        )
        raise InputError(msg)
    return {**(diverse or {}), contributor: k}


def varieties_of(
    records: Records, diverse: Mapping[str, int], most: int | None = None
) -> tuple[Variety, ...]:
    """Ask for different values of columns of any kind in groups of at most `most` records."""
    found = []
    for name, least in diverse.items():
        top = records.n if most is None else most
        whole_number(f"{argument('diverse')} of {name!r}", least, 2)
        if least > top:
            msg = (
                f"{argument('diverse')}: a group of at most {top} records cannot have {least} "
                f"values of {name!r}"
            )
            raise InputError(msg)
        texts, number = numbered_codes(records.by_name[name])
        codes = number + (texts[0] != "")  # the empty text is that of missing values
        there = len(texts) - (texts[0] == "")
        if there < least:
            msg = (
                f"the whole file has {there} values of {name!r}, so no group has {least}; "
                f"ask for at most {there}"
            )
            raise Unprotectable(msg)
        found.append(Variety(name, int(least), np.asarray(codes, np.int64)))
    return tuple(found)


def fewest_values(variety: Variety, labels: Ints, rows: Ints | None = None) -> int:
    """Count with sets, apart from the searches, the fewest different values that a group has.

    Labels are of all records, or of some rows.
    """
    codes = variety.codes if rows is None else variety.codes[rows]
    values: dict[int, set[int]] = {}
    for label, code in zip(labels.tolist(), codes.tolist(), strict=True):
        values.setdefault(label, set()).update({code} - {0})
    return min(map(len, values.values()))
