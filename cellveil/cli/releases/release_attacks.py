"""The commands ``cellveil attack posterior``, ``explain``, ``insiders`` and ``joint``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from attacks import Knowledge, differencing, disclosed, normal_counts, uniform
from attacks import posterior as run
from attacks.release_alone.insider_knowledge import Insight
from cellveil.cli import options
from cellveil.cli.answers import finish, read_attacked
from cellveil.cli.options import argument, flag, option
from cellveil.front import refuse
from cellveil.io.files import check_outputs
from cellveil.io.published import read_public
from cellveil.render.progress import Meter
from cellveil.render.screen import say, tell
from cellveil.requests.outputs import Facts, Rows
from cellveil.requests.publication import Publication
from csp.clock import Clock
from csp.exact import end_text, exact
from csp.formats.codes import plain_code
from csp.release.release import Release
from csp.tables.codes import Labels
from csp.tables.columns import column_names, read_columns
from csp.tables.cross.frames import dimension_columns
from csp.tables.units import MOST_DECIMALS


def posterior(
    release: options.ReleaseIn,
    *,
    publication: Publication,
    mechanism: options.MechanismFile = None,
    prior: Annotated[
        str,
        option(
            "Of the value of a cell before the release: uniform, or normal:MEAN,DEVIATION.", "PRIOR"
        ),
    ] = "uniform",
    mass: Annotated[float, option("Probability that an interval must hold.", "SHARE")] = 0.95,
    draws: Annotated[
        int | None, option("Draw tables.", "TABLES", default="every table is weighed")
    ] = None,
    seed: options.Seed = 0,
    max_tables: options.MaxTables = 2_000_000,
    time_limit: options.AttackLimit = None,
    files: Rows,
) -> None:
    """Weigh the values of each suppressed cell for an attacker who knows the algorithm.

    $ cellveil attack posterior release.json --mechanism rules.json

    Columns: width of the shortest interval that holds --mass, chance of the most probable value,
    the same without knowledge of the algorithm (naive), probability that the cell is sensitive;
    with --reveal the interval and the value. Exit codes: 0 no value is 95 % probable, 1 some is,
    2 bad input.
    """
    check_outputs({"-o": files.output, "--summary": files.summary}, [release, mechanism])
    given, known = read_attacked(release, mechanism, publication)
    with Meter("weighing tables", time_limit):
        found = run(
            given, known, prior=_prior(prior), draws=draws, seed=seed, max_tables=max_tables,
            time_limit=time_limit,
        )  # fmt: skip
    low, high = found.shortest(mass)
    wide, far = found.shortest(mass, naive=True)
    columns = dimension_columns(given, found.cells)
    columns["width"] = texts(given, high - low)
    columns["width_naive"] = texts(given, far - wide)
    columns["chance"] = [round(float(p), 4) for p in found.mode_probability]
    columns["chance_naive"] = [round(float(p.max()), 4) for p in found.naive]
    columns["sensitive"] = [round(float(p), 4) for p in found.sensitive]
    if files.reveal:
        for name, ends in (("lower", low), ("upper", high), ("value", found.mode)):
            columns[name] = texts(given, ends)
    certain = int((found.mode_probability >= 0.95).sum())
    facts = {
        "suppressed": len(found.cells),
        "prior": prior,
        "mass": mass,
        "tables_drawn": draws,
        "values_certain_to_95_percent": certain,
        "largest_probability_of_a_value": round(float(found.mode_probability.max()), 6),
        "largest_probability_of_being_sensitive": round(float(found.sensitive.max()), 6),
    }
    words = (
        f"Of {facts['suppressed']} suppressed cells {certain} have a value that is at least 95 % "
        f"probable. {found!r}."
    )
    finish(facts, [words], safe=not certain, columns=columns, to=files)


def explain(
    release: options.ReleaseIn,
    *,
    publication: Publication,
    cell: Annotated[
        list[str] | None,
        option(
            "Cell by its codes, separated by commas; once for each.",
            "CODES",
            default="every suppressed cell whose value is known",
        ),
    ] = None,
    mechanism: Annotated[
        bool, flag("Also what knowing the algorithm excludes.", "--with-algorithm")
    ] = False,
    time_limit: options.AttackLimit = None,
    facts: Facts,
) -> None:
    """Explain why a suppressed cell is known, or which interval contains it.

    $ cellveil attack explain release.json --cell N1,Trade

    Names relations and cells; amounts with --reveal only. Exit codes: 0 no cell that was looked at
    is known, 1 some is, 2 bad input.
    """
    from attacks import explain as run

    check_outputs({"--summary": facts.summary}, [release])
    clock = Clock.of(time_limit)
    given, known = (
        read_attacked(release, None, publication)
        if mechanism
        else (read_public(release, publication)[0], None)
    )
    if cell:
        wanted = [_position(given, text) for text in cell]
    else:
        found = disclosed(given, time_limit=clock.seconds)
        wanted = found.cells[found.whole].tolist()
    told = []
    exposed = False
    lines = []
    for number, place in enumerate(wanted):
        one = run(
            given, place, mechanism=known, time_limit=clock.part(1 / (len(wanted) - number)).seconds
        )
        ends = (one.lower, one.upper) if one.whole is None else one.whole
        exposed |= ends[0] is not None and ends[0] == ends[1]
        text = one.text(reveal=facts.reveal)
        lines += text.splitlines()
        told.append({"cell": list(given.labels[place]), "explanation": text.splitlines()})
    if not wanted:
        lines.append("The relations disclose no suppressed cell.")
    sentences = [f"{line[0].upper()}{line[1:]}.".replace("..", ".") for line in lines]
    finish({"cells": told}, sentences, safe=not exposed, speak=tell, to=facts)


def insiders(
    release: options.ReleaseIn,
    *,
    publication: Publication,
    knowledge: Annotated[
        Path,
        option(
            "What contributors know (.csv): columns 'contributor', those of the dimensions, "
            "'own' (its part of the cell), and 'value' where it knows the whole cell.",
            "FILE",
        ),
    ],
    integer: options.Whole = True,
    time_limit: options.AttackLimit = None,
    files: Rows,
) -> None:
    """Show what contributors infer from their own contributions.

    $ cellveil attack insiders release.json --knowledge firms.csv

    Exit codes: 0 no contributor learns the value of a cell unknown to it, 1 some do, 2 bad
    input.
    """
    from attacks import insiders as run

    check_outputs({"-o": files.output, "--summary": files.summary}, [release, knowledge])
    given = read_public(release, publication)[0]
    with Meter("attacking as each contributor", time_limit):
        given, members = _knowledge(given, knowledge)
        found = run(given, members, integer=integer, time_limit=time_limit)
    parts = [_insights(given, one, reveal=files.reveal) for one in found]
    names = ["contributor", *given.names, "width", "width_of_the_rest", "verdict"]
    names += ["lower", "upper"] if files.reveal else []
    columns = {name: [item for part in parts for item in part[name]] for name in names}
    learned = sum(bool((one.lower == one.upper).any()) for one in found)
    facts = {
        "contributors": len(found),
        "contributors_who_learn_a_value": learned,
        "cells_known": columns["verdict"].count("known"),
        "cells_narrower": columns["verdict"].count("narrower"),
    }
    words = f"{learned} of {len(found)} contributors learn the value of a cell they did not know."
    finish(facts, [words], safe=not learned, columns=columns, to=files)


def joint(
    releases: Annotated[
        list[Path],
        argument(
            "Releases of tables that share cells: files of 'protect --release', or published "
            "tables.",
            "RELEASE OTHERS...",
        ),
    ],
    *,
    publication: Publication,
    integer: options.Whole = True,
    time_limit: options.AttackLimit = None,
    files: Rows,
) -> None:
    """Attack several releases together: what one suppresses, another may disclose.

    $ cellveil attack joint may.json june.json

    'cellveil diff' shows what changed in two releases of one table. Exit codes: 0 together they
    disclose no cell that one suppresses, 1 they do, 2 bad input.
    """
    check_outputs({"-o": files.output, "--summary": files.summary}, releases)
    if len(releases) < 2:
        refuse("name two releases or more; 'cellveil attack report' attacks a single one")
    with Meter("attacking all releases together", time_limit):
        found = differencing(
            [read_public(path, publication)[0] for path in releases],
            integer=integer,
            time_limit=time_limit,
        )
    union = found.release
    columns = dimension_columns(union, found.cells)
    shown = np.array([bool(p) for p in found.publishers], bool)
    known = found.lower == found.upper
    columns["published_in"] = [
        " ".join(releases[r].name for r in places) for places in found.publishers
    ]
    columns["width"] = texts(union, found.upper - found.lower)
    if files.reveal:
        columns |= {"lower": texts(union, found.lower), "upper": texts(union, found.upper)}
    columns["verdict"] = np.select(
        [shown, known, found.narrowed], ["published", "known", "narrower"], "no more than alone"
    ).tolist()
    tally = {word: columns["verdict"].count(word) for word in ("published", "known", "narrower")}
    facts = {"releases": len(releases), "suppressed_in_some": len(found.cells)} | tally
    words = (
        f"Of {len(found.cells)} cells that some release suppresses another publishes "
        f"{tally['published']}; all together disclose {tally['known']} more and narrow "
        f"{tally['narrower']}."
    )
    safe = not tally["published"] and not tally["known"]
    finish(facts, [words], safe=safe, columns=columns, to=files)


# ---- options and files ---------------------------------------------------------------------------


def texts(release: Release, ends: Any) -> list[str]:
    """Write ends of intervals, or their widths, as decimal text."""
    return [end_text(float(end), release.scale) for end in ends]


def _prior(text: str) -> Any:

    if text == "uniform":
        return uniform
    kind, _, numbers = text.partition(":")
    parts = numbers.split(",")
    try:
        if kind == "normal" and len(parts) == 2:
            return normal_counts(float(parts[0]), float(parts[1]))
    except ValueError:
        pass
    refuse(f"--prior is uniform or normal:MEAN,DEVIATION, such as normal:15,10, not {text!r}")


def _position(release: Release, text: str) -> int:

    place = Labels.of(release.labels).find(tuple(plain_code(part) for part in text.split(",")))
    if place < 0:
        refuse(
            f"--cell {text}: there is no such cell; give one code for each of "
            f"{', '.join(release.names)}, such as {','.join(release.labels[0])}"
        )
    if not release.pattern[place]:
        refuse(f"--cell {text}: the cell is published, so there is nothing to explain")
    return place


def _knowledge(release: Release, path: Path) -> tuple[Release, list[Knowledge]]:
    """Read what contributors know; the release is taken to as many decimals as they have."""
    names = ["contributor", *release.names]
    more = [name for name in ("own", "value") if name in column_names(path)]
    if not more:
        refuse(f"{str(path)!r} has neither a column 'own' nor 'value'; add what contributors know")
    rows = list(zip(*read_columns(path, [*names, *more], more).arrays, strict=True))
    entries = [
        exact(str(entry)) for row in rows for entry in row[len(names) :] if str(entry or "").strip()
    ]
    scale = release.scale
    while scale < MOST_DECIMALS and any((n * 10**scale).denominator > 1 for n in entries):
        scale += 1
    if scale > release.scale:
        say(f"Cells are taken for units of {scale} decimal places, as contributors know them.")
        release = release.at_scale(scale)
    place = {tuple(label): i for i, label in enumerate(release.labels)}
    found: dict[str, tuple[dict[int, int], dict[int, int]]] = {}
    for number, row in enumerate(rows, start=1):
        label = tuple(str(code) for code in row[1 : len(names)])
        if label not in place:
            refuse(f"{path}, row {number}: the release has no cell ({', '.join(label)})")
        known = found.setdefault(str(row[0]), ({}, {}))
        for kind, entry in zip(more, row[len(names) :], strict=True):
            if entry is None or not str(entry).strip():
                continue
            units = exact(str(entry)) * 10**release.scale
            if units.denominator != 1:
                refuse(f"{path}, row {number}: {kind} {entry} has more than {scale} decimal places")
            known[kind == "own"][place[label]] = int(units)
    return release, [Knowledge(name, cells, own) for name, (cells, own) in found.items()]


def _insights(release: Release, one: Insight, *, reveal: bool) -> dict[str, list[Any]]:
    """Columns of one contributor: cells that it knows more closely than an outsider."""
    at = np.flatnonzero(one.narrowed)
    low, high = one.lower[at], one.upper[at]
    columns: dict[str, list[Any]] = {"contributor": [one.name] * len(at)}
    columns |= dimension_columns(release, one.cells[at])
    columns["width"] = texts(release, high - low)
    columns["width_of_the_rest"] = texts(release, one.rest_upper[at] - one.rest_lower[at])
    columns["verdict"] = np.where(low == high, "known", "narrower").tolist()
    if reveal:
        columns |= {"lower": texts(release, low), "upper": texts(release, high)}
    return columns
