"""Codes that become one: what each code is then, and the hierarchy of the new ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from csp.errors import InputError
from csp.formats.recodings import Recoding
from csp.tables.hierarchies.hierarchy import Hierarchy


def recoded(
    codes: Collection[str], recoding: Recoding, tree: Hierarchy | None, name: str
) -> tuple[dict[str, str], Hierarchy | None]:
    """Return the new code of each code that gets one, and the hierarchy of what is left.

    Codes that are joined lie below one code of the hierarchy, or take the place of all that lies
    below the code whose name they get. A hierarchy that has the new codes and none of the old
    ones is that of the result.

    Parameters
    ----------
    codes : collection of str
        Those that occur.
    recoding : Recoding
    tree : Hierarchy, optional
        Of the codes; None for a flat dimension.
    name : str
        Of the dimension, for messages.

    Raises
    ------
    InputError
        If a level or codes of a hierarchy are named and there is none, or it has no such code, and
        for codes of different parents.
    """
    if recoding.cut or recoding.level is not None:
        if tree is None:
            msg = (
                f"{recoding.where}: {name!r} has no hierarchy that could be cut; give one, or "
                "name the codes to be joined"
            )
            raise InputError(msg)
        return _cut(recoding, tree)
    if tree is None:
        return recoding.mapping(codes), None
    leaves = [tree.codes[i] for i in tree.leaves]
    mapping = recoding.mapping(codes, leaves)
    if all(new in tree.codes for new in mapping.values()) and not any(
        old in tree.codes for old in mapping
    ):
        return mapping, tree
    # Codes that do not occur are joined as well: the hierarchy is the same whatever occurs.
    mapping = mapping | recoding.mapping(leaves, codes)
    return mapping, _joined(mapping, tree, recoding.where)


def _cut(recoding: Recoding, tree: Hierarchy) -> tuple[dict[str, str], Hierarchy]:
    """Nothing below certain codes is told apart."""
    stops = {tree.codes[tree.position(code)] for code in recoding.cut}
    mapping: dict[str, str] = {}
    for i, code in enumerate(tree.codes):
        above = [tree.codes[j] for j in tree.ancestors(i)]  # the parent first, the total last
        if recoding.level is not None:
            if len(above) > recoding.level:
                mapping[code] = above[-1 - recoding.level]
            continue
        stop = next((one for one in reversed(above) if one in stops), None)
        if stop is not None:
            mapping[code] = stop
    return mapping, _without(tree, mapping)


def _joined(mapping: Mapping[str, str], tree: Hierarchy, where: str) -> Hierarchy:
    """Hierarchy with new codes in the places of the first of theirs."""
    parents = {
        code: tree.codes[above] for code, above in zip(tree.codes, tree.parent, strict=True)
        if above >= 0
    }  # fmt: skip
    groups: dict[str, list[str]] = {}
    for old, new in mapping.items():
        if old in parents and old != new:
            groups.setdefault(new, []).append(old)
    new_parents = dict(parents)
    for new, olds in groups.items():
        inner = next((old for old in olds if old in {*parents.values()}), None)
        if inner is not None:
            msg = f"{where}: {inner!r} has codes below it; name these, or cut the hierarchy there"
            raise InputError(msg)
        if new in tree.codes and new not in olds:
            below = {code for code in parents if _lies(code, new, parents)}
            if below != {*olds}:
                left = sorted(below - {*olds}) or sorted({*olds} - below)
                msg = (
                    f"{where}: {new!r} is a code of the hierarchy, and {left[0]!r} is not joined "
                    "with all that lies below it; choose another name, or join all of them"
                )
                raise InputError(msg)
            for old in olds:
                del new_parents[old]
            continue
        tops = {parents[old] for old in olds} | ({parents[new]} if new in parents else set())
        if len(tops) > 1:
            one, two = sorted(tops)[:2]
            msg = (
                f"{where}: codes of {new!r} lie below {one!r} and below {two!r}; join codes that "
                "have one code above them"
            )
            raise InputError(msg)
        new_parents = {
            (new if code == olds[0] else code): above for code, above in new_parents.items()
            if code == olds[0] or code not in olds
        }  # fmt: skip
    return Hierarchy.from_parents(new_parents, total=tree.root)


def _lies(code: str, top: str, parents: Mapping[str, str]) -> bool:
    above = parents.get(code)
    while above is not None and above != top:
        above = parents.get(above)
    return above == top


def _without(tree: Hierarchy, gone: Collection[str]) -> Hierarchy:
    parents = {
        code: tree.codes[above] for code, above in zip(tree.codes, tree.parent, strict=True)
        if above >= 0 and code not in gone
    }  # fmt: skip
    return Hierarchy.from_parents(parents, total=tree.root)
