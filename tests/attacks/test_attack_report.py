"""The report: every verdict is that of its attack alone, and no suppressed value is shown."""

from __future__ import annotations

import json
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import cellveil
from attacks import (
    Knowledge,
    attack_report,
    differencing,
    disclosed,
    disclosed_sums,
    explain,
    insiders,
    knowledge_of,
    matching,
    normal_counts,
    posterior,
    report,
    smallest_coalition,
)
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.attack_findings import CUT_SHORT, NOT_RUN, RAN
from cellveil.cli.app import app
from cellveil.report.facts import attacked
from csp import Decoys, InputError, Manual, Mechanism, MinFrequency, PPercent, Table
from csp.clock import UNLIMITED
from csp.release.release import Release
from csp.release_file import read_release, write_release
from tests.support.shared import examples
from tests.support.strategies import frequency_2d

ATTACKS = (
    "disclosed", "disclosed_sums", "insiders", "smallest_coalition", "differencing", "matching",
    "posterior",
)  # fmt: skip
MECHANISM = Mechanism(MinFrequency(5, zero_sensitive=True), width=8, margins="publish")
INNER = [[4, 21, 16, 23], [3, 14, 11, 14], [31, 33, 12, 13], [23, 17, 15, 2]]


def release_of(seed: int, side: int = 4) -> Release:
    counts = np.random.default_rng(seed).integers(0, 40, (side, side))
    counts[0, 0] = 3
    return MECHANISM.protect(Table.from_array(counts)).release


@pytest.mark.parametrize("seed", range(4))
def test_every_verdict_is_that_of_its_attack_alone(seed: int) -> None:
    release = release_of(seed)
    rng = np.random.default_rng(seed)
    table = release.table(values_of(seed))
    hidden = np.flatnonzero(release.pattern)
    people = [
        Knowledge(f"firm {i}", {int(i): int(table.values[i])})
        for i in rng.choice(hidden, min(3, len(hidden)), replace=False)
    ]
    pattern = release.pattern.copy()
    pattern[hidden[0]] = False
    other = Release.of(table, pattern)
    prior = normal_counts(15, 10)
    found = report(
        release, MECHANISM, knowledge=people, others=[other], prior=prior, width=8
    )  # fmt: skip
    assert tuple(finding.attack for finding in found) == ATTACKS
    assert all(finding.status == RAN for finding in found)
    assert found.complete

    alone = disclosed(release)
    assert exposed(found, "disclosed") == set(alone.cells[alone.whole].tolist())

    sums = disclosed_sums(release, MinFrequency(5, zero_sensitive=True))
    sensitive = [one for one in sums if one.sensitive]
    assert exposed(found, "disclosed_sums") == {c for one in sensitive for c in one.cells}
    known = sum(one.disclosed for one in sums)
    assert found["disclosed_sums"].verdict.startswith(f"{known} sums")
    assert f"{len(sensitive)} of them sensitive" in found["disclosed_sums"].verdict

    clever = insiders(release, people)
    inferred = {int(c) for one in clever for c in one.cells[one.lower == one.upper]}
    assert exposed(found, "insiders") == inferred

    broken = {
        int(cell) for cell in hidden
        if smallest_coalition(release, people, int(cell), width=8).members is not None
    }  # fmt: skip
    assert exposed(found, "smallest_coalition") == broken

    both = differencing([release, other])
    known_cells = both.cells[both.lower == both.upper]
    place = {int(p): i for i, p in enumerate(both.places[0])}
    assert exposed(found, "differencing") == {place[int(c)] for c in known_cells}

    attack = matching(release, MECHANISM)
    unsafe = attack.verdict == "proved unsafe"
    assert exposed(found, "matching") == set(attack.cells[unsafe].tolist())
    for cell, ends in (found["matching"].exposed or {}).items():
        i = int(np.searchsorted(attack.cells, cell))
        assert ends == (attack.lower[i], attack.upper[i])

    beliefs = posterior(release, MECHANISM, prior=prior)
    certain = beliefs.mode_probability >= 0.95
    assert exposed(found, "posterior") == set(beliefs.cells[certain].tolist())
    assert found.exposed == tuple(sorted(set().union(*(exposed(found, a) for a in ATTACKS))))


def values_of(seed: int) -> np.ndarray:
    """Suppressed values of the release of this seed."""
    counts = np.random.default_rng(seed).integers(0, 40, (4, 4))
    counts[0, 0] = 3
    table = Table.from_array(counts)
    return table.values[MECHANISM.protect(table).pattern]


