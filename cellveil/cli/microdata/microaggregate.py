"""The command ``cellveil microdata microaggregate``: mask microdata, judge it, make it comply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cellveil.cli import options
from cellveil.cli.answers import finish
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
from cellveil.cli.options import flag, option
from cellveil.front import refuse
from cellveil.render.screen import say

if TYPE_CHECKING:
    from csp.clock import Clock
    from csp.formats.files import Together
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
    data: options.DataFile,
    *,
    k: Annotated[int, option("Least size of a cluster.", "NUMBER", "-k")],
    attributes: Annotated[
        str | None,
        option("Columns to microaggregate, by commas.", "COLUMNS", default="all"),
    ] = None,
    keep: Annotated[
        str | None,
        option("Columns to publish as they are, by commas.", "COLUMNS"),
    ] = None,
    keep_identifiers: Annotated[
        bool,
        flag("With --keep: also columns that tell records apart.", "--keep-identifiers"),
    ] = False,
    rules: Annotated[
        str | None,
        option("What is sensitive, in tau-ARGUS's words: P(60).", "RULES"),
    ] = None,
    comply: Annotated[
        Comply | None,
        option("What is done about sensitive cells.", default="only judged"),
    ] = None,
    clusters: Annotated[Clusters, option("How clusters are made.")] = "mdav",
    scale: Annotated[Scale, option("How attributes are made comparable.")] = ("standardise"),
    constant: Annotated[
        Constant, option("Constant attributes: refused, or kept without effect.")
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
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Missing = None,
    time_limit: options.SearchLimit = None,
    output: options.MaskedFile = None,
    summary: options.Summary = None,
    report: Annotated[
        Path | None,
        option(
            "One HTML page to read: clusters, loss by attribute, sensitive means, larger "
            "k; facts as .json beside it.",
            "FILE",
        ),
    ] = None,
) -> None:
    """Replace records by the means of clusters of at least k, with no sensitive mean.

    With --rules the means are judged like cells of a table; with --comply they are made to pass,
    and only then is a file written. Exit codes: 0 safe, 1 unsafe or impossible, 2 bad input.
    """
    from cellveil.io.files import check_outputs
    from cellveil.io.inputs import split_names, text_file
    from csp.clock import Clock
    from csp.rules import parse_rules
    from microagg.records import read_records

    if comply is not None and rules is None:
        refuse(f"--comply {comply} needs --rules, by which means are sensitive")
    if k < 2:
        why = ": a cluster of 1 publishes its record as it is" if k == 1 else ""
        refuse(f"-k must be at least 2, not {k}{why}")
    if keep_identifiers and not keep:
        refuse("--keep-identifiers is for --keep; leave it out")
    if identity and no_identities:
        refuse("--identity and --no-identities exclude each other; leave one out")
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
        partition = result
        facts = plain_facts(partition, judged)
        columns = dict(zip(partition.names, partition.masked.T.tolist(), strict=True))
        rows: Sequence[int] | None = None
        safe = judged is None or judged.count == 0
        lines = plain_words(partition, judged)
    else:
        result = found = work.compliant(rule, comply)
        facts, safe = found.summary(), True
        shown = found.partition.masked
        gone = found.hidden[found.partition.labels]
        columns = {
            name: [None if g else v for v, g in zip(shown[:, j].tolist(), gone[:, j], strict=True)]
            for j, name in enumerate(found.partition.names)
        }
        rows = found.rows.tolist() if found.dropped else None
        lines = compliant_words(found)
    beside = {
        name: codes if rows is None else [codes[i] for i in rows] for name, codes in whole.items()
    }
    if beside:
        facts["kept"] = count_kept(columns, beside)
        lines += kept_words(facts["kept"])
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

        limit = Clock.of(max(work.clock.left, 1.0))
        told = microdata_facts(records, result, rule, negative, limit, [data])
        write_page(report, microdata_page(told), told, files)
        return [report, report.with_suffix(".json")]

    finish(
        facts, lines, safe=safe, columns=columns | beside, show=lambda: None,
        output=output if safe else None, summary=summary, write=write,
    )  # fmt: skip


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
    for name, given in relations.items():
        if given is not None and comply != "suppress":
            msg = f"{name} is for --comply suppress; leave it out"
    if comply == "grow" and clusters != "mdav":
        msg = "--comply grow makes its own clusters; leave --clusters out"
    if msg:
        raise InputError(msg)


def _names(
    data: TextFile, masked: tuple[str, ...] | None, kept: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Columns to microaggregate; those to be kept are not among them."""
    from csp.tables.columns import column_names

    known = column_names(data)
    for name in kept:
        if name not in known:
            refuse(f"--keep: there is no column {name!r}; there are {', '.join(known[:10])}")
    if masked is None:
        return tuple(name for name in known if name not in kept) if kept else None
    both = [name for name in kept if name in masked]
    if both:
        refuse(f"column {both[0]!r} is in --attributes and in --keep; choose one")
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
    for name, codes in kept.items():
        alone = count_alone(codes)
        if 2 * alone >= len(codes):
            refuse(
                f"--keep {name}: {alone} of {len(codes)} records have a value there that no other "
                "record has, so it identifies the record beside the means; leave the column out, "
                "or add --keep-identifiers if all of its values are known anyway"
            )
