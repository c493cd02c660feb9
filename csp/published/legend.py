"""What a table's own footnotes say of its signs: ``x = suppressed``, ``. = geheim zu halten``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from csp.published.entries import sign_of
from csp.published.grids.kinds import is_number

_FIRST, _LAST = 30, 100
"""Lines at the top and at the end of a table among which a legend is looked for."""

_MEANINGS = (
    # Less than half a unit is a number that is rounded to 0, and a range at most.
    ("", r"less than half|weniger als die h\u00e4lfte"),
    (
        "withheld",
        r"suppress|withh[eo]ld|confidential|disclos|secre(?:t|cy)|privacy|anonym|"
        r"for publication|not (?:to be |for )?publi|(?:not|none) (?:shown|released)|"
        r"geheim|vertraulich|unterdr\u00fcckt|zahlenwert unbekannt|confidentiel|secret statistique",
    ),
    # Whatever stands beside it, a small number is neither 0 nor not available.
    (
        "",
        r"(?:less|fewer) than|round(?:s|ed) to|weniger als|gerundet|"
        r"non-? ?zero|(?:than|above|from) zero",
    ),
    (
        "unknown",
        r"not (?:yet )?available|unavailable|unreliable|not reliable|missing|no data|unknown|"
        r"unbekannt|nicht verf\u00fcgbar|keine angabe|liegt (?:noch )?nicht vor|"
        r"f\u00e4llt sp\u00e4ter|nicht sicher genug|non disponible",
    ),
    (
        "empty",
        r"not applicable|not appropriate|cannot (?:exist|occur)|logically impossible|gesperrt|"
        r"nicht sinnvoll|trifft nicht zu|entf\u00e4llt|sans objet",
    ),
    (
        "zero",
        r"nichts vorhanden|genau null|\bnil\b|\bzero\b|\bnone\b|n\u00e9ant",
    ),
    (
        "beside",
        r"provisional|preliminary|revised|estimate|vorl\u00e4ufig|berichtigt|gesch\u00e4tzt|provisoire",
    ),
)  # fmt: skip
"""Meanings as `csp.published.marks.Marks` has them, by words; the first one that is met counts."""

_WORDS = [(kind, re.compile(words, re.IGNORECASE)) for kind, words in _MEANINGS]

_PART = re.compile(r"(?:^|(?<=[;,|:.)])\s+|\s{2,})(?P<sign>[^\s\"';,]{1,4}|[;,])\s*=\s*")
"""A sign and what stands between it and its words; several may follow each other in a line."""

_ALONE = re.compile(r"^(?P<sign>\S{1,4}?)\s*(?::|\s[-\u2013\u2014]|\t)\s+(?=\S)")
"""The same at the beginning of a line: ``x: suppressed``, ``x - suppressed``."""


def legend_of(rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Read what the lines around a table say of its signs.

    Parameters
    ----------
    rows : sequence of sequence
        Rows of a sheet or a text file. Lines with a number beside their first entry are cells.

    Returns
    -------
    dict of str to str
        "withheld", "unknown", "empty", "zero" or "beside" of each sign. One of which lines say
        different things is left out.
    """
    found: dict[str, set[str]] = {}
    near = rows if len(rows) <= _FIRST + _LAST else [*rows[:_FIRST], *rows[-_LAST:]]
    lines = [[text for item in row if (text := sign_of(item))] for row in near]
    last = max((i for i, line in enumerate(lines) if any(map(is_number, line[1:]))), default=0)
    below = next((i for i in range(last + 1, len(lines)) if not lines[i]), len(lines))
    for i, texts in enumerate(lines):
        if not texts or any(map(is_number, texts[1:])):
            continue
        pairs = _said(", ".join(texts))
        # Two entries right below the numbers may be a label and a cell.
        if not pairs and i > below and len(texts) == 2 and len(texts[0]) <= 4 < len(texts[1]):
            pairs = [(texts[0], texts[1])]
        for sign, words in pairs:
            kind = next((kind for kind, means in _WORDS if means.search(words)), "")
            if kind:
                found.setdefault(sign, set()).add(kind)
    return {sign: next(iter(kinds)) for sign, kinds in found.items() if len(kinds) == 1}


def _said(line: str) -> list[tuple[str, str]]:
    """Signs and words of a line."""
    parts = [*_PART.finditer(line)]
    if not parts and (one := _ALONE.match(line)):
        parts = [one]
    ends = [*(part.start() for part in parts[1:]), len(line)][: len(parts)]
    return [(part["sign"], line[part.end() : end]) for part, end in zip(parts, ends, strict=True)]
