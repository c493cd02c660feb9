"""Names of columns of published lists, as programs and offices write them, in lower case."""

from __future__ import annotations

__all__ = ["FLAGS", "OTHERS", "VALUES"]

VALUES = (
    "obs_value", "value", "values", "wert", "v4_0", "v4_1", "freq", "count", "n", "emp",
)  # fmt: skip
"""Names of columns that hold the cells, in lower case; the first that is there counts."""

FLAGS = (
    "status", "obs_status", "conf_status", "obs_flag", "flag", "flags", "data marking",
    "value_q", "sdcstatus", "disclosure_code", "symbol", "wert_q", "empflag",
)  # fmt: skip
"""Names of columns of flags."""

OTHERS = (
    "structure", "structure_id", "structure_name", "action", "dataflow", "last update", "dguid",
    "uom", "uom_id", "scalar_factor", "scalar_id", "vector", "coordinate", "terminated", "decimals",
    "published", "suppressed", "unit_mult", "obs_comment", "lower", "upper",
)  # fmt: skip
"""Names of columns that are neither, as programs and offices write them."""
