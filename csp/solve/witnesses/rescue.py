"""Requirements that no block serves, settled by programs over all that may be suppressed."""

from __future__ import annotations

from csp.audits.audit import verified
from csp.audits.intervals import interval_claims
from csp.audits.violations import largest_levels, short_of_levels
from csp.clock import Clock
from csp.solve.unprotectable import unprotectable
from csp.solve.witnesses.book import Book


def rescue(book: Book, failed: list[int], clock: Clock) -> None:
    """Take claims into use that settle requirements with everything suppressed that may be.

    The two claims of a cell share a sliding level as the table allows, and their numbers may have
    any size, which witnesses do not and may not.

    The book is changed in place; `failed` are requirements.

    Raises
    ------
    Unprotectable
        If not even everything suppressed protects a cell.
    OutOfTime
    """
    field = book.field
    problem = field.problem
    everything = problem.forced | problem.free
    everything.flags.writeable = False
    enough = largest_levels(problem)
    for r in failed:
        p = int(field.cell[r])
        # First against an outsider, then against one after the other of those who are left.
        while (left := book.left(r)) is None or left:
            known: tuple[int, ...] = ()
            if left and book.attackers is not None:
                known = tuple(book.attackers.knows[min(left)].tolist())
            pair = interval_claims(
                problem.table, everything, [p], integer=field.integer, known=known, enough=enough,
                clock=clock,
            )[p]  # fmt: skip
            short = short_of_levels(problem, p, *pair)
            if short:
                refused = verified(problem, everything, pair, short, integer=field.integer)
                raise unprotectable(problem, refused)
            book.keep(p, pair)
