"""What texts about a result must not depend on, where no table agrees that could be tried.

`tests/equality` runs commands and methods on tables that agree with a release. Here values, costs
and sensitive cells are changed behind a result whose release stays.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume

import microagg
from cellveil.render.tables import cost_words, guarantee, quality, sizes
from csp import (
    Mechanism,
    MinFrequency,
    Problem,
    Progress,
    Protected,
    Table,
    Unprotectable,
)
from csp.release_file import write_release
from csp.tables.contributors import Contributors
from tests.support import oracles


def texts(found: Protected, folder: Any = None) -> list[str]:
    """Every output that is made without reveal."""
    summary = found.summary()
    del summary["seconds"]
    run = found.suppression
    audit_words = guarantee(
        found.audit, "its level", singletons="singletons" in found.guards, defended=False
    )
    lines = [
        json.dumps(summary),
        repr(found),
        repr(replace(run, seconds=0.0)),
        repr(found.audit),
        repr(found.problem),
        repr(found.release),
        repr(found.mechanism),
        sizes(found.problem, found.pattern),
        quality(run, cost_words("value")),
        *audit_words,
        str(found.to_frame("polars", intervals=True).to_dict(as_series=False)),
    ]
    if folder is not None:
        paths = write_release(found.release, folder / "r.json", found.mechanism)
        lines += [path.read_text() for path in paths]
    return lines


def _people(table: Table, values: np.ndarray) -> Contributors | None:
    if table.contributors is None:
        return None
    return Contributors(values.copy(), values.copy(), np.ones((len(values), 1), int))


def protected(inner: list[list[int]], *, cost: str, people: bool, gap: float) -> Protected:
    table = Table.from_array(inner)
    if people:
        table = table.replace(contributors=_people(table, table.values))
    mechanism = Mechanism(
        MinFrequency(4), width=3, cost=cost, margins="publish", singletons=people or None
    )
    try:
        return mechanism.protect(table, gap=gap)
    except Unprotectable:
        assume(False)
        raise


FIRMS = {
    "r": ["1", "1", "1", "2", "2", "2", "3", "3", "3"] * 3,
    "c": ["a", "b", "c"] * 9,
    "firm": [f"e{i}" for i in range(27)],
    "v": [
        *(90, 40, 70, 60, 50, 31, 45, 80, 64),
        *(3, 37, 69, 62, 51, 33, 41, 79, 66),
        *(2, 39, 1, 58, 55, 30, 47, 77, 61),
    ],
}  # fmt: skip


@pytest.mark.parametrize("stopped", ["done", "time", "interrupt"])
@pytest.mark.parametrize("cut", [False, True])
def test_no_output_tells_sensitive_cells_of_values_apart(stopped, cut):
    """Any suppressed cells could be the sensitive ones, at any cost; all outputs stay the same."""
    table = Table.from_microdata(FIRMS, ["r", "c"], "v", contributor="firm")
    found = Mechanism("P(10)", cost="value").protect(table)
    assert found.pattern.any()
    assert found.guards == ("outsider", "singletons")
    if cut:  # the time ran out before the last audit: some ends are inner ones
        exact = found.audit.exact.copy()
        exact[found.pattern] = False
        found = replace(found, audit=replace(found.audit, exact=exact, cut_short="time"))
    proven = stopped == "done"
    said = None
    for seed in range(6):
        rng = np.random.default_rng(seed)
        primary = found.pattern & (rng.random(len(found.pattern)) < 0.5)
        status = np.where(primary, "u", np.where(found.problem.status == "z", "z", "s"))
        cost = int(rng.integers(1, 10**6))
        bound = cost if proven else int(rng.integers(0, cost))
        # Suppressed values take no part either: what is shown must come from the release.
        values = np.where(found.pattern, rng.integers(1, 10**6, len(primary)), table.values)
        other = replace(
            found,
            table=_unchecked(table, values),
            problem=replace(
                found.problem, primary=primary, status=status, lpl=np.zeros(len(primary), int),
                upl=np.zeros(len(primary), int), spl=np.zeros(len(primary), int),
            ),
            suppression=replace(
                found.suppression, cost=cost, bound=bound, canonical=proven, stopped=stopped,
            ),
            audit=replace(
                found.audit,
                lower=np.where(found.audit.exact[:, 0], found.audit.lower, values - cost),
                upper=np.where(found.audit.exact[:, 1], found.audit.upper, values + cost),
            ),
        )  # fmt: skip
        assert said is None or texts(other) == said
        said = texts(other)


def _unchecked(table: Table, values: np.ndarray) -> Table:
    """The same table with other values, which need not add up."""
    other = table.replace()
    object.__setattr__(other, "values", values)
    return other


def test_files_of_a_release_hold_what_the_release_holds(tmp_path):
    found = protected([[2, 9, 8], [7, 6, 9]], cost="value", people=False, gap=0.0)
    one = texts(found, tmp_path)[-2:]
    for values in oracles.integer_tables(found.table, found.pattern):
        other = replace(found, table=found.table.replace(values=np.array(values)))
        again = texts(other, tmp_path)[-2:]
        assert again == one


def test_a_gap_on_the_way_never_gives_the_cost():
    """The continued fraction of a gap in full gave the cost: 20563/45089 in a real run."""
    for cost in (17, 45089):
        for bound in {0, cost // 3, cost // 2, cost - 1}:
            for hidden in (1, 4, 40, 400, 4000):
                shown = Progress("cuts", bound, cost, 0.0, hidden)
                assert shown.gap <= shown.gap_at_most
                assert str(cost) not in repr(shown).replace("0.00 s", "")
                # Within 1/k means at least k units, which may be no more than a tenth of them.
                assert shown.gap_at_most == 1 or hidden * shown.gap_at_most >= 10
    assert {Progress("cuts", b, 1000, 0.0, 4000).gap_at_most for b in range(1000)} == {
        0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0,
    }  # fmt: skip


def test_only_reveal_counts_sensitive_cells_and_gives_costs():
    """Four cells suppressed, none of them secondary: the count alone would mark all."""
    found = protected([[2, 3, 9], [3, 2, 9]], cost="value", people=False, gap=0.0)
    dark = {"primary", "secondary", "cost", "bound", "gap", "claims_verified", "share_suppressed"}
    assert not dark & set(found.summary())
    assert dark <= set(found.summary(reveal=True))
    assert "primary" not in " ".join(texts(found))
    assert "4 primary, 0 secondary" in sizes(found.problem, found.pattern, reveal=True)


def test_means_suppressed_are_not_told_apart():
    rng = np.random.default_rng(3)
    records = {name: rng.lognormal(3, 1.0, 60).round().tolist() for name in ("a", "b", "c")}
    found = microagg.comply(records, 3, "P(10)", method="suppress")
    assert found.suppressed is not None
    assert found.hidden.any()
    facts = found.summary()
    assert "before" not in facts
    assert set(facts["suppression"]) == {
        "suppressed", "proven", "seconds", "identities", "relations", "safe",
    }  # fmt: skip
    assert "primary" not in repr(found.suppressed)


@pytest.mark.parametrize("word", ["primary", "sensitive"])
def test_problems_do_not_count_their_sensitive_cells_in_a_repr(word):
    table = Table.from_array([[1, 9], [8, 7]])
    assert word not in repr(Problem.of(table, table.values < 2, spl=1))
