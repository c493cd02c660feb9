"""Solvers of one's own: functions in files, named ``own:NAME=FILE.py:FUNCTION``.

The function takes a `csp.Problem` and returns its pattern in any form that `csp.audit` takes. It
runs in a process of its own, like every solver (`benchmarks.peers`), and only there is its file
read as a program.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from benchmarks.argus import Found
from csp.errors import InputError
from csp.problem.problem import Problem
from csp.solve.own_patterns import pattern_of

PREFIX = "own"
FORM = "NAME=FILE.py:FUNCTION"


def checked(solver: str) -> str:
    """Return a solver of one's own as it was given, if it can be one.

    Parameters
    ----------
    solver : str
        ``own:NAME=FILE.py:FUNCTION``

    Raises
    ------
    InputError
        If it has another form, or there is no such file.
    """
    _, path, _ = _parts(solver)
    if not path.is_file():
        msg = f"there is no file {str(path)!r} (solver {solver.partition(':')[2]!r})"
        raise InputError(msg)
    return solver


def resolved(solver: str) -> str:
    """Return the solver with the whole path of its file, for a process in another folder."""
    name, path, function = _parts(solver)
    return f"{PREFIX}:{name}={path.resolve()}:{function}"


def fingerprint(solver: str) -> str:
    """Fingerprint of the file, so that results of other states of it are told apart."""
    if "=" not in solver:
        return "functions in files"
    path = _parts(solver)[1]
    code = hashlib.sha256(path.read_bytes()).hexdigest()[:8] if path.is_file() else "absent"
    return f"{path.name} {code}"


def prepare_own(solver: str, problem: Problem) -> Callable[[], Found]:
    """Load the function.

    Returns
    -------
    callable
        Runs it.

    Raises
    ------
    InputError
        If its file does not hold such a function.
    """
    _, path, name = _parts(solver)
    module_name = f"_own_{path.stem}"  # whatever the file is called, it hides no library
    spec = spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module_name] = module  # classes of the file know where they are
    sys.path.append(str(path.parent))  # and it may import what lies beside it
    spec.loader.exec_module(module)
    function: Any = getattr(module, name, None)
    if not callable(function):
        msg = f"{path.name} has no function {name!r}"
        raise InputError(msg)

    def solve() -> Found:
        return Found(pattern_of(problem, function), None, proven=False, words="done")

    return solve


def _parts(solver: str) -> tuple[str, Path, str]:
    name, equals, place = solver.removeprefix(f"{PREFIX}:").partition("=")
    path, colon, function = place.rpartition(":")
    if not (name and equals and path.endswith(".py") and colon and function.isidentifier()):
        msg = f"a solver of your own is {FORM}, such as mine=heuristic.py:greedy; got {solver!r}"
        raise InputError(msg)
    return name, Path(path), function
