"""JJ files: what is written reads back, and what is malformed is named with its line."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from csp.errors import InputError, NotAdditive
from csp.exact import MAX_VALUE, UNBOUNDED
from csp.formats.files import atomic_writer
from csp.formats.reading import read_text
from csp.problem.jj import read_jj, write_jj
from csp.problem.problem import Problem
from tests.support.shared import examples, shared_data
from tests.support.strategies import cube, problems

GOOD = """\
0
3
0 10 10 s 0 100 0 0 0
1 4 4 u 0 100 2 2.25 0
7 6 6 z 0 1e30 0 0 1
1
0 3 : 0 (-1) 1 (1) 7 (1)
"""

SHARED = [
    *("cbs", "dale", "hier13", "hier13x13x13a", "hier13x13x13d", "hier13x13x7d", "hier13x7x7d"),
    *("jjtabeltest3", "ninenew", "osorio", "table1", "table3", "table7", "table8", "targus"),
    *("toy3dsarah", "two5in6"),
]


def same(a: Problem, b: Problem) -> None:
    for name in ("primary", "lpl", "upl", "spl", "cost", "status"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("values", "lower", "upper"):
        assert np.array_equal(getattr(a.table, name), getattr(b.table, name)), name
    assert (a.table.scale, a.cost_scale) == (b.table.scale, b.cost_scale)
    assert abs(a.table.relations - b.table.relations).nnz == 0


def written(tmp_path, text):
    path = tmp_path / "problem.jj"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_the_layout(tmp_path) -> None:
    problem = read_jj(written(tmp_path, GOOD))
    assert problem.table.scale == 2
    assert problem.table.values.tolist() == [1000, 400, 600]
    assert problem.upl.tolist() == [0, 225, 0]
    assert problem.cost.tolist() == [10, 4, 6]
    assert problem.cost_scale == 0
    assert problem.table.labels == (("0",), ("1",), ("7",))
    assert problem.table.names == ("cell",)
    assert problem.table.upper.tolist() == [10000, 10000, UNBOUNDED]
    assert problem.table.relations.toarray().tolist() == [[-1, 1, 1]]
    assert "".join(problem.status) == "suz"


@pytest.mark.parametrize("name", ["out.jj", "out.jj.gz"])
def test_round_trip_of_a_file(tmp_path, name) -> None:
    first = read_jj(written(tmp_path, GOOD))
    write_jj(first, tmp_path / name)
    again = read_jj(tmp_path / name)
    same(first, again)
    assert again.table.labels == first.table.labels


@given(problems())
@examples(60)
def test_round_trip_of_any_problem(tmp_path_factory, problem) -> None:
    path = tmp_path_factory.mktemp("jj") / "any.jj"
    write_jj(problem, path)
    again = read_jj(path)
    bare = problem.primary & (problem.lpl + problem.upl + problem.spl == 0)
    assert (again.spl[bare] == 1).all()
    same(problem, replace(again, spl=np.where(bare, 0, again.spl)))
    assert again.table.labels == tuple((str(i),) for i in range(problem.table.n_cells))


def test_round_trip_with_decimals_and_no_bounds(tmp_path) -> None:
    table = cube(np.array([[125, 1], [0, 3]]), lower=-UNBOUNDED, upper=MAX_VALUE, scale=8)
    primary = np.arange(9) == 0
    first = Problem.of(table, primary, lpl=1, upl=7, cost=table.values, cost_scale=3)
    write_jj(first, tmp_path / "a.jj")
    same(first, read_jj(tmp_path / "a.jj"))


def test_levels_of_many_digits_stay_exact(tmp_path) -> None:
    text = GOOD.replace("2 2.25 0", "2 2.000000000000001 0")
    text = (
        text.replace("0 100", "0 8")
        .replace(" 10 ", " 5 ")
        .replace(" 4 ", " 3 ")
        .replace(" 6 ", " 2 ")
    )
    problem = read_jj(written(tmp_path, text))
    assert problem.table.scale == 15
    assert problem.upl[1] == 2 * 10**15 + 1


def test_same_text_gives_the_same_bytes(tmp_path) -> None:
    problem = read_jj(written(tmp_path, GOOD))
    write_jj(problem, tmp_path / "a.jj.gz")
    write_jj(problem, tmp_path / "b.jj.gz")
    assert (tmp_path / "a.jj.gz").read_bytes() == (tmp_path / "b.jj.gz").read_bytes()


@pytest.mark.parametrize("name", SHARED)
def test_shared_instances(tmp_path, name) -> None:
    path = shared_data("instances", f"{name}.jj.gz")
    start = time.process_time()
    problem = read_jj(path)
    assert time.process_time() - start < 2, "16,514 cells take 0.15 s on a free core"
    write_jj(problem, tmp_path / "again.jj")
    again = read_jj(tmp_path / "again.jj")
    same(problem, again)
    assert again.table.labels == problem.table.labels


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("0\n3\n", "5\n3\n", 1, "expected 0"),
        ("0\n3\n", "0\nthree\n", 2, "number of cells"),
        ("0\n3\n", "0\n0\n", 2, "at least one cell"),
        ("0\n3\n", "0\n4\n", 6, "1 columns, expected 9"),
        ("0\n3\n", "0\n2\n", 5, "number of relations"),
        ("1 4 4 u 0 100 2", "1 4 4 u 0 100", 4, "8 columns, expected 9"),
        ("4 u 0", "4 q 0", 4, "status 'q'"),
        ("7 6 6", "1 6 6", 5, "id 1 occurs twice, first in line 4"),
        ("7 6 6", "x 6 6", 5, "id 'x'"),
        ("1 4 4 u", "1 4,5 4 u", 4, "value is not a finite"),
        ("1 4 4 u", "1 nan 4 u", 4, "value is not a finite"),
        ("1 4 4 u", "1 inf 4 u", 4, "value is not a finite"),
        ("1 4 4 u", "1 4 -4 u", 4, "cost is negative"),
        ("1 4 4 u", "1 4 9223372036854775808 u", 4, "cost is beyond"),
        ("0 10 10 s", f"0 {2**60} 10 s", 3, "value is beyond"),
        ("2.25", "2.0000000000000001", 4, "16 decimals"),
        ("u 0 100 2", "u 0 100 5", 4, "value - lpl lies below lb"),
        ("2.25", "96.5", 4, "value . upl lies above ub"),
        ("2.25", "-1", 4, "upl is negative"),
        ("u 0 100", "u 5 100", 4, "value lies below lb"),
        ("u 0 100", "u 0 3", 4, "value lies above ub"),
        ("0 3 :", "7 3 :", 7, "rhs must be 0"),
        ("0 3 :", "a 3 :", 7, "rhs is not a number"),
        ("0 3 :", "0 2 :", 7, "3 members, but 2 announced"),
        ("0 3 :", "0 3", 7, "expected a relation"),
        ("7 (1)", "8 (1)", 7, "no cell has id 8"),
        ("7 (1)", "1 (1)", 7, "id 1 occurs twice"),
        ("7 (1)", "7 (1.5)", 7, "whole coefficients"),
        ("7 (1)", "7 1", 7, "whole coefficients"),
        ("7 (1)", "7 (0)", 7, "coefficient of id 7"),
        ("7 (1)", "7 (2)", 7, "does not hold"),
        ("1\n0 3", "2\n0 3", 7, "one more line|1 more line"),
        ("7 (1)\n", "7 (1)\n\nmore\n", 9, "nothing may follow"),
        ("u 0 100", "u 0 1_0", 4, "plain digits"),
        ("1 4 4 u", "1 ٤ 4 u", 4, "plain digits"),
    ],
)
def test_malformed(tmp_path, old, new, line, message) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"problem.jj', line {line}: .*({message})"):
        read_jj(path)


def test_a_relation_that_fails_is_not_additive(tmp_path) -> None:
    with pytest.raises(NotAdditive, match="line 7"):
        read_jj(written(tmp_path, GOOD.replace("7 (1)", "7 (2)")))


@pytest.mark.parametrize("lines", range(7))
def test_truncated(tmp_path, lines) -> None:
    path = written(tmp_path, "".join(GOOD.splitlines(keepends=True)[:lines]))
    with pytest.raises(InputError, match=f"line {max(lines, 1)}"):
        read_jj(path)


def test_no_message_shows_the_value_of_a_cell(tmp_path) -> None:
    for old, new in (("7 (1)", "7 (2)"), ("u 0 100", "u 5 100")):
        text = GOOD.replace("1 4 4", "1 4.125 4").replace("0 10 10", "0 10.125 10")
        with pytest.raises(InputError) as caught:
            read_jj(written(tmp_path, text.replace(old, new)))
        assert "4125" not in str(caught.value)
        assert "4.125" not in str(caught.value)


def test_unreadable_files(tmp_path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_jj(tmp_path / "nowhere.jj")
    with pytest.raises(InputError, match="is a folder"):
        read_jj(tmp_path)
    (tmp_path / "cut.jj.gz").write_bytes(gzip.compress(GOOD.encode())[:-12])
    with pytest.raises(InputError, match="damaged gzip"):
        read_jj(tmp_path / "cut.jj.gz")
    (tmp_path / "latin.jj").write_bytes(b"0\n3\xe4\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        read_jj(tmp_path / "latin.jj")


def test_what_the_format_cannot_say(tmp_path) -> None:
    problem = read_jj(written(tmp_path, GOOD))
    with pytest.raises(InputError, match="singletons"):
        write_jj(replace(problem, singletons=problem.primary), tmp_path / "a.jj")
    with pytest.raises(InputError, match="union rule"):
        write_jj(replace(problem, union_rule=lambda t: t), tmp_path / "a.jj")
    assert not (tmp_path / "a.jj").exists()


# ---- writing whole or not at all -------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_failed_write_leaves_the_old_file(tmp_path, name) -> None:
    path = tmp_path / name
    with atomic_writer(path) as out:
        out.write("first")
    with pytest.raises(RuntimeError), atomic_writer(path) as out:  # noqa: PT012
        out.write("second")
        raise RuntimeError
    assert read_text(path) == "first"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_files_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no folder" / "a.jj", tmp_path, tmp_path / "file" / "a.jj"):
        with pytest.raises(InputError, match="cannot write"), atomic_writer(path) as out:
            out.write("x")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_an_input_error(tmp_path) -> None:
    with (
        pytest.raises(InputError, match="No space"),
        atomic_writer(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_errors_of_other_files_pass_through(tmp_path) -> None:
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "a.txt"):
        (tmp_path / "other").read_text()


def test_permissions_and_links_survive(tmp_path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(real)
    with atomic_writer(tmp_path / "link.txt") as out:
        out.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
