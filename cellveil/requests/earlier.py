"""What an earlier release suppressed, and stays suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellveil.front import refuse
from cellveil.requests.option import ByColumn, option


@dataclass(frozen=True, slots=True)
class Earlier:
    """What stays suppressed since it was before."""

    keep: Path | None = option(
        "What was suppressed before stays suppressed: an earlier release (.json), a published list "
        "or cross table (.csv, .xlsx, ...), a plain list of cells, or an a-priori file (.hst).",
        "FILE",
        '"last_year.csv"',
    )
    keep_unknown: Literal["error", "skip"] = option(
        "Cells of --keep that the table does not have.", "", '"skip"', default="error"
    )
    keep_codes: tuple[ByColumn, ...] = option(
        "Codes of --keep that go by others now: two columns, old and new; a code that was split "
        "stands several times. Those of --recode need not be named.",
        "COLUMN=FILE",
        '"regions.csv"',
        default=(),
    )
    keep_marks: str | None = option(
        "Whose signs the table of --keep has: destatis, statcan, uk, ...",
        "OFFICE",
        '"destatis"',
        otherwise="as found, if only one reading is left",
    )

    def check(self) -> None:
        """Refuse what is said of an earlier release where none is named."""
        given = {
            "--keep-unknown": self.keep_unknown != "error", "--keep-codes": self.keep_codes,
            "--keep-marks": self.keep_marks,
        }  # fmt: skip
        unused = next((name for name, value in given.items() if value), None)
        if self.keep is None and unused is not None:
            refuse(f"{unused} is for --keep; name the earlier release, or leave it out")
