"""τ-ARGUS's two methods, as packaged in pytauargus: its files written, its answers read.

Both keep process-wide state and may end the process, so they run in a process of their own
(`benchmarks.worker`). Neither knows sliding levels. OPT reads a JJ file and solves one problem
over all relations; Modular (HiTaS) reads a table with its hierarchies and protects its subtables
one after the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.comparing.modular import trees_of
from csp.errors import InputError
from csp.exact import units_text
from csp.problem.jj import write_jj
from csp.problem.problem import Problem

_TOTAL = "Total"
_LETTERS = {"u": "U", "s": "S", "z": "P"}


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a solver answered.

    Attributes
    ----------
    pattern : (n,) bool or None
    bound : Fraction or None
        On the cost of the secondary cells, in units of the problem's cost.
    proven : bool
        Whether the solver says that its pattern is cheapest.
    words : str
        How it ended.
    """

    pattern: NDArray[np.bool_] | None
    bound: Fraction | None
    proven: bool
    words: str


def minutes(time_limit: float) -> int:
    """Time limit as the peer takes it: whole minutes, rounded up."""
    return max(1, math.ceil(time_limit / 60))


# ---- OPT -----------------------------------------------------------------------------------------


def prepare_optimal(problem: Problem, folder: Path, time_limit: float) -> Callable[[], Found]:
    """Write the JJ file for OPT.

    Returns
    -------
    callable
        Runs the peer; to be called once in the life of a process, with `folder` as its working
        directory, since the peer writes its logs there.

    Raises
    ------
    InputError
        If a JJ file cannot say the problem.
    """
    import pytauargus._tauargus as peer  # loading it is not part of the run

    write_jj(problem, folder / "problem.jj")
    control = peer.HiTaSCtrl()
    return lambda: optimal(control, problem, folder, time_limit)


def optimal(control: Any, problem: Problem, folder: Path, time_limit: float) -> Found:
    """Run OPT on the JJ file in a folder, and read pattern and bound."""
    code = control.full_jj(
        in_file_jj=str(folder / "problem.jj"),
        out_file=str(folder / "secondary.txt"),
        max_time=minutes(time_limit),
    )
    log = folder / "FullJJ.log"
    ends = re.search(
        r"Objectvalues:\s*(\S+) and\s*(\S+)",
        log.read_text(errors="replace") if log.exists() else "",
    )
    if code > 1 or ends is None:
        return Found(None, None, proven=False, words=f"no pattern (code {code})")
    pattern = problem.forced.copy()
    pattern[_ids(problem, (folder / "secondary.txt").read_text().split())] = True
    # The peer counts the cost of the primary cells too, and prints whole numbers.
    own = Fraction(sum(problem.cost[problem.primary].tolist()))
    unit = 10**problem.cost_scale
    low, high = (Fraction(end) * unit for end in ends.groups())
    proven = code == 0 and low >= high
    words = "proven" if proven else "time limit"
    return Found(pattern, low - own, proven=proven, words=words)


def _ids(problem: Problem, words: list[str]) -> list[int]:
    """Positions of the cells that a JJ file calls by these ids."""
    labels = problem.table.labels
    if all(len(label) == 1 and label[0].isdigit() for label in labels):
        place = {int(label[0]): i for i, label in enumerate(labels)}
        return [place[int(word)] for word in words]
    return [int(word) for word in words]


# ---- Modular -------------------------------------------------------------------------------------


