"""The page in a real browser: from a file to a published table, a report and a job that reruns."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest

import csp
import instances
from tests.cellveil.app.opened import address, inside, page
from tests.support.browser import browser

__all__ = ["address", "browser", "inside", "page"]

pytest.importorskip("shiny", reason="shiny is not installed")


def fill(page: Any) -> None:
    """Choose what the demo is protected by."""
    page.set_input_files("#data", instances.path("demo.csv"))
    page.wait_for_selector("text=4 columns")
    page.wait_for_function("document.querySelector('#value').options.length > 3")
    page.evaluate("document.querySelector('#by').selectize.setValue(['region', 'sector'])")
    page.select_option("#value", "turnover")
    page.select_option("#contributor", "enterprise")
    page.wait_for_function("document.querySelector('#hrc_of').options.length === 2")
    # Not before: a click goes astray when the page grows above it at that moment.
    page.click("summary:has-text('Hierarchy from a file')")
    page.select_option("#hrc_of", "region")
    page.set_input_files("#hrc", instances.path("demo.hrc"))
    page.wait_for_selector("text=With a hierarchy: region")
    page.check("#percent")


def expected() -> csp.Protected:
    table = csp.Table.from_microdata(
        instances.path("demo.csv"), ["region", "sector"], "turnover", contributor="enterprise",
        hierarchies={"region": csp.Hierarchy.from_hrc(instances.path("demo.hrc"))},
    )  # fmt: skip
    return csp.protect(table, "P(10,1)|FREQ(3,10)")


def test_from_a_file_to_a_table_a_report_and_a_job(page: Any, tmp_path: Path) -> None:
    protected = expected()
    fill(page)
    primary = int(protected.problem.primary.sum())
    page.wait_for_selector(f"text={primary} of {protected.table.n_cells} cells are sensitive")
    page.wait_for_selector("text=under P(10,1)|FREQ(3,10)")
    page.click("#protect")
    page.wait_for_selector("text=The published table is safe", timeout=60_000)

    frame = page.frame_locator("iframe.report")
    assert frame.locator("table.panel td.suppressed").count() == protected.pattern.sum()
    saved = {}
    for button in ("table_csv", "report_html", "release_json", "job_zip"):
        with page.expect_download() as got:
            page.click(f"#{button}")
        saved[button] = tmp_path / got.value.suggested_filename
        got.value.save_as(saved[button])

    # The job that was saved, run beside the data, publishes the same bytes.
    with zipfile.ZipFile(saved["job_zip"]) as packed:
        packed.extractall(tmp_path / "again")
    copy(instances.path("demo.csv"), tmp_path / "again" / "demo.csv")
    done = subprocess.run(
        [sys.executable, "-m", "cellveil", "run", "job.toml", "--quiet"],
        cwd=tmp_path / "again", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = tmp_path / "again" / "published" / "region-sector.csv"
    assert again.read_bytes() == saved["table_csv"].read_bytes()
    with zipfile.ZipFile(saved["release_json"]) as packed:
        assert json.loads(packed.read("release.json"))["mechanism"]["rules"] == "P(10,1)|FREQ(3,10)"

    # No suppressed value came to the browser: not in the page, not on the way to it.
    hidden = np.flatnonzero(protected.pattern)
    values = {int(v) for v in protected.table.values[hidden]}
    published = {int(v) for v in protected.table.values[~protected.pattern]}
    low, high = protected.audit.proved
    ends = {int(v) for v in (*low[hidden], *high[hidden])}
    seen = page.content() + frame.locator("body").inner_text() + "".join(map(str, page.told))
    for value in (v for v in values - published - ends if v > 99):
        assert f">{value:,}<" not in seen
        assert f" {value} " not in seen
        assert f">{value}<" not in seen


def test_wrong_choices_are_said_where_they_are_made(page: Any, tmp_path: Path) -> None:
    page.click("#protect")
    page.wait_for_selector("text=Choose a file of records first")
    bad = tmp_path / "bad.csv"
    bad.write_text("")
    page.set_input_files("#data", bad)
    page.wait_for_selector("[role=alert]")
    fill(page)
    page.fill("#percent_p", "")
    page.wait_for_selector("text=A number is missing above")
    page.fill("#percent_p", "10")
    page.click("summary:has-text('Rules in the words')")
    page.fill("#words", "P(10")
    page.wait_for_selector("[role=alert]")
    page.fill("#words", "NK(1,90)")
    page.wait_for_selector("text=under NK(1,90)")


def test_the_page_fits_a_phone(page: Any) -> None:
    fill(page)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_input_has_a_label(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button')]
            .filter(one => one.offsetParent !== null && !one.labels?.length
                && !one.getAttribute('aria-label') && !one.textContent.trim()
                && !one.closest('.selectize-control') && one.type !== 'file'
                && !one.readOnly)
            .map(one => one.outerHTML)"""
    )
    assert nameless == []


