"""Figures of a protected cross table: what may be published of it, as text and as a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from cellveil.crosstabs.responses import COUNT, Response, Shown, shown
from csp.errors import InputError
from csp.exact import Bools
from csp.mechanism import Protected
from csp.names.guesses import Guided
from csp.release.release import Release
from csp.tables.codes import Labels
from csp.tables.cross.frames import columns_to_frame
from csp.tables.cross.html import SUPPRESSED, cell_texts, notebook_facts, notebook_table
from csp.tables.cross.layout import CrossTable, cross_table, outlines


@dataclass(frozen=True, eq=False, repr=False)
class Figures(metaclass=Guided):
    """Figures of a cross table whose responses are all protected by one pattern.

    Attributes
    ----------
    protected : mapping of str to Protected
        The table of each value by its name, and that of counts as "count": with true values, not
        for publication.
    responses : tuple of Response
        What each cell shows, in the order asked for.
    index, columns : tuple of str
        Dimensions that go down and across.
    library : str
        That of the caller's data.
    notes : tuple of str
        What was done to the records, in words.
    comment : str
        What the maker says of the table, for an output checker.
    left_out : int
        How many records lacked a code or a value. Not for publication: it is a figure of its own.
    """

    protected: Mapping[str, Protected]
    responses: tuple[Response, ...]
    index: tuple[str, ...]
    columns: tuple[str, ...]
    library: str = ""
    notes: tuple[str, ...] = ()
    comment: str = ""
    left_out: int = 0

    # ---- facts -----------------------------------------------------------------------------------

    @property
    def first(self) -> Protected:
        """Table of the first response; all have one pattern."""
        return self.protected[self.responses[0].value or COUNT]

    @property
    def pattern(self) -> Bools:
        """Suppressed cells of every response, shape (n,)."""
        return self.first.pattern

    @property
    def releases(self) -> dict[str, Release]:
        """What may be published of each table."""
        return {name: one.release for name, one in self.protected.items()}

    @property
    def safe(self) -> bool:
        """Whether every table passed its audit: always, or there would be no result."""
        return all(one.audit.safe for one in self.protected.values())

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """Figures of each response, of published cells only."""
        return tuple(shown(one, self.protected, self.index) for one in self.responses)

    def __repr__(self) -> str:
        by = " x ".join([*self.index, *self.columns])
        what = ", ".join(map(str, self.responses))
        n, hidden = len(self.pattern), int(self.pattern.sum())
        return f"Crosstab({what} by {by}: {n} cells, {hidden} suppressed; audited safe)"

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Facts of each table as plain data; see `csp.mechanism.Protected.summary`."""
        facts = {name: one.summary(reveal=reveal) for name, one in self.protected.items()}
        return {
            "responses": [str(one) for one in self.responses],
            "notes": list(self.notes),
            "comment": self.comment,
            "tables": facts,
        }

    # ---- as a table ------------------------------------------------------------------------------

    @property
    def layout(self) -> CrossTable:
        """Which cell stands where: the first dimensions down and across, others in panels."""
        across = self.columns[0] if self.columns else None
        return cross_table(self.first.release, self.index[-1], across)

    def texts(self, response: int = 0) -> tuple[str, ...]:
        """Text of each cell: grouped digits, × where it is withheld, – where it is empty."""
        one = self.shown[response]
        text = cell_texts(one.units, one.hidden, one.empty, one.scale)
        return tuple(map(text, range(len(one.units))))

    def to_frame(self, library: str | None = None, *, mark: str | None = None) -> Any:
        """Return the cross table as a data frame of the shape that pandas.crosstab has.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the caller's data by default, or the first that is installed.
        mark : str, optional
            What stands in withheld cells, which makes the columns texts and numbers mixed. A
            missing value stands there by default, as for a mean of no records.

        Returns
        -------
        data frame
            Codes as text, in the order of their categories or hierarchy, totals last. In pandas,
            rows and columns have an index of the dimensions, with the responses on top where
            there are several; elsewhere the dimensions of the rows are columns, and the names of
            others join their codes by " | ".

        Raises
        ------
        InputError
            If the library is missing, or the mark is used in a frame without mixed columns.
        """
        down, right, grids = self.grids(mark)
        library = library or self.library
        if library == "pandas" or (not library and _has("pandas")):
            return _pandas_frame(self, down, right, grids)
        if mark is not None:
            msg = "mark= mixes texts with numbers, which only frames of pandas hold; leave it out"
            raise InputError(msg)
        columns: dict[str, Any] = {
            name: [codes[d] for codes in down] for d, name in enumerate(self.index)
        }
        for response, grid in zip(self.responses, grids, strict=True):
            for j, codes in enumerate(right):
                several = [str(response)] if len(self.responses) > 1 or not codes else []
                name = " | ".join([*several, *codes])
                if name in columns:
                    msg = (
                        f"two columns of the frame would be called {name!r}; rename the dimension "
                        "or the code, or ask for library='pandas'"
                    )
                    raise InputError(msg)
                columns[name] = [row[j] for row in grid]
        return columns_to_frame(columns, library)

    def grids(self, mark: str | None) -> tuple[list[Any], list[Any], list[list[list[Any]]]]:
        """Codes of rows and columns, and the figures of each response in them.

        A mark stands in withheld cells, None where there is no figure.
        """
        table = self.first.table
        heads = dict(zip(table.names, outlines(table), strict=True))

        def combinations(names: Sequence[str]) -> list[tuple[str, ...]]:
            return list(product(*([head.code for head in heads[name]] for name in names)))

        down, right = combinations(self.index), combinations(self.columns)
        place = {label: i for i, label in enumerate(Labels.of(table.labels))}
        at = [table.names.index(name) for name in (*self.index, *self.columns)]
        cells = {tuple(label[d] for d in at): i for label, i in place.items()}
        kept = [row for row in down if any((*row, *col) in cells for col in right)]
        grids = []
        for one in self.shown:
            figures = [
                _plain(figure, one.response, one.scale) if figure is not None
                else mark if gone else None
                for figure, gone in zip(one.exact, one.hidden.tolist(), strict=True)
            ]  # fmt: skip
            grids.append(
                [[figures[i] if (i := cells.get((*row, *col), -1)) >= 0 else None for col in right]
                 for row in kept]
            )  # fmt: skip
        return kept, right, grids

    def _repr_html_(self) -> str:
        facts = [repr(self), *self.notes, f"{SUPPRESSED} is a suppressed cell."]
        if len(self.responses) == 1:
            return notebook_table(self.first.release, self.texts().__getitem__, facts, self.layout)
        parts = [
            notebook_table(self.first.release, self.texts(k).__getitem__, [str(one)], self.layout)
            for k, one in enumerate(self.responses)
        ]
        return notebook_facts(facts, parts)


