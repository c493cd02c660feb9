"""What a table says of its own signs settles what they mean."""

from __future__ import annotations

import pytest

from csp import InputError, Release
from csp.published.legend import legend_of

# 10 + . + 30 = 60, and so on: all rows and columns with one sign can be worked out.
ROWS = [["Region", "Farms", "Trade", "Total"], ["North", 10, "{}", 60], ["South", "{}", 15, 40],
        ["Total", 35, 65, 100]]  # fmt: skip


def table(first: str, second: str, *below: list[str]) -> list[list[object]]:
    signs = iter([first, second])
    rows = [[next(signs) if item == "{}" else item for item in row] for row in ROWS]
    return [*rows, *below]


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (". = Zahlenwert unbekannt", {".": "withheld"}),
        (". = Zahlenwert unbekannt oder geheim zu halten", {".": "withheld"}),
        ("x = Tabellenfach gesperrt, weil Aussage nicht sinnvoll", {"x": "empty"}),
        ("x = suppressed", {"x": "withheld"}), ("x: suppressed", {"x": "withheld"}),
        ("x \u2013 confidential", {"x": "withheld"}),
        ("Symbols: x = suppressed, .. = not available, - = nil",
         {"x": "withheld", "..": "unknown", "-": "zero"}),
        ("Zeichenerkl\u00e4rung: . = geheim; / = nicht sicher genug; p = vorl\u00e4ufig",
         {".": "withheld", "/": "unknown", "p": "beside"}),
        (": = not available", {":": "unknown"}),
        ("F = too unreliable to be published", {"F": "unknown"}),
        ("np = not available for publication but included in totals", {"np": "withheld"}),
        ("D = not available, to protect privacy", {"D": "withheld"}),
        ("p = not published", {"p": "withheld"}), ("x = nil or fewer than 3 persons", {}),
        ("- = nil or rounded to zero", {}), ("x = non-zero value", {}),
        ("x = none shown", {"x": "withheld"}),
        ("0 = mehr als nichts, aber weniger als die H\u00e4lfte der Einheit", {}),
        ("Source: Survey of suppressed demand", {}), ("x = a letter", {}),
    ],
)  # fmt: skip
def test_lines_that_tell_of_signs(line, meaning) -> None:
    assert legend_of([["a", "b"], ["c", 3], [line]]) == meaning


def test_two_columns_and_what_contradicts_itself() -> None:
    table = [["r", "n"], ["a", 3], ["b", "suppressed"]]
    assert legend_of(table) == {}
    assert legend_of([*table, [], ["x", "suppressed"], [".", "not available"]]) == {
        "x": "withheld", ".": "unknown",
    }  # fmt: skip
    assert legend_of([["x = suppressed"], ["x = not applicable"]]) == {}
    assert legend_of([["x", "suppressed", 3]]) == {}


def test_signs_on_which_offices_differ_are_settled_by_the_table() -> None:
    with pytest.raises(InputError, match="offices differ"):
        Release.from_frame(table(".", "x"))
    german = Release.from_frame(
        table(".", "x", [". = Zahlenwert unbekannt"], ["x = Tabellenfach gesperrt"])
    )
    assert int(german.pattern.sum()) == 1
    assert any("as the legend of the table says" in note for note in german.notes)
    british = Release.from_frame(table(".", "x", ["x = suppressed", ". = not available"]))
    assert int(british.pattern.sum()) == 2
    assert int(british.unavailable.sum()) == 1


def test_what_the_reader_says_goes_before_the_legend() -> None:
    rows = table(".", "x", ["x = not available"])
    assert Release.from_frame(rows, withheld=[".", "x"]).unavailable is None
    # And the legend before a guess, for signs that it names; others are guessed as before.
    assert int(Release.from_frame(rows, withheld=["."]).unavailable.sum()) == 1
    assert Release.from_frame(table("q", "x", ["q = geheim"])).pattern.sum() == 2