def prepare_modular(problem: Problem, folder: Path, time_limit: float) -> Callable[[], Found]:
    """Write table, hierarchies and layout for Modular, and let the peer read them.

    Returns
    -------
    callable
        Runs the method; to be called once in the life of a process.

    Raises
    ------
    InputError
        If the table is not a full cross of hierarchies, or has cells that Modular cannot say.
    """
    from pytauargus.batch import SpecifyTable, Suppress
    from pytauargus.engine import Engine, SafetyRuleSet, parse_rda_table

    table = problem.table
    codes = _write_modular(problem, folder)
    dims = [f"d{d}" for d in range(len(codes))]
    engine = Engine()
    layout = parse_rda_table(folder / "table.rda")
    for i, variable in enumerate(layout.variables):
        variable.index = i
    spec = SpecifyTable(exp_vars=dims, resp_var="value", shadow_var="", cost_var="cost", lam=1.0)
    engine._tables = [(spec, SafetyRuleSet.from_rules([]))]
    engine.open_table_data(str(folder / "table.tab"), layout)
    engine.read_table(0)

    def solve() -> Found:
        # Singleton rules off: the problem at hand does not ask for them.
        engine.suppress(
            Suppress(
                kind="MOD", tab_no=1, mod_max_time=minutes(time_limit), mod_singleton=False,
                mod_singleton_multi=False, mod_min_freq=False,
            )
        )  # fmt: skip
        engine.write_intermediate_table(0, str(folder / "result.tab"), simple=True)
        hidden = set()
        for line in (folder / "result.tab").read_text().splitlines():
            fields = [field.strip().strip('"').strip() for field in line.split(";")]
            if fields[-3] in ("M", "U"):
                hidden.add(tuple(fields[: len(dims)]))
        names = [
            tuple(c[code] for c, code in zip(codes, label, strict=True)) for label in table.labels
        ]
        pattern = problem.forced | np.array([name in hidden for name in names])
        return Found(pattern, None, proven=False, words="done")

    return solve


def _write_modular(problem: Problem, folder: Path) -> list[dict[str, str]]:
    """Write the peer's files; returns its name of each code in each dimension."""
    table = problem.table
    if set(problem.status.tolist()) - set(_LETTERS):
        msg = "Modular knows no cells that are suppressed beforehand"
        raise InputError(msg)
    renamed, layout = [], ['<SEPARATOR> ";"']
    for d, (parents, root) in enumerate(zip(trees_of(table), table.roots, strict=True)):
        # Codes of one length without signs: others have been seen to end the peer's process.
        width = len(str(len(parents)))
        names = {code: f"{i:0{width}d}" for i, code in enumerate(parents)} | {root: _TOTAL}
        below: dict[str, list[str]] = {}
        for code, parent in parents.items():
            below.setdefault(parent, []).append(code)
        layout += [f"d{d}", "<RECODEABLE>", f'<TOTCODE> "{_TOTAL}"']
        if set(below) != {root}:
            lines: list[str] = []
            stack = [(code, 0) for code in reversed(below[root])]
            while stack:
                code, level = stack.pop()
                lines.append("@" * level + names[code])
                stack += [(child, level + 1) for child in reversed(below.get(code, []))]
            (folder / f"d{d}.hrc").write_text("\n".join(lines) + "\n")
            layout += ["<HIERARCHICAL>", f'<HIERCODELIST> "d{d}.hrc"', '<HIERLEADSTRING> "@"']
        renamed.append(names)
    layout += ["value", "<NUMERIC>", f"<DECIMALS> {table.scale}", "freq", "<FREQUENCY>"]
    layout += ["cost", "<NUMERIC> <COSTVAR>", "status", "<STATUS>"]
    layout += ["low", "<NUMERIC> <LOWERPL>", "high", "<NUMERIC> <UPPERPL>"]
    (folder / "table.rda").write_text("\n".join(layout) + "\n")
    with (folder / "table.tab").open("w") as out:
        for i, label in enumerate(table.labels):
            if table.structural is not None and table.structural[i]:
                continue  # cells that are left out are empty
            fields = [f'"{names[code]}"' for names, code in zip(renamed, label, strict=True)]
            fields += [
                units_text(int(table.values[i]), table.scale),
                "1",  # a frequency of 0 would make the cell empty
                units_text(int(problem.cost[i]), problem.cost_scale),
                _LETTERS[str(problem.status[i])],
                units_text(int(problem.lpl[i]), table.scale),
                units_text(int(problem.upl[i]), table.scale),
            ]
            out.write(";".join(fields) + "\n")
    return renamed
