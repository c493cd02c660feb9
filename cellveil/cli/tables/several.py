"""Several files protected by one command, each as a table of its own."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from cellveil.cli import options
from cellveil.cli.answers import finish, hashes, noted, print_columns
from cellveil.front import SAFE, explained, folder_for, message_of, refuse
from cellveil.io.files import check_outputs, result_columns, write_columns
from cellveil.io.house import with_mark
from cellveil.io.inputs import read_known, read_table
from cellveil.render.progress import Bar, Meter
from cellveil.render.screen import say
from cellveil.render.tables import promises
from cellveil.requests.outputs import Facts, Files
from cellveil.requests.search import Search
from cellveil.requests.source import Source
from csp.clock import Clock
from csp.errors import CellveilError
from csp.formats.files import written_together
from csp.mechanism import Mechanism, Protected
from csp.protection import protect_many
from csp.tables.table import Table

_SHOWN = ("cells", "suppressed", "primary", "cost", "gap", "proven", "seconds")
"""Facts of the overview; some are told with --reveal only."""


@contextmanager
def on_cores(workers: int) -> Iterator[None]:
    """Let joblib use `workers` processes of this machine."""
    if workers == 1:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="loky", n_jobs=workers, initializer=_end_with_parent):
        yield


def _end_with_parent() -> None:
    """Have the system end this process when the one that began it is killed; Linux alone can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_PR_SET_PDEATHSIG = 1


def places_for(
    data: Sequence[Path], folder: Path | None, summary: Path | None,
    others: Sequence[Path | None], alone: Mapping[str, object],
) -> dict[str, Path]:  # fmt: skip
    """Where the table of each file is published, by the name of the file.

    Refused if -o names no folder, two results would have one name, a result cannot be written or
    would overwrite one of the data or of the `others` that are read, or options were given that are
    for one table `alone`.
    """
    given = [option for option, value in alone.items() if value]
    if given:
        refuse(f"{', '.join(given)}: for one table only; protect it by a command of its own")
    if folder is None or folder.name.lower().endswith(options.RESULTS) or folder.is_file():
        refuse("several files of data are published in a folder; name one with -o")
    places: dict[str, Path] = {}
    for path in data:
        kind = next((kind for kind in options.RESULTS if path.name.lower().endswith(kind)), ".csv")
        plain = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
        target = folder / f"{Path(plain).stem}{kind}"
        for other, known in zip(data, places.values(), strict=False):
            if known.name.lower() == target.name.lower():
                refuse(
                    f"{str(other)!r} and {str(path)!r} would both be published as "
                    f"{str(target)!r}; rename one, or protect them into two folders"
                )
        places[path.name] = target
    folder_for(folder)
    outputs = {f"the table of {name!r}:": place for name, place in places.items()}
    kinds = dict.fromkeys(outputs, options.RESULTS)
    check_outputs({**outputs, "--summary": summary}, [*data, *others], kinds)
    return places


def protect_each(
    sources: Sequence[Source], places: Mapping[str, Path], mechanism: Mechanism, *,
    workers: int, search: Search, clock: Clock, files: Files, options: set[str],
) -> NoReturn:  # fmt: skip
    """Protect the table of each source, write those that are safe, and show all in an overview.

    The exit code is the highest of a table, or that of an interrupt.
    """
    reveal = files.shown.reveal
    tables: dict[str, Table] = {}
    failed: dict[str, tuple[str, int]] = {}

    def fail(name: str, error: Exception) -> None:
        found = message_of(error, options)
        if found is None:
            raise error
        failed[name] = found

    with Meter("tabulating") as meter:
        for source in sources:
            meter.phase(f"tabulating {source.data.name}")
            try:
                table = read_table(source)
                if read_known(source, table):
                    refuse(
                        "statuses, costs or levels of single cells are for one table; protect "
                        f"{str(source.data)!r} by a command of its own"
                    )
                tables[source.data.name] = table
            except (CellveilError, OSError, MemoryError) as error:
                fail(source.data.name, error)
    with Bar("tables protected") as bar, on_cores(workers):
        results = protect_many(
            tables, mechanism, method=search.chosen, time_limit=clock.seconds, gap=search.gap,
            progress=bar,
        )  # fmt: skip
    facts: dict[str, dict[str, Any]] = {}
    promised: dict[str, None] = {}
    for name, result in results.items():
        try:
            if not isinstance(result, Protected):
                with explained(tables[name], reveal=reveal):
                    raise result
            columns = result_columns(result, reveal=reveal, intervals=files.shown.intervals)
            with written_together() as together:
                parquet = places[name].name.lower().endswith(".parquet")
                marked = columns if parquet else with_mark(columns, files.house)
                write_columns(places[name], marked, together)
                named = hashes([places[name]], together)
        except (CellveilError, OSError, MemoryError) as error:
            fail(name, error)
            continue
        facts[name] = result.summary(reveal=reveal) | {"files": named}
        for note in tables[name].notes:
            say(f"{name}: {noted(note)}")
        promised |= dict.fromkeys(promises(result))
    errors = {name: message for name, (message, _) in failed.items()}
    rows = [{"table": name, **facts.get(name, {}), "error": errors.get(name)} for name in places]
    folder = next(iter(places.values())).parent
    finish(
        {name: facts.get(name, {"error": errors.get(name)}) for name in places},
        [
            *promised,
            *(f"{name}: {message}" for name, message in errors.items()),
            f"Wrote {len(facts)} of {len(places)} tables into {folder}.",
        ],
        show=lambda: _show(rows), to=Facts(files.summary),
        worst=max((code for _, code in failed.values()), default=SAFE),
    )  # fmt: skip


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print an overview: laid out on a terminal, comma-separated text into a pipe."""
    kept = ["table", *(name for name in _SHOWN if any(name in row for row in rows))]
    if not sys.stdout.isatty():
        kept.append("error")  # on a terminal it is said below
    print_columns({name: [row.get(name) for row in rows] for name in kept})
