"""One table in several ways: every figure worked out again by enumeration or by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import instances
from cellveil import Noise, compare
from cellveil.cli.app import app
from cellveil.comparing import ways
from cellveil.comparing.ways import Way, levels_of
from csp import Contributors, Hierarchy, Key, Manual, Mechanism, Table, protect, round_table
from csp.errors import InputError
from tests.support.oracles import integer_interval, integer_tables

KEY = Key(bytes(range(32)))
CELLS = [[7, 1, 6], [10, 6, 2], [6, 12, 3]]
METHODS = ["suppress", "intervals:2", "round:3", "random:3"]


@pytest.fixture(scope="module")
def found():
    mechanism = Mechanism("FREQ(3)", width=4, margins="publish")
    return compare(Table.from_array(CELLS), mechanism, METHODS, key=KEY)


def test_levels_are_steps_from_the_total() -> None:
    assert levels_of(Table.from_array([[1, 2], [3, 4]])).tolist() == [2, 2, 1, 2, 2, 1, 1, 1, 0]
    tree = Hierarchy(("a1", "a2", "a", "b", "all"), (2, 2, 4, 4, -1))
    table = Table.from_array([1, 2, 3], names=["x"], hierarchies={"x": tree})
    assert dict(zip(table.labels, levels_of(table).tolist(), strict=True)) == {
        ("a1",): 2, ("a2",): 2, ("a",): 1, ("b",): 1, ("all",): 0,
    }  # fmt: skip


def test_errors_are_differences_to_the_true_table(found) -> None:
    table = found.table
    inner = np.array(CELLS)
    true = np.block([[inner, inner.sum(1)[:, None]], [inner.sum(0)[None], inner.sum()]])
    level = np.full((4, 4), 2)
    level[3], level[:, 3], level[3, 3] = 1, 1, 0
    columns = found.levels()
    for i, (name, number) in enumerate(zip(columns["method"], columns["level"], strict=True)):
        way = found.of(name)
        shown = way.values.reshape(4, 4)
        errors = np.abs(shown - true)[level == number]
        assert columns["cells"][i] == (level == number).sum()
        assert columns["withheld"][i] == way.withheld.reshape(4, 4)[level == number].sum()
        assert columns["changed"][i] == (errors > 0).sum()
        if np.isnan(errors).all():
            assert columns["mean_error"][i] is None
        else:
            assert columns["mean_error"][i] == pytest.approx(np.nanmean(errors))
            assert columns["largest_error"][i] == np.nanmax(errors)
    for name in ("round:3", "random:3", "intervals:2"):
        assert not (table.relations @ found.of(name).values).any()
    assert (found.of("round:3").values % 3 == 0).all()


def test_what_is_left_of_sensitive_cells(found) -> None:
    table, facts = found.table, found.summary()
    sensitive = (np.array(table.values) < 3) & ~table.margins
    pattern = protect(table, "FREQ(3)", width=4, margins="publish").pattern
    for name in METHODS:
        way, one = found.of(name), facts[name]
        assert one["sensitive"] == sensitive.sum() == 2
        short = known = 0
        for i in np.flatnonzero(sensitive).tolist():
            if name.startswith(("round", "random")):
                near = table.replace(
                    lower=np.maximum(0, way.values.astype(int) - 2),
                    upper=way.values.astype(int) + 2,
                )
                low, high = integer_interval(near, [True] * 16, i)
            else:
                low, high = integer_interval(table, pattern, i)
            assert (low, high) == (way.lower[i], way.upper[i])
            short += high - low < 4
            known += high == low
        assert (one["short"], one["known"]) == (short, known)
        assert one["wanted"] == 4
        assert one["narrowest"] == min(way.widths)
        assert (way.rooms < 1).sum() == short


def test_what_knowing_the_suppression_tells(found) -> None:
    """Every consistent table is protected again; those with the same pattern are left."""
    table, mechanism = found.table, found.mechanism
    done = mechanism.protect(table)
    left = [
        values for values in integer_tables(table, done.pattern)
        if (mechanism.protect(table.replace(values=np.array(values))).pattern == done.pattern).all()
    ]  # fmt: skip
    low, high = np.min(left, axis=0), np.max(left, axis=0)
    cells = np.flatnonzero(found.of("suppress").problem.primary)
    told = found.of("suppress").told
    assert told.short == (high - low < 4)[cells].sum()
    assert told.known == (high == low)[cells].sum()
    assert found.of("intervals:2").told == told


def test_a_small_rounding_is_undone() -> None:
    table = Table.from_array([[1, 4], [5, 2]])
    found = compare(table, Mechanism("FREQ(3)", width=5, margins="publish"), ["round:3"])
    facts = found.summary()["round:3"]
    assert (facts["tables"], facts["left"]) == (217, 81)
    assert facts["method_short"] >= facts["short"]


def test_noise_of_others_is_one_of_the_ways() -> None:
    table = Table.from_array([5, 7, 3])
    data = {"d1": ["1", "2", "3", "Total"], "n": [7, 9, 5, 13]}
    mechanism = Mechanism("FREQ(4)", width=2, margins="publish")
    found = compare(table, mechanism, ["suppress", Noise("cell key", data, "n", 2)])
    facts = found.summary()["cell key"]
    assert (facts["changed"], facts["mean_error"], facts["largest_error"]) == (4, 2, 2)
    assert (facts["sensitive"], facts["short"], facts["known"]) == (1, 1, 1)


def test_a_table_that_cannot_be_protected_is_part_of_the_result() -> None:
    table = Table.from_array([[1, 2], [3, 90]])
    found = compare(table, Mechanism("FREQ(5)", width=50, margins="publish"),
                    ["suppress", "round:60"])  # fmt: skip
    facts = found.summary()
    assert "cannot be protected" in facts["suppress"]["reason"]
    assert facts["round:60"]["reason"] is None
    assert facts["round:60"]["short"] == 0
    assert "cannot be protected" in found.text()
    assert len(found.plot().axes) == 2


@pytest.mark.parametrize(
    "methods", [[], "suppress", ["round"], ["round:"], ["suppress:3"], ["swap"], [3],
                ["suppress", "suppress"], ["round:0"], ["intervals:x"]],
)  # fmt: skip
def test_methods_that_are_not_there_are_refused(methods) -> None:
    with pytest.raises(InputError):
        compare(Table.from_array([[1, 20], [30, 90]]), Mechanism("FREQ(5)", width=5), methods)


def test_the_command_says_what_python_says(tmp_path) -> None:
    data, tree = instances.path("demo.csv"), instances.path("demo.hrc")
    words = ["compare", str(data), "--by", "region,sector", "--hierarchy", f"region={tree}",
             "--value", "turnover", "--contributor", "enterprise", "--rules", "P(10,1)|FREQ(3,10)",
             "--methods", "suppress,intervals:100,round:50", "--report", str(tmp_path / "r.html"),
             "--summary", str(tmp_path / "s.json"), "-o", str(tmp_path / "levels.csv"),
             "--plots", str(tmp_path)]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    said = json.loads((tmp_path / "s.json").read_text())
    found = compare(instances.load("demo"), "P(10,1)|FREQ(3,10)",
                    ["suppress", "intervals:100", "round:50"])  # fmt: skip
    for (name, one), (other, two) in zip(said["methods"].items(), found.summary().items(),
                                         strict=True):  # fmt: skip
        assert name == other
        assert {k: v for k, v in one.items() if k != "seconds"} == {
            k: v for k, v in two.items() if k != "seconds"
        }
    assert said["levels"] == found.levels()
    rows = (tmp_path / "levels.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 4
    page = (tmp_path / "r.html").read_text()
    assert "Internal" in page
    for method, head in product(found.summary(), ("Side by side", "Errors by level")):
        assert method in page
        assert head in page
    assert (tmp_path / "methods.svg").read_text().startswith("<?xml")


def test_the_closest_call_is_measured_by_levels_that_are_asked_for() -> None:
    """A 1 between 1 and 5 has nothing below, which nobody asked for; a 1 from 0 to 2 is closer."""
    table = Table.from_array([1, 1, 30])
    way = Way(
        "random:3", table, Mechanism("FREQ(2)", singletons=False).problem(table),
        lower=np.array([1.0, 0, np.nan, np.nan]), upper=np.array([5.0, 2, np.nan, np.nan]),
    )  # fmt: skip
    assert way.slack.tolist() == [2, 0]
    assert way.rooms.tolist() == [2, 1]
    both = Mechanism(Manual([("1",), ("2",)], margin=100)).problem(table)
    assert replace(way, problem=both).slack.tolist() == [-1, 0]


def test_without_time_to_follow_sensitive_cells_no_room_is_stated() -> None:
    """Ends that are not proved lie inside: 8 wide was said here, where 24 is true."""
    table = Table.from_array([[10, 25, 17], [15, 20, 15], [29, 22, 1], [4, 16, 24], [2, 20, 22]])
    late = compare(table, "FREQ(8)", ["suppress"], time_limit=1e-9)
    assert "asked for" not in late.text()
    assert "allow more time" in late.text()
    assert "the closest call 24 wide" in compare(table, "FREQ(8)", ["suppress"]).text()


def test_errors_of_noise_with_fractions_are_exact() -> None:
    table = Table.from_array([5, 7])
    data = {"d1": ["1", "2", "Total"], "n": ["5.5", "7.25", "12"]}
    found = compare(table, Mechanism("FREQ(3)", width=2, margins="publish"),
                    [Noise("noise", data, "n", 1)])  # fmt: skip
    facts = found.summary()["noise"]
    assert (facts["changed"], facts["mean_error"], facts["largest_error"]) == (2, 0.25, 0.5)
    assert found.of("noise").values.tolist() == [5.5, 7.25, 12]
    third = compare(table, Mechanism("FREQ(3)", width=2, margins="publish"),
                    [Noise("noise", data | {"n": ["5.1", "7.2", "12"]}, "n", 1)])  # fmt: skip
    assert third.summary()["noise"]["mean_error"] == 0.1  # 3 tenths over 3, without a float between


def test_what_a_lone_contributor_learns_has_a_column_of_its_own() -> None:
    """Of 1 + 12 = 13 to base 10 (0 + 10 = 10), its contributor knows that 1 is at most 7."""
    people = Contributors(
        count=np.array([3, 1, 4]), total=np.array([1, 12, 13]),
        top=np.array([[1, 0], [12, 0], [12, 1]]),
    )  # fmt: skip
    table = Table.from_array([1, 12], contributors=people, decimals=0)
    rule = Manual([("1",)], width=8)
    guarded = compare(table, Mechanism(rule, singletons=True), ["suppress", "round:10"])
    facts = guarded.summary()["round:10"]
    assert (facts["short"], facts["short_inside"], facts["narrowest"]) == (0, 1, 9)
    assert guarded.summary()["suppress"]["short_inside"] == 0
    assert "1 with lone contributors among the attackers" in guarded.text()
    open_ = compare(table, Mechanism(rule, singletons=False), ["round:10"]).summary()["round:10"]
    assert (open_["short"], open_["short_inside"]) == (0, None)


def test_whether_a_result_is_proved_best_is_a_column(monkeypatch) -> None:
    table = Table.from_array([[1, 20], [30, 90]])
    rows = {name: [label[d] for label in table.labels] for d, name in enumerate(table.names)}
    noise = Noise("noise", rows | {"n": table.values.tolist()}, "n", 2)
    methods = ["suppress", "intervals", "round:5", noise]
    found = compare(table, Mechanism("FREQ(5)", width=3), methods).summary()
    assert [one["proven"] for one in found.values()] == [True, True, True, None]
    real = ways.round_table
    monkeypatch.setattr(
        ways,
        "round_table",
        lambda *given, **options: replace(real(*given, **options), proven=False),
    )
    late = compare(table, Mechanism("FREQ(5)", width=3), ["round:5"])
    assert late.summary()["round:5"]["proven"] is False
    assert "not proved to be the best result" in late.text()
    assert late.to_frame("pandas")["proven"].tolist() == [False]


def test_small_counts_are_one_of_the_ways() -> None:
    table = Table.from_array(CELLS)
    found = compare(table, Mechanism("FREQ(3)", width=2, margins="publish"),
                    ["round:3:small", "random:3:small"], key=KEY)  # fmt: skip
    inner = ~table.margins
    for way in found.ways:
        small = inner & (table.values < 3)
        assert set(way.values[small].tolist()) <= {0, 3}
        assert (way.values[inner & ~small] == table.values[inner & ~small]).all()
        assert (way.upper - way.lower)[small].tolist() == [2, 2]
    direct = round_table(table, 3, small=True)
    assert (found.of("round:3:small").values == direct.values).all()
    facts = found.summary()["round:3:small"]
    assert 1 <= facts["left"] <= facts["tables"] <= 27  # three cells are 0 or 3


@pytest.mark.parametrize("moment", ["search", "attack"])
def test_an_interrupt_ends_the_comparison(monkeypatch, moment: str) -> None:
    """What was found by then is not compared: the other ways would look better than they are."""
    if moment == "search":
        real = Mechanism.protect

        def protect(*given, **options):
            done = real(*given, **options)
            return replace(done, suppression=replace(done.suppression, stopped="interrupt"))

        monkeypatch.setattr(Mechanism, "protect", protect)
    else:
        attack = ways.matching
        monkeypatch.setattr(
            ways, "matching",
            lambda *given, **options: replace(attack(*given, **options), interrupted=True),
        )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        compare(Table.from_array(CELLS), Mechanism("FREQ(3)", width=4, margins="publish"))


ROUND = ["round", str(instances.path("demo.csv")), "--by", "region,sector"]


def test_a_key_file_needs_the_name_of_the_table(tmp_path) -> None:
    place = tmp_path / "secret.key"
    Key.create(place)
    done = CliRunner().invoke(app, [*ROUND, "--base", "3", "--key-file", str(place)])
    assert done.exit_code != 0
    assert "--key-file needs --table-id" in done.output
    assert "two months" in done.output
    done = CliRunner().invoke(app, [*ROUND, "--base", "3", "--table-id", "may"])
    assert done.exit_code != 0
    assert "give --key-file" in done.output
    words = [*ROUND, "--base", "3", "--key-file", str(place), "--table-id", "may"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "o.csv")])
    assert done.exit_code == 0
    assert "can exclude" not in done.output
    # Causey, Cox and Ernst (1985): no rounding next to the values of these six persons.
    cells = ("1,1,1", "1,1,2", "1,2,1", "1,2,2", "2,1,2", "2,2,1")
    (tmp_path / "c.csv").write_text("\n".join(["a,b,c", *cells]))
    words = ["round", str(tmp_path / "c.csv"), "--by", "a,b,c", "--base", "2", *words[-4:]]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "p.csv")])
    assert "can exclude some tables in spite of the key" in " ".join(done.output.split())


def test_random_rounding_is_compared_as_it_would_be_published(tmp_path) -> None:
    place = tmp_path / "secret.key"
    Key.create(place)
    keyed = ["--key-file", str(place), "--table-id", "may"]
    words = ["compare", *ROUND[1:], "--rules", "FREQ(3)", "--methods", "random:3", *keyed]
    done = CliRunner().invoke(app, [*words, "--summary", str(tmp_path / "s.json")])
    assert done.exit_code == 0, done.output
    facts = json.loads((tmp_path / "s.json").read_text())["methods"]["random:3"]
    table = Table.from_microdata(instances.path("demo.csv"), ["region", "sector"])
    off = [
        np.abs(round_table(table, 3, key=Key.read(place), name=name).values - table.values)
        for name in ("may", "")
    ]
    assert facts["changed"] == (off[0] > 0).sum()
    assert facts["mean_error"] == pytest.approx(off[0].mean())
    assert (off[0] != off[1]).any()


def test_the_command_rounds_small_counts(tmp_path) -> None:
    words = [*ROUND, "--base", "3", "--small", "-o", str(tmp_path / "o.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "counts below 3 at 0 or 3" in done.output
    table = Table.from_microdata(instances.path("demo.csv"), ["region", "sector"])
    rows = [line.split(",") for line in (tmp_path / "o.csv").read_text().splitlines()]
    head, values = rows[0], {tuple(row[:2]): int(row[rows[0].index("value")]) for row in rows[1:]}
    assert head[:2] == ["region", "sector"]
    expected = round_table(table, 3, small=True).values.tolist()
    assert [values[label] for label in table.labels] == expected
