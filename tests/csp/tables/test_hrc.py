"""τ-ARGUS hierarchy files."""

from __future__ import annotations

import pytest

from csp import Hierarchy, InputError
from csp.tables.hierarchies.hrc import parse_hrc
from tests.support.shared import shared_data

REGIONS = "North\n@ 1\n@ 2\nSouth \n@10\n@@10a\n@11\n"


def test_leads_show_the_depth(tmp_path):
    expected = {
        "North": "Total", "1": "North", "2": "North",
        "South": "Total", "10": "South", "10a": "10", "11": "South",
    }  # fmt: skip
    assert parse_hrc(REGIONS) == expected
    assert parse_hrc(REGIONS.splitlines()) == expected
    path = tmp_path / "regions.hrc"
    path.write_bytes(REGIONS.replace("\n", "\r\n").encode())
    assert parse_hrc(path) == expected
    assert parse_hrc(str(path)) == expected
    assert parse_hrc(REGIONS.replace("@", "->"), lead="->") == expected


def test_code_page_and_byte_order_mark(tmp_path):
    path = tmp_path / "a.hrc"
    path.write_bytes("Köln\n@Nippes\n".encode("cp1252"))
    assert list(parse_hrc(path)) == ["Köln", "Nippes"]
    path.write_bytes("\ufeffKöln\n".encode())
    assert list(parse_hrc(path)) == ["Köln"]


def test_written_file_is_read_back(tmp_path):
    tree = Hierarchy.from_hrc(REGIONS)
    path = tmp_path / "out.hrc"
    text = tree.to_hrc(path)
    assert path.read_text() == text == "North\n@1\n@2\nSouth\n@10\n@@10a\n@11\n"
    assert Hierarchy.from_hrc(path) == tree
    assert [p.name for p in tmp_path.iterdir()] == ["out.hrc"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A\n@@x\n", ["line 2", "'x'", "one level deeper"]),
        ("@A\nB\n", ["line 1", "'A'"]),
        ("A\n@\n", ["line 2", "no code"]),
        ("A\n\n@x\nB\n@x\n", ["line 5", "'x'", "line 3"]),
        ("A\nTotal\n", ["line 2", "'Total'"]),
        ("\n\n", ["no codes"]),
    ],
)
def test_malformed_lines_are_named(text, words, tmp_path):
    path = tmp_path / "bad.hrc"
    path.write_text(text)
    for source in (text, path):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_hrc(source)
        for word in words:
            assert word in str(caught.value)
    assert "bad.hrc" in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match=r"missing\.hrc"):
        Hierarchy.from_hrc(tmp_path / "missing.hrc")
    tree = Hierarchy.flat(["a"])
    with pytest.raises(InputError, match="cannot write"):
        tree.to_hrc(tmp_path / "nowhere" / "out.hrc")
    with pytest.raises(InputError, match="begins with the lead"):
        Hierarchy.flat(["@a"]).to_hrc()
    assert Hierarchy.flat(["@a"]).to_hrc(lead="#") == "@a\n"
    with pytest.raises(InputError, match="lead"):
        tree.to_hrc(lead="")
    with pytest.raises(InputError, match="lead"):
        Hierarchy.from_hrc("a\n", lead="")
    with pytest.raises(InputError, match="line break"):
        Hierarchy.flat(["a\nb"]).to_hrc()


def test_region_files_of_tau_argus():
    tree = Hierarchy.from_hrc(shared_data("tables", "region2.hrc"))
    assert [tree.codes[i] for i in tree.leaves] == [str(i) for i in range(1, 13)]
    inner = {tree.codes[i]: len(tree.children(i)) for i in range(17) if tree.children(i)}
    assert inner == {"Nr": 3, "Os": 4, "Ws": 3, "Zd": 2, "Total": 4}
