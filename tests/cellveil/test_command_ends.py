"""How commands end: exit codes under faults, interrupts and limits; what is kept; whose words."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from csp.errors import InputError, argument, phrase
from csp.release_file import read_release
from tests.support.shared import ROOT

SURVEY = "region,sector,firm,turnover\n" + "".join(
    f"R{i % 4},S{(i * 7 + i // 4) % 3},e{i},{103 + 79 * i * (1 + i % 3)}\n" for i in range(26)
)
VALUE = ["--by", "region,sector", "--value", "turnover", "--contributor", "firm"]
PROTECT = ["protect", "survey.csv", *VALUE, "--rules", "P(10)|FREQ(3,10)"]

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text(SURVEY)
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def started(*words, **options):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "cellveil", *map(str, words)], env=env, text=True,
        stderr=subprocess.PIPE, **options,
    )  # fmt: skip


# ---- standard output -----------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_error_does_not_make_a_safe_table_unsafe(folder):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "cellveil", *PROTECT, "-o", "out.csv"], env=env, stderr=full,
            stdout=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert done.returncode == 0
    again = Path("out.csv").read_bytes()
    run(*PROTECT, "-o", "again.csv")
    assert Path("again.csv").read_bytes() == again


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_an_internal_error_is_no_answer_and_not_unsafe(folder, debug):
    """Its exit code must not be that of an unsafe table, with a traceback or without."""
    words = f"""
import sys
sys.argv = ["cellveil", *{list(debug)!r}, *{PROTECT!r}]
import csp.mechanism
def fail(*args, **options):
    raise AttributeError("nothing")
csp.mechanism.Mechanism.protect = fail
from cellveil.__main__ import main
main()
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", words], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "AttributeError" in done.stderr


def test_an_interrupt_during_the_first_imports_has_no_traceback(folder):
    """Signals are taken before the first import that takes time."""
    words = """
import builtins, os, signal, sys
real = builtins.__import__
def slow(name, *args, **options):
    if name.startswith(("importlib.metadata", "cellveil.cli", "typer")):
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *args, **options)
builtins.__import__ = slow
from cellveil.__main__ import main
sys.argv = ["cellveil", "--version"]
main()
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", words], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_signal_while_options_are_read_has_its_own_exit_code(folder):
    words = """
import os, signal, sys
import typer.core
real = typer.core.TyperGroup.parse_args
def parse(self, ctx, args):
    os.kill(os.getpid(), signal.SIGTERM)
    return real(self, ctx, args)
