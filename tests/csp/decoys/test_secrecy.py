"""The key shows nowhere, and what is published does not tell primary cells from decoys."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import pickle
import traceback
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csp import (
    Contributors,
    Decoys,
    InputError,
    Key,
    Mechanism,
    MinFrequency,
    PPercent,
    Problem,
    Table,
    Unprotectable,
    defend,
    write_jj,
)
from csp.release_file import read_release, write_release
from tests.csp.decoys.test_published_examples import forced, listed

SECRET = hashlib.sha256(b"never to be seen").digest()
HEXED = SECRET.hex().encode()
KEY = Key(SECRET)
TABLE = Table.from_array([[1, 15, 13, 9], [16, 2, 14, 8], [11, 13, 1, 7]], names=["region", "sex"])
MECHANISM = Mechanism(
    MinFrequency(3), width=5, margins="publish", defence=Decoys(Fraction(1, 4), KEY, table="one")
)


def shows(text: str | bytes, secret: bytes = SECRET) -> bool:
    """Whether some bytes of a key stand in a text: as they are, in digits, or as Python writes."""
    held = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    lowered = held.lower()
    parts = [secret[i : i + 6] for i in range(0, len(secret) - 5, 3)]
    return any(
        part in held
        or part.hex().encode() in lowered
        or repr(part)[2:-1].encode() in held
        or ", ".join(map(str, part)).encode() in held
        for part in parts
    )  # fmt: skip


def test_the_search_for_a_key_finds_one():
    for text in (SECRET, SECRET.hex().upper(), repr(SECRET), str(list(SECRET)), HEXED):
        assert shows(text)
    assert not shows(repr(KEY))


@pytest.fixture(scope="module")
def found() -> Any:
    return MECHANISM.protect(TABLE)


def test_no_text_form_shows_the_key(found):
    things = [KEY, MECHANISM.defence, MECHANISM, found, found.defended, found.defended.problem,
              found.suppression, found.audit, found.release, found.guarantee]  # fmt: skip
    for thing in things:
        for text in (
            repr(thing),
            str(thing),
            f"{thing}",
            f"{thing!s:>400}",
            "{0} {0!r} {0!a}".format(thing),  # noqa: UP032
        ):
            assert not shows(text), type(thing)
    assert not hasattr(KEY, "__dict__")
    assert not shows(repr(dir(KEY)) + repr(asdict(MECHANISM)))
    assert not shows(repr(hash(KEY)))
    assert hash(KEY) == hash(Key.new())


def test_no_plain_data_show_the_key(found, tmp_path: Path):
    for reveal in (False, True):
        assert not shows(json.dumps(found.summary(reveal=reveal)))
        assert not shows(json.dumps(found.defended.facts(found.problem, reveal=reveal)))
        assert not shows(found.to_frame("pandas", reveal=reveal, intervals=True).to_csv())
    assert not shows(json.dumps(MECHANISM.to_dict()))
    assert not shows(json.dumps(found.guarantee.to_dict()))
    write_release(found.release, tmp_path / "release.json", MECHANISM)
    found.to_jj(tmp_path / "revealed.jj", reveal=True)
    write_jj(found.defended.problem, tmp_path / "inner.jj")
    files = list(tmp_path.iterdir())
    assert len(files) == 4
    assert not any(shows(file.read_bytes()) for file in files)
    _, mechanism = read_release(tmp_path / "release.json")
    assert mechanism.defence == replace(MECHANISM.defence.public, table="")


def test_pickles_are_refused_and_copies_share_the_key(found):
    for thing in (KEY, MECHANISM.defence, MECHANISM, found.mechanism):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(InputError, match="cannot be pickled") as caught:
                pickle.dumps(thing, protocol)
            assert not shows(str(caught.value))
    assert copy.copy(KEY) is KEY
    assert copy.deepcopy(MECHANISM).defence.key == KEY
    assert copy.deepcopy(MECHANISM.defence).coins(TABLE).tolist() == (
        MECHANISM.defence.coins(TABLE).tolist()
    )


def test_no_exception_or_log_shows_the_key(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    bare = Table.from_array([[1, 0], [0, 1]])
    calls = [
        lambda: Mechanism(MinFrequency(9), width=50, margins="publish",
                          defence=MECHANISM.defence).protect(TABLE),
        lambda: Mechanism(MinFrequency(3), width=9, margins="publish",
                          defence=MECHANISM.defence).protect(bare),
        lambda: replace(MECHANISM, singletons=True).protect(TABLE),
        lambda: Decoys(2, KEY),
        lambda: Decoys(0.1, KEY, width=1, share=1),
        lambda: Decoys(0.1, KEY, nothing=1),
        lambda: Decoys(0.1, SECRET[:9]),
        lambda: Decoys(0.1, SECRET.hex()),
        lambda: defend(Problem.of(TABLE, TABLE.values < 0), MECHANISM.defence),
        lambda: Mechanism(MinFrequency(3), defence=KEY),
        lambda: Mechanism(MinFrequency(3), defence=SECRET),
        lambda: Decoys(SECRET, 0.1),
        lambda: Decoys(SECRET.hex(), KEY),
        lambda: Decoys(0.1, KEY, spread=SECRET),
        lambda: Decoys(0.1, KEY, width=SECRET.hex()),
        lambda: Decoys(0.1, KEY, share=SECRET),
        lambda: Decoys(0.1, KEY, table=SECRET),
        lambda: KEY.draw(3),
        lambda: KEY < KEY,
        lambda: KEY.secret,
    ]  # fmt: skip
    texts = []
    for number, call in enumerate(calls):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        error = caught.value
        texts.append((number, f"{error!r} {error} {error.args} {vars(error)}"))
        texts.append((number, "".join(traceback.format_exception(error))))
    MECHANISM.protect(TABLE, progress=lambda state: texts.append((-1, repr(state))))
    out = capfd.readouterr()
    texts.append((-2, caplog.text + out.out + out.err))
    assert not [number for number, text in texts if shows(text)]


def test_a_mechanism_with_a_defence_comes_back_without_its_key():
    for decoys in (
        Decoys(0.1, KEY),
        Decoys(Fraction(1, 3), KEY, spread=0, width="2.5", table="secret name"),
        Decoys(0.25, KEY, share=Fraction(1, 7)),
    ):
        one = replace(MECHANISM, defence=decoys)
        data = json.loads(json.dumps(one.to_dict()))
        assert "secret name" not in json.dumps(data)
        again = Mechanism.from_dict(data)
        assert again.defence.key is None
        assert again.to_dict() == one.to_dict()
        assert again.defence.to_dict() == decoys.public.to_dict()
        for name in ("rate", "spread", "width", "share"):
            before, after = getattr(decoys, name), getattr(again.defence, name)
            assert (before is None) == (after is None)
            assert before is None or Fraction(str(before)) == Fraction(str(after))
    assert Mechanism.from_dict(Mechanism(MinFrequency(3)).to_dict()).defence is None


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "decoys"},
        {"rate": "0.1"},
        {"kind": "other", "rate": "0.1"},
        {"kind": "decoys", "rate": "0.1", "key": "00"},
        {"kind": "decoys", "rate": "a tenth"},
        {"kind": "decoys", "rate": "1/0"},
        {"kind": "decoys", "rate": "2"},
        {"kind": "decoys", "rate": "nan"},
        {"kind": "decoys", "rate": "0.1", "width": "1", "share": "0.1"},
        {"kind": "decoys", "rate": "0.1", "width": [1]},
    ],
)
def test_wrong_data_of_a_defence_are_refused(data):
    with pytest.raises(InputError):
        Decoys.from_dict(data)


# ---- what may be told -----------------------------------------------------------------------


def told(found: Any) -> dict[str, Any]:
    frame = found.to_frame("pandas", intervals=True)
    return {
        "summary": found.summary(),
        "repr": repr(found),
        "defended": repr(found.defended),
        "audit": repr(found.audit),
        "guarantee": found.guarantee,
        "release": repr(found.release),
        "frame": frame.fillna(-1).to_dict(),
    }


@pytest.mark.parametrize("cost", ["unit", "value"])
def test_tables_with_one_pattern_are_told_in_the_same_words(found, cost):
    """What is said of a release cannot depend on which of its tables is the true one."""
    pattern = found.pattern
    again = replace(MECHANISM, cost=cost, defence=forced(pattern))
    seen, primaries = [], set()
    for block in listed(found):
        for values in block[:: 1 + len(block) // 20]:
            table = found.release.table(values)
            one = again.protect(table)
            assert np.array_equal(one.pattern, pattern)
            seen.append(told(one))
            primaries.add(int(one.problem.primary.sum()))
    assert len(primaries) > 2, "tables with few and with many primary cells"
    assert len(seen) > 5
    assert all(one == seen[0] for one in seen)
    searched = told(replace(MECHANISM, cost=cost, defence=found.mechanism.defence).protect(TABLE))
    defence = seen[0]["summary"].pop("defence")
    assert defence["kind"] == searched["summary"].pop("defence")["kind"]
    for one in (seen[0], searched):
        one["summary"].pop("guarantee")
    if cost == "unit":
        assert seen[0]["summary"] == searched["summary"], "with and without a search"


def people(inner: np.ndarray, count: np.ndarray) -> Table:
    """Table whose contributors are at work on hidden cells."""
    table = Table.from_array(inner)
    counts = Table.from_array(count).values
    top = np.zeros((table.n_cells, 2), np.int64)
    top[:, 0] = np.where(counts == 1, table.values, table.values // 2)
    return table.replace(contributors=Contributors(counts.copy(), table.values.copy(), top))


def test_singletons_among_hidden_cells_limit_the_guarantee():
    """Who is alone in a cell is not published, and decides which pattern is safe."""
    inner = np.array([[20, 30, 25], [30, 22, 28], [25, 31, 27]])
    count = np.full((3, 3), 5)
    count[0, 0] = 2
    mechanism = Mechanism(MinFrequency(3), width=10, margins="publish", singletons=True)
    one = replace(mechanism, defence=forced(np.zeros(16, bool))).protect(people(inner, count))
    count = count.copy()
    first = np.flatnonzero(one.pattern & (one.table.values != 20))[0]
    count[divmod(int(first), 4)] = 1
    other = replace(mechanism, defence=forced(one.pattern)).protect(people(inner, count))
    assert not np.array_equal(other.pattern, one.pattern)
    assert not one.guarantee.complete
    assert "claims_verified" not in one.summary()
    unguarded = replace(mechanism, singletons=False, defence=Decoys(0.1, KEY))
    assert unguarded.protect(people(inner, count)).guarantee.complete


def test_shares_of_values_limit_the_guarantee():
    inner = np.array([[20, 30, 25], [30, 22, 28], [25, 31, 27]])
    count = np.full((3, 3), 2)
    mechanism = Mechanism(
        PPercent(10), margins="publish", defence=Decoys(0.1, KEY, share=Fraction(1, 5))
    )
    assert not mechanism.protect(people(inner, count)).guarantee.complete


def test_singletons_in_a_table_of_counts_are_refused():
    with pytest.raises(InputError, match="singletons=True in a table of counts"):
        replace(MECHANISM, singletons=True).protect(TABLE)


def test_the_chance_in_a_summary_is_never_rounded_up(found):
    told = found.guarantee.to_dict()["log10_chance"]
    assert found.guarantee.log10_chance - 0.01 <= told <= found.guarantee.log10_chance


def test_an_unprotectable_cell_is_named():
    mechanism = Mechanism(MinFrequency(3), width=9, margins="publish", defence=Decoys(0.4, KEY))
    with pytest.raises(Unprotectable) as caught:
        mechanism.protect(Table.from_array([[1, 3], [4, 2]]))
    assert caught.value.cell in {("1", "1"), ("2", "2")}
