"""Labels without the signs of their footnotes."""

from __future__ import annotations

import pytest

from csp import Release
from csp.published.grids.labels import plain_label

LABELS = [
    ("North East [note 1]", "North East"), ("North East [Note 1]", "North East"),
    ("Retail [notes 1, 2]", "Retail"), ("Retail [note 1][note 2]", "Retail"),
    ("Berlin 1)", "Berlin"), ("Berlin1)", "Berlin"), ("Berlin (1)", "Berlin"),
    ("Kreise (Land) 1)", "Kreise (Land)"), ("Total*", "Total"), ("Total\u00b9", "Total"),
    ("Trade [a]", "Trade"), ("1)", "1)"),
    ("Household (size 1)", "Household (size 1)"), ("Services (section M)", "Services (section M)"),
    ("Services (section m)", "Services (section m)"), ("Mining (B)", "Mining (B)"),
    ("Persons (aged 65)", "Persons (aged 65)"), ("Loans (notes)", "Loans (notes)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "plain"), LABELS)
def test_signs_of_footnotes_are_left_out(text: str, plain: str) -> None:
    assert plain_label(text) == plain


def test_labels_that_end_in_a_bracket_stay_apart() -> None:
    rows = [["Group", "North", "South", "Total"], ["Household (size 1)", "[c]", 20, 30],
            ["Household (size 2)", "[c]", 22, 37], ["All households", 25, 42, 67]]  # fmt: skip
    labels = {label[0] for label in Release.from_frame(rows).labels}
    assert {"Household (size 1)", "Household (size 2)"} <= labels
