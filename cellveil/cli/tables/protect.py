"""The command ``cellveil protect``: from data to a published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cellveil.cli import answers, options
from cellveil.cli.options import RECORDS, SHEETS, argument, option
from cellveil.cli.tables.defence import defence_words, measured, posterior_words, read_defence
from cellveil.cli.tables.dimensions import By, tab_dimensions
from cellveil.cli.tables.second_reading import check_again, facts_of, read_again
from cellveil.cli.tables.several import on_cores, places_for, protect_each
from cellveil.cli.taking import Rest, taking
from cellveil.front import check_folder, explained, folder_for, options_of, refuse
from cellveil.io import inputs
from cellveil.io.crosstables import recognise
from cellveil.io.files import check_outputs, result_columns
from cellveil.io.kept import kept_from
from cellveil.io.results import FORMATS, check_form, form_of, write_result
from cellveil.render.figures import needs_matplotlib
from cellveil.render.progress import Meter
from cellveil.render.screen import say
from cellveil.render.tables import cost_words, promises, quality, sizes
from cellveil.report.facts import attacked, report_facts
from cellveil.report.page import report_page
from cellveil.report.skeleton import write_page
from cellveil.requests.earlier import Earlier
from cellveil.requests.outputs import Facts, Files
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Search
from cellveil.requests.source import Source
from csp.audits.second_reading import Rereading
from csp.clock import Clock
from csp.formats.files import Together
from csp.mechanism import Mechanism, Protected
from csp.solve import Progress


@taking
def protect(
    ctx: typer.Context,
    data: Annotated[
        list[Path],
        argument(
            f"{RECORDS}, {SHEETS}, or .asc or .tab with its layout (--rda). Each of several files "
            "is a table of its own.",
            "DATA",
        ),
    ],
    *,
    by: By = None,
    asked: Requirements,
    source: Rest[Source],
    search: Search,
    workers: Annotated[
        int,
        option(
            "Processes for tables of several files, or for regions of one large table.",
            "NUMBER",
            min=1,
        ),
    ] = 1,
    files: Files,
) -> None:
    """Protect the table of some data: find its sensitive cells, suppress, audit, publish.

    $ cellveil protect survey.csv --by region,sector --rules "FREQ(3,10)"

    Without -o the published table is printed. Ctrl-C keeps the best pattern found so far.

    Several files are protected one by one, each within the time limit, and published in the folder
    of -o under their names. Tables of the same records that share cells must not be: an attacker
    reads them together. Link them (csp.link in Python).
    """
    split = None if by is None else inputs.split_names(by, "--by")
    table = recognise(data[0], split, source.own)
    known = {"by": split or ()} if table is None else table.fields
    # What is said of empty cells tells of cells that may be suppressed.
    own = () if table is None or not files.shown.reveal else table.own
    for line in () if table is None else (table.guess, *own):
        if line:
            say(line)
    first = source(data=data[0], **known)
    names = first.by or tab_dimensions(data[0], first.rda)
    known["by"] = names
    clock = search.limit.started()
    decoys = asked.decoys
    mechanism, reads = inputs.mechanism_of(
        asked, names, first.written.encoding, named=first.apriori is not None or first.tab,
        defence=read_defence(decoys.defence, decoys.key_file, decoys.table_id),
    )  # fmt: skip
    sources = [source(data=path, reads=reads, **known) for path in data]
    asked.earlier.check()
    keep = asked.earlier.keep
    read = [first.rda, asked.primary, decoys.key_file, keep, first.apriori]
    read += [Path(text.partition("=")[2]) for text in first.hierarchy]
    if len(data) > 1:
        alone = {
            "--report": files.report, "--plots": files.plots, "--jj": files.jj,
            "--release": files.release, "--keep": keep, "--apriori": first.apriori,
            "--defence": decoys.defence, "--reread": files.reread,
            "--publish": files.shown.publish != "blanks",
        }  # fmt: skip
        places = places_for(data, files.output, files.summary, read, alone)
        files.house.check({form_of(place) for place in places.values()}, report=False)
        protect_each(
            sources, places, mechanism,
            workers=workers, search=search, clock=clock, files=files,
            options=options_of(ctx.command),
        )  # fmt: skip
    _check(files, asked, sources[0], [*data, *read])
    done = _protected(sources[0], mechanism, asked.earlier, search, clock, workers, files)
    _finish(data[0], asked, done, files)


_SOME = 20
"""Cells of a table from which on it is said that much of it is suppressed."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A protected table, and what was found out about it."""

    result: Protected
    columns: dict[str, Any]
    known: dict[str, Any]
    attacks: Any
    again: Rereading | None
    trace: list[Progress]


def _check(files: Files, asked: Requirements, source: Source, read: Sequence[Path | None]) -> None:
    """Refuse, before any work, what cannot be written."""
    if files.reread:
        check_again(source)
    if source.apriori is None and not source.tab and source.apriori_unknown != "error":
        refuse("--apriori-unknown is for --apriori; leave it out")
    answers.needs_reveal("--jj", files.jj, reveal=files.shown.reveal)
    if files.output is not None:
        check_form(form_of(files.output), source.by, intervals=files.shown.has_intervals)
    forms = () if files.output is None else (form_of(files.output),)
    files.house.check(forms, report=files.report is not None)
    if files.plots is not None:
        needs_matplotlib()
        check_folder(files.plots)
    if files.shown.attacks and files.report is None:
        refuse("--attacks fills a section of --report; give --report FILE.html too")
    if files.jj is not None and (asked.guards.singletons or asked.unions):
        refuse("a JJ file cannot hold --singletons or --unions; leave them or --jj out")
    check_outputs(
        {
            "-o": files.output, "--summary": files.summary, "--report": files.report,
            "--jj": files.jj, "--release": files.release,
        },
        read,
        {"-o": tuple(FORMATS.values()), "--jj": options.JJ},
        made=files.plots,
    )  # fmt: skip


