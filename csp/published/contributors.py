"""Whether the cells of a published table are numbers of contributors."""

from __future__ import annotations

import numpy as np

from csp.errors import InputError, argument
from csp.names.calls import check_choice
from csp.published.cells import Published
from csp.published.names import COUNTS
from csp.published.told import Roles
from csp.tables.codes import cell_name


def cells_are_counts(found: Published, roles: Roles, cells: str | None) -> bool | None:
    """Whether cells are numbers of contributors; None where neither the reader nor they tell.

    Raises
    ------
    InputError
        If the reader says that they are, and they cannot be.
    """
    if cells is not None:
        check_choice("cells", cells, ("counts", "values"))
    same = roles.count is not None and roles.count == roles.value
    if cells == "values":
        return False
    if cells == "counts" or same:
        said = argument("cells", "counts") if cells else argument("count", roles.count)
        if roles.count is not None and not same:
            msg = (
                f"{said} says that the cells are numbers of contributors themselves, and "
                f"{argument('count', roles.count)} that these are in another column; leave one out"
            )
            raise InputError(msg)
        if found.scale or (found.values < 0).any():
            i = 0 if found.scale else int(np.argmax(found.values < 0))
            why = (
                f"the cells have {found.scale} decimal{'s' * (found.scale > 1)}" if found.scale
                else f"cell {cell_name(found.names, found.labels[i])} is negative"
            )  # fmt: skip
            msg = f"{said} says that the cells are numbers of contributors, but {why}"
            raise InputError(msg)
        return True
    if found.scale or found.counts is not None:
        return False
    return True if (roles.value or "").casefold().strip() in COUNTS else None
