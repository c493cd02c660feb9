"""The command ``cellveil microaggregate``."""

from __future__ import annotations

import csv
import json
import re
import signal

import pytest
from typer.testing import CliRunner

import microagg
from cellveil.cli.app import app

HEAD = ["total", "wage", "other", "name"]
ROWS = [
    [30, 30, 0, "a"], [41, 40, 1, "b"], [25, 20, 5, "c"],
    [70, 70, 0, "d"], [66, 60, 6, "e"], [907, 20, 887, "f"],
    [80, 71, 9, "g"], [77, 69, 8, "h"], [488, 88, 400, "i"],
    [120, 100, 20, "j"], [131, 111, 20, "k"], [809, 30, 779, "l"],
]  # fmt: skip

KEPT = ("--keep", "name", "--keep-identifiers")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "income.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *ROWS])
    return path


def run(*words):
    return CliRunner().invoke(app, ["microaggregate", *map(str, words)])


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numbers(path):
    return {name: [row[name] for row in read(path)] for name in HEAD[:3]}


def test_plain_masking_writes_means_and_says_that_nothing_was_judged(data, tmp_path):
    out = tmp_path / "masked.csv"
    result = run(data, "-k", 3, "--attributes", "total,wage,other", "-o", out)
    assert result.exit_code == 0, result.output
    assert "not tested" in result.output
    rows = read(out)
    assert len(rows) == 12
    means = {tuple(row[name] for name in HEAD[:3]) for row in rows}
    assert len(means) <= 4
    assert sum(float(row["wage"]) for row in rows) == pytest.approx(sum(r[1] for r in ROWS))


def test_unsafe_means_are_counted_and_not_written(data, tmp_path):
    out, facts = tmp_path / "masked.csv", tmp_path / "facts.json"
    result = run(
        data,
        "-k",
        3,
        "--keep",
        "name",
        "--keep-identifiers",
        "--rules",
        "P(10)",
        "-o",
        out,
        "--summary",
        facts,
    )
    assert result.exit_code == 1
    assert not out.exists()
    found = json.loads(facts.read_text())["disclosure"]
    assert found == {"rule": "P(10,1)", "cells": found["cells"], "safe": False}
    assert "Unsafe: some of" in result.output  # how many, the original values decide
    words = ("--keep", "name", "--keep-identifiers", "--rules", "P(10)", "--reveal")
    shown = run(data, "-k", 3, *words, "--summary", facts)
    counted = json.loads(facts.read_text())["disclosure"]
    assert counted["sensitive"] > 0
    assert f"Unsafe: {counted['sensitive']} of" in shown.output