def _protected(
    source: Source, mechanism: Mechanism, before: Earlier, search: Search, clock: Clock,
    workers: int, files: Files,
) -> _Done:  # fmt: skip
    """Tabulate, protect, and attack what would be published."""
    trace: list[Progress] = []

    def watched(now: Progress) -> None:
        trace.append(now)
        meter(now)

    shown = files.shown
    with Meter("tabulating", clock.seconds) as meter, on_cores(workers):
        table = inputs.read_table(source, meter.phase)
        kept = kept_from(before, table, source.recode, source.hierarchy)
        for line in () if kept is None else kept.told:
            say(line)
        stated = inputs.read_known(source, table)
        clock.check("the table was made")
        meter.phase("finding sensitive cells")
        with explained(table, reveal=shown.reveal, defended=mechanism.defence is not None):
            result = mechanism.protect(
                table, keep=None if kept is None else kept.release(table), apriori=stated,
                publish=shown.publish,
                method=search.chosen, gap=search.gap, time_limit=clock.seconds, progress=watched,
            )  # fmt: skip
        for line in () if kept is None else kept.worked_out(result, "--primary"):
            say(line)
        columns = result_columns(result, reveal=shown.reveal, intervals=shown.has_intervals)
        known: dict[str, Any] = {}
        if result.guarantee is not None:
            meter.phase("weighing what the pattern discloses")
            known = measured(result, clock)
        found = None
        if shown.attacks:
            meter.phase("attacking what would be published")
            found = attacked(result, clock)
        again = None
        if files.reread:
            meter.phase("reading the data once more")
            records, meant, said = read_again(source, [source.by])
            again = result.reread(records, meant, apriori=said)
    return _Done(result, columns, known, found, again, trace)


def _finish(data: Path, asked: Requirements, done: _Done, files: Files) -> None:
    """Write what was asked for, and say what was done."""
    result, shown, again = done.result, files.shown, done.again
    if again is not None and not (again.agree and again.safe):
        answers.finish(
            facts_of(again, reveal=shown.reveal),
            [*again.lines(reveal=shown.reveal), "Nothing was published."],
            safe=False, show=lambda: None, to=Facts(files.summary),
        )  # fmt: skip
    facts = result.summary(reveal=shown.reveal) | ({"posterior": done.known} if done.known else {})

    def write(together: Together) -> list[Path]:
        return _write(data, done, files, facts, together)

    answers.finish(
        facts, _lines(asked, done, reveal=shown.reveal), safe=True, to=files, write=write,
        show=lambda: answers.print_result(
            result, done.columns, reveal=shown.reveal, intervals=shown.has_intervals,
            long=files.layout == "long",
        ),
    )  # fmt: skip


def _write(
    data: Path, done: _Done, files: Files, facts: dict[str, Any], together: Together
) -> list[Path]:
    """Write all files together; those but -o are returned."""
    result, reveal = done.result, files.shown.reveal
    if files.plots is not None:
        folder_for(files.plots)
    if files.jj is not None:
        result.to_jj(files.jj, reveal=True, files=together)
    if files.release is not None:
        answers.save_release(files.release, result, together)
    if files.output is not None:
        write_result(
            files.output, result, done.columns, reveal=reveal, house=files.house, files=together
        )
    if files.report is not None:
        title = files.house.title or data.name.partition(".")[0]
        told = report_facts(result, title=title, attacks=done.attacks, reveal=reveal)
        told["guarantee"] += [] if done.again is None else done.again.lines()
        write_page(files.report, report_page(result, told, trace=done.trace), told, together)
    places = (files.output, files.report, files.release, files.jj)
    named = [path for path in places if path is not None]
    facts["files"] = answers.hashes(named, together)
    beside = ((files.report, ".json"), (files.release, ".csv"))
    written = [path for path in named if path != files.output]
    written += [path.with_suffix(kind) for path, kind in beside if path is not None]
    if files.plots is not None:
        written += answers.draw_result(files.plots, result, done.trace, together, reveal=reveal)
    return written


def _lines(asked: Requirements, done: _Done, *, reveal: bool) -> list[str]:
    """Say what was found, proved and not looked at."""
    result = done.result
    lines = [answers.noted(note) for note in result.table.notes]
    if result.audit.cut_short:
        lines.append("Not every interval was followed to its end; those ends are left empty.")
    lines.append(sizes(result.problem, result.pattern, reveal=reveal))
    if result.guarantee is None:
        lines.append(quality(result.suppression, cost_words(asked.cost), reveal=reveal))
    if 3 * int(result.pattern.sum()) > result.table.n_cells >= _SOME:
        lines.append("Much is suppressed: 'cellveil inspect' says which codes to join (--recode).")
    lines += promises(result)
    if result.guarantee is not None:
        lines += [*defence_words(result.guarantee), posterior_words(done.known)]
    return lines if done.again is None else [*lines, *done.again.lines()]
