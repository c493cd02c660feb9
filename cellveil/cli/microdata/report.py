"""The command ``cellveil microdata report``: a masked file on one page, checked and attacked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.microdata.sentences import link_words
from cellveil.cli.microdata.utility import MaskedIn, OriginalIn
from cellveil.cli.options import option
from cellveil.cli.taking import taking
from cellveil.io.files import check_outputs
from cellveil.io.records.reading import record_files
from cellveil.report.masked import masked_facts, masked_page
from cellveil.report.skeleton import write_page
from cellveil.requests.masking import Person, Roles
from cellveil.requests.source import Written
from csp.names.calls import whole_number

if TYPE_CHECKING:
    from microagg.masked_reports import MaskedReport


@taking
def report(
    original: OriginalIn,
    masked: MaskedIn,
    *,
    roles: Roles,
    person: Person,
    k: Annotated[int | None, option("Least size of a class asked for.", "NUMBER", "-k")] = None,
    propensity: options.Propensity = False,
    written: Written,
    output: Annotated[
        Path | None,
        option(
            "Page (.html); its facts are written beside it as .json.",
            "FILE",
            "--output",
            "-o",
            default="the masked file with .report.html",
        ),
    ] = None,
    reveal: options.RevealOriginals = False,
) -> None:
    """Write one HTML page about a masked file of any tool: checks, attacks, utility.

    $ cellveil microdata report persons.csv masked.csv -o masked.html

    Without --reveal it says what anybody can find of the masked file: k, l, t, and what follows
    from a class. With --reveal also links of persons, rows in the same order, and the figures of
    both files. --contributor names a column of either file. Exit codes: 0 written, 1 -k does not
    hold, 2 bad input.
    """
    import microagg

    stem = masked.name.partition(".")[0]
    page = masked.parent / f"{stem}.report.html" if output is None else output
    check_outputs({"-o": page}, [original, masked], {"-o": (".html",)})
    if k is not None:
        whole_number("-k", k)
    before, after = record_files(original, masked, written=written)
    found = microagg.report(
        before, after,
        roles.quasi_identifiers or None, roles.confidential,
        contributor=person.contributor, propensity=propensity and reveal,
    )  # fmt: skip
    holds = k is None or found.anonymity.k >= k
    facts: dict[str, Any] = masked_facts(found, reveal=reveal)
    write_page(page, masked_page(facts), facts)
    lines = [*_words(found, reveal=reveal), f"Wrote {page}, {page.with_suffix('.json')}."]
    if k is not None:
        lines.insert(0, f"The file is {'' if holds else 'not '}{k}-anonymous.")
    finish(facts, lines, safe=holds, show=lambda: None)


def _words(found: MaskedReport, *, reveal: bool) -> Iterator[str]:
    told = found.anonymity
    people = " different contributors" if told.by_contributor else ""
    yield (
        f"{len(told.classes)} records in {len(told.sizes)} classes of equal "
        f"{', '.join(told.quasi_identifiers)}; the smallest has {told.k}{people}."
    )
    if found.homogeneity is not None:
        counts = found.homogeneity.disclosed.sum(axis=0).tolist()
        pairs = zip(found.homogeneity.names, counts, strict=True)
        known = ", ".join(f"{name} of {count}" for name, count in pairs)
        yield f"Values follow from a class alone: {known} records."
    if reveal and found.linkage is not None:
        yield link_words(found.linkage.summary())
    elif reveal:
        yield f"No links were tried: {found.unlinked}."
    yield from map(noted, told.notes)
