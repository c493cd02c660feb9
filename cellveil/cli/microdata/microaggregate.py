"""The command ``cellveil microdata microaggregate``: mask microdata, judge it, make it comply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.microdata import sentences
from cellveil.cli.options import option
from cellveil.cli.taking import taking
from cellveil.front import refuse
from cellveil.io.inputs import by_column
from cellveil.io.records.masked import check_masked, write_masked
from cellveil.io.records.reading import record_files
from cellveil.render.progress import Bar, Meter
from cellveil.render.screen import say
from cellveil.report.microdata import microdata_facts, microdata_page
from cellveil.report.skeleton import write_page
from cellveil.requests.masking import Masking
from cellveil.requests.outputs import Masked
from cellveil.requests.source import Written
from csp.clock import Clock
from csp.errors import Unprotectable
from csp.exact import read_whole
from csp.formats.files import Together
from csp.rules import Rule, parse_rules
from csp.tables.codes import text_codes
from csp.tables.columns import column_names, read_columns
from microagg.compliance.result import Compliant
from microagg.kept import kept_columns
from microagg.partitions.partition import Partition
from microagg.partitions.strata import keys_of
from microagg.records import Records, records_to_mask


@taking
def microaggregate(
    data: options.DataFile,
    *,
    asked: Masking,
    written: Written,
    time_limit: options.SearchLimit = None,
    files: Masked,
    report: Annotated[
        Path | None,
        option(
            "One HTML page to read: clusters and their means; with --reveal also loss by "
            "attribute and what a larger k would do. Facts as .json beside it.",
            "FILE",
        ),
    ] = None,
) -> None:
    """Replace records by the means of clusters of at least k, with no sensitive mean.

    $ cellveil microdata microaggregate persons.csv -k 5 -o masked.csv

    With --rules the means are judged like cells of a table; with --comply they are made to pass,
    and only then is a file written. Exit codes: 0 safe, 1 unsafe or impossible, 2 bad input.
    """
    output, summary, reveal = files.output, files.summary, files.reveal
    check_masked(files, data, report)
    (file,) = record_files(data, written=written)
    varied = by_column(list(asked.diverse), "--diverse", read_whole) or {}
    names = _names(file, asked, varied)
    rule = None if asked.rules is None else parse_rules(asked.rules)
    keys = keys_of(asked.within, names, asked.contributor)
    records = records_to_mask(
        file, names, diverse=[*varied, *keys], decimals=asked.decimals,
        contributor=asked.contributor, missing=asked.missing, round=asked.round,
    )  # fmt: skip
    if records.note:
        say(records.note)
    beside = [name for name in asked.keep if name not in keys]
    whole = kept_columns(file, beside, identifiers=asked.keep_identifiers)
    if records.kept is not None:
        left = records.kept.rows.tolist()
        whole = {name: [codes[i] for i in left] for name, codes in whole.items()}
    hints = sentences.codes_words(records) if reveal else ()
    for line in (*hints, *sentences.together_words(whole)):
        say(line)
    clock = Clock.of(time_limit)
    start = None if asked.own_clusters else _clustered(file, records, asked, clock)
    if asked.comply is None:
        assert start is not None
        done = _judged(records, start, rule, asked, reveal=reveal)
    else:
        done = _complied(records, start, rule, asked, varied, clock, reveal=reveal)
    columns = {
        # Codes are written alike, whether clusters lie within them or they are kept.
        name: [code or None for code in text_codes(column)] if name in keys else column.tolist()
        for name, column in done.result.to_columns().items()
    }
    if done.rows is not None:
        whole = {name: [codes[i] for i in done.rows] for name, codes in whole.items()}
    told = sentences.further_facts(records, done.result, columns, whole)
    done.facts |= told
    done.lines += sentences.further_words(told)
    done.lines += map(noted, told.get("notes", ()))
    if output is not None and not done.safe:
        done.lines.append(
            f"{output} was not written: some cluster means are sensitive. Add --comply merge (or "
            "another)."
        )

    def write(together: Together) -> list[Path]:
        if report is None:
            return []

        limit = Clock.of(max(clock.left, 1.0))
        facts = microdata_facts(records, done.result, rule, asked.negative, limit, reveal=reveal)
        facts |= told
        write_page(report, microdata_page(facts), facts, together)
        return [report, report.with_suffix(".json")]

    finish(
        done.facts, done.lines, safe=done.safe, columns=columns | whole, show=lambda: None,
        to=files if done.safe else Masked(None, summary), write=write,
        save=partial(write_masked, source=file),
    )  # fmt: skip


@dataclass(slots=True)
class _Done:
    """A partition, whether its means are safe, and what is said of it."""

    result: Partition | Compliant
    facts: dict[str, Any]
    lines: list[str]
    safe: bool = True
    rows: Sequence[int] | None = None


def _judged(
    records: Records, start: Partition, rule: Rule | None, asked: Masking, *, reveal: bool
) -> _Done:
    """Judge the means, if there is a rule."""
    import microagg

    judged = None
    if rule is not None:
        judged = microagg.disclosure(records, start, rule, negative=asked.negative)
    facts = sentences.plain_facts(start, judged, reveal=reveal)
    lines = list(sentences.plain_words(start, judged, reveal=reveal))
    return _Done(start, facts, lines, safe=judged is None or judged.count == 0)


def _complied(
    records: Records, start: Partition | None, rule: Rule | None, asked: Masking,
    varied: Mapping[str, Any], clock: Clock, *, reveal: bool,
) -> _Done:  # fmt: skip
    """Make the means comply."""
    found = _compliant(records, start, rule, asked, varied, clock)
    lines = list(sentences.compliant_words(found, reveal=reveal))
    rows = found.rows.tolist() if found.dropped else None
    return _Done(found, found.summary(reveal=reveal), lines, rows=rows)


def _clustered(file: Any, records: Records, asked: Masking, clock: Clock) -> Partition:
    """Make the clusters, whether they comply or not, and what is published of them."""
    import microagg

    with Bar("records in clusters") as bar:
        found: Partition = microagg.clusters(
            records, asked.k, method=asked.clusters, within=asked.within, progress=bar,
            time_limit=clock.seconds, **asked.scaling,
        )  # fmt: skip
    if asked.aggregate == "mean" and asked.weight is None:
        return found
    weight: Any = None
    if asked.weight is not None:
        weight = read_columns(file, [asked.weight], [asked.weight]).arrays[0]
    return microagg.aggregated(records, found, asked.aggregate, weight=weight)


def _compliant(
    records: Records, start: Partition | None, rule: Any, asked: Masking,
    varied: Mapping[str, Any], clock: Clock,
) -> Compliant:  # fmt: skip
    """Cluster so that the rule is obeyed."""
    import microagg

    method: Any = asked.comply
    if method == "suppress":
        known = None if asked.no_identities else list(asked.identity) or "detect"
        method = microagg.Suppress(identities=known, cost=asked.cost or "unit")
    with Meter("clustering", clock.seconds) as meter:
        whole = asked.comply == "suppress"
        watched = meter if whole else lambda words, share: meter.phase(words)
        try:
            return microagg.comply(
                records, asked.k, rule, method=method, attributes=records.names,
                negative=asked.negative, partition=start, most=asked.most, diverse=varied,
                time_limit=clock.seconds, progress=watched, **asked.scaling,
            )  # fmt: skip
        except Unprotectable as error:
            if not whole or not error.cell:
                raise
            cluster, attribute = error.cell
            msg = (
                f"the mean of {attribute!r} in cluster {cluster} cannot be protected, even "
                "with everything suppressed that may be; make the clusters comply instead "
                "(--comply merge), or give a larger k or a milder rule"
            )
            raise Unprotectable(msg, cell=error.cell) from None


def _names(data: Any, asked: Masking, varied: Collection[str]) -> tuple[str, ...] | None:
    """Columns to microaggregate; those kept, or varied only, are not among them by default."""
    known = column_names(data)
    asks = [("--keep", name) for name in asked.keep]
    asks += [("--within", name) for name in asked.within]
    asks += [("--weight", asked.weight)] if asked.weight else []
    for option_name, name in asks:
        if name not in known:
            refuse(f"{option_name}: there is no column {name!r}; there are {', '.join(known[:10])}")
    if asked.attributes:
        return asked.attributes
    apart = {
        *asked.keep,
        *asked.within,
        *varied,
        *([asked.contributor] if asked.contributor else ()),
    }
    return tuple(name for name in known if name not in apart) if apart else None
