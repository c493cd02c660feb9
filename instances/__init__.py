"""Small tables with a history, and generators of tables by seed.

`synthetic` draws small ones, `business_patterns` a publication of any size, and
`overlapping_patterns` a second one that undoes what the first withholds. `publication_cells`
are the cells of the first, `planted_cells` those that it discloses, and `whole_number_blocks` parts
of it that only whole numbers disclose.

Every file in the folder ``data`` names its source; tests state what is known of each.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools
from csp.names.calls import named_all
from csp.problem.problem import Problem
from csp.tables.table import Table

__all__ = ["load", "naive_pattern", "names", "path", "source"]

_MODULES = ("synthetic", "business_patterns", "overlapping_patterns")

_DRAWN = (
    "instances.synthetic draws tables by seed: frequency_2d(rows, cols, seed), frequency_nd, "
    "hierarchical, magnitude, linked, microdata, sparse"
)
_LISTED = "instances.names() lists what instances.load(name) gives"
_ANSWERS = {
    **dict.fromkeys(("random", "generate", "draw", "make", "create", "simulate", "sample"), _DRAWN),
    **dict.fromkeys(
        ("frequency_2d", "frequency_nd", "hierarchical", "magnitude", "linked"), _DRAWN
    ),
    **dict.fromkeys(("list", "available", "get", "read", "datasets", "tables"), _LISTED),
}
"""Names that were guessed, and what there is."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"instances.{name}")
    near = get_close_matches(name, [*__all__, *_MODULES], 1)
    hint = _ANSWERS.get(name) or (f"did you mean {near[0]!r}?" if near else f"{_DRAWN}; {_LISTED}")
    msg = f"module 'instances' has no attribute {name!r}; {hint}"
    raise AttributeError(msg)


DATA = Path(__file__).resolve().parent / "data"

DEMO = (
    "Synthetic business survey: regions in two levels by sector, turnover of enterprises, some of "
    "them in several cells. Generated for this project."
)


def names() -> tuple[str, ...]:
    """Names that `load` takes, in alphabetical order."""
    return tuple(sorted([*(file.stem for file in DATA.glob("*.json")), "demo"]))


def load(name: str) -> Table | Problem:
    """One of the instances.

    Parameters
    ----------
    name : str
        ``"berkeley"``: Table; applicants by department, sex and decision (Bickel and others 1975).
        ``"demo"``: Table; turnover by region (two levels) and sector, with contributors.
        ``"figure2"``: Problem; Figure 2 of Minami and Abe (2019); one primary cell, width 10.
        ``"hair_and_eyes"``: Table; students by the colour of both (Snee 1974).
        ``"linked"``: Problem; two linked tables that protecting by turns leaves unsafe.
        ``"occupations"``: Table; fathers by sons in eight classes (Goodman 1979).
        ``"ones"``: Problem; every cell is known to be at least 1, so two ones that sum to two
        are known.
        ``"smokers"``: Table; patients by sex, illness and smoking (Doll and Hill 1950).
        ``"table1"``: Table; Table 1 and Example 2 of Minami and Abe (2019).
        ``"three_singletons"``: Problem; contributors know their own cells.
        ``"titanic"``: Table; persons by class, kind and fate (Dawson 1995).
        ``"union"``: Problem; the sum of two suppressed cells is itself sensitive.
        ``"zeros_and_ones"``: Problem; zeros under a small total are known because no count is
        negative.

    Returns
    -------
    Table or Problem

    Raises
    ------
    InputError
        If there is no such instance.

    Examples
    --------
    >>> import instances
    >>> instances.load("figure2")
    Problem(Table(M x P: 16 cells, 8 relations))
    """
    if name == "demo":
        return _demo()
    spec = _spec(name)
    tables = [_table(part) for part in spec.get("tables", [spec])]
    table = tables[0]
    if len(tables) > 1:
        from csp.tables.link import link

        table = link(*tables)
    if "lower" in spec:
        table = table.replace(lower=np.full(table.n_cells, spec["lower"]))
    if "primary" not in spec:
        return table
    primary = _mask(table, spec["primary"])
    publish = table.margins if spec["publish"] == "margins" else _totals(table)
    options: dict[str, Any] = {}
    if "union" in spec:
        from csp.rules.parse import parse_rules

        options["union_rule"] = parse_rules(spec["union"])
    if spec.get("singletons", False):
        options["singletons"] = primary & (table.values == 1)
    return Problem.of(table, primary, spl=spec["width"], publish=publish, **options)


def naive_pattern(name: str) -> Bools:
    """Return the pattern that came with an instance, as printed or as users reported it.

    Raises
    ------
    InputError
        If there is no such instance, or it came without a pattern.
    """
    if name == "demo" or "naive" not in _spec(name):
        msg = f"instance {name!r} came without a pattern"
        raise InputError(msg)
    found = load(name)
    return _mask(found.table if isinstance(found, Problem) else found, _spec(name)["naive"])


def source(name: str) -> str:
    """Where an instance comes from.

    Raises
    ------
    InputError
        If there is no such instance.
    """
    return DEMO if name == "demo" else str(_spec(name)["source"])


def path(file: str) -> Path:
    """Path of a file in the data folder, such as "demo.csv" and "demo.hrc".

    Raises
    ------
    InputError
        If there is no such file.
    """
    found = DATA / file
    if not found.is_file():
        known = ", ".join(sorted(p.name for p in DATA.iterdir() if p.is_file()))
        msg = f"no instance file {file!r}; there are {known}"
        raise InputError(msg)
    return found


def _demo() -> Table:
    from csp.tables.hierarchies.hierarchy import Hierarchy

    return Table.from_microdata(
        path("demo.csv"),
        ["region", "sector"],
        "turnover",
        contributor="enterprise",
        hierarchies={"region": Hierarchy.from_hrc(path("demo.hrc"))},
    )


def _spec(name: str) -> dict[str, Any]:
    if name not in names() or name == "demo":
        msg = f"no instance {name!r}; there are {', '.join(names())}"
        raise InputError(msg)
    spec: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return spec


def _table(spec: dict[str, Any]) -> Table:
    return Table.from_array(spec["cells"], names=spec["names"], codes=spec["codes"])


def _totals(table: Table) -> Bools:
    return np.array([label == table.roots for label in table.labels])


def _mask(table: Table, labels: list[list[str]]) -> Bools:
    mask = np.zeros(table.n_cells, dtype=bool)
    mask[[table.position(label) for label in labels]] = True
    return mask


named_all(__name__)
