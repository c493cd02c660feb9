"""Cells that an earlier release suppressed, found in the table of today, whatever its file is."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np

from cellveil.front import refuse
from cellveil.io.earlier_cells import Before, earlier_of, narrowed, read_earlier
from cellveil.io.inputs import hierarchy_of, read_hierarchies
from cellveil.io.recoding import read_recodings
from cellveil.requests.earlier import Earlier
from csp.exact import Bools
from csp.formats.codes import plain_code
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_text
from csp.formats.recodings import Recoding
from csp.mechanism import Protected
from csp.release.release import Release
from csp.tables.codes import Labels, cell_name
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.recoding import recoded
from csp.tables.hierarchies.totals import is_total
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Cells of a table that stay suppressed, and what there is to say of them."""

    cells: Bools
    told: tuple[str, ...]

    def release(self, table: Table) -> Release:
        """Return the earlier release as `csp.protect` takes it."""
        return Release.of(table, self.cells)

    def worked_out(self, protected: Protected, by_hand: str) -> list[str]:
        """Say how many of the cells can be worked out exactly, and how (`by_hand`) to mend that."""
        low, high = protected.audit.proved
        count = int((self.cells & protected.pattern & (low == high)).sum())
        if not count:
            return []
        them = "it" if count == 1 else "them"
        return [
            f"{count:,} of the cells that stay suppressed can be worked out from this release; "
            f"protect {them} with {by_hand} and MAN among the rules if that matters."
        ]


def kept_from(
    asked: Earlier, table: Table, recode: Sequence[str], hierarchies: Sequence[str] = ()
) -> Kept | None:
    """Cells that the file of --keep names; None without one.

    Parameters
    ----------
    asked : Earlier
    table : Table
    recode : sequence of str
        Recodings of the table's source: old codes that the file may have.
    hierarchies : sequence of str
        Its hierarchies, in which recodings that cut a level find what lies below a code.

    Raises
    ------
    InputError
        If the file is none of what it may be, has other dimensions, or a cell of it is not in the
        table and is not to be passed over.
    """
    if asked.keep is None:
        return None
    joins = _joins(recode, hierarchies, table)
    return _found(read_earlier(asked, table), table, asked, asked.keep.name, joins)


def keep_again(
    release: Release, table: Table, asked: Earlier, what: str, recode: Sequence[str],
    hierarchies: Sequence[str] = (),
) -> Kept:  # fmt: skip
    """Cells that a release suppressed, of a table that may have other codes; see `kept_from`.

    Of a release with dimensions that the table does not have, the cells at their totals count.
    """
    joins = _joins(recode, hierarchies, table)
    return _found(narrowed(earlier_of(release), table.names), table, asked, what, joins)


# ---- codes of today ------------------------------------------------------------------------------


def _with_zeros(
    before: Before, where: Sequence[int], table: Table
) -> tuple[Before, tuple[str, ...]]:
    """Give numbers the zeros before them, or the form, that codes of the table have.

    Spreadsheets write 1 where a code is 01.
    """
    forms: list[dict[str, str]] = []
    told = list(before.told)
    for d, at in enumerate(where):
        known = Labels.of(table.labels).categories[at]
        plain: dict[str, list[str]] = {}
        for code in known:
            plain.setdefault(_plain_number(code), []).append(code)
        changed = {
            code: plain[key][0] for code in before.codes[d]
            if code not in known and (key := _plain_number(code)) and len(plain.get(key, ())) == 1
        }  # fmt: skip
        forms.append(changed)
        if changed:
            old, new = min(changed.items())
            told.append(f"Codes of {table.names[at]} are matched as numbers: {old} is {new}.")
    if not any(forms):
        return before, tuple(told)
    cells = tuple(
        tuple(form.get(code, code) for form, code in zip(forms, cell, strict=True))
        for cell in before.cells
    )
    codes = tuple(
        frozenset(form.get(code, code) for code in those)
        for form, those in zip(forms, before.codes, strict=True)
    )
    return replace(before, cells=cells, codes=codes), tuple(told)


