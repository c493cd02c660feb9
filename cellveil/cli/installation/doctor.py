"""Is this installation sound? One line a check: ok, warning or problem, and how to fix it."""

from __future__ import annotations

import operator
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import cellveil
from cellveil.cli.options import flag
from cellveil.front import SAFE, UNSAFE
from cellveil.render.screen import say

DISTRIBUTION = "cellveil"

MODULES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "highspy": "highspy",
    "pulp": "pulp",
    "networkx": "networkx",
    "sympy": "sympy",
    "python-flint": "flint",
    "numba": "numba",
    "duckdb": "duckdb",
    "narwhals": "narwhals",
    "typer": "typer",
    "rich": "rich",
    "joblib": "joblib",
    "threadpoolctl": "threadpoolctl",
}
"""Distributions that cellveil needs, and the name each is imported by."""

FRAMES = ("pandas", "polars", "pyarrow")
"""Libraries of which one is enough for data frames; only files are needed without."""

WRONG = {"highspy": ("1.14.0", "1.16.0")}
"""Releases that give wrong answers."""


@dataclass(frozen=True, slots=True)
class Check:
    """Outcome of one check: state is "ok", "warning" or "problem"."""

    state: str
    words: str


def doctor(
    *,
    compile_: Annotated[
        bool,
        flag(
            "Also compile everything that is compiled at first use: some minutes, once per "
            "installation, so that no later command has to wait.",
            "--compile",
        ),
    ] = False,
) -> None:
    """Check that this installation works: versions, name clashes, solvers, caches.

    $ cellveil doctor --compile
    """
    if compile_:
        # What is checked may be broken: nothing of it is imported before.
        from cellveil.cli.installation.warm import compile_everything

        compile_everything(lambda work: say(f"Compiling what {work} need."))
    raise typer.Exit(SAFE if _well() else UNSAFE)


def _well() -> bool:
    """Print every check; True if none is a problem."""
    well = True
    for check in checks():
        well &= check.state != "problem"
        style = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW}.get(
            check.state, typer.colors.RED
        )
        typer.echo(typer.style(f"{check.state:8}", fg=style) + check.words)
    typer.echo("All is well." if well else "There are problems; fix them from the top.")
    return well


def checks() -> Iterator[Check]:
    """Yield all checks, those that the others rest on first."""
    yield Check("ok", f"python {platform.python_version()} ({sys.executable})")
    yield _self()
    for name, module in MODULES.items():
        yield _library(name, module)
    yield _frames()
    ours = _import_name()
    yield ours
    if ours.state == "problem":
        return  # another project's csp can solve nothing
    yield _guarded("solvers", _solvers)
    yield _guarded("files", _files)
    yield _guarded("compiled loops", _compiled)


# ---- versions ------------------------------------------------------------------------------------


def _self() -> Check:
    words = f"cellveil {cellveil.__version__} ({_house()})"
    if cellveil.__version__ == "unknown":
        return Check("warning", f"{words}: not installed; run pip install . in its folder")
    return Check("ok", words)


def _library(name: str, module: str) -> Check:
    version = _version(name)
    if version is None:
        return Check("problem", f"{name} is not installed; run pip install {name}")
    try:
        import_module(module)
    except Exception as error:  # noqa: BLE001, RUF100 (a broken library may raise anything)
        kind = type(error).__name__
        return Check(
            "problem",
            f"{name} {version} does not import ({kind}); run pip install --force-reinstall {name}",
        )
    wanted = _wanted(name)
    asked = ",".join(wanted)
    mend = f"run pip install '{name}{asked}'"
    if version in WRONG.get(name, ()):
        return Check("problem", f"{name} {version} returns wrong optima; {mend}")
    if not all(_holds(version, clause) for clause in wanted):
        return Check("warning", f"{name} {version}: cellveil asks for {asked}; {mend}")
    return Check("ok", f"{name} {version}")