typer.core.TyperGroup.parse_args = parse
from cellveil.__main__ import main
sys.argv = ["cellveil", "--version"]
main()
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", words], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Interrupted" in done.stderr) == (143, True)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends the workers of a killed run")
def test_workers_do_not_outlive_a_killed_run(folder):
    words = """
import os, time
from joblib import Parallel, delayed
from cellveil.cli.tables.several import on_cores
def work(n):
    open(f"pid{n}", "w").write(str(os.getpid()))
    time.sleep(120)
with on_cores(2):
    Parallel()(delayed(work)(n) for n in range(2))
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", words], env=env)
    pids = [Path("pid0"), Path("pid1")]
    end = time.monotonic() + 60
    while not all(path.exists() and path.read_text() for path in pids):
        assert time.monotonic() < end
        time.sleep(0.1)
    process.kill()
    process.wait()
    while any(Path(f"/proc/{path.read_text()}").exists() for path in pids):
        assert time.monotonic() < end + 20
        time.sleep(0.1)


@pytest.mark.parametrize(
    "words",
    [["--bogus" + "q" * 40_000], ["protect", "survey.csv", "--bogus" + "q" * 40_000],
     ["protect", "survey.csv", "--cost", "7" * 40_000], ["q" * 40_000],
     ["microdata", "microaggregate", "survey.csv", "-k", "7" * 40_000]],
)  # fmt: skip
def test_what_the_parser_says_is_no_longer_than_a_screen(folder, words):
    result = run(*words, code=2)
    assert len(result.output) < 3500
    assert "Error" in result.output


# ---- names and fields of others ------------------------------------------------------------------


def test_a_name_that_is_not_utf8_is_named_as_the_cause(folder):
    name = os.fsencode("bad") + b"\xff.csv"
    Path(os.fsdecode(name)).write_text(SURVEY)
    result = run("protect", os.fsdecode(name), *VALUE, "--rules", "P(10)", code=2)
    assert "its name is not UTF-8" in result.output
    assert "\\udcff" in result.output


def test_a_killed_renaming_does_not_lock_the_name(folder):
    """The cells of one run beside the facts of another are those of a killed run."""
    run(*PROTECT, "-o", "out.csv", "--release", "rel.json")
    facts, cells = Path("rel.json"), Path("rel.csv")
    whole = cells.read_bytes(), facts.read_bytes()
    cells.write_bytes(whole[0].replace(b"s,", b"s,", 1).replace(b"R0", b"R9"))
    run(*PROTECT, "-o", "out.csv", "--release", "rel.json")
    assert (cells.read_bytes(), facts.read_bytes()) == whole
    facts.unlink()
    run(*PROTECT, "-o", "out.csv", "--release", "rel.json")
    cells.write_text("what,somebody\nelse,has\n")
    result = run(*PROTECT, "-o", "out.csv", "--release", "rel.json", code=2)
    assert "does not belong to that release" in result.output
    assert cells.read_text() == "what,somebody\nelse,has\n"


def test_facts_of_a_report_are_named_where_they_meet_a_release(folder):
    words = ["--report", "act.html", "--release", "act.json", "-o", "out.csv"]
    result = run(*PROTECT, *words, code=2)
    assert "the facts of --report are written beside it under its name" in result.output
    assert not Path("out.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_bad_input_and_not_unsafe(folder):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        process = started(*PROTECT, stdout=full)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    assert "No space left" in said
    assert "Traceback" not in said
    assert "Audited safe" not in said


def test_a_closed_standard_output_is_bad_input(folder):
    script = (
        "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script, "-m", "cellveil", *PROTECT], env=env, check=False,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert "name a file with -o" in done.stderr


def test_a_reader_that_goes_away_ends_the_command_without_a_word(folder):
    process = started(*PROTECT, stdout=subprocess.PIPE)
    process.stdout.close()
    with process.stderr as stream:
        said = stream.read()
    assert process.wait(timeout=120) == 2
    assert "Traceback" not in said
    assert "Error" not in said


# ---- interrupts ----------------------------------------------------------------------------------

SLOW = """
import sys, time
from cellveil import signals
if sys.argv[1] == "import":
    real = __builtins__.__import__
    def slow(name, *words, **options):
        if name.startswith("cellveil.cli.app"):
            print("ready", flush=True)
            time.sleep(60)
        return real(name, *words, **options)
    __builtins__.__import__ = slow
else:
    from csp.solve.exact.state import Run
    real = Run.report
    def report(self, phase):
        real(self, phase)
        if self.best is not None:
            print("ready", flush=True)
            time.sleep(60)
    Run.report = report
sys.argv[:2] = ["cellveil"]
from cellveil.__main__ import main
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["import", "search"])
def test_an_interrupt_ends_without_a_traceback_and_keeps_the_best(folder, moment, number, code):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [*PROTECT, "-o", "out.csv", "--summary", "s.json"]
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, moment, *words], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        ready = process.stdout.readline()
        process.send_signal(number)
        said = process.communicate(timeout=120)[1]
    assert ready == "ready\n", said
    assert process.returncode == code, said
    assert "Traceback" not in said
    if moment == "search":
        assert "Interrupted: this is the best audited pattern so far" in said
        assert json.loads(Path("s.json").read_text())["safe"]
        assert Path("out.csv").exists()
    else:
        assert not Path("out.csv").exists()


