"""Jobs: what they write, that it is the same each time, and what wrong ones are told."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import csp
from cellveil.cli.app import app
from cellveil.jobs.draft import job_text
from cellveil.jobs.job import read_job
from cellveil.jobs.keys import SECTIONS, checked, template
from cellveil.jobs.run import run_job
from csp.errors import InputError
from tests.support.shared import examples

JOB = """
[data]
file = "survey.csv"
value = "pay"
contributor = "firm"
[hierarchies]
region = "region.hrc"
[[table]]
by = ["region", "sector"]
[[table]]
name = "sizes"
by = ["size", "region"]
[rules]
sensitive = "NK(1,75)|FREQ(3,10)"
[output]
report = true
intervals = true
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    rows = [
        f"{region},{sector},{size},f{i},{7 * i % 90 + 1}"
        for i, (region, sector, size) in enumerate(
            [(r, s, z) for r in ("N1", "N2", "S") for s in "ABC" for z in ("big", "small")] * 3
        )
    ]
    rows += ["N1,A,big,x,4000", "S,B,small,y,3000"]
    (tmp_path / "survey.csv").write_text("region,sector,size,firm,pay\n" + "\n".join(rows) + "\n")
    (tmp_path / "region.hrc").write_text("North\n@N1\n@N2\nS\n")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_of_the_same_data_are_protected_as_one(job: Path) -> None:
    (done,) = run_job(read_job(job))
    assert done.names == ("region-sector", "sizes")
    assert done.protected.audit.safe
    folder = job.parent / "published"
    parts = {name: rows_of(folder / f"{name}.csv") for name in done.names}
    assert {len(rows) for rows in parts.values()} == {5 * 4, 3 * 5}
    tree = csp.Hierarchy.from_hrc(job.parent / "region.hrc")
    for name, by in (("region-sector", ["region", "sector"]), ("sizes", ["size", "region"])):
        table = csp.Table.from_microdata(
            job.parent / "survey.csv", by, "pay", contributor="firm", hierarchies={"region": tree}
        )
        true = dict(zip(table.labels, table.values.tolist(), strict=True))
        assert list(parts[name][0])[:3] == [*by, "value"]
        for row in parts[name]:
            label = tuple(row[column] for column in by)
            hidden = row["published"] == "false"
            assert row["value"] == ("" if hidden else str(true[label]))
            assert int(row["lower"]) <= true[label] <= float(row["upper"])
            assert (row["lower"] == row["upper"]) is not hidden
    totals = [
        {row["region"]: row["status"] for row in parts[name] if row[other] == "Total"}
        for name, other in (("region-sector", "sector"), ("sizes", "size"))
    ]
    assert totals[0] == totals[1]
    assert any(row["status"] == "x" for rows in parts.values() for row in rows)


def test_rows_of_linked_tables_stand_as_in_each_table_alone(job: Path) -> None:
    """The first table has all dimensions, in the order of links: its cells are all of these."""
    text = JOB.replace('"region", "sector"', '"region", "size"').replace(
        '"size", "region"', '"size"'
    )
    job.write_text(text.replace("report = true", 'format = ["csv", "xlsx"]'))
    (job.parent / "region.hrc").write_text("S\nNorth\n@N2\n@N1\n")
    tree = csp.Hierarchy.from_hrc(job.parent / "region.hrc")
    (done,) = run_job(read_job(job))
    for name, by in zip(done.names, (["region", "size"], ["size"]), strict=True):
        table = csp.Table.from_microdata(
            job.parent / "survey.csv", by, hierarchies={"region": tree} if len(by) > 1 else None
        )
        rows = rows_of(job.parent / "published" / f"{name}.csv")
        assert tuple(tuple(row[column] for column in by) for row in rows) == tuple(table.labels)
        assert len(by) == 1 or tuple(table.labels) != tuple(sorted(table.labels))


