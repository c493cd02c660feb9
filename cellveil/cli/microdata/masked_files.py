"""The commands ``cellveil microdata check`` and ``attack``: judge a masked file as published."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.microdata.sentences import link_words
from cellveil.cli.options import option
from cellveil.cli.taking import taking
from cellveil.front import refuse
from cellveil.io.files import check_outputs
from cellveil.io.records.reading import record_files
from cellveil.render.screen import tell
from cellveil.requests.masking import Models, Person, Roles
from cellveil.requests.outputs import Facts
from cellveil.requests.source import Written
from csp.exact import read_fraction
from csp.tables.columns import column_names

if TYPE_CHECKING:
    from microagg.checks.result import Anonymity


@taking
def check(
    data: options.DataFile,
    *,
    roles: Roles,
    person: Person,
    asked: Models,
    written: Written,
    summary: options.Summary = None,
) -> None:
    """Check a masked file for k-anonymity, l-diversity of three kinds, and t-closeness.

    $ cellveil microdata check masked.csv --quasi-identifiers age,town

    -p asks for distinct values (p-sensitivity). Without anything asked for it only measures. Rows
    are counted from 1. Exit codes: 0 all that was asked for holds, 1 some does not, 2 bad input.
    """
    import microagg

    check_outputs({"--summary": summary}, [data])
    secret, keys = roles.confidential, roles.quasi_identifiers or None
    if not secret and asked.of_confidential:
        refuse(
            "-p, -t, --entropy and --recursive are for confidential columns; name them with "
            "--confidential"
        )
    wanted = asked.distance
    ratio, entropy = read_fraction(asked.ratio), asked.entropy
    (file,) = record_files(data, written=written, whole=entropy is not None)
    found = microagg.checks.anonymity(file, keys, secret, c=ratio, contributor=person.contributor)
    holds: dict[str, bool] = {}
    if asked.k is not None:
        holds[f"{asked.k}-anonymous"] = found.k >= asked.k
    if asked.p is not None:
        holds[f"{asked.p}-sensitive"] = found.p is not None and found.p >= asked.p
    if wanted is not None:
        holds[f"{asked.close}-close"] = found.t is not None and found.t <= wanted
    if entropy is not None:
        holds[f"entropy {entropy}-diverse"] = microagg.checks.is_l_diverse(
            file, read_fraction(entropy), keys, secret, kind="entropy",
            contributor=person.contributor,
        )  # fmt: skip
    if asked.recursive is not None:
        least = min(part.recursive for part in found.confidential)
        words = f"recursively ({asked.ratio}, {asked.recursive})-diverse"
        holds[words] = least >= asked.recursive
    facts = found.summary() | {"asked": holds}
    lines = _check_words(found, asked.k, holds)
    finish(facts, lines, safe=all(holds.values()), speak=tell, to=Facts(summary))


def _check_words(found: Anonymity, k: int | None, asked: dict[str, bool]) -> list[str]:
    people = f" different contributor{'s' * (found.k > 1)}" if found.by_contributor else ""
    lines = [
        f"{len(found.classes)} records in {len(found.sizes)} classes of equal "
        f"{', '.join(found.quasi_identifiers)}; the smallest has {found.k}{people}."
    ]
    few = found.below(max(k or 2, 2))
    if len(few):
        rows = ", ".join(str(row + 1) for row in few[:5].tolist())
        more = ", ..." if len(few) > 5 else ""
        where = "Alone in their class" if (k or 2) <= 2 else f"In classes of fewer than {k}"
        if found.by_contributor:
            where = f"In classes of fewer than {max(k or 2, 2)} contributors"
        lines.append(f"{where}: {len(few)} (row{'s' if len(few) > 1 else ''} {rows}{more}).")
    for part in found.confidential:
        distance = "" if part.t is None else f"; distance from the file up to {float(part.t):.4g}"
        several = "s" * (part.p != 1)
        lines.append(
            f"{part.name}: at least {part.p} value{several} in every class, entropy l "
            f"{part.entropy:.4g}, recursive ({part.c}, {part.recursive}){distance}."
        )
    lines += map(noted, found.notes)
    lines += [f"The file is {'' if holds else 'not '}{words}." for words, holds in asked.items()]
    return lines


@taking
def attack(
    data: options.DataFile,
    *,
    roles: Roles,
    original: Annotated[
        Path | None, option("The file before masking, rows in the same order: for links.", "FILE")
    ] = None,
    percent: Annotated[str, option("Of the ranks, for intervals around a value.", "NUMBER")] = "10",
    width: Annotated[str, option("Confidential values this close count as one.", "NUMBER")] = "0",
    written: Written,
    summary: options.Summary = None,
) -> None:
    """Attack a masked file: values that a class discloses, links of persons to records, ranks.

    $ cellveil microdata attack masked.csv --quasi-identifiers age,town

    Homogeneity takes the masked file and its confidential columns. With --original, persons are
    linked to masked records by the quasi-identifiers (all that both files have and that is not
    confidential, by default), and original values are looked for among the ranks around masked
    ones. What it finds with the original file is not for publication. Exit codes: 0 nothing is
    certain, 1 some value or link is, 2 bad input.
    """
    import microagg

    check_outputs({"--summary": summary}, [data, original])
    secret, known = roles.confidential, roles.quasi_identifiers or None
    if not secret and original is None:
        refuse("name --confidential columns, or the --original file: there is nothing to attack")
    paths = [data] if original is None else [data, original]
    masked, *originals = record_files(*paths, written=written, whole=True)
    facts: dict[str, Any] = {}
    certain = 0
    lines = []
    if secret:
        told = facts["homogeneity"] = microagg.intruders.homogeneity(
            masked, known, secret, width=width
        ).summary()
        certain += told["disclosed_records_beyond_constants"]
        near = "" if width == "0" else f" within {width}"
        lines += [
            f"{one['attribute']}: follows from the class{near} for {one['disclosed']} of "
            f"{told['records']} records"
            + (" (one value in the whole file)." if one["constant"] else ".")
            for one in told["confidential"]
        ]
    for before in originals:
        known = known or _shared(before, masked, secret)
        linked = facts["linkage"] = microagg.intruders.link_records(
            before, masked, attributes=known
        ).summary()
        certain += linked["certain_links"]
        lines.append(link_words(linked))
        ranks = facts["ranks"] = microagg.intruders.rank_disclosure(
            before, masked, percent=percent, attributes=known
        ).summary()
        lines.append(
            f"{100 * ranks['share']:.1f} % of the original values lie within {percent} % of the "
            "ranks around their masked value."
        )
    finish(facts, lines, safe=not certain, speak=tell, to=Facts(summary))


def _shared(before: Any, masked: Any, secret: Collection[str]) -> tuple[str, ...]:
    """Columns of both files that are not confidential, in the order of the original."""
    left = set(column_names(masked)) - set(secret)
    found = tuple(name for name in column_names(before) if name in left)
    if not found:
        refuse("the files have no column in common that is not confidential; name them alike")
    return found
