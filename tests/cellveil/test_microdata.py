"""The commands ``cellveil microdata``: files that they write and verdicts, from plain counting."""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import pytest
from typer.testing import CliRunner, Result

from cellveil.cli.app import app
from csp.tables.sources import files

HEAD = ["age", "income", "debt", "illness"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    random.seed(4)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(HEAD)
        for _ in range(24):
            out.writerow([
                random.randint(20, 70), random.randint(10, 90), random.randint(0, 30),
                random.choice(["flu", "cold", "angina"]),
            ])  # fmt: skip
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["microdata", *map(str, words)])


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("way", ["swap", "rank"])
def test_swapped_columns_hold_the_same_values(people: Path, tmp_path: Path, way: str) -> None:
    out, facts = tmp_path / "swapped.csv", tmp_path / "facts.json"
    words = ("--confidential", "income,debt", "--quasi-identifiers", "age", "--way", way)
    found = run("swap", people, "-k", 4, *words, "-o", out, "--summary", facts)
    assert found.exit_code == 0, found.output
    before, after = read(people), read(out)
    for name in HEAD:
        one, two = ([row[name] for row in rows] for rows in (before, after))
        assert Counter(one) == Counter(two)
        assert (one == two) == (name in ("age", "illness"))
    told = json.loads(facts.read_text())
    assert [row["linkage_worst"] for row in told["linkage"]] == [0.25, 0.25]
    assert "seed" not in told  # with it permutations could be undone


