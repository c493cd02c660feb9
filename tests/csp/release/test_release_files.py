"""Releases and mechanisms as files: nothing lost, nothing told, wrong files named."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Manual, Mechanism, MinFrequency, PPercent, Table, Zero
from csp.formats.files import written_together
from csp.release.release import Release
from csp.release_file import read_release, write_release
from tests.support.shared import examples
from tests.support.strategies import small_tables


@examples(40)
@given(table=small_tables(), data=st.data())
def test_a_release_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, table: Table, data: st.DataObject
) -> None:
    n = table.n_cells
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    release = Release.of(table, flags)
    path = tmp_path_factory.mktemp("release") / "one.json"
    write_release(release, path)
    again, mechanism = read_release(path)
    assert mechanism is None
    for name in ("published", "pattern", "lower", "upper"):
        assert (getattr(again, name) == getattr(release, name)).all()
    assert (again.relations != release.relations).nnz == 0
    for name in ("labels", "scale", "names", "roots"):
        assert getattr(again, name) == getattr(release, name)


@examples(40)
@given(
    st.sampled_from(
        [MinFrequency(5), MinFrequency(3, zero_sensitive=True) | Zero(2), PPercent(10)]
    ),
    st.one_of(st.none(), st.integers(1, 20), st.just("2.5")),
    st.booleans(),
    st.sampled_from(["unit", "value"]),
    st.sampled_from(["publish", "suppress"]),
    st.sampled_from([None, True, False]),
)
def test_a_mechanism_comes_back_as_it_was(
    rule: object, width: object, flag: bool, cost: str, margins: str, integer: bool | None
) -> None:
    one = Mechanism(
        rule, width=width, strict=flag and width is not None, cost=cost, margins=margins,  # type: ignore[arg-type]
        singletons=flag, integer=integer,
    )  # fmt: skip
    again = Mechanism.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    assert again.rules == one.rules


def test_mechanisms_that_are_no_data_are_refused() -> None:
    for one in (
        Mechanism(lambda table: table.values < 3, width=1),
        Mechanism(Manual([("1", "1")]), width=1),
        Mechanism(MinFrequency(3), cost=lambda table: table.values),
    ):
        with pytest.raises(InputError, match="cannot"):
            one.to_dict()
    with pytest.raises(InputError, match="unknown key 'with'"):
        Mechanism.from_dict({"rules": "FREQ(3)", "with": 3})
    with pytest.raises(InputError, match="needs the key 'rules'"):
        Mechanism.from_dict({"width": 3})


def written(folder: Path) -> Path:
    table = Table.from_array([[1000003, 20, 30], [40, 1000033, 60]], decimals=2)
    release = Release.of(table, np.isin(table.values, (100000300, 100003300)))
    path, cells = write_release(release, folder / "r.json", Mechanism(MinFrequency(3), width=2))
    for file in (path, cells):
        text = file.read_text()
        assert "1000003" not in text
        assert "1000033" not in text
    return path


def test_a_file_that_does_not_say_what_its_cells_are_holds_no_counts(tmp_path: Path) -> None:
    """Files of earlier builds do not: nobody knows whether rules on contributors apply."""
    path = written(tmp_path)
    assert read_release(path)[0].of_counts
    facts = json.loads(path.read_text())
    del facts["of_counts"]
    path.write_text(json.dumps(facts))
    assert read_release(path)[0].of_counts is None


def test_no_suppressed_value_gets_into_a_file(tmp_path: Path) -> None:
    written(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"cellveil release 2"', '"other"', "is not a release"),
        ('"scale": 2', '"scale": "2"', "key 'scale'"),
        ('"r.csv"', '"../r.csv"', "in the same folder"),
        ('"r.csv"', '"none.csv"', "there is no file"),
        ('"count": 7', '"count": 2', "the lists of 'relations' disagree"),
        ('"coefficients": [\n   1', '"coefficients": [\n   1.9', "whole numbers 'coefficients'"),
        ('"rows": [\n   0', '"rows": [\n   false', "whole numbers 'rows'"),
        ("{", "", "not JSON"),
        ('"roots": [', '"roots": ["x", ', "a list of 2 texts"),
        ('"rules"', '"rule"', "unknown key 'rule'"),
        ('"of_counts": true', '"of_counts": 1', "'of_counts' must be true, false or null"),
    ],
)
def test_broken_json_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = written(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        read_release(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("d1,d2,value", "d1,value", "line 1: the columns must be"),
        ("1,2,20.00,s", "1,2,20.00,x", "line 3: status must be"),
        ("1,2,20.00,s", "1,2,20.001,s", "line 3, column value"),
        ("1,2,20.00,s", "1,2,many,s", "line 3, column value"),
        ("1,2,20.00,s", "1,2,1e999999,s", "line 3, column value"),
        ("1,2,20.00,s", "1,2,20.00" + "0" * 40 + "1,s", "line 3, column value"),
        ("1,2,20.00,s,0.00", "1,2,20.00,s", "line 3: 5 columns in place of 6"),
        ("1,2,20.00,s,0.00", "1,3,20.00,s,0.00", "line 4: cell .* was in line 3"),
    ],
)
def test_broken_cells_are_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = written(tmp_path)
    cells = path.with_suffix(".csv")
    text = cells.read_text()
    assert old in text
    changed = text.replace(old, new, 1)
    cells.write_text(changed)
    with pytest.raises(InputError, match="do not belong together"):
        read_release(path)
    sums = (hashlib.sha256(t.encode()).hexdigest() for t in (text, changed))
    path.write_text(path.read_text().replace(*sums))
    with pytest.raises(InputError, match=words):
        read_release(path)


def test_files_of_two_releases_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    table = Table.from_array([[7, 20, 30], [40, 50, 60]], decimals=2)
    other = Release.of(table, table.values == 700)
    replace = Path.replace

    def torn(self: Path, target: Path) -> Path:
        if target.suffix == ".json":
            raise OSError(5, "the machine stops between the two files")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", torn)
        with pytest.raises(InputError, match="cannot write"):
            write_release(other, path)
    with pytest.raises(InputError, match="do not belong together"):
        read_release(path)
    write_release(other, path)
    assert (read_release(path)[0].pattern == other.pattern).all()
    with written_together() as files:
        write_release(other, tmp_path / "s.json", files=files)
        assert not (tmp_path / "s.csv").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "r.json", "s.csv", "s.json"]


def test_values_that_do_not_agree(tmp_path: Path) -> None:
    table = Table.from_array([[1, 20], [30, 40]])
    release = Release.of(table, table.values == 1)
    with pytest.raises(InputError, match="published with another value"):
        release.table(table.values + 1)
    with pytest.raises(InputError, match="give those of all 9 cells or of the 1"):
        release.table([1, 2])
    assert (release.table([1]).values == table.values).all()
    assert (release.table(table.values).values == table.values).all()
    with pytest.raises(InputError, match=r"must end with \.json"):
        write_release(release, tmp_path / "r.txt")
