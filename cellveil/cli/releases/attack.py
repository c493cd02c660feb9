"""The commands ``cellveil attack``; ``report`` and ``matching`` are here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.cli import options
from cellveil.cli.answers import finish, print_columns, read_attacked, read_mechanism
from cellveil.cli.options import argument, option
from cellveil.cli.releases.release_attacks import (
    explain,
    insiders,
    joint,
    posterior,
    texts,
)
from cellveil.cli.taking import taking
from cellveil.io.files import check_outputs
from cellveil.io.published import read_public
from cellveil.render.progress import Meter
from cellveil.render.screen import printable
from cellveil.requests.outputs import Facts, Rows
from cellveil.requests.publication import Publication
from csp.exact import units_text
from csp.tables.cross.frames import dimension_columns

if TYPE_CHECKING:
    from attacks.algorithm_known.matching_results import Matching

attack = typer.Typer(
    name="attack",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Attack releases with all that the public knows.",
)


@attack.command()
@taking
def report(
    releases: Annotated[
        list[Path],
        argument(
            "Release that 'protect --release' wrote (.json), or a published table. Others of "
            "overlapping tables are attacked together with it.",
            "RELEASE [OTHERS]...",
        ),
    ],
    *,
    publication: Publication,
    mechanism: options.MechanismFile = None,
    max_tables: options.MaxTables = 200_000,
    time_limit: Annotated[
        float | None, option("For all attacks; the report names those cut short.", "SECONDS")
    ] = None,
    facts: Facts,
) -> None:
    """Run every attack that applies to a release.

    $ cellveil attack report release.json

    What the relations disclose, sums, other releases, and the matching attack where the algorithm
    is known. Cells that an attack exposes are named, their values with --reveal only. Exit codes: 0
    every attack was finished and exposes no cell, 1 otherwise, 2 bad input.
    """
    from attacks.attack_report import report as run

    check_outputs({"--summary": facts.summary}, [*releases, mechanism])
    read = [read_public(path, publication) for path in releases]
    known = read[0][1] if mechanism is None else read_mechanism(mechanism)
    with Meter("attacking", time_limit):
        found = run(
            read[0][0], known, others=[other for other, _ in read[1:]], max_tables=max_tables,
            time_limit=time_limit,
        )  # fmt: skip
    text = found.text(reveal=facts.reveal)
    finish(
        found.summary(reveal=facts.reveal), safe=found.complete and not found.exposed,
        to=facts,
        show=lambda: typer.echo("\n".join(map(printable, text.splitlines()))),
    )  # fmt: skip


@attack.command()
@taking
def matching(
    release: options.ReleaseIn,
    *,
    publication: Publication,
    mechanism: options.MechanismFile = None,
    method: Annotated[
        Literal["auto", "hull", "values", "all", "sample", "reference"],
        option("How consistent tables are tested."),
    ] = "auto",
    time_limit: Annotated[
        float | None, option("Then cells without a proof stay undecided.", "SECONDS")
    ] = None,
    max_tables: options.MaxTables = 200_000,
    draws: Annotated[int, option("Tables to draw, where they are drawn.", "TABLES")] = 3000,
    seed: options.Seed = 0,
    files: Rows,
) -> None:
    """Run the matching attack on a release.

    $ cellveil attack matching release.json --mechanism rules.json

    Every consistent table for which the algorithm would have published something else is excluded.
    Widths and verdicts are shown; with --reveal intervals and surviving values too. Exit codes: 0
    all cells proved safe, 1 some are not, 2 bad input.
    """
    from attacks.algorithm_known.matching_attack import matching as run

    check_outputs({"-o": files.output, "--summary": files.summary}, [release, mechanism])
    given, known = read_attacked(release, mechanism, publication)
    with Meter("attacking", time_limit) as meter:
        found = run(
            given, known, method=method, time_limit=time_limit, max_tables=max_tables,
            draws=draws, seed=seed,
            progress=lambda tested, matched: meter.phase(
                f"attacking: {tested} tables tested, {matched} would be published so"
            ),
        )  # fmt: skip
    columns = shown = _columns(found, reveal=files.reveal)
    if "values" in columns and sys.stdout.isatty():
        # Their ends say as much, and a terminal is narrow.
        shown = {name: c for name, c in columns.items() if name not in ("lower", "upper")}
    finish(
        _facts(found), _words(found), safe=bool((found.verdict == "proved safe").all()),
        columns=columns, show=lambda: print_columns(shown), to=files,
    )  # fmt: skip


for _command in (posterior, explain, insiders, joint):
    attack.command()(taking(_command))


# ---- answers -------------------------------------------------------------------------------------


def _columns(found: Matching, *, reveal: bool) -> dict[str, list[Any]]:
    """One row a suppressed cell."""
    release = found.release
    columns = dimension_columns(release, found.cells)
    columns["feasible"] = texts(release, found.feasible_upper - found.feasible_lower)
    columns["width"] = texts(release, found.width)
    if reveal:
        columns |= {"lower": texts(release, found.lower), "upper": texts(release, found.upper)}
    if found.values is not None:
        columns["left"] = [len(v) for v in found.values]
        if reveal:
            columns["values"] = [" ".join(_runs(v, release.scale)) for v in found.values]
    columns["primary"] = found.named.tolist()
    columns["verdict"] = found.verdict.tolist()
    return columns


def _runs(values: Any, scale: int) -> list[str]:
    """Write consecutive values as runs: 1..4 23..27."""
    runs: list[list[int]] = []
    for value in values.tolist():
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    ends = [[units_text(v, scale) for v in run] for run in runs]
    return [a if a == b else f"{a}..{b}" for a, b in ends]


def _facts(found: Matching) -> dict[str, Any]:
    tally = {
        word: int((found.verdict == word).sum())
        for word in ("proved safe", "proved unsafe", "undecided")
    }
    return {
        "suppressed": len(found.cells),
        **tally,
        "tested": found.tested,
        "matched": found.matched,
        "fibre_size": found.fibre_size,
        "complete": found.complete,
        "left_out": found.left_out,
        "method": found.method,
        "seconds": round(found.seconds, 3),
    }


def _words(found: Matching) -> list[str]:
    """Sentences about the whole attack."""
    facts = _facts(found)
    lines = [
        f"Of {facts['suppressed']} suppressed cells {facts['proved safe']} are proved safe, "
        f"{facts['proved unsafe']} proved unsafe, {facts['undecided']} undecided."
    ]
    fits = (
        ""
        if found.fibre_size is None
        else f" {found.fibre_size} tables are consistent with the release."
    )
    judged = (
        f"{found.tested} tables were tested, {found.matched} would be published with this pattern."
    )
    if found.method == "theorem":
        judged = "Decoys exclude no consistent table, so none had to be tested."
    lines.append(judged + fits)
    if found.left_out is not None:
        lines.append(
            f"With 95 % confidence at most {100 * found.left_out:.2g} % of the consistent tables "
            "are matches outside these intervals; about a single table this says nothing."
        )
    elif found.interrupted:
        lines.append("The attack was interrupted: this is what it had found.")
    elif not found.complete:
        lines.append("The attack was cut short: allow more time (--time-limit, --max-tables).")
    return lines
