"""Calls as somebody with a heuristic of his own guessed them: each runs, or names the right one."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import attacks
import benchmarks.command
import csp
import instances
from cellveil.render import plots
from instances import synthetic
from tests.support.shared import ROOT

TABLE = synthetic.frequency_2d(4, 4, 3, mean=8, sd=6)
MECHANISM = csp.Mechanism("FREQ(5)", width=5, margins="publish")
PROBLEM = MECHANISM.problem(TABLE)
SAFE = MECHANISM.protect(TABLE).pattern
SHOWN = int(np.argmax(SAFE))
ANY: dict[str, Any] = {"csp": csp, "instances": instances, "attacks": attacks}
"""Modules without their types: what is called here is wrong on purpose."""


def heuristic(problem: csp.Problem) -> Any:
    return problem.status != "z"


def program(table: csp.Table) -> Any:
    return heuristic(MECHANISM.problem(table))


# ---- answered ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        ("random", "instances.synthetic draws tables by seed: frequency_2d(rows, cols, seed)"),
        ("generate", "instances.synthetic draws tables by seed"),
        ("list", "instances.names() lists what instances.load(name) gives"),
        ("laod", "did you mean 'load'?"),
        ("qqq", "instances.names()"),
    ],
)
def test_names_of_instances(guess: str, answer: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(instances, guess)
    assert answer in str(caught.value)


def test_what_the_answers_name_is_there() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = ANY["instances"].random
    named = (
        str(caught.value).partition("by seed: ")[2].replace("(rows, cols, seed)", "").split(", ")
    )
    assert len(named) == 7
    assert all(callable(getattr(ANY["instances"].synthetic, name)) for name in named)
    code = "import instances; print(instances.synthetic.frequency_2d(2, 2, 1))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.startswith("Table(")


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: ANY["csp"].Suppression(PROBLEM, SAFE), "csp.audit(problem, pattern) judges"),
        (lambda: ANY["csp"].Audit(SAFE), "csp.audit(problem, pattern) judges a pattern"),
        (lambda: ANY["csp"].Protected(TABLE), "results are made by csp.protect"),
        (
            lambda: ANY["csp"].Problem(table=TABLE, primary=PROBLEM.primary),
            "Problem.of(table, primary, spl=...)",
        ),
        (lambda: ANY["csp"].Release(TABLE, SAFE), "Release.of(table, pattern)"),
        (lambda: ANY["csp"].Mechanism("FREQ(3)", method="auto"), "mechanism.protect(table, m"),
        (
            lambda: ANY["csp"].protect_many([TABLE], "FREQ(5)", width=5),
            "protect_many(tables, Mechanism(rules, width=...))",
        ),
        (
            lambda: ANY["csp"].protect_many([TABLE], "FREQ(5)", margins="publish"),
            "protect_many(tables, Mechanism(rules, margins=...))",
        ),
        (lambda: ANY["csp"].suppress(PROBLEM, method="mine"), "or a function of a problem"),
        (lambda: ANY["csp"].protect(TABLE, "FREQ(5)", width=5, method=3), "or a function of"),
        (
            lambda: ANY["attacks"].explain(csp.Release.of(TABLE, SAFE), SHOWN, mechanism=program),
            "attacks.explain needs a Mechanism",
        ),
        (
            lambda: ANY["attacks"].posterior(csp.Release.of(TABLE, SAFE), program),
            "attacks.posterior needs a Mechanism",
        ),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_say_what_can(call: Any, answer: str) -> None:
    with pytest.raises(csp.InputError) as caught:
        call()
    assert answer in str(caught.value)


def test_the_command_says_how_a_solver_of_ones_own_is_named() -> None:
    result = CliRunner().invoke(benchmarks.command.app, ["tiny", "--peers", "mine"])
    assert result.exit_code == 2
    assert "--solver NAME=FILE.py:FUNCTION" in " ".join(result.stderr.split())


def test_a_problem_with_lone_contributors_says_how_to_write_it(tmp_path: Any) -> None:
    table = synthetic.magnitude((3, 3), 1, contributors=1.5)
    rules = "P(20)"
    with pytest.raises(csp.InputError, match=r"Mechanism\(\.\.\., singletons=False\)"):
        csp.write_jj(csp.Mechanism(rules).problem(table), tmp_path / "x.jj")
    csp.write_jj(csp.Mechanism(rules, singletons=False).problem(table), tmp_path / "x.jj")
    again = csp.read_jj(tmp_path / "x.jj")
    assert sorted(again.table.values) == sorted(table.values)


# ---- runs ----------------------------------------------------------------------------------------


def test_calls_that_run_as_they_were_guessed() -> None:
    assert (csp.suppress(PROBLEM, method=heuristic).pattern == (PROBLEM.status != "z")).all()
    assert csp.protect(TABLE, "FREQ(5)", width=5, method=heuristic).audit.safe
    assert MECHANISM.protect(TABLE, method=heuristic).suppression.method == "heuristic"
    start = np.asarray(heuristic(PROBLEM))
    assert csp.suppress(PROBLEM, start=start).cost == csp.suppress(PROBLEM).cost
    few = synthetic.frequency_2d(2, 2, 5, mean=6)
    other = csp.Release.of(few, program(few))
    found = attacks.matching(other, program, width=5)
    assert len(found.to_frame("pandas")) == len(found.cells)
    assert attacks.report(other, program)["matching"].status == "ran"
    assert len(attacks.matching([other, other], program, width=5)) == 2
    pytest.importorskip("matplotlib")
    assert plots.plot_intervals(found).axes


def test_a_star_hides_no_module_of_python() -> None:
    names: dict[str, Any] = {}
    exec("import inspect\nfrom csp import *", names)
    assert names["inspect"] is sys.modules["inspect"]
    assert names["suppress"] is csp.suppress
    assert callable(csp.inspect)
    for module in (csp, attacks):
        assert not set(module.__all__) & sys.stdlib_module_names
