"""What a protected table is written as: the ways out that `csp.outputs` finds here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellveil.requests.option import Repeated
from cellveil.requests.outputs import House
from csp.clock import Clock
from csp.errors import InputError
from csp.mechanism import Protected


def crosstab(
    protected: Protected, down: str | Sequence[str] | None, across: str | Sequence[str] | None,
    *, library: str | None, mark: str | None,
) -> Any:  # fmt: skip
    """Cross the published table: rows by columns; see `Protected.crosstab`.

    Raises
    ------
    InputError
        If a dimension is unknown or named twice.
    """
    # Methods of `csp.Protected`: loaded when they are called.
    from cellveil.crosstabs.figures import Figures
    from cellveil.crosstabs.responses import COUNT, Response

    names = protected.table.names
    right = _names(across)
    left = _names(down)
    if left is None and right is None:
        left, right = names[:-1] or names, names[-1:] if len(names) > 1 else ()
    left = tuple(n for n in names if n not in (right or ())) if left is None else left
    right = tuple(n for n in names if n not in left) if right is None else right
    if sorted((*left, *right)) != sorted(names):
        msg = (
            f"rows and columns have to name each dimension once; they are {', '.join(names)}, got "
            f"{', '.join(left)} down and {', '.join(right) or 'none'} across"
        )
        raise InputError(msg)
    figures = Figures({COUNT: protected}, (Response("count"),), left, right, protected.table.frame)
    return figures.to_frame(library, mark=mark)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else (given,) if isinstance(given, str) else tuple(given)


def excel(
    protected: Protected, path: str | os.PathLike[str], *, mark: str | None, title: str | None,
    footnotes: Sequence[str], reveal: bool,
) -> None:  # fmt: skip
    """Write a workbook; see `Protected.to_excel`."""
    # Methods of `csp.Protected`: loaded when they are called.
    from cellveil.io.files import result_columns
    from cellveil.io.results import write_result

    below = [footnotes] if isinstance(footnotes, str) else footnotes
    house = House(mark=mark, title=title, footnote=tuple(map(Repeated, below)))
    columns = result_columns(protected, reveal=reveal)
    target = _ending(path, ".xlsx")
    write_result(target, protected, columns, form="xlsx", reveal=reveal, house=house)


def report(
    protected: Protected, path: str | os.PathLike[str], *, title: str, attack: bool,
    time_limit: float | None, reveal: bool,
) -> None:  # fmt: skip
    """Write a page; see `Protected.report`."""
    # Methods of `csp.Protected`: loaded when they are called.
    from cellveil.report.facts import attacked, report_facts
    from cellveil.report.page import report_page
    from cellveil.report.skeleton import write_page

    page = _ending(path, ".html")
    found = attacked(protected, Clock.of(time_limit)) if attack else None
    facts = report_facts(protected, title=title, attacks=found, reveal=reveal)
    write_page(page, report_page(protected, facts), facts)


def release(protected: Protected, path: str | os.PathLike[str]) -> None:
    """Write the release with its mechanism; see `Protected.write`."""
    from csp.release_file import write_protected

    write_protected(protected, path)


def _ending(path: str | os.PathLike[str], suffix: str) -> Path:
    """Refuse a file name with another ending, before any work."""
    found = Path(path)
    if found.suffix.lower() != suffix:
        msg = f"{str(found)!r} must end with {suffix}"
        raise InputError(msg)
    return found