def test_means_form_classes_of_k(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "means.csv"
    known = "age,income,debt"
    found = run("swap", people, "-k", 4, "--way", "means", "--quasi-identifiers", known, "-o", out)
    assert found.exit_code == 0, found.output
    rows = read(out)
    sizes = Counter((row["age"], row["income"], row["debt"]) for row in rows)
    assert min(sizes.values()) >= 4
    words = ("--quasi-identifiers", "age,income,debt", "--confidential", "illness")
    asked = run("check", out, *words, "-k", 4, "-p", 9)
    assert asked.exit_code == 1
    assert "is 4-anonymous" in asked.output
    assert "is not 9-sensitive" in asked.output
    fewest = min(
        len({row["illness"] for row in rows if (row["age"], row["income"], row["debt"]) == key})
        for key in sizes
    )
    assert run("check", out, *words, "-k", 4, "-p", fewest).exit_code == 0
    assert f"at least {fewest} value" in asked.output


def test_means_do_not_tell_which_of_them_are_values(tmp_path: Path) -> None:
    """Two files with the same means, of which one has a group of equal values."""
    told = {}
    for reveal in ((), ("--reveal",)):
        for name, ages in {"equal": (2, 2, 0, 1, 1), "other": (1, 3, 0, 1, 1)}.items():
            data, out, facts = (tmp_path / one for one in ("p.csv", "m.csv", "m.json"))
            rows = zip((*ages[:2], *(9 + age for age in ages[2:])), "xyzuv", strict=True)
            data.write_text("age,who\n" + "".join(f"{age},{who}\n" for age, who in rows))
            words = ("--way", "means", "--quasi-identifiers", "age", "--summary", facts, "-o", out)
            found = run("swap", data, "-k", 2, *words, *reveal)
            assert found.exit_code == 0, found.output
            told[name, reveal] = (out.read_bytes(), found.output, facts.read_text())
    assert told["equal", ()] == told["other", ()]
    assert told["equal", ("--reveal",)][0] == told["other", ("--reveal",)][0]
    alike = [json.loads(told[name, ("--reveal",)][2]) for name in ("equal", "other")]
    assert [one["homogeneous_groups"] for one in alike] == [{"age": 1}, {"age": 0}]
    assert all("seed" not in one for one in alike)


def test_kinds_of_diversity_are_asked_for_by_their_formulas(tmp_path: Path) -> None:
    path = tmp_path / "masked.csv"
    groups = {"a": "xxxyyz", "b": "xxyyzz"}
    rows = [("age", "illness"), *((key, c) for key, values in groups.items() for c in values)]
    path.write_text("\n".join(",".join(row) for row in rows))
    words = ("--quasi-identifiers", "age", "--confidential", "illness")
    counts = [sorted(Counter(values).values(), reverse=True) for values in groups.values()]
    entropies = [math.exp(-sum(c / 6 * math.log(c / 6) for c in each)) for each in counts]
    least = min(entropies)
    assert f"entropy l {least:.4g}, recursive (3, 2)" in run("check", path, *words).output
    for level, code in ((f"{least - 1e-6:.7f}", 0), (f"{least + 1e-6:.7f}", 1), ("1", 0)):
        asked = run("check", path, *words, "--entropy", level)
        assert asked.exit_code == code, asked.output
        assert f"entropy {level}-diverse" in asked.output
    # Recursive: the most frequent value less than c times the l-th and all rarer ones together.
    for c in ("1.1", "2", "3", "3.1"):
        for level in (1, 2, 3):
            holds = all(each[0] < Fraction(c) * sum(each[level - 1 :]) for each in counts)
            asked = run("check", path, *words, "--recursive", level, "-c", c)
            assert asked.exit_code == (0 if holds or level == 1 else 1), (c, level)
    assert "not recursively (3, 3)-diverse" in run("check", path, *words, "--recursive", 3).output


def test_ranges_leave_k_candidates_for_the_sum(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranges.csv"
    found = run("anonymise", people, "-k", 3, "--attributes", "income,debt", "--form", "columns",
                "--diverse", "illness=2", "-o", out)  # fmt: skip
    assert found.exit_code == 0, found.output
    ranges = [
        ((int(r["income_lower"]), int(r["income_upper"])),
         (int(r["debt_lower"]), int(r["debt_upper"])))
        for r in read(out)
    ]  # fmt: skip
    records = read(people)
    for row, (income, debt) in zip(records, ranges, strict=True):
        assert income[0] <= int(row["income"]) <= income[1]
        assert debt[0] <= int(row["debt"]) <= debt[1]
        known = int(row["income"]) + int(row["debt"])
        candidates = [i for i, (a, b) in enumerate(ranges) if a[0] + b[0] <= known <= a[1] + b[1]]
        assert len(candidates) >= 3
        assert len({records[i]["illness"] for i in candidates}) >= 2


def test_attacks_read_each_file_once(people: Path, tmp_path: Path) -> None:
    masked = tmp_path / "masked.csv"
    masked.write_text(people.read_text())
    words = ("--confidential", "illness", "--original", people)
    with mock.patch("csp.tables.sources.files.open_text", wraps=files.open_text) as reading:
        assert run("attack", masked, *words).exit_code == 1
    assert Counter(call.args[1].path for call in reading.call_args_list) == {masked: 1, people: 1}


def test_attacks_count_what_is_certain(tmp_path: Path) -> None:
    masked = tmp_path / "masked.csv"
    rows = list(product("ab", range(3)))
    masked.write_text(
        "group,pay,illness\n"
        + "\n".join(f"{g},{10 * (g == 'b') + i},{'flu' if g == 'a' else i}" for g, i in rows)
    )
    words = ("--quasi-identifiers", "group", "--confidential", "illness")
    found = run("attack", masked, *words)
    assert found.exit_code == 1
    assert "follows from the class for 3 of 6 records" in found.output
    # Within 2 of each other are the values of pay in either class.
    near = run("attack", masked, "--quasi-identifiers", "group", "--confidential", "pay",
               "--width", 2)  # fmt: skip
    assert "within 2 for 6 of 6 records" in near.output
    # The file linked with itself by a unique value: every link is certain.
    linked = run("attack", masked, "--quasi-identifiers", "pay", "--original", masked, "--json")
    facts = json.loads(linked.stdout)["linkage"]
    assert (facts["certain_links"], facts["expected_right_links"]) == (6, 6.0)
    assert linked.exit_code == 1


def test_a_check_counts_all_records_in_small_classes(tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text("a\n1\n2\n2\n3\n3\n3\n4\n")
    for words, said in {
        (): "Alone in their class: 2 (rows 1, 7)",
        ("-k", 2): "Alone in their class: 2 (rows 1, 7)",
        ("-k", 3): "In classes of fewer than 3: 4 (rows 1, 2, 3, 7)",
    }.items():
        assert said in run("check", path, *words).output
    path.write_text("a\n1\n2\n2\n")
    assert "class: 1 (row 1)" in run("check", path).output


def test_persons_are_linked_by_what_both_files_have(tmp_path: Path) -> None:
    before, masked = tmp_path / "before.csv", tmp_path / "masked.csv"
    before.write_text("name,pay,age,illness\nx,1,50,2\ny,2,40,1\nz,9,30,3\n")
    masked.write_text("age,pay,illness\n50,1,2\n40,2,1\n30,9,3\n")
    words = ("--original", before, "--json")
    facts = json.loads(run("attack", masked, *words, "--confidential", "illness").stdout)
    assert facts["linkage"]["attributes"] == ["pay", "age"]
    assert json.loads(run("attack", masked, *words).stdout)["linkage"]["attributes"] == [
        "pay", "age", "illness",
    ]  # fmt: skip
    masked.write_text("pay,age\n1,50\n9,30\n")
    fewer = run("attack", masked, "--original", before)
    assert fewer.exit_code == 2
    assert "without the records that were left out" in " ".join(fewer.output.split())
    masked.write_text("wage\n1\n2\n9\n")
    assert "no column in common" in run("attack", masked, "--original", before).output


def test_what_cannot_be_asked_is_refused(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "never.csv"
    cases = {
        ("check", people, "--entropy", 2): "name them with --confidential",
        ("check", people, "-p", 2): "name them with --confidential",
        ("check", people, "-k", 0): "-k must be a whole number of at least 1, not 0",
        ("check", people, "--confidential", "illness", "-p", -3): "-p must be a whole number",
        ("check", people, "--confidential", "illness", "-t", 7): "-t must be from 0 to 1, not 7",
        ("anonymise", people, "-k", 2, "--attributes", "debt", "--time-limit", 0, "-o",
         out): "--time-limit must be a positive number",
        ("anonymise", people, "-k", 2, "--attributes", "debt", "--known", "foo", "-o",
         out): "--known 'foo' is not understood; give sum, average, range or variance",
        ("anonymise", people, "-k", 2, "--attributes", "debt", "--within", -1, "-o",
         out): "--within must be at least 0",
        ("swap", people, "-k", 2, "--confidential", "debt", "--quasi-identifiers", "age",
         "--close", 7, "-o", out): "--close must be from 0 to 1",
        ("swap", people, "-k", 2, "--confidential", "debt", "--quasi-identifiers", "age",
         "--diverse", 99, "-o", out): "ask for a smaller --diverse",
        ("microaggregate", people, "-k", 2, "--attributes", "debt", "--decimals", -1, "-o",
         out): "--decimals must be from 0 to 15",
        ("attack", people, "--confidential", ""): "has an empty name",
        ("attack", people): "nothing to attack",
        ("swap", people, "-k", 2, "--confidential", "debt", "--way", "rank", "--diverse", 2,
         "-o", out): "--diverse: for --way swap",
        ("anonymise", people, "-k", 2, "--importance", "debt", "-o", out): "COLUMN=NUMBER",
        ("anonymise", people, "-k", 2, "--attributes", "debt", "--diverse", "illness=x", "-o",
         out): "--diverse illness: ",
        ("anonymise", people, "-k", 2, "-o", out): "illness",
    }  # fmt: skip
    for words, message in cases.items():
        found = run(*words)
        assert found.exit_code == 2, words
        assert message in found.stderr
    assert not out.exists()


def test_the_name_of_0_1_still_works(people: Path) -> None:
    words = ["microaggregate", str(people), "-k", "3", "--attributes", "income,debt", "--json"]
    old = CliRunner().invoke(app, words)
    new = CliRunner().invoke(app, ["microdata", *words])
    assert old.exit_code == new.exit_code == 0
    assert old.stdout == new.stdout
    assert "microaggregate" not in CliRunner().invoke(app, ["--help"]).stdout
