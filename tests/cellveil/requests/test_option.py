"""Options are stated once: what commands, jobs and the page make of them is the same request."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import cellveil
from cellveil.cli.taking import Rest, taking
from cellveil.jobs.keys import DATA, SECTIONS, taken, written
from cellveil.requests.option import Field, fields_of, made, values_of
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Search
from cellveil.requests.source import Source
from csp import InputError
from tests.support.shared import examples

TEXT = st.text("abcxyz", min_size=1, max_size=5)


def values(field: Field) -> st.SearchStrategy:
    """Any value that a field may have."""
    kinds = {
        "flag": st.booleans(), "whole": st.integers(0, 9), "number": st.floats(0, 0.5),
        "amount": st.integers(0, 99).map(str), "file": TEXT.map(Path),
        "names": st.lists(TEXT, min_size=1, max_size=3, unique=True).map(tuple),
        "by column": st.just(()), "text": TEXT,
    }  # fmt: skip
    if field.choices:
        return st.sampled_from(field.choices)
    return kinds.get(field.kind, st.booleans())


@given(st.data())
@examples(100)
def test_a_job_asks_for_the_request_it_was_written_of(data: st.DataObject) -> None:
    for request, section in ((Requirements, "rules"), (Search, "solver")):
        keyed = [field for field in fields_of(request) if field.option.example]
        some = data.draw(st.sets(st.sampled_from(keyed)))
        chosen = {f.name: data.draw(values(f)) for f in keyed if f in some or f.required}
        if "solver" in chosen:
            chosen["method"] = "ilp"
        for name in ("primary", "keep"):
            if name in chosen:
                chosen[name] = chosen[name].resolve()
        asked = made(request, chosen)
        keys = SECTIONS[section]
        assert made(request, taken(written(asked, keys), keys, Path("elsewhere"))) == asked


@given(st.sets(st.sampled_from([f for f in fields_of(Source) if f.kind != "by column"])), st.data())
@examples(100)
def test_the_command_and_the_job_make_the_same_source(
    some: set[Field], data: st.DataObject
) -> None:
    chosen = {field.name: data.draw(values(field)) for field in some}
    words = []
    for field in some:
        value = chosen[field.name]
        if field.kind == "flag":
            words += [field.flags[0]] * value
        elif field.kind == "switch":
            words.append(field.flags[0 if value == "drop" else 1])
        else:
            words += [field.flags[0], ",".join(value) if field.kind == "names" else str(value)]
        if field.kind == "file":
            chosen[field.name] = value.resolve()
            words[-1] = str(value.resolve())
    found: list[Source | str] = []

    def kept(make: Callable[[], Source]) -> None:
        """Keep the source, or why there is none."""
        try:
            found.append(make())
        except InputError as error:
            found.append(str(error))

    @taking
    def command(*, source: Rest[Source]) -> None:
        kept(lambda: source(data=Path("d.csv")))

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, words, standalone_mode=False)
    assert result.exception is None, result.exception
    kept(lambda: made(Source, {"data": Path("d.csv"), **chosen}))
    assert found[0] == found[1]
    if isinstance(meant := found[1], Source):
        keys = taken(written(meant, DATA), DATA, Path("elsewhere"))
        assert made(Source, {"data": Path("d.csv"), **keys}) == meant


def test_values_are_read_by_their_kind(capsys) -> None:
    @taking
    def command(name: str, *, asked: Requirements, source: Rest[Source]) -> None:
        whole = source(data=Path(name), by=("a",))
        print(asked.guards.width, asked.guards.singletons, whole.top, whole.empty)
        print(whole.written.na, whole.total)

    app = typer.Typer()
    app.command()(command)
    words = ["d.csv", "--rules", "FREQ(3)", "--width", "2.50", "--no-singletons", "--aggregated",
             "--value", "v", "--top", "a, b", "--na", "", "--total", "a=T"]  # fmt: skip
    assert CliRunner().invoke(app, words).output == "2.50 False ('a', 'b') None\n() ('a=T',)\n"
    assert "empty name" in str(CliRunner().invoke(app, [*words, "--top", "a,,b"]).exception)


def test_what_is_part_of_a_request_is_expanded() -> None:
    source = made(Source, {"data": Path("x"), "sep": ";", "value": "v"})
    assert (source.written.sep, values_of(source)["sep"], values_of(source)["value"]) == (
        ";", ";", "v",
    )  # fmt: skip


NEW = """    round_to: Amount | None = option(
        "Base that published values are rounded to.", "NUMBER", "5"
    )
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the front door with one more option, stated in one file."""
    place = tmp_path_factory.mktemp("changed")
    whole = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(cellveil.__file__).parent, place / "cellveil", ignore=whole)
    file = place / "cellveil/requests/requirements.py"
    text = file.read_text()
    before = "    decoys: Decoys = Decoys()\n"
    assert text.count(before) == 1
    file.write_text(text.replace(before, NEW + before))
    shutil.copy("tests/docs/options.py", place / "options.py")
    return place


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("from cellveil.cli.app import app; app(['protect', '--help'])", "--round-to NUMBER"),
        ("from cellveil.jobs.keys import template; print(template())", "# round_to = 5"),
        ("import options; print(options.text())", "| `--round-to` | NUMBER | Base that"),
        ("from cellveil.app.further import further; print(further())", "further_round_to"),
        ("from cellveil.app.page import INPUTS; print(INPUTS)", "'further_round_to': 'text'"),
    ],
)
def test_a_new_option_is_stated_in_one_file(changed: Path, code: str, wanted: str) -> None:
    if "cellveil.app" in code:
        pytest.importorskip("shiny")
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=changed, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(changed), "COLUMNS": "100"},
    )  # fmt: skip
    assert wanted in result.stdout, result.stderr


def test_methods_of_clusters_are_those_of_the_library() -> None:
    from cellveil.requests.masking import Masking
    from microagg.partitions.methods import cluster_methods

    (field,) = (one for one in fields_of(Masking) if one.name == "clusters")
    assert field.choices == cluster_methods()
    assert {"mdav", "vmdav", "mondrian"} <= {*field.choices}
