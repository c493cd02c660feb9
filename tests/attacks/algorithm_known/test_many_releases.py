"""Several releases at once are each attacked by itself; frames say what the arrays say."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attacks
from attacks import Matching, Matchings, matching
from csp import InputError, Mechanism, Problem, Release, Table
from csp.errors import CellveilError, OutOfTime
from instances import synthetic

ANY: Any = attacks
"""Calls that no type checker would let through."""

MECHANISM = Mechanism("FREQ(6)", width=5, margins="publish")


def crosses(problem: Problem) -> list[bool]:
    labels, primary = problem.table.labels, problem.primary
    rows, columns = (
        {label[d] for label, p in zip(labels, primary, strict=True) if p} for d in (0, 1)
    )
    return [r in rows and c in columns for r, c in labels]


def program(table: Table) -> list[bool]:
    return crosses(MECHANISM.problem(table))


def drawn() -> list[Table]:
    tables = [synthetic.frequency_2d(3, 3, seed, mean=9, sd=6) for seed in range(6)]
    return [table for table in tables if any(program(table))]


@pytest.fixture(scope="module")
def several() -> Matchings:
    return matching((Release.of(table, program(table)) for table in drawn()), program, width=5)


def test_each_release_is_attacked_as_alone(several: Matchings) -> None:
    assert len(several) == len(drawn()) > 3
    for table, found in zip(drawn(), several, strict=True):
        assert isinstance(found, Matching)
        alone = matching(Release.of(table, program(table)), program, width=5)
        for name in ("cells", "lower", "upper", "feasible_lower", "feasible_upper", "verdict"):
            assert getattr(found, name).tolist() == getattr(alone, name).tolist()
        assert (found.tested, found.matched) == (alone.tested, alone.matched)


def test_releases_that_share_a_shape_or_do_not_are_attacked_as_alone() -> None:
    """Shapes alternate, two have the same relations and other labels, and one comes again."""
    codes = ["ten", "nine", "b"], ["x", "y", "z"]
    tables = [synthetic.frequency_2d(3, 3, seed, mean=9, sd=6) for seed in range(4)]
    tables[1] = Table.from_array(tables[0].values.reshape(4, 4)[:3, :3], codes=codes)
    tables += [synthetic.frequency_nd((2, 2, 2), seed, mean=9, sd=6) for seed in range(2)]
    tables += [synthetic.frequency_2d(4, 3, 1, mean=9, sd=6), tables[0]]
    mechanism = Mechanism("FREQ(6)", width=5)
    releases = [mechanism.protect(table).release for table in tables]
    releases = [release for release in releases if release.pattern.any()]
    assert len(releases) > 5
    for release, found in zip(releases, matching(releases, mechanism), strict=True):
        alone = matching(release, mechanism)
        assert isinstance(found, Matching)
        for name in ("lower", "upper", "feasible_lower", "feasible_upper", "verdict", "named"):
            assert getattr(found, name).tolist() == getattr(alone, name).tolist()
        assert (found.tested, found.matched) == (alone.tested, alone.matched)


def test_the_frame_and_the_summary_count_by_hand(several: Matchings) -> None:
    marks = [MECHANISM.problem(table).primary for table in drawn()]
    frame = several.to_frame("pandas", marks=marks)
    for i, found in enumerate(several):
        assert isinstance(found, Matching)
        narrow = found.upper - found.lower < 5
        row = frame.loc[i]
        assert row.release == str(i)
        assert row.cells == len(found.cells)
        assert row.unsafe == narrow.sum()
        assert row.safe == (~narrow).sum()
        assert row.exact == (found.upper == found.lower).sum()
        assert row.primary == marks[i].sum()
        assert row.unsafe_primary == (narrow & marks[i][found.cells]).sum()
        assert row.complete
        assert row.reason == ""
    total = several.summary(marks=marks)
    for name in ("cells", "unsafe", "safe", "primary", "unsafe_primary", "exact", "undecided"):
        assert total[name] == frame[name].sum()
    assert total["releases"] == total["finished"] == len(frame)
    assert total["failed"] == 0
    assert "unsafe_primary" not in several.summary()


def test_names_of_a_mapping_stay(several: Matchings) -> None:
    releases = {f"t{i}": Release.of(table, program(table)) for i, table in enumerate(drawn()[:2])}
    found = matching(releases, program, width=5)
    assert found.names == ("t0", "t1")
    marks = {f"t{i}": MECHANISM.problem(table).primary for i, table in enumerate(drawn()[:2])}
    assert found.summary(marks=marks)["primary"] == sum(int(m.sum()) for m in marks.values())
    one = found["t1"]
    assert isinstance(one, Matching)
    assert one.verdict.tolist() == several[1].verdict.tolist()  # type: ignore[union-attr]
    with pytest.raises(InputError, match="there is no release 't9'"):
        found["t9"]
    for wrong in ([marks["t0"]], {"t0": marks["t0"]}, 5):
        with pytest.raises(InputError, match="marks must be 2 arrays"):
            found.summary(marks=wrong)


def test_an_error_of_one_release_does_not_cost_the_others() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    impossible = Release.of(table, np.eye(4, dtype=bool).ravel())
    good = Mechanism("FREQ(10)", width=10, margins="publish")
    found = matching([impossible, good.protect(table).release], good)
    assert isinstance(found[0], CellveilError)
    assert isinstance(found[1], Matching)
    frame = found.to_frame("pandas")
    assert frame.reason[0] == str(found[0])
    assert np.isnan(frame.cells[0])
    assert found.summary()["failed"] == 1
    assert "1 not attacked" in repr(found)


def test_progress_and_interrupts_by_release() -> None:
    releases = [Release.of(table, program(table)) for table in drawn()]
    seen: list[tuple[int, int]] = []

    def stop(done: int, whole: int) -> None:
        seen.append((done, whole))
        if done == 2:
            raise KeyboardInterrupt

    found = matching(releases, program, width=5, progress=stop)
    assert seen == [(1, len(releases)), (2, len(releases))]
    assert [isinstance(one, Matching) for one in found][:3] == [True, True, False]
    assert isinstance(found[2], OutOfTime)


@pytest.mark.parametrize(
    ("release", "options", "words"),
    [
        (5, {}, "release must be a Release, got int"),
        ([5], {}, r"release\[0\] must be a Release, got int"),
        ([], {"marks": np.ones(16, bool)}, "for several give them to the result"),
        ([], {"method": "best"}, "method 'best' is not one of"),
    ],
)
def test_what_cannot_be_attacked_is_refused(
    release: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        matching(release, program, **options)
    with pytest.raises(InputError, match="must be a Mechanism, or a function"):
        matching([], "FREQ(3)")  # type: ignore[call-overload]


# ---- one release ---------------------------------------------------------------------------------


def test_the_frame_of_one_release_has_its_arrays() -> None:
    table = drawn()[0]
    problem = MECHANISM.problem(table)
    found = matching(Release.of(table, program(table)), program, width=5)
    plain = found.to_frame("pandas")
    assert list(plain) == ["d1", "d2", "feasible", "width", "verdict", "named"]
    inside = found.to_frame("pandas", marks=problem.primary, reveal=True)
    for i, cell in enumerate(found.cells.tolist()):
        row = inside.loc[i]
        assert (row.d1, row.d2) == table.labels[cell]
        assert row.primary == problem.primary[cell]
        assert (row.lower, row.upper) == (found.lower[i], found.upper[i])
        assert row.feasible == found.feasible_upper[i] - found.feasible_lower[i]
        assert row.width == row.upper - row.lower
        assert row.verdict == found.verdict[i]
    counts = found.tally(problem.primary)
    assert counts["primary"] == inside.primary.sum()
    assert counts["unsafe_primary"] == (inside.primary & (inside.width < 5)).sum()
    with pytest.raises(InputError, match="marks"):
        found.to_frame(marks=[True])


def test_no_suppressed_value_is_in_a_frame_without_reveal() -> None:
    # The same release of two tables: what is shown is the same.
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism("FREQ(10)", width=10, margins="publish")
    release = mechanism.protect(table).release
    frame = matching(release, mechanism).to_frame("pandas")
    assert not {"lower", "upper", "value"} & set(frame)
    named = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]], names=["width", "b"])
    found = matching(mechanism.protect(named).release, mechanism)
    with pytest.raises(InputError, match="'width' has the name of a result column"):
        found.to_frame()


def test_decimals_are_those_of_the_measure() -> None:
    table = Table.from_array([[0.7, 1.1, 6.0], [1.0, 6.0, 1.1], [6.0, 1.2, 6.0]], decimals=1)
    pattern = np.zeros((4, 4), bool)
    pattern[:2, :2] = True

    def always(_: Table) -> NDArray[np.bool_]:
        return pattern.ravel()

    found = matching(Release.of(table, pattern.ravel()), always)
    frame = found.to_frame("pandas", reveal=True)
    assert (frame.lower[0], frame.upper[0], frame.width[0]) == (0, 1.7, 1.7)


# ---- functions elsewhere -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (partial(ANY.posterior, mechanism=program), "attacks.posterior needs.*algorithm_safety"),
        (partial(ANY.explain, cell=0, mechanism=program), "attacks.explain needs.*matching"),
        (partial(ANY.posterior, mechanism="x"), "mechanism must be a Mechanism, not str"),
        (partial(ANY.explain, cell=0, mechanism=5), "mechanism must be a Mechanism, not int"),
        (partial(ANY.report, mechanism="FREQ(3)"), "must be a Mechanism, or a function"),
    ],
)
def test_what_takes_no_function_says_what_does(call: Any, words: str) -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    pattern = np.zeros((4, 4), bool)
    pattern[:2, :2] = True
    with pytest.raises(InputError, match=words):
        call(Release.of(table, pattern.ravel()))
    with pytest.raises(InputError, match="mechanism must be a Mechanism, got function"):
        ANY.choose_rate(program, target=0.5)


def test_a_report_takes_a_function() -> None:
    releases = [Release.of(table, program(table)) for table in drawn()]
    release = next(one for one in releases if matching(one, program).width.any())
    by_hand = matching(release, program, width=5)
    found = attacks.report(release, program, width=5)
    assert found["matching"].status == "ran"
    unsafe = by_hand.cells[by_hand.upper - by_hand.lower < 5]
    assert set(found["matching"].exposed or {}) == set(unsafe.tolist())
    assert "algorithm_safety" in found["posterior"].reason
    assert found["posterior"].status == "not run"
    plain = attacks.report(release, program)
    exact = by_hand.cells[by_hand.upper == by_hand.lower]
    assert set(plain["matching"].exposed or {}) == set(exact.tolist())
    assert "not judged" in plain["matching"].verdict


def test_the_picture_of_a_matching_shows_both_intervals() -> None:
    pytest.importorskip("matplotlib")
    from cellveil.render import plots

    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism("FREQ(10)", width=10, margins="publish")
    found = matching(mechanism.protect(table).release, mechanism)
    lines = plots.plot_intervals(found).axes[0].lines
    ends = {
        width: [
            tuple(np.asarray(line.get_xdata())) for line in lines if line.get_linewidth() == width
        ]
        for width in (1, 4)
    }
    thin = list(zip(found.feasible_lower, found.feasible_upper, strict=True))
    thick = list(zip(found.lower, found.upper, strict=True))
    assert ends == {1: thin, 4: thick}
    assert thin != thick
    with pytest.raises(InputError, match="nothing to reveal"):
        plots.plot_intervals(found, reveal=True)


def test_a_value_that_is_known_is_not_drawn() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    from cellveil.render import plots

    for table in drawn():
        found = matching(Release.of(table, program(table)), program, width=5)
        known = found.lower == found.upper
        figure = plots.plot_intervals(found)
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert texts.count("known exactly") == known.sum()
        thick = [line for line in figure.axes[0].lines if line.get_linewidth() == 4]
        assert len(thick) == (~known).sum()