def _has(library: str) -> bool:
    from importlib.util import find_spec

    return find_spec(library) is not None


def _plain(figure: Any, response: Response, scale: int) -> Any:
    """Return a number: whole where it is a count or a sum without decimals."""
    if response.kind != "mean" and not response.share_of and not scale:
        return int(figure)
    return float(figure)


def _pandas_frame(
    table: Figures, down: Sequence[Any], right: Sequence[Any], grids: Sequence[Any]
) -> Any:
    import pandas as pd

    index = (
        pd.Index([codes[0] for codes in down], name=table.index[0])
        if len(table.index) == 1
        else pd.MultiIndex.from_tuples(down, names=table.index)
    )
    tops = [(str(one),) for one in table.responses]
    several = len(tops) > 1
    heads = [(*top, *codes) if several or not codes else codes for top in tops for codes in right]
    names = [None, *table.columns] if several or not table.columns else list(table.columns)
    columns = (
        pd.Index([head[0] for head in heads], name=names[0])
        if len(names) == 1
        else pd.MultiIndex.from_tuples(heads, names=names)
    )
    rows = [[item for grid in grids for item in grid[i]] for i in range(len(down))]
    series = {j: _column([row[j] for row in rows]) for j in range(len(heads))}
    frame = pd.DataFrame(series, index=range(len(down)))
    frame.index, frame.columns = index, columns
    return frame


def _column(items: Sequence[Any]) -> Any:
    """Return a column of whole numbers, of floats with gaps, or of both and texts."""
    if any(isinstance(item, str) for item in items):
        return np.array([np.nan if item is None else item for item in items], object)
    if all(isinstance(item, int) for item in items):
        return np.array(items, np.int64)
    return np.array([np.nan if item is None else item for item in items], float)
