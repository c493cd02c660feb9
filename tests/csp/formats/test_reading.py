"""Only the file named is read, as it is, bounded; whatever else is an InputError that says so."""

from __future__ import annotations

import gzip
import json
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from csp import Decoys, Hierarchy, InputError, Key, Mechanism, PPercent, Table
from csp.exact import exact, read_decimal, read_fraction, read_whole
from csp.formats import reading
from csp.formats.delimited import TextFile
from csp.formats.reading import read_bytes, read_json, read_text
from csp.problem.jj import read_jj
from csp.rules import Dominance, parse_rules
from csp.tables.codes import text_codes
from csp.tables.columns import column_names, read_columns
from csp.tables.units import NotUnits, to_units


def put(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def columns(path: Path, **declared: object) -> tuple[list[object], ...]:
    found = read_columns(TextFile(path, **declared), ["r", "v"], ["v"])  # type: ignore[arg-type]
    return tuple(array.tolist() for array in found.arrays)


# ---- names are names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["d[1].csv", "a*.csv", "q?.csv", "r=ZZ/v=9/d.csv", "http:/x.csv", "file:/x.csv", "~/x.csv",
     "[[]d.csv", "x.csv.gz", "'; --.csv"],
)  # fmt: skip
@pytest.mark.parametrize("parquet", [False, True])
def test_the_file_named_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, parquet: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("d1.csv", "ab.csv", "qq.csv", "d1.parquet", "ab.parquet", "qq.parquet"):
        put(Path(other), "r,v\nWRONG,1\n")
    if parquet:
        import duckdb

        path = Path(name.replace(".csv", ".parquet").replace(".gz", ""))
        path.parent.mkdir(parents=True, exist_ok=True)
        duckdb.sql("SELECT 'N' AS r, '2' AS v").write_parquet("plain")
        Path("plain").rename(path)
    else:
        path = put(Path(name), "r,v\nN,2\n")
    assert columns(path) == (["N"], ["2"])
    assert column_names(str(path)) == ("r", "v")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder.csv", "is a folder"),
        ("pipe.csv", "is a pipe"),
        ("/dev/zero", "is a device"),
        ("http://localhost/d.csv", "download the file"),
        ("-", "standard input"),
        ("none.csv", "there is no file"),
        ("", "there is no file ''"),
        ("a\0b.csv", "null"),
        ("loop.csv", "cannot read"),
    ],
)
def test_what_is_not_a_file_is_refused(tmp_path, monkeypatch, name, words) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.csv").mkdir()
    os.mkfifo("pipe.csv")
    Path("loop.csv").symlink_to("loop.csv")
    for read in (read_bytes, column_names, read_jj, Hierarchy.from_hrc):
        with pytest.raises(InputError, match=words):
            read(name)


# ---- whole and bounded -----------------------------------------------------------------------


def test_every_flipped_bit_of_a_packed_file_is_noticed(tmp_path: Path) -> None:
    text = "r,v\n" + "".join(f"N{i},{i * i}\n" for i in range(40))
    packed = gzip.compress(text.encode(), mtime=0)
    path = put(tmp_path / "a.csv.gz", packed)
    right = columns(path)
    noticed, header = 0, 10  # its bits hold flags and times, no data
    for at in range(header, len(packed)):
        torn = bytearray(packed)
        torn[at] ^= 1 << at % 8
        put(path, bytes(torn))
        try:
            assert columns(path) == right, "a bit that pads the last block means nothing"
        except InputError as error:
            assert "damaged gzip" in str(error)  # noqa: PT017
            noticed += 1
    assert noticed >= len(packed) - header - 1
    put(path, packed + gzip.compress(b"M,1\n"))
    assert columns(path) == ([*right[0], "M"], [*right[1], "1"])
    put(path, packed + b"\0\0")
    assert read_bytes(path) == text.encode()
    for torn in (packed[:-1], packed + b"x", packed + b"\0\0x"):
        put(path, torn)
        with pytest.raises(InputError, match="damaged gzip"):
            columns(path)


