"""Table 2 of Torra and Navarro-Arribas (2023), and the page about their results."""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import Any

import pytest

from studies.microdata.disclosure import SETS, counts, partition_of, table_2
from studies.microdata.disclosure_page import lines
from studies.microdata.files import load
from tests.support.shared import ROOT, shared_data

QUICK = ("iris", "ionosphere")
"""Files that the page is tested on; all of it takes two minutes."""
OTHERS = tuple(f"| {name} " for name in SETS if name not in QUICK)
CODES = {
    "Iris-setosa": "1", "Iris-versicolor": "2", "Iris-virginica": "3", "M": "1", "F": "2", "I": "3",
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    shared_data("microdata", "uci_iris.csv")
    return list(table_2(shared_data("microdata", "uci_abalone.csv").parent))


def test_table_2_has_the_printed_counts_but_for_one_record_a_cell(
    rows: list[dict[str, Any]],
) -> None:
    def others(way: str) -> list[tuple[Any, ...]]:
        return [
            (row["data"], row["k"], rule, row[f"{rule}_printed"], row[f"{rule}_{way}"])
            for row in rows
            for rule in ("dominance", "p")
            if row[f"{rule}_printed"] != row[f"{rule}_{way}"]
        ]

    assert len(rows) == 18
    assert others("float") == [("iris", 1, "p", 0, 750), ("abalone", 1, "p", 0, 37591)]
    assert others("exact") == [
        ("iris", 1, "p", 0, 750), ("iris", 4, "dominance", 10, 8), ("abalone", 1, "p", 0, 37591),
        ("abalone", 5, "p", 6, 5),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["iris", "abalone"])
def test_counts_of_the_p_rule_are_those_of_equation_2(
    name: str, rows: list[dict[str, Any]]
) -> None:
    """Equation 2 as it stands, in fractions of the text of the file."""
    path = shared_data("microdata", f"uci_{name}.csv")
    with path.open(encoding="utf-8") as file:
        values = [[Fraction(CODES.get(v, v)) for v in row] for row in list(csv.reader(file))[1:]]
    records = load(name, path.parent)
    for row in (row for row in rows if row["data"] == name):
        groups: dict[int, list[list[Fraction]]] = {}
        labels = partition_of(records, row["k"], "MDAV").labels.tolist()
        for label, record in zip(labels, values, strict=True):
            groups.setdefault(label, []).append(record)
        sensitive = 0
        for group in groups.values():
            for contributions in zip(*group, strict=True):
                c = sorted(contributions, reverse=True)
                sensitive += sum(c[2:]) < Fraction(60, 100) * c[0]
        assert row["p_exact"] == sensitive, row["k"]


def test_the_page_is_what_its_command_prints(rows: list[dict[str, Any]]) -> None:
    for name in QUICK:
        folder = shared_data("microdata", f"uci_{name}.csv").parent
    found = list(counts(folder, sets=QUICK))
    printed = list(lines(rows, found, command="python -m studies disclosure", figures=()))
    page = (ROOT / "docs" / "disclosure-study.md").read_text(encoding="utf-8").splitlines()

    def kept(text: list[str]) -> list[str]:
        """Lines that depend neither on other files nor on the machine."""
        out, section = [], ""
        for line in text:
            section = line if line.startswith("#") else section
            elsewhere = section != "## Table 2" and line.startswith(OTHERS)
            if line and not (elsewhere or line.startswith("Made by") or "Figures" in section):
                out.append(line)
        return out

    assert kept(printed) == kept(page)
    assert sum(line.startswith("| ionosphere") for line in kept(page)) == 5