@pytest.mark.parametrize("method", ["suppress", "grow", "merge", "drop", "optimise"])
def test_what_is_written_complies(data, tmp_path, method):
    out, facts = tmp_path / "masked.csv", tmp_path / "facts.json"
    result = run(
        data, "-k", 3, *KEPT, "--rules", "P(10)", "--comply", method, "-o", out,
        "--summary", facts,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    told = json.loads(facts.read_text())
    assert told["method"] == method
    assert told["unsafe_cells"] == 0
    rows = read(out)
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    assert len(rows) == told["records"]
    # Records of a cluster share all means; their values pass the rule, or the mean is missing.
    groups = {}
    for row in rows:
        original = next(r for r in ROWS if r[3] == row["name"])
        groups.setdefault(tuple(row[name] for name in HEAD[:3]), []).append(original)
    for means, members in groups.items():
        assert len(members) >= 3
        for j, mean in enumerate(means):
            values = sorted((m[j] for m in members), reverse=True)
            if mean:
                assert float(mean) == pytest.approx(sum(values) / len(values))
                assert 100 * sum(values[2:]) >= 10 * values[0]


@pytest.mark.parametrize("method", ["suppress", "grow", "merge", "drop", "optimise"])
def test_clusters_are_capped_and_have_different_values(tmp_path, method):
    path, out = tmp_path / "firms.csv", tmp_path / "masked.csv"
    pay, firms = [10, 11, 12, 13, 20, 22, 25, 90, 14, 16, 17], "aabbcabcacb"
    rows = [f"{p},{30 + i},{f}" for i, (p, f) in enumerate(zip(pay, firms, strict=True))]
    path.write_text("\n".join(["pay,age,firm", *rows]) + "\n")
    words = (path, "-k", 3, "--rules", "P(20)", "--comply", method, "--most", 5)
    result = run(*words, "--diverse", "firm=2", "--keep", "firm", "-o", out)
    assert result.exit_code == 0, result.output
    assert re.search("At least [23] different values of 'firm' in every cluster", result.output)
    clusters: dict[tuple[str, str], list[str]] = {}
    for row in read(out):
        clusters.setdefault((row["pay"], row["age"]), []).append(row["firm"])
    assert all(3 <= len(values) <= 5 and len(set(values)) >= 2 for values in clusters.values())
    # A column that only has to differ is not published.
    assert run(*words, "--diverse", "firm=2", "-o", out).exit_code == 0
    assert list(read(out)[0]) == ["pay", "age"]


def test_suppressed_means_show_nowhere(data, tmp_path):
    out, facts = tmp_path / "masked.csv", tmp_path / "facts.json"
    result = run(
        data, "-k", 3, *KEPT, "--rules", "P(10)", "--comply", "suppress", "-o", out,
        "--summary", facts,
    )  # fmt: skip
    found = microagg.comply({n: [r[j] for r in ROWS] for j, n in enumerate(HEAD[:3])}, 3, "P(10)")
    assert found.hidden.any()
    # The folder's name is a number too, which may be one of the totals.
    shown = (
        result.output.replace(str(tmp_path), "")
        + out.read_text()
        + json.dumps({k: v for k, v in json.loads(facts.read_text()).items() if k != "suppression"})
    )
    checked = 0
    for g, j in zip(*found.hidden.nonzero(), strict=True):
        mean = float(found.partition.centroids[g, j])
        total = mean * found.partition.sizes[g]
        if total > 99:  # smaller numbers may stand for something else
            assert not {repr(mean), f"{total:.0f}"} & set(re.findall(r"[0-9.]+", shown))
            checked += 1
    assert checked


def test_kept_values_that_follow_from_their_cluster_are_counted(tmp_path):
    path, facts = tmp_path / "x.csv", tmp_path / "facts.json"
    path.write_text("x,ill\n1,yes\n2,yes\n3,yes\n91,no\n92,yes\n93,no\n")
    result = run(path, "-k", 3, "--keep", "ill", "--summary", facts)
    assert result.exit_code == 0, result.output
    assert json.loads(facts.read_text())["kept"] == {"ill": 3}
    assert "ill of 3 records" in result.output
    assert "yes" not in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-k", "0"], "k must be"),
        (["-k", "13"], "more than the 12 records"),
        (["-k", "3", "--comply", "merge"], "needs --rules"),
        (["-k", "3", "--rules", "P(60"], "P(60"),
        (["-k", "2", "--rules", "P(60)", "--comply", "merge"], "at least 3"),
        (["-k", "3", "--identity", "total = wage"], "fails in 10 of 12 records"),
        (["-k", "3", "--identity", "total = wage", "--no-identities"], "exclude each other"),
        (["-k", "3", "--keep", "nobody"], "no column 'nobody'"),
        (["-k", "3", "--attributes", "total", "--keep", "total"], "choose one"),
        (["-k", "3", "-o", "masked.txt"], "must end with"),
        (["-k", "3", "--cost", "value"], "is for --comply suppress"),
        (["-k", "3", "--rules", "P(9)", "--comply", "grow", "--clusters", "vmdav"], "its own"),
        (["-k", "3", "--most", "0"], "--most is for --comply"),
        (["-k", "3", "--most", "5"], "--most is for --comply"),
        (["-k", "3", "--rules", "P(9)", "--comply", "merge", "--most", "2"], "--most must be"),
        (["-k", "3", "--rules", "P(9)", "--comply", "merge", "--diverse", "name=1"], "at least 2"),
        (["-k", "3", "--rules", "P(9)", "--comply", "merge", "--diverse", "name"], "COLUMN=NUMBER"),
        (
            [
                "-k",
                "3",
                "--rules",
                "P(9)",
                "--comply",
                "drop",
                "--most",
                "5",
                "--clusters",
                "vmdav",
            ],
            "--most makes clusters of its own",
        ),
        (["-k", "3", "--time-limit", "0"], "positive number of seconds"),
        (["-k", "1"], "-k must be at least 2, not 1: a cluster of 1 publishes"),
        (["-k", "3", "--keep", "name", "--rules", "P(10)"], "12 of 12 records have a value"),
    ],
)
def test_bad_input_is_code_2_and_writes_nothing(data, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    if "--identity" in words and "--no-identities" not in words:
        words = [*words, "--rules", "P(10)", "--comply", "suppress"]
    if "--keep" not in words:
        words = [*words, *KEPT]
    result = run(data, *words, "--summary", "facts.json")
    assert result.exit_code == 2, result.output
    assert told in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["income.csv"]


def test_a_report_that_fails_leaves_no_file(data, tmp_path, monkeypatch):
    from cellveil.report import skeleton

    ask = (data, "-k", 3, *KEPT, "-o", "masked.csv", "--summary", "s.json", "--report", "r.html")
    monkeypatch.chdir(tmp_path)
    assert run(*ask).exit_code == 0
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(written) == ["income.csv", "masked.csv", "r.html", "r.json", "s.json"]

    def full(path, facts, files):
        with files.writer(path):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(skeleton, "write_json", full)
    for name in ("masked.csv", "r.json", "s.json"):
        (tmp_path / name).write_text("old")
    (tmp_path / "r.html").unlink()
    result = run(*ask)
    assert result.exit_code == 2
    assert "cannot write 'r.json': No space left on device" in result.output
    now = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert now == {"income.csv": written["income.csv"]} | dict.fromkeys(
        ("masked.csv", "r.json", "s.json"), b"old"
    )


def test_impossible_rules_are_code_1(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("pay\n" + "\n".join(["0"] * 8 + ["500"]) + "\n")
    result = run(path, "-k", 3, "--rules", "P(10)", "--comply", "merge", "-o", tmp_path / "o.csv")
    assert result.exit_code == 1
    assert "even the whole file as one cluster fails" in result.output
    assert not (tmp_path / "o.csv").exists()


def test_text_columns_ask_for_attributes(data):
    result = run(data, "-k", 3)
    assert result.exit_code == 2
    assert "column 'name'" in result.output
    assert "name the numerical attributes" in result.output


def test_a_title_above_the_header_is_named(data):
    data.write_text("Income of all\n" + data.read_text())
    for words in (["-k", "3"], ["-k", "3", "--attributes", "total,wage"]):
        result = run(data, *words)
        assert result.exit_code == 2
        assert "a title above the header: remove it" in " ".join(result.output.split())


def test_european_files(tmp_path):
    data = tmp_path / "a.csv"
    rows = "".join(f"Ä{i};{i * i},25\n" for i in range(12))
    data.write_bytes(f"name;umsatz\n{rows}".encode("cp1252"))
    words = [str(data), "-k", "3", "--attributes", "umsatz", "--keep", "name", "--keep-identifiers"]
    words += ["--encoding", "cp1252", "-o", str(tmp_path / "o.csv")]
    done = CliRunner().invoke(app, ["microaggregate", *words])
    assert done.exit_code == 0, done.output
    assert "separated by semicolons, with decimal commas" in done.output
    text = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert text.startswith("umsatz,name\n1.9")
    assert text.count("Ä") == 12


def test_messages_speak_of_options(data, tmp_path):
    assert "is for --keep" in run(data, "-k", 3, "--keep-identifiers").output
    path = tmp_path / "same.csv"
    path.write_text("x,y\n" + "5,1\n5,2\n5,3\n5,4\n")
    flat = run(path, "-k", 2)
    assert flat.exit_code == 2
    assert "keep it with --constant keep" in flat.output
    path.write_text("x,y\n-5,1\n5,2\n7,3\n5,4\n9,1\n")
    negative = run(path, "-k", 3, "--rules", "P(10)")
    assert negative.exit_code == 2
    assert "--negative abs" in negative.output
    assert "='" not in flat.output + negative.output


def test_what_kept_columns_and_codes_tell_is_said(tmp_path):
    path = tmp_path / "x.csv"
    rows = [f"{i % 3},{10 * i + i % 7},{'ab'[i % 2]},{i % 5}" for i in range(40)]
    path.write_text("region,pay,sex,age\n" + "\n".join([*rows, "1,7,a,77"]) + "\n")
    result = run(path, "-k", 3, "--keep", "sex,age")
    assert result.exit_code == 0, result.output
    assert "Few whole numbers" not in result.output  # originals decide
    assert (
        "Few whole numbers only in region:"
        in run(path, "-k", 3, "--keep", "sex,age", "--reveal").output
    )
    assert "single out 1 of 41 records" in result.output
    assert "Few whole numbers" not in run(path, "-k", 3, "--attributes", "pay", "--reveal").output


def test_an_interrupt_keeps_the_partition_at_hand(data, tmp_path, monkeypatch):
    from microagg.partitions import clustering

    calls, real = [], clustering.vmdav_labels

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) > most:
            signal.raise_signal(signal.SIGINT)
        return real(*args, **options)

    monkeypatch.setattr(clustering, "vmdav_labels", interrupted)
    words = (data, "-k", 3, "--attributes", "total,wage", "--clusters", "vmdav", "-o")
    most = 1
    assert run(*words, tmp_path / "one.csv").exit_code == 130
    assert (tmp_path / "one.csv").exists()
    most, calls[:] = 0, []
    none = run(*words, tmp_path / "none.csv")
    assert none.exit_code == 130
    assert not (tmp_path / "none.csv").exists()


PANEL = [
    ("a", 10, 3), ("a", 11, 4), ("a", 12, 3), ("b", 10, 5), ("c", 11, 6),
    ("d", 95, 7), ("e", 40, 8), ("f", 50, 9), ("g", 60, 9),
]  # fmt: skip


@pytest.fixture
def panel(tmp_path):
    path = tmp_path / "panel.csv"
    path.write_text("\n".join(["firm,pay,hours", *(f"{f},{p},{h}" for f, p, h in PANEL)]) + "\n")
    return path


def clusters_of(path):
    """Firms by the means that stand for their records."""
    found = {}
    for row, (firm, _, _) in zip(read(path), PANEL, strict=True):
        found.setdefault(tuple(row.values()), set()).add(firm)
    return found


@pytest.mark.parametrize(
    "ask",
    [
        (), ("--clusters", "vmdav"), ("--clusters", "mondrian"), ("--rules", "P(10)"),
        *(("--rules", "P(10)", "--comply", way) for way in ("merge", "grow", "suppress")),
        ("--rules", "P(10)", "--comply", "merge", "--most", 6),
        ("--rules", "P(10)", "--comply", "merge", "--diverse", "hours=2"),
    ],
)  # fmt: skip
def test_k_counts_contributors(panel, tmp_path, ask):
    out, facts, page = (tmp_path / name for name in ("o.csv", "s.json", "r.html"))
    asked = (panel, "-k", 3, "--attributes", "pay", "--contributor", "firm", *ask)
    result = run(*asked, "-o", out, "--summary", facts, "--report", page)
    assert result.exit_code == 0, result.output
    assert "at least 3 different contributors" in result.output
    assert list(read(out)[0]) == ["pay"]
    if "suppress" not in ask:
        assert all(len(firms) >= 3 for firms in clusters_of(out).values())
    told = json.loads(facts.read_text())
    assert told["k_counts"] == "contributors"
    assert "fewest_contributors" not in told


def test_a_contributor_is_published_where_it_is_kept_only(panel, tmp_path):
    out = tmp_path / "o.csv"
    asked = (panel, "-k", 3, "--contributor", "firm", "-o", out)
    assert run(*asked).exit_code == 0
    assert list(read(out)[0]) == ["pay", "hours"]
    assert run(*asked, "--keep", "firm").exit_code == 2
    assert run(*asked, "--keep", "firm", "--keep-identifiers").exit_code == 0
    assert list(read(out)[0]) == ["pay", "hours", "firm"]
    both = run(*asked, "--attributes", "pay,firm")
    assert both.exit_code == 2
    assert "--contributor firm names an attribute too" in both.output


def test_methods_that_know_records_only_say_so(panel):
    for way in ("drop", "optimise"):
        asked = ("--rules", "P(10)", "--comply", way, "--contributor", "firm")
        result = run(panel, "-k", 3, "--attributes", "pay", *asked)
        assert result.exit_code == 2
        assert "--comply suppress, --comply grow or --comply merge" in " ".join(
            result.output.split()
        )
    few = run(panel, "-k", 8, "--attributes", "pay", "--contributor", "firm")
    assert few.exit_code == 2
    assert "more than the 7 contributors" in few.output
