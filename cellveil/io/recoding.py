"""Codes that become one before a table is made, as a source says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.front import refuse
from cellveil.render.screen import say
from csp.formats.recodings import Recoding, read_recoding
from csp.release.release import Release
from csp.tables.codes import Labels, text_codes
from csp.tables.cross.joined import joined
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.recoding import recoded
from csp.tables.table import Table


def read_recodings(given: Sequence[str], names: Collection[str]) -> dict[str, Recoding]:
    """Recoding of each column, from ``COLUMN=FILE``; those of other columns are refused.

    Raises
    ------
    InputError
        For a text that is not like that, a column that is not a dimension or named twice, and files
        that cannot be read.
    """
    found: dict[str, Recoding] = {}
    for text in given:
        name = max((n for n in names if text.startswith(f"{n}=")), key=len, default="")
        file = text[len(name) + 1 :].strip()
        if not name or not file:
            refuse(
                f"--recode {text!r} is not COLUMN=FILE for a column of --by ({', '.join(names)}), "
                "such as region=region.grc"
            )
        if name in found:
            refuse(f"--recode names {name!r} twice; put all of its groups into one file")
        found[name] = read_recoding(Path(file))
    return found


def recoded_records(
    data: Mapping[str, Any], recodings: Mapping[str, Recoding],
    choices: Mapping[str, list[Hierarchy]],
) -> tuple[dict[str, Any], dict[str, list[Hierarchy]]]:  # fmt: skip
    """Columns of records, and the hierarchies of each, with codes joined.

    Raises
    ------
    InputError
        As `csp.tables.hierarchies.recoding.recoded`.
    """
    columns, trees = dict(data), dict(choices)
    for name, recoding in recodings.items():
        texts = text_codes(np.asarray(columns[name], dtype=object))
        codes = dict.fromkeys(texts)
        _say_what_is_missing(recoding, codes, choices.get(name, ()), name)
        given: list[Hierarchy] | list[None] = choices.get(name) or [None]
        made = [recoded(codes, recoding, tree, name) for tree in given]
        mapping = {old: new for each, _ in made for old, new in each.items()}
        column = np.empty(len(texts), object)
        column[:] = [mapping.get(text, text) or None for text in texts]
        columns[name] = column
        if choices.get(name):
            trees[name] = [tree for _, tree in made if tree is not None]
    return columns, trees


def _say_what_is_missing(
    recoding: Recoding, codes: Collection[str], trees: Sequence[Hierarchy], name: str
) -> None:
    """Say which codes are joined that neither the data nor a hierarchy has."""
    known = {*codes}.union(*(tree.codes for tree in trees))
    lacking = sorted(recoding.unmatched(known))
    if lacking:
        some = ", ".join(map(repr, lacking[:5])) + (" and others" if len(lacking) > 5 else "")
        few = "code" if len(lacking) == 1 else "codes"
        say(f"{recoding.where}: {name} has no {few} {some}.")


def recoded_table(table: Table, recodings: Mapping[str, Recoding]) -> Table:
    """Table of cells with codes joined, and their cells added up.

    Raises
    ------
    InputError
        For codes of different parents, a total among them or as their name, and known contributors.
    """
    for name, recoding in recodings.items():
        d = table.names.index(name)
        tree = tree_of(table, d)
        labels = Labels.of(table.labels)
        codes = [code for code in labels.categories[d] if code != table.roots[d]]
        mapping, _ = recoded(codes, recoding, tree, name)
        if (root := table.roots[d]) in mapping.values():
            refuse(
                f"{recoding.where}: {root!r} is the total of {name!r}, and codes that are joined "
                "cannot have its name; choose another one"
            )
        table = joined(table, name, mapping)
    return table


def tree_of(table: Table | Release, d: int) -> Hierarchy | None:
    """Hierarchy of a dimension as its relations have it; None if it is flat or has several tops."""
    from csp.tables.margins import codes_along

    labels = Labels.of(table.labels)
    _, pairs = codes_along(table.relations, labels.codes)
    texts = labels.categories[d]
    parents = {texts[part]: texts[above] for above, part in pairs[d].tolist()}
    tops = {above for above in parents.values() if above not in parents}
    if len({*parents.values()}) < 2 or len(tops) != 1:
        return None
    return Hierarchy.from_parents(parents, total=tops.pop())