def test_who_has_not_the_address_is_refused(page: Any, address: str, browser: Any) -> None:
    plain = address.partition("?")[0]
    for url, host in ((plain, None), (f"{plain}?token=guess", None), (address, "evil.example")):
        asked = urllib.request.Request(url, headers={} if host is None else {"Host": host})  # noqa: S310, RUF100
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=10)  # noqa: S310, RUF100
        assert refused.value.code == 403
        refused.value.close()
    # In another browser the address is spent, and says so.
    other = browser.new_page()
    other.goto(address)
    assert "this address is spent" in other.inner_text("body")
    other.close()
    page.reload()
    page.wait_for_selector("#by", state="attached")


ODD = """reg"ion/la'nd"""
"""Column of a name that no file can have."""


def test_columns_of_any_name_come_to_a_table(page: Any, tmp_path: Path) -> None:
    lines = [f"{land},<b>{town}</b>,{i},e{i}" for i, (land, town) in enumerate(
        [("N", "a"), ("N", "b"), ("S", "c"), ("S", "d")] * 5)]  # fmt: skip
    head = '"la<nd>","{}",pay,firm'.format(ODD.replace('"', '""'))
    (tmp_path / "survey.csv").write_text("\n".join([head, *lines, "N,<b>a</b>,900,x"]) + "\n")
    page.set_input_files("#data", tmp_path / "survey.csv")
    page.wait_for_selector("text=4 columns")
    page.wait_for_function("document.querySelector('#value').options.length > 3")
    page.evaluate("by => document.querySelector('#by').selectize.setValue(by)", [ODD])
    page.select_option("#value", "pay")
    page.check("#percent")
    # Its hierarchy is found in the data.
    page.check("#nested_use input")
    page.wait_for_selector("text=With a hierarchy")
    page.wait_for_selector("text=cells are sensitive")
    page.click("#protect")
    page.wait_for_selector("text=The published table is safe", timeout=60_000)
    for button, name in (("table_csv", "reg_ion_la_nd.csv"), ("job_zip", "job.zip")):
        with page.expect_download() as got:
            page.click(f"#{button}")
        assert got.value.suggested_filename == name
        got.value.save_as(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "job.zip") as packed:
        assert sorted(packed.namelist()) == ["job.toml", "reg_ion_la_nd.hrc"]
        packed.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "cellveil", "run", "job.toml", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = tmp_path / "published" / "reg_ion_la_nd.csv"
    assert again.read_bytes() == (tmp_path / "reg_ion_la_nd.csv").read_bytes()
    assert again.read_text(encoding="utf-8").startswith('"reg""ion/la\'nd",')


def test_files_are_called_as_they_are_and_lie_nowhere(page: Any, tmp_path: Path) -> None:
    evil = tmp_path / "evil.hrc"
    evil.write_text("@@@N1\n")
    fill(page)
    page.set_input_files("#hrc", evil)
    page.wait_for_selector("[role=alert]")
    said = page.inner_text("[role=alert]")
    assert "evil.hrc" in said
    assert "Evil" not in said
    torn = tmp_path / "torn.csv"
    torn.write_text('a,b\n1,2\n3,4,5,"\n')
    page.set_input_files("#data", torn)
    page.wait_for_selector("[role=alert]:has-text('torn.csv')")
    assert not any("cellveil-page-" in str(text) for text in page.told)


def test_two_hierarchies_of_one_file_name_are_two(page: Any, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "demo.hrc").write_text("T\n" + "".join(
        f"@{code}\n" for code in sorted({line.split(",")[1] for line in
        Path(instances.path("demo.csv")).read_text().splitlines()[1:]})))  # fmt: skip
    fill(page)
    page.select_option("#hrc_of", "sector")
    page.set_input_files("#hrc", tmp_path / "a" / "demo.hrc")
    page.wait_for_selector("text=With a hierarchy: region, sector")
    page.click("#protect")
    page.wait_for_selector("text=The published table is safe", timeout=60_000)
    with page.expect_download() as got:
        page.click("#job_zip")
    got.value.save_as(tmp_path / "job.zip")
    with zipfile.ZipFile(tmp_path / "job.zip") as packed:
        assert sorted(packed.namelist()) == ["demo-2.hrc", "demo.hrc", "job.toml"]
