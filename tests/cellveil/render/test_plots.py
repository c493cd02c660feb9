"""Pictures: what is drawn is what the results say, and without reveal nothing more."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import attacks
import csp
import instances
import microagg
from cellveil.cli.app import app
from csp.solve.result import Progress

pytest.importorskip("matplotlib")

from cellveil.render import plots

MECHANISM = csp.Mechanism(csp.MinFrequency(5), width=5, margins="publish")
TWO = ([0, 1], [0, 2], [1, 2])


def demo() -> csp.Protected:
    table = instances.load("demo")
    assert isinstance(table, csp.Table)
    return csp.protect(table, "P(10,1)|FREQ(3,10)")


def texts(figure) -> str:
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text))


def bars(figure) -> list[tuple[float, float]]:
    return [
        tuple(line.get_xdata()) for line in figure.axes[0].lines
        if line.get_linewidth() == 4 and len(line.get_xdata()) == 2
    ]  # fmt: skip


def test_bars_are_the_intervals_of_the_audit() -> None:
    protected = demo()
    low, high = protected.audit.proved
    hidden = np.flatnonzero(protected.pattern)
    drawn = bars(plots.plot_intervals(protected))
    assert drawn == [(float(low[c]), float(high[c])) for c in hidden]
    # From the release alone an outsider finds the same.
    assert bars(plots.plot_intervals(protected.release)) == drawn
    few = plots.plot_intervals(protected, most=3)
    assert len(bars(few)) == 3
    assert "3 narrowest" in texts(few)


def test_an_interval_without_an_end_is_an_arrow() -> None:
    table = csp.Table.from_array([5, 6])
    release = csp.Release.of(table, np.array([True, False, True]))
    figure = plots.plot_intervals(release)  # a cell, and the total that would bound it
    assert [line.get_marker() for line in figure.axes[0].lines] == ["None", ">"] * 2


def test_a_cell_that_is_known_has_no_bar() -> None:
    table = csp.Table.from_array([[3333, 61], [71, 62]])
    pattern = np.zeros(table.n_cells, bool)
    pattern[0] = True
    figure = plots.plot_intervals(csp.Release.of(table, pattern))
    assert bars(figure) == []
    assert "known exactly" in texts(figure)


@pytest.mark.parametrize("reveal", [False, True])
def test_a_map_has_a_mark_for_each_suppressed_cell(reveal: bool) -> None:
    from matplotlib.patches import Rectangle

    protected = demo()
    figure = plots.plot_map(protected, reveal=reveal)
    drawn = figure.axes[0].findobj(Rectangle)
    colours = [patch.get_facecolor() for patch in drawn]
    from matplotlib.colors import to_rgba

    secondary, primary = (colours.count(to_rgba(c)) for c in (plots.BLUE, plots.ORANGE))
    assert secondary + primary == protected.pattern.sum()
    assert primary == protected.problem.primary.sum() * reveal
    assert ("Internal" in texts(figure)) is reveal
    assert ("sensitive" in texts(figure)) is reveal


def test_tables_that_are_published_alike_have_the_same_pictures(tmp_path) -> None:
    rng, pairs = np.random.default_rng(1), 0
    while pairs < 4:
        inner = rng.integers(0, 12, (3, 3))
        try:
            one = MECHANISM.protect(csp.Table.from_array(inner))
            hidden = one.pattern.reshape(4, 4)
            places = [np.ix_(r, c) for r in TWO for c in TWO if hidden[np.ix_(r, c)].all()]
            other = inner.copy()
            for place in places:
                other[place] += np.array([[1, -1], [-1, 1]])
            if not places or other.min() < 0:
                continue
            two = MECHANISM.protect(csp.Table.from_array(other))
        except csp.Unprotectable:
            continue
        if (one.pattern != two.pattern).any():
            continue
        pairs += 1
        for draw in (plots.plot_intervals, plots.plot_map):
            written = []
            for number, result in enumerate((one, two)):
                plots.save(draw(result), tmp_path / f"{number}.svg")
                written.append((tmp_path / f"{number}.svg").read_bytes())
            assert written[0] == written[1]


@pytest.mark.parametrize(
    "code", ["$0 - $9", r"$\foo$", r"5\$ to $6$", "a_b^c", "a\x1bb", "<b> & c"]
)
def test_codes_are_drawn_as_they_stand(tmp_path, code: str) -> None:
    """What a reader of XML finds as text of the picture is the code."""
    data = {"r": [code, "b", "c"] * 3, "$s$": [*"xxxyyyzzz"], "v": [3, 4, 50, 60, 7, 8, 9, 10, 20]}
    found = csp.protect(csp.Table.from_microdata(data, ["r", "$s$"], "v"), "P(20,1)")
    shown = code.replace("\x1b", r"\x1b")
    for draw, wanted in ((plots.plot_intervals, f"{shown}, x"), (plots.plot_map, shown)):
        plots.save(draw(found), tmp_path / "t.svg")
        drawn = [one.text for one in ElementTree.parse(tmp_path / "t.svg").iter() if one.text]
        assert wanted in drawn
    assert "$s$" in drawn


def test_the_gap_falls_as_it_was_reported() -> None:
    trace = [
        Progress("start", 0, None, 0.0), Progress("cuts", 2, 10, 1.0, 10),
        Progress("branch", 10, 10, 3.0, 10),
    ]  # fmt: skip
    figure = plots.plot_gap(trace)
    xs, ys = figure.axes[0].lines[0].get_data()
    assert list(xs) == [1.0, 3.0]
    assert list(ys) == [100 * trace[1].gap_at_most, 0.0]
    with pytest.raises(csp.InputError, match="no pattern was reported"):
        plots.plot_gap(trace[:1])


def test_costs_are_those_of_the_patterns() -> None:
    table = instances.load("demo")
    assert isinstance(table, csp.Table)
    tried = {p: csp.Mechanism(csp.PPercent(p)) for p in (5, 20)}
    figure = plots.plot_safety_cost(table, tried, reveal=True, level="p")
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].lines}
    found = [mechanism.protect(table) for mechanism in tried.values()]
    assert lines["suppressed in all"] == [int(one.pattern.sum()) for one in found]
    assert lines["sensitive"] == [int(one.problem.primary.sum()) for one in found]
    with pytest.raises(csp.InputError, match="reveal=True"):
        plots.plot_safety_cost(table, tried)
    stuck = csp.Table.from_array([[1, 9]])
    figure = plots.plot_safety_cost(
        stuck, {4: csp.Mechanism(csp.MinFrequency(3), width=4, margins="publish")}, reveal=True
    )
    assert "cannot be protected" in texts(figure)


def test_a_k_curve_has_a_point_for_each_k() -> None:
    data = {"pay": [30, 31, 34, 52, 55, 190, 195, 300, 17, 70, 64, 99]}
    curve = microagg.k_curve(data, "P(60)", ks=[2, 3, 5, 7])
    assert [point.k for point in curve] == [2, 3, 5]
    for point in curve:
        partition = microagg.mdav(data, point.k)
        assert point.information_loss == partition.information_loss
        assert point.sensitive_means == microagg.disclosure(data, partition, "P(60)").count
    figure = plots.plot_k_curve(curve)
    loss, sensitive = (list(line.get_ydata()) for line in figure.axes[0].lines)
    assert loss == [point.information_loss for point in curve]
    assert sensitive == [100 * point.sensitive_means / point.means for point in curve]
    assert len(plots.plot_k_curve(microagg.k_curve(data, ks=[2])).axes[0].lines) == 1


def test_a_posterior_is_drawn_for_internal_use_only() -> None:
    table = csp.Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = csp.Mechanism(csp.MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(table).release
    found = attacks.posterior(release, mechanism)
    figure = plots.plot_posterior(found, release, 0, reveal=True)
    heights = [patch.get_height() for patch in figure.axes[0].patches]
    assert heights == pytest.approx(found.probability[0].tolist())
    assert "Internal" in texts(figure)
    with pytest.raises(csp.InputError, match="reveal=True"):
        plots.plot_posterior(found, release, 0)
    with pytest.raises(csp.InputError, match="not a suppressed cell"):
        plots.plot_posterior(found, release, 15, reveal=True)


def test_the_command_writes_pictures_with_the_table(tmp_path) -> None:
    data, folder = instances.path("demo.csv"), tmp_path / "pictures"
    words = ["protect", str(data), "--by", "region,sector", "--value", "turnover", "--rules",
             "P(10)", "--contributor", "enterprise", "--plots", str(folder)]  # fmt: skip
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    assert {path.name for path in folder.iterdir()} == {"map.svg", "intervals.svg"}
    assert all(path.read_text().startswith("<?xml") for path in folder.iterdir())
    assert "map.svg" in done.stderr
    shown = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "all.csv"), "--reveal"])
    assert shown.exit_code == 0
    assert (folder / "gap.svg").exists()


def test_what_cannot_be_drawn_is_said(tmp_path) -> None:
    protected = demo()
    with pytest.raises(csp.InputError, match="holds nothing to reveal"):
        plots.plot_map(protected.release, reveal=True)
    with pytest.raises(csp.InputError, match="panel 1 does not exist"):
        plots.plot_map(protected, panel=1)
    with pytest.raises(csp.InputError, match=r"\.svg, \.pdf or \.png"):
        plots.save(plots.plot_map(protected), tmp_path / "map.gif")
    open_table = csp.Release.of(protected.table, np.zeros(protected.table.n_cells, bool))
    with pytest.raises(csp.InputError, match="nothing is suppressed"):
        plots.plot_intervals(open_table)
    wide = csp.Table.from_array(np.ones((2, 130), int))
    with pytest.raises(csp.InputError, match="cannot be seen"):
        plots.plot_map(csp.Release.of(wide, np.zeros(wide.n_cells, bool)))
    with pytest.raises(csp.InputError, match="at least 4"):
        microagg.k_curve({"pay": [1, 2, 3]})