def test_an_interrupt_in_the_last_audit_keeps_the_pattern(folder, monkeypatch):
    from csp.audits import audit as auditing

    real = auditing.interval_claims

    def interrupted(table, pattern, targets, **options):
        if options.get("enough") is None:  # the last audit follows every suppressed cell
            signal.raise_signal(signal.SIGINT)
        return real(table, pattern, targets, **options)

    monkeypatch.setattr(auditing, "interval_claims", interrupted)
    said = run(*PROTECT, "-o", "out.csv", "--intervals", code=130).stderr
    assert "Interrupted" in said
    assert "Not every interval was followed" in said
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0].endswith("lower,upper")
    hidden = [line for line in lines[1:] if ",x,false," in line]
    assert hidden
    # An end that was not proved is as far as a witness went: it would tell the value.
    assert all(line.endswith(",,") for line in hidden)


# ---- limits --------------------------------------------------------------------------------------


def test_the_time_limit_is_that_of_the_whole_command(folder, monkeypatch):
    from cellveil.io import inputs

    real = inputs.read_table

    def slow(source, progress):
        time.sleep(0.3)
        return real(source, progress)

    monkeypatch.setattr(inputs, "read_table", slow)
    result = run(*PROTECT, "--time-limit", "0.2", "-o", "out.csv", code=3)
    assert "the time limit passed before the table was made" in result.stderr
    assert not Path("out.csv").exists()
    assert "600" in run("protect", "--help").stdout


# ---- files ---------------------------------------------------------------------------------------


def test_files_of_one_run_name_each_other(folder):
    run(*PROTECT, "-o", "out.csv", "--release", "r.json", "--summary", "s.json")
    told = json.loads(Path("s.json").read_text())["files"]
    assert told == {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("out.csv", "r.json")
    }
    inner = json.loads(Path("r.json").read_text())
    assert inner["cells_sha256"] == hashlib.sha256(Path("r.csv").read_bytes()).hexdigest()


def test_a_file_that_cannot_be_written_leaves_none_of_the_others(folder, monkeypatch):
    from cellveil.io import files as outputs

    def full(*words, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.json, "dump", full)
    before = sorted(p.name for p in folder.iterdir())
    run(*PROTECT, "-o", "out.csv", "--release", "r.json", "--summary", "s.json", code=2)
    assert sorted(p.name for p in folder.iterdir()) == before


# ---- options -------------------------------------------------------------------------------------


def test_totals_absent_cells_and_counts(folder):
    Path("all.csv").write_text("region,n\nAll,53\nNorth,3\nSouth,50\n")
    words = ["protect", "all.csv", "--by", "region", "--aggregated", "--value", "n"]
    rule = ["--rules", "FREQ(5)"]
    refused = run(*words, *rule, "--count", "n", code=2)
    assert "--total region=All" in refused.stderr
    told = run(*words, *rule, "--count", "n", "--total", "region=All")
    assert "North,,x,false\nSouth,,x,false\nAll,53,s,true" in told.stdout
    assert "--count" in run(*words, *rule, "--total", "region=All", code=2).stderr
    assert "names 'regio'" in run(*words, *rule, "--total", "regio=All", code=2).stderr
    assert (
        "names 'region' twice"
        in run(*words, *rule, "--total", "region=a", "--total", "region=b", code=2).stderr
    )
    assert (
        "each is COLUMN=CODE" in run(*words, *rule, "--total", "a", "--total", "b", code=2).stderr
    )
    Path("some.csv").write_text("r,c,n\n1,a,9\n1,b,8\n2,a,7\n")
    words = ["protect", "some.csv", "--by", "r,c", "--aggregated", "--value", "n", "--count", "n"]
    assert "--absent-zero" in run(*words, *rule, code=2).stderr
    assert "2,b,0" in run(*words, *rule, "--absent-zero").stdout