def _plain_number(code: str) -> str:
    """Whole number without zeros before it or a point behind; "" for another text."""
    whole = code.removesuffix(".0")
    return (whole.lstrip("0") or "0") if whole.isdecimal() else ""


def _pairs(path: Path) -> dict[str, list[str]]:
    """Old codes and those that stand for them now."""
    text = read_text(path, windows=True, most=MAX_DESCRIPTION_BYTES)
    lines = [line for line in text.split("\n") if line.strip()]
    sign = next((s for s in ";\t,|" if lines and all(line.count(s) == 1 for line in lines)), None)
    if sign is None:
        refuse(f"{path.name}: each line must be an old and a new code, such as N1,North")
    found: dict[str, list[str]] = {}
    for old, new in csv.reader(lines, delimiter=sign):
        found.setdefault(plain_code(old), []).append(plain_code(new))
    return found


# ---- cells ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Join:
    """How codes of a dimension are joined, and the hierarchies that they may be cut in."""

    recoding: Recoding
    trees: tuple[Hierarchy, ...]

    def mapping(self, codes: Collection[str], own: Hierarchy | None, name: str) -> dict[str, str]:
        """Find new codes; of a cut in the hierarchies, or else in that of the earlier release.

        Raises
        ------
        InputError
            For a cut without any hierarchy.
        """
        cut = self.recoding.cut or self.recoding.level is not None
        if not cut:
            return self.recoding.mapping(codes)
        trees = self.trees or (() if own is None else (own,))
        if not trees:
            refuse(
                f"{self.recoding.where}: {name!r} has no hierarchy that says what lies below its "
                f"codes in the earlier release; give it (--hierarchy {name}=FILE), or name the "
                f"codes that stand for the earlier ones (--keep-codes {name}=FILE)"
            )
        return {
            old: new for tree in trees
            for old, new in recoded(codes, self.recoding, tree, name)[0].items()
        }  # fmt: skip


def _joins(recode: Sequence[str], hierarchies: Sequence[str], table: Table) -> dict[str, _Join]:
    """Recodings of the dimensions of a table."""
    mine = [text for text in recode if hierarchy_of(text, table.names)[0] in table.names]
    trees = [text for text in hierarchies if hierarchy_of(text, table.names)[0] in table.names]
    roots = dict(zip(table.names, table.roots, strict=True))
    read = read_hierarchies([*dict.fromkeys(trees)], {n: r for n, r in roots.items() if r})
    return {
        name: _Join(recoding, tuple(read.get(name, {}).values()))
        for name, recoding in read_recodings(mine, table.names).items()
    }