def exposed(found: Any, attack: str) -> set[int]:
    return set(found[attack].exposed or {})


def test_attacks_that_do_not_apply_say_what_they_lack() -> None:
    found = report(release_of(0))
    status = {finding.attack: finding.status for finding in found}
    assert {a for a in ATTACKS if status[a] == RAN} == {"disclosed", "disclosed_sums"}
    assert "mechanism" in found["matching"].reason
    assert "mechanism" in found["posterior"].reason
    assert "knowledge=" in found["insiders"].reason
    assert "others=" in found["differencing"].reason
    people = [Knowledge("firm", {})]
    assert "width= or percent=" in report(release_of(0), knowledge=people)[
        "smallest_coalition"
    ].reason  # fmt: skip
    assert "prior=" in report(release_of(0), MECHANISM)["posterior"].reason
    with pytest.raises(KeyError, match="there are disclosed, "):
        found["nonsense"]


def test_a_mechanism_that_cannot_have_made_the_release_is_told() -> None:
    for wrong, words in (
        (replace(MECHANISM, rules=MinFrequency(30)), "cannot have produced the release"),
        (Mechanism(PPercent(10)), "contributors"),
    ):
        found = report(release_of(1), wrong, prior=normal_counts(15, 10))
        for attack in ("matching", "posterior"):
            assert found[attack].status == NOT_RUN
            assert words in found[attack].reason


NOT_COUNTS: dict[str, dict[str, Any]] = {
    "sums": {"value": "v"}, "sums with decimals": {"value": "half"},
    "counts under weights": {"weight": "half"}, "counts of records": {"contributor": "firm"},
}  # fmt: skip
"""Tables whose cells are no numbers of contributors."""


@pytest.mark.parametrize("kind", NOT_COUNTS)
def test_values_are_not_judged_as_numbers_of_contributors(kind: str, tmp_path: Path) -> None:
    cells = [(r, c) for r in "abc" for c in "xyz" for _ in range(2 + (r + c in ("ax", "by")))]
    records = {
        "r": [r for r, _ in cells], "c": [c for _, c in cells], "firm": range(len(cells)),
        "v": [1] * len(cells), "half": [1.5] * len(cells),
    }  # fmt: skip
    table = Table.from_microdata(records, ["r", "c"], **NOT_COUNTS[kind])
    mechanism = Mechanism("FREQ(3,40)")
    release = mechanism.protect(table).release
    assert release.pattern.any()
    path, _ = write_release(release, tmp_path / "one.json", mechanism)
    read, told = read_release(path)
    for one, how in ((release, mechanism), (read, told)):
        assert not one.of_counts
        found = report(one, how, prior=normal_counts(3, 2))
        assert "look at contributors" in found["matching"].reason
        assert "contributors" in found["posterior"].reason
        assert "sensitive" not in found["disclosed_sums"].verdict
    counts = Table.from_microdata(records, ["r", "c"])
    assert Release.of(counts, release.pattern).of_counts


@pytest.mark.parametrize("contributors", [True, False])
def test_lone_contributors_who_were_guarded_against_are_not_forgotten(contributors: bool) -> None:
    cells = [(r, c, v) for r in "ab" for c in "xyz" for v in (2, 3)[: 1 + (c == "z")]]
    values = {
        "r": [r for r, *_ in cells],
        "c": [c for _, c, _ in cells],
        "v": [v for *_, v in cells],
    }
    table = Table.from_microdata(values, ["r", "c"], "v")
    if not contributors:
        table = table.replace(contributors=None)
    protected = Mechanism(Manual([("a", "z")], width=3)).protect(table)
    assert ("singletons" in protected.guards) == contributors
    found = attacked(protected, UNLIMITED)
    assert found is not None
    assert (found["matching"].status == NOT_RUN) == contributors
    plain = report(protected.release, protected.mechanism)["matching"]
    assert "alone in some" in plain.reason


def test_what_was_kept_is_no_work_of_the_mechanism() -> None:
    table = Table.from_array(INNER)
    first = MECHANISM.protect(table)
    early = Release.of(table, first.pattern | (table.values == 33))
    for keep in (early, None, Release.of(table, np.zeros(table.n_cells, bool))):
        found = attacked(MECHANISM.protect(table, keep=keep), UNLIMITED)
        assert found is not None
        assert (found["matching"].status == NOT_RUN) == (keep is early)
        assert ("does not make this pattern" in found["matching"].reason) == (keep is early)


