"""Code hierarchies: how the codes of one dimension add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from typing import Any

from csp.errors import InputError

__all__ = ["Hierarchy"]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A rooted tree of codes; every inner code is the sum of its children.

    Attributes
    ----------
    codes : tuple of str
        All codes in postorder: children before their parent, siblings in their given order, the
        root (the total) last. Spaces around a code do not count: " 1" and "1" are one code.
    parent : tuple of int
        Position of each code's parent in `codes`; -1 for the root.

    Raises
    ------
    InputError
        If a code is empty or occurs twice, or the codes do not stand in postorder.

    Examples
    --------
    >>> from csp import Hierarchy
    >>> region = Hierarchy.from_dict({"North": ["1", "2"], "South": ["3"]})
    >>> region.codes
    ('1', '2', 'North', '3', 'South', 'Total')
    """

    codes: tuple[str, ...]
    parent: tuple[int, ...]
    _children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        codes = tuple(str(code).strip() for code in self.codes)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "parent", tuple(int(p) for p in self.parent))
        object.__setattr__(self, "_positions", _positions(codes))
        object.__setattr__(self, "_children", _children(codes, self.parent))

    # ---- constructors --------------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """All codes directly below one total, in the given order.

        Raises
        ------
        InputError
            If a code is empty, occurs twice or equals the total.
        """
        return cls._from_tree({code: {} for code in _distinct(codes, total)}, total)

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any] | Sequence[Any], total: str = "Total") -> Hierarchy:
        """Hierarchy of nested mappings and lists.

        Parameters
        ----------
        tree : mapping or sequence
            A mapping gives each code its own mapping or sequence of children; None and empty
            ones mean a code without children. A sequence lists codes (or further mappings).
        total : str
            Code of the total above all of them.

        Raises
        ------
        InputError
            If a code is empty, occurs twice or equals the total.
        """
        parents: dict[str, str] = {}
        _walk(tree, total.strip(), total.strip(), parents)
        return cls._from_parents(parents, total)

    @classmethod
    def from_parents(
        cls,
        parents: Any,
        child: str | None = None,
        parent: str | None = None,
        total: str = "Total",
    ) -> Hierarchy:
        """Hierarchy of child and parent codes.

        Parameters
        ----------
        parents : mapping, iterable of pairs, or data frame
            Child to parent. A missing or empty parent means that the code stands below the total.
        child, parent : str, optional
            Columns of the data frame; needed for a frame only.
        total : str
            Code put above all codes that have no parent. If there is exactly one such code and
            it is only ever named as a parent, that code itself is the total.

        Raises
        ------
        InputError
            If a code has two parents, is its own ancestor (the codes of the cycle are named), is
            empty, or has the name of the total but a parent.
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
            return cls._from_parents(known, tops[0])
        for code in tops:
            known.setdefault(code, "")
        known.pop(total.strip(), None)
        return cls._from_parents({low: high or total.strip() for low, high in known.items()}, total)

    @classmethod
    def from_columns(cls, data: Any, columns: Sequence[str], total: str = "Total") -> Hierarchy:
        """Hierarchy of nested columns, such as sector, branch, activity.

        Siblings come in sorted order, so that the result does not depend on the order of rows.

        Parameters
        ----------
        data : data frame, mapping of columns, or path to a .csv or .parquet file
        columns : sequence of str
            From coarse to fine. A branch may end early: finer columns are then missing, or repeat
            the code they refine.
        total : str
            Code of the total above the first column.

        Raises
        ------
        InputError
            If a column is unknown, a code lies below two codes (the row is named), a code is
            missing above a given one, or a code is its own ancestor.
        """
        from csp.columns import read_columns, text_codes

        frame = read_columns(data, columns)
        parents: dict[str, str] = {}
        top = total.strip()
        for number, row in enumerate(zip(*(text_codes(c) for c in frame.arrays), strict=True), 1):
            above, ended = top, False
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
        return cls._from_parents(dict(sorted(parents.items())), top)

    @classmethod
    def from_hrc(
        cls, source: str | PathLike[str] | Iterable[str], lead: str = "@", total: str = "Total"
    ) -> Hierarchy:
        """Hierarchy of a τ-ARGUS .hrc file: one code a line, indented by leads.

        Parameters
        ----------
        source : path, text or lines
            A string with a line break is text; without one it is a path.
        lead : str
            The string that, repeated, shows the depth of a code.
        total : str
            Code of the total, which the file leaves out.

        Raises
        ------
        InputError
            If the file cannot be read or a line is malformed (line number and reason named).
        """
        from csp.formats.hrc import parse_hrc

        return cls._from_parents(parse_hrc(source, lead=lead, total=total), total)

    def to_hrc(self, path: str | PathLike[str] | None = None, lead: str = "@") -> str:
        """Text of a τ-ARGUS .hrc file, also written to `path` if one is given.

        Raises
        ------
        InputError
            If a code begins with the lead, has a line break, or the file cannot be written.
        """
        from csp.formats.hrc import format_hrc, write_text

        text = format_hrc(self, lead)
        if path is not None:
            write_text(path, text)
        return text

    # ---- facts ---------------------------------------------------------------------------------

    @property
    def root(self) -> str:
        """Code of the total."""
        return self.codes[-1]

    @property
    def leaves(self) -> tuple[int, ...]:
        """Positions of the codes without children, in order."""
        return tuple(i for i, below in enumerate(self._children) if not below)

    @property
    def depth(self) -> int:
        """Number of levels below the total; 1 for a flat hierarchy."""
        return max(len(self.ancestors(i)) for i in range(len(self.codes)))

    def children(self, position: int) -> tuple[int, ...]:
        """Positions of the children of the code at `position`, in order."""
        return self._children[position]

    def ancestors(self, position: int) -> tuple[int, ...]:
        """Positions of the codes above the code at `position`, its parent first."""
        found = []
        while (position := self.parent[position]) >= 0:
            found.append(position)
        return tuple(found)

    def position(self, code: str) -> int:
        """Position of a code in `codes`.

        Raises
        ------
        InputError
            If the hierarchy has no such code; near ones are offered.
        """
        found = self._positions.get(str(code).strip())
        if found is None:
            near = get_close_matches(str(code).strip(), self.codes, 3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            msg = f"code {str(code)!r} is not in the hierarchy of {self.root!r}{hint}"
            raise InputError(msg)
        return found

    # ---- building ------------------------------------------------------------------------------

    @classmethod
    def _from_parents(cls, parents: Mapping[str, str], total: str) -> Hierarchy:
        """Tree of stripped codes; every chain of parents must end at the total."""
        root = total.strip()
        if root in parents:
            msg = (
                f"code {root!r} is both a category and the total; choose another name for the total"
            )
            raise InputError(msg)
        tree: dict[str, dict[str, Any]] = {root: {}}
        for code in parents:
            tree[code] = {}
        for low, high in parents.items():
            tree[high][low] = tree[low]
        _check_cycles(parents, root)
        return cls._from_tree(tree[root], root)

    @classmethod
    def _from_tree(cls, tree: Mapping[str, Any], total: str) -> Hierarchy:
        """Postorder of nested dicts whose codes are known to be distinct."""
        if not tree:
            msg = f"the hierarchy has no codes below its total {total!r}; give at least one"
            raise InputError(msg)
        codes: list[str] = []
        parent: list[int] = []
        waiting: list[list[int]] = [[]]
        stack = [(total, iter(tree.items()))]
        while stack:  # a loop, since a chain may be longer than Python's recursion limit
            code, rest = stack[-1]
            following = next(rest, None)
            if following is not None:
                stack.append((following[0], iter(following[1].items())))
                waiting.append([])
                continue
            stack.pop()
            for position in waiting.pop():
                parent[position] = len(codes)
            if waiting:
                waiting[-1].append(len(codes))
            codes.append(code)
            parent.append(-1)
        return cls(tuple(codes), tuple(parent))


def _positions(codes: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, code in enumerate(codes):
        if not code:
            msg = f"the code at position {i + 1} of the hierarchy is empty; give every code a name"
            raise InputError(msg)
        if found.setdefault(code, i) != i:
            msg = (
                f"code {code!r} occurs twice in the hierarchy, at positions {found[code] + 1} and "
                f"{i + 1}; each code may occur once"
            )
            raise InputError(msg)
    return found


def _children(codes: tuple[str, ...], parent: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Children of each position; in postorder they are exactly the top of a stack."""
    if not codes or len(parent) != len(codes):
        msg = f"a hierarchy needs one parent for each code; got {len(codes)} and {len(parent)}"
        raise InputError(msg)
    stack: list[int] = []
    children = []
    for i, code in enumerate(codes):
        if not (i < parent[i] < len(codes) or (i == len(codes) - 1 and parent[i] == -1)):
            msg = f"code {code!r} must stand before its parent (the root last, with parent -1)"
            raise InputError(msg)
        below: list[int] = []
        while stack and parent[stack[-1]] == i:
            below.append(stack.pop())
        children.append(tuple(reversed(below)))
        stack.append(i)
    if len(stack) > 1:
        msg = f"code {codes[stack[0]]!r} is not next to its siblings; codes must be in postorder"
        raise InputError(msg)
    return tuple(children)


def _distinct(codes: Iterable[str], total: str) -> list[str]:
    found: list[str] = []
    for raw in codes:
        code = str(raw).strip()
        if code == total.strip():
            msg = (
                f"code {code!r} is both a category and the total; choose another name for the total"
            )
            raise InputError(msg)
        found.append(code)
    _positions(tuple(found))
    return found


def _walk(tree: Any, above: str, total: str, parents: dict[str, str]) -> None:
    """Collect child to parent from nested mappings and sequences."""
    if tree is None:
        return
    if isinstance(tree, Mapping):
        for raw, below in tree.items():
            code = str(raw).strip()
            if code == total:
                msg = (
                    f"code {code!r} is both a category and the total; choose another name for "
                    "the total"
                )
                raise InputError(msg)
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
            _walk(below, code, total, parents)
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for item in tree:
            nested = isinstance(item, Mapping) or (
                isinstance(item, Iterable) and not isinstance(item, str)
            )
            _walk(item if nested else {item: None}, above, total, parents)
    else:
        msg = f"the children of {above!r} must be a mapping or a list of codes, not {tree!r}"
        raise InputError(msg)


def _pairs(parents: Any, child: str | None, parent: str | None) -> list[tuple[str, str]]:
    """Return stripped pairs of child and parent; a missing parent is an empty string."""
    if child is not None and parent is not None:
        from csp.columns import read_columns, text_codes

        frame = read_columns(parents, (child, parent))
        low, high = (text_codes(column) for column in frame.arrays)
        return list(zip(low, high, strict=True))
    if child is not None or parent is not None:
        msg = "give both columns, child= and parent=, or neither for a mapping or pairs"
        raise InputError(msg)
    items = parents.items() if isinstance(parents, Mapping) else parents
    try:
        return [
            (str(low).strip(), "" if high is None else str(high).strip()) for low, high in items
        ]
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
