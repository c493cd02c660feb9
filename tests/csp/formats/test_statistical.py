"""Files of Stata, SPSS and SAS: the same columns and tables as the records that were written."""

from __future__ import annotations

import base64
import datetime
import math
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cellveil.cli.app import app
from csp import InputError, Table, inspect
from csp.formats.delimited import TextFile
from csp.tables.codes import text_codes
from csp.tables.columns import column_names, read_columns
from csp.tables.sources.files import read_whole

pd = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")

WRITERS = {
    "a.dta": pyreadstat.write_dta, "a.sav": pyreadstat.write_sav,
    "a.zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    "a.xpt": pyreadstat.write_xport,
}  # fmt: skip

# Six records that another program wrote: region (text), size and turnover (numbers).
SAS = zlib.decompress(base64.b85decode(
    "c-muNK!8K98WT2)2%g_NiGzXjxM7ckynvvw5`(cZBa<N`M2QFk12ZFvxG|%$F@uN*g90-n%$#7yU<Ef%A6FO"
    "05XWHG5CvR-fdByMhpFS}UOV|h*?mVCjiFcof*H|-E%gjc3=DlueKPY(E0DyE^$ZR440H_*%?$Jm4fPDsjjO"
    "OQi#Ibt@Im&v96j_6hSAl}*mdV0vO5_@!6+C7qhJ(_f>AIEM!_f;1*2dTjDkS~W<vX|=-@FMl))s(zzw8s@I"
    "bg4%&6)PK*c4{^k;BE=m;iMaT%z%4@>~sVSm91p-s@l=Wt?Ip8^%PKoeJiiaVgW=LrXP@g)Sr(Ts<J5BA1jp"
    "yA+`UsRHT7|Vbf!{HE|Uy3CD!5%^j;!rQ+fHEd>@kc#W-+tG`;t~aP^$L;b=8S?-FbYP&C>RC94*dK59}I@9"
    "eu(z}DzG*Xlx7A(Mh0diRj7@tKTv(JHjV(41~*Mu5DhB`pOJwBjgJhVM*T-L7*rS_O*|b27BFqVfY#(;_={#"
    "g5Qw19;eh9OLR<riQqwc@^B5S4GpkZdN{jOH%TkN5c?M<{3zTN3QJUdlM-4+*Xt1HR=h)Ev%82GZbpC%db*y"
    "OWSkdB~5zU|Id}z`ln6`cqsqW{0%F^mk1K)rEl9y1ycOU?_prL$TG<iV-C6s;(8xHf)&4uM%AqKQe2?hRW>E"
    "!<iiw|1$M@a>+e8z;v=R)K2pz#IK_#8CzDF?hv0ZpqT?BM~kWr(zy1?W;n47DrZEH>Oh0|o#Z^Z|1"
))  # fmt: skip

RECORDS = {
    "region": ["North", "South", "North", "South", "East", "North"],
    "size": [1, 2, 1, 2, 1, 2],
    "turnover": [12.1, 3.0, 4.25, 7.0, 1.5, 100.5],
}

numbers = st.one_of(
    st.none(),
    st.integers(-(2**31), 2**31).map(float),
    st.decimals(-1000, 1000, places=2).map(float),
)


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    WRITERS[request.param](pd.DataFrame(RECORDS), tmp_path / request.param)
    return tmp_path / request.param


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b c", "Süd", ""]), numbers), min_size=1, max_size=20),
    st.sampled_from([*WRITERS]),
)
def test_columns_are_those_that_were_written(tmp_path_factory, rows, name) -> None:
    texts, wanted = zip(*rows, strict=True)
    path = tmp_path_factory.mktemp("file") / name
    WRITERS[name](pd.DataFrame({"t": texts, "x": pd.Series(wanted, dtype=float)}), path)
    found = read_columns(path, ["x", "t"]).arrays
    assert [None if x is None or math.isnan(x) else x for x in found[0].tolist()] == [*wanted]
    assert found[1].tolist() == [text or None for text in texts]
    assert column_names(path) == ("t", "x")


def test_numbers_of_single_precision_are_what_they_show(tmp_path: Path) -> None:
    columns = {
        "f": np.array([0.1, 12.1, np.nan], np.float32), "b": np.array([1, 2, 3], np.int8),
        "d": [datetime.datetime(2020, 1, day) for day in (1, 2, 3)],
    }  # fmt: skip
    pd.DataFrame(columns).to_stata(tmp_path / "a.dta", write_index=False, convert_dates={"d": "td"})
    f, b, d = read_columns(tmp_path / "a.dta", ["f", "b", "d"]).arrays
    assert f.tolist() == [0.1, 12.1, None]
    assert text_codes(b) == ["1", "2", "3"]
    assert text_codes(d) == ["2020-01-01", "2020-01-02", "2020-01-03"]