@pytest.mark.parametrize(
    "options",
    [{"time_limit": 60}, {"gap": 0.5}, {"method": "large"},
     {"method": lambda problem: np.ones(problem.table.n_cells, bool) & (problem.status != "z")}],
    ids=["time limit", "gap", "large", "own method"],
)  # fmt: skip
def test_a_search_that_need_not_end_is_no_work_of_the_mechanism(options: dict[str, Any]) -> None:
    """Its pattern may be another than the preferred one, which the attack expects."""
    table = Table.from_array(INNER)
    assert MECHANISM.protect(table).repeatable
    protected = MECHANISM.protect(table, **options)
    assert not protected.repeatable
    found = attacked(protected, UNLIMITED)
    assert found is not None
    assert found["matching"].status == NOT_RUN
    assert found["disclosed_sums"].verdict.endswith("of them sensitive.")


def test_a_cross_table_is_attacked_as_its_table() -> None:
    counts = np.array(INNER)
    places = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(counts) for _ in range(n)]
    rows, columns = zip(*places, strict=True)
    crossed = cellveil.crosstab(rows, columns, rules="FREQ(4)")
    found = attacked(next(iter(crossed.protected.values())), UNLIMITED)
    assert found is not None
    assert found["matching"].status == RAN


def test_decoys_are_weighed_without_a_prior() -> None:
    mechanism = replace(MECHANISM, defence=Decoys("0.1"))
    release = MECHANISM.protect(Table.from_array(INNER)).release
    found = report(release, mechanism, max_tables=10**6, time_limit=60)
    assert found["matching"].status == RAN
    assert found["posterior"].status == RAN
    beliefs = posterior(release, mechanism)
    certain = beliefs.cells[beliefs.mode_probability >= 0.95]
    assert exposed(found, "posterior") == set(certain.tolist())


def test_coalitions_by_percent_look_at_cells_with_contributors() -> None:
    firms = Table.from_microdata(
        {
            "a": list("xxxxyyyyzzzz"), "b": list("mmnnmmnnmmnn"), "firm": list("fgfhgghifigh"),
            "v": [40, 30, 28, 33, 31, 50, 29, 20, 25, 10, 35, 21],
        },
        ["a", "b"], "v", contributor="firm", top=4,
    )  # fmt: skip
    held = Release.of(firms, ~firms.margins)
    people = knowledge_of(firms, held)
    found = report(held, knowledge=people, percent=20)
    cells = np.flatnonzero(held.pattern).tolist()
    alone = [smallest_coalition(held, people, cell, percent=20) for cell in cells]
    broken = {c for c, one in zip(cells, alone, strict=True) if one.members is not None}
    assert exposed(found, "smallest_coalition") == broken
    assert broken


def numbers_in(text: str) -> set[int]:
    return {int(word) for word in re.findall(r"\d+", text)}


@examples(40)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4), st.data())
def test_no_suppressed_value_is_shown(seed: int, rows: int, cols: int, data: st.DataObject) -> None:
    # Values that cannot count cells, and codes that are not numbers.
    inner = np.random.default_rng(seed).integers(10_000, 99_999, (rows, cols))
    table = Table.from_array(
        inner, codes=(list("abcd")[:rows], list("wxyz")[:cols]), names=["r", "c"]
    )
    n = table.n_cells
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    flags[0] = True
    release = Release.of(table, flags)
    hidden = np.flatnonzero(flags)
    people = [Knowledge("firm", {int(hidden[-1]): int(table.values[hidden[-1]])})]
    fewer = flags.copy()
    fewer[hidden[0]] = False
    others = [Release.of(table, fewer)] if fewer.any() else []
    found = report(release, knowledge=people, others=others, width=5)
    secret = set(table.values[flags].tolist()) - set(release.published.tolist())
    told = "\n".join(
        [str(found), repr(found), json.dumps(found.summary()), *map(repr, found.findings)]
    )
    assert not numbers_in(told) & secret
    revealed = numbers_in(found.text(reveal=True)) & numbers_in(
        json.dumps(found.summary(reveal=True))
    )
    exact = disclosed(release)
    assert set(table.values[exact.cells[exact.whole]].tolist()) <= revealed


