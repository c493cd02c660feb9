"""The page about probabilistic k-anonymity: Soria-Comas and Domingo-Ferrer, Tables VI to XI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from studies.pages import grid, machine, number

METHODS = ("MDAV-ID", "MDAV-SWAP sequential", "MDAV-SWAP simultaneous", "IR-SWAP mdav")
"""Methods of the study; the paper's MDAV-SWAP is the sequential one, as its figures show."""

Rows = Sequence[Mapping[str, Any]]


def lines(tables: Mapping[str, Rows], losses: Mapping[str, Rows], *, command: str) -> Iterator[str]:
    """Lines of the page.

    Parameters
    ----------
    tables : dict of str to rows
        Correlations of Tables VI to IX.
    losses : dict of str to rows
        Tables X and XI.
    command : str
    """
    yield "# Probabilistic k-anonymity: Soria-Comas and Domingo-Ferrer (2012) reproduced"
    yield ""
    yield (
        "Soria-Comas and Domingo-Ferrer, *Probabilistic k-anonymity through microaggregation and "
        "data swapping* (2012): instead of making k records equal, permute values within groups of "
        "k, so that no link to a record is right with a probability above 1/k."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    yield "## What reproduces the figures"
    yield ""
    yield (
        "Distances between values as they are, without any scaling (so that one attribute with "
        "large numbers makes the groups: a bad practice, and `scale=` is an argument here); "
        "MDAV-ID over all attributes, confidential ones too; MDAV-SWAP on the file that is already "
        "swapped in part; groups of individual ranking by MDAV on one attribute; the mean of "
        "|difference| over each attribute with each confidential one, every pair once, those of an "
        "attribute with itself included."
    )
    yield ""
    yield "## Two gaps in the promise"
    yield ""
    yield (
        "*MDAV-SWAP for informed intruders.* The groups in which attribute A is permuted are made "
        "of the other attributes, and an intruder who knows those as they were sees which of their "
        "values have moved, which rules out candidates. On files of five and six records "
        "enumeration finds links that are certain. The bound is proved for one set of "
        'quasi-identifiers (`intruders="uninformed"`), for individual ranking, and for groups made '
        'of quasi-identifiers and attributes already swapped (`order="forward"`). How strong the '
        "leak is on large files is not known."
    )
    yield ""
    yield (
        "*IR-SWAP with ties.* If equal values are ranked by their row, the place of a value can be "
        "certain: of 1, 1, 1, 2 with k = 2, a 2 that is published last is its own. `ir_swap` ranks "
        "equal values in random order, which restores the bound."
    )
    yield ""
    yield (
        "Neither promises anything about values: what is left unchanged by ties is below. The "
        "bound is on records, and a value that all records of a group share is disclosed."
    )
    yield ""
    for table, rows in losses.items():
        yield from _losses(table, rows)
        yield ""
    yield from _unchanged(losses)
    yield ""
    yield from _correlations(tables)


def _losses(table: str, rows: Rows) -> Iterator[str]:
    names = {"X": "Census", "XI": "EIA"}
    yield f"## Table {table} ({names[table]})"
    yield ""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    runs = max(row["runs"] for row in rows)
    worst = []
    for method in methods:
        ratios = [abs(r["ratio"] - 1) for r in rows if r["method"] == method and r["ratio"]]
        if ratios:
            worst.append(f"{method} {100 * max(ratios):.1f} %")
    yield (
        f"Mean / standard deviation of the absolute differences of correlations, {runs} runs "
        f"(MDAV-ID is the same in each), printed figures in brackets. Largest deviation of a mean "
        f"from print: {', '.join(worst)}."
    )
    yield ""
    if table == "X":
        padded = []
        for method in methods:
            some = [r["padded_ratio"] - 1 for r in rows if r["method"] == method]
            padded.append(f"{method} {100 * min(some):+.0f} to {100 * max(some):+.0f} %")
        yield (
            "Census does not come out. The masking is not the cause: Table VII less Table VI, both "
            "as printed, has a mean difference of .091 at k = 12, as here, while Table X has .078 "
            "at k = 11 and .11 at k = 25. Averages over 77 pairs instead of 70, with seven further "
            f"pairs that do not differ, would bring it near ({'; '.join(padded)}), but no reading "
            "of the text gives 77: a conjecture."
        )
        yield ""
    rows_of = []
    for k in dict.fromkeys(row["k"] for row in rows):
        line = [k]
        for method in methods:
            here = next((r for r in rows if r["method"] == method and r["k"] == k), None)
            if here is None:
                line.append("-")
                continue
            text = f"{number(here['mean'])} / {number(here['std'])}"
            if here["printed_mean"] is not None:
                text += f" ({here['printed_mean']} / {here['printed_std']})"
            line.append(text)
        rows_of.append(line)
    yield from grid(["k", *methods], rows_of)


def _unchanged(losses: Mapping[str, Rows]) -> Iterator[str]:
    yield "## Values left unchanged"
    yield ""
    yield (
        "Share of confidential values that are the same in their record after swapping, in "
        "percent; a permutation alone leaves 100/k."
    )
    yield ""
    header = ["file", "method"]
    ks = list(dict.fromkeys(row["k"] for rows in losses.values() for row in rows))
    found = []
    for table, rows in losses.items():
        for method in dict.fromkeys(row["method"] for row in rows):
            shares = {r["k"]: r["unchanged"] for r in rows if r["method"] == method}
            found.append([
                {"X": "Census", "XI": "EIA"}[table], method,
                *(number(100 * shares[k], 2) if k in shares else "-" for k in ks),
            ])  # fmt: skip
    yield from grid([*header, *(f"k = {k}" for k in ks)], found)


def _correlations(tables: Mapping[str, Rows]) -> Iterator[str]:
    yield "## Tables VI to IX (Census, k = 12)"
    yield ""
    yield (
        "VI is the original file, VII MDAV-ID; VIII and IX are single runs in the paper, so the "
        "extremes of many runs are compared."
    )
    yield ""
    found = []
    for table, rows in tables.items():
        slack = 5e-3  # two digits are printed
        inside = sum(
            row["low"] - slack <= float(row["printed"]) <= row["high"] + slack for row in rows
        )
        wrong = [row for row in rows if row["misprint"]]
        found.append([
            table, len(rows), sum(row["rounds"] for row in rows),
            f"{max(row['difference'] for row in rows if not row['misprint']):.3f}", inside,
            ", ".join(f"A{r['row']}, A{r['column']}: {r['printed']}" for r in wrong) or "none",
        ])  # fmt: skip
    header = ["table", "entries", "round to print", "largest difference (mean of runs)",
              "within the runs", "misprints"]  # fmt: skip
    yield from grid(header, found)
