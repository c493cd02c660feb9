"""How a pattern is looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellveil.front import refuse
from cellveil.requests.option import option

if TYPE_CHECKING:
    from csp.clock import Clock

TIME_LIMIT = 600.0
"""Seconds that a command, or a group of tables of a job, takes where nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a command may take."""

    time_limit: float | None = option(
        "Seconds at most, of a job for each group of linked tables; then the best that is proved "
        "safe is taken; inf for no limit.",
        "SECONDS",
        "600",
        otherwise=f"{TIME_LIMIT:g}",
    )

    def started(self) -> Clock:
        """Start the clock of a command."""
        from csp.clock import Backstop, Clock

        return Clock.of(Backstop(TIME_LIMIT) if self.time_limit is None else self.time_limit)


@dataclass(frozen=True, slots=True)
class Search:
    """Method, and how long it may take."""

    method: str = option(
        "auto, cuts, branch, large, small (up to 64 cells) or ilp (integer programs in PuLP).",
        "NAME",
        '"auto"',
        default="auto",
    )
    solver: str | None = option(
        "Solver of --method ilp: HiGHS, CPLEX, Gurobi, Xpress, SCIP, CBC or another that PuLP "
        "finds.",
        "NAME",
        '"HiGHS"',
        otherwise="HiGHS",
    )
    limit: Limit = Limit()
    gap: float = option(
        "Stop within this share of the optimum; 0.01 is 1 %.", "SHARE", "0.01", default=0.0
    )

    def __post_init__(self) -> None:
        if self.solver is not None and self.method != "ilp":
            refuse(f"--solver {self.solver} is for --method ilp; method {self.method} has its own")

    @property
    def chosen(self) -> str:
        """Name of the method with its solver, as the library takes it."""
        return self.method if self.solver is None else f"{self.method}:{self.solver}"