def test_intervals_in_place_of_blanks_are_those_of_python(job: Path) -> None:
    job.write_text(JOB.replace("intervals = true", 'publish = "intervals:25"'))
    done = run_job(read_job(job))[0].protected
    again = csp.protect(done.table, "NK(1,75)|FREQ(3,10)", publish="intervals:25")
    with (job.parent / "published" / "sizes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    withheld = [row for row in rows if row["published"] == "false"]
    assert withheld
    labels = [tuple(label) for label in done.table.labels]
    for row in withheld:
        codes = {"region": row["region"], "size": row["size"], "sector": "Total"}
        cell = labels.index(tuple(codes[name] for name in done.table.names))
        assert (int(row["lower"]), int(row["upper"])) == (
            again.ranges.lower[cell], again.ranges.upper[cell],
        )  # fmt: skip
        assert int(row["lower"]) % 25 == int(row["upper"]) % 25 == 0
    assert done.summary()["publish"] == "intervals"


@pytest.mark.parametrize("reveal", [False, True])
def test_the_report_shows_each_linked_table_as_it_is_published(job: Path, reveal: bool) -> None:
    if reveal:
        job.write_text(JOB + "reveal = true\n")
    (done,) = run_job(read_job(job))
    page = next(file for file in done.files if file.suffix == ".html").read_text()
    for name in done.names:
        section = page.partition(f"<h3>{name}</h3>")[2].partition("<h3>")[0].partition("<h2>")[0]
        rows = rows_of(job.parent / "published" / f"{name}.csv")
        marks = sum(row["published"] == "false" for row in rows)
        assert section.count("×") == marks
        assert section.count('class="suppressed primary"') == sum(
            row["status"] == "u" for row in rows
        )
        for row in rows:
            shown = f"{int(row['value']):,}" if row["value"] else "×"
            assert shown in section


def test_the_same_job_gives_the_same_bytes_and_names_them(job: Path) -> None:
    def hashes() -> dict[str, str]:
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((job.parent / "published").iterdir())
        }

    run_job(read_job(job))
    once = hashes()
    run_job(read_job(job))
    assert hashes() == once
    facts = json.loads((job.parent / "published" / "job.result.json").read_text())
    assert facts["outputs"] == {k: v for k, v in once.items() if k != "job.result.json"}
    assert "inputs" not in facts
    assert {"cellveil 0.2.0"} == {facts["made_by"]}


def test_the_internal_record_alone_names_what_was_read(job: Path) -> None:
    record = job.with_name("job.internal.json")
    record.write_text("{}")
    record.chmod(0o644)
    (done,) = run_job(read_job(job))
    assert record.stat().st_mode & 0o777 == 0o600
    assert record not in done.files
    assert "NOT FOR PUBLICATION" in record.read_text().splitlines()[0]
    facts = json.loads(record.read_text())
    assert set(facts["inputs"]) == {"job.toml", "survey.csv", "region.hrc"}
    published = "".join(path.read_text() for path in (job.parent / "published").iterdir())
    for name, value in facts["inputs"].items():
        assert value == hashlib.sha256((job.parent / name).read_bytes()).hexdigest()
        assert value not in published
    assert facts["tables"][0]["cost"] == done.protected.summary(reveal=True)["cost"]


def test_a_record_is_verified_by_running_the_job_again(job: Path) -> None:
    run_job(read_job(job))
    record, before = (
        job.with_name("job.internal.json"),
        job.with_name("job.internal.json").read_bytes(),
    )
    same = CliRunner().invoke(app, ["run", "--verify", str(record)])
    assert same.exit_code == 0
    assert "Reproduced: all" in same.output
    assert record.read_bytes() == before
    facts = json.loads(before)
    name = next(iter(facts["outputs"]))
    facts["outputs"][name] = "0" * 64
    facts["versions"]["numpy"] = "1.0"
    record.write_text(json.dumps(facts))
    other = CliRunner().invoke(app, ["run", "--verify", str(record)])
    assert other.exit_code == 1
    assert f"1 of {len(facts['outputs'])} files differ: {name}." in other.output
    assert "numpy was 1.0 then" in other.output
    (job.parent / "survey.csv").write_text("")
    changed = CliRunner().invoke(app, ["run", "--verify", str(record)])
    assert changed.exit_code == 2
    assert "survey.csv" in changed.output


