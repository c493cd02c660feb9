"""cellveil diff: what changed between two releases, and what both disclose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np
from typer.testing import CliRunner

import csp
from attacks.release_alone.several_releases import union_of
from cellveil.cli.app import app
from cellveil.jobs.history import _alike
from cellveil.jobs.together import places_of
from csp.release.release import Release
from csp.release_file import write_release

VALUES = [[7, 1103, 6001], [1009, 6007, 11], [6011, 12, 6013]]
TABLE = csp.Table.from_array(VALUES, names=["region", "size"])


def compare(folder: Path, old: Release, new: Release) -> tuple[int, str, dict]:
    for name, release in (("old", old), ("new", new)):
        write_release(release, folder / f"{name}.json")
    facts = folder / "facts.json"
    found = CliRunner().invoke(
        app, ["diff", str(folder / "old.json"), str(folder / "new.json"), "--summary", str(facts)]
    )
    said = found.output.replace(str(folder), "")
    return found.exit_code, said, json.loads(facts.read_text())


def release(cells: list[tuple[str, str]], table: csp.Table = TABLE) -> Release:
    pattern = np.zeros(table.n_cells, bool)
    pattern[[table.position(cell) for cell in cells]] = True
    return Release.of(table, pattern)


def square(rows: str, columns: str) -> list[tuple[str, str]]:
    return [(r, c) for r in rows for c in columns]


def test_what_one_publishes_the_other_discloses(tmp_path: Path) -> None:
    old, new = release(square("12", "13")), release(square("12", "23"))
    code, said, facts = compare(tmp_path, old, new)
    assert code == 1
    as_cells = lambda cells: [(cell["region"], cell["size"]) for cell in cells]  # noqa: E731
    assert as_cells(facts["newly_suppressed"]) == [("1", "2"), ("2", "2")]
    assert as_cells(facts["newly_published"]) == [("1", "1"), ("2", "1")]
    # Each row then has one cell that neither tells, and the row's total does.
    assert set(as_cells(facts["together"]["disclosed"])) == set(square("12", "123"))
    assert "disclosed by both together" in said
    for value in {v for row in VALUES for v in row if v > 100}:
        assert str(value) not in said
        assert f"{value:,}" not in said
        assert str(value) not in json.dumps(facts)


def test_the_same_release_tells_nothing_new(tmp_path: Path) -> None:
    code, said, facts = compare(tmp_path, release(square("12", "13")), release(square("12", "13")))
    assert code == 0
    assert "same cells, with the same values" in said
    assert facts["together"] == {"disclosed": [], "narrowed": 0}
    nothing = compare(tmp_path, release([]), release([]))
    assert (nothing[0], nothing[2]["together"]) == (0, {"disclosed": [], "narrowed": 0})


def test_what_both_suppress_can_be_narrowed(tmp_path: Path) -> None:
    old, new = release(square("123", "12")), release(square("12", "12") + square("12", "3"))
    code, said, facts = compare(tmp_path, old, new)
    # Both leave cell (2, 2) from 0 up; together it is 6,000 more than cell (1, 1) is.
    assert facts["together"]["narrowed"] > 0
    assert "known more closely from both" in said
    assert code == 1
    assert len(facts["together"]["disclosed"]) == 4


def test_revised_values_and_other_cells_are_named(tmp_path: Path) -> None:
    later = [row[:] for row in VALUES]
    later[2][2] += 1
    table = csp.Table.from_array([*later, [1, 2, 3]], names=["region", "size"])
    code, said, facts = compare(
        tmp_path, release(square("12", "13")), release(square("12", "13"), table)
    )
    assert code == 0
    assert len(facts["only_new"]) == 4
    assert {"region": "3", "size": "3"} in facts["revised"]
    assert facts["together"] is None
    assert "Values were revised" in said


def test_other_dimensions_are_refused(tmp_path: Path) -> None:
    other = csp.Table.from_array(VALUES, names=["region", "sector"])
    for name, one in (("old", release([])), ("new", release([], other))):
        write_release(one, tmp_path / f"{name}.json")
    found = CliRunner().invoke(
        app, ["diff", *(str(tmp_path / f"{n}.json") for n in ("old", "new"))]
    )
    assert found.exit_code == 2
    assert "region, sector" in found.output + str(found.exception)


def test_what_is_not_available_is_not_called_suppressed(tmp_path: Path) -> None:
    """North and South hide a pair each by D; West has no number in one of the two tables."""
    head = "region,a,b,Total\nNorth,D,15,30\nSouth,D,15,30\n"
    files = {}
    for name, entry in (("none", "NA"), ("value", "4"), ("secret", "D")):
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(f"{head}West,3,{entry},7\nTotal,33,34,67\n", encoding="utf-8")

    def changed(old: str, new: str) -> tuple[set[str], int]:
        facts = tmp_path / "facts.json"
        words = [str(files[old]), str(files[new]), "--marks", "census", "--summary", str(facts)]
        assert CliRunner().invoke(app, ["diff", *words]).exit_code == 1
        read = json.loads(facts.read_text())
        disclosed = len(read.pop("together")["disclosed"])
        return {key for key, cells in read.items() if cells}, disclosed

    # The pair in column a follows from its rows in any case; West alone where it is secret.
    assert changed("none", "value") == ({"now_available"}, 2)
    assert changed("value", "none") == ({"now_unavailable"}, 2)
    assert changed("none", "secret") == ({"unavailable_then_suppressed"}, 3)
    assert changed("secret", "none") == ({"suppressed_then_unavailable"}, 3)
    assert changed("secret", "value") == ({"newly_published"}, 3)


def test_a_list_that_does_not_say_what_its_values_are_is_compared_with_one_that_does(
    tmp_path: Path,
) -> None:
    plain = release(square("12", "13"))
    values = replace(plain, of_counts=False)
    for one, other in ((plain, values), (values, plain)):
        code, said, _ = compare(tmp_path, one, other)
        assert code == 0, said
        assert not union_of([one, other])[1].of_counts
    assert union_of([plain, plain])[1].of_counts


def test_a_dimension_may_have_its_accents_in_another_form(tmp_path: Path) -> None:
    forms = [(normalize(form, "ré"), "size") for form in ("NFC", "NFD")]
    cells = square("12", "13"), square("12", "23")
    two = [replace(release(own), names=names) for own, names in zip(cells, forms, strict=True)]
    code, _, facts = compare(tmp_path, *two)
    assert code == 1
    assert len(facts["together"]["disclosed"]) == 6
    at = places_of(*two)
    assert at is not None
    assert at.tolist() == [*range(TABLE.n_cells)]
    assert _alike(tmp_path / "old.json", two[1])