def test_sizes_are_bounded_before_the_work(tmp_path, monkeypatch) -> None:
    bomb = put(tmp_path / "a.gz", gzip.compress(b"1" * 10**8, 1))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_jj(bomb)
    put(bomb, gzip.compress(b"1" * 10**7))
    with pytest.raises(InputError, match="more than 1000 bytes"):
        read_bytes(bomb, 1000)
    monkeypatch.setattr(reading, "MAX_BYTES", 10**6)
    monkeypatch.setattr(reading, "MAX_DATA_BYTES", 10**6)
    with pytest.raises(InputError, match="more than 1000000 bytes"):
        read_jj(bomb)
    with pytest.raises(InputError, match="more than 1000000 bytes"):
        column_names(put(tmp_path / "b.csv.gz", bomb.read_bytes()))
    big = tmp_path / "big.jj"
    with big.open("wb") as file:
        file.truncate(2**40)  # a file with holes: its size is refused, not its content
    with pytest.raises(InputError, match="bytes"):
        read_jj(big)


def test_json_is_bounded_and_exact(tmp_path: Path) -> None:
    for text, words in (
        ("[" * 10**5, "too deeply|not JSON"),
        ('{"a": ' + "[" * 10**5 + "]" * 10**5 + "}", "too deeply"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": 1e999}', "too large"),
        ('{"a": NaN}', "not a number"),
        ('{"a": ' + "9" * 5000 + "}", "400 digits"),
        ("[]", "object"),
        ("{", "line 1: not JSON"),
        ('{"a": "\0"}', "NUL"),
    ):
        with pytest.raises(InputError, match=words):
            read_json(put(tmp_path / "a.json", text), "a mechanism")


# ---- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\n|\n"])
def test_line_ends_are_alike(tmp_path: Path, end: str) -> None:
    first, _, second = end.partition("|")
    text = f"r,v{first}N,2{second or first}M,3{first}"
    assert columns(put(tmp_path / "a.csv", text)) == (["N", "M"], ["2", "3"])
    assert read_text(put(tmp_path / "b", text)) == "r,v\nN,2\nM,3\n"


def test_encodings(tmp_path: Path) -> None:
    text = "r;v\nKöln;2,5\nŁódź;3\n"
    path = tmp_path / "a.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        put(path, text.encode(encoding))
        assert columns(path) == (["Köln", "Łódź"], ["2.5", "3"])
    found = read_columns(path, ["r", "v"], ["v"])
    assert found.note.endswith(
        "text separated by semicolons, with decimal commas or points, in UTF-16."
    )
    put(path, text.replace("Łódź", "Metz").encode("cp1252"))
    with pytest.raises(InputError, match=r"line 2: not UTF-8 .*encoding='cp1252'"):
        columns(path)
    for encoding in ("cp1252", "latin-1"):
        assert columns(path, encoding=encoding)[0] == ["Köln", "Metz"]
    put(path, ("r,v\n" + "é,1\n" * 400_000).encode())  # letters across the pieces that are read
    assert set(columns(path)[0]) == {"é"}
    for wrong in ("rot13", "no", "a\0"):
        with pytest.raises(InputError, match="not a text encoding"):
            TextFile(path, encoding=wrong)
    put(path, b"region,n\nNorth,1\nSouth,2\n")
    for wrong in ("utf-16", "utf-32", "utf-32-le", "punycode"):
        with pytest.raises(InputError, match=rf"(?i)'.*', line \d+: not {wrong} text"):
            columns(path, encoding=wrong)


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("r;v\nN;2,50\nM;3\n", {}, ["2.50", "3"]),
        ("r;v\nN;0,125\nM;3\n", {}, ["0.125", "3"]),
        ("r\tv\nN\t1234,567\n", {}, ["1234.567"]),
        ('r,v\nN,"2,5"\n', {}, "may be a decimal mark"),
        ('r,v\nN,"2,5"\n', {"decimal": ","}, ["2.5"]),
        ("r;v\nN;1,900\nM;850\n", {}, "decimal="),
        ("r;v\nN;1,900\nM;850\n", {"decimal": ","}, ["1.900", "850"]),
        ("r;v\nN;1.900\nM;850\n", {}, "decimal="),
        ("r;v\nN;1.900\nM;850\n", {"decimal": "."}, ["1.900", "850"]),
        ("r;v\nN;1.900\nM;850\n", {"decimal": ","}, "row 1, column 'v'.*point"),
        ("r;v\nN;1.900\nM;2.5\n", {}, ["1.900", "2.5"]),
        ("r;v\nN;0.900\nM;2\n", {}, ["0.900", "2"]),
        ("r;v\nN;12.345\nM;11.100\n", {}, "decimal="),
        ("r;v\nN;2,5\nM;2.5\n", {}, "decimal="),
        ("r;v\nN;1.234,5\n", {}, "decimal="),
        ("r;v\nN;1.234,5\n", {"decimal": ","}, "row 1, column 'v'.*thousands"),
    ],
)
def test_decimal_marks(tmp_path, text, declared, expected) -> None:
    path = put(tmp_path / "a.csv", text)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected) as caught:
            columns(path, **declared)
        assert not any(number in str(caught.value) for number in ("1.9", "2,5", "1.234"))
    else:
        assert columns(path, **declared)[1] == expected