@examples(10)
@given(frequency_2d(high=9))
def test_reports_are_json_and_repeat(table: Table) -> None:
    try:
        release = Release.of(table, ~table.margins)
        found = report(release, time_limit=30)
    except InputError:
        return
    facts = found.summary()
    assert json.loads(json.dumps(facts)) == facts
    assert facts == report(release).summary()
    assert [row["attack"] for row in facts["attacks"]] == list(ATTACKS)
    assert all(set(row) == {"cell"} for fact in facts["attacks"] for row in fact["exposed"])


def test_the_time_limit_is_for_all_attacks() -> None:
    counts = np.random.default_rng(3).integers(0, 60, (4, 4, 5))
    release = MECHANISM.protect(Table.from_array(counts), time_limit=20).release
    report(release, MECHANISM, time_limit=0.5)  # loads what is compiled
    began = time.process_time()
    found = report(
        release, MECHANISM, others=[release], prior=normal_counts(15, 10), time_limit=0.1
    )
    assert time.process_time() - began < 2
    assert any(finding.status == CUT_SHORT for finding in found)
    assert not found.complete
    assert "time limit" in found.text() or "not finished" in found.text()


def test_an_interrupt_keeps_what_attacks_before_it_found(monkeypatch: Any) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    whole = report(release_of(0), MECHANISM)
    monkeypatch.setattr(attack_report, "disclosed_sums", interrupted)
    found = report(release_of(0), MECHANISM)
    assert found["disclosed"].verdict == whole["disclosed"].verdict
    for attack in ("disclosed_sums", "matching"):
        assert found[attack].status == CUT_SHORT
        assert found[attack].reason == "It was interrupted."
    assert not found.complete


def test_after_an_interrupted_attack_no_other_begins(monkeypatch: Any) -> None:
    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(NetworkSearch, "step", interrupted)
    found = report(release_of(0), MECHANISM, prior=normal_counts(15, 10))
    assert found["matching"].verdict.startswith("0 suppressed cells are proved safe")
    for attack in ("matching", "posterior"):
        assert found[attack].status == CUT_SHORT
        assert found[attack].reason == "It was interrupted."
    assert found["posterior"].result is None


def test_an_interrupted_command_shows_what_was_found(tmp_path: Path, monkeypatch: Any) -> None:
    path = write_release(release_of(0), tmp_path / "public.json", MECHANISM)[0]
    monkeypatch.setattr(
        attack_report, "disclosed_sums", lambda *_, **__: signal.raise_signal(signal.SIGINT)
    )
    run = CliRunner().invoke(app, ["attack", "report", str(path)])
    assert run.exit_code == 130, run.output
    assert run.stdout.startswith("disclosed: ")
    assert "matching: cut short. It was interrupted." in run.stdout


def test_the_command_shows_values_only_when_asked(tmp_path: Path) -> None:
    table = Table.from_array(INNER)
    protected = MECHANISM.protect(table)
    path = write_release(protected.release, tmp_path / "public.json", MECHANISM)[0]
    found = report(protected.release, MECHANISM)
    summary = tmp_path / "facts.json"
    run = CliRunner().invoke(app, ["attack", "report", str(path), "--summary", str(summary)])
    assert run.exit_code == (1 if found.exposed else 0), run.output
    assert run.stdout == found.text() + "\n"
    assert json.loads(summary.read_text()) == found.summary()
    run = CliRunner().invoke(app, ["attack", "report", str(path), str(path), "--reveal"])
    assert run.exit_code == (1 if found.exposed else 0), run.output
    assert "differencing: 0 of" in run.stdout
    assert found.text(reveal=True).splitlines()[0] == run.stdout.splitlines()[0]
    with pytest.raises(InputError, match="max_tables"):
        report(protected.release, MECHANISM, max_tables=0)


def test_what_is_not_available_is_not_counted_as_withheld() -> None:
    """A German table: one cell of row N is not available, and follows from the others like two."""
    rows = [
        ["region", "a", "b", "c", "Insgesamt"],
        ["N", ".", "/", "5", "30"],
        ["S", ".", "7", "8", "25"],
        ["W", "3", "4", "5", "12"],
        ["Insgesamt", "20", "29", "18", "67"],
    ]
    release = Release.from_frame(rows, marks="destatis")
    one = report(release)["disclosed"]
    said = one.verdict
    assert said.startswith("2 of 2 suppressed cells are known: 2 by linear algebra")
    assert said.endswith("So is 1 cell that is not withheld.")
    assert {release.labels[c] for c in one.exposed or ()} == {("N", "a"), ("S", "a")}
    assert "is not withheld" in explain(release, ("N", "b")).text()
    assert "is not withheld" not in explain(release, ("N", "a")).text()