def test_what_an_earlier_release_suppressed_stays_suppressed(folder):
    Path("first.csv").write_text("r,c,n\n1,a,2\n1,b,18\n1,c,30\n2,a,17\n2,b,19\n2,c,40\n")
    words = ["--by", "r,c", "--aggregated", "--value", "n", "--count", "n", "--rules", "FREQ(5)"]
    run("protect", "first.csv", *words, "--release", "one.json")
    old = read_release("one.json")[0]
    assert old.pattern.any()
    Path("second.csv").write_text("c,r,n\na,1,9\nb,1,18\nc,1,30\na,2,17\nb,2,19\nc,2,40\n")
    run("protect", "second.csv", *words, "--release", "two.json")
    assert not read_release("two.json")[0].pattern.any()
    run("protect", "second.csv", *words, "--keep", "one.json", "--release", "three.json")
    new = read_release("three.json")[0]
    assert {new.labels[i] for i in new.pattern.nonzero()[0]} == {
        old.labels[i] for i in old.pattern.nonzero()[0]
    }


def test_no_integer_is_a_weaker_attacker(folder):
    Path("c.csv").write_text("r,c\n" + "a,x\n" * 2 + "a,y\n" * 9 + "b,x\n" * 8 + "b,y\n" * 7)
    words = ["protect", "c.csv", "--by", "r,c", "--rules", "FREQ(3)", "--summary", "s.json"]
    for option, wanted in ((), True), (("--no-integer",), False), (("--integer",), True):
        run(*words, *option)
        assert json.loads(Path("s.json").read_text())["integer_attacker"] is wanted


@pytest.mark.parametrize(
    ("message", "python", "wanted"),
    [
        (f"choose {argument('negative', 'abs')} or so", "negative='abs'", "--negative abs"),
        (f"give {argument('width')} as well", "width=", "--width"),
        (f"drop {argument('unions', value=True)}", "unions=True", "--unions"),
        (f"say {argument('singletons', value=False)}", "singletons=False", "--no-singletons"),
        (f"use {argument('integer', value=False)}", "integer=False", "integer=False"),
        (f"with {argument('k', 5, option='-k 5')}", "k=5", "-k 5"),
        (f"{argument('missing', (), option='--na NA')}", "missing=()", "missing=()"),
        (f"give {phrase('contributors=', 'the records')}", "contributors=", "the records"),
    ],
)
def test_messages_of_commands_speak_of_options(message, python, wanted):
    options = {"--negative", "--width", "--unions", "--singletons", "--no-singletons", "-k"}
    error = InputError(message)
    assert python in str(error)
    assert str(error).isascii()
    assert wanted in error.in_options(options)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.in_options(options) == error.in_options(options)


def test_messages_leave_data_as_it_is(folder):
    error = InputError("cell (method=N, width=A): column 'width=3' is empty")
    assert error.in_options({"--method", "--width"}) == str(error)
    Path("d.csv").write_text("method,width,n\nN,A,2\nN,B,9\nS,A,8\n")
    words = ["--by", "method,width", "--aggregated", "--value", "n", "--count", "n"]
    said = run("protect", "d.csv", *words, "--rules", "FREQ(3)", code=2).stderr
    assert "the first (method=S, width=B)" in said
    assert "are 0 with --absent-zero" in said
    Path("all.csv").write_text("region,n\nAll,53\nNorth,3\nSouth,50\n")
    words = ["--by", "region", "--aggregated", "--value", "n", "--count", "n"]
    said = run("protect", "all.csv", *words, "--rules", "FREQ(5)", code=2).stderr
    assert "say --total region=All if it is" in said
    assert "total=" not in said.replace("--total", "")


def test_commands_speak_of_options_in_real_errors(folder):
    Path("n.csv").write_text("r,v\na,5\nb,-3\n")
    words = ["protect", "n.csv", "--by", "r", "--value", "v"]
    assert "--negative abs" in run(*words, "--rules", "P(10)", code=2).stderr
    assert "--width" in run("protect", "n.csv", "--by", "r", "--rules", "FREQ(2)", "--strict",
                            code=2).stderr  # fmt: skip