def test_codes_keep_their_commas(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "r;v\n1,5;2,5\n0,5;3,5\n")
    assert columns(path) == (["1,5", "0,5"], ["2.5", "3.5"])


def test_missing_texts(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "r,v\nN,1\n NA,NA\n-,2\n")
    with pytest.raises(InputError, match=r"row 2, column 'r': the code is NA.*missing=\('NA',\)"):
        columns(path)
    assert columns(path, missing=()) == (["N", " NA", "-"], ["1", "NA", "2"])
    assert columns(path, missing=("NA", "-")) == (["N", None, None], ["1", None, "2"])
    declared = TextFile(path, missing=("NA",))
    table = Table.from_microdata(declared, ["r"], missing="none")
    assert ("none",) in table.labels
    with pytest.raises(InputError, match=r"has the code 'N' already \(row 1\)"):
        Table.from_microdata(declared, ["r"], missing="N")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("r,v\nN,2,\nM,3,\n", 1),
        ("r,v\nN,2\nM,3,\n", 2),
        ("r,v\nN,2\nM,3,", 2),
        ("r,v\r\nN,2\r\nM,3,\r\n", 2),
        ("r,v\rN,2\rM,3,\r", 2),
        ("r;v\nN;2\nM;3;\n", 2),
        ('r,v\n"N,\n",2\nM,,\n', 2),
        ("r,v,\nN,2,\nM,3,\n", None),
        ('r,v\n"N,",2\nM,\n', None),
        ("r,v\nN,\nM,", None),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_separators_at_the_ends_of_rows(tmp_path, text, row, name) -> None:
    """A field that the header does not name was dropped; an empty last one is a missing entry."""
    data = text.encode()
    path = put(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    if row is None:
        assert len(columns(path)[1]) == 2
    else:
        with pytest.raises(InputError, match=f"row {row}: the row ends with a separator"):
            columns(path)


def test_a_title_is_named_where_every_column_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "Turnover of all\nr,v,w\nN,2,3\n")
    with pytest.raises(InputError, match="a title above the header: remove it"):
        read_columns(path, column_names(path))
    for text in ("Turnover,\nr,v\nN,2\n", "Turnover,,\nr,v,w\nN,2,3\n"):
        with pytest.raises(InputError, match="a title above the header: remove it"):
            columns(put(path, text))