def test_a_table_of_the_file_is_that_of_its_records(path: Path) -> None:
    table = Table.from_microdata(path, ["region", "size"], "turnover")
    wanted = Table.from_microdata(RECORDS, ["region", "size"], "turnover")
    assert table.labels == wanted.labels
    assert table.values.tolist() == wanted.values.tolist()
    assert table.scale == wanted.scale
    assert read_whole(path).columns["turnover"].tolist() == RECORDS["turnover"]
    assert [one.name for one in inspect(path).columns] == [*RECORDS]


def test_a_file_of_sas_as_another_reader_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "s.sas7bdat"
    path.write_bytes(SAS)
    wanted = pd.read_sas(path, encoding="utf-8")
    for name, array in zip(wanted, read_columns(path, [*wanted]).arrays, strict=True):
        plain = wanted[name].astype(object).where(wanted[name].notna(), None)
        assert array.tolist() == plain.tolist()


def test_what_a_file_declares_as_missing_is_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "pay": [10.0, 99999.0, 12.0]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"sex": [9], "pay": [99999]})
    sex, pay = read_columns(tmp_path / "a.sav", ["sex", "pay"]).arrays
    assert sex.tolist() == [1.0, 2.0, None]
    assert pay.tolist() == [10.0, None, 12.0]
    with pytest.raises(InputError, match="row 3"):
        Table.from_microdata(tmp_path / "a.sav", ["sex"])
    counted = Table.from_microdata(tmp_path / "a.sav", ["sex"], missing="unknown")
    assert counted.labels == (("1",), ("2",), ("unknown",), ("Total",))


LABELS = {"sex": {1: "Male", 2: "Female"}, "pay": {0: "none"}, "same": {1: "x", 2: "x"}}


@pytest.mark.parametrize("name", ["a.sav", "a.dta"])
def test_labels_stand_for_codes_where_that_is_asked(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"sex": [1, 2, 3, 1], "pay": [0, 5, 6, 7], "same": [1, 2, 1, 2]})
    write = pyreadstat.write_sav if name == "a.sav" else pyreadstat.write_dta
    write(frame, tmp_path / name, variable_value_labels=LABELS)
    file = TextFile(tmp_path / name, labels=True)
    sex, pay = read_columns(file, ["sex", "pay"], ["pay"]).arrays
    assert text_codes(sex) == ["Male", "Female", "3", "Male"]
    assert pay.tolist() == [0, 5, 6, 7]
    assert text_codes(read_columns(tmp_path / name, ["sex"]).arrays[0]) == ["1", "2", "3", "1"]
    table = Table.from_microdata(file, ["sex"], "pay")
    assert table.labels == (("Male",), ("Female",), ("3",), ("Total",))
    assert table.values.tolist() == [7, 5, 6, 18]
    with pytest.raises(InputError, match=r"'same': 1.* and 2.* are both called 'x'"):
        read_columns(file, ["same"])


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.sas7bdat", "a.xpt"])
def test_files_without_labels_are_named(name: str) -> None:
    with pytest.raises(InputError, match="holds no labels of codes"):
        TextFile(name, labels=True)


@pytest.mark.parametrize(
    ("more", "words"),
    [({"separator": ";"}, "--sep"), ({"decimal": ","}, "--sep"), ({"missing": ("x",)}, "--na")],
)
def test_what_is_said_of_text_is_refused(path: Path, more: dict, words: str) -> None:
    with pytest.raises(InputError, match=f"not a text file.*{words}"):
        read_columns(TextFile(path, **more), ["size"])


def test_what_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'sise'; did you mean 'size'"):
        read_columns(path, ["sise"])
    with pytest.raises(InputError, match="read as a whole: leave it out, or convert"):
        Table.from_microdata(path, ["size"], memory="1MB")
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(b"")
    with pytest.raises(InputError, match="is packed"):
        read_columns(packed, ["size"])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises(InputError, match="is it damaged") as said:
        read_columns(path, ["size"])
    assert "North" not in str(said.value)


