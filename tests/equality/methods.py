"""Results in Python, and every method of theirs that makes text, plain data or a frame."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import cellveil
import csp
import microagg
from csp import Decoys, Key, Mechanism, Problem, Table
from csp.decoys.suppress import defend
from tests.equality.worlds import COUNTS, EARLY, KEY, LOW, NEAR, RELAXED, VALUES, World, worlds

SHOWN = ("__repr__", "__str__", "_repr_html_", "summary", "facts", "text", "to_")
"""Beginnings of the names of methods that show something of a result."""

INTERNAL = {
    ("Mechanism", "to_dict"): "parameters",
    ("Decoys", "to_dict"): "parameters",
    ("Disclosure", "to_frame"): "which means are sensitive; its docstring says so",
    ("Suppression", "facts"): "needs its problem; tried as the summary of a protected table",
    ("Defended", "facts"): "likewise",
}
"""Methods that show nothing of data, or say that they are not for publication."""


def shown_by(result: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every method of a result that shows something and needs no argument."""
    kind = type(result)
    for name in dir(kind):
        if not name.startswith(SHOWN) or (kind.__name__, name) in INTERNAL:
            continue
        method = inspect.getattr_static(kind, name)
        if not callable(method) or (name == "__str__" and kind.__str__ is object.__str__):
            continue
        needed = [
            one for one in list(inspect.signature(method).parameters.values())[1:]
            if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        ]  # fmt: skip
        if not needed:
            yield f"{kind.__name__}.{name}", getattr(result, name)


def plain(shown: Any) -> str:
    """What a method gave, as text; times apart."""
    if isinstance(shown, Mapping):
        kept = {name: plain(value) for name, value in shown.items() if "seconds" not in str(name)}
        return str(kept)
    if hasattr(shown, "to_dict") and not isinstance(shown, type):
        frame = shown.to_dict(as_series=False) if hasattr(shown, "to_series") else shown.to_dict()
        return f"{getattr(shown, 'dtypes', '')}{frame}"
    if isinstance(shown, np.ndarray):
        return str(shown.tolist())
    return CLOCK.sub("- s", str(shown))


CLOCK = re.compile(r"\b[0-9]+\.[0-9]+ s\b")


def _protected(cells: Any, mechanism: Mechanism, **options: Any) -> Mapping[str, Any]:
    table = Table.from_array(cells)
    found = mechanism.protect(table, **options)
    release = found.release
    return {
        "published": (tuple(release.published.tolist()), tuple(release.pattern.tolist())),
        "results": [
            table, found, found.problem, found.suppression, found.audit, release, mechanism,
            csp.intervals(table, found.pattern),
            *([] if found.guarantee is None else [found.guarantee, found.defended]),
        ],
    }  # fmt: skip


def table_groups() -> Iterator[tuple[str, list[Callable[[], Mapping[str, Any]]]]]:
    """Calls on tables that agree with one release."""
    block = np.array([[1, -1], [-1, 1]])
    counts = []
    for step in (0, 1, -1):
        cells = np.array(COUNTS)
        cells[:2, :2] -= step * block
        counts.append(cells)
    plain_one = Mechanism("FREQ(4)", width=3, margins="publish")
    ways: dict[str, tuple[Mechanism, dict[str, Any]]] = {
        "cuts": (plain_one, {}), "branch": (plain_one, {"method": "branch"}),
        "small": (plain_one, {"method": "small"}), "large": (plain_one, {"method": "large"}),
        "ilp": (plain_one, {"method": "ilp"}), "a gap": (plain_one, {"gap": 0.25}),
        "a limit": (plain_one, {"time_limit": 60.0}),
        "intervals": (plain_one, {"publish": "intervals:2"}),
        "decoys": (
            Mechanism(
                "FREQ(4)", width=3, margins="publish",
                defence=Decoys("0.2", Key(KEY.strip().encode())),
            ), {},
        ),
    }  # fmt: skip
    for name, (mechanism, options) in ways.items():
        yield (
            f"counts by {name}",
            [lambda c=c, m=mechanism, o=options: _protected(c, m, **o) for c in counts],
        )
    early = Mechanism("FREQ(5)", width=4, margins="publish")
    yield (
        "a search that may stop",
        [lambda c=c: _protected(c, early, gap=0.25, method="branch") for c in EARLY],
    )
    yield (
        "values",
        [
            lambda s=s: _protected(
                np.array(VALUES) + np.pad(s * block, ((0, 1), (0, 2))),
                Mechanism(csp.Manual([("1", "1")], width=20)),
            )
            for s in (0, 3, -4, 40)
        ],
    )


def _rounded(
    cells: list[int], key: Key | None, shape: tuple[int, ...] = (2, 3), base: int = 5, *,
    small: bool = False,
) -> Mapping[str, Any]:  # fmt: skip
    found = csp.round_table(Table.from_array(np.reshape(cells, shape)), base, key=key, small=small)
    return {"published": tuple(found.values.tolist()), "results": [found, found.release]}


def _columns(world: World, number: int) -> dict[str, list[float]]:
    head, *rows = world.files[number]["data.csv"].split()
    cells = [row.split(",") for row in rows]
    return {
        name: [float(row[j]) for row in cells]
        for j, name in enumerate(head.split(","))
        if name not in ("g", "firm")
    }


