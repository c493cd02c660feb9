"""Parts that are named without the others: what is left follows by subtraction."""

import numpy as np
import pytest
from scipy.optimize import linprog

from attacks import audit_published
from csp import Release, protect
from csp.errors import InputError
from csp.published.crosstabs.reading import read_crosstab
from csp.published.sums.of_which import are_of_which, is_of_which, plain_part
from csp.tables.table import Table


def cells(table: Table) -> dict[tuple[str, ...], int]:
    return dict(zip(map(tuple, table.labels), table.values.tolist(), strict=True))


WOMEN = [["Region", "Insgesamt", "darunter Frauen"], ["Nord", 40, 38], ["S\u00fcd", 80, 33],
         ["Insgesamt", 120, 71]]  # fmt: skip


@pytest.mark.parametrize(
    "label", ["darunter Frauen", "Darunter: Frauen", "of which retail", "- of whom women",
              "thereof cars", "Besch\u00e4ftigte, darunter Frauen"],
)  # fmt: skip
def test_words_that_name_a_part(label: str) -> None:
    assert is_of_which(label)
    assert not is_of_which(plain_part(label)) or "," in label


@pytest.mark.parametrize("label", ["davon Frauen", "Which?", "Trade, including repair", "Darunten"])
def test_words_that_do_not(label: str) -> None:
    assert not is_of_which(label)


def test_a_heading_is_the_words_alone() -> None:
    assert are_of_which("darunter:")
    assert not are_of_which("darunter Frauen")


def test_the_rest_of_a_part_is_a_cell() -> None:
    table = read_crosstab(WOMEN)
    found = cells(table)
    assert found["Nord", "less Frauen"] == 40 - 38
    assert found["Insgesamt", "less Frauen"] == 120 - 71
    assert table.roots == ("Insgesamt", "Insgesamt")
    assert any("darunter Frauen + less Frauen" in note for note in table.notes)


def test_a_rest_that_is_small_is_protected() -> None:
    pattern = protect(read_crosstab(WOMEN), "FREQ(3,10)").pattern
    hidden = dict(zip(map(tuple, read_crosstab(WOMEN).labels), pattern.tolist(), strict=True))
    assert hidden["Nord", "Insgesamt"] or hidden["Nord", "darunter Frauen"], "2 men follow"


def test_a_single_code_beside_a_total_is_a_part_of_true_values() -> None:
    rows = [[name.replace("darunter ", "") if isinstance(name, str) else name for name in row]
            for row in WOMEN]  # fmt: skip
    assert cells(read_crosstab(rows))["Nord", "less Frauen"] == 2
    assert len(Release.from_frame(rows).labels) == 6, "of a published table nothing is assumed"


def test_parts_that_may_overlap_have_a_rest_each_and_one_together() -> None:
    rows = [["Region", "Insgesamt", "darunter", None], [None, None, "Frauen", "Ausland"],
            ["Nord", 40, 18, 5], ["S\u00fcd", 80, 33, 7], ["Insgesamt", 120, 51, 12]]  # fmt: skip
    found = cells(read_crosstab(rows))
    assert found["Nord", "less Frauen"] == 22
    assert found["Nord", "less Ausland"] == 35
    assert found["Nord", "less Frauen less Ausland"] == 17
    rows[2] = ["Nord", 40, 38, 5]
    rows[4] = ["Insgesamt", 120, 71, 12]
    assert ("Nord", "less Frauen less Ausland") not in cells(read_crosstab(rows))


def test_rows_below_a_heading_of_parts() -> None:
    rows = [["Branch", "A", "B", "All"], ["Trade", 50, 60, 110], ["darunter:", None, None, None],
            ["  retail", 20, 22, 42], ["Farms", 10, 12, 22], ["Total", 60, 72, 132]]  # fmt: skip
    table = read_crosstab(rows)
    found = cells(table)
    assert found["darunter retail", "A"] == 20
    assert found["Trade less retail", "All"] == 110 - 42
    assert table.roots[0] == "Total"
    rows[3] = ["retail", 20, 22, 42]
    with pytest.raises(InputError, match=r"row 3: 'darunter:'.*'darunter retail'"):
        read_crosstab(rows)


