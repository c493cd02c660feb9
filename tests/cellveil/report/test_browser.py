"""The report in a real browser: sort, filter, fold, keyboard, print, phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csp
from cellveil.report.facts import report_facts
from cellveil.report.page import report_page
from cellveil.report.skeleton import write_page
from tests.support.browser import browser

__all__ = ["browser"]


@pytest.fixture(scope="module")
def protected() -> csp.Protected:
    rng = np.random.default_rng(5)
    tree = csp.Hierarchy.from_dict({"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]}, "Total")
    regions, n = ["N1", "N2", "N3", "S1", "S2"], 160
    data = {
        "region": rng.choice(regions, n).tolist(),
        "sector": rng.choice(list("ABC"), n).tolist(),
        "size": rng.choice(["small", "large"], n).tolist(),
        "pay": rng.lognormal(5, 1, n).astype(int).tolist(),
    }
    table = csp.Table.from_microdata(
        data, by=["region", "sector", "size"], value="pay", hierarchies={"region": tree}
    )
    return csp.protect(table, "P(10,1)|FREQ(3,10)")


@pytest.fixture
def page(browser: Any, protected: csp.Protected, tmp_path: Path) -> Iterator[Any]:
    facts = report_facts(protected, title="Pay by region")
    write_page(tmp_path / "report.html", report_page(protected, facts), facts)
    opened = browser.new_page(viewport={"width": 1100, "height": 800})
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: wrong.extend([asked.url] * asked.url.startswith("http")))
    opened.goto((tmp_path / "report.html").as_uri())
    yield opened
    opened.close()
    assert wrong == []


def column(page: Any, place: int) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f"table.intervals tbody tr:not([hidden]) td:nth-child({place})",
        "cells => cells.map(cell => cell.textContent)",
    )
    return found


def test_the_list_is_sorted_by_numbers_up_and_down(page: Any) -> None:
    before = [int(text.replace(",", "")) for text in column(page, 5)]
    assert before != sorted(before)
    head = page.get_by_role("button", name="at most")
    head.focus()
    page.keyboard.press("Enter")
    assert [int(text.replace(",", "")) for text in column(page, 5)] == sorted(before)
    page.keyboard.press("Enter")
    assert [int(text.replace(",", "")) for text in column(page, 5)] == sorted(before)[::-1]
    assert page.locator('th[aria-sort="descending"]').inner_text().startswith("at most")


def test_the_list_is_filtered_by_words(page: Any) -> None:
    rows = list(zip(column(page, 1), column(page, 2), strict=True))
    page.get_by_label("Filter").fill("s1 b")
    kept = [row for row in rows if row == ("S1", "B")]
    assert 0 < len(kept) < len(rows)
    assert list(zip(column(page, 1), column(page, 2), strict=True)) == kept
    assert page.locator("#shown").inner_text() == f"{len(kept)} of {len(rows)} shown"
    page.get_by_label("Filter").fill("nowhere")
    assert column(page, 1) == []


def test_rows_below_a_total_are_folded(page: Any) -> None:
    first = page.locator("table.panel").first
    assert first.get_by_role("row").count() == 2 + 5 + 2 + 1
    button = first.get_by_role("button", name="rows below North")
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-expanded") == "false"
    shown = first.locator("tr[data-depth]:visible th").all_inner_texts()
    assert [text.strip("▸▾ ") for text in shown] == ["North", "South", "S1", "S2", "Total"]
    button.click()
    assert first.locator("tr[data-depth]:visible").count() == 8
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert first.locator("tr[data-depth]:visible").count() == 3
    assert page.locator("details[open]").count() == 1
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("details[open]").count() == page.locator("details").count() == 3
    assert page.locator("tr[data-depth]:visible").count() == 3 * 8


def test_a_phone_scrolls_tables_and_not_the_page(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_all_panels_are_printed(page: Any) -> None:
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("tr[data-depth]:visible").count() == 3 * 8
    assert not page.locator(".tools").first.is_visible()


def test_nothing_suppressed_is_in_the_document(page: Any, protected: csp.Protected) -> None:
    texts = page.eval_on_selector_all("table.panel td", "cells => cells.map(c => c.textContent)")
    hidden = int(protected.pattern.sum())
    assert texts.count("×") == hidden
    shown = [f"{v:,}" for v in protected.release.published[~protected.pattern].tolist()]
    assert sorted(text for text in texts if text not in ("×", "–", "")) == sorted(
        text for text, empty in zip(shown, empties(protected), strict=True) if not empty
    )
    assert page.get_by_text("primary").count() == 0


def empties(protected: csp.Protected) -> list[bool]:
    flags = protected.release.structural
    size = len(protected.pattern)
    known = np.zeros(size, bool) if flags is None else flags
    found: list[bool] = known[~protected.pattern].tolist()
    return found
