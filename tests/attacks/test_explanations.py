"""Explanations: every number in their text is put in again, and the identity must hold."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from attacks.algorithm_known.excluded_values import survivors_of
from attacks.algorithm_known.matching_attack import matching
from attacks.descriptions import cell_name, number, position, relation_name
from attacks.explanations import Explanation, explain
from attacks.release_alone.bound_proofs import Proof
from attacks.release_alone.disclosed_cells import disclosed
from attacks.release_alone.exhaustive_proofs import none_beyond
from csp import Decoys, Hierarchy, InputError, Key, Mechanism, MinFrequency, Table, Unprotectable
from csp.clock import Clock
from csp.errors import CertificateError, OutOfTime
from csp.release.release import Release
from tests.csp.test_leaks import PRIMES, assert_clean
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, frequency_2d, small_releases


def calculate(text: str) -> Fraction:
    """Value of a sum as it is printed: "2 x 31 - (-4) + 12"."""
    assert re.fullmatch(r"[-+()x/. \d]*", text), text
    plain = re.sub(r"(\d+(?:\.\d+)?)", r"Fraction('\1')", text.replace("x", "*"))
    return Fraction(eval(plain, {"Fraction": Fraction}))


def put_in(text: str, numbers: dict[str, str]) -> Fraction:
    for name in sorted(numbers, key=len, reverse=True):
        text = text.replace(name, f"({numbers[name]})")
    return calculate(text)


def substitute(found: Explanation, table: Table) -> int:
    """Check every line of a text; how many claims were checked."""
    scale = table.scale
    names = {cell_name(found.release, i): number(int(v), scale) for i, v in enumerate(table.values)}
    name = cell_name(found.release, found.cell)
    checked = 0
    for line in found.text(reveal=True).splitlines():
        if linear := re.fullmatch(r"cell (.*) = (\S+), because (.*): (.*) = (\S+)", line):
            assert linear[1] == name
            assert linear[2] == linear[5] == names[name]
            assert calculate(linear[4]) == calculate(linear[2])
            checked += 1
        elif bounded := re.fullmatch(
            r"cell (.*) is (at least|at most) (\S+), because (.*) gives (.*?)", line
        ):
            equation, *bounds = re.split(r", (?=\([^()]*\) [<>]=)", bounded[5])
            left, *right = equation.split(" = ")
            total = calculate(right[-1])
            assert all(calculate(side) == total for side in right)
            # The identity holds for the true table, and its bounds give the end.
            assert put_in(left, names) == total
            worst = dict(re.fullmatch(r"(.*) [<>]= (\S+)", b).groups() for b in bounds)  # type: ignore[union-attr]
            assert name not in worst
            assert put_in(left, worst | {name: bounded[3]}) == total
            checked += 1
        elif simple := re.fullmatch(
            r"cell (.*) is (at least|at most) (\S+), because that is known beforehand", line
        ):
            bound = (table.lower if simple[2] == "at least" else table.upper)[found.cell]
            assert calculate(simple[3]) == calculate(number(int(bound), scale))
            checked += 1
        else:
            assert " has no end " in line or "whole" in line, line
    return checked


@examples(35)
@given(small_releases())
def test_every_explanation_holds_when_its_numbers_are_put_in(case: tuple[Table, Release]) -> None:
    table, release = case
    cell = int(np.flatnonzero(release.pattern)[-1])
    found = explain(release, cell)
    endless = np.isinf([*disclosed(release).upper, *disclosed(release).lower]).any()
    with suppress(InputError) if endless else nullcontext():  # too many tables to search through
        found.check()
    low, high = oracles.rational_interval(table, release.pattern, cell)
    assert (found.lower, found.upper) == (low, high)
    assert substitute(found, table) == 2 - (low is None) - (high is None) - found.linear
    for row in {r for p in (found.low, found.high) if p for r in p.rows}:
        alone = Proof(((cell, 1),), 1, (row,), (1,), 1)
        span = slice(*release.relations.indptr[row : row + 2])
        cells = release.relations.indices[span]
        inside = release.pattern[cells]
        left = (release.relations.data[span] * table.values[cells])[inside].sum()
        with suppress(CertificateError):  # a cell without a bound
            assert alone.equation(release).amounts == (left,)


def test_row_one_and_row_two_less_column_four() -> None:
    inner = np.array([[40, 41, 7, 24], [42, 43, 44, 12], [45, 46, 47, 48], [49, 50, 51, 52]])
    table = Table.from_array(inner, names=["r", "c"])
    hidden = [("1", "3"), ("1", "4"), ("2", "4"), ("3", "1"), ("3", "3"), ("4", "1"), ("4", "3")]
    release = Release.of(table, np.array([label in hidden for label in table.labels]))
    found = explain(release, ("1", "3"))
    assert found.text(reveal=True) == (
        "cell (r=1, c=3) = 7, because row r=1 + row r=2 - column c=4: 31 + 12 - 36 = 7"
    )
    assert found.text() == (
        "cell (r=1, c=3) is known, because it is row r=1 + row r=2 - column c=4"
    )
    found.check()
    bounded = explain(release, ("3", "3"))
    assert bounded.text(reveal=True).splitlines()[1] == (
        "cell (r=3, c=3) is at most 92, because row r=3 gives "
        "(r=3, c=3) + (r=3, c=1) = 92, (r=3, c=1) >= 0"
    )


def test_decimals_are_written_in_the_unit_of_the_table() -> None:
    table = Table.from_array(np.array([[1.25, 2.5], [3, 4.75]]), decimals=2, names=["r", "c"])
    found = explain(Release.of(table, ~table.margins), ("1", "1"))
    found.check()
    assert "is at most 3.75, because row r=1 gives (r=1, c=1) + (r=1, c=2) = 3.75, " in (
        found.text(reveal=True)
    )
    assert substitute(found, table) == 2


def test_whole_numbers_are_explained_and_searched() -> None:
    # x + y, y + z and z + x add up to twice the sum: halves fit where whole numbers do not.
    table = Table(
        np.array([1, 2, 1, 7]), csr_array([[2, 2, 1, -1]]), np.zeros(4, int),
        np.array([9, 9, 1, 99]), (("x",), ("y",), ("z",), ("t",)), names=("v",),
    )  # fmt: skip
    release = Release.of(table, np.array([True, True, True, False]))
    found = explain(release, ("z",))
    assert "known as a whole number" in repr(found)
    assert "at least 1, because it is a whole number" not in found.text(reveal=True)
    assert "at least 1, because no consistent table of whole units has a smaller one" in (
        found.text(reveal=True)
    )
    assert "bounded further below" in found.text()
    found.check()
    assert none_beyond(release, 2, 1, -1)
    assert not none_beyond(release, 2, 0, 1)
    with pytest.raises(OutOfTime):
        found.check(time_limit=1e-9)
    with pytest.raises(CertificateError, match="goes beyond"):
        replace(found, whole=(1, 0)).check()


def test_forged_explanations_are_refused() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    pattern = np.zeros((4, 4), bool)
    pattern[:2, :2] = True
    release = Release.of(table, pattern.ravel())
    found = explain(release, ("1", "1"))
    assert (found.lower, found.upper) == (0, 17)
    other = explain(release, ("1", "2"))
    for forged in (
        replace(found, upper=Fraction(16)), replace(found, high=None), replace(found, linear=True),
        replace(found, high=found.low), replace(found, high=other.high),
        replace(found, whole=(None, 17)), replace(found, cell=1),
    ):  # fmt: skip
        with pytest.raises(CertificateError):
            forged.check()
    changed = Release.of(
        Table.from_array([[7, 11, 61], [10, 60, 11], [60, 12, 60]]), pattern.ravel()
    )
    found.check(changed)
    moved = Release.of(Table.from_array([[8, 11, 60], [10, 60, 11], [60, 12, 60]]), pattern.ravel())
    with pytest.raises(CertificateError, match="do not give"):
        found.check(moved)


@examples(8)
@given(frequency_2d(high=5))
def test_survivors_are_those_of_the_reference(table: Table) -> None:
    mechanism = Mechanism(MinFrequency(3, width=2), margins="publish")
    try:
        release = mechanism.protect(table).release
    except Unprotectable:
        return
    if not release.pattern.any():
        return
    cell = int(np.flatnonzero(release.pattern)[0])
    found = explain(release, cell, mechanism=mechanism)
    found.check()
    assert found.survivors is not None
    total = sum(1 for _ in oracles.integer_tables(table, release.pattern))
    assert sum(found.survivors.fits) == total
    place = found.survivors.values.index(int(table.values[cell]))
    assert found.survivors.published[place] >= 1
    text = found.text(reveal=True)
    for k, count in enumerate(found.survivors.published):
        assert (not count) == bool(found.survivors.reasons[k])
        assert sum(found.survivors.reasons[k]) in (0, found.survivors.fits[k])
        assert count or f"\n{found.survivors.values[k]} is excluded: of " in text
    with pytest.raises(CertificateError, match="differently"):
        replace(found.survivors, published=(0,) * len(found.survivors.fits)).check()


def test_limits_of_survivors_are_said() -> None:
    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])).release
    with pytest.raises(InputError, match="more than max_tables=3"):
        survivors_of(release, mechanism, 0, max_tables=3)
    with pytest.raises(OutOfTime):
        survivors_of(release, mechanism, 0, clock=Clock.of(1e-9))
    with pytest.raises(InputError):
        survivors_of(release, Mechanism(MinFrequency(20), width=1, margins="publish"), 0)


def test_names_of_cells_and_relations() -> None:
    regions = Hierarchy.from_dict({"all": {"a": {"a1": {}, "a2": {}}, "b": {}}})
    table = cube(np.arange(6).reshape(3, 2), [regions, Hierarchy.flat(["m", "f"])])
    release = Release.of(table, ~table.margins)
    names = {relation_name(release, row) for row in range(release.relations.shape[0])}
    assert {"row d1=b", "column d2=f", "sum into d1=a at d2=m"} <= names
    assert len(names) == release.relations.shape[0]
    three = cube(np.arange(8).reshape(2, 2, 2))
    assert "sum over d3 at d1=1, d2=2" in {
        relation_name(Release.of(three, ~three.margins), row)
        for row in range(three.relations.shape[0])
    }  # fmt: skip
    assert position(release, np.int64(2)) == 2
    for bad in (-1, 10**6, ("no", "where")):
        with pytest.raises(InputError):
            position(release, bad)
    with pytest.raises(InputError, match="positive number of seconds"):
        explain(release, int(np.flatnonzero(release.pattern)[0]), time_limit=0)
    with pytest.raises(InputError, match="is published"):
        explain(release, int(np.flatnonzero(table.margins)[0]))


def test_nothing_shows_a_value_unless_asked() -> None:
    table = cube(np.array(PRIMES[:9]).reshape(3, 3))
    pattern = np.zeros((4, 4), bool)
    pattern[:2, :2] = True
    pattern[2, 0] = True
    release = Release.of(table, pattern.ravel())
    shown = [relation_name(release, row) for row in range(6)]
    for cell in np.flatnonzero(release.pattern).tolist():
        found = explain(release, cell)
        shown += [repr(found), str(found), found.text(), repr(found.low), repr(found.high)]
        for proof in (found.low, found.high):
            shown.append(repr(proof and proof.equation(release)))
        with pytest.raises(CertificateError) as caught:
            replace(found, upper=Fraction(PRIMES[0])).check()
        shown.append(repr(caught.value))
    ends = {str(v) for v in table.values.tolist()}
    for text in shown:
        assert_clean(text, ends)
        assert not re.search(r"\d{3}", text)


SMALL_CUBE = np.array([[[3, 20], [12, 25]], [[22, 14], [31, 19]], [[16, 30], [27, 11]]])


@pytest.mark.parametrize(
    ("table", "mechanism"),
    [
        (Table.from_array([[3, 20, 30], [20, 25, 40], [21, 29, 19]]), {"width": 8}),
        (cube(SMALL_CUBE), {"width": 8}),
        # Levels that depend on hidden values: the theorem of decoys does not apply.
        (
            Table.from_array([[3, 20, 30], [20, 25, 40], [21, 29, 19]]),
            {"rules": MinFrequency(5, margin=50), "width": 2},
        ),
    ],
)  # fmt: skip
def test_explanations_under_decoys_agree_with_the_attack(
    table: Table, mechanism: dict[str, object]
) -> None:
    options = {"rules": MinFrequency(5), "margins": "publish"} | mechanism
    known = Mechanism(**options, defence=Decoys("0.2", Key(bytes(range(32)))))  # type: ignore[arg-type]
    release = known.protect(table).release
    attacked = matching(release, known, method="all")
    for place, cell in enumerate(attacked.cells.tolist()):
        found = explain(release, cell, mechanism=known)
        assert found.survivors is not None
        text = found.text(reveal=True)
        if not found.survivors.values:
            assert attacked.matched == attacked.tested == attacked.fibre_size
            assert "some key publishes every consistent table" in text
        else:
            assert attacked.values is not None
            kept = zip(found.survivors.values, found.survivors.published, strict=True)
            assert [v for v, count in kept if count] == attacked.values[place].tolist()
        found.check()


def test_an_explanation_cut_short_says_so() -> None:
    table = Table.from_array([[3, 20, 30], [20, 25, 40], [21, 29, 19]])
    mechanism = Mechanism(MinFrequency(5), width=8, margins="publish")
    release = mechanism.protect(table).release
    cell = int(np.flatnonzero(release.pattern)[0])
    with mock.patch(
        "attacks.algorithm_known.excluded_values.PublicView.of", side_effect=OutOfTime("late")
    ):
        found = explain(release, cell, mechanism=mechanism, time_limit=60)
    assert found.survivors is None
    assert found.cut_short
    assert "undecided" in found.text()
    assert "at least" in found.text(reveal=True)