MAKERS: dict[str, Callable[[Any], Any]] = {
    "mdav": lambda data: microagg.mdav(data, 3),
    "vmdav": lambda data: microagg.vmdav(data, 3),
    "mondrian": lambda data: microagg.mondrian(data, 3),
    "individual_ranking": lambda data: microagg.individual_ranking(data, 3),
    "mdav within strata": lambda data: microagg.mdav({**data, "g": [*"aaabbb"]}, 3, within="g"),
    "mdav by contributor": lambda data: microagg.mdav(data, 3, contributor=list("pqrpqr")),
    **{
        f"comply by {way}": lambda data, way=way: microagg.comply(data, 3, "P(1)", method=way)
        for way in ("merge", "grow", "drop", "optimise", "suppress")
    },
}


def microdata_groups() -> Iterator[tuple[str, list[Callable[[], Mapping[str, Any]]]]]:
    """Calls on files with one masked file."""
    found = {world.name: world for world in worlds(6)}
    masked, ranges = found["microdata microaggregate"], found["ranges"]

    def result_of(make: Callable[[Any], Any], world: World, number: int) -> Mapping[str, Any]:
        data = _columns(world, number)
        result = make({"x": data["x"]} if "x" in data else data)
        columns = result.to_columns()
        results = [result]
        if isinstance(result, microagg.Partition):
            results.append(microagg.disclosure({"x": data["x"]}, result, "P(1)"))
        if isinstance(result, microagg.Compliant) and result.suppressed is not None:
            results.append(result.suppressed)
        return {"published": str({k: list(v) for k, v in columns.items()}), "results": results}

    for name, make in MAKERS.items():
        yield (
            name,
            [lambda n=n, make=make: result_of(make, masked, n) for n in range(len(masked.files))],
        )
    yield (
        "ranges",
        [
            lambda n=n: result_of(lambda d: microagg.aggregate_anonymise(d, 2), ranges, n)
            for n in range(len(ranges.files))
        ],
    )


def _posed(step: int) -> Mapping[str, Any]:
    cells = np.array(VALUES)
    cells[:2, :2] += step * np.array([[1, -1], [-1, 1]])
    table = Table.from_array(cells)
    primary = np.zeros(20, dtype=bool)
    primary[0] = True
    level = np.where(primary, 4, 0)
    problem = Problem.of(table, primary, lpl=level, upl=level)
    found = csp.suppress(problem)
    defended = defend(problem, Decoys("0.2", Key(KEY.strip().encode())), width=4)
    return {
        "published": tuple(found.pattern.tolist() + defended.pattern.tolist()),
        "results": [found, problem, csp.audit(problem, found.pattern), defended],
    }


def _crossed(step: int, functions: list[str], *, session: bool) -> Mapping[str, Any]:
    """Cross table of records, one or several in each cell."""
    cells = np.array(VALUES)
    cells[:2, :2] += step * np.array([[1, -1], [-1, 1]])
    records: dict[str, list[Any]] = {"r": [], "c": [], "v": []}
    for (i, j), value in np.ndenumerate(cells):
        records["r"] += [f"r{i}"] * 3
        records["c"] += [f"c{j}"] * 3
        records["v"] += [int(value), 0, 0]
    rule = csp.Manual([("r0", "c0")], width=20)
    options: dict[str, Any] = {"aggfunc": functions, "comment": "as asked"}
    if session:
        whole = cellveil.Session(data=records, rules=rule)
        found = whole.crosstab("r", "c", "v", **options)
    else:
        found = cellveil.crosstab("r", "c", "v", data=records, rules=rule, **options)
    shown = [(one.release.published.tolist(), one.pattern.tolist())
             for one in found.protected.values()]  # fmt: skip
    return {
        "published": str(shown),
        "results": [found, *([whole] if session else []), *found.protected.values()],
    }


def groups() -> Iterator[tuple[str, list[Callable[[], Mapping[str, Any]]]]]:
    """All groups of calls, by name."""
    yield from table_groups()
    for functions in (["sum"], ["count", "sum", "mean"]):
        for session in (False, True):
            yield (
                f"{' and '.join(functions)} {'of a session' if session else 'crossed'}",
                [lambda s=s, f=functions, g=session: _crossed(s, f, session=g) for s in (0, 3, 20)],
            )
    for key in (None, Key(KEY.strip().encode())):
        how = "rounded" if key is None else "rounded by a key"
        yield how, [lambda c=c, k=key: _rounded(c, k) for c in NEAR]
        yield f"{how}, small counts", [lambda c=c, k=key: _rounded(c, k, small=True) for c in LOW]
    yield (
        "rounded by two bases",
        [lambda c=c: _rounded(list(c), None, (2, 2, 2), 2) for c in RELAXED],
    )
    yield "a problem", [lambda s=s: _posed(s) for s in (0, 3, 20)]
    yield from microdata_groups()


def showing_classes(root: Path) -> set[str]:
    """Classes of the library that define a method which shows something of data.

    What intruders find is compared with the originals, so it is for the office.
    """
    import ast

    found = set()
    for package in ("csp", "microagg", "cellveil"):
        for path in (root / package).rglob("*.py"):
            if path.parent.name == "intruders":
                continue
            for node in ast.parse(path.read_text()).body:
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
                    continue
                names = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                if names & {"summary", "to_columns", "to_frame", "_repr_html_", "facts"}:
                    found.add(node.name)
    return found
