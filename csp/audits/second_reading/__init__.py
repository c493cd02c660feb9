"""The second reading: an audit that begins at the records and shares no code with the protection.

`files` takes apart the files, `meaning` is what their columns say and the cells that follow,
`people` reads who contributes what to which cell, `rules` which cells are sensitive and how
uncertain they must stay; `programs` follow what an outsider and each contributor who is alone in a
cell, the `attackers`, can infer, and `findings` tell of it. `reread` is all of it in one call.
"""

from csp.audits.second_reading.attackers import reread
from csp.audits.second_reading.files import (
    by_layout,
    layout_of,
    parents_of,
    rows_of,
    statements_of,
)
from csp.audits.second_reading.findings import Difference, Exposure, Rereading
from csp.audits.second_reading.meaning import Columns

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