def test_messages_name_what_the_command_line_has(folder):
    Path("v.csv").write_text("r,v,c\na,5,2\nb,3,4\n")
    cells = ["protect", "v.csv", "--by", "r", "--aggregated", "--value", "v"]
    said = run(*cells, "--rules", "P(10)", code=2).stderr
    assert "--contributor" in said
    assert "contributors=" not in said
    said = run(*cells, "--rules", "FREQ(3)", code=2).stderr
    assert "let --count name the column of the values" in said
    Path("n.csv").write_text("r,v,t\na,5,2\nb,-3,1\n")
    said = run("protect", "n.csv", *cells[2:], "--top", "t", "--rules", "NK(1,50)", code=2).stderr
    assert "csp.Table" not in said
    words = ["protect", "v.csv", "--by", "r", "--rules", "FREQ(3)"]
    assert (
        "--strict asks for intervals wider than a width" in run(*words, "--strict", code=2).stderr
    )


def test_a_method_is_named_as_the_command_names_it(folder):
    Path("c.csv").write_text("r,c\n" + "a,x\n" * 2 + "a,y\n" * 9 + "b,x\n" * 8 + "b,y\n" * 7)
    words = ["--by", "r,c", "--rules", "FREQ(3)", "--unions", "--release", "r.json"]
    run("protect", "c.csv", *words)
    said = run("attack", "matching", "r.json", "--method", "hull", code=2).stderr
    assert "use --method auto" in said


def test_options_of_values_need_values(folder):
    words = ["protect", "survey.csv", "--by", "region", "--rules", "FREQ(3)"]
    said = run(*words, "--decimals", "2", "--negative", "abs", code=2).stderr
    assert "without --value records are counted; leave out --decimals, --negative" in said


def test_a_contributor_is_not_a_dimension(folder):
    words = ["protect", "survey.csv", "--by", "region,firm", "--contributor", "firm"]
    said = run(*words, "--value", "turnover", "--rules", "P(10)", code=2).stderr
    assert "the contributor 'firm' is a dimension too" in said
    assert "leave --contributor out" in said


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_title_above_the_header_is_named(folder, separator):
    Path("t.csv").write_text("Turnover 2024\n" + "r,v\na,5\nb,3\n".replace(",", separator))
    said = run("protect", "t.csv", "--by", "r", "--rules", "FREQ(3)", code=2).stderr
    assert "looks like a title above the header: remove it" in said
    said = run("protect", "survey.csv", "--by", "r", "--rules", "FREQ(3)", code=2).stderr
    assert "title" not in said


def test_cells_of_another_release_are_not_overwritten(folder):
    run(*PROTECT, "--release", "r.json")
    run(*PROTECT, "--release", "r.json")
    Path("r.csv").write_text("my own notes\n")
    assert "does not belong to that release" in run(*PROTECT, "--release", "r.json", code=2).stderr
    assert Path("r.csv").read_text() == "my own notes\n"
    Path("r.csv").unlink()
    run(*PROTECT, "--release", "r.json")


def test_an_interrupt_after_the_files_says_what_was_written(folder, monkeypatch):
    from cellveil.cli import answers

    def interrupted(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(answers, "print_result", interrupted)
    said = run(*PROTECT, "--summary", "s.json", code=130).stderr
    assert "Interrupted after these files were written: s.json." in said
    assert "nothing was written" not in said


def test_matching_needs_a_table_of_counts(folder):
    run("protect", "survey.csv", *VALUE, "--rules", "P(10)", "--release", "r.json")
    assert (
        "this attack needs a table of counts" in run("attack", "matching", "r.json", code=2).stderr
    )


def test_commands_run_outside_the_main_thread(folder):
    ends = []
    thread = threading.Thread(target=lambda: ends.append(run(*PROTECT).exit_code))
    thread.start()
    thread.join(60)
    assert ends == [0]
