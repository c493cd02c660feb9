"""HiGHS is called through one package; what that says of a basis is what HiGHS says."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_array

from csp import highs
from csp.clock import Clock
from csp.errors import OutOfTime
from csp.highs import Model, Position, Status, interrupts
from tests.support.shared import ROOT

LIBRARY = ("csp", "attacks", "microagg", "cellveil", "instances")
SOLVERS = ("highspy", "scipy.optimize")


def imported(node: ast.AST) -> Iterator[str]:
    """Modules that a piece of code imports when it runs, however deep in functions."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        parts = node.orelse
    else:
        parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{name.name}" for name in node.names)
    elif isinstance(node, ast.Attribute):
        yield ast.unparse(node)
    for part in parts:
        yield from imported(part)


def solvers_of(text: str) -> set[str]:
    return {
        solver for name in imported(ast.parse(text)) for solver in SOLVERS
        if f"{name}.".startswith(f"{solver}.")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f():\n    import highspy", {"highspy"}),
        ("import highspy.highs as h", {"highspy"}),
        ("from highspy import Highs", {"highspy"}),
        ("from scipy import optimize", {"scipy.optimize"}),
        ("from scipy.optimize import milp, linprog", {"scipy.optimize"}),
        ("import scipy\nscipy.optimize.milp(1)", {"scipy.optimize"}),
        ("if TYPE_CHECKING:\n    import highspy\nelse:\n    from scipy import sparse", set()),
        ("if typing.TYPE_CHECKING:\n    pass\nelse:\n    import highspy", {"highspy"}),
    ],
)  # fmt: skip
def test_imports_of_solvers_are_seen(text: str, found: set[str]) -> None:
    assert solvers_of(text) == found


def test_solvers_are_called_through_one_door() -> None:
    files = [path for name in LIBRARY for path in (ROOT / name).rglob("*.py")]
    door = ROOT / "csp" / "highs"
    # The second reading shares no code with the rest, the door to the solver among it.
    apart = ROOT / "csp" / "audits" / "second_reading"
    files = [path for path in files if apart not in path.parents]
    assert {path.parent: found for path in files if (found := solvers_of(path.read_text()))} == {
        door: {"highspy"}
    }


def test_positions_have_the_numbers_of_highs() -> None:
    members = highspy.HighsBasisStatus.__members__
    assert {f"K{name}".upper(): int(p) for name, p in Position.__members__.items()} == {
        name.upper(): int(value) for name, value in members.items()
    }


def test_a_basis_says_where_columns_and_rows_are() -> None:
    # min -2 x - y + z with x, y, z in [0, 4]: x at its upper bound, z at its lower one, and y basic
    # where x + y <= 6 is tight; x + z <= 100 is slack.
    model = Model(presolve="off", solver="simplex").load(
        cost=np.array([-2.0, -1.0, 1.0]), lower=np.zeros(3), upper=np.full(3, 4.0),
        rows=csr_array(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])),
        row_lower=np.full(2, -np.inf), row_upper=np.array([100.0, 6.0]),
    )  # fmt: skip
    assert model.solve() == Status.OPTIMAL
    basis = model.basis
    assert basis.columns.tolist() == [Position.UPPER, Position.BASIC, Position.LOWER]
    assert basis.rows.tolist() == [Position.BASIC, Position.UPPER]
    rest = basis.without_rows({0})
    assert rest.columns.tolist() == basis.columns.tolist()
    assert rest.rows.tolist() == [Position.UPPER]
    model.delete_rows(np.array([0], np.int32))
    assert model.set_basis(rest)
    model.set_option("simplex_iteration_limit", 0)
    assert model.solve() == Status.OPTIMAL
    assert model.values.tolist() == [4, 2, 0]


def test_an_objective_takes_back_the_last_one_and_one_number_holds_for_all() -> None:
    # x + y + z = 0, each in [-1, 1]: whichever cell is asked to rise does, and no other has to.
    model = Model().load(cost=0.0, lower=-1.0, upper=1.0, rows=csr_array(np.ones((1, 3))))
    for j in (0, 2, 1):
        model.set_objective(np.array([j], np.int32), np.array([-1.0]))
        assert model.solve() == Status.OPTIMAL
        assert model.objective == -1
        assert model.values[j] == 1
        assert model.values.sum() == 0
    model.add_rows(csr_array(np.array([[0.0, 1.0, 0.0]])), -np.inf, 0.5)
    assert model.solve() == Status.OPTIMAL
    assert model.values[1] == 0.5


