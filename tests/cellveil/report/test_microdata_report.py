"""The report of a microaggregated file against the file itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import microagg
from cellveil.cli.app import app
from cellveil.report.microdata import microdata_facts, microdata_page
from cellveil.report.skeleton import write_page
from csp.clock import UNLIMITED
from csp.errors import InputError
from csp.rules import parse_rules

RULE = parse_rules("P(30)")
RNG = np.random.default_rng(3)
DATA = {
    "pay": RNG.lognormal(9, 1.5, 60).astype(int).tolist(),
    "age": RNG.integers(18, 80, 60).tolist(),
}
RECORDS = microagg.read_records(DATA)


def facts_of(result: object, rule: object = RULE, *, reveal: bool = True) -> dict:
    return microdata_facts(  # type: ignore[arg-type]
        RECORDS, result, rule, "error", UNLIMITED, reveal=reveal
    )


def bars(page: str) -> dict[str, dict[str, str]]:
    """Number of each row of each section, by its heading."""
    found = {}
    for section in re.findall("<section>(.*?)</section>", page, re.DOTALL):
        title = re.findall("<h2>(.*?)</h2>", section)[0]
        rows = re.findall(r'<th scope="row">(.*?)</th><td class="number">(.*?)</td>', section)
        found[title] = dict(rows)
    return found


def test_losses_and_means_are_those_of_the_file() -> None:
    partition = microagg.mdav(DATA, 4)
    facts = facts_of(partition)
    shown = bars(microdata_page(facts))
    for j, (name, column) in enumerate(DATA.items()):
        values = np.array(column, float)
        lost = 100 * ((values - partition.masked[:, j]) ** 2).sum()
        loss = lost / ((values - values.mean()) ** 2).sum()
        assert facts["loss_by_attribute"][name] == pytest.approx(loss, abs=1e-4)
        assert float(shown["What each attribute loses"][name]) == pytest.approx(loss, abs=1e-3)
    judged = microagg.disclosure(DATA, partition, "P(30)").sensitive.sum(axis=0)
    counts = shown["Which means disclose a contribution"]
    assert [int(counts[name]) for name in DATA] == judged.tolist()
    sizes = shown["How large clusters are"]
    assert sum(int(size) * int(count) for size, count in sizes.items()) == 60
    for one in facts["curve"]:
        other = microagg.mdav(DATA, one["k"])
        assert one["information_loss"] == pytest.approx(other.information_loss, abs=1e-4)
        assert one["sensitive_means"] == microagg.disclosure(DATA, other, "P(30)").count
    assert [one["k"] for one in facts["curve"]] == [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30]


def test_compliant_files_say_how_many_means_were_sensitive() -> None:
    found = microagg.comply(DATA, 4, "P(30)", method="merge")
    facts = facts_of(found)
    assert sum(facts["sensitive_means"].values()) == 0
    assert facts["sensitive_before"] == found.start_unsafe > 0
    assert f"Before, {found.start_unsafe} were" in microdata_page(facts)
    assert "sensitive_before" not in facts_of(found, reveal=False)
    dropped = microagg.comply(DATA, 4, "P(30)", method="drop")
    told = facts_of(dropped)
    assert told["left_out"] == len(dropped.dropped)
    assert told["records"] == 60 - len(dropped.dropped)


def test_suppressed_means_are_not_marked_as_sensitive() -> None:
    # How many means were sensitive, or would be with other k, tells which of the hidden ones are.
    found = microagg.comply(DATA, 4, "P(30)", method="suppress")
    assert found.hidden.any()
    facts = facts_of(found, reveal=False)
    dark = {"sensitive_means", "sensitive_before", "curve", "information_loss", "loss_by_attribute"}
    assert not dark & set(facts)
    assert facts["suppressed_means"] == found.hidden.sum()
    assert facts_of(found)["information_loss"] == found.published_loss
    text = microdata_page(facts) + json.dumps(facts)
    for mean in found.partition.centroids[found.hidden]:
        assert f"{mean:g}" not in text


def test_files_without_a_rule_are_not_judged(tmp_path: Path) -> None:
    facts = facts_of(microagg.mdav(DATA, 4), None)
    assert facts["rule"] is None
    assert "not judged" in microdata_page(facts)
    with pytest.raises(InputError, match=r"must end with \.html"):
        write_page(tmp_path / "x.txt", microdata_page(facts), facts)


def test_the_command_writes_page_and_facts(tmp_path: Path) -> None:
    data = tmp_path / "staff.csv"
    rows = [f"{p},{a}" for p, a in zip(DATA["pay"], DATA["age"], strict=True)]
    data.write_text("pay,age\n" + "\n".join(rows) + "\n")
    page = tmp_path / "page.html"
    ask = ["microaggregate", str(data), "-k", "4", "--rules", "P(30)", "--comply", "merge"]
    found = CliRunner().invoke(app, [*ask, "--report", str(page)])
    assert found.exit_code == 0, found.output
    facts = json.loads(page.with_suffix(".json").read_text())
    assert "inputs" not in facts
    assert "information_loss" not in facts
    assert facts["method"] == "merge"
    assert "page.json" in found.output
    assert "default-src 'none'" in page.read_text()
    for value in DATA["pay"]:
        assert value < 1000 or str(value) not in page.read_text().partition("</style>")[2]