def test_errors_of_the_reader_quote_no_data(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", 'r,v\nN,2\n"HIDDEN"x,7777,3\n')
    with pytest.raises(InputError) as caught:
        columns(path)
    link: BaseException | None = caught.value
    while link is not None:
        assert "HIDDEN" not in repr(link)
        assert "7777" not in repr(link)
        link = link.__cause__ or link.__context__


def test_a_file_beyond_memory_is_not_called_damaged(tmp_path, monkeypatch) -> None:
    import duckdb

    from csp.tables.sources import files

    def full(*words: object) -> None:
        msg = "failed to allocate"
        raise duckdb.OutOfMemoryException(msg)

    monkeypatch.setattr(files, "fetched", full)
    with pytest.raises(InputError, match="does not fit into memory"):
        columns(put(tmp_path / "a.csv", "r,v\nN,2\n"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"r,v\nN,2\nM\0,3\n", "line 3: a NUL"),
        (b"r,v\nN\n", "line 2; has it as many fields as line 1"),
        (b"r,v\nN,2,3\n", "line 2; has it as many fields as line 1"),
        (b'r,v\n"N"x,2\n', "line 2"),
        (b"r,v\nN," + b"9" * 5_000_000, "line 2"),
        (b"r,r\nN,2\n", "twice"),
        (b"r;" + b"x" * 200_000 + b"\nN;2\n", "line 1"),
        (b"", "is empty"),
    ],
)
def test_broken_text_is_named(tmp_path, data, words) -> None:
    with pytest.raises(InputError, match=words):
        columns(put(tmp_path / "a.csv", data))


