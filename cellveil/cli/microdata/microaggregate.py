"""The command ``cellveil microdata microaggregate``: mask microdata, judge it, make it comply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.microdata import sentences
from cellveil.cli.options import flag, option
from cellveil.cli.taking import taking
from cellveil.front import refuse
from cellveil.render.progress import Bar, Meter
from cellveil.render.screen import say
from cellveil.requests.source import Written

if TYPE_CHECKING:
    from csp.clock import Clock
    from csp.formats.files import Together
    from csp.tables.columns import TextFile
    from microagg.compliance.result import Compliant
    from microagg.partitions.partition import Partition
    from microagg.records import Records

__all__ = ["microaggregate"]


@taking
def microaggregate(
    data: options.DataFile,
    *,
    k: Annotated[int, option("Least size of a cluster.", "NUMBER", "-k")],
    attributes: Annotated[
        str | None, option("Columns to microaggregate, by commas.", "COLUMNS", default="all")
    ] = None,
    keep: Annotated[
        str | None, option("Columns to publish as they are, by commas.", "COLUMNS")
    ] = None,
    contributor: options.Person = None,
    keep_identifiers: Annotated[
        bool, flag("With --keep: also columns that tell records apart.", "--keep-identifiers")
    ] = False,
    rules: Annotated[
        str | None, option("What is sensitive, in tau-ARGUS's words: P(60).", "RULES")
    ] = None,
    comply: Annotated[
        Literal["suppress", "grow", "merge", "drop", "optimise"] | None,
        option("What is done about sensitive cells.", default="only judged"),
    ] = None,
    most: Annotated[
        int | None, option("With --comply: largest size of a cluster.", "NUMBER", default="any")
    ] = None,
    diverse: Annotated[
        list[str] | None,
        option(
            "With --comply: different values of a column in every cluster; once for each.",
            "COLUMN=NUMBER",
        ),
    ] = None,
    clusters: Annotated[
        Literal["mdav", "vmdav", "mondrian"], option("How clusters are made.")
    ] = "mdav",
    scale: Annotated[
        Literal["standardise", "none", "variance", "range"],
        option("How attributes are made comparable."),
    ] = "standardise",
    constant: Annotated[
        Literal["error", "keep"], option("Constant attributes: refused, or kept without effect.")
    ] = "error",
    negative: Annotated[options.Negative, option("How rules read negative values.")] = "error",
    identity: Annotated[
        list[str] | None,
        option(
            "Known identity of attributes: 'total = a + b'; once for each.",
            "EQUATION",
            default="detected",
        ),
    ] = None,
    no_identities: Annotated[
        bool, flag("No identity between attributes is known.", "--no-identities")
    ] = False,
    cost: Annotated[
        options.Cost | None,
        option("With --comply suppress: few cells, or little value.", default="unit"),
    ] = None,
    decimals: options.Decimals = None,
    written: Written,
    time_limit: options.SearchLimit = None,
    output: options.MaskedFile = None,
    summary: options.Summary = None,
    report: Annotated[
        Path | None,
        option(
            "One HTML page to read: clusters and their means; with --reveal also loss by "
            "attribute and what a larger k would do. Facts as .json beside it.",
            "FILE",
        ),
    ] = None,
    reveal: options.RevealOriginals = False,
) -> None:
    """Replace records by the means of clusters of at least k, with no sensitive mean.

    With --rules the means are judged like cells of a table; with --comply they are made to pass,
    and only then is a file written. Exit codes: 0 safe, 1 unsafe or impossible, 2 bad input.
    """
    import microagg
    from cellveil.io.files import check_outputs
    from cellveil.io.inputs import by_column, split_names
    from csp.clock import Clock
    from csp.exact import read_whole
    from csp.rules import parse_rules
    from microagg.kept import kept_columns
    from microagg.records import notes_on, read_records

    if comply is not None and rules is None:
        refuse(f"--comply {comply} needs --rules, by which means are sensitive")
    if k < 2:
        why = ": a cluster of 1 publishes its record as it is" if k == 1 else ""
        refuse(f"-k must be at least 2, not {k}{why}")
    if keep_identifiers and not keep:
        refuse("--keep-identifiers is for --keep; leave it out")
    if identity and no_identities:
        refuse("--identity and --no-identities exclude each other; leave one out")
    given = {"--identity": identity, "--no-identities": no_identities, "--cost": cost}
    unused = [name for name, value in given.items() if value and comply != "suppress"]
    if unused:
        refuse(f"{unused[0]} is for --comply suppress; leave it out")
    asked = ["--most"] * (most is not None) + ["--diverse"] * bool(diverse)
    if asked and comply is None:
        refuse(f"{asked[0]} is for --comply; leave it out, or say how clusters are to comply")
    own = "--comply grow" if comply == "grow" else asked[0] if asked else None
    if own and clusters != "mdav":
        refuse(f"{own} makes clusters of its own; leave --clusters out")
    check_outputs({"-o": output, "--summary": summary, "--report": report}, [data])
    masked = split_names(attributes, "--attributes") if attributes else None
    kept = split_names(keep, "--keep") if keep else ()
    file = written.file(data)
    varied = by_column(diverse, "--diverse", read_whole) or {}
    names = _names(file, masked, kept, {*varied, *([contributor] if contributor else ())})
    rule = None if rules is None else parse_rules(rules)
    records = read_records(file, names, decimals=decimals, contributor=contributor)
    if records.note:
        say(records.note)
    whole = kept_columns(file, kept, identifiers=keep_identifiers)
    hints = sentences.codes_words(records) if reveal else ()
    for line in (*hints, *sentences.together_words(whole)):
        say(line)
    clock = Clock.of(time_limit)
    scaling = {"scale": scale, "constant": constant}
    start = None if own else _clustered(records, k, clusters, clock, scaling)
    result: Partition | Compliant
    rows: Sequence[int] | None = None
    if comply is None:
        assert start is not None
        result = start
        judged = None
        if rule is not None:
            judged = microagg.disclosure(records, start, rule, negative=negative)
        facts = sentences.plain_facts(start, judged, reveal=reveal)
        lines = sentences.plain_words(start, judged, reveal=reveal)
        safe = judged is None or judged.count == 0
    else:
        ask: dict[str, Any] = scaling | {"negative": negative, "partition": start}
        if comply == "suppress":
            ask |= {"identities": None if no_identities else identity or "detect"}
            ask |= {"cost": cost or "unit"}
        if asked:
            ask |= {"most": most, "diverse": varied, "attributes": records.names}
            ask |= {"decimals": decimals}
        source: Any = file if varied else records
        if varied:
            ask |= {"contributor": contributor}
        result = found = _compliant(source, k, rule, comply, clock, ask)
        facts, safe = found.summary(reveal=reveal), True
        lines = sentences.compliant_words(found, reveal=reveal)
        rows = found.rows.tolist() if found.dropped else None
    columns = {name: column.tolist() for name, column in result.to_columns().items()}
    beside = {
        name: codes if rows is None else [codes[i] for i in rows] for name, codes in whole.items()
    }
    if beside:
        facts["kept"] = sentences.count_kept(columns, beside)
        lines += sentences.kept_words(facts["kept"])
    apart = {*records.names, *varied}
    notes = notes_on(file, apart, records.n, records.contributor)
    if notes:
        facts["notes"] = list(notes)
        lines += map(noted, notes)
    if output is not None and not safe:
        lines.append(
            f"{output} was not written: some cluster means are sensitive. Add --comply merge (or "
            "another)."
        )

    def write(files: Together) -> list[Path]:
        if report is None:
            return []
        from cellveil.report.microdata import microdata_facts, microdata_page
        from cellveil.report.skeleton import write_page

        limit = Clock.of(max(clock.left, 1.0))
        told = microdata_facts(records, result, rule, negative, limit, reveal=reveal)
        write_page(report, microdata_page(told), told, files)
        return [report, report.with_suffix(".json")]

    finish(
        facts, lines, safe=safe, columns=columns | beside, show=lambda: None,
        output=output if safe else None, summary=summary, write=write,
    )  # fmt: skip


def _clustered(
    records: Records, k: int, clusters: str, clock: Clock, scaling: dict[str, Any]
) -> Partition:
    """Make the clusters, whether they comply or not."""
    import microagg

    if clusters == "mondrian":
        return microagg.mondrian(records, k, **scaling)
    make = microagg.mdav if clusters == "mdav" else microagg.vmdav
    with Bar("records in clusters") as bar:
        return make(records, k, progress=bar, time_limit=clock.seconds, **scaling)


def _compliant(
    data: Any, k: int, rule: Any, method: str, clock: Clock, ask: dict[str, Any]
) -> Compliant:
    """Cluster so that the rule is obeyed."""
    import microagg
    from csp.errors import Unprotectable

    with Meter("clustering", clock.seconds) as meter:
        watched = meter if method == "suppress" else lambda words, share: meter.phase(words)
        try:
            return microagg.comply(
                data, k, rule, method=method, time_limit=clock.seconds, progress=watched, **ask
            )
        except Unprotectable as error:
            if method != "suppress" or not error.cell:
                raise
            cluster, attribute = error.cell
            msg = (
                f"the mean of {attribute!r} in cluster {cluster} cannot be protected, even "
                "with everything suppressed that may be; make the clusters comply instead "
                "(--comply merge), or give a larger k or a milder rule"
            )
            raise Unprotectable(msg, cell=error.cell) from None


def _names(
    data: TextFile, masked: tuple[str, ...] | None, kept: tuple[str, ...], varied: Collection[str]
) -> tuple[str, ...] | None:
    """Columns to microaggregate; those kept, or varied only, are not among them by default."""
    from csp.tables.columns import column_names

    known = column_names(data)
    for name in kept:
        if name not in known:
            refuse(f"--keep: there is no column {name!r}; there are {', '.join(known[:10])}")
    if masked is None:
        apart = {*kept, *varied}
        return tuple(name for name in known if name not in apart) if apart else None
    both = [name for name in kept if name in masked]
    if both:
        refuse(f"column {both[0]!r} is in --attributes and in --keep; choose one")
    return masked
