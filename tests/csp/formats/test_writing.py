"""Files appear whole, together and private, and nothing of a dead run stays."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cellveil.io.files import check_outputs, write_columns, write_csv, write_json
from cellveil.render.screen import printable, say
from csp import InputError, Key
from csp.formats import files as module
from csp.formats.files import atomic_writer, check_writable, written_together
from csp.formats.formulas import as_meant
from tests.support.shared import ROOT


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_appear_together(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("1.txt", "2.txt.gz", "3.bin"))
    one.write_text("old")
    with written_together() as files:
        with files.writer(one) as out:
            out.write("new")
        with files.writer(two) as out:
            out.write("new")
        with files.path(three) as draft:
            draft.write_bytes(b"new")
        assert one.read_text() == "old"
        assert not two.exists()
        assert not three.exists()
        drafts = set(tmp_path.iterdir()) - {one}
        assert {mode(path) for path in drafts} == {0o666 & ~_umask(), mode(one)}
    assert sorted(tmp_path.iterdir()) == [one, two, three]
    assert one.read_text() == gzip.decompress(two.read_bytes()).decode() == three.read_text()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def test_what_was_given_up_does_not_appear(tmp_path: Path) -> None:
    with written_together() as files:
        with pytest.raises(RuntimeError), files.writer(tmp_path / "a.txt") as out:  # noqa: PT012
            out.write("half")
            raise RuntimeError
        with files.writer(tmp_path / "b.txt") as out:
            out.write("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["b.txt"]


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="cannot write"):
        check_outputs({"-o": loop}, [], {"-o": (".csv",)})
    with pytest.raises(InputError, match="cannot write"), atomic_writer(tmp_path / ("a" * 300)):
        pass


def test_an_error_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old.txt"
    old.write_text("old")

    def write() -> None:
        with written_together() as files:
            for name in ("a.txt", "old.txt", "b.txt"):
                with files.writer(tmp_path / name) as out:
                    out.write("new")
            moments[-1]()

    def fail() -> None:
        raise RuntimeError

    moments: list[Callable[[], object]] = [fail]
    with pytest.raises(RuntimeError):
        write()
    assert [p.name for p in tmp_path.iterdir()] == ["old.txt"]
    moments.append(lambda: (tmp_path / "b.txt").mkdir())  # its name is taken in between
    with pytest.raises(InputError, match=r"cannot write .*b\.txt"):
        write()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.txt", "old.txt"]

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    moments.append(bool)
    (tmp_path / "b.txt").rmdir()
    old.write_text("old")
    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write()
    assert [p.name for p in tmp_path.iterdir()] == ["old.txt"]
    assert old.read_text() == "old"
    key = tmp_path / "a.key"
    with pytest.raises(InputError, match="No space left"):
        Key.create(key)
    assert not key.exists()


def test_drafts_are_private_from_their_first_byte(tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    before = os.umask(0)
    try:
        with written_together() as files, files.path(target) as draft:
            assert mode(draft) == 0o600
            inode = draft.stat().st_ino
            import duckdb

            with duckdb.connect() as connection:
                words = f"COPY (SELECT 1 AS v) TO '{draft}' (FORMAT parquet, USE_TMP_FILE false)"
                connection.execute(words)
            assert mode(draft) == 0o600
            assert draft.stat().st_ino == inode
            assert [p.name for p in tmp_path.iterdir()] == [draft.name]
        assert mode(target) == 0o666
        target.chmod(0o640)
        with atomic_writer(target) as out:
            out.write("text")
        assert mode(target) == 0o640
    finally:
        os.umask(before)
    write_columns(target, {"value": ["1"], "published": [True]})
    assert mode(target) == 0o640


KILLED = """
import os, sys, time
from csp.formats.files import atomic_writer
with atomic_writer(sys.argv[1]) as out:
    out.write("half")
    out.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(module.fcntl is None, reason="needs locks")
def test_drafts_of_dead_runs_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, cwd=ROOT
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (draft,) = tmp_path.iterdir()
        old = time.time() - 3600
        os.utime(draft, (old, old))
        check_writable(target)
        assert draft.exists(), "its run is alive"
        child.send_signal(signal.SIGKILL)
        child.wait()
    own = tmp_path / ".notes.part"
    own.write_text("not a draft")
    young = tmp_path / f".b.txt.{'0' * 12}.part"
    young.write_text("perhaps on its way to its lock")
    check_writable(target)
    assert sorted(tmp_path.iterdir()) == sorted([own, young])


# ---- what others make of the text ------------------------------------------------------------


def test_labels_are_no_formulas() -> None:
    labels = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-2+3", "\t=1", "\r=1", "'=1", "''@x",
              "-12.5", "+3", "-inf", "it's", "'tis", "a=b", ""]  # fmt: skip
    out = io.StringIO()
    write_csv(out, {"=code": labels, "value": [str(-i) for i in range(len(labels))]})
    rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    assert rows[0] == ["'=code", "value"]
    found = [row[0] for row in rows[1:]]
    assert not any(text[:1] and text[0] in "=@\t\r" for text in found)
    assert found[8:] == labels[8:]
    assert [text.removeprefix("'") for text in found[:8]] == labels[:8]
    assert [as_meant(text) for text in found] == labels
    assert [row[1] for row in rows[1:]] == [str(-i) for i in range(len(labels))]


def test_columns_that_parquet_would_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differ in case only"):
        write_columns(tmp_path / "a.parquet", {"a": ["1"], "A": ["2"], "published": [True]})
    assert not list(tmp_path.iterdir())
    with written_together() as files:
        write_columns(tmp_path / "a.csv", {"a": ["1"], "A": ["2"]}, files)
        told = files.sha256(tmp_path / "a.csv")
        write_json(tmp_path / "a.json", {"cells": told}, files)
        assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv").read_text() == "a,A\n1,2\n"
    assert hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest() == told


def test_labels_cannot_command_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "N\x1b[2J\x9b1m\u202e\u2028\x07\rX"
    assert printable(hostile) == "N\\x1b[2J\\x9b1m\\u202e\\u2028\\x07\\rX"
    for plain in ("Köln", "a b", "北京", "\u06cc\u200c\u0647", "'quoted' \\x", "🙂"):
        assert printable(plain) == plain
    say(f"Error: {hostile}")
    assert "\x1b" not in capsys.readouterr().err
