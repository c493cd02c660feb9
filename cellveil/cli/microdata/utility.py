"""The command ``cellveil microdata utility``: figures of a masked file beside the original's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish
from cellveil.cli.options import argument, option
from cellveil.cli.taking import taking
from cellveil.io.files import check_outputs
from cellveil.io.inputs import by_column, split_names
from cellveil.io.records.reading import record_files
from cellveil.requests.outputs import Rows
from cellveil.requests.source import Written

if TYPE_CHECKING:
    from microagg.comparisons.result import Utility

OriginalIn = Annotated[
    Path, argument(f"The file before masking: {options.RECORDS}, {options.SHEETS}.", "ORIGINAL")
]
MaskedIn = Annotated[Path, argument("The masked file, of any tool.", "MASKED")]


@taking
def utility(
    original: OriginalIn,
    masked: MaskedIn,
    *,
    attributes: Annotated[
        str | None,
        option("Columns to compare, by commas.", "COLUMNS", default="all that are numbers in both"),
    ] = None,
    regress: Annotated[
        list[str] | None,
        option(
            "A column and those that explain it: wage=school,age; once for each regression.",
            "COLUMN=COLUMNS",
        ),
    ] = None,
    propensity: options.Propensity = False,
    written: Written,
    output: options.RowsFile = None,
    summary: options.Summary = None,
    reveal: options.RevealOriginals = False,
) -> None:
    """Compare what a masked file says with what the original says.

    $ cellveil microdata utility persons.csv masked.csv

    Means, deviations, quantiles, distances of distributions, correlations, regressions, and the
    propensity score. Without --reveal it shows the figures of the masked file only. Rows need not
    be in the same order.
    """
    import microagg

    check_outputs({"-o": output, "--summary": summary}, [original, masked])
    before, after = record_files(original, masked, written=written)
    found = microagg.utility(
        before, after,
        split_names(attributes, "--attributes") if attributes else None,
        regressions=by_column(
            regress, "--regress", lambda text: split_names(text, "--regress"), "COLUMNS"
        ),
        propensity=propensity,
    )  # fmt: skip
    finish(
        found.summary(reveal=reveal), utility_words(found, reveal=reveal),
        columns=_long(found, reveal=reveal), to=Rows(output, summary),
    )  # fmt: skip


def _long(found: Utility, *, reveal: bool) -> dict[str, list[Any]]:
    """One row for each column and figure."""
    rows: list[tuple[Any, ...]] = []
    for j, name in enumerate(found.names):
        pairs = zip(
            found.statistics, found.original[j].tolist(), found.masked[j].tolist(), strict=True
        )
        rows += [(name, word, _short(one), _short(two)) for word, one, two in pairs]
    names = ("column", "figure", "original", "masked")
    shown = names if reveal else ("column", "figure", "masked")
    return {name: [row[names.index(name)] for row in rows] for name in shown}


def _short(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.6g}"


def utility_words(found: Utility, *, reveal: bool) -> list[str]:
    """Say how far the masked file is from the original."""
    lines = []
    if found.left_out:
        lines.append(f"Not compared, as they are not numbers: {', '.join(found.left_out)}.")
    if not reveal:
        lines.append(
            "The figures of the original, and how far those of the masked file are from them, are "
            "not for publication; --reveal shows them."
        )
        return lines
    far = dict(zip(found.names, found.distances.tolist(), strict=True))
    told = ", ".join(f"{name} {_short(distance)}" for name, distance in far.items())
    lines.append(f"Largest differences of the distribution functions: {told}.")
    one, other, change = found.largest_change
    if one:
        lines.append(
            f"The correlation that changes most is that of {one} and {other}: {change:+.4f}."
        )
    for part in found.regressions:
        terms = ", ".join(
            f"{term} {before:.6g} to {after:.6g} (intervals overlap by {100 * overlap:.0f} %)"
            for term, before, after, overlap in zip(
                part.terms, part.original.tolist(), part.masked.tolist(), part.overlap.tolist(),
                strict=True,
            )
        )  # fmt: skip
        lines.append(f"Regression of {part.response}: {terms}.")
    if found.propensity is not None:
        score = found.propensity
        lines.append(
            f"Propensity score mean squared error {score.pmse:.4g}, {score.ratio:.4g} times what "
            "is expected of a right model; 0 is alike."
        )
    return lines