def _found(
    before: Before, table: Table, asked: Earlier, what: str, joins: Mapping[str, _Join]
) -> Kept:
    """Cells of the table that were suppressed, by their codes or those that stand for them."""
    codes = {}
    for text in asked.keep_codes:
        name, file = hierarchy_of(text, table.names)
        if name not in table.names:
            refuse(f"--keep-codes {text!r} is not COLUMN=FILE for a column of --by")
        codes[name] = _pairs(Path(file))
    labels = Labels.of(table.labels)
    where, told = _dimensions(before, table)
    before, said = _with_zeros(before, where, table)
    told += said
    into = [
        _now(before, d, table, at, codes.get(table.names[at], {}), joins.get(table.names[at]))
        for d, at in enumerate(where)
    ]
    marks = np.zeros(table.n_cells, bool)
    known = [{*labels.categories[at]} for at in where]
    lost: list[tuple[str, ...]] = []
    uncrossed: list[tuple[str, ...]] = []
    other: set[tuple[str, ...]] = set()
    for cell in before.cells:
        options = [into[d].get(code, [code]) for d, code in enumerate(cell)]
        places = []
        for some in product(*options):
            label = list(table.roots)
            for at, code in zip(where, some, strict=True):
                label[at] = code
            places.append(labels.find(tuple(label)))
        if min(places) < 0:
            there = all(codes.issuperset(some) for codes, some in zip(known, options, strict=True))
            (uncrossed if there else lost).append(cell)
        found = [place for place in places if place >= 0]
        marks[found] = True
        if found and any(some != [code] for some, code in zip(options, cell, strict=True)):
            other.update(labels[place] for place in found)
    if lost and asked.keep_unknown == "error":
        shown = cell_name(before.names, lost[0])
        more = f" ({len(lost)} cells in all)" if len(lost) > 1 else ""
        refuse(
            f"cell {shown} was suppressed in the earlier release and the table has no such cell"
            f"{more}; say by what codes it goes now (--keep-codes COLUMN=FILE), or pass over such "
            "cells (--keep-unknown skip)"
        )
    void = 0
    if table.structural is not None:  # known to be empty, and so published
        void = int((marks & table.structural).sum())
        marks &= ~table.structural
    few = int(marks.sum())
    stay = "cell of {} stays" if few == 1 else "cells of {} stay"
    lines = [*told, f"{few:,} {stay.format(what)} suppressed."]
    if other:
        lines.append(
            f"{len(other):,} of them by codes that were joined or split, the first "
            f"{cell_name(table.names, min(other))}: published, it would tell what was suppressed "
            "before, less the parts that were published."
        )
    if void:
        lines.append(
            "1 of its cells has no contributors now, and is known to be empty." if void == 1
            else f"{void:,} of its cells have no contributors now, and are known to be empty."
        )  # fmt: skip
    if uncrossed:
        them = "cell of {} is" if len(uncrossed) == 1 else "cells of {} are"
        lines.append(
            f"{len(uncrossed):,} {them.format(what)} in no table though the codes are: no record "
            "has them together now, or no table crosses their dimensions; the first is "
            f"{cell_name(before.names, uncrossed[0])}."
        )
    if lost:
        lines.append(
            f"{len(lost):,} cells of {what} are not in the table and are passed over, the first "
            f"{cell_name(before.names, lost[0])}."
        )
    return Kept(marks, tuple(lines))


def _now(
    before: Before, d: int, table: Table, at: int, told: Mapping[str, Sequence[str]],
    join: _Join | None,
) -> dict[str, list[str]]:  # fmt: skip
    """Codes that stand now for those of a dimension, where these are others."""
    known, root = {*Labels.of(table.labels).categories[at]}, table.roots[at]
    found: dict[str, list[str]] = {}
    own = before.trees[d] if before.trees else None
    joined = {} if join is None else join.mapping(before.codes[d], own, table.names[at])
    for code in before.codes[d]:
        if code in told:
            found[code] = list(told[code])
        elif code in joined and code not in known:
            found[code] = [joined[code]]
        elif code not in known and root and (code in ("", before.roots[d]) or is_total(code)):
            found[code] = [root]
    return found


def _dimensions(before: Before, table: Table) -> tuple[list[int], list[str]]:
    """Which dimension of the table each one is: by its name, or by its codes."""
    names = table.names
    if {*before.names} <= {*names}:
        return [names.index(name) for name in before.names], []
    if len(before.names) <= len(names):
        known = [{*codes} - {root} for codes, root in
                 zip(Labels.of(table.labels).categories, table.roots, strict=True)]  # fmt: skip
        shared = [[len(codes & now) for now in known] for codes in before.codes]
        orders = {
            order: sum(shared[d][at] for d, at in enumerate(order))
            for order in permutations(range(len(names)), len(before.names))
            if all(
                shared[d][at] and (old == names[at] or old not in names)
                for d, (old, at) in enumerate(zip(before.names, order, strict=True))
            )
        }
        best = [order for order, codes in orders.items() if codes == max(orders.values())]
        pairs = [
            ", ".join(f"{old} is {names[at]}" for old, at in zip(before.names, order, strict=True))
            for order in best
        ]
        if len(best) == 1:
            return list(best[0]), [f"By their codes {pairs[0]}."]
        if best:
            refuse(
                f"the codes of the earlier release fit the table in several ways ({pairs[0]}; or "
                f"{pairs[1]}); name its dimensions {' and '.join(names)}: the columns of a list, "
                "the header of a cross table; or give a list of the cells"
            )
    refuse(
        f"the earlier release is by {', '.join(before.names)}, the table by {', '.join(names)}; "
        "cells are matched by their codes in the same dimensions"
    )
