"""The commands of ``python -m studies`` that repeat the experiments of the papers on microdata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cellveil.render.screen import say


def _ready(data: Path, out: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Files that are there, of those wanted; refuse before any work if there is none."""
    from csp.errors import InputError
    from studies.microdata.files import FILES, available

    here = available(data)
    found = tuple(name for name in names if name in here)
    wanted = ", ".join(dict.fromkeys(FILES[name].file for name in names))
    if not found:
        msg = f"{str(data)!r} holds none of {wanted}; give --data FOLDER"
        raise InputError(msg)
    if out.exists() and not out.is_dir():
        msg = f"-o {str(out)!r} is a file; give a folder"
        raise InputError(msg)
    missing = [FILES[name].file for name in names if name not in found]
    if missing:
        say(f"Left out, since not in {data}: {', '.join(dict.fromkeys(missing))}.")
    return found


Data = Annotated[
    Path,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder of the data files.", envvar="CELLVEIL_MICRODATA"
    ),
]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the results.")
]


def disclosure(data: Data, *, out: Out = Path("studies")) -> None:
    """Sensitive cells of microaggregated files (Torra and Navarro-Arribas 2023)."""
    from cellveil.render.progress import Bar
    from studies.figures import can_draw
    from studies.microdata import disclosure as made
    from studies.microdata.disclosure_page import draw_figures, lines
    from studies.pages import write_page, write_rows

    sets = _ready(data, out, made.SETS)
    table = list(made.table_2(data)) if {"iris", "abalone"} <= set(sets) else []
    with Bar("partitions") as bar:
        found = list(made.counts(data, sets=sets, progress=bar))
    with Bar("first attributes") as bar:
        few = tuple(name for name in ("1080", "concrete") if name in sets)
        narrow = list(made.prefixes(data, sets=few, progress=bar))
    out.mkdir(parents=True, exist_ok=True)
    if table:
        write_rows(out / "disclosure-table-2.csv", table)
    write_rows(out / "disclosure.csv", [c.row() for c in (*found, *narrow)])
    figures = draw_figures(found, narrow, out) if can_draw() else ()
    page = lines(
        table, found, command="python -m studies disclosure --data FOLDER", figures=figures
    )
    write_page(out / "disclosure-study.md", page)
    say(f"Wrote {out / 'disclosure-study.md'}, its rows (.csv) and {len(figures)} figures.")


def compliance(
    data: Data,
    *,
    out: Out = Path("studies"),
    limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For each file, k and way.")
    ] = 60.0,
) -> None:
    """Compliant k-anonymity in five ways, and what suppression must know of relations."""
    from cellveil.render.progress import Meter
    from studies.microdata import compliance as made
    from studies.microdata.compliance_page import lines
    from studies.microdata.files import available
    from studies.pages import write_page, write_rows

    sets = _ready(data, out, made.SETS)
    with Meter("reading") as meter:
        found = list(made.ways(data, sets=sets, limit=limit, say=meter.phase))
        meter.phase("searching the least k")
        uniform = {name: made.uniform_k(data, name) for name in sets if name != "adult"}
        several = tuple(name for name in made.SUPPRESSED if name in available(data))
        hidden = list(made.suppressing(data, sets=several, limit=limit, say=meter.phase))
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "compliance.csv", [way.row() for way in found])
    write_rows(out / "compliance-suppression.csv", [row.row() for row in hidden])
    command = f"python -m studies compliance --data FOLDER --limit {limit:g}"
    write_page(out / "compliance-study.md", lines(found, uniform, hidden, command=command))
    say(f"Wrote {out / 'compliance-study.md'} and its rows (.csv).")


def aggregates(data: Data, *, out: Out = Path("studies")) -> None:
    """Anonymity against aggregate knowledge (Gkountouna, Lepenioti and Terrovitis)."""
    from cellveil.render.progress import Meter
    from studies.figures import can_draw
    from studies.microdata import aggregates_page as made
    from studies.microdata.aggregates import measurements
    from studies.microdata.files import available, load
    from studies.pages import write_page, write_rows

    _ready(data, out, ["IPUMS"])
    with Meter("reading") as meter:
        records = load("IPUMS", data)
        meter.phase("loss and time against k, records and d")
        found = list(measurements(records))
        names = [name for name in made.OTHERS if name in available(data)]
        beside = list(made.against(data, names=names, say=meter.phase))
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "aggregates.csv", [m.row() for m in found])
    write_rows(out / "aggregates-files.csv", [a.row() for a in beside])
    figures = made.draw_figures(found, out) if can_draw() else ()
    command = "python -m studies aggregates --data FOLDER"
    write_page(
        out / "aggregates-study.md", made.lines(found, beside, command=command, figures=figures)
    )
    say(f"Wrote {out / 'aggregates-study.md'}, its rows (.csv) and {len(figures)} figures.")


def swapping(
    data: Data,
    *,
    out: Out = Path("studies"),
    runs: Annotated[int, typer.Option(metavar="NUMBER", help="Runs of each method and k.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the first run; run r has this plus r.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="Processes; -1 for all cores.")] = 1,
) -> None:
    """Probabilistic k-anonymity by swapping (Soria-Comas and Domingo-Ferrer 2012)."""
    from cellveil.render.progress import Meter
    from studies.microdata.files import load
    from studies.pages import write_page, write_rows
    from studies.swapping import page as made
    from studies.swapping.tables import correlation_rows, loss_rows

    _ready(data, out, ["census", "EIA"])
    files = {"X": load("census", data), "XI": load("EIA", data)}
    losses: dict[str, list[dict[str, Any]]] = {}
    with Meter("correlations") as meter:
        tables = {
            name: correlation_rows(files["X"], name, runs=1 if name in ("VI", "VII") else runs)
            for name in ("VI", "VII", "VIII", "IX")
        }
        for name, records in files.items():
            losses[name] = []
            for row in loss_rows(
                records, name, methods=made.METHODS, runs=runs, seed=seed, n_jobs=jobs
            ):
                losses[name].append(row)
                meter.phase(f"Table {name}: {row['method']}, k = {row['k']}")
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "swapping.csv", [row for rows in losses.values() for row in rows])
    command = f"python -m studies swapping --data FOLDER --runs {runs} --seed {seed}"
    write_page(out / "swapping-study.md", made.lines(tables, losses, command=command))
    say(f"Wrote {out / 'swapping-study.md'} and its rows (.csv).")


def timings(data: Data, *, out: Out = Path("studies")) -> None:
    """Time of MDAV, V-MDAV and Mondrian, up to a million records."""
    from cellveil.render.progress import Meter
    from studies.microdata import timings as made
    from studies.pages import write_page, write_rows

    with Meter("reading") as meter:
        rows = list(made.timings(data, say=meter.phase))
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "microaggregation-timings.csv", rows)
    command = "python -m studies timings --data FOLDER"
    write_page(out / "microaggregation-timings.md", made.lines(rows, command=command))
    say(f"Wrote {out / 'microaggregation-timings.md'} and its rows (.csv).")
