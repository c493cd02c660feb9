"""Codes as numbers: entries of columns, and labels of cells, which become text only when asked.

A tuple of texts costs hundreds of bytes a cell, a column of integers four. A table of a million
cells keeps its labels this way, and everything that works on all cells reads the columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time
from math import prod
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.formats.codes import plain_code
from csp.tables.units import is_missing

_BLOCK = 2**16
"""Labels that are made at once while all of them are read."""

_SHOWN = 1000
"""Most labels that are shown in full."""


def cell_name(names: Sequence[str], label: Sequence[str]) -> str:
    """Name of a cell for messages: its dimensions and codes."""
    return "(" + ", ".join(f"{n}={c}" for n, c in zip(names, label, strict=False)) + ")"


class Labels(Sequence[tuple[str, ...]]):
    """Labels of cells: a sequence of tuples of text, kept as integer columns.

    It equals, and can stand for, a tuple of tuples of the same texts. A label is made when it is
    asked for; code that needs all of them reads `codes` and `categories` instead.

    Attributes
    ----------
    codes : (n, d) int32
        Number of the code of each cell in each dimension; read-only, its columns contiguous.
    categories : tuple of tuple of str
        For each dimension, the texts that the numbers stand for, each once. Some may be unused.

    Examples
    --------
    >>> from csp.tables.codes import Labels
    >>> labels = Labels.of([("a", "x"), ("a", "y"), ("b", "x")])
    >>> labels[1], labels.codes.tolist()
    (('a', 'y'), [[0, 0], [0, 1], [1, 0]])
    """

    __slots__ = ("_numbers", "_order", "categories", "codes")

    codes: NDArray[np.int32]
    categories: tuple[tuple[str, ...], ...]

    def __init__(self, codes: NDArray[Any], categories: Sequence[Sequence[str]]) -> None:
        self.codes = np.array(codes, dtype=np.int32, order="F")
        self.codes.flags.writeable = False
        self.categories = tuple(tuple(texts) for texts in categories)
        # Made when a label is looked for: numbers of the labels in ascending order, and whose.
        self._numbers: Ints | None = None
        self._order: Ints | None = None

    @classmethod
    def of(cls, labels: Sequence[tuple[str, ...]]) -> Labels:
        """Return labels of any sequence; labels of this kind are returned as they are.

        Raises
        ------
        InputError
            If the labels have different numbers of codes.
        """
        if isinstance(labels, cls):
            return labels
        width = len(labels[0]) if len(labels) else 0
        for i, label in enumerate(labels):
            if len(label) != width:
                msg = (
                    f"label {i + 1} has {len(label)} codes and the first one {width}; give every "
                    "cell one code in each dimension"
                )
                raise InputError(msg)
        codes = np.empty((len(labels), width), dtype=np.int32, order="F")
        categories = []
        for k, column in enumerate(zip(*labels, strict=True)):
            number: dict[str, int] = {}
            codes[:, k] = [number.setdefault(code, len(number)) for code in column]
            categories.append(tuple(number))
        return cls(codes, categories)

    @classmethod
    def product(cls, categories: Sequence[Sequence[str]]) -> Labels:
        """Return labels of all combinations of the codes of several dimensions, in C order."""
        shape = tuple(len(texts) for texts in categories)
        codes = np.empty((prod(shape), len(shape)), dtype=np.int32, order="F")
        for k, column in enumerate(np.indices(shape, dtype=np.int32, sparse=True)):
            codes[:, k] = np.broadcast_to(column, shape).ravel()
        found = cls(codes, categories)
        found._numbers = np.arange(len(codes), dtype=np.int64)
        found._order = found._numbers
        return found

    # ---- a sequence of tuples ------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Labels: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | Labels:
        if isinstance(index, slice):
            return Labels(self.codes[index], self.categories)
        row = self.codes[index].tolist()
        return tuple([texts[code] for texts, code in zip(self.categories, row, strict=True)])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        if not self.categories:
            yield from ((),) * len(self)
            return
        for start in range(0, len(self), _BLOCK):
            block = self.codes[start : start + _BLOCK]
            columns = [
                [texts[code] for code in column.tolist()]
                for texts, column in zip(self.categories, block.T, strict=True)
            ]
            yield from zip(*columns, strict=True)

    def __contains__(self, label: object) -> bool:
        return self.find(label) >= 0

    def index(self, label: Any, start: int = 0, stop: int | None = None) -> int:
        """Position of a label, as for a tuple.

        Raises
        ------
        ValueError
            If there is no such label.
        """
        found = self.find(label)
        if found < 0 or not start <= found < (len(self) if stop is None else stop):
            msg = f"{label!r} is not among the labels"
            raise ValueError(msg)
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Labels):
            return self._same(other)
        if isinstance(other, (tuple, list)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return repr(tuple(self))
        return f"Labels({len(self)} cells, the first {self[0]!r})"

    # ---- many at once --------------------------------------------------------------------------

    def column(self, k: int) -> list[str]:
        """Codes of all cells in one dimension, as text."""
        texts = np.empty(len(self.categories[k]), dtype=object)
        texts[:] = self.categories[k]
        found: list[str] = texts[self.codes[:, k]].tolist()
        return found

    def take(self, cells: NDArray[Any]) -> Labels:
        """Labels of some cells, by number or mask."""
        return Labels(self.codes[cells], self.categories)

    def turned(self, order: Sequence[int]) -> Labels:
        """Return the same labels with their dimensions in another order."""
        return Labels(self.codes[:, order], [self.categories[k] for k in order])

    def find(self, label: object) -> int:
        """Position of a label, the first one if there are several; -1 if there is none."""
        if not isinstance(label, (tuple, list)) or len(label) != len(self.categories):
            return -1
        weights = self._weights()
        if weights is None:
            return int(self.places(Labels.of([tuple(label)]))[0])
        number = 0
        for texts, code, weight in zip(self.categories, label, weights, strict=True):
            if code not in texts:
                return -1
            number += texts.index(code) * weight
        numbers, order = self._sorted()
        at = int(np.searchsorted(numbers, number))
        return int(order[at]) if at < len(numbers) and numbers[at] == number else -1

    def places(self, others: Labels) -> Ints:
        """Position of each of some labels among these, the first if several; -1 where none is.

        Parameters
        ----------
        others : Labels
            Of the same dimensions in the same order; their numbers may differ.
        """
        if len(others.categories) != len(self.categories) or not len(self):
            return np.full(len(others), -1, np.int64)
        translated = others.recoded(self.categories)
        unknown: Bools = np.asarray((translated < 0).any(axis=1))
        numbers, order, wanted = self._looked_up(np.where(unknown[:, None], 0, translated))
        at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
        return np.where(unknown | (numbers[at] != wanted), -1, order[at])

    def recoded(self, categories: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """Codes (n, d) by their position in other categories; -1 where they are not among them."""
        codes = np.empty(self.codes.shape, np.int32, order="F")
        for k, (texts, others) in enumerate(zip(self.categories, categories, strict=True)):
            if texts == others:
                codes[:, k] = self.codes[:, k]
            else:
                number = {text: i for i, text in enumerate(others)}
                here = np.array([number.get(text, -1) for text in texts], np.int32)
                codes[:, k] = here[self.codes[:, k]]
        return codes

    def repeated(self) -> int:
        """Position of the first label that occurs before; -1 if each occurs once."""
        numbers, order = self._sorted()
        again = order[1:][numbers[1:] == numbers[:-1]]
        return int(again.min()) if len(again) else -1

    def unused_dropped(self) -> Labels:
        """Return the same labels with categories that occur, in their order."""
        codes, categories = np.empty_like(self.codes), []
        for k, texts in enumerate(self.categories):
            used = np.zeros(len(texts), dtype=bool)
            used[self.codes[:, k]] = True
            codes[:, k] = (np.cumsum(used) - 1)[self.codes[:, k]]
            categories.append(
                [text for text, kept in zip(texts, used.tolist(), strict=True) if kept]
            )
        return Labels(codes, categories)

    def in_order(self) -> Labels:
        """Return the same labels with only the categories that occur, as sorted texts."""
        used = self.unused_dropped()
        codes, categories = np.empty_like(used.codes), []
        for k, texts in enumerate(used.categories):
            order = sorted(range(len(texts)), key=texts.__getitem__)
            codes[:, k] = np.argsort(order)[used.codes[:, k]]
            categories.append([texts[i] for i in order])
        return Labels(codes, categories)

    @classmethod
    def union(cls, parts: Sequence[Labels]) -> Labels:
        """Return all labels of several tables, each once, in sorted order.

        Parameters
        ----------
        parts : sequence of Labels
            Of the same dimensions in the same order; at least one.
        """
        texts = [
            sorted({text for part in parts for text in part.categories[k]})
            for k in range(len(parts[0].categories))
        ]
        together = cls(np.concatenate([part.recoded(texts) for part in parts]), texts)
        numbers, order = together._sorted()
        _, first = np.unique(numbers, return_index=True)
        return together.take(order[first])

    def _same(self, other: Labels) -> bool:
        if self.codes.shape != other.codes.shape:
            return not len(self) and not len(other)
        if self.categories == other.categories:
            return np.array_equal(self.codes, other.codes)
        return np.array_equal(other.recoded(self.categories), self.codes)

    def _weights(self) -> list[int] | None:
        """Weights by which codes become one number; None if such numbers are too large."""
        sizes = [max(len(texts), 1) for texts in self.categories]
        if prod(sizes) >= 2**62:
            return None
        return [prod(sizes[k + 1 :]) for k in range(len(sizes))]

    def _sorted(self) -> tuple[Ints, Ints]:
        """Numbers of all labels in ascending order, and the position of each."""
        if self._numbers is None or self._order is None:
            weights = self._weights()
            if weights is None:
                _, numbers = np.unique(self.codes, axis=0, return_inverse=True)
                numbers = numbers.ravel().astype(np.int64)
            else:
                numbers = np.zeros(len(self), np.int64)
                for k, weight in enumerate(weights):
                    numbers += self.codes[:, k].astype(np.int64) * weight
            if (numbers[1:] > numbers[:-1]).all():
                self._order = np.arange(len(numbers), dtype=np.int64)
            else:
                self._order = np.argsort(numbers, kind="stable")
                numbers = numbers[self._order]
            self._numbers = numbers
        return self._numbers, self._order

    def _looked_up(self, codes: NDArray[np.int32]) -> tuple[Ints, Ints, Ints]:
        """Numbers of the labels in ascending order, whose they are, and those of other codes."""
        weights = self._weights()
        if weights is not None:
            numbers, order = self._sorted()
            return numbers, order, codes.astype(np.int64) @ np.array(weights, np.int64)
        both = np.concatenate([self.codes, codes])
        _, found = np.unique(both, axis=0, return_inverse=True)
        found = found.ravel().astype(np.int64)
        own = found[: len(self)]
        order = np.argsort(own, kind="stable")
        return own[order], order, found[len(self) :]


# ---- codes of columns ----------------------------------------------------------------------------


def text_codes(column: NDArray[Any]) -> list[str]:
    """Codes of a column as text without surrounding spaces; "" where missing.

    Whole floats lose their point, since a column of integers with gaps becomes floats in pandas.
    """
    texts, number = numbered_codes(column)
    return [texts[i] for i in number.tolist()]


def numbered_codes(column: NDArray[Any]) -> tuple[tuple[str, ...], Ints]:
    """Codes of a column as `text_codes` gives them, each once in sorted order, and whose they are.

    Returns
    -------
    texts : tuple of str
        Sorted; "" for missing codes, if there are any.
    number : (n,) int64
        Position of each row's code in `texts`.
    """
    if column.dtype.kind in "iu":
        found, number = _numbered_whole(column)
        return tuple(map(str, found.tolist())), number
    number, codes = _numbered_entries(column)
    texts = sorted(set(codes))
    place = {text: i for i, text in enumerate(texts)}
    rank = np.array([place[code] for code in codes], np.int64)
    return tuple(texts), rank[number]


def numbered_owners(column: NDArray[Any]) -> tuple[int, Ints, int]:
    """Give the identifiers of a column numbers, in the sorted order of their texts.

    Returns
    -------
    n : int
        How many different ones there are.
    number : (n,) int64
    missing : int
        First row without an identifier; -1 if every row has one.
    """
    if column.dtype.kind in "iu":
        found, number = _numbered_whole(column)
        return len(found), number, -1
    texts, number = numbered_codes(column)
    gap = int(np.argmax(number == 0)) if texts and not texts[0] else -1
    return len(texts), number, gap


def owner_numbers(column: NDArray[Any], name: str) -> Ints:
    """Give contributors numbers from 0, in the sorted order of their names, shape (n,).

    Raises
    ------
    InputError
        If a record has none.
    """
    _, numbers, gap = numbered_owners(column)
    if gap >= 0:
        raise missing_owner(gap + 1, name)
    return np.asarray(numbers, np.int64)


def missing_owner(row: int, name: str) -> InputError:
    """Return the error for a record without a contributor."""
    return InputError(
        f"row {row}: the contributor in column {name!r} is missing; give each record the "
        "identifier of its contributor"
    )


def _numbered_whole(column: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Different whole numbers in the order of their texts, and the position of each row's."""
    found, number = np.unique(column, return_inverse=True)
    order = _text_order(found)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return found[order], rank[number.ravel()]


