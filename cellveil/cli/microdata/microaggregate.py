"""The command ``cellveil microdata microaggregate``: mask microdata, judge it, make it comply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.cli.answers import answer, say_written
from cellveil.cli.microdata.sentences import (
    codes_words,
    compliant_words,
    count_alone,
    count_kept,
    kept_words,
    plain_facts,
    plain_words,
    together_words,
)
from cellveil.cli.options import (
    Cost,
    Decimal,
    Encoding,
    Missing,
    Negative,
    Separator,
    Summary,
)
from cellveil.front import SAFE, UNSAFE
from cellveil.render.screen import say

if TYPE_CHECKING:
    from csp.clock import Clock
    from csp.tables.columns import TextFile
    from microagg.compliance.result import Compliant
    from microagg.partitions.partition import Partition
    from microagg.records import Records
    from microagg.tables.risk import Disclosure

__all__ = ["microaggregate"]


Clusters = Literal["mdav", "vmdav", "mondrian"]
"""How clusters are made."""

Comply = Literal["suppress", "grow", "merge", "drop", "optimise"]
"""What is done about sensitive cells."""

Scale = Literal["standardise", "none", "variance", "range"]
"""How attributes are made comparable."""

Constant = Literal["error", "keep"]
"""What happens to attributes with one value."""


def microaggregate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=".csv, .csv.gz or .parquet.")],
    *,
    k: Annotated[int, typer.Option("-k", metavar="NUMBER", help="Least size of a cluster.")],
    attributes: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="Columns to microaggregate, by commas.", show_default="all"
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns to publish as they are, by commas."),
    ] = None,
    keep_identifiers: Annotated[
        bool,
        typer.Option(
            "--keep-identifiers", help="With --keep: also columns that tell records apart."
        ),
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option(metavar="RULES", help="What is sensitive, in tau-ARGUS's words: P(60)."),
    ] = None,
    comply: Annotated[
        Comply | None,
        typer.Option(help="What is done about sensitive cells.", show_default="only judged"),
    ] = None,
    clusters: Annotated[Clusters, typer.Option(help="How clusters are made.")] = "mdav",
    scale: Annotated[Scale, typer.Option(help="How attributes are made comparable.")] = (
        "standardise"
    ),
    constant: Annotated[
        Constant, typer.Option(help="Constant attributes: refused, or kept without effect.")
    ] = "error",
    negative: Annotated[Negative, typer.Option(help="How rules read negative values.")] = "error",
    identity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EQUATION",
            help="Known identity of attributes: 'total = a + b'; once for each.",
            show_default="detected",
        ),
    ] = None,
    no_identities: Annotated[
        bool, typer.Option("--no-identities", help="No identity between attributes is known.")
    ] = False,
    cost: Annotated[
        Cost | None,
        typer.Option(
            help="With --comply suppress: few cells, or little value.", show_default="unit"
        ),
    ] = None,
    decimals: Annotated[
        int | None,
        typer.Option(metavar="PLACES", help="Decimal places of values.", show_default="as found"),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Missing = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Then the best safe result is taken.", show_default="none"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Masked file: .csv, .csv.gz or .parquet."
        ),
    ] = None,
    summary: Summary = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One HTML page to read: clusters, loss by attribute, sensitive means, larger "
            "k; facts as .json beside it.",
        ),
    ] = None,
) -> None:
    """Replace records by the means of clusters of at least k, with no sensitive mean.

    With --rules the means are judged like cells of a table; with --comply they are made to pass,
    and only then is a file written. Exit codes: 0 safe, 1 unsafe or impossible, 2 bad input.
    """
    from cellveil.io.files import check_outputs, write_columns, write_json
    from cellveil.io.inputs import split_names, text_file
    from csp.clock import Clock
    from csp.errors import InputError
    from csp.formats.files import written_together
    from csp.rules import parse_rules
    from microagg.records import read_records

    if comply is not None and rules is None:
        msg = f"--comply {comply} needs --rules, by which means are sensitive"
        raise InputError(msg)
    if k < 2:
        why = ": a cluster of 1 publishes its record as it is" if k == 1 else ""
        msg = f"-k must be at least 2, not {k}{why}"
        raise InputError(msg)
    if keep_identifiers and not keep:
        msg = "--keep-identifiers is for --keep; leave it out"
        raise InputError(msg)
    if identity and no_identities:
        msg = "--identity and --no-identities exclude each other; leave one out"
        raise InputError(msg)
    _check_use(
        comply, {"--identity": identity, "--no-identities": no_identities or None, "--cost": cost},
        clusters,
    )  # fmt: skip
    check_outputs({"-o": output, "--summary": summary, "--report": report}, [data])
    masked = split_names(attributes, "--attributes") if attributes else None
    kept = split_names(keep, "--keep") if keep else ()
    file = text_file(data, sep, decimal, encoding, na)
    names = _names(file, masked, kept)
    rule = None if rules is None else parse_rules(rules)
    records = read_records(file, names, decimals=decimals)
    if records.note:
        say(records.note)
    whole = _kept_columns(file, kept)
    if not keep_identifiers:
        _check_identifiers(whole)
    for line in (*codes_words(records), *together_words(whole)):
        say(line)
    work = _Work(
        records, k, clusters, scale, constant, negative,
        None if no_identities else identity or "detect", cost or "unit",
        Clock.of(time_limit),
    )  # fmt: skip
    result: Partition | Compliant
    if rule is None or comply is None:
        result, judged = work.judged(rule)
        facts = plain_facts(result, judged)
        rows: Sequence[int] | None = None
        safe = judged is None or judged.count == 0
        lines = plain_words(result, judged)
    else:
        result = found = work.compliant(rule, comply)
        facts, safe = found.summary(), True
        rows = found.rows.tolist() if found.dropped else None
        lines = compliant_words(found)
    columns = {name: column.tolist() for name, column in result.to_columns().items()}
    beside = {
        name: codes if rows is None else [codes[i] for i in rows] for name, codes in whole.items()
    }
    if beside:
        told = count_kept(columns, beside)
        facts["kept"] = told
        lines += kept_words(told)
    with written_together() as files:
        if output is not None and safe:
            write_columns(output, columns | beside, files)
        if report is not None:
            from cellveil.report.microdata import write_microdata_report

            write_microdata_report(
                report, records, result, rule=rule, negative=negative, inputs=[data],
                time_limit=max(work.clock.left, 1.0), files=files,
            )  # fmt: skip
        if summary is not None:
            write_json(summary, facts, files)
    answer(facts)
    for line in lines:
        say(line)
    if output is not None and not safe:
        say(
            f"{output} was not written: some cluster means are sensitive. Add --comply merge (or "
            "another)."
        )
    beside_report = None if report is None else report.with_suffix(".json")
    say_written(output if safe else None, summary, report, beside_report)
    raise typer.Exit(SAFE if safe else UNSAFE)


@dataclass(frozen=True, slots=True)
class _Work:
    """What was asked for, in the words of the library."""

    records: Records
    k: int
    clusters: str
    scale: str
    constant: str
    negative: str
    identities: Any
    cost: str
    clock: Clock

    def partition(self) -> Partition:
        """Make the clusters."""
        import microagg
        from cellveil.render.progress import Bar

        options: dict[str, Any] = {"scale": self.scale, "constant": self.constant}
        if self.clusters == "mondrian":
            return microagg.mondrian(self.records, self.k, **options)
        with Bar("records in clusters") as bar:
            make = microagg.mdav if self.clusters == "mdav" else microagg.vmdav
            limit = self.clock.seconds
            return make(self.records, self.k, progress=bar, time_limit=limit, **options)

    def judged(self, rule: Any) -> tuple[Partition, Disclosure | None]:
        """Cluster, and judge the means if there is a rule."""
        import microagg

        partition = self.partition()
        if rule is None:
            return partition, None
        return partition, microagg.disclosure(self.records, partition, rule, negative=self.negative)

    def compliant(self, rule: Any, method: str) -> Compliant:
        """Cluster so that the rule is obeyed."""
        import microagg
        from cellveil.render.progress import Meter
        from csp.errors import Unprotectable

        start = None if method == "grow" else self.partition()
        options: dict[str, Any] = {}
        if method == "suppress":
            options = {"identities": self.identities, "cost": self.cost}
        with Meter("clustering", self.clock.seconds) as meter:
            options["progress"] = (
                meter if method == "suppress" else lambda words, share: meter.phase(words)
            )
            try:
                return microagg.comply(
                    self.records, self.k, rule, method=method, scale=self.scale,
                    constant=self.constant, negative=self.negative, partition=start,
                    time_limit=self.clock.seconds, **options,
                )  # fmt: skip
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


def _check_use(
    comply: Comply | None,
    relations: dict[str, Any],
    clusters: Clusters,
) -> None:
    """Refuse options that the way to compliance has no use for."""
    from csp.errors import InputError

    msg = ""
    for option, given in relations.items():
        if given is not None and comply != "suppress":
            msg = f"{option} is for --comply suppress; leave it out"
    if comply == "grow" and clusters != "mdav":
        msg = "--comply grow makes its own clusters; leave --clusters out"
    if msg:
        raise InputError(msg)


def _names(
    data: TextFile, masked: tuple[str, ...] | None, kept: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Columns to microaggregate; those to be kept are not among them."""
    from csp.errors import InputError
    from csp.tables.columns import column_names

    known = column_names(data)
    for name in kept:
        if name not in known:
            msg = f"--keep: there is no column {name!r}; there are {', '.join(known[:10])}"
            raise InputError(msg)
    if masked is None:
        return tuple(name for name in known if name not in kept) if kept else None
    both = [name for name in kept if name in masked]
    if both:
        msg = f"column {both[0]!r} is in --attributes and in --keep; choose one"
        raise InputError(msg)
    return masked


def _kept_columns(data: TextFile, kept: tuple[str, ...]) -> dict[str, list[str]]:
    """Columns to be published as they are, as text."""
    if not kept:
        return {}
    from csp.tables.columns import read_columns, text_codes

    arrays = read_columns(data, kept).arrays
    return {name: list(text_codes(column)) for name, column in zip(kept, arrays, strict=True)}


def _check_identifiers(kept: dict[str, list[str]]) -> None:
    """Refuse columns that tell most records apart: they say whose means stand beside them."""
    from csp.errors import InputError

    for name, codes in kept.items():
        alone = count_alone(codes)
        if 2 * alone >= len(codes):
            msg = (
                f"--keep {name}: {alone} of {len(codes)} records have a value there that no other "
                "record has, so it identifies the record beside the means; leave the column out, "
                "or add --keep-identifiers if all of its values are known anyway"
            )
            raise InputError(msg)
