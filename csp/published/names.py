"""Names of columns of published lists, as programs and offices write them, in lower case."""

from __future__ import annotations

import re
from collections.abc import Sequence

VALUES = (
    "obs_value", "value", "values", "wert", "v4_0", "v4_1", "freq", "count", "n", "emp",
)  # fmt: skip
"""Names of columns that hold the cells, in lower case; the first that is there counts."""

COUNTS = ("freq", "frequency", "count", "counts")
"""Names of columns whose numbers are of contributors."""

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

_FLAG_WORDS = frozenset({"flag", "flags", "empflag", "disclosure", "suppression", "suppressed"})
"""Last words of names of flags, behind those of the column that they belong to."""

_FORMS = frozenset({"code", "codes", "status", "flag", "flags"})
"""Words behind these that say nothing of what the flags belong to."""


def are_flags(name: str) -> bool:
    """Whether a column holds flags by its name: ``flag``, ``emp_flag``, ``EMP disclosure code``."""
    return name.casefold().strip() in FLAGS or _belongs_to(name) is not None


def flags_of(names: Sequence[str], value: str) -> tuple[str, ...]:
    """Columns of flags of the column `value`: those by their usual names, and those named after it.

    Flags named after another column say nothing of this one.
    """
    plain = {name.casefold().strip(): name for name in names}
    usual = [plain[name] for name in FLAGS if name in plain]
    own = [n for n in names if n not in usual and _belongs_to(n) == tuple(_words(value))]
    return (*usual, *own)


def _belongs_to(name: str) -> tuple[str, ...] | None:
    """Words of the column that these are flags of; None if the name does not say that they are."""
    words = _words(name)
    while len(words) > 1 and words[-1] in _FORMS and words[-2] in _FLAG_WORDS:
        words.pop()
    return tuple(words[:-1]) if len(words) > 1 and words[-1] in _FLAG_WORDS else None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", name.casefold()) if word]
