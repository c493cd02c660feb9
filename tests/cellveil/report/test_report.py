"""The report says what the audit proved, and without reveal nothing that the release does not."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import attacks
import csp
import instances
from cellveil.cli.app import app
from cellveil.report.facts import release_facts, report_facts
from cellveil.report.page import ATTACKS, report_page
from cellveil.report.skeleton import write_page
from csp.errors import InputError
from csp.release_file import write_release

MECHANISM = csp.Mechanism(csp.MinFrequency(5), width=5, margins="publish")


TWO = ([0, 1], [0, 2], [1, 2])
"""Two of three rows or columns."""


def demo() -> csp.Protected:
    table = instances.load("demo")
    assert isinstance(table, csp.Table)
    return csp.protect(table, "P(10,1)|FREQ(3,10)")


def files_of(protected: csp.Protected, **how: Any) -> tuple[str, str]:
    facts = report_facts(protected, **how)
    return report_page(protected, facts), json.dumps(facts)


class Rows(HTMLParser):
    """Texts of the rows of tables, by the first class of the table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows = self.tables.setdefault(str(dict(attrs)["class"]).split()[-1], [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self._rows and self._rows[-1] and data.strip():
            self._rows[-1][-1] += data.strip()


def test_tables_that_are_published_alike_have_the_same_report() -> None:
    # Nothing in the files depends on a suppressed value: another table with the same release gives
    # the same bytes.
    rng, pairs = np.random.default_rng(1), 0
    for _ in range(150):
        inner = rng.integers(0, 12, (3, 3))
        try:
            one = MECHANISM.protect(csp.Table.from_array(inner))
            hidden = one.pattern.reshape(4, 4)
            places = [np.ix_(r, c) for r in TWO for c in TWO if hidden[np.ix_(r, c)].all()]
            other = inner.copy()
            for place in places:
                other[place] += np.array([[1, -1], [-1, 1]])
            if not places or other.min() < 0:
                continue
            two = MECHANISM.protect(csp.Table.from_array(other))
        except csp.Unprotectable:
            continue
        if (one.pattern == two.pattern).all():
            assert (one.release.published == two.release.published).all()
            assert (one.table.values != two.table.values).any()
            assert files_of(one) == files_of(two)
            pairs += 1
    assert pairs > 20


def test_attacks_are_reported_without_values() -> None:
    table = csp.Table.from_array([[3, 6, 41], [7, 6, 40], [40, 41, 5]])
    protected = MECHANISM.protect(table)
    found = attacks.report(protected.release, MECHANISM)
    page, text = files_of(protected, attacks=found)
    rows = Rows(page).tables["verdicts"][1:]
    assert [row[0] for row in rows] == [ATTACKS[finding.attack] for finding in found]
    assert "=)" not in "".join(cell for row in rows for cell in row)
    assert [row[1] for row in rows] == [finding.status for finding in found]
    assert json.loads(text)["attacks"] == found.summary()


@pytest.mark.parametrize("reveal", [False, True])
def test_intervals_are_those_of_the_audit(reveal: bool) -> None:
    protected = demo()
    table = protected.table
    page, text = files_of(protected, reveal=reveal)
    rows = Rows(page).tables["intervals"]
    low, high = protected.audit.proved
    hidden = np.flatnonzero(protected.pattern)
    assert rows[0][2:4] == ["at least", "at most"]
    for row, fact, cell in zip(rows[1:], json.loads(text)["suppressed_cells"], hidden, strict=True):
        assert tuple(row[:2]) == tuple(fact["cell"].values()) == table.labels[cell]
        ends = [f"{int(end):,}" for end in (low[cell], high[cell])]
        assert row[2:4] == ends
        assert [f"{int(fact[end]):,}" for end in ("lower", "upper")] == ends
        if reveal:
            kind = "primary" if protected.problem.primary[cell] else "secondary"
            assert row[4:6] == [kind, f"{table.values[cell]:,}"]


def test_the_page_of_a_release_says_what_the_office_could_not_hide(tmp_path) -> None:
    protected = MECHANISM.protect(csp.Table.from_array([[3, 6, 41], [7, 6, 40], [40, 41, 5]]))
    file = tmp_path / "public.json"
    write_release(protected.release, file, MECHANISM)
    done = CliRunner().invoke(app, ["report", str(file), "--time-limit", "60"])
    found = attacks.report(protected.release, MECHANISM)
    assert done.exit_code == (1 if found.exposed else 0), done.output
    facts = json.loads((tmp_path / "public.report.json").read_text())
    assert facts["attacks"]["exposed"] == [list(protected.table.labels[c]) for c in found.exposed]
    page = (tmp_path / "public.report.html").read_text()
    rows = Rows(page).tables["intervals"][1:]
    lower, upper = csp.intervals(protected.table, protected.pattern, integer=True)
    for row, cell in zip(rows, np.flatnonzero(protected.pattern), strict=True):
        assert row[:2] == list(protected.table.labels[cell])
        assert row[2:4] == [f"{int(lower[cell])}", f"{int(upper[cell])}"]
    assert "primary" not in page.partition("</style>")[2]


def test_a_cell_that_is_known_is_explained() -> None:
    table = csp.Table.from_array([[3333, 61, 41], [71, 62, 40], [40, 41, 59]])
    pattern = np.zeros(table.n_cells, bool)
    pattern[0] = True  # alone in its row: the total gives it
    release = csp.Release.of(table, pattern)
    found = attacks.report(release)
    facts = release_facts(release, attacks=found)
    assert [list(one["cell"].values()) for one in facts["explanations"]] == [["1", "1"]]
    page = report_page(release, facts)
    assert "is known, because it is" in page
    assert page.count("known exactly") == 3  # two ends, and the bar
    told = release_facts(release, attacks=found, reveal=True)
    assert told["suppressed_cells"][0]["lower"] == "3333"
    assert "3,333" in report_page(release, told)
    assert "Internal." in report_page(release, told)
    assert "3333" not in page + json.dumps(facts)
    assert "3,333" not in page


@pytest.mark.parametrize("reveal", [False, True])
def test_sensitive_cells_are_told_only_when_asked(reveal: bool) -> None:
    protected = demo()
    page, text = files_of(protected, reveal=reveal)
    body = page.partition("</style>")[2].partition("<script>")[0]
    hidden = int(protected.pattern.sum())
    primary = int(protected.problem.primary.sum())
    cells = Rows(page).tables["panel"]
    marks = [cell for row in cells for cell in row if cell.startswith("×")]
    assert len(marks) == hidden
    assert body.count('class="suppressed primary"') == primary * reveal
    assert ('class="internal"' in body) is reveal
    assert ("primary" in body + text) is reveal
    for cell in np.flatnonzero(protected.pattern):
        value = f"{protected.table.values[cell]:,}"
        assert (f"× {value}" in marks) is reveal


def test_a_page_needs_nothing_from_elsewhere() -> None:
    page, _ = files_of(demo())
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?!data:)""", page)
    assert "default-src 'none'" in page


def test_labels_are_text_and_not_markup() -> None:
    data = {"<i>": ["</script><b>"] * 9 + ["a & b"], "x": ["'", '"'] * 5}
    table = csp.Table.from_microdata(data, by=["<i>", "x"])
    protected = csp.protect(table, csp.MinFrequency(3), width=2)
    page, _ = files_of(protected, title="</title><script>alert(1)</script>", reveal=True)
    assert page.count("<script>") == page.count("</script>") == page.count("</title>") == 1
    assert "<b>" not in page
    assert "&lt;/script&gt;&lt;b&gt;" in page


def test_cells_without_an_end_say_so() -> None:
    table = csp.Table.from_array([3, 50])
    table = table.replace(lower=np.full(3, -csp.UNBOUNDED))
    page, text = files_of(csp.protect(table, csp.MinFrequency(5), width=4))
    rows = Rows(page).tables["intervals"]
    assert [row[:3] for row in rows[1:]] == [[code, "no limit", "no limit"] for code in "12"]
    assert {cell["upper"] for cell in json.loads(text)["suppressed_cells"]} == {"inf"}


def test_files_are_written_together_or_not_at_all(tmp_path: Any) -> None:
    protected = demo()
    facts = report_facts(protected)
    write_page(tmp_path / "report.html", report_page(protected, facts), facts)
    once = [(tmp_path / name).read_bytes() for name in ("report.html", "report.json")]
    write_page(tmp_path / "report.html", report_page(protected, facts), facts)
    assert once == [(tmp_path / name).read_bytes() for name in ("report.html", "report.json")]
    assert json.loads(once[1])["suppressed_cells"]
    with pytest.raises(InputError, match=r"must end with \.html"):
        write_page(tmp_path / "other.htm", report_page(protected, facts), facts)
    (tmp_path / "blocked.json").mkdir()
    with pytest.raises(InputError):
        write_page(tmp_path / "blocked.html", report_page(protected, facts), facts)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "blocked.json", "report.html", "report.json",
    ]  # fmt: skip


def test_the_command_writes_the_report_of_what_it_publishes(tmp_path: Any) -> None:
    data = tmp_path / "survey.csv"
    rows = [f"{r},{s},{v}" for r in "NSE" for s in "abc" for v in (3, 4, 5, 90)]
    data.write_text("region,sector,pay\n" + "\n".join([*rows, "N,a,8000", "S,b,7000"]) + "\n")
    page = tmp_path / "page.html"
    ask = ["protect", str(data), "--by", "region,sector", "--value", "pay", "--rules", "NK(1,75)"]
    found = CliRunner().invoke(app, [*ask, "--report", str(page), "--attacks"])
    assert found.exit_code == 0, found.output
    facts = json.loads(page.with_suffix(".json").read_text())
    assert facts["title"] == "survey"
    assert "inputs" not in facts  # a hash of the data would tell whether a guess is right
    hidden = found.output.count(",x,")
    assert len(facts["suppressed_cells"]) == facts["attacks"]["suppressed"] == hidden > 0
    assert "page.json" in found.output
    for more, message in (
        (["--attacks"], "--attacks fills a section of --report"),
        (["--report", str(tmp_path / "page.pdf")], "--report"),
        (["--report", str(page), "--summary", str(page.with_suffix(".json"))], "--report"),
    ):
        refused = CliRunner().invoke(app, [*ask, *more])
        assert refused.exit_code == 2
        assert message in str(refused.exception) + refused.output


@pytest.mark.parametrize("asked", [["."], ["no.json", "-o", "."], ["no.json", "-o", ".html"]])
def test_files_without_a_name_are_refused(asked):
    done = CliRunner().invoke(app, ["report", *asked])
    assert done.exit_code == 2


def test_an_ending_in_capitals_is_known_before_and_after_the_work(tmp_path: Any) -> None:
    page = tmp_path / "T.HTML"
    csp.protect(csp.Table.from_array([[1, 20], [30, 4]]), "FREQ(3)").report(page)
    assert page.exists()
    assert page.with_suffix(".json").exists()
