"""Trees of codes in the making: child and parent from many forms, checked and put in postorder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csp.errors import InputError
from csp.formats.codes import plain_code
from csp.tables.codes import text_codes
from csp.tables.columns import read_columns
from csp.tables.hierarchies.orders import in_order

MAX_DEPTH = 100
"""Most levels below a total. Classifications have at most a dozen; more are a damaged file."""


def too_deep(where: str) -> InputError:
    """Return the error for a hierarchy of too many levels."""
    return InputError(
        f"{where}: more than {MAX_DEPTH} levels below the total; merge or leave out some"
    )


def postorder(parents: Mapping[str, str], total: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Codes in postorder, and the position of each one's parent.

    Parameters
    ----------
    parents : mapping of str to str
        Child to parent; siblings come in this order.
    total : str
        The root: every chain of parents must end there.

    Raises
    ------
    InputError
        If there is no code, the total has a parent, or codes form a cycle (they are named).
    """
    root = plain_code(total)
    if root in parents:
        raise InputError(_total_message(root))
    if not parents:
        msg = f"the hierarchy has no codes below its total {root!r}; give at least one"
        raise InputError(msg)
    _check_cycles(parents, root)
    below: dict[str, list[str]] = {code: [] for code in (root, *parents)}
    for low, high in parents.items():
        below[high].append(low)
    # Postorder is the reverse of: parent first, then its children from the last to the first.
    codes, stack = [], [root]
    while stack:
        code = stack.pop()
        codes.append(code)
        stack.extend(below[code])
    codes.reverse()
    place = {code: i for i, code in enumerate(codes)}
    return tuple(codes), tuple(place[parents[c]] if c != root else -1 for c in codes)


def parents_of_dict(tree: Any, total: str) -> dict[str, str]:
    """Child to parent of nested mappings and sequences.

    Raises
    ------
    InputError
        If a code is empty, occurs twice or equals the total, or the nesting holds anything else.
    """
    parents: dict[str, str] = {}
    _walk(tree, plain_code(total), plain_code(total), parents, 0)
    return parents


def parents_of_pairs(
    parents: Any, child: str | None, parent: str | None, total: str
) -> tuple[dict[str, str], str]:
    """Child to parent and the root, of a mapping, pairs, or two columns of a frame.

    Raises
    ------
    InputError
        If a code is empty or has two parents, or there are no codes.
    """
    pairs = _pairs(parents, child, parent)
    known: dict[str, str] = {}
    for number, (low, high) in enumerate(pairs, start=1):
        if not low:
            msg = f"pair {number} has an empty child code; give every code a name"
            raise InputError(msg)
        if known.setdefault(low, high) != high:
            msg = (
                f"code {low!r} has two parents, {known[low]!r} and {high!r} (pair {number}); "
                "each code adds up into one parent"
            )
            raise InputError(msg)
    if not known:
        msg = "the hierarchy has no codes; give at least one pair of child and parent"
        raise InputError(msg)
    tops = list(dict.fromkeys(high for high in known.values() if high and high not in known))
    if len(tops) == 1 and all(known.values()):
        return known, tops[0]
    for code in tops:
        known.setdefault(code, "")
    if known.pop(plain_code(total), ""):
        raise InputError(_total_message(plain_code(total)))
    return {low: high or plain_code(total) for low, high in known.items()}, plain_code(total)


def parents_of_columns(data: Any, columns: Sequence[str], total: str) -> dict[str, str]:
    """Child to parent of nested columns, coarse to fine, siblings sorted.

    Raises
    ------
    InputError
        If a column is unknown, a code lies below two codes, or a coarser code is missing (row
        named).
    """
    frame = read_columns(data, columns, ())
    parents: dict[str, str] = {}
    for number, row in enumerate(zip(*(text_codes(c) for c in frame.arrays), strict=True), 1):
        above, ended = plain_code(total), False
        for column, code in zip(columns, row, strict=True):
            if not code or code == above:
                ended = True
                continue
            if ended:
                msg = (
                    f"row {number}: column {column!r} has a code but a coarser column is "
                    "missing or repeats its parent; fill the coarser column"
                )
                raise InputError(msg)
            if parents.setdefault(code, above) != above:
                msg = (
                    f"row {number}: code {code!r} of column {column!r} lies below {above!r} "
                    f"and below {parents[code]!r}; each code adds up into one parent"
                )
                raise InputError(msg)
            above = code
    below: dict[str, list[str]] = {}
    for code, above in parents.items():
        below.setdefault(above, []).append(code)
    return {code: above for above in sorted(below) for code in in_order(below[above])}


def _walk(tree: Any, above: str, total: str, parents: dict[str, str], depth: int) -> None:
    """Collect child to parent from nested mappings and sequences."""
    if tree is None:
        return
    if depth > 2 * MAX_DEPTH + 2:  # a list of mappings nests twice for one level
        raise too_deep(repr(above))
    if isinstance(tree, Mapping):
        for raw, below in tree.items():
            code = plain_code(raw)
            if code == total:
                raise InputError(_total_message(code))
            if not code:
                msg = f"a code below {above!r} is empty; give every code a name"
                raise InputError(msg)
            if code in parents:
                msg = (
                    f"code {code!r} occurs twice, below {parents[code]!r} and below {above!r}; "
                    "each code may occur once"
                )
                raise InputError(msg)
            parents[code] = above
            _walk(below, code, total, parents, depth + 1)
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for item in tree:
            nested = isinstance(item, Mapping) or (
                isinstance(item, Iterable) and not isinstance(item, str)
            )
            _walk(item if nested else {item: None}, above, total, parents, depth + 1)
    else:
        msg = f"the children of {above!r} must be a mapping or a list of codes, not {tree!r}"
        raise InputError(msg)


def _pairs(parents: Any, child: str | None, parent: str | None) -> list[tuple[str, str]]:
    """Return stripped pairs of child and parent; a missing parent is an empty string."""
    if child is not None and parent is not None:
        frame = read_columns(parents, (child, parent), ())
        low, high = (text_codes(column) for column in frame.arrays)
        return list(zip(low, high, strict=True))
    if child is not None or parent is not None:
        msg = "give both columns, child= and parent=, or neither for a mapping or pairs"
        raise InputError(msg)
    items = parents.items() if isinstance(parents, Mapping) else parents
    try:
        return [(plain_code(low), "" if high is None else plain_code(high)) for low, high in items]
    except (TypeError, ValueError) as error:
        msg = (
            "parents must be a mapping of child to parent, pairs of (child, parent), or a data "
            "frame with child= and parent= naming its columns"
        )
        raise InputError(msg) from error


def _check_cycles(parents: Mapping[str, str], root: str) -> None:
    safe = {root}
    for start in parents:
        path: list[str] = []
        seen: set[str] = set()
        code = start
        while code not in safe:
            if code in seen:
                cycle = [*path[path.index(code) :], code]
                msg = (
                    f"the hierarchy has a cycle: {' -> '.join(cycle)} (each the child of the "
                    "next); give one of them another parent"
                )
                raise InputError(msg)
            path.append(code)
            seen.add(code)
            code = parents[code]
        safe.update(path)


def _total_message(code: str) -> str:
    return (
        f"code {code!r} is both a category and the total; if its rows are totals of the others, "
        "leave them out, and if not, choose another name for the total"
    )