def test_a_file_that_changes_while_it_is_read_ends_the_job(job: Path) -> None:
    """What a record names must be what was protected."""
    data = job.parent / "survey.csv"

    def change(_: object) -> None:
        data.write_text(data.read_text() + "\n")

    with pytest.raises(InputError, match=r"survey\.csv' changed while it was read"):
        run_job(read_job(job), progress=change)
    assert not (job.parent / "published").exists()


def test_a_job_that_fails_leaves_nothing_half_written(job: Path) -> None:
    job.write_text(JOB.replace("[rules]", '[[table]]\nname = "z"\nby = ["nowhere"]\n[rules]'))
    with pytest.raises(InputError, match=r"^job\.toml, table z: .*nowhere"):
        run_job(read_job(job))
    assert not (job.parent / "published").exists()


def test_a_folder_of_jobs_runs_whole(job: Path) -> None:
    (job.parent / "late.toml").write_text(JOB.replace("survey.csv", "missing.csv"))
    found = CliRunner().invoke(app, ["run", str(job.parent)])
    assert found.exit_code == 2
    assert "job.toml (1 of 2): region-sector and sizes: " in found.output.replace("\n    ", " ")
    assert "missing.csv" in found.output
    assert "1 of 2 jobs done." in found.output
    alone = CliRunner().invoke(app, ["run", str(job)])
    assert alone.exit_code == 0
    empty = job.parent / "empty"
    empty.mkdir()
    assert CliRunner().invoke(app, ["run", str(empty)]).exit_code == 2


def test_the_template_is_a_job(tmp_path: Path) -> None:
    path = tmp_path / "first.toml"
    assert CliRunner().invoke(app, ["init", str(path)]).exit_code == 0
    assert read_job(path).tables[0].source.by == ("region", "sector")
    assert CliRunner().invoke(app, ["init", str(path)]).exit_code == 2
    assert CliRunner().invoke(app, ["init", str(tmp_path / "job.json")]).exit_code == 2
    # With every comment opened it still is one, and it shows every key.
    lines = template().splitlines()
    whole = "\n".join(
        line[2:] if line.startswith("# ") and " = " in line.partition("#  ")[0] else line
        for line in lines
    )
    found = checked(tomllib.loads(whole), "job.toml")
    for name, keys in SECTIONS.items():
        section = found["table"][0] if name == "table" else found[name]
        own = {key.key for key in keys} - (
            {k.key for k in SECTIONS["data"]} if name == "table" else set()
        )
        assert own <= set(section)


