"""Everything that results in Python show, for data that agree with what is published."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.equality.methods import groups, plain, showing_classes, shown_by
from tests.support.shared import ROOT

GROUPS = dict(groups())

FOR_ANALYSTS = {
    "Anonymity": "of a masked file alone, as anyone has it",
    "Diversity": "likewise",
    "MaskedFile": "the base of those below",
    "Ranked": "an individual ranking",
    "Swapped": "drawn by coins; tried as a command",
    "MaskedReport": "for the office; what is shown without reveal is in test_masked_reports",
    "Utility": "compares with the original, for the office; likewise in test_utility",
    "Study": "of tables whose values its owner has; decision 8 says what it shows",
    "Comparison": "works out errors from true values, for the office; its docstring says so",
    "Linkages": "of groups that the quasi-identifiers give",
}
"""Classes whose results are not made of confidential data, or are tried elsewhere."""


@pytest.mark.parametrize("name", GROUPS)
def test_methods_show_the_same_of_all_data_that_agree(name: str) -> None:
    agreeing = defaultdict(list)
    for call in GROUPS[name]:
        found = call()
        agreeing[found["published"]].append(found["results"])
    assert max(map(len, agreeing.values())) > 1
    for several in agreeing.values():
        first = [(n, plain(m())) for one in several[0] for n, m in shown_by(one)]
        for other in several[1:]:
            assert [(n, plain(m())) for one in other for n, m in shown_by(one)] == first


def test_every_class_that_shows_data_is_tried() -> None:
    seen = {
        type(one) for call in (calls[0] for calls in GROUPS.values()) for one in call()["results"]
    }
    names = {base.__name__ for kind in seen for base in kind.__mro__}
    missing = showing_classes(ROOT) - names - FOR_ANALYSTS.keys()
    assert not missing
