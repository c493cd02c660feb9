"""Run a job: read, link, protect, and write everything, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cellveil
from cellveil.front import check_folder, explained, refuse
from cellveil.io.files import check_outputs, result_columns, write_json
from cellveil.io.inputs import read_known, read_table
from cellveil.io.results import FOREIGN, FORMATS, check_form, timeless, write_result
from cellveil.jobs.history import Archive
from cellveil.jobs.job import Job, TableJob, naming
from cellveil.jobs.record import Inputs, record_facts, versions, write_record
from cellveil.report.facts import attacked, report_facts
from cellveil.report.page import report_page
from cellveil.report.skeleton import write_page
from cellveil.requests.source import Source
from csp.exact import Ints
from csp.formats.apriori import Statement
from csp.formats.files import Together, written_together
from csp.mechanism import Protected
from csp.solve import Progress
from csp.tables.codes import Labels
from csp.tables.link import labels_within, link, named_alike
from csp.tables.table import Table

ATTACKERS = {
    "outsider": "outsiders",
    "singletons": "contributors who are alone in a cell",
    "unions": "attackers who add suppressed cells up",
}
"""Attackers that an audit considered, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """What became of one group of tables of a job, and the files that were written.

    `told` says what stayed suppressed since it was before, and what changed.
    """

    names: tuple[str, ...]
    protected: Protected
    files: tuple[Path, ...]
    told: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """How much was suppressed and how good that is, without suppressed values."""
        facts = self.protected.summary()
        quality = "" if self.protected.guarantee else f", {self.protected.suppression.quality}"
        linked = "linked, since they are of the same data: " if len(self.names) > 1 else ""
        attackers = " and ".join(ATTACKERS[guard] for guard in self.protected.guards)
        return (
            f"{linked}{facts['cells']:,} cells, {facts['suppressed']:,} suppressed{quality}; "
            f"audited safe against {attackers}."
        )


def run_job(
    job: Job,
    *,
    phase: Callable[[str], None] = lambda _: None,
    progress: Callable[[Progress], None] | None = None,
    tabulate: Callable[[Source], Table] = read_table,
    archive: Archive | None = None,
) -> tuple[Done, ...]:
    """Run a job: one `Done` for each group of linked tables.

    Its files appear together when the last table is protected. `phase` is called with what is done,
    in words, `progress` as by `csp.protect`. `tabulate` makes the table of a source. `archive` has
    the releases of earlier runs, by default those of the job.

    Raises
    ------
    InputError
        For data that cannot be read as tables, and folders of results or of the history that
        cannot be made; job and table are named.
    Unprotectable, OutOfTime
        As `csp.protect`.
    """
    _check_forms(job)
    past = Archive.of(job) if archive is None else archive
    with naming(f"{job.path.name}, [output]"):
        check_folder(job.folder)
        if past.folder is not None and past.store:
            check_folder(past.folder)
    places = _places(job)
    with naming(job.path.name):
        inputs = Inputs.of((*job.inputs, *past.files))
    groups = job.groups
    if job.asked.earlier.keep is not None and len(groups) > 1:
        refuse(
            f"{job.path.name}, [rules]: keep is for tables of the same data; write a job for each"
        )
    solved = [
        _solved(job, group, past, phase=phase, progress=progress, tabulate=tabulate)
        for group in groups
    ]
    inputs.check()
    job.folder.mkdir(parents=True, exist_ok=True)
    with written_together() as files:
        done = tuple(_written(job, one, places, files) for one in solved)
        for one in done:
            past.add(one.names, one.protected, files)
        reveal = job.output.shown.reveal
        facts = {
            "made_by": f"cellveil {cellveil.__version__}",
            "versions": versions(),
            "outputs": {path.name: files.sha256(path) for one in done for path in one.files},
            "tables": [
                {"names": list(one.names)} | timeless(one.protected, reveal=reveal) for one in done
            ],
        }
        write_json(places["result"], facts, files)
        written = [*(path for one in done for path in one.files), places["result"]]
        outputs = {path.name: files.sha256(path) for path in written}
        inner = [{"names": list(one.names)} | one.protected.summary(reveal=True) for one in done]
        write_record(job.record, record_facts(job.record, job.path, inputs, outputs, inner), files)
    return done


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """A group of linked tables that is protected, and what attacks found."""

    group: tuple[TableJob, ...]
    tables: list[Table]
    protected: Protected
    attacks: Any
    told: tuple[str, ...] = ()


def _check_forms(job: Job) -> None:
    """Refuse, before any work, what the formats cannot hold."""
    forms = job.output.format
    with naming(f"{job.path.name}, [output]"):
        job.output.house.check(forms, report=job.output.report)
    for wanted in job.tables:
        for form in forms:
            with naming(job.path.name, wanted.name):
                check_form(
                    form, wanted.source.by, structure=job.output.structure,
                    intervals=job.output.shown.has_intervals and set(forms) <= set(FOREIGN),
                )  # fmt: skip