WRONG = [
    ("value =", "valeu =", r"job.toml, \[data\]: 'valeu' is not a key; did you mean 'value'\?"),
    ("[rules]", "[rule]", r"\[rule\] is not a section; did you mean 'rules'\?"),
    ("sensitive =", "# ", r"\[rules\]: 'sensitive' is missing; add sensitive = "),
    ("NK(1,75)", "NK(1,175)", r"job.toml"),
    ('"pay"', "3", r"\[data\]: 'value' must be text in quotes, not 3"),
    ('by = ["region", "sector"]', "by = []", r"table 1: 'by' must be a list of texts"),
    ("report = true", 'report = "yes"', r"'report' must be true or false, not 'yes'"),
    ("[output]", 'margins = "no"\n[output]', r"'margins' is 'no'; it must be one of suppress, "),
    ('"sizes"', '"region-sector"', r"there are two tables 'region-sector'"),
    ('"sizes"', '"../sizes"', r"name '../sizes' cannot be that of a file"),
    ('region = "region.hrc"', 'county = "region.hrc"', r"'county' is not .* in \[hierarchies\]"),
    ('file = "survey.csv"', "", r"no data; add file"),
    ("[data]", "[data", r"is not a TOML file"),
    ("contributor", 'aggregated = true\nmissing', r"aggregated .* leave out missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_jobs_say_which_table_and_key(job: Path, old: str, new: str, message: str) -> None:
    assert old in JOB
    job.write_text(JOB.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_job(job)


@pytest.mark.parametrize(
    ("column", "stem"),
    [("region/land", "region_land"), ("<b>\"it's\"", "_b__it_s_"), ("..", "-sector"),
     ("a\\b:c*?|", "a_b_c___"), ("ä" * 300, "ä" * 100)],
    ids=["slash", "quotes", "points", "stars", "long"],
)  # fmt: skip
def test_a_table_of_any_columns_gets_a_name_of_files(
    tmp_path: Path, column: str, stem: str
) -> None:
    with (tmp_path / "survey.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[column, "sector"], *[[f"r{i % 2}", "A"] for i in range(9)]])
    text = job_text(
        {
            "data": {"file": "survey.csv"},
            "table": [{"by": [column, "sector"]}],
            "rules": {"sensitive": "FREQ(3,10)"},
        },
        [], tmp_path, tmp_path,
    )  # fmt: skip
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    (done,) = run_job(read_job(tmp_path / "job.toml"))
    (file,) = done.files
    assert file.parent == tmp_path / "published"
    assert file.name.startswith(stem)
    assert next(csv.reader(file.read_text(encoding="utf-8").splitlines()))[0] == column


def test_a_column_with_an_equals_sign_has_a_hierarchy(tmp_path: Path) -> None:
    rows = [["a=b", "a", "v"], *[[f"r{i % 3}", f"s{i % 2}", str(i)] for i in range(9)]]
    (tmp_path / "survey.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    (tmp_path / "tree.hrc").write_text("top\n@r0\n@r1\nr2\n")
    text = job_text(
        {
            "data": {"file": "survey.csv"},
            "hierarchies": {"a=b": "tree.hrc"},
            "table": [{"by": ["a=b", "a"]}],
            "rules": {"sensitive": "FREQ(3,10)"},
        },
        [], tmp_path, tmp_path,
    )  # fmt: skip
    (tmp_path / "job.toml").write_text(text)
    job = read_job(tmp_path / "job.toml")
    assert tmp_path / "tree.hrc" in job.inputs
    (done,) = run_job(job)
    assert ("top", "Total") in done.protected.table.labels


@pytest.mark.parametrize("key", ["contributor", "shadow"])
def test_tables_of_the_same_values_are_judged_alike(job: Path, key: str) -> None:
    # Both have the sums by region: what one withholds, the other may publish.
    own = JOB.replace('contributor = "firm"\n', "").replace(
        "[[table]]\nby", f"[[table]]\n{key}\nby", 1
    )
    job.write_text(own.replace(key, f'{key} = "firm"', 1))
    with pytest.raises(InputError, match=f"'region-sector' and 'sizes' .* differ in '{key}'"):
        run_job(read_job(job))
    assert not (job.parent / "published").exists()


def test_a_link_is_named_as_the_file_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "records.csv").write_text("a\nx\n")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "survey.csv").symlink_to(tmp_path / "far" / "records.csv")
    text = job_text({"data": {"file": "survey.csv"}}, [], tmp_path / "near", tmp_path / "near")
    assert tomllib.loads(text) == {"data": {"file": "survey.csv"}}


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3)
    ),
    max_leaves=6,
)


@examples(150)
@example({"table": 1})
@example({"table": [1]})
@example({"data": 1, "table": [{"by": ["a"]}]})
@given(st.dictionaries(st.sampled_from([*SECTIONS, "hierarchies", "totals", "x"]), json_like))
def test_any_data_is_a_job_or_refused(given_: dict[str, Any]) -> None:
    with suppress(InputError):
        found = checked(given_, "job.toml")
        assert {*SECTIONS, "hierarchies", "totals"} == set(found)
        assert found["table"]


