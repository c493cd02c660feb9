"""Experiments in files: killed at any moment, resumed with other options, written by two."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from csp import InputError
from studies.stored_trials import load_records, run_missing


@dataclass(frozen=True)
class Square:
    """A trial."""

    number: int
    square: int


def square(number: int, sign: int = 1) -> Square:
    return Square(number, sign * number**2)


def read(facts: dict[str, Any]) -> Square:
    return Square(**facts)


def squares(store: Path, most: int, *, version: str = "1", **options: Any) -> list[Square]:
    wanted = [{"number": i, **options} for i in range(most)]
    return run_missing(store, wanted, square, read, version=version)


def test_trials_of_other_options_or_versions_are_not_taken(tmp_path: Path) -> None:
    store = tmp_path / "t.jsonl"
    assert [one.square for one in squares(store, 3)] == [0, 1, 4]
    assert [one.square for one in squares(store, 3, sign=-1)] == [0, -1, -4]
    assert [one.square for one in squares(store, 3)] == [0, 1, 4]
    assert len(store.read_text().splitlines()) == 6
    squares(store, 3, version="2")
    assert len(store.read_text().splitlines()) == 9
    assert len(load_records(store, read, "1")) == 6
    assert len(load_records(store, read, "2")) == 3


def test_reading_does_not_write(tmp_path: Path) -> None:
    store = tmp_path / "t.jsonl"
    squares(store, 3)
    store.write_bytes(store.read_bytes()[:-4])
    before = store.read_bytes(), store.stat().st_mtime_ns
    assert len(load_records(store, read, "1")) == 2
    assert (store.read_bytes(), store.stat().st_mtime_ns) == before


class Killed(BaseException):
    """Stands for the end of the process."""


NAMES = ("open", "replace", "fsync", "fdopen", "write", "link", "rename", "fchmod")


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(os, name)])
def test_no_trial_is_lost_whenever_the_mending_is_killed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "t.jsonl"
    done = squares(store, 4)
    torn = store.read_bytes() + '{"version": "1", "made_with": {"number": "ä'.encode()[:-1]
    real = getattr(os, name)
    for turn in range(20):
        store.write_bytes(torn)
        calls = 0

        def killing(*args: Any, at: int = turn, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > at:
                raise Killed
            return real(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, name, killing)
            try:
                squares(store, 6)
            except Killed:
                killed = True
            else:
                killed = False
        assert load_records(store, read, "1")[:4] == done
        assert squares(store, 6) == squares(tmp_path / "other.jsonl", 6)
        assert len(store.read_text().splitlines()) == 6
        if not killed:
            return
    pytest.fail("every call was killed")


WRITER = """
import sys, time
from pathlib import Path
from studies.stored_trials import run_missing
from tests.studies.test_stored_trials import read, square

def slow(number):
    print("begun", flush=True)
    sys.stdin.readline()
    return square(number)

run_missing(Path(sys.argv[1]), [{"number": 0}], slow, read, version="1")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks on files there")
def test_a_second_process_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "t.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        with pytest.raises(InputError, match="another run writes"):
            squares(store, 2)
        first.stdin.write("\n")
        first.stdin.close()
        assert first.wait(60) == 0
    assert len(squares(store, 2)) == 2
    keys = [json.loads(line)["made_with"]["number"] for line in store.read_text().splitlines()]
    assert keys == [0, 1]
