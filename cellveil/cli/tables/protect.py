"""The command ``cellveil protect``: from data to a published table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellveil.cli.answers import (
    answer,
    cost_words,
    draw_result,
    ends,
    hashes,
    needs_reveal,
    print_result,
    save_release,
    say_written,
)
from cellveil.cli.options import (
    JJ,
    TIME_LIMIT,
    Absent,
    Apriori,
    Cost,
    CountColumn,
    Decimal,
    Defence,
    Earlier,
    Encoding,
    Gap,
    Hierarchies,
    IntegerOrNot,
    KeyFile,
    Layout,
    Margins,
    Method,
    Missing,
    Negative,
    ReleaseFile,
    Reveal,
    Separator,
    Sheet,
    Solver,
    Summary,
    TableId,
    TimeLimit,
    Tolerance,
    TopColumns,
    Totals,
    Workers,
    chosen_method,
)
from cellveil.front import explained, folder_for, options_of
from cellveil.render.screen import say

__all__ = ["protect"]


def protect(
    ctx: typer.Context,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help=".csv, .csv.gz, .parquet, .xlsx, or .asc or .tab with its layout (--rda). Each of "
            "several files is a table of its own.",
        ),
    ],
    *,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns of the table's dimensions: Size,Region.",
            show_default="those of the layout of a .tab; else required",
        ),
    ] = None,
    rules: Annotated[
        str,
        typer.Option(
            metavar="RULES",
            help="What is sensitive, in tau-ARGUS's words: P(10,1)|NK(1,75)|FREQ(3,10), also ZERO "
            "and MAN.",
        ),
    ],
    value: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to sum; without it records are counted."),
    ] = None,
    contributor: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says who reports; all its records in a cell are added up, equal ones "
            "too.",
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of sampling weights.")
    ] = None,
    hierarchy: Hierarchies = None,
    rda: Annotated[
        Path | None, typer.Option(metavar="FILE", help="tau-ARGUS record layout of the data.")
    ] = None,
    aggregated: Annotated[
        bool, typer.Option("--aggregated", help="The data has one row per cell.")
    ] = False,
    count: CountColumn = None,
    top: TopColumns = None,
    primary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of cells named as sensitive, for MAN(...)."),
    ] = None,
    apriori: Apriori = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Least width of every sensitive cell's interval."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Require every interval to be strictly wider than --width."),
    ] = False,
    cost: Annotated[Cost, typer.Option(help="Suppress few cells, or little value.")] = "unit",
    margins: Annotated[
        Margins, typer.Option(help="Whether margins may be suppressed or are public.")
    ] = "suppress",
    singletons: Annotated[
        bool | None,
        typer.Option(
            "--singletons/--no-singletons",
            help="Guard against a contributor who is alone in a cell and subtracts it.",
            show_default="in tables of values",
        ),
    ] = None,
    unions: Annotated[
        bool, typer.Option("--unions", help="Sums of suppressed cells must pass the rules too.")
    ] = False,
    integer: IntegerOrNot = None,
    defence: Defence = None,
    key_file: KeyFile = None,
    table_id: TableId = "",
    negative: Annotated[
        Negative, typer.Option(help="How negative contributions are read.")
    ] = "error",
    decimals: Annotated[
        int | None,
        typer.Option(metavar="PLACES", help="Decimal places of values.", show_default="as found"),
    ] = None,
    total: Totals = None,
    absent_zero: Absent = False,
    tolerance: Tolerance = "0",
    keep: Earlier = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="CODE", help="Code for records that lack one.", show_default="refused"
        ),
    ] = None,
    sheet: Sheet = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Missing = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory the program may take, such as 2GB, for records that do not fit into it; "
            "copies go to the folder for temporary files.",
        ),
    ] = None,
    drop_empty: Annotated[
        bool | None,
        typer.Option(
            "--drop-empty/--keep-empty",
            help="Leave combinations of codes without records out; these are known to be 0.",
            show_default="kept, but for large tables of values",
        ),
    ] = None,
    method: Method = "auto",
    solver: Solver = None,
    time_limit: TimeLimit = TIME_LIMIT,
    gap: Gap = 0.0,
    workers: Workers = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Published table: .csv, .csv.gz, .parquet, .xlsx, .sdmx.csv, .sdctable.csv, .sbs "
            "(tau-ARGUS) or .hst. A folder for several files of data.",
        ),
    ] = None,
    summary: Summary = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One HTML page to read: table, intervals, proofs, attacks; facts as .json "
            "beside it.",
        ),
    ] = None,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="Run every attack that applies, for --report.")
    ] = False,
    plots: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Pictures (.svg): intervals, suppression map, gap over time."
        ),
    ] = None,
    jj: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Problem with its pattern as JJ file; needs --reveal."),
    ] = None,
    release: ReleaseFile = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add what an outsider can infer of each cell.")
    ] = False,
    layout: Annotated[
        Layout,
        typer.Option(help="On screen: rows by columns, in panels, or one row per cell."),
    ] = "cross",
    reveal: Reveal = False,
) -> None:
    """Protect the table of some data: find its sensitive cells, suppress, audit, publish.

    Without -o the published table is printed. Ctrl-C keeps the best pattern found so far.

    Several files are protected one by one, each within the time limit, and published in the folder
    of -o under their names. Tables of the same records that share cells must not be: an attacker
    reads them together. Link them (csp.link in Python).
    """
    from cellveil.cli.tables.defence import defence_words, measured, posterior_words, read_defence
    from cellveil.cli.tables.several import on_cores, places_for, protect_each
    from cellveil.io.files import check_outputs, result_columns, write_json
    from cellveil.io.inputs import (
        read_known,
        read_rules,
        read_table,
        split_names,
        tab_dimensions,
        text_file,
    )
    from cellveil.io.results import FORMATS, check_form, form_of, write_result
    from cellveil.io.source import Source
    from cellveil.render.progress import Meter
    from cellveil.render.tables import guarantee, quality, sizes
    from csp.clock import Clock
    from csp.formats.files import written_together
    from csp.mechanism import Mechanism
    from csp.release_file import read_release
    from csp.solve import Progress

    names = tab_dimensions(data[0], rda) if by is None else split_names(by, "--by")
    method = chosen_method(method, solver)
    clock = Clock.of(time_limit)
    stated_by = apriori is not None or data[0].name.lower().endswith(".tab")
    rule, looked_at = read_rules(rules, primary, names, encoding, named=stated_by)
    sources = [
        Source(
            path, names, value, contributor, weight, tuple(hierarchy or ()), rda, aggregated, count,
            split_names(top, "--top") if top else (), negative, decimals, tuple(total or ()),
            missing, looked_at, text_file(path, sep, decimal, encoding, na), absent_zero, tolerance,
            memory, None if drop_empty is None else "drop" if drop_empty else "keep",
            apriori, sheet=sheet,
        )
        for path in data
    ]  # fmt: skip
    mechanism = Mechanism(
        rule, width=width, strict=strict, cost=cost, margins=margins,
        singletons=singletons, unions=unions, integer=integer,
        defence=read_defence(defence, key_file, table_id),
    )  # fmt: skip
    read = [rda, primary, key_file, keep, apriori]
    read += [Path(text.partition("=")[2]) for text in hierarchy or ()]
    if len(data) > 1:
        alone = {
            "--report": report,
            "--plots": plots,
            "--jj": jj,
            "--release": release,
            "--keep": keep,
            "--apriori": apriori,
            "--defence": defence,
        }
        protect_each(
            sources, places_for(data, output, summary, read, alone), mechanism, workers=workers,
            method=method, time_limit=clock.seconds, gap=gap, intervals=intervals, reveal=reveal,
            summary=summary, options=options_of(ctx.command),
        )  # fmt: skip
    needs_reveal("--jj", jj, reveal=reveal)
    if output is not None:
        check_form(form_of(output), names, intervals=intervals)
    if plots is not None:
        from cellveil.render.plots import needs_matplotlib

        needs_matplotlib()
        folder_for(plots)
    if attacks and report is None:
        from csp.errors import InputError

        msg = "--attacks fills a section of --report; give --report FILE.html too"
        raise InputError(msg)
    if jj is not None and (singletons or unions):
        from csp.errors import InputError

        msg = "a JJ file cannot hold --singletons or --unions; leave them or --jj out"
        raise InputError(msg)
    check_outputs(
        {
            "-o": output, "--summary": summary, "--report": report, "--jj": jj,
            "--release": release,
        },
        [*data, *read],
        {"-o": tuple(FORMATS.values()), "--jj": JJ},
    )  # fmt: skip
    trace: list[Progress] = []

    def watched(now: Progress) -> None:
        trace.append(now)
        meter(now)

    with Meter("tabulating", clock.seconds) as meter, on_cores(workers):
        earlier = None if keep is None else read_release(keep)[0]
        table = read_table(sources[0], meter.phase)
        stated = read_known(sources[0], table)
        clock.check("the table was made")
        meter.phase("finding sensitive cells")
        with explained(table, reveal=reveal, defended=mechanism.defence is not None):
            result = mechanism.protect(
                table, keep=earlier, apriori=stated, method=method, time_limit=clock.seconds,
                gap=gap, progress=watched,
            )  # fmt: skip
        columns = result_columns(result, reveal=reveal, intervals=intervals)
        known: dict[str, Any] = {}
        if result.guarantee is not None:
            meter.phase("weighing what the pattern discloses")
            known = measured(result, clock)
        attacked = None
        if attacks and result.pattern.any():
            from attacks import report as attack_report

            meter.phase("attacking what would be published")
            # With a-priori information the mechanism alone does not make this pattern again.
            rerun = None if stated else mechanism
            attacked = attack_report(result.release, rerun, time_limit=max(clock.left, 1.0))
    with written_together() as files:
        if jj is not None:
            result.to_jj(jj, reveal=True, files=files)
        if release is not None:
            save_release(release, result, files)
        if output is not None:
            write_result(output, result, columns, reveal=reveal, files=files)
        if report is not None:
            from cellveil.report.page import write_report

            write_report(
                report, result, title=data[0].name.partition(".")[0], attacks=attacked,
                inputs=[*data, *([apriori] if apriori else [])], trace=trace, reveal=reveal,
                files=files,
            )  # fmt: skip
        # Last, since it names the others by their hash.
        more = {"posterior": known} if known else {}
        named = [p for p in (output, report, release, jj) if p is not None]
        facts = result.summary(reveal=reveal) | more | {"files": hashes(named, files)}
        if summary is not None:
            write_json(summary, facts, files)
        drawn = [] if plots is None else draw_result(plots, result, trace, files, reveal=reveal)
    long = layout == "long"
    answer(
        facts,
        None
        if output is not None
        else lambda: print_result(result, columns, reveal=reveal, intervals=intervals, long=long),
    )
    for note in result.table.notes:
        say(f"{note[0].upper()}{note[1:]}.")
    if result.audit.cut_short:
        say("Not every interval was followed to its end; those ends are left empty.")
    asked = str(rule) if width is None else f"{rule} at width {width}"
    say(sizes(result.problem, result.pattern, reveal=reveal))
    if result.guarantee is None:
        say(quality(result.suppression, cost_words(cost), reveal=reveal))
    for line in guarantee(
        result.audit, f"what {asked} requires", singletons="singletons" in result.guards,
        defended=result.guarantee is not None,
    ):  # fmt: skip
        say(line)
    if result.guarantee is not None:
        for line in (*defence_words(result.guarantee), posterior_words(known)):
            say(line)
    beside = [None if path is None else path.with_suffix(kind) for path, kind in
              ((report, ".json"), (release, ".csv"))]  # fmt: skip
    say_written(output, summary, report, beside[0], jj, release, beside[1], *drawn)
    ends(result.suppression)
