"""Keys and defences on the command line."""

from __future__ import annotations

import json
import signal
import stat

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.cli.tables.defence import posterior_words
from csp import Key, Mechanism, Problem, Table
from csp.problem.jj import read_jj, write_jj
from csp.release_file import read_release

COUNTS = "row,column,count\n" + "\n".join(
    f"{r},{c},{v}"
    for r, line in zip("abc", ([3, 20, 30], [20, 25, 40], [21, 29, 19]), strict=True)
    for c, v in zip("xyz", line, strict=True)
)
PROTECT = (
    "protect counts.csv --aggregated --by row,column --value count --count count "
    "--rules FREQ(5) --width 8 "
    "--margins publish"
)


def run(*words):
    return CliRunner().invoke(app, [w for part in words for w in part.split()])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts.csv").write_text(COUNTS)
    assert run("key", "office.key").exit_code == 0
    return tmp_path


def test_a_new_key_is_for_its_owner_and_never_overwritten(folder):
    path = folder / "office.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert len(before.strip()) == 64
    again = run("key", "office.key")
    assert again.exit_code == 2
    assert path.read_bytes() == before
    assert before.decode().strip() not in again.output


def test_an_interrupt_while_the_posterior_is_computed_keeps_the_pattern(folder, monkeypatch):
    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("attacks.bayes.posterior.posterior", interrupted)
    out = run(PROTECT, "--defence decoys:0.3 --key-file office.key --table-id persons -o out.csv")
    assert out.exit_code == 130, out.output
    assert "was not computed: it was interrupted." in out.stderr
    assert (folder / "out.csv").exists()


def test_protect_with_decoys_tells_its_promise_and_no_secret(folder):
    out = run(PROTECT, "--defence decoys:0.3 --key-file office.key --table-id persons",
              "-o out.csv --summary facts.json --release public.json")  # fmt: skip
    assert out.exit_code == 0, out.output
    assert "Every table that agrees" in out.output
    assert "Proven optimum" not in out.output
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["guarantee"]["complete"]
    assert 0 < facts["posterior"]["largest_primary_probability"] <= 1
    assert not {"primary", "secondary", "decoys", "method", "seconds", "gap"} & set(facts)
    release, mechanism = read_release(folder / "public.json")
    assert isinstance(mechanism, Mechanism)
    assert mechanism.defence is not None
    assert mechanism.defence.key is None
    key = (folder / "office.key").read_text().strip()
    for path in folder.iterdir():
        if path.name != "office.key":
            assert key not in path.read_text()
    assert key not in out.output
    attacked = run("attack matching public.json")
    assert attacked.exit_code == 0, attacked.output
    assert "Decoys exclude no consistent table" in attacked.output
    again = run(PROTECT, "--defence decoys:0.3 --key-file office.key --table-id persons -o b.csv")
    assert again.exit_code == 0
    assert (folder / "b.csv").read_text() == (folder / "out.csv").read_text()
    told = run(PROTECT, "--defence decoys:0.3 --key-file office.key --table-id persons",
               "-o c.csv --summary all.json --reveal")  # fmt: skip
    assert told.exit_code == 0
    revealed = json.loads((folder / "all.json").read_text())
    assert revealed["primary"] == 1
    assert revealed["primary"] + revealed["decoys"] + revealed["secondary"] == int(
        release.pattern.sum()
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--defence decoys:0.1", "needs a secret key"),
        ("--defence decoys:0.1 --key-file none.key", "none.key"),
        ("--defence decoys:abc --key-file office.key", "are numbers"),
        ("--defence decoys:0.1 --key-file " + "0123456789abcdef" * 4, "the key file named"),
        ("--defence decoys:0.1 --key-file short.key", "needs at least 16"),
        ("--defence decoys:2 --key-file office.key", "above 0 and below 1"),
        ("--defence decoys --key-file office.key", "takes decoys:RATE"),
        ("--defence coins:0.1 --key-file office.key", "takes decoys:RATE"),
        ("--defence decoys:0.1,size=3 --key-file office.key", "each once"),
        ("--defence decoys:0.1,lean=1.5 --key-file office.key", "whole number"),
        ("--defence decoys:1e-999999999 --key-file office.key", "are numbers"),
        ("--defence decoys:\u0660.\u0663 --key-file office.key", "are numbers"),
        ("--defence decoys:0.1 --key-file open.key", "can be read or changed by others (mode 666)"),
        ("--defence decoys:0.1 --key-file /dev/zero", "is a device"),
        ("--key-file office.key", "is for a defence"),
        ("--table-id persons", "is for a defence"),
    ],
)
def test_what_is_wrong_with_a_defence_is_said_and_nothing_written(folder, words, says):
    (folder / "short.key").write_text("abcdefghijklmno")
    (folder / "short.key").chmod(0o600)
    (folder / "open.key").write_text("0123456789abcdef0123456789abcdef")
    (folder / "open.key").chmod(0o666)
    out = run(PROTECT, words, "-o out.csv")
    assert out.exit_code == 2
    assert says in out.output
    assert "abcdefghijklmno" not in out.output
    assert "0123456789abcdef" not in out.output
    assert not (folder / "out.csv").exists()


def test_a_decoy_of_values_needs_a_width_and_the_options_are_named(folder):
    words = "protect counts.csv --by row,column --value count --rules P(10)"
    out = run(words, "--defence decoys:0.1 --key-file office.key -o out.csv")
    assert out.exit_code == 2
    assert "give --width, or --defence a width=" in out.output
    assert "Mechanism(" not in out.output
    assert "Decoys(" not in out.output


def test_what_is_nearly_sure_is_not_called_sure():
    facts = {"tables": 1000, "drawn": 0, "largest_primary_probability": 0.9962}
    facts |= {"narrowest_95_percent": 3.0, "narrowest_95_percent_without_algorithm": 5.0}
    assert "with probability 0.9962, and" in posterior_words(facts)


def test_a_release_and_a_table_do_not_share_a_file(folder):
    out = run(PROTECT, "-o m.csv --release m.json")
    assert out.exit_code == 2
    assert "choose two names" in out.output
    assert not (folder / "m.csv").exists()


def test_suppress_takes_decoys_for_jj_files(folder):
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    write_jj(Problem.of(table, table.values < 10, spl=10, publish=table.margins), "p.jj")
    words = "suppress p.jj --integer --defence decoys:0.5,width=10 --key-file office.key"
    out = run(words, "-o p.csv --summary facts.json")
    assert out.exit_code == 0, out.output
    facts = json.loads((folder / "facts.json").read_text())
    assert not facts["guarantee"]["complete"]
    assert "primary" not in facts
    assert read_jj("p.jj").primary.sum() == 1
    missing = run("suppress p.jj --defence decoys:0.5 --key-file office.key -o q.csv")
    assert missing.exit_code == 2
    assert "width" in missing.output
    assert not (folder / "q.csv").exists()


def test_a_key_read_twice_is_the_same(folder):
    assert Key.read("office.key") == Key.read("office.key")
