"""A protected cross table as it is handed on: a workbook, a page to read, a release."""

from __future__ import annotations

import os
from pathlib import Path

from cellveil.crosstabs.figures import Figures
from cellveil.crosstabs.page import write_crosstab_page
from cellveil.crosstabs.workbook import write_crosstabs
from csp.release_file import write_protected


class Crosstab(Figures):
    """A cross table whose responses are all protected by one pattern; see `Figures`."""

    def to_excel(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write a workbook: a sheet for each response, one of all cells, and the facts.

        Raises
        ------
        InputError
            If openpyxl is not installed, a dimension is called like a figure of the table or
            "status", or the file cannot be written.
        """
        write_crosstabs(Path(path), {title or "table": self})

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write one page to read (.html): the table, what is proved, what can be inferred.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_crosstab_page(Path(path), {"": self}, title)

    def write(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the release of each table, with the mechanism, for later tables and for attacks.

        Parameters
        ----------
        path : path
            ``survey.json``; of several tables each has its name in it: ``survey-turnover.json``.
            Names that files cannot tell apart are numbered.

        Returns
        -------
        list of Path
            The files that were written.

        Raises
        ------
        InputError
            If a file cannot be written, or the mechanism cannot be told.
        """
        whole = Path(path)
        several = len(self.protected) > 1
        found: list[Path] = []
        taken: set[str] = set()
        for name, one in self.protected.items():
            plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
            safe, number = plain, 1
            while safe.lower() in taken:  # "pay+bonus" and "pay bonus" would be one file
                number += 1
                safe = f"{plain}-{number}"
            taken.add(safe.lower())
            to = whole.with_name(f"{whole.stem}-{safe}{whole.suffix}") if several else whole
            write_protected(one, to)
            found.append(to)
        return found
