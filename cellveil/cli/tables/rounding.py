"""The command ``cellveil round``: all cells of a table to multiples of a base, adding up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.options import flag, option
from cellveil.cli.tables.dimensions import By, dimensions_of
from cellveil.cli.taking import Rest, taking
from cellveil.io import inputs
from cellveil.io.files import check_outputs
from cellveil.render.progress import Meter
from cellveil.requests.outputs import Rows
from cellveil.requests.search import Limit
from cellveil.requests.source import Source
from cellveil.signals import interrupted
from csp.decoys.key import Key
from csp.errors import InputError
from csp.exact import UNBOUNDED, units_text
from csp.rounding.controlled import round_table
from csp.tables.cross.frames import dimension_columns


@taking
def round_(
    data: options.TableFile,
    *,
    by: By = None,
    base: Annotated[str, option("Multiples of it are published: 5.", "NUMBER")],
    small: Annotated[
        bool,
        flag(
            "Round counts below the base only, to 0 or the base; totals are summed again. With "
            "--base 3 these are 1 and 2.",
            "--small",
        ),
    ] = False,
    source: Rest[Source],
    key_file: Annotated[
        Path | None,
        option(
            "Secret key that chooses among the rounded tables, made by 'cellveil key': then an "
            "attacker who knows the method excludes none, unless cells had to go two bases far.",
            "FILE",
            default="the closest table",
        ),
    ] = None,
    table_id: Annotated[
        str,
        option("Identity of the table: the same name and key round alike. Needs a key.", "NAME"),
    ] = "",
    limit: Limit,
    output: options.RowsFile = None,
    summary: options.Summary = None,
) -> None:
    """Round all cells of a table to multiples of a base, so that they still add up.

    $ cellveil round survey.csv --by region,sector --base 5 -o rounded.csv

    Each cell goes to a multiple next to its value; the columns lower and upper say between what the
    true value lies. Whether that is enough for sensitive cells is for 'cellveil compare' to say,
    beforehand: choose the base by what the rules ask, and not by how small the cells are.
    """
    _check_identity(key_file, table_id)
    read = source(data=data, **dimensions_of(data, by, source))
    check_outputs({"-o": output, "--summary": summary}, [data, read.rda, key_file])
    key = None if key_file is None else Key.read(key_file)
    clock = limit.started()
    with Meter("tabulating", clock.seconds) as meter:
        table = inputs.read_table(read, meter.phase)
        meter.phase("rounding")
        found = round_table(
            table, base, small=small, key=key, name=table_id, time_limit=clock.seconds
        )
    lines = [noted(note) for note in table.notes]
    lines.append(f"{table.n_cells:,} cells {found.words()}.")
    if key is not None and found.relaxed.any():
        lines.append(
            "Cells had to go further than a base, so that an attacker who knows the method can "
            "exclude some tables in spite of the key: those that a base is enough for."
        )
    elif key is None and found.proven:
        lines.append(
            "The closest such table: an attacker who knows that can exclude some (--key-file)."
        )
    elif key is None:
        why = "it was interrupted" if interrupted() else "the time limit passed"
        lines.append(f"A close one: {why} before it was proved the closest (--time-limit).")
    finish(
        found.summary(), lines, columns=_columns(found), to=Rows(output, summary),
        hashed=True,
    )  # fmt: skip


def _check_identity(key_file: Path | None, table_id: str) -> None:
    """Have a table that is rounded by a key be named, and no other.

    Raises
    ------
    InputError
    """
    if key_file is not None and not table_id:
        msg = (
            "--key-file needs --table-id: the random numbers are drawn from key, name, base and "
            "labels, and two tables that are rounded with the same numbers, such as two months, "
            "can be compared cell by cell; name this one (--table-id 2026-11)"
        )
        raise InputError(msg)
    if table_id and key_file is None:
        msg = "--table-id is for tables that are rounded by a key; give --key-file, or leave it out"
        raise InputError(msg)


def _columns(found: Any) -> dict[str, list[Any]]:
    """Dimensions, value, lower and upper, as decimal text."""
    release, scale = found.release, found.table.scale
    columns = dimension_columns(release)
    columns["value"] = [units_text(v, scale) for v in found.values.tolist()]
    for name, side in (("lower", release.lower), ("upper", release.upper)):
        columns[name] = [
            None if abs(v) >= UNBOUNDED else units_text(v, scale) for v in side.tolist()
        ]
    return columns
