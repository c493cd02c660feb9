"""The command ``cellveil protect``: from data to a published table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.cli import answers, options
from cellveil.cli.options import argument, flag, option
from cellveil.front import explained, folder_for, options_of, refuse
from cellveil.render.progress import Meter

if TYPE_CHECKING:
    from csp.formats.files import Together

__all__ = ["protect"]


def protect(
    ctx: typer.Context,
    data: Annotated[
        list[Path],
        argument(
            ".csv, .csv.gz, .parquet, .xlsx, or .asc or .tab with its layout (--rda). Each of "
            "several files is a table of its own.",
            "DATA",
        ),
    ],
    *,
    by: Annotated[
        str | None,
        option(
            "Columns of the table's dimensions: Size,Region.",
            "COLUMNS",
            default="those of the layout of a .tab; else required",
        ),
    ] = None,
    rules: Annotated[
        str,
        option(
            "What is sensitive, in tau-ARGUS's words: P(10,1)|NK(1,75)|FREQ(3,10), also ZERO "
            "and MAN.",
            "RULES",
        ),
    ],
    value: options.Value = None,
    contributor: options.Contributor = None,
    weight: options.Weight = None,
    shadow: options.Shadow = None,
    hierarchy: Annotated[
        list[str] | None,
        option(
            "Hierarchy of a column (.hrc); once for each, and again for aggregates that overlap.",
            "COLUMN=FILE",
        ),
    ] = None,
    rda: Annotated[Path | None, option("tau-ARGUS record layout of the data.", "FILE")] = None,
    aggregated: Annotated[bool, flag("The data has one row per cell.", "--aggregated")] = False,
    count: Annotated[
        str | None,
        option(
            "With --aggregated: column of contributor counts; the column of the values itself if "
            "they are counts.",
            "COLUMN",
        ),
    ] = None,
    top: Annotated[
        str | None, option("With --aggregated: columns of largest contributions.", "COLUMNS")
    ] = None,
    primary: Annotated[
        Path | None, option("File of cells named as sensitive, for MAN(...).", "FILE")
    ] = None,
    apriori: Annotated[
        Path | None,
        option(
            "tau-ARGUS a-priori file (.hst): cells that are unsafe, safe, public or suppressed "
            "beforehand, costs, protection levels.",
            "FILE",
        ),
    ] = None,
    width: Annotated[
        str | None, option("Least width of every sensitive cell's interval.", "NUMBER")
    ] = None,
    strict: Annotated[
        bool, flag("Require every interval to be strictly wider than --width.", "--strict")
    ] = False,
    cost: Annotated[options.Cost, option("Suppress few cells, or little value.")] = "unit",
    margins: Annotated[
        Literal["suppress", "publish"], option("Whether margins may be suppressed or are public.")
    ] = "suppress",
    singletons: Annotated[
        bool | None,
        flag(
            "Guard against a contributor who is alone in a cell and subtracts it.",
            "--singletons/--no-singletons",
            default="in tables of values",
        ),
    ] = None,
    unions: Annotated[
        bool, flag("Sums of suppressed cells must pass the rules too.", "--unions")
    ] = False,
    integer: Annotated[
        bool | None,
        flag(
            "The attacker knows that cells are whole units.",
            "--integer/--no-integer",
            default="in tables of counts",
        ),
    ] = None,
    defence: options.Defence = None,
    key_file: options.KeyFile = None,
    table_id: options.TableId = "",
    negative: Annotated[
        options.NegativeCells,
        option("How negative contributions are read; with --aggregated, allow for negative cells."),
    ] = "error",
    decimals: options.Decimals = None,
    total: Annotated[
        list[str] | None,
        option(
            "Code of the total, of all columns or of one; once for each.",
            "[COLUMN=]CODE",
            default="Total",
        ),
    ] = None,
    absent_zero: Annotated[
        bool,
        flag(
            "With --aggregated: inner cells without a row are 0.",
            "--absent-zero",
            default="refused",
        ),
    ] = False,
    tolerance: Annotated[
        str,
        option(
            "With --aggregated: margins off by no more than this are replaced by their sums.",
            "NUMBER",
        ),
    ] = "0",
    keep: Annotated[
        Path | None,
        option("Earlier release (.json): what it suppressed stays suppressed.", "FILE", "--keep"),
    ] = None,
    missing: Annotated[
        str | None, option("Code for records that lack one.", "CODE", default="refused")
    ] = None,
    sheet: options.Sheet = None,
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Missing = None,
    memory: Annotated[
        str | None,
        option(
            "Memory the program may take, such as 2GB, for records that do not fit into it; "
            "copies go to the folder for temporary files.",
            "SIZE",
        ),
    ] = None,
    drop_empty: Annotated[
        bool | None,
        flag(
            "Leave combinations of codes without records out; these are known to be 0.",
            "--drop-empty/--keep-empty",
            default="kept, but for large tables of values",
        ),
    ] = None,
    method: options.Method = "auto",
    solver: options.Solver = None,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = 0.0,
    workers: Annotated[
        int,
        option(
            "Processes for tables of several files, or for regions of one large table.",
            "NUMBER",
            min=1,
        ),
    ] = 1,
    output: Annotated[
        Path | None,
        option(
            "Published table: .csv, .csv.gz, .parquet, .xlsx, .sdmx.csv, .sdctable.csv, .sbs "
            "(tau-ARGUS) or .hst. A folder for several files of data.",
            "FILE",
            "--output",
            "-o",
        ),
    ] = None,
    summary: options.Summary = None,
    report: Annotated[
        Path | None,
        option(
            "One HTML page to read: table, intervals, proofs, attacks; facts as .json beside it.",
            "FILE",
        ),
    ] = None,
    attacks: Annotated[
        bool, flag("Run every attack that applies, for --report.", "--attacks")
    ] = False,
    plots: Annotated[
        Path | None, option("Pictures (.svg): intervals, suppression map, gap over time.", "FOLDER")
    ] = None,
    jj: Annotated[
        Path | None, option("Problem with its pattern as JJ file; needs --reveal.", "FILE")
    ] = None,
    release: Annotated[
        Path | None,
        option("Release with its relations (.json, and .csv beside it), to attack.", "FILE"),
    ] = None,
    intervals: Annotated[
        bool, flag("Add what an outsider can infer of each cell.", "--intervals")
    ] = False,
    reread: Annotated[
        bool,
        flag(
            "Read the data a second time, by code that nothing else uses, and publish only if both "
            "readings agree.",
            "--reread",
        ),
    ] = False,
    layout: Annotated[
        Literal["cross", "long"],
        option("On screen: rows by columns, in panels, or one row per cell."),
    ] = "cross",
    reveal: options.Reveal = False,
) -> None:
    """Protect the table of some data: find its sensitive cells, suppress, audit, publish.

    Without -o the published table is printed. Ctrl-C keeps the best pattern found so far.

    Several files are protected one by one, each within the time limit, and published in the folder
    of -o under their names. Tables of the same records that share cells must not be: an attacker
    reads them together. Link them (csp.link in Python).
    """
    from cellveil.cli.tables.defence import defence_words, measured, posterior_words, read_defence
    from cellveil.cli.tables.second_reading import facts_of, read_again
    from cellveil.cli.tables.several import on_cores, places_for, protect_each
    from cellveil.io import inputs
    from cellveil.io.files import check_outputs, result_columns
    from cellveil.io.results import FORMATS, check_form, form_of, write_result
    from cellveil.io.source import Source
    from cellveil.render.tables import cost_words, promises, quality, sizes
    from cellveil.report.facts import attacked, report_facts
    from cellveil.report.page import report_page
    from cellveil.report.skeleton import write_page
    from csp.mechanism import Mechanism
    from csp.release_file import read_release
    from csp.solve import Progress

    names = inputs.tab_dimensions(data[0], rda) if by is None else inputs.split_names(by, "--by")
    method = options.chosen_method(method, solver)
    clock = options.started(time_limit)
    stated_by = apriori is not None or data[0].name.lower().endswith(".tab")
    rule, looked_at = inputs.read_rules(rules, primary, names, encoding, named=stated_by)
    sources = [
        Source(
            path, names, value, contributor, weight, tuple(hierarchy or ()), rda, aggregated, count,
            inputs.split_names(top, "--top") if top else (), negative, decimals, tuple(total or ()),
            missing, looked_at, inputs.text_file(path, sep, decimal, encoding, na), absent_zero,
            tolerance, memory, None if drop_empty is None else "drop" if drop_empty else "keep",
            apriori, sheet=sheet, shadow=shadow,
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
            "--reread": reread,
        }
        protect_each(
            sources, places_for(data, output, summary, read, alone), mechanism, workers=workers,
            method=method, time_limit=clock.seconds, gap=gap, intervals=intervals, reveal=reveal,
            summary=summary, options=options_of(ctx.command),
        )  # fmt: skip
    answers.needs_reveal("--jj", jj, reveal=reveal)
    if output is not None:
        check_form(form_of(output), names, intervals=intervals)
    if plots is not None:
        from cellveil.render.figures import needs_matplotlib

        needs_matplotlib()
        folder_for(plots)
    if attacks and report is None:
        refuse("--attacks fills a section of --report; give --report FILE.html too")
    if jj is not None and (singletons or unions):
        refuse("a JJ file cannot hold --singletons or --unions; leave them or --jj out")
    check_outputs(
        {
            "-o": output, "--summary": summary, "--report": report, "--jj": jj,
            "--release": release,
        },
        [*data, *read],
        {"-o": tuple(FORMATS.values()), "--jj": options.JJ},
    )  # fmt: skip
    trace: list[Progress] = []

    def watched(now: Progress) -> None:
        trace.append(now)
        meter(now)

    with Meter("tabulating", clock.seconds) as meter, on_cores(workers):
        earlier = None if keep is None else read_release(keep)[0]
        table = inputs.read_table(sources[0], meter.phase)
        stated = inputs.read_known(sources[0], table)
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
        found = None
        if attacks:
            meter.phase("attacking what would be published")
            found = attacked(result, clock, stated=stated)
        again = None
        if reread:
            meter.phase("reading the data once more")
            asked = ctx.params | {"by": None if by is None else [by]}
            records, columns_meant, said = read_again(data[0], asked, names)
            again = result.reread(records, columns_meant, apriori=said)
    if again is not None and not (again.agree and again.safe):
        answers.finish(
            facts_of(again, reveal=reveal),
            [*again.lines(reveal=reveal), "Nothing was published."],
            safe=False, show=lambda: None, summary=summary,
        )  # fmt: skip
    facts = result.summary(reveal=reveal) | ({"posterior": known} if known else {})

    def write(files: Together) -> list[Path]:
        if jj is not None:
            result.to_jj(jj, reveal=True, files=files)
        if release is not None:
            answers.save_release(release, result, files)
        if output is not None:
            write_result(output, result, columns, reveal=reveal, files=files)
        if report is not None:
            told = report_facts(
                result, title=data[0].name.partition(".")[0], attacks=found, reveal=reveal
            )
            told["guarantee"] += again.lines() if again is not None else []
            write_page(report, report_page(result, told, trace=trace), told, files)
        named = [path for path in (output, report, release, jj) if path is not None]
        facts["files"] = answers.hashes(named, files)
        beside = ((report, ".json"), (release, ".csv"))
        written = [path for path in named if path != output]
        written += [path.with_suffix(kind) for path, kind in beside if path is not None]
        if plots is not None:
            written += answers.draw_result(plots, result, trace, files, reveal=reveal)
        return written

    lines = [f"{note[0].upper()}{note[1:]}." for note in result.table.notes]
    if result.audit.cut_short:
        lines.append("Not every interval was followed to its end; those ends are left empty.")
    lines.append(sizes(result.problem, result.pattern, reveal=reveal))
    if result.guarantee is None:
        lines.append(quality(result.suppression, cost_words(cost), reveal=reveal))
    lines += promises(result)
    if result.guarantee is not None:
        lines += [*defence_words(result.guarantee), posterior_words(known)]
    lines += again.lines() if again is not None else []
    answers.finish(
        facts, lines, safe=True, output=output, summary=summary, write=write,
        show=lambda: answers.print_result(
            result, columns, reveal=reveal, intervals=intervals, long=layout == "long"
        ),
    )  # fmt: skip
