"""Calls that cannot be right: a named error that says what to write."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
import sys
from enum import Enum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import attacks
import cellveil
import csp
import instances
import microagg
from cellveil.crosstabs.making import Making, RecordOptions
from csp import InputError, Mechanism, Problem, Table, audit, intervals, link, protect, suppress
from csp.names.calls import asked_as, named_errors
from csp.solve.result import SearchOptions
from microagg.partitions.strata import Asking, MaskOptions

TABLE = Table.from_array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: protect(pd.DataFrame(), "P(10)"), "got DataFrame.*from_microdata"),
        (lambda: Mechanism("FREQ(2)").protect([1, 2]), "table must be a Table, got list"),
        (lambda: audit(TABLE, [True] * 9), "problem must be a Problem, got Table; pose one"),
        (lambda: suppress(TABLE), "problem must be a Problem, got Table"),
        (lambda: intervals(TABLE.values, []), "table must be a Table, got ndarray"),
        (lambda: audit(TABLE), "audit: missing a required argument: 'pattern'"),
        (lambda: protect(TABLE), "missing a required argument: 'rules'"),
        (lambda: protect(TABLE, "FREQ(2)", singleton=True), "did you mean 'singletons'"),
        (lambda: protect(TABLE, "FREQ(2)", timelimit=3), "did you mean 'time_limit'"),
        (lambda: Mechanism("FREQ(2)", singelton=True), "Mechanism has no.*'singletons'"),
        (lambda: Mechanism("FREQ(2)").protect(TABLE, kep=1), "did you mean 'keep'"),
        (lambda: Table.from_microdata({"a": ["x"]}, ["a"], total=0), "must be a code such as"),
        (lambda: Table.from_microdata({"a": ["x"]}, ["a"], hierarchy={}), "'hierarchies'"),
        (lambda: Table.from_frame({"a": ["x"]}, ["a"], counts="n"), "'count'"),
        (lambda: Table.from_array([[1], [2, 3]]), "different lengths"),
        (lambda: link([TABLE, TABLE]), "table 1 must be a Table, got list"),
    ],
)
def test_misuse_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    "witnesses",
    [
        "x", 3, [1], np.zeros((2, 3)), [np.zeros(9)], [(np.full(9, 1.5), 1)],
        [(np.ones(3, int), 1)], [(np.ones(9, int), "2")], [(np.ones(9, int), 0.5)],
        [(np.ones(9, bool), 1)], [(np.ones(9, int), 1), None],
    ],
)  # fmt: skip
def test_witnesses_are_pairs_of_whole_numbers(witnesses):
    problem = Problem.of(TABLE, np.arange(9) == 0, spl=1)
    with pytest.raises(InputError, match="a pair: 9 whole numbers, one for each cell"):
        audit(problem, ~TABLE.margins, witnesses=witnesses)


def test_witnesses_that_prove_nothing_are_left_aside():
    problem = Problem.of(TABLE, np.arange(9) == 0, spl=1, publish=TABLE.margins)
    plain = audit(problem, ~TABLE.margins)
    step = np.array([1, -1, 0, -1, 1, 0, 0, 0, 0])
    for z in (step, -step, step.tolist(), np.ones(9, int), np.full(9, 2**62)):
        for scale in (1, 0, -1, 2**50):
            found = audit(problem, ~TABLE.margins, witnesses=[(z, scale)])
            assert found.safe == plain.safe
            assert (found.lower == plain.lower).all()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (Table.from_microdata, {"contributor", "weight", "hierarchies", "top", "total"}),
        (Table.from_frame, {"count", "top", "hierarchies", "absent", "tolerance"}),
        (protect, {"margins", "singletons", "width", "time_limit"}),
        (Mechanism, {"margins", "singletons", "width", "defence"}),
    ],
)
def test_signatures_name_every_option(call, names):
    """What an editor shows; behind ``**options`` nobody finds them."""
    known = inspect.signature(call).parameters
    assert names <= set(known)
    assert not [p for p in known.values() if p.kind is p.VAR_KEYWORD]


def test_a_right_call_is_not_touched():
    assert protect(TABLE, "FREQ(2)", width=1).audit.safe
    assert Mechanism(rules="FREQ(2)", width=1).width == 1
    assert csp.protect.__doc__ is not None


def packages():
    """Packages with public names, and the modules that they offer, at any depth."""
    left = ["csp", "attacks", "microagg", "instances"]
    below = ["csp.errors"]  # what makes messages knows no errors of calls yet
    for name in left:  # it grows
        home = importlib.import_module(name)
        stub = Path(home.__file__).with_suffix(".pyi")
        text = stub.read_text() if stub.exists() else ""
        left += [f"{name}.{one}" for one in re.findall(rf"from {name} import (\w+) as", text)]
    return [name for name in left if name not in below]


def offered():
    """Every function and class that a package offers, but errors and what cannot be made."""
    for package in packages():
        home = importlib.import_module(package)
        for name in getattr(home, "__all__", ()):
            value = getattr(home, name)
            plain = inspect.isfunction(value) or (
                inspect.isclass(value)
                and not issubclass(value, (BaseException, Enum))
                and not inspect.isabstract(value)
                and not getattr(value, "_is_protocol", False)
            )
            if plain:
                yield package, name, value


OFFERED = list(offered())


@pytest.mark.parametrize(
    "function", [value for _, _, value in OFFERED], ids=[f"{p}.{n}" for p, n, _ in OFFERED]
)
def test_every_public_callable_names_a_wrong_argument(function):
    with pytest.raises(InputError, match=f"{function.__name__} has no argument 'no_such_thing'"):
        function(no_such_thing=1)


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (value, name)
        for _, _, value in OFFERED
        if inspect.isclass(value)
        for name, member in vars(value).items()
        if isinstance(member, (classmethod, staticmethod)) and not name.startswith("_")
    ],
)
def test_other_ways_to_make_a_value_name_it_too(cls, name):
    with pytest.raises(InputError, match=f"{name} has no argument 'no_such_thing'"):
        getattr(cls, name)(no_such_thing=1)


def test_missing_arguments_are_named():
    with pytest.raises(InputError, match="mdav: missing a required argument: 'k'"):
        microagg.mdav({"a": [1, 2]})
    with pytest.raises(InputError, match="from_columns: missing a required argument"):
        csp.Hierarchy.from_columns()
    with pytest.raises(InputError, match="too many positional arguments"):
        instances.load("demo", 2)


@pytest.mark.parametrize("function", [microagg.mdav, attacks.matching, csp.link])
def test_functions_stay_what_they_are(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__doc__
    home = sys.modules[function.__module__]
    assert getattr(home, function.__name__) is function
    assert vars(home) is function.__globals__  # examples are looked for by that
    told = inspect.signature(function)
    assert told == inspect.signature(function.__wrapped__)
    assert not any(p.kind is p.VAR_KEYWORD for p in told.parameters.values())


OURS = {name for _, name, value in OFFERED if inspect.isclass(value)}


def asked_of(function):
    """Arguments without a default."""
    return [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]


@pytest.mark.parametrize(
    "function",
    [
        value
        for _, _, value in OFFERED
        if inspect.isfunction(value)
        and any(
            str(p.annotation).removeprefix("Sequence[").rstrip("]") in OURS for p in asked_of(value)
        )
    ],
    ids=lambda function: f"{function.__module__}.{function.__name__}",
)
def test_a_value_of_another_class_is_named(function):
    """Whatever a function takes that this project makes: what was given for it is said."""
    given = {p.name: object() for p in asked_of(function)}
    with pytest.raises(InputError):
        function(**given)


PLAIN = [
    (function, p.name, wrong, str(p.annotation))
    for _, _, value in OFFERED
    for function in [value, *(vars(value).values() if inspect.isclass(value) else ())]
    if function is value or (inspect.isfunction(function) and function.__name__[0] != "_")
    for p in inspect.signature(function).parameters.values()
    for kind, wrongs in (("bool", ("no", 1, 2.0)), ("int", ("3", 2.5, True)))
    if str(p.annotation).removesuffix(" | None") == kind
    for wrong in wrongs
]


def test_flags_and_whole_numbers_are_what_they_are():
    """Of every function: Python takes any word for true, "no" as well."""
    assert len(PLAIN) > 200
    for function, name, wrong, kind in PLAIN:
        words = "True" if kind.startswith("bool") else "a whole number"
        with pytest.raises(InputError, match=rf"{name} must be {words}.* got {wrong!r}"):
            function(**{name: wrong})


def test_names_that_are_numbers_are_listed_too():
    frame = pd.DataFrame([[1, "a", 3], [2, "a", 4]])
    with pytest.raises(InputError, match="names '1', which is not among the columns: 0, 1, 2"):
        microagg.mdav(frame, 2, attributes=["0"], within=["1"])


def test_what_to_give_in_its_place_is_said():
    protected = protect(TABLE, "FREQ(2)")
    mend = "release must be a Release, got Protected; take that of what protect returned"
    with pytest.raises(InputError, match=mend):
        attacks.report(protected)
    with pytest.raises(InputError, match="each of releases must be a Release, got Table"):
        attacks.parameter_bounds([TABLE])
    with pytest.raises(InputError, match="tables must be several values of Table, got int"):
        csp.protect_many(1, "FREQ(2)")


def test_errors_inside_are_not_hidden():
    def inner(a):
        return a + None

    with pytest.raises(TypeError, match="unsupported operand"):
        named_errors(inner)(1)
    assert named_errors(named_errors(inner)).__wrapped__ is inner


def test_what_stands_beside_an_offered_name_is_left_as_it_is() -> None:
    """A loop that numba compiles must be the plain function, whatever was asked for before."""
    code = (
        "import attacks, importlib, inspect\n"
        "for name in attacks.__all__: getattr(attacks, name)\n"
        "from csp.compiled import made\n"
        "for name in attacks.fibre.__all__ if hasattr(attacks.fibre, '__all__') else (): "
        "getattr(attacks.fibre, name)\n"
        "for kernels in made:\n"
        "    for name, function in kernels.plain.items():\n"
        "        assert not hasattr(function, '_names_its_arguments'), name\n"
    )
    import subprocess

    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        (SearchOptions, csp.suppress),
        (RecordOptions, Making),
        (MaskOptions, Asking),
        ({"scale": "str"}, Asking),
    ],
)
def test_options_have_the_types_of_what_states_their_defaults(options, stated):
    known = inspect.signature(stated).parameters
    kinds = options if isinstance(options, dict) else inspect.get_annotations(options)
    for name, kind in kinds.items():
        assert getattr(kind, "__forward_arg__", kind) == known[name].annotation
        assert known[name].default is not known[name].empty


def test_help_shows_the_defaults_of_options_that_functions_share():
    def defaults(function):
        return {n: p.default for n, p in inspect.signature(function).parameters.items()}

    for function in (csp.protect, csp.protect_responses, csp.Mechanism.protect, cellveil.crosstab):
        told = defaults(function)
        assert (told["time_limit"], told["gap"], told["seed"]) == (None, 0.0, 0)
    told = defaults(cellveil.crosstab)
    assert (told["negative"], told["contributor"], told["missing"]) == ("error", None, None)
    told = defaults(microagg.mdav)
    assert (told["scale"], told["within"], told["missing"]) == ("standardise", (), "error")
    assert defaults(microagg.mondrian)["scale"] == "none"


class Half:
    """Of a number.

    Attributes
    ----------
    number : int
        The whole.
    """

    def __init__(self, number: int, *, upwards: bool = False) -> None:
        self.half = -(-number // 2) if upwards else number // 2


class Halved:
    @classmethod
    @named_errors
    @asked_as(Half)
    def of(cls, asked: Half) -> int:
        """Take half.

        Returns
        -------
        int
        """
        return asked.half


def test_what_a_value_is_made_of_is_what_a_call_takes():
    assert (Halved.of(5), Halved.of(number=5, upwards=True)) == (2, 3)
    assert (
        str(inspect.signature(Halved.of)) == "(number: 'int', *, upwards: 'bool' = False) -> 'int'"
    )
    doc = inspect.getdoc(Halved.of)
    assert doc.index("Take half") < doc.index("number : int") < doc.index("Returns")
    with pytest.raises(InputError, match=r"Halved\.of has no argument 'upward'; did"):
        Halved.of(5, upward=True)
    with pytest.raises(InputError, match="missing a required argument: 'number'"):
        Halved.of()