def _frames() -> Check:
    found = [f"{name} {_version(name)}" for name in FRAMES if _version(name) is not None]
    if found:
        return Check("ok", f"data frames: {', '.join(found)}")
    return Check(
        "warning",
        f"data frames: none of {', '.join(FRAMES)} is installed; files work without, and "
        "to_frame() needs one: run pip install pandas",
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _wanted(name: str) -> list[str]:
    """Clauses like ">=1.26" that the installed cellveil asks of a distribution."""
    lines = [] if _version(DISTRIBUTION) is None else metadata.requires(DISTRIBUTION) or []
    for line in lines:
        found = re.fullmatch(r"([A-Za-z0-9_.-]+)\s*([^;]*)", line.strip())
        if found and found[1].lower() == name:
            return [clause.strip() for clause in found[2].split(",") if clause.strip()]
    return []


def _holds(version: str, clause: str) -> bool:
    found = re.fullmatch(r"(>=|<=|!=|==|<|>)\s*([0-9.]+)", clause)
    if found is None:
        return True
    compare: dict[str, Callable[[Any, Any], bool]] = {
        ">=": operator.ge, "<=": operator.le, "!=": operator.ne,
        "==": operator.eq, "<": operator.lt, ">": operator.gt,
    }  # fmt: skip
    return compare[found[1]](_parts(version), _parts(found[2]))


def _parts(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in re.findall(r"[0-9]+", version.partition("+")[0])[:3]]
    return (*parts, *[0] * (3 - len(parts)))


# ---- the import name -----------------------------------------------------------------------------


def _house() -> Path:
    """Folder that holds cellveil, and should hold csp."""
    return Path(cellveil.__file__).resolve().parent.parent


def _import_name() -> Check:
    owners = set(metadata.packages_distributions().get("csp", []))
    others = sorted(owners - {DISTRIBUTION})
    mend = (
        "make a fresh virtual environment for cellveil (python -m venv), or pip uninstall the "
        "other and pip install --force-reinstall cellveil"
    )
    spec = find_spec("csp")
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    if origin != _house() / "csp" / "__init__.py":
        where = "nowhere" if origin is None else str(origin.parent)
        whose = f" (installed by {', '.join(others)})" if others else ""
        return Check("problem", f"csp is imported from {where}{whose}, not from {_house()}; {mend}")
    if others:
        return Check(
            "problem", f"the import name csp is also installed by {', '.join(others)}; {mend}"
        )
    return Check("ok", f"csp is ours ({origin.parent})")


# ---- solving -------------------------------------------------------------------------------------


def _guarded(what: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001, RUF100 (whatever fails is the finding)
        return Check("problem", f"{what}: {type(error).__name__}: {error}")


def _solvers() -> Check:
    """Figure 2 of Minami and Abe (2019), whose only optimum has four cells, by two roads."""
    import instances
    from csp import Problem, suppress

    problem = instances.load("figure2")
    assert isinstance(problem, Problem)
    cuts = suppress(problem, method="cuts")
    second = suppress(problem, method="ilp")
    same = cuts.cost == second.cost and (cuts.pattern == second.pattern).all()
    if not (same and cuts.proven and second.proven and int(cuts.pattern.sum()) == 4):
        return Check(
            "problem",
            "HiGHS and PuLP do not agree on a table of 16 cells; "
            "run pip install -U highspy pulp scipy numpy",
        )
    return Check("ok", "HiGHS and PuLP find the same proven optimum of a small table")


def _files() -> Check:
    # What is checked may be broken: nothing of it is imported before.
    from cellveil.cli.installation.file_trial import trial

    fault = trial([name for name in FRAMES if _version(name) is not None])
    if fault is not None:
        mend = "run pip install -U duckdb narwhals scipy numpy"
        return Check("problem", f"files: {fault}; {mend}")
    return Check("ok", "a small survey is read, protected, written and read back")


def _compiled() -> Check:
    import numba

    try:
        # Asking for a cache makes numba look for a folder that it can write to.
        loop = numba.njit(cache=True)(_nothing)
    except RuntimeError:
        return Check(
            "warning",
            "compiled loops are kept nowhere, so every command that needs them compiles anew; set "
            "NUMBA_CACHE_DIR to a folder that is writable",
        )
    return Check("ok", f"compiled loops are kept in {loop.stats.cache_path}")


def _nothing() -> int:
    """Stand in for a loop to compile; never called."""
    return 0
