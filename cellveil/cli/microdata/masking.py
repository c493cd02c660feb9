"""The commands ``cellveil microdata``: mask a file in one of three ways, check and attack it."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.cli import options
from cellveil.cli.answers import finish
from cellveil.cli.microdata.masked_files import attack, check
from cellveil.cli.microdata.microaggregate import microaggregate
from cellveil.cli.microdata.report import report
from cellveil.cli.microdata.utility import utility
from cellveil.cli.options import option
from cellveil.cli.taking import taking
from cellveil.front import refuse
from cellveil.io.files import write_csv
from cellveil.io.inputs import by_column
from cellveil.io.records.masked import check_masked, write_masked
from cellveil.io.records.reading import record_files
from cellveil.requests.masking import Person, Ranges, Roles
from cellveil.requests.outputs import Masked
from cellveil.requests.source import Written
from csp.exact import read_fraction, read_whole

if TYPE_CHECKING:
    from microagg.aggregates.generalised import Generalised
    from microagg.swapping.swapped import Swapped

microdata = typer.Typer(
    name="microdata",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Mask files of records, check and attack masked ones.",
)

K = Annotated[int, option("Least size of a group.", "NUMBER", "-k")]


@taking
def swap(
    data: options.DataFile,
    *,
    k: K,
    roles: Roles,
    way: Annotated[
        Literal["swap", "rank", "means"],
        option(
            "swap: within groups of near records; rank: within groups of near values of the "
            "attribute itself; means: quasi-identifiers become means of groups, nothing is swapped."
        ),
    ] = "swap",
    intruders: Annotated[
        Literal["informed", "uninformed"],
        option(
            "With --way swap: each knows all but one confidential attribute, or they know "
            "the quasi-identifiers only."
        ),
    ] = "informed",
    groups: Annotated[
        Literal["mdav", "vmdav", "random"], option("How groups of records are made.")
    ] = "mdav",
    diverse: Annotated[
        int | None, option("Least number of values in a group (l-diversity).", "NUMBER")
    ] = None,
    close: Annotated[
        str | None, option("Largest distance from the file (t-closeness).", "NUMBER")
    ] = None,
    written: Written,
    files: Masked,
) -> None:
    """Swap confidential values within groups of at least k: links are right with 1/k at most.

    $ cellveil microdata swap persons.csv -k 5 --confidential income -o masked.csv

    All columns stay in the file (Soria-Comas and Domingo-Ferrer 2012). The coins are those of the
    operating system; no file that is written discloses them.
    """
    import microagg

    check_masked(files, data)
    (file,) = record_files(data, written=written)
    secret, known = roles.confidential or None, roles.quasi_identifiers or None
    if way != "swap":
        alone = {
            "--intruders": intruders != "informed", "--diverse": diverse is not None,
            "--close": close is not None,
            "--groups": way == "means" and groups != "mdav",
        }  # fmt: skip
        given = [option for option, there in alone.items() if there]
        if given:
            refuse(f"{', '.join(given)}: for --way swap; leave it out with --way {way}")
    if way == "swap":
        found = microagg.mdav_swap(
            file, k, confidential=secret, quasi_identifiers=known, intruders=intruders,
            groups=groups, l=diverse, t=close,
        )  # fmt: skip
    elif way == "rank":
        found = microagg.ir_swap(
            file, k, confidential=secret, quasi_identifiers=known, groups=groups
        )
    else:
        found = microagg.mdav_id(file, k, quasi_identifiers=known, confidential=secret or ())
    facts = found.summary(reveal=files.reveal)
    facts.pop("seed", None)
    _published(found.to_columns(), facts, _swap_words(found, reveal=files.reveal), files, file)


@taking
def anonymise(
    data: options.DataFile,
    *,
    k: Annotated[int, option("Fewest candidates to leave.", "NUMBER", "-k")],
    asked: Ranges,
    person: Person,
    form: Annotated[
        Literal["text", "columns"], option("Ranges as text, or as two columns of numbers.")
    ] = "text",
    written: Written,
    time_limit: options.SearchLimit = None,
    files: Masked,
) -> None:
    """Replace values by ranges until the aggregates an attacker knows match at least k records.

    $ cellveil microdata anonymise persons.csv -k 5 -o masked.csv

    Only the columns of --attributes are published (Gkountouna, Lepenioti and Terrovitis 2013).
    """
    import microagg

    check_masked(files, data)
    (file,) = record_files(data, written=written)
    found = microagg.aggregate_anonymise(
        file, k, list(asked.known), asked.within,
        attributes=asked.attributes or None,
        importance=by_column(list(asked.importance), "--importance", read_fraction),
        diverse=by_column(list(asked.diverse), "--diverse", read_whole),
        contributor=person.contributor, time_limit=time_limit,
    )  # fmt: skip
    facts, words = found.summary(reveal=files.reveal), _range_words(found, reveal=files.reveal)
    _published(found.to_columns(form), facts, words, files, file)


def _published(
    columns: Any, facts: dict[str, Any], words: list[str], files: Masked, source: Any
) -> None:
    """End with a masked file; without -o it is printed as a .csv would be written."""
    finish(
        facts, words, safe=True, columns=columns, show=lambda: write_csv(sys.stdout, columns),
        to=files, save=partial(write_masked, source=source),
    )  # fmt: skip


def _swap_words(found: Swapped, *, reveal: bool) -> list[str]:
    facts = found.summary()
    lines = [
        f"{facts['records']} records by {found.method}: {', '.join(found.masked)} masked in groups "
        f"of {found.k} to {facts['largest_group']}."
    ]
    for row in facts["linkage"]:
        bound = "" if row["proved"] else " by the groups, which is not proved"
        lines.append(
            f"{row['attribute']}: an intruder's best link is right with probability "
            f"{row['linkage_worst']:.4g} at most{bound}, its best guess of a value "
            f"{row['value_worst']:.4g}."
        )
    alike = {name: count for name, count in found.alike(reveal=reveal).items() if count}
    if alike:
        told = ", ".join(f"{name} {count}" for name, count in alike.items())
        lines.append(f"Groups in which all values are equal, and so known: {told} (--diverse 2).")
    return lines


def _range_words(found: Generalised, *, reveal: bool) -> list[str]:
    facts = found.summary()
    share = 100 * facts["records_touched"] / max(facts["records"], 1)
    fewest = found.fewest if reveal else found.k
    how = f", by {found.chosen}; loss {found.ncp:.4f}" if reveal else ""
    lines = [
        f"{facts['records']} records, {share:.1f} % of them with ranges; at least {fewest} "
        f"candidates for each{how}."
    ]
    if not reveal:
        return lines
    left = found.residual
    if left is not None and (left.sums or left.values):
        lines.append(
            "All the same, who knows the aggregate learns the sum of what the ranges hide of "
            f"{left.sums} records, and the value itself of {left.values}: k^f-anonymity allows it."
        )
    return lines


for _command in (microaggregate, swap, anonymise, check, attack, utility, report):
    microdata.command()(_command)