def _solved(
    job: Job, group: tuple[TableJob, ...], past: Archive, *, phase: Callable[[str], None],
    progress: Callable[[Progress], None] | None, tabulate: Callable[[Source], Table],
) -> _Solved:  # fmt: skip
    """Tabulate, link, protect, and attack what would be published."""
    names = [table.name for table in group]
    said = f"{job.path.name}, {' and '.join(names)}"
    phase(f"tabulating {', '.join(names)}")
    with naming(f"{job.path.name}, [solver]"):
        clock = job.search.limit.started()
    tables, known = [], []
    for one in group:
        with naming(job.path.name, one.name):
            tables.append(tabulate(one.source))
            known.append(read_known(one.source, tables[-1]))
    signs = {one.source.negative for one in group}
    if len(signs) > 1:
        refuse(
            f"{said}: these tables are of the same data and differ in 'negative' "
            f"({', '.join(sorted(signs))}); say it once, in [data]"
        )
    with naming(said):
        tables = named_alike(tables)
        whole = link(*tables) if len(tables) > 1 else tables[0]
        mechanism = job.mechanism(whole.names)
        stated = [
            _within(whole, table, statement)
            for table, statements in zip(tables, known, strict=True)
            for statement in statements
        ]
        recode = [*dict.fromkeys(text for one in group for text in one.source.recode)]
        trees = [*dict.fromkeys(text for one in group for text in one.source.hierarchy)]
        kept = past.kept(job, names, whole, recode, trees)
    # What is attacked together with earlier releases afterwards needs time, too.
    limit = clock.within(0.8 * clock.left) if past.attacked(names, whole) else clock
    phase(f"protecting {', '.join(names)}")
    with naming(said), explained(whole, reveal=job.output.shown.reveal):
        protected = mechanism.protect(
            whole, keep=kept.release(whole) if kept.cells.any() else None, apriori=stated,
            publish=job.output.shown.publish, method=job.search.chosen, gap=job.search.gap,
            time_limit=limit.seconds, progress=progress,
        )  # fmt: skip
    found = None
    if job.output.shown.attacks:
        phase(f"attacking {', '.join(names)}")
        found = attacked(protected, clock)
    with naming(said):
        told = past.told(names, protected, clock)
    said_of = (*kept.told, *kept.worked_out(protected, "by_hand"), *told)
    return _Solved(group, tables, protected, found, said_of)


def _written(job: Job, one: _Solved, places: Mapping[str, Path], files: Together) -> Done:
    """Write the tables of a group, and its report."""
    output, reveal = job.output, job.output.shown.reveal
    group, tables, protected = one.group, one.tables, one.protected
    shown = {form: output.shown.has_intervals and form not in FOREIGN for form in output.format}
    columns = {
        intervals: result_columns(protected, reveal=reveal, intervals=intervals)
        for intervals in set(shown.values())
    }
    mine = []
    linked = len(tables) > 1
    parts = [(table, _rows(protected.table, table)) if linked else None for table in tables]
    for named, part in zip(group, parts, strict=True):
        for form in output.format:
            path = places[named.name + FORMATS[form]]
            write_result(
                path, protected, _part(columns[shown[form]], part), form=form, reveal=reveal,
                structure=output.structure, part=part, house=output.house, files=files,
            )  # fmt: skip
            mine.append(path)
    names = tuple(named.name for named in group)
    if output.report:
        page = places["+".join(names) + ".html"]
        title = output.house.title or ", ".join(names)
        told = report_facts(protected, title=title, attacks=one.attacks, reveal=reveal)
        several = [(name, *part) for name, part in zip(names, parts, strict=True) if part]
        write_page(page, report_page(protected, told, parts=several), told, files)
        mine += [page, page.with_suffix(".json")]
    return Done(names, protected, tuple(mine), one.told)


def _places(job: Job) -> dict[str, Path]:
    """Where each result goes; checked before any work."""
    files = [f"{table.name}{FORMATS[form]}" for table in job.tables for form in job.output.format]
    places = {name: job.folder / name for name in files}
    outputs: dict[str, Path | None] = {f"table {name}": path for name, path in places.items()}
    kinds: dict[str, tuple[str, ...]] = dict.fromkeys(outputs, tuple(FORMATS.values()))
    if job.output.report:
        for group in job.groups:
            name = "+".join(table.name for table in group)
            places[f"{name}.html"] = job.folder / f"{name}.html"
            outputs[f"report {name}.html"] = places[f"{name}.html"]
            kinds[f"report {name}.html"] = (".html",)
    places["result"] = job.folder / f"{job.path.stem}.result.json"
    outputs["result"], kinds["result"] = places["result"], (".json",)
    outputs["internal record"] = job.record
    check_outputs(outputs, list(job.inputs), kinds, job.folder)
    return places


def _within(whole: Table, table: Table, statement: Statement) -> Statement:
    """Return what is said of a cell of one table about the same cell of linked ones."""
    codes = dict(zip(table.names, statement.codes, strict=True))
    return replace(statement, codes=tuple(codes.get(name, "") for name in whole.names))


def _rows(whole: Table, table: Table) -> Ints:
    """Which cell of a linked table each cell of one of its tables is."""
    roots = dict(zip(whole.names, whole.roots, strict=True))
    return Labels.of(whole.labels).places(labels_within(table, whole.names, roots))


def _part(columns: dict[str, Any], part: tuple[Table, Ints] | None) -> dict[str, Any]:
    """Rows of a linked table that are those of one of its tables, with its dimensions, as there."""
    if part is None:
        return columns
    table, places = part
    rows, names = places.tolist(), list(columns)
    kept = [*table.names, *names[names.index("value") :]]
    return {name: [columns[name][row] for row in rows] for name in kept}
