"""Noise of known bounds: joint intervals by enumeration, and what cannot be read is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Mechanism, Table, audit_rounding, noisy_table
from csp.errors import InputError
from tests.support.oracles import integer_interval
from tests.support.shared import examples


def published(table: Table, numbers) -> dict[str, list]:
    columns = {name: [label[d] for label in table.labels] for d, name in enumerate(table.names)}
    return columns | {"n": list(numbers)}


@examples(20)
@given(
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
    st.lists(st.integers(-2, 2), min_size=9, max_size=9), st.integers(1, 6),
)  # fmt: skip
def test_noise_is_judged_by_the_joint_interval(cells, noise, width) -> None:
    table = Table.from_array(np.reshape(cells, (2, 2)))
    noisy = noisy_table(table, published(table, table.values + np.array(noise)), "n", 2)
    mechanism = Mechanism(lambda t: t.values < 4, width=width, singletons=False)
    judged = audit_rounding(noisy, mechanism)
    near = table.replace(
        lower=np.maximum(0, table.values + noise - np.array(2)),
        upper=table.values + noise + np.array(2),
    )
    for i in np.flatnonzero(table.values < 4).tolist():
        low, high = integer_interval(near, [True] * 9, i)
        assert (low, high) == (judged.lower[i], judged.upper[i])
        assert bool(judged.narrow[i]) == (high - low < width)
        assert bool(judged.known[i]) == (low == high)


def test_totals_can_undo_noise() -> None:
    """Each number is off by up to 2; all parts are 2 too high and the total 2 too low."""
    table = Table.from_array([5, 7, 3])
    noisy = noisy_table(table, published(table, [7, 9, 5, 13]), "n", 2)
    judged = audit_rounding(noisy, Mechanism(lambda t: t.values < 9, width=1, singletons=False))
    assert judged.known.tolist() == [True, True, True, False]
    assert not judged.safe
    assert judged.lower[:3].tolist() == [5, 7, 3]
    assert "3 of 3 sensitive cells" in judged.sentences(reveal=True)[0]
    assert "5" not in " ".join(judged.sentences())


def test_every_cell_may_have_a_bound_of_its_own() -> None:
    table = Table.from_array([5, 7])
    data = published(table, [5.5, 7.25, 12]) | {"off": [0.5, 1, 0]}
    noisy = noisy_table(table, data, "n", "off")
    assert noisy.lower.tolist() == [5, 7, 12]
    assert noisy.upper.tolist() == [6, 8, 12]
    assert noisy.values.tolist() == [6, 7, 12]


def test_what_does_not_fit_is_refused() -> None:
    table = Table.from_array([5, 7])
    with pytest.raises(InputError, match="1 true values are further"):
        noisy_table(table, published(table, [5, 7, 20]), "n", 2)
    short = {name: column[:2] for name, column in published(table, [5, 7, 12]).items()}
    with pytest.raises(InputError, match="no row"):
        noisy_table(table, short, "n", 2)
    with pytest.raises(InputError, match="row 1: the table has no cell"):
        noisy_table(table, {"d1": ["9"], "n": [3]}, "n", 2)


@pytest.mark.parametrize(("number", "reach"), [(10**30, 1), (1, 10**30)])
def test_numbers_beyond_the_unit_are_refused_by_row(number: int, reach: int) -> None:
    table = Table.from_array([[1, 2], [3, 4]])
    columns = {"d1": [], "d2": [], "n": []}
    for (down, across), value in zip(table.labels, table.values.tolist(), strict=True):
        columns["d1"].append(down)
        columns["d2"].append(across)
        columns["n"].append(value)
    columns["n"][0] = number
    with pytest.raises(InputError, match=r"^row 1: the number, or how far it may be off"):
        noisy_table(table, columns, "n", reach)