def test_a_part_larger_than_its_whole_is_refused() -> None:
    rows = [[*row] for row in WOMEN]
    rows[1][2], rows[3][2] = 41, 74
    with pytest.raises(InputError, match=r"Nord.*larger than the cell of 'Insgesamt'"):
        read_crosstab(rows)


def test_a_withheld_part_is_bounded_by_its_whole_and_no_rest_counts_as_withheld() -> None:
    rows = [["Region", "Total", "of which women"], ["N", 40, "[c]"], ["S", 80, "[c]"],
            ["Total", 120, 71]]  # fmt: skip
    release = Release.from_frame(rows)
    audit = audit_published(release)
    assert audit.sentences()[0] == "2 cells of 9 are withheld."
    # Its own interval of each: women in N are 71 less those in S, of whom there are 80 at most.
    hidden = [i for i, label in enumerate(release.labels) if label[1] == "of which women"][:2]
    ends = []
    for cell in hidden:
        for sign in (1, -1):
            c = np.zeros(len(release.pattern))
            c[cell] = sign
            known = ~release.pattern
            low = np.where(known, release.published, release.lower)
            high = np.where(known, release.published, np.minimum(release.upper, 10**6))
            found = linprog(
                c, A_eq=release.relations.toarray(), b_eq=np.zeros(release.relations.shape[0]),
                bounds=list(zip(low, high, strict=True)),
            )  # fmt: skip
            ends.append(round(sign * found.fun))
    assert ends == [0, 40, 31, 71]


def test_a_table_with_rests_reads_back_with_the_same_sums() -> None:
    rows = [["Region", "darunter Frauen", "darunter Ausland", "less Frauen", "less Ausland",
             "less Frauen less Ausland", "Insgesamt"],
            ["Nord", 18, 5, "[c]", 35, "[c]", 40], ["S\u00fcd", 33, 7, 47, 73, 40, 80],
            ["Insgesamt", 51, 12, 69, 108, 57, 120]]  # fmt: skip
    release = Release.from_frame(rows)
    assert len(release.labels) == 18, "nothing is added"
    along = {
        frozenset(release.labels[i][1] for i in np.flatnonzero(row))
        for row in release.relations.toarray()
        if len({release.labels[i][0] for i in np.flatnonzero(row)}) == 1
    }  # fmt: skip
    assert along == {
        frozenset(["Insgesamt", "darunter Frauen", "less Frauen"]),
        frozenset(["Insgesamt", "darunter Ausland", "less Ausland"]),
        frozenset(["Insgesamt", "darunter Frauen", "darunter Ausland", "less Frauen less Ausland"]),
    }  # fmt: skip
    assert "2 cells can be worked out exactly" in audit_published(release).text()


def test_a_part_beside_indented_ones_is_not_a_part_of_all() -> None:
    rows = [["Branch", "n"], ["Trade", 50], ["of which: retail", 20], ["Farms", 10],
            ["  wheat", 4], ["  rye", 6], ["Total", 60]]  # fmt: skip
    table = read_crosstab(rows)
    assert cells(table)["Trade less retail",] == 30


def test_parts_behind_a_heading_that_is_divided_are_asked_for() -> None:
    rows = [["Region", "Total", "Men", None, "of which", None],
            [None, None, "young", "old", "apprentices", "foreign"],
            ["N", 40, 10, 20, 4, 5], ["S", 80, 30, 10, 6, 7],
            ["Total", 120, 40, 30, 10, 12]]  # fmt: skip
    with pytest.raises(InputError, match=r"column 5: 'of which' stands behind 'Men'.*Total,Men"):
        read_crosstab(rows)
    with_named = cells(read_crosstab([[*r[:2], *r[4:]] for r in rows]))
    assert with_named["N", "less apprentices"] == 40 - 4
