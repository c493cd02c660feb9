"""A published table on the page, in a real browser: recognised, read otherwise, audited, saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import instances
from tests.cellveil.app.opened import address, inside, page
from tests.support.browser import browser

__all__ = ["address", "browser", "inside", "page"]

pytest.importorskip("shiny", reason="shiny is not installed")

# North is 165 - 45 = 120, and the total 120 + 12; no published figure has these digits.
CROSS = """Turnover by region
,Farms,Trade,Total
North,{sign},45,165
South,12,8,20
Total,{sign},53,185
"""
SECRET = "120", "132"


def choose(page: Any, file: Path) -> None:
    page.set_input_files("#data", file)
    page.wait_for_selector("text=cells of rows by columns")


def test_from_a_file_to_an_audit(page: Any, tmp_path: Path) -> None:
    (tmp_path / "farms.csv").write_text(CROSS.format(sign="[c]"))
    choose(page, tmp_path / "farms.csv")
    # It is recognised; how it was read is said, and what is for records is gone.
    page.wait_for_selector("text=It looks like a table that somebody published")
    page.wait_for_selector("text=A cross table in rows 3 to 5")
    assert page.is_checked("input[name=kind][value=published]")
    assert not page.is_visible("#protect")
    assert page.locator("[role=alert]:visible").count() == 0
    page.click("#audit")
    page.wait_for_selector("text=2 cells can be worked out exactly")
    frame = page.frame_locator("iframe.report")
    assert frame.locator("td.primary").all_inner_texts() == ["×", "×"]
    assert "North" in frame.locator("table.known").inner_text()
    with page.expect_download() as got:
        page.click("#audit_json")
    facts = json.loads(Path(got.value.path()).read_text(encoding="utf-8"))
    assert facts["disclosed"] == 2
    assert "value" not in facts["disclosed_cells"][0]
    seen = page.content() + frame.locator("body").inner_text() + "".join(map(str, page.told))
    assert not any(f">{value}<" in seen or f" {value} " in seen for value in SECRET)

    page.check("#reveal")
    frame.locator("td.primary:has-text('120')").wait_for()
    with page.expect_download() as got:
        page.click("#audit_json")
    facts = json.loads(Path(got.value.path()).read_text(encoding="utf-8"))
    assert sorted(cell["value"] for cell in facts["disclosed_cells"]) == [*SECRET]
    # Another audit begins without values, and sends none before the box is clear.
    told = len(page.told)
    page.click("#audit")
    page.wait_for_function("!document.querySelector('#reveal').checked")
    frame.locator("td.primary:text-is('×')").first.wait_for()
    sent = "".join(map(str, page.told[told:]))
    assert 'class=\\"suppressed primary' in sent or "suppressed primary" in sent
    assert "× 120" not in sent
    assert "\\u00d7 120" not in sent


def test_what_is_said_of_it_counts(page: Any, tmp_path: Path) -> None:
    (tmp_path / "farms.csv").write_text(
        ",Farms,Trade,Total\nNorth,hush,45,165\nSouth,12,8,20\nWest,5,4,9\nTotal,hush,57,194\n"
    )
    page.set_input_files("#data", tmp_path / "farms.csv")
    page.check("input[name=kind][value=published]")
    page.wait_for_selector("[role=alert]:has-text('hush')")
    page.click("summary:has-text('Read it otherwise')")
    page.fill("#published_withheld", "hush")
    page.wait_for_selector("text=2 cells are withheld")
    page.fill("#published_hierarchy", "rows=/etc/passwd")
    page.wait_for_selector("[role=alert]:has-text('a file that was uploaded')")
    (tmp_path / "rows.hrc").write_text("North\nSouth\nWest\n")
    page.set_input_files("#published_hrc", tmp_path / "rows.hrc")
    page.fill("#published_hierarchy", "rows=rows.hrc")
    page.wait_for_selector("text=2 cells are withheld")
    page.fill("#published_rounded", "five")
    page.wait_for_selector("[role=alert]:has-text('is not a number')")


def test_records_are_not_taken_for_a_published_table(page: Any, tmp_path: Path) -> None:
    page.set_input_files("#data", instances.path("demo.csv"))
    page.wait_for_selector("text=4 columns")
    page.wait_for_timeout(1000)
    assert page.is_checked("input[name=kind][value=records]")
    # Whoever says what a recognised file is has the last word.
    (tmp_path / "list.csv").write_text(
        "region,value,status\nNorth,,c\nSouth,5,\nTotal,9,\n", encoding="utf-8"
    )
    page.set_input_files("#data", tmp_path / "list.csv")
    page.wait_for_selector("text=3 cells of region")
    page.check("input[name=kind][value=records]")
    # As data it is a list of cells with their total, of which one has no value: that is said, and
    # the file is not taken for a published one again.
    page.wait_for_selector("[role=alert]:has-text('cell (region=North) is empty')")
    page.wait_for_timeout(1000)
    assert page.is_checked("input[name=kind][value=records]")
    (tmp_path / "list.csv").write_text(
        "region,value,status\nNorth,4,c\nSouth,5,\nTotal,9,\n", encoding="utf-8"
    )
    page.set_input_files("#data", tmp_path / "list.csv")
    page.wait_for_selector("text=3 cells of region")
    page.check("input[name=kind][value=records]")
    page.wait_for_selector("#columns:has-text('region')")
    page.wait_for_selector("[role=alert]", state="detached")
    assert page.is_checked("input[name=kind][value=records]")
    assert page.is_visible("#protect")


def test_records_in_place_of_a_published_table_are_named(page: Any) -> None:
    page.check("input[name=kind][value=published]")
    page.set_input_files("#data", instances.path("demo.csv"))
    page.wait_for_selector("[role=alert]:has-text('If it holds records, say so above')")
    page.check("input[name=kind][value=records]")
    page.wait_for_selector("text=4 columns")
    assert page.locator("[role=alert]:visible").count() == 0


def test_the_audit_fits_a_phone(page: Any, tmp_path: Path) -> None:
    (tmp_path / "farms.csv").write_text(CROSS.format(sign="[c]"))
    choose(page, tmp_path / "farms.csv")
    page.click("#audit")
    page.wait_for_selector("iframe.report")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
