"""What the tables of a session must not be to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellveil.crosstabs.crossing import Crossed
from cellveil.crosstabs.result import Crosstab
from csp.errors import InputError
from csp.responses import audited_together
from csp.rules import MinFrequency, Rule
from csp.rules.base import parts_of
from csp.tables.codes import text_codes

__all__ = ["check_nesting", "check_options", "check_zeros", "judged_together"]


def check_zeros(rules: Rule | str) -> None:
    """Refuse rules to which zeros are sensitive.

    Raises
    ------
    InputError
    """
    for part in parts_of(rules):
        if isinstance(part, MinFrequency) and part.zero_sensitive:
            msg = (
                "a session shows which cells have no record, in all of its tables; a rule to "
                "which zeros are sensitive needs a table of its own (cellveil.crosstab)"
            )
            raise InputError(msg)


def check_nesting(known: Mapping[str, list[str]], records: Crossed) -> dict[str, list[str]]:
    """Refuse dimensions of which one lies within another, or is not what it was before.

    Tables by both disclose each other's cells by difference, and linking does not see it.

    Parameters
    ----------
    known : mapping of str to list of str
        Codes of all records in the dimensions of the tables before.
    records : Crossed

    Returns
    -------
    dict of str to list of str
        The same, with the dimensions of this table.

    Raises
    ------
    InputError
        Naming both columns, and how to make one dimension of them.
    """
    seen = dict(known)
    for name in records.by:
        texts = text_codes(records.columns[name])
        if seen.setdefault(name, texts) != texts:
            msg = (
                f"{name!r} has other codes than in an earlier table of the session; two "
                "codings of one column disclose each other: use one, or a hierarchy of both"
            )
            raise InputError(msg)
    sizes = {name: len(set(texts)) for name, texts in seen.items()}
    for new in records.by:
        for old in seen:
            fine, coarse = (new, old) if sizes[new] >= sizes[old] else (old, new)
            pairs = len(set(zip(seen[fine], seen[coarse], strict=True)))
            if old != new and sizes[coarse] > 1 and pairs == sizes[fine] < len(seen[fine]):
                msg = (
                    f"each code of {fine!r} lies within one of {coarse!r}, so tables by both "
                    "disclose cells by difference; begin the session with hierarchies="
                    f"{{{fine!r}: Hierarchy.from_columns(data, [{coarse!r}, {fine!r}])}} and "
                    f"ask by {fine!r}: the codes of {coarse!r} are totals then"
                )
                raise InputError(msg)
    return seen


def check_options(own: Mapping[str, Any], told: Mapping[str, Any], folder: Path) -> None:
    """Refuse other options than those of the session that wrote a folder.

    Parameters
    ----------
    own, told : mapping of str to plain data
        Options of this session, and of that one.
    folder : Path

    Raises
    ------
    InputError
    """
    for name, value in own.items():
        if name in told and told[name] != value:
            shown = "none" if told[name] in (None, []) else repr(told[name])
            msg = (
                f"the session that wrote {str(folder)!r} had {shown} as {name}=; begin this "
                "one with the same, or its tables would be judged in another sense"
            )
            raise InputError(msg)


def judged_together(tables: Mapping[str, Crosstab]) -> dict[str, Crosstab]:
    """Tables with the intervals that follow from all of them, audited once more as one.

    Raises
    ------
    CellveilError
        If they are not safe together; nothing is written then.
    """
    found = {name: dict(one.protected) for name, one in tables.items()}
    for of in dict.fromkeys(of for one in found.values() for of in one):
        names = [name for name, one in found.items() if of in one]
        audited = audited_together([found[name][of] for name in names])
        for name, one in zip(names, audited, strict=True):
            found[name][of] = one
    return {name: replace(one, protected=found[name]) for name, one in tables.items()}