def _numbered_entries(column: NDArray[Any]) -> tuple[Ints, list[str]]:
    """Give entries numbers; also returns the code of each number."""
    items = column.tolist()
    # Equal texts are one code; 1 and True and 1.0 are equal and not one code.
    if column.dtype.kind == "U" or set(map(type, items)) <= {str, type(None)}:
        number, different = _numbered(items, len(items))
        return number, list(map(_code, different))
    try:
        number, pairs = _numbered(zip(map(type, items), items, strict=True), len(items))
        return number, [_code(item) for _, item in pairs]
    except TypeError as error:  # bytes, or not hashable: a list, a dict, an array
        i = next(i for i, item in enumerate(items) if not _has_code(item))
        kind = type(items[i]).__name__
        msg = f"row {i + 1}: a code is a {kind}; codes must be text or numbers"
        raise InputError(msg) from error


def _numbered(entries: Iterable[Any], n: int) -> tuple[Ints, list[Any]]:
    """Give n entries numbers; also returns the different ones in their order."""
    seen: defaultdict[Any, int] = defaultdict()
    seen.default_factory = seen.__len__  # what is new is numbered in the one look for it
    number = np.fromiter(map(seen.__getitem__, entries), np.int64, n)
    return number, list(seen)


def _has_code(item: Any) -> bool:
    try:
        hash(item)
        _code(item)
    except TypeError:
        return False
    return True


