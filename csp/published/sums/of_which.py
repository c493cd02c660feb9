"""Parts that are named without the others: "of which retail", "darunter Frauen".

Such a part does not add up with its neighbours. It is a part of what stands above it, and what is
left is not printed: whole = part + rest, and the rest follows by subtraction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from csp.exact import Bools, Ints
from csp.tables.hierarchies.totals import is_total

_WORDS = (
    r"(?:of which|of whom|thereof|darunter|darunt\.|dar\.|dont\b|waaronder|di cui|de los cuales|"
    r"w tym|heraf|herav|d\u00e4rav)"
)
_PARTIAL = re.compile(
    rf"\s*[-\u2013]?\s*(?:{_WORDS}|including\b|incl\b|einschl\.)|.*[,;(]\s*{_WORDS}\b",
    re.IGNORECASE,
)
"""Labels of parts that are not all parts: they add up to nothing."""

_HEADING = re.compile(rf"\s*{_WORDS}\s*[:.]?\s*", re.IGNORECASE)
"""The words alone, above the parts."""

_LEAD = re.compile(
    rf"\s*[-\u2013]?\s*(?:{_WORDS}|including|incl\.?|einschl\.)\s*:?\s*", re.IGNORECASE
)


_LESS = "less"
"""What stands before the part in the name of a rest."""


@dataclass(frozen=True, slots=True)
class OfWhich:
    """Parts of a code and the rest of it, by their positions among the codes of a dimension.

    Attributes
    ----------
    parts : tuple of int
        One, or several that do not overlap.
    whole, rest : int
    """

    parts: tuple[int, ...]
    whole: int
    rest: int


def is_of_which(code: str) -> bool:
    """Whether a label says that it is one of several parts, the others of which are not there."""
    return bool(_PARTIAL.match(code))


def are_of_which(label: str) -> bool:
    """Whether a heading says this of the labels below it, and nothing else."""
    return bool(_HEADING.fullmatch(label))


def beside_sums(codes: Sequence[str]) -> frozenset[str]:
    """Codes that add up with no others: such parts, and rests of them that are printed."""
    parts = [code for code in codes if is_of_which(code)]
    return frozenset(parts) | frozenset(_printed(codes, [plain_part(part) for part in parts]))


def plain_part(code: str) -> str:
    """Leave out the words before the name of a part."""
    return _LEAD.sub("", code, count=1) or code


def of_which(
    codes: Sequence[str], parents: Sequence[int], above: Mapping[str, str],
    lines: tuple[Ints, Bools] | None, *, alone: bool,
) -> tuple[tuple[str, ...], list[OfWhich]]:  # fmt: skip
    """Find parts that are named without the others.

    Parameters
    ----------
    codes : sequence of str
        In the order of the print.
    parents : sequence of int
        Position of the code that each adds up to; -1 for none.
    above : mapping of str to str
        Headings above codes, where the print shows them. A part without one is of the code before.
    lines : pair of (k, lines) int64 and bool, optional
        Values of codes, and whether they are known.
    alone : bool
        Values are true ones. A single code beside a total is a part then without any word, if it is
        never larger, and parts of one whole are taken together where they may be apart: a rest too
        many is safe.

    Returns
    -------
    tuple of str, list of OfWhich
        Names of the rests that the print does not have: further codes, behind those that it has.
    """
    place = {code: i for i, code in enumerate(codes)}
    used = {i for i, parent in enumerate(parents) if parent >= 0}
    named = [i for i, code in enumerate(codes) if is_of_which(code) and i not in used]
    rests = _printed(codes, [plain_part(codes[i]) for i in named])
    pairs: list[tuple[int, int]] = []
    last = total = next((i for i, code in enumerate(codes) if is_total(code)), -1)
    for i, code in enumerate(codes):
        if i not in named:
            last = last if code in rests else i
            continue
        own = next((c for c, part in rests.items() if part == plain_part(code)), None)
        if own is not None:  # its rest names the whole
            whole = place.get(own.rpartition(_LESS)[0].strip(), total)
        else:
            whole = place.get(above.get(code, ""), last)
        if whole >= 0 and (alone or _fits((i,), whole, lines)):
            pairs.append((i, whole))
    if alone and not pairs and len(codes) == 2 and not used:
        pairs = _single(codes, lines)
    groups: list[tuple[tuple[int, ...], int]] = [((part,), whole) for part, whole in pairs]
    for whole in dict.fromkeys(whole for _, whole in pairs):
        parts = tuple(part for part, top in pairs if top == whole)
        if len(parts) > 1 and (
            (alone and _fits(parts, whole, lines)) or _rest_name(codes, parts, whole) in place
        ):
            groups.append((parts, whole))
    names: list[str] = []
    found: list[OfWhich] = []
    for parts, whole in groups:
        # A difference is what it says, whether or not the parts overlap.
        name = _rest_name(codes, parts, whole)
        if name not in place:
            place[name] = len(codes) + len(names)
            names.append(name)
        found.append(OfWhich(parts, whole, place[name]))
    return tuple(names), found


def _single(codes: Sequence[str], lines: tuple[Ints, Bools] | None) -> list[tuple[int, int]]:
    """Of two codes the one that is a total and the other, if it is never larger than that."""
    tops = [i for i, code in enumerate(codes) if is_total(code)]
    if len(tops) != 1 or lines is None:
        return []
    part = 1 - tops[0]
    values, shown = lines
    both = shown.all(axis=0)
    less = values[part][both] < values[tops[0]][both]
    same = values[part][both] == values[tops[0]][both]
    return [(part, tops[0])] if less.any() and (less | same).all() else []


def _fits(parts: Sequence[int], whole: int, lines: tuple[Ints, Bools] | None) -> bool:
    """Whether parts together are never more than the whole."""
    if lines is None:
        return False
    values, shown = lines
    both = shown[[*parts, whole]].all(axis=0)
    return bool((values[list(parts)][:, both].sum(axis=0) <= values[whole][both]).all())


def _rest_name(codes: Sequence[str], parts: Sequence[int], whole: int) -> str:
    """Name what parts leave; a difference is what it says, whether or not the parts overlap.

    It does not have the name of a total, or it would be taken for one where it is read back.
    """
    top = "" if is_total(codes[whole]) else codes[whole]
    return f"{top}{''.join(f' {_LESS} {plain_part(codes[part])}' for part in parts)}".strip()


def _printed(codes: Sequence[str], parts: Sequence[str]) -> dict[str, str]:
    """Find rests that are codes themselves, as this program writes them, and what each is less."""
    found = {}
    for part in parts:
        for code in codes:
            if code == f"{_LESS} {part}" or code.endswith(f" {_LESS} {part}"):
                found[code] = part
    # Those of one part come first.
    return dict(sorted(found.items(), key=lambda pair: len(pair[0])))
