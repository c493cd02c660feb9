"""Numbers near the largest allowed: proved answers, or errors that say what is too large."""

from __future__ import annotations

import numpy as np
import pytest

from csp import InputError, Mechanism, Problem, Table, Unprotectable, audit, intervals, suppress
from csp.errors import CertificateError

SEEDS = range(6)


def huge(seed: int, bits: int = 45) -> tuple[Table, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 2**bits, (4, 4, 4))
    values[rng.random((4, 4, 4)) < 0.25] = rng.integers(1, 6)
    table = Table.from_array(values)
    return table, ~table.margins & (rng.random(table.n_cells) < 0.9)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_way_intervals_are_proved(seed: int) -> None:
    table, pattern = huge(seed)
    found = intervals(table, pattern).require_exact()
    assert (found.lower[pattern] <= table.values[pattern]).all()
    assert (found.upper[pattern] >= table.values[pattern]).all()


@pytest.mark.parametrize("shape", [(2, 3, 3), (3, 3, 3), (2, 2, 2)])
def test_what_is_beyond_proof_names_its_mend(shape: tuple[int, ...]) -> None:
    """Between 2**45 and the largest value allowed not every interval can be proved."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        bits = 52 - int(np.prod(shape) - 1).bit_length()
        values = rng.integers(1, 2**bits, shape)
        values[rng.random(shape) < 0.25] = rng.integers(1, 6)
        table = Table.from_array(values, margins=True)
        pattern = ~table.margins & (rng.random(table.n_cells) < 0.9)
        try:
            found = intervals(table, pattern).require_exact()
        except CertificateError as error:
            assert "use a larger unit" in str(error)  # noqa: PT017
        else:
            assert (found.lower <= table.values).all()
            assert (found.upper >= table.values).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_integer_audits_of_huge_counts_keep_a_safe_pattern(seed: int) -> None:
    table, _ = huge(seed)
    mechanism = Mechanism("FREQ(6)", width=2, margins="publish")
    try:
        found = mechanism.protect(table, time_limit=20)
    except (Unprotectable, InputError):
        return  # whole numbers of this size are refused, by name
    assert found.audit.safe


def magnitudes(seed: int) -> Problem:
    """4x4 tables under a P% rule, with values up to 10**3 .. 10**8."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    top = 10 ** int(rng.integers(3, 9))
    data = pandas.DataFrame(
        {"r": rng.integers(0, 4, 40), "c": rng.integers(0, 4, 40), "v": rng.integers(1, top, 40)}
    )
    table = Table.from_microdata(data, by=["r", "c"], value="v")
    cost = "unit" if seed % 2 else "value"
    return Mechanism("P(10,1)", cost=cost, margins="publish").problem(table)


@pytest.mark.parametrize("first", range(4))
def test_the_integer_program_is_as_cheap_as_the_cuts(first: int) -> None:
    for seed in range(first, 120, 16):
        problem = magnitudes(seed)
        try:
            found = suppress(problem)
        except Unprotectable:
            with pytest.raises(Unprotectable):
                suppress(problem, method="ilp")
            continue
        second = suppress(problem, method="ilp")
        assert second.proven
        assert found.proven
        assert second.cost == found.cost
        assert (second.pattern == found.pattern).all()
        assert audit(problem, second.pattern).safe


@pytest.mark.parametrize("bits", [30, 44, 50])
def test_the_integer_program_refuses_numbers_too_far_apart(bits: int) -> None:
    values = np.random.default_rng(0).integers(2 ** (bits - 1), 2**bits, (3, 3))
    values[0, 0] = 2
    table = Table.from_array(values)
    problem = Problem.of(table, table.values == 2, lpl=1, upl=1, publish=table.margins)
    fast = suppress(problem)
    try:
        second = suppress(problem, method="ilp")
    except InputError as error:
        assert "too large beside the levels" in str(error)  # noqa: PT017
    else:
        assert second.cost == fast.cost
    dear = Problem.of(
        Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]]), np.arange(16) == 0, upl=1,
        cost=np.where(np.arange(16) == 5, 2**bits, 3), publish=np.arange(16) > 14,
    )  # fmt: skip
    if bits > 30:
        with pytest.raises(InputError, match="costs are too far apart"):
            suppress(dear, method="ilp")
