"""The second reading: an audit that begins at the records and shares no code with the protection.

`files` takes apart the files, `people` reads who contributes what to which cell, `rules` which
cells are sensitive and how uncertain they must stay, `attackers` what an outsider and each
contributor who is alone in a cell can infer; `reread` there is all of it in one call.
"""

from csp.audits.second_reading.attackers import Difference, Exposure, Rereading, reread
from csp.audits.second_reading.files import (
    by_layout,
    layout_of,
    parents_of,
    rows_of,
    statements_of,
)
from csp.audits.second_reading.people import Columns

__all__ = [
    "Columns",
    "Difference",
    "Exposure",
    "Rereading",
    "by_layout",
    "layout_of",
    "parents_of",
    "reread",
    "rows_of",
    "statements_of",
]
