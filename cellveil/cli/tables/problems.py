"""The commands ``cellveil suppress`` and ``cellveil audit``: problems in JJ files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, needs_reveal
from cellveil.cli.options import SHEETS, argument, option
from cellveil.cli.releases.published import audit_public
from cellveil.cli.tables.defence import defence_words, needs_width, read_defence
from cellveil.cli.tables.second_reading import read_twice
from cellveil.cli.taking import Rest, taking
from cellveil.front import explained, refuse
from cellveil.io.files import check_outputs, interval_columns, pattern_columns, write_csv
from cellveil.io.inputs import is_jj, read_pattern
from cellveil.render.progress import Meter
from cellveil.render.screen import say, tell
from cellveil.render.tables import guarantee, quality, sizes, violation_words
from cellveil.requests.option import flags_given
from cellveil.requests.outputs import Audited, Facts, Rows
from cellveil.requests.publication import Origin, Publication, Signs
from cellveil.requests.requirements import Decoys, Guards
from cellveil.requests.search import Limit, Search
from cellveil.requests.source import Source
from csp.audits.audit import audit as check
from csp.decoys.suppress import defend
from csp.formats.files import Together
from csp.problem.jj import read_jj, write_jj
from csp.release.release import Release
from csp.solve import suppress as solve


@taking
def suppress(
    problem: options.ProblemFile,
    *,
    search: Search,
    integer: options.Integer = False,
    decoys: Decoys,
    output: Annotated[
        Path | None, option("Pattern: .csv, or .jj with --reveal.", "FILE", "--output", "-o")
    ] = None,
    told: Facts,
) -> None:
    """Find the cheapest safe pattern of a problem in a JJ file.

    $ cellveil suppress problem.jj -o pattern.csv

    The pattern has columns id and status: s published, x suppressed, z must be published.
    """
    from dataclasses import replace

    import numpy as np

    summary, reveal = told.summary, told.reveal
    to_jj = output is not None and is_jj(output)
    needs_reveal("-o", output if to_jj else None, reveal=reveal)
    kinds = {"-o": options.TEXTS + options.JJ}
    check_outputs({"-o": output, "--summary": summary}, [problem, decoys.key_file], kinds)
    defence = read_defence(decoys.defence, decoys.key_file, decoys.table_id)
    needs_width(defence)
    clock = search.limit.started()
    with Meter("reading", clock.seconds) as meter:
        posed = read_jj(problem)
        clock.check("the problem was read")
        limits: dict[str, Any] = {
            "method": search.chosen, "time_limit": clock.seconds, "gap": search.gap,
            "integer": integer,
        }  # fmt: skip
        with explained(posed.table, reveal=reveal, defended=defence is not None):
            defended = None if defence is None else defend(posed, defence, progress=meter, **limits)
            found = (
                solve(posed, progress=meter, **limits) if defended is None else defended.suppression
            )
    facts = (defended or found).facts(posed, reveal=reveal)
    if defended is not None:
        facts |= {"guarantee": defended.guarantee.to_dict()}
    lines = [sizes(posed, found.pattern, reveal=reveal)]
    if defended is None:
        lines.append(quality(found, "cost is that of the file", reveal=reveal))
        if reveal:
            lines.append(f"Cost {facts['cost']}, bound {facts['bound']}.")
    else:
        lines += defence_words(defended.guarantee)
    columns = pattern_columns(posed, found.pattern, reveal=reveal)

    def write(files: Together) -> list[Path]:
        if output is not None and to_jj:
            secondary = found.pattern & (posed.status == "s")
            letters = np.where(secondary, "x", posed.status)
            write_jj(replace(posed, status=letters), output, files=files)
        return []

    finish(
        facts, lines, safe=True, columns=None if to_jj else columns,
        show=lambda: write_csv(sys.stdout, columns), to=Rows(output, summary), write=write,
        hashed=True,
    )  # fmt: skip


def _check_no_records(source: Source, origin: Origin, guards: Guards) -> None:
    """Refuse what is said of records where there are none."""
    more = flags_given(source)
    more += [flag for flag in flags_given(guards) if "integer" not in flag]  # problems have it
    more += flags_given(origin)
    if more:
        refuse(f"{', '.join(more)}: said of the records that a release was made of; add --records")


@taking
def audit(
    problem: Annotated[
        Path,
        argument(
            f"A table that anybody published (.csv, {SHEETS}, .parquet, .sbs), what 'protect "
            "--release' wrote (.json), or a suppression problem (.jj, .jj.gz).",
            "TABLE",
        ),
    ],
    pattern: Annotated[
        Path | None,
        argument(
            "Of a problem: columns id and status (.csv), or a .jj; u and x are suppressed. "
            "Without it the status in the problem is used.",
            "PATTERN",
            default=False,
        ),
    ] = None,
    *,
    origin: Origin,
    source: Rest[Source],
    signs: Signs,
    percent: Annotated[
        float,
        option("Published table: name cells that are known to within this.", "PERCENT"),
    ] = 10.0,
    guards: Guards,
    limit: Limit,
    files: Audited,
) -> None:
    """Check what an outsider can infer: exit code 0 safe, 1 unsafe, 2 bad input.

    $ cellveil audit yearbook.xlsx --marks destatis

    Of a table that anybody published: which withheld cells can be worked out, how, and what would
    mend that; the values with --reveal only. Of a problem: whether its pattern keeps every level.
    With --records a release is judged by a second reading of the records that it was made of: 0
    both agree, 1 unsafe, or they differ. Options of the data are said of these records; what must
    hold (--width, --strict, --margins, --singletons) goes with --rules.
    """
    if origin.records is not None:
        _check_none({"a pattern": pattern, "-o": files.output, "--report": files.report})
        read_twice(problem, source(data=origin.records), origin, guards, files)
    if problem.name.lower().endswith(options.JJ):
        _check_no_records(source(data=problem), origin, guards)
        if files.report is not None:
            refuse("--report is for published tables; leave it out")
        _audit_problem(problem, pattern, guards, limit, files)
    names = tuple(name for text in origin.by for name in text.split(","))
    asked = source.into(Publication, by=names, signs=signs)
    _check_nothing_of_problems(pattern, origin.rules, guards)
    integer = guards.integer is not False
    audit_public(problem, asked, limit, percent=percent, integer=integer, to=files)


def _check_none(given: dict[str, Path | None]) -> None:
    """Refuse what a second reading has no use for."""
    for name, path in given.items():
        if path is not None:
            refuse(f"with --records {name} is not read; give a release and no more")


def _check_nothing_of_problems(pattern: Path | None, rules: str | None, guards: Guards) -> None:
    """Refuse what is said of a problem or of records where a published table is audited."""
    if pattern is not None:
        refuse(
            "a pattern belongs to a problem (.jj): give one, or leave the pattern out to audit a "
            "published table"
        )
    said = [flag for flag in flags_given(guards) if "integer" not in flag]
    if rules is not None or said:
        refuse(
            f"{'--rules' if rules else said[0]}: who audits a published table does not know what "
            "it must keep; leave it out, or add --records"
        )


def _audit_problem(
    problem: Path, pattern: Path | None, guards: Guards, limit: Limit, to: Audited
) -> None:
    """Follow every suppressed cell of a problem, and say which promises are broken."""
    output, summary, reveal = to.output, to.summary, to.reveal
    check_outputs({"-o": output, "--summary": summary}, [problem, pattern])
    clock = limit.started()
    with Meter("reading", clock.seconds) as meter:
        posed = read_jj(problem)
        hidden = read_pattern(pattern, posed)
        meter.phase("auditing")
        found = check(posed, hidden, integer=bool(guards.integer), time_limit=clock.seconds)
    words = violation_words(posed, found.violations, reveal=reveal)
    facts: dict[str, Any] = {
        "safe": found.safe,
        "violations": words,
        "guards": list(found.guards),
        "integer_attacker": found.integer,
        "cells": posed.table.n_cells,
        "suppressed": int(hidden.sum()),
    }
    if reveal:
        facts["primary"] = int(posed.primary.sum())
        facts["claims_verified"] = len(found.certificate.claims)
    # The intervals of an unsafe pattern are what must not be known.
    wrote = output if found.safe or reveal else None
    columns = None
    if wrote is not None:
        columns = pattern_columns(posed, hidden, reveal=reveal)
        scale = Release.of(posed.table.replace(least_scale=0), hidden).scale
        unit = 10.0 ** (posed.table.scale - scale)
        low, high = found.proved
        columns |= interval_columns((low / unit, high / unit), scale)
    if found.safe:
        lines = list(guarantee(found, "its protection levels", options=False))
    else:
        unsafe = "Unsafe. An outsider learns what must not be known:"
        lines = [unsafe, *(f"  {line}" for line in words)]
    if output is not None and wrote is None:
        say(f"{output} was not written: intervals of an unsafe pattern need --reveal.")
    finish(
        facts, lines, safe=found.safe, columns=columns, show=lambda: None, speak=tell,
        to=Rows(wrote, summary), hashed=True,
    )  # fmt: skip