class Deaf:
    """A solver that does not look up for a while, as HiGHS in searches of its heuristics."""

    def __init__(self) -> None:
        self.waited = threading.Event()

    def run(self) -> str:
        self.waited.wait(30)
        return "done"

    def cancelSolve(self) -> None:
        pass


def test_an_interrupt_is_answered_by_a_solver_that_does_not_look_up() -> None:
    solver = Deaf()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupts.run_interruptibly(solver)
    assert time.monotonic() - began < 2.2
    assert interrupts.lingering()
    solver.waited.set()
    while interrupts.lingering():
        assert time.monotonic() - began < 20
        time.sleep(0.01)


def test_a_time_limit_is_kept_by_a_solver_that_does_not_look_up() -> None:
    solver = Deaf()
    began = time.monotonic()
    with pytest.raises(OutOfTime, match="does not come back"):
        interrupts.run_interruptibly(solver, 0.2)
    assert time.monotonic() - began < 1.5 * 0.2 + 1 + 1 + 0.5
    assert interrupts.lingering()
    solver.waited.set()
    while interrupts.lingering():
        assert time.monotonic() - began < 20
        time.sleep(0.01)


def test_a_model_that_is_lost_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        raise OutOfTime

    model = Model().load(cost=1.0, lower=0.0, upper=1.0, rows=csr_array((0, 3)))
    with monkeypatch.context() as patched:
        patched.setattr(highs, "run_interruptibly", lost)
        with pytest.raises(OutOfTime):
            model.solve(Clock.of(1), interruptible=True)
    assert repr(model) == "Model(0 rows, 0 columns)"
    model.load(cost=1.0, lower=0.5, upper=1.0, rows=csr_array((0, 2)))
    assert model.solve() == Status.OPTIMAL
    assert model.objective == 1.0


DEAF_COMMAND = """
import sys, time, highspy
def run(solver):
    print("ready", flush=True)
    time.sleep(40)
highspy.Highs.run = run
sys.argv[0] = "cellveil"
from cellveil.__main__ import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("verb", ["round", "compare"])
def test_a_command_ends_while_the_solver_works_on(tmp_path, verb: str) -> None:
    survey = tmp_path / "survey.csv"
    survey.write_text("a,b\n" + "x,u\nx,v\ny,u\ny,v\n" * 3 + "x,u\ny,v\n")
    words = [verb, str(survey), "--by", "a,b"]
    words += ["--base", "5"] if verb == "round" else ["--rules", "FREQ(3)", "--methods", "round:5"]
    with subprocess.Popen(
        [sys.executable, "-c", DEAF_COMMAND, *words], text=True, cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        ready = process.stdout.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert ready == "ready\n", said
    assert time.monotonic() - began < 10  # a second of patience, and time to end on a busy machine
    assert process.returncode == 130, said
    assert "Traceback" not in said


class Waiting:
    """A solver that works until it is told to stop, or is looked at once."""

    HandleUserInterrupt = False

    def __init__(self) -> None:
        self.stopped = False

    def run(self) -> str:
        end = time.monotonic() + 0.06
        while not self.stopped and time.monotonic() < end:
            time.sleep(0.001)
        return "run"

    def cancelSolve(self) -> None:
        self.stopped = True


def interrupted_at(step: int, model: Waiting) -> bool:
    """Run a model, interrupt it before a step, and say whether there are so many steps.

    A step is an instruction of `run_interruptibly`, or of what it calls that is Python.
    """
    left = step
    begun = False

    def follow(frame: Any, event: str, _: Any) -> Any:
        nonlocal left, begun
        begun |= frame.f_code.co_name == "run_interruptibly"
        if not begun:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return follow

    sys.settrace(follow)
    try:
        interrupts.run_interruptibly(model, 9)
    except (KeyboardInterrupt, OutOfTime):
        pass
    finally:
        sys.settrace(None)
    return left <= 0


def test_an_interrupt_at_no_instruction_leaves_anything_waiting() -> None:
    """Ctrl-C within `threading.Event.wait` left its lock taken, and both threads stood for good."""
    ends: list[int] = []

    def every_step() -> None:
        step = 1
        while interrupted_at(step, Waiting()):
            ends.append(step)
            step += 1
        ends.append(-1)

    thread = threading.Thread(target=every_step, daemon=True)
    thread.start()
    while thread.is_alive():
        before = len(ends)
        thread.join(8)
        assert len(ends) > before or not thread.is_alive(), f"stands at step {ends[-1]}"
    assert ends[-1] == -1
    assert len(ends) > 20