def test_the_second_reading_says_that_it_does_not_know_them(path: Path, tmp_path: Path) -> None:
    release = tmp_path / "release.json"
    told = ["--value", "turnover"]
    made = ["protect", str(path), "--by", "region", *told, "--rules", "P(10,1)"]
    result = CliRunner().invoke(app, [*made, "--release", str(release)])
    assert result.exit_code == 0, result.output
    again = CliRunner().invoke(app, ["audit", str(release), "--records", str(path), *told])
    assert again.exit_code == 2
    assert "the second reading knows .csv, .parquet and .xlsx" in again.stderr


def test_the_command_line_takes_them(path: Path, tmp_path: Path) -> None:
    pd.DataFrame(RECORDS).to_csv(tmp_path / "records.csv", index=False)
    told = ["--by", "region,size", "--value", "turnover", "--rules", "P(10,1)|FREQ(2,10)", "-o"]
    for data in (path, tmp_path / "records.csv"):
        result = CliRunner().invoke(
            app, ["protect", str(data), *told, str(tmp_path / f"out-{data.suffix[1:]}.csv")]
        )
        assert result.exit_code == 0, result.output
    one, other = (tmp_path / f"out-{end}.csv" for end in (path.suffix[1:], "csv"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("labels", [{1.0: "x", 2.0: " x"}, {1.0: "\u00e9", 2.0: "e\u0301"}])
def test_labels_that_become_one_code_are_refused(tmp_path: Path, labels: dict) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels={"a": labels})
    with pytest.raises(InputError, match="are both called"):
        read_columns(TextFile(tmp_path / "a.sav", labels=True), ["a"])


def test_what_is_said_of_one_kind_of_file_is_for_those_of_that_kind(tmp_path: Path) -> None:
    rows = {"sex": [1.0, 2.0] * 6, "age": [float(20 + i) for i in range(12)], "ill": [1.0] * 12}
    labels = {"sex": {1.0: "Male", 2.0: "Female"}}
    data, masked = tmp_path / "a.sav", tmp_path / "masked.csv"
    pyreadstat.write_sav(pd.DataFrame(rows), data, variable_value_labels=labels)

    def run(*words: object) -> None:
        result = CliRunner().invoke(app, ["microdata", *map(str, words)])
        assert result.exit_code in (0, 1), result.output

    run("microaggregate", data, "-k", 3, "--attributes", "age", "--within", "sex", "--keep", "ill",
        "--labels", "-o", masked)  # fmt: skip
    assert masked.read_text().splitlines()[1].endswith(",Male,1")
    run("utility", data, masked, "--attributes", "age", "--labels")
    run("attack", masked, "--original", data, "--quasi-identifiers", "age", "--labels")
    run("report", data, masked, "--quasi-identifiers", "age,sex", "--labels")
    run("microaggregate", data, "-k", 3, "--attributes", "age", "--within", "sex", "--keep", "ill",
        "-o", masked)  # fmt: skip
    assert masked.read_text().splitlines()[1].endswith(",1,1")
    refused = CliRunner().invoke(app, ["microdata", "check", str(masked), "--labels"])
    assert refused.exit_code == 2


@pytest.mark.parametrize("end", ["dta", "sav"])
def test_labels_stand_in_the_order_of_their_codes(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{end}"
    labels = {"age": {9: "unknown", 3: "aged", 1: "small children", 2: "pupils"}}
    frame = pd.DataFrame({"age": [9.0, 3.0, 4.0, 2.0, 1.0]})
    getattr(pyreadstat, f"write_{end}")(frame, path, variable_value_labels=labels)
    for data in (TextFile(path, labels=True), read_whole(TextFile(path, labels=True))):
        table = Table.from_microdata(data, ["age"])
        codes = [code for (code,) in table.labels]
        assert codes == ["small children", "pupils", "aged", "unknown", "4", "Total"]


def test_portable_files_have_signs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.por"
    pyreadstat.write_por(pd.DataFrame({"REG": ["a", "b"], "X": [1.0, 2.5]}), path)
    reg, x = read_columns(path, ["REG", "X"], ["X"]).arrays
    assert (reg.tolist(), x.tolist()) == (["a", "b"], [1.0, 2.5])
    with pytest.raises(InputError, match="leave encoding= out"):
        read_columns(TextFile(path, encoding="cp1252"), ["REG"])


@pytest.mark.parametrize("name", ["a.dta", "a.sav", "a.zsav", "a.xpt"])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](pd.DataFrame({"t": ["a", "b"] * 40, "x": [1.0, 2.0] * 40}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 7])
    with pytest.raises(InputError, match="damaged"):
        read_columns(path, ["x"])
