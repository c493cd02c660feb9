"""What notebooks show of results: as much as may be published."""

from __future__ import annotations

import re

import numpy as np

import attacks
import csp
import microagg

MECHANISM = csp.Mechanism(csp.MinFrequency(5), width=5, margins="publish")


def texts(page: str) -> list[list[str]]:
    rows = re.findall("<tr>(.*?)</tr>", page)
    return [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_verdicts_of_the_matching_attack_without_intervals() -> None:
    table = csp.Table.from_array([[3, 6, 41], [7, 6, 40], [40, 41, 5]])
    release = MECHANISM.protect(table).release
    found = attacks.matching(release, MECHANISM)
    rows = texts(found._repr_html_())
    assert rows[0] == ["d1", "d2", "verdict"]
    assert [tuple(row[:2]) for row in rows[1:]] == [release.labels[i] for i in found.cells]
    assert [row[2] for row in rows[1:]] == found.verdict.tolist()
    said = texts(attacks.report(release, MECHANISM)._repr_html_())
    assert [row[0] for row in said[1:]] == [
        one.attack for one in attacks.report(release, MECHANISM)
    ]


def test_clusters_and_published_means_are_counted() -> None:
    rng = np.random.default_rng(0)
    data = {"pay": rng.lognormal(3, 2, 40).astype(int).tolist(), "age": list(range(40))}
    partition = microagg.mdav(data, 3)
    counts = {int(row[0]): int(row[1]) for row in texts(partition._repr_html_())[1:]}
    assert sum(size * count for size, count in counts.items()) == 40
    assert min(counts) >= 3
    masked = microagg.comply(data, 3, "P(30)")
    shown = {row[0]: int(row[1]) for row in texts(masked._repr_html_())[1:]}
    left = (~masked.hidden).sum(axis=0).tolist()
    assert shown == dict(zip(masked.partition.names, left, strict=True))
    assert masked.hidden.any()


def test_an_audit_says_against_whom() -> None:
    table = csp.Table.from_array([[3, 6, 41], [7, 6, 40], [40, 41, 5]])
    page = MECHANISM.protect(table).audit._repr_html_()
    assert "safe; against outsider" in page
    assert "whole units" in page


def test_long_lists_are_cut_and_counted() -> None:
    from csp.tables.cross.html import ROWS, notebook_list

    page = notebook_list(["<x>"], ["a"], [[str(i)] for i in range(ROWS + 7)])
    assert "… 7 more rows" in page
    assert "&lt;x&gt;" in page
    assert len(texts(page)) == ROWS + 2