@pytest.mark.parametrize("target", ["../x", "a/../../x", "/tmp/x"])
def test_results_stay_below_the_folder_of_the_job_unless_allowed(job: Path, target: str) -> None:
    """Somebody else's job must not write elsewhere."""
    text = job.read_text().replace("[output]", f'[output]\nfolder = "{target}"')
    job.write_text(re.sub(r'\nfolder = "published"', "", text))
    with pytest.raises(InputError, match=r"lies outside that of the job.*anywhere=True"):
        read_job(job)
    found = CliRunner().invoke(app, ["run", str(job)])
    assert found.exit_code == 2
    assert "--anywhere" in found.output
    assert read_job(job, anywhere=True).output.folder == target


def test_a_report_of_linked_tables_shows_each_number_as_published(tmp_path: Path) -> None:
    """A part with fewer decimals than the whole was shown by those of the whole."""
    rows = [(f"r{i}", f"c{j}", f"f{i}{j}{n}", 100 + 7 * i + 11 * j + n)
            for i in range(3) for j in range(3) for n in range(5)]  # fmt: skip
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "d.csv").write_text("r,c,firm,v\n" + text)
    job = tmp_path / "j.toml"
    job.write_text(
        '[data]\nfile = "d.csv"\nvalue = "v"\ncontributor = "firm"\n[[table]]\nname = "one"\n'
        'by = ["r", "c"]\n[[table]]\nname = "two"\nby = ["c"]\ndecimals = 2\n'
        '[rules]\nsensitive = "P(10,1)|FREQ(3,10)"\n[output]\nreport = true\n'
    )
    run_job(read_job(job))
    total = sum(row[3] for row in rows)
    page = (tmp_path / "published" / "one+two.html").read_text()
    assert page.count(f">{total:,}.00<") == 2
    assert f"{total}.00" in (tmp_path / "published" / "two.csv").read_text()


def test_a_record_can_stand_elsewhere_and_collisions_are_seen_before_the_work(job: Path) -> None:
    kept = job.parent / "safe" / "kept.json"
    kept.parent.mkdir()
    found = CliRunner().invoke(app, ["run", str(job), "--record", str(kept)])
    assert found.exit_code == 0, found.output
    assert kept.stat().st_mode & 0o777 == 0o600
    again = CliRunner().invoke(app, ["run", "--verify", str(kept)])
    assert again.exit_code == 0, again.output
    assert not job.with_name("job.internal.json").exists()
    one = JOB.replace('[[table]]\nby = ["region", "sector"]\n', "")
    job.write_text(
        one.replace('"sizes"', '"job.result"').replace("[output]", '[output]\nfolder = "new"')
    )
    again = CliRunner().invoke(app, ["run", str(job)])
    assert again.exit_code == 2
    assert "are the same file" in again.output
    assert not (job.parent / "new").exists()


def test_linked_tables_may_write_a_column_in_two_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole, apart = (normalize(form, "ré") for form in ("NFC", "NFD"))
    rows = [f"{c},{d},{r},{r}" for c in "xy" for d in "ab" for r in "uv" for _ in range(4)]
    Path("m.csv").write_text("\n".join([f"c,d,{whole},{apart}", *rows[1:]]), encoding="utf-8")
    lines = ["[data]", 'file = "m.csv"', "[rules]", 'sensitive = "FREQ(8,10)"']
    lines += ["[output]", 'folder = "o"']
    for name, by in (("one", f'["c", "{whole}"]'), ("two", f'["d", "{apart}"]')):
        lines += ["[[table]]", f'name = "{name}"', f"by = {by}"]
    Path("j.toml").write_text("\n".join(lines), encoding="utf-8")
    found = CliRunner().invoke(app, ["run", "j.toml"])
    assert found.exit_code == 0, found.output
    assert "15 cells" in found.output
    heads = [Path("o", f"{name}.csv").read_text("utf-8").split(",v")[0] for name in ("one", "two")]
    assert heads == [f"c,{whole}", f"d,{whole}"]