def test_columns_that_differ_in_case(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert columns(put(tmp_path / "a.csv", "V,v,r\n1,2,N\n"))[1] == ["2"]
    parquet.write_table(pa.table({"v": [1], "V": [2]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="differ in case only"):
        read_columns(tmp_path / "a.parquet", ["v"])
    nested = pa.table({"v": [1], "s": [{"a": 1, "A": 2}], "w": [2]})
    parquet.write_table(nested, tmp_path / "b.parquet")
    assert read_columns(tmp_path / "b.parquet", ["w"]).arrays[0].tolist() == [2]
    with pytest.raises(InputError, match="is not a text file"):
        read_columns(TextFile(tmp_path / "b.parquet", separator=";"), ["w"])
    parquet.write_table(pa.table({"b": [b"N"]}), tmp_path / "c.parquet")
    assert read_columns(tmp_path / "c.parquet", ["b"]).arrays[0].tolist() == ["N"]
    with pytest.raises(InputError, match="row 1: a code is a bytes"):
        text_codes(np.array([b"N"], dtype=object))


# ---- numbers ---------------------------------------------------------------------------------


HOSTILE = ["1e999999999", "1e-999999999", "0.5e999999999", "9" * 5000, "0." + "0" * 5000 + "1",
           "1e401", "nan", "inf", "", "1_000", "\u0661\u0662", "\u00b2", "0x10",
           "1e" + "9" * 5000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_numbers_in_text_are_bounded(text: str) -> None:
    for read in (exact, read_decimal, read_fraction, read_whole):
        with pytest.raises(InputError):
            read(text)
    with pytest.raises(InputError):
        read_fraction(f"1/{text}")
    for rules in (f"P({text},1)", f"FREQ({text})", f"P(10/{text},1)"):
        with pytest.raises(InputError):
            parse_rules(rules)
    with pytest.raises(InputError):
        Mechanism.from_dict({"rules": "FREQ(3)", "width": text})
    with pytest.raises(InputError):
        Mechanism.from_dict({"rules": "FREQ(3)", "defence": {"kind": "decoys", "rate": text}})
    with pytest.raises(NotUnits):
        to_units(np.array([text], dtype=object))
    with pytest.raises(InputError):
        exact(Decimal("1e999999999"))


def test_numbers_that_are_meant_are_read() -> None:
    for number in (1.7976931348623157e308, 5e-324, -0.1):
        assert float(exact(number)) == number
    assert read_fraction(" 1/3 ") == Fraction(1, 3)
    assert read_fraction("-.5") == Fraction(-1, 2)
    assert read_whole("+12") == 12
    assert exact("1e400") == 10**400


@pytest.mark.parametrize("kind", [float, repr])
def test_errors_of_computing_are_taken_off(kind) -> None:
    computed = [0.1 + 0.2, 1.1 * 3, 100.1 + 0.2, 2.0]
    numbers = np.array([kind(x) for x in computed], dtype=None if kind is float else object)
    with pytest.raises(NotUnits, match=r"decimals=2"):
        to_units(numbers)
    assert to_units(numbers, 2)[0].tolist() == [30, 330, 10030, 200]
    for off in (0.1 + 0.2 + 1e-12, 0.301):
        with pytest.raises(NotUnits, match="round=True rounds"):
            to_units(np.array([kind(off)], dtype=None if kind is float else object), 2)


# ---- rules and mechanisms --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("P(0.1)", r"did you mean P\(10\)\? For 0.1 percent write P\(0.1%\)"),
        ("P(0.1,2)", r"did you mean P\(10,2\)"),
        ("P(10,0.5,1)", r"did you mean P\(10,50,1\)"),
        ("NK(2,0.85)", r"did you mean NK\(2,85\)"),
        ("NK(75,1)", r"did you mean NK\(1,75\)"),
        ("NK(2%,75)", "not a percentage"),
        ("FREQ(3%)", "not a percentage"),
        ("FREQ(\u0663)", "not a number"),
        ("P(1" + "0" * 300 + ")", r"beyond 2\*\*53"),
        ("P(10)|" * 5000 + "P(10)", "characters"),
    ],
)
def test_slips_in_rules_are_asked_about(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_rules(text)


@pytest.mark.parametrize("rule", [PPercent("0.1%"), Dominance(5, 3), Dominance(2, "0.5%")])
def test_rules_that_look_like_slips_come_back(rule: object) -> None:
    assert parse_rules(str(rule)) == rule
    assert parse_rules("P(0.1%)") == PPercent("0.1%")


@pytest.mark.parametrize(
    "wrong",
    [
        {"strict": "no", "width": 3}, {"strict": 0}, {"singletons": "no"}, {"unions": 1},
        {"integer": 1}, {"integer": "yes"}, {"width": True}, {"width": [1]}, {"width": {}},
        {"rules": 3}, {"rules": None}, {"cost": None}, {"cost": 1}, {"margins": True},
        {"defence": "decoys"}, {"defence": []}, {"defence": {"kind": "decoys"}},
        {"defence": {"kind": "decoys", "rate": True}},
        {"defence": {"kind": "decoys", "rate": None}},
        {"defence": {"kind": "decoys", "rate": "0.1", "lean": True}},
        {"defence": {"kind": "decoys", "rate": "0.1", "lean": 1.0}},
        {"defence": {"kind": "decoys", "rate": "0.1", "key": "00"}},
        {"\0": 1}, {"width": "1e999999999"},
    ],
)  # fmt: skip
def test_plain_data_is_taken_at_its_word(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Mechanism.from_dict({"rules": "FREQ(3)"} | wrong)
    for data in ([], None, "FREQ(3)", {1: 2}):
        with pytest.raises(InputError):
            Mechanism.from_dict(data)  # type: ignore[arg-type]
        with pytest.raises(InputError):
            Decoys.from_dict(data)  # type: ignore[arg-type]


def test_a_width_beyond_every_cell_is_refused() -> None:
    with pytest.raises(InputError, match="wider than any cell"):
        Mechanism("FREQ(3)", width="1e30").protect(Table.from_array([[1, 20], [30, 40]]))


# ---- hierarchies -----------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [" ", "   ", "\t"])
def test_indented_hierarchies(tmp_path: Path, indent: str) -> None:
    text = f"X\n{indent}A\n{indent}B\n{indent * 2}b\nC\n"
    path = put(tmp_path / "a.hrc", text)
    with pytest.raises(InputError, match=r"line 2: the line is indented.*write one '@'"):
        Hierarchy.from_hrc(path)
    marked = Hierarchy.from_hrc(text.replace(indent, "@"))
    assert Hierarchy.from_hrc(path, lead=indent) == marked
    assert marked.depth == 3
    assert Hierarchy.from_hrc("  X\n  @ 1\n  @10\n").depth == 2


def test_depth_is_bounded(tmp_path: Path) -> None:
    lines = "".join("@" * i + f"c{i}\n" for i in range(20_000) if i < 300 or i == 19_999)
    with pytest.raises(InputError, match="line 101: more than 100 levels"):
        Hierarchy.from_hrc(put(tmp_path / "a.hrc", lines))
    nested: dict[str, object] = {}
    for i in range(10**5):
        nested = {f"c{i}": nested}
    with pytest.raises(InputError, match="more than 100 levels"):
        Hierarchy.from_dict(nested)
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(InputError, match="more than 100 levels"):
        Hierarchy.from_dict(circle)
    codes = tuple(f"c{i}" for i in range(200))
    with pytest.raises(InputError, match="more than 100 levels"):
        Hierarchy(codes, (*range(1, 200), -1))


# ---- JJ --------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["9" * 5000, "1e999999999", "1e-999999999"])
@pytest.mark.parametrize("place", ["count", "id", "value", "lb", "factor", "members", "relations"])
def test_numbers_of_jj_files_are_bounded(tmp_path: Path, token: str, place: str) -> None:
    words = {"count": "2", "id": "0", "value": "5", "lb": "0", "factor": "1", "members": "2",
             "relations": "1"} | {place: token}  # fmt: skip
    text = (
        "0\n{count}\n{id} {value} 1 s {lb} 9 0 0 0\n1 5 1 s 0 9 0 0 0\n{relations}\n"
        "0 {members} : 0 ({factor}) 1 (-1)\n"
    ).format(**words)
    path = put(tmp_path / "a.jj", text)
    with pytest.raises(InputError, match="line"):
        read_jj(path)


def test_labels_of_a_release_come_back(tmp_path: Path) -> None:
    from csp.release_file import read_release, write_release

    codes = ["=1+1", "a,b", 'q"q', "r\rr", "n\nn", "t\tt", "\u2028x", "'", "\x1b[2J", "-1"]
    table = Table.from_microdata({"code": codes}, ["code"])
    release = Mechanism("FREQ(1)", width=2).protect(table).release
    path, _ = write_release(release, tmp_path / "r.json")
    assert read_release(path)[0].labels == release.labels


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("20", "1e-999999999", "line 3, column value"),
        ("20", "1e999999999", "line 3, column value"),
        ("20", "9" * 5000, "line 3, column value"),
        ("20", "\u0661", "line 3, column value"),
        ("20", "x" * 200_000, "cannot be read as CSV"),
        ("20", "2\0", "line 3: a NUL"),
        ("1,1,", ",1,", "line 2: a code is empty"),
        ("20,s,0,", "20,s,7,5", "line 3: lower is above upper"),
        ('"', "", None),
    ],
)
def test_cells_of_a_release_are_bounded(tmp_path, old, new, words) -> None:
    import hashlib

    from csp.release_file import read_release, write_release

    table = Table.from_array([[10, 20], [30, 40]])
    release = Mechanism("FREQ(3)", width=2).protect(table).release
    path, cells = write_release(release, tmp_path / "r.json")
    text = cells.read_text()
    changed = text.replace(old, new, 1) if words else text.replace("\n", "\r\n")
    put(cells, changed)
    sums = (hashlib.sha256(t.encode()).hexdigest() for t in (text, changed))
    path.write_text(path.read_text().replace(*sums))
    if words:
        with pytest.raises(InputError, match=words):
            read_release(path)
    else:
        assert read_release(path)[0].labels == release.labels


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Region 1 " + "9" * 5000, "whole"),
        ("Region 1 \u0662", "whole"),
        ("Region 1 2\n<DECIMALS> " + "9" * 5000, "whole numbers"),
        ('<SEPARATOR> ""', "one character"),
        ('<SEPARATOR> ",,"', "one character"),
        ('Region 1 2\n<HIERLEADSTRING> ""', "between its quotes"),
    ],
)
def test_layouts_are_bounded(tmp_path: Path, line: str, words: str) -> None:
    from csp.formats.layout import read_metadata

    with pytest.raises(InputError, match=words):
        read_metadata(put(tmp_path / "a.rda", line + "\n"))


