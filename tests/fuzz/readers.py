"""Every reader with a valid file: what is damaged, and how what is left of it is read."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from csp import Hierarchy, Key, Mechanism, MinFrequency, Table, apply_apriori, read_apriori
from csp.decoys.decoys import Decoys
from csp.exact import exact, read_fraction, read_whole
from csp.formats.delimited import TextFile
from csp.problem.jj import read_jj, write_jj
from csp.release_file import read_release, write_release
from csp.rules import parse_rules
from csp.tables import argus
from csp.tables.columns import read_columns
from tests.fuzz.mutations import damaged, damaged_json, damaged_text
from tests.support.open_document import save_ods

__all__ = ["Reader", "readers"]

SURVEY = "region,sector,firm,turnover,w\n" + "".join(
    f"R{i % 3},S{i % 2},e{i},{i * 7 + 1}.5,{1 + i % 2}\n" for i in range(12)
)
CELLS = "region,sector,n\nN,A,5\nN,B,7\nS,A,2\nS,B,9\n"
PRINTED = (
    "Table 1: Farms\n\nRegion;2022;;2023;\n;Men;Women;Men;Women\nNorth;1 204;[c];12;<5\n"
    "  N1;[c];7;20-99;3\n  N2;4;[c];5;x\nTotal;1 210;17;40;9\n\nx = secret\n"
)
FLAGS = (
    "naics,fips,emp,empflag\n31----,01001,0,B\n311///,01001,12,\n3112//,01001,0,D\n"
    "31----,Total,140,\n311///,Total,70,\n3112//,Total,0,A\n31----,02001,9,\n"
)
HRC = "North\n@1\n@2\n@@2a\n@@2b\nSouth\n@3\n"
FIXED = "N1 A   10\nN2 B   12\nS1 A    7\n"
LAYOUT = (
    "Region 1 2 99\n<RECODEABLE>\n<HIERLEVELS> 1 1\nSector 4 1\n<RECODEABLE>\n"
    "<TOTCODE> All\nValue 5 5\n<NUMERIC>\n<DECIMALS> 0\n"
)
SEPARATED = '<SEPARATOR> ","\nRegion\n<RECODEABLE>\nValue\n<NUMERIC>\n'
JOB = (
    '[data]\nfile = "a.csv"\nvalue = "turnover"\n[hierarchies]\nregion = "a.hrc"\n'
    '[[table]]\nname = "one"\nby = ["region"]\n[[table]]\nby = ["region", "sector"]\n'
    '[rules]\nsensitive = "P(10,1)"\nwidth = 2\n[output]\nformat = ["csv", "xlsx"]\n'
)
RECORD = json.dumps(
    {"NOT FOR PUBLICATION": "", "job": "a.toml", "versions": {"numpy": "2"}, "inputs": {"a": "0"},
     "outputs": {"b": "1"}}
)  # fmt: skip
RULES = "P(10,1)|NK(2,75)|ZERO(1)|FREQ(4,10,width=3,zero=1)|P(5,20,2)"


@dataclass(frozen=True)
class Reader:
    """A valid input, how it is damaged, and what reads it from a file in a folder."""

    name: str
    valid: bytes
    damage: Callable[[bytes, random.Random], bytes]
    read: Callable[[bytes, Path], Any]


def _in_file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def run(data: bytes, folder: Path) -> Any:
        path = folder / name
        path.write_bytes(data)
        return read(path)

    return run


def _json(data: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        return damaged(data, draw)
    return damaged_json(data.decode(), draw).encode("utf-8", "surrogatepass")


def _word(data: bytes, draw: random.Random) -> bytes:
    return damaged_text(data.decode(), draw).encode("utf-8", "surrogatepass")


def _of_text(read: Callable[[str], Any]) -> Callable[[bytes, Path], Any]:
    return lambda data, folder: read(data.decode("utf-8", "replace"))


def _micro(path: Path) -> Any:
    return Table.from_microdata(
        path, ["region", "sector"], "turnover", contributor="firm", weight="w"
    )


def _layout(path: Path) -> Any:
    columns, layout = argus.read_microdata(path.with_name("data.asc"), path)
    argus.hierarchies(layout, columns)
    return Table.from_microdata((columns, layout), ["Region", "Sector"], "Value")


def _tab(path: Path) -> Any:
    layout = argus.read_metadata(path.with_name("tab.rda"))
    cells = argus.read_table_data(path, layout)
    trees = argus.hierarchies(layout, cells.columns, cells.by)
    table = Table.from_frame(
        cells.columns, cells.by, cells.value, count=cells.count, hierarchies=trees
    )
    problem = Mechanism("FREQ(8,10)").problem(table)
    return apply_apriori(problem, cells.statements, margin=10)


def _tab_layout(path: Path) -> Any:
    return argus.read_table_data(path.with_name("whole.tab"), path)


def _known(path: Path) -> Any:
    table = Table.from_array([[7, 11, 60], [10, 60, 11]])
    problem = Mechanism("FREQ(8,10)").problem(table)
    return apply_apriori(problem, read_apriori(path, 2), margin=10)


def _published(path: Path) -> Any:
    from attacks import audit_published
    from cellveil.io.published import read_public
    from cellveil.requests.publication import Publication, Signs

    asked = Publication(signs=Signs(marks="census" if path.name == "g.csv" else None))
    return audit_published(read_public(path, asked, quiet=True)[0], time_limit=2)


def _batch(path: Path) -> Any:
    from cellveil.jobs.job import read_job

    return read_job(path)


def _record(path: Path) -> Any:
    from cellveil.jobs.record import read_record

    return read_record(path)


def _sheet(path: Path) -> Any:
    from cellveil.io.sheets.reading import open_sheet

    return Table.from_microdata(open_sheet(path).columns(numbers=["v"]), ["a"], "v", decimals=2)


def _workbook(sheet: bytes) -> bytes:
    """Bytes of a workbook whose sheet is this XML."""
    from openpyxl import Workbook

    plain, packed = io.BytesIO(), io.BytesIO()
    Workbook().save(plain)
    with ZipFile(plain) as old, ZipFile(packed, "w") as new:
        for part in old.infolist():
            here = part.filename.endswith("sheet1.xml")
            new.writestr(part.filename, sheet if here else old.read(part))
    return packed.getvalue()


def _pattern(path: Path) -> Any:
    from cellveil.io.inputs import read_pattern

    return read_pattern(path, read_jj(path.with_name("posed.jj")))


def _numbers(text: str) -> Any:
    from csp.errors import InputError

    for read in (exact, read_fraction, read_whole):
        try:
            read(text)
        except InputError:
            continue
    return Mechanism(MinFrequency(3), width=text)


def readers(folder: Path) -> list[Reader]:
    """All readers; files that some of them need beside the damaged one are put into `folder`."""
    table = Table.from_array([[1, 20, 30], [40, 50, 60]])
    mechanism = Mechanism(MinFrequency(3), width=2, margins="publish")
    problem = mechanism.problem(table)
    write_jj(problem, folder / "posed.jj")
    jj = (folder / "posed.jj").read_bytes()
    defended = Mechanism(MinFrequency(3), width=2, defence=Decoys("0.1"))
    release, cells = write_release(
        mechanism.protect(table).release, folder / "release.json", defended
    )
    pair = (release.read_bytes(), cells.read_bytes())
    (folder / "data.asc").write_text(FIXED)
    (folder / "fixed.rda").write_text(LAYOUT)
    (folder / "separated.rda").write_text(SEPARATED)
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (region VARCHAR, sector VARCHAR, turnover DOUBLE)")
        connection.execute("INSERT INTO t VALUES ('N', 'A', 1.5), ('N', 'B', 2), ('S', 'A', 3)")
        connection.table("t").write_parquet(str(folder / "valid.parquet"))
    parquet = (folder / "valid.parquet").read_bytes()
    (folder / "tab.rda").write_text(TAB_LAYOUT)
    (folder / "whole.tab").write_text(TAB)
    (folder / "valid.xlsx").write_bytes(_workbook(SHEET))
    ids = "id,status\n" + "".join(f"{i},s\n" for i in range(problem.table.n_cells))
    micro, counts = SURVEY.encode(), CELLS.encode()
    european = SURVEY.replace(",", ";").replace(".", ",").encode()

    def told(path: Path) -> Any:
        return read_release(path)

    def told_cells(data: bytes, place: Path) -> Any:
        facts = json.loads(pair[0])
        facts["cells_sha256"] = hashlib.sha256(data).hexdigest()
        (place / "release.csv").write_bytes(data)
        (place / "release.json").write_text(json.dumps(facts))
        return read_release(place / "release.json")

    def told_facts(data: bytes, place: Path) -> Any:
        (place / "release.csv").write_bytes(pair[1])
        (place / "release.json").write_bytes(data)
        return told(place / "release.json")

    def of_json(make: Callable[[Any], Any]) -> Callable[[bytes, Path], Any]:
        from csp.formats.reading import read_json

        def run(data: bytes, place: Path) -> Any:
            (place / "plain.json").write_bytes(data)
            return make(read_json(place / "plain.json", "a mechanism"))

        return run

    def tree(data: bytes, place: Path) -> Any:
        try:
            nested = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return Hierarchy.from_dict(nested)

    def key(path: Path) -> Any:
        path.chmod(0o600)
        return Key.read(path)

    def sheet(data: bytes, place: Path) -> Any:
        (place / "b.xlsx").write_bytes(_workbook(data))
        return _sheet(place / "b.xlsx")

    ods = save_ods(folder / "valid.ods", {"one": [["a", "v"], ["x", 1.25], ["y", 2]]})

    def content(data: bytes, place: Path) -> Any:
        with ZipFile(place / "b.ods", "w") as book:
            book.writestr("content.xml", data)
        return _sheet(place / "b.ods")

    def text(**declared: Any) -> Callable[[Path], Any]:
        names = ["region", "sector", "turnover"]
        return lambda path: read_columns(TextFile(path, **declared), names, ["turnover"])

    nested_tree = json.dumps({"N": {"1": None, "2": ["a", "b"]}, "S": ["3", {"4": ["c"]}]})
    return [
        Reader("csv", micro, damaged, _in_file("a.csv", _micro)),
        Reader("csv-gz", gzip.compress(micro, mtime=0), damaged, _in_file("a.csv.gz", _micro)),
        Reader("csv-europe", european, damaged, _in_file("b.csv", text())),
        Reader("csv-latin", european, damaged, _in_file("c.csv", text(encoding="latin-1"))),
        Reader("csv-utf16", SURVEY.encode("utf-16"), damaged, _in_file("d.csv", text())),
        Reader(
            "aggregated", counts, damaged,
            _in_file("e.csv", lambda p: Table.from_frame(p, ["region", "sector"], "n")),
        ),
        Reader(
            "parquet", parquet, damaged,
            _in_file("a.parquet", lambda p: Table.from_microdata(p, ["region", "sector"])),
        ),
        Reader("printed", PRINTED.encode(), damaged, _in_file("f.csv", _published)),
        Reader("flags", FLAGS.encode(), damaged, _in_file("g.csv", _published)),
        Reader("jj", jj, damaged, _in_file("a.jj", read_jj)),
        Reader("jj-gz", gzip.compress(jj, mtime=0), damaged, _in_file("a.jj.gz", read_jj)),
        Reader("hrc", HRC.encode(), damaged, _in_file("a.hrc", Hierarchy.from_hrc)),
        Reader("tree", nested_tree.encode(), _json, tree),
        Reader("rda", LAYOUT.encode(), damaged, _in_file("a.rda", _layout)),
        Reader(
            "asc", FIXED.encode(), damaged,
            _in_file("b.asc", lambda p: argus.read_microdata(p, folder / "fixed.rda")),
        ),
        Reader(
            "separated", b"N1,10\nN2,12\n", damaged,
            _in_file("c.asc", lambda p: argus.read_microdata(p, folder / "separated.rda")),
        ),
        Reader("tab", TAB.encode(), damaged, _in_file("a.tab", _tab)),
        Reader("tab-rda", TAB_LAYOUT.encode(), damaged, _in_file("d.rda", _tab_layout)),
        Reader("hst", HST.encode(), damaged, _in_file("a.hst", _known)),
        Reader("arb", BATCH.encode(), damaged, _in_file("a.arb", _batch)),
        Reader("job", JOB.encode(), damaged, _in_file("a.toml", _batch)),
        Reader("record", RECORD.encode(), _json, _in_file("a.internal.json", _record)),
        Reader("xlsx", (folder / "valid.xlsx").read_bytes(), damaged, _in_file("a.xlsx", _sheet)),
        Reader("sheet", SHEET, damaged, sheet),
        Reader("ods", ods.read_bytes(), damaged, _in_file("a.ods", _sheet)),
        Reader("ods-content", ZipFile(ods).read("content.xml"), damaged, content),
        Reader("release", pair[0], _json, told_facts),
        Reader("release-cells", pair[1], damaged, told_cells),
        Reader(
            "mechanism", json.dumps(defended.to_dict()).encode(), _json,
            of_json(Mechanism.from_dict),
        ),
        Reader(
            "decoys", json.dumps(Decoys("0.1", width=3).to_dict()).encode(), _json,
            of_json(Decoys.from_dict),
        ),
        Reader("pattern", ids.encode(), damaged, _in_file("p.csv", _pattern)),
        Reader("key", KEY, damaged, _in_file("a.key", key)),
        Reader("rules", RULES.encode(), _word, _of_text(parse_rules)),
        Reader("numbers", b"12.5", _word, _of_text(_numbers)),
    ]  # fmt: skip


TAB = "x,1,9,3,u,c\nx,2,4,2,s,-\nx,,13,5,s,2\ny,1,8,3,p,1\ny,2,6,3,m,1\ny,,14,6,s,1\n"
TAB += ",1,17,6,s,1\n,2,10,5,s,1\n,,27,11,s,1\n"
TAB = TAB.replace("u,c", "u,0.5")
TAB_LAYOUT = (
    '<SEPARATOR> ","\n<SAFE> "s"\n<UNSAFE> "u"\n<PROTECT> "p"\nA\n<RECODABLE>\nB\n<RECODEABLE>\n'
    '<TOTCODE> "All"\nv\n<NUMERIC>\nn\n<FREQUENCY>\nst\n<STATUS>\nc\n<NUMERIC> <COSTVAR>\n'
)
HST = "1;1;u\n1;1;pl;1;1,5\n2;;s\n;2;m\n2;2;p\n2;3;w;5.25\n"
BATCH = """\
// a job
<OPENTABLEDATA> "whole.tab"
<OPENMETADATA> "tab.rda"
<SPECIFYTABLE> "A""B"|"v"||"-2"
<SAFETYRULE> P(10,1)|FREQ(3,30)|NK(0,0)
<READTABLE> 1T
<APRIORI> "whole.tab",1,";",1,0
<SUPPRESS> MOD(1,5,1,1,1)
<SUPPRESS> GH(1,100)
<WRITETABLE> (1,4,AS+SE-,"out\\safe.csv")
<LOGBOOK> "log.txt"
"""
SHEET = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c>'
    b'<c r="B1" t="inlineStr"><is><t>v</t></is></c></row>'
    b'<row r="2"><c r="A2"><v>2021</v></c><c r="B2"><f>1+2</f><v>3.5</v></c></row>'
    b'<row r="3"><c r="A3" t="d"><v>2021-01-31</v></c><c r="B3"><v>7E0</v></c></row>'
    b"</sheetData></worksheet>"
)
KEY = b"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