def _text_order(whole: NDArray[Any]) -> Ints:
    """Order of different whole numbers as texts: 10 before 9."""
    most = int(whole.max(initial=0))
    digits = len(str(most))
    if int(whole.min(initial=0)) < 0 or 10**digits * (digits + 1) >= 2**62:
        texts = list(map(str, whole.tolist()))
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    # With zeros after its digits a number sorts like its text; of equal ones the shorter is first.
    values = whole.astype(np.int64)
    powers = 10 ** np.arange(digits + 1, dtype=np.int64)
    length = np.maximum(np.searchsorted(powers, values, side="right"), 1)
    return np.argsort(values * powers[digits - length] * (digits + 1) + length)


def _code(item: Any) -> str:
    if isinstance(item, str):
        return plain_code(item)
    if is_missing(item):
        return ""
    if isinstance(item, (bytes, bytearray, memoryview)):
        raise TypeError
    if isinstance(item, (float, np.floating)) and item.is_integer():
        return str(int(item))
    if isinstance(item, datetime) and _is_date(item):
        return item.date().isoformat()
    return plain_code(item)


def _is_date(item: datetime) -> bool:
    """Whether a point in time is a date, as programs without dates keep it: midnight, no zone."""
    return item.time() == time() and item.tzinfo is None and not getattr(item, "nanosecond", 0)
