"""Code hierarchies: how the codes of one dimension add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from typing import Any

from csp.errors import InputError
from csp.formats.codes import plain_code
from csp.formats.files import atomic_writer
from csp.names.guesses import Guided
from csp.tables.hierarchies.hrc import format_hrc, parse_hrc
from csp.tables.hierarchies.trees import (
    MAX_DEPTH,
    parents_of_columns,
    parents_of_dict,
    parents_of_pairs,
    postorder,
    too_deep,
)


@dataclass(frozen=True, slots=True)
class Hierarchy(metaclass=Guided):
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
        If a code is empty, occurs twice or holds a NUL, the codes do not stand in postorder, or
        they have more than 100 levels.

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
        codes = tuple(plain_code(code) for code in self.codes)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "parent", tuple(int(p) for p in self.parent))
        object.__setattr__(self, "_positions", _positions(codes))
        object.__setattr__(self, "_children", _children(codes, self.parent))
        _check_depth(codes, self.parent)

    # ---- constructors --------------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """All codes directly below one total, in the given order.

        Raises
        ------
        InputError
            If a code is empty, occurs twice or equals the total.
        """
        return cls(*postorder(parents_of_dict(list(codes), total), total))

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
        return cls(*postorder(parents_of_dict(tree, total), total))

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
        known, root = parents_of_pairs(parents, child, parent, total)
        return cls(*postorder(known, root))

    @classmethod
    def from_columns(cls, data: Any, columns: Sequence[str], total: str = "Total") -> Hierarchy:
        """Hierarchy of nested columns, such as sector, branch, activity.

        Siblings come sorted, bands of numbers by where they begin, so that the result does not
        depend on the order of rows.

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
        return cls(*postorder(parents_of_columns(data, columns, total), total))

    @classmethod
    def from_hrc(
        cls, source: str | PathLike[str] | Iterable[str], lead: str = "@", total: str = "Total"
    ) -> Hierarchy:
        """Hierarchy of a τ-ARGUS .hrc file: one code per line, indented by leads.

        Parameters
        ----------
        source : path, text or lines
            A string with a line break is text; without one it is a path.
        lead : str
            The string that, repeated, shows the depth of a code: "@", or the blanks or the tab
            of one level in an indented file.
        total : str
            Code of the total, which the file leaves out.

        Raises
        ------
        InputError
            If the file cannot be read or a line is malformed (line number and reason named).
        """
        return cls(*postorder(parse_hrc(source, lead=lead, total=total), total))

    def to_hrc(self, path: str | PathLike[str] | None = None, lead: str = "@") -> str:
        """Text of a τ-ARGUS .hrc file, also written to `path` if one is given.

        Raises
        ------
        InputError
            If a code begins with the lead, has a line break, or the file cannot be written.
        """
        text = format_hrc(self.codes, self.children, lead)
        if path is not None:
            with atomic_writer(path) as file:
                file.write(text)
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
        found = self._positions.get(plain_code(code))
        if found is None:
            near = get_close_matches(plain_code(code), self.codes, 3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            msg = f"code {str(code)!r} is not in the hierarchy of {self.root!r}{hint}"
            raise InputError(msg)
        return found


def _positions(codes: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, code in enumerate(codes):
        if not code:
            msg = f"the code at position {i + 1} of the hierarchy is empty; give every code a name"
            raise InputError(msg)
        if "\0" in code:
            msg = f"the code {code!r} holds a NUL character; rename it"
            raise InputError(msg)
        if found.setdefault(code, i) != i:
            msg = (
                f"code {code!r} occurs twice in the hierarchy, at positions {found[code] + 1} and "
                f"{i + 1}; each code may occur once"
            )
            raise InputError(msg)
    return found


def _check_depth(codes: tuple[str, ...], parent: tuple[int, ...]) -> None:
    depth = [0] * len(codes)
    for i in range(len(codes) - 2, -1, -1):
        depth[i] = depth[parent[i]] + 1
        if depth[i] > MAX_DEPTH:
            raise too_deep(repr(codes[i]))


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