def test_headers_are_names_less_the_blanks_around_them(tmp_path: Path) -> None:
    path = put(tmp_path / "blanks.csv", " r , s\nN,A\nN,B\nN,B\n")
    assert Table.from_microdata(path, ["r", "s"]).names == ("r", "s")
    path = put(tmp_path / "lines.csv", '"re\ngion",s\nN,A\n')
    with pytest.raises(InputError, match="there is no column 'region'"):
        Table.from_microdata(path, ["region", "s"])


def test_long_relations_of_jj_files_are_read_to_their_fault(tmp_path: Path) -> None:
    lines = ["0", "2", *(f"{i} 1 1 s 0 9 0 0 0" for i in range(2)), "1"]
    lines.append(f"0 {10**5} : " + "0 (1) " * 10**5)
    path = put(tmp_path / "long.jj", "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="id 0 occurs twice in the relation"):
        read_jj(path)


def test_published_values_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    import hashlib

    from attacks import matching
    from csp.release_file import read_release, write_release

    mechanism = Mechanism("FREQ(3)", width=2, margins="publish")
    table = Table.from_array([[1, 20, 7], [30, 2, 9], [8, 7, 6]])
    path, cells = write_release(mechanism.protect(table).release, tmp_path / "r.json")
    text = cells.read_text()
    changed = text.replace(",28,", ",29,", 1)
    assert changed != text
    cells.write_text(changed)
    sums = (hashlib.sha256(t.encode()).hexdigest() for t in (text, changed))
    path.write_text(path.read_text().replace(*sums))
    with pytest.raises(InputError, match=r"published values of relation .* contradict each other"):
        matching(read_release(path)[0], mechanism)


def test_keys_are_bounded(tmp_path: Path) -> None:
    large = tmp_path / "large.key"
    large.touch(0o600)
    os.truncate(large, 2**30)
    with pytest.raises(InputError, match="more than 65536 bytes"):
        Key.read(large)
    with pytest.raises(InputError, match="is a device"):
        Key.read("/dev/zero")
    packed = put(tmp_path / "packed.key", b"\x1f\x8b" + bytes(range(30)))
    packed.chmod(0o600)
    assert Key.read(packed) == Key(packed.read_bytes())


def test_a_release_is_plain_data(tmp_path: Path) -> None:
    from csp.release_file import read_release, write_release

    table = Table.from_array([[1, 20], [30, 40]])
    release = Mechanism("FREQ(3)", width=2).protect(table).release
    path, _ = write_release(release, tmp_path / "r.json")
    good = json.loads(path.read_text())
    relations = good["relations"]
    twice = {key: [*relations[key], relations[key][-1]] for key in ("rows", "cells")}
    for wrong in (
        {"scale": True}, {"scale": -5}, {"scale": 10**9}, {"names": [1, 2]},
        {"names": [["a"], "b"]},
        {"names": ["a", "a"]}, {"names": ["", "b"]}, {"roots": [1, None]}, {"cells": ""},
        {"cells": "a\0b"}, {"cells": ".."}, {"cells": None}, {"surplus": 1}, {"format": 1},
        {"cells_sha256": None}, {"mechanism": []}, {"mechanism": {"rules": "P(0.1)"}},
        {"relations": relations | {"count": 10**9}}, {"relations": relations | {"count": True}},
        {"relations": relations | {"count": 10**12}}, {"relations": relations | {"more": 1}},
        {"relations": relations | twice | {"coefficients": [*relations["coefficients"], 1]}},
        {"relations": relations | {"coefficients": [2**61, *relations["coefficients"][1:]]}},
        {"relations": relations | {"coefficients": [0] * len(relations["coefficients"])}},
    ):  # fmt: skip
        path.write_text(json.dumps(good | wrong))
        with pytest.raises(InputError):
            read_release(path)
    old = {key: value for key, value in good.items() if key != "cells_sha256"}
    path.write_text(json.dumps(old | {"format": "cellveil release 1"}))
    assert (read_release(path)[0].pattern == release.pattern).all()
