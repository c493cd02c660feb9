"""A case protected by the library, and judged by the second reading."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import csp
from csp.audits.second_reading import reread
from csp.audits.second_reading.attackers import known_of
from csp.audits.second_reading.meaning import Reading
from csp.audits.second_reading.people import read
from csp.audits.second_reading.rules import needs
from csp.errors import CellveilError, InputError, OutOfTime, Unprotectable
from csp.release.release import Release
from csp.release_file import read_release, write_release
from tests.second_reading.cases import Case
from tests.second_reading.forms import Form, form_of

__all__ = ["Outcome", "compare", "everything"]


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "protected", "refused" or "bad input"; and what was found."""

    what: str
    findings: tuple[str, ...] = ()


def everything(
    table: csp.Table,
    reading: Reading,
    *,
    margins: str = "suppress",
    said: Mapping[Any, Mapping[str, Any]] | None = None,
) -> Release:
    """A release in which everything is suppressed that may be."""
    labels = _labels(table, reading)
    totals = {total for total, _ in reading.sums(labels)} if margins == "publish" else set()
    public = totals | {label for label, own in (said or {}).items() if "p" in own}
    pattern = [not reading.empty(label) and label not in public for label in labels]
    return Release.of(table, np.array(pattern))


def _labels(table: csp.Table, reading: Reading) -> list[tuple[str, ...]]:
    names = reading.columns.names
    at = [table.names.index(name) for name in names]
    return [tuple(label[i] for i in at) for label in table.labels]


def _other_levels(case: Case, problem: Any, reading: Reading, said: Any) -> list[str]:
    """Cells that only one of both calls sensitive, or to which they give other levels."""
    table, mechanism = problem.table, case.mechanism
    labels = _labels(table, reading)
    totals = {total for total, _ in reading.sums(labels)}
    low = 0 if case.columns.negative == "error" else None
    own = needs(
        reading, labels, mechanism["rules"], width=mechanism.get("width"),
        strict=mechanism.get("strict", False), bounds=dict.fromkeys(labels, (low, None)),
        public=totals if mechanism.get("margins") == "publish" else (), said=said,
    )  # fmt: skip
    # Both in units of the finer scale.
    mine, theirs = (
        10 ** max(0, s) for s in (table.scale - reading.scale, reading.scale - table.scale)
    )
    found = []
    for i, label in enumerate(labels):
        need = own.get(label)
        if (need is not None) != bool(problem.primary[i]):
            found.append(f"{label}: sensitive by the {'second' if need else 'first'} reading only")
        elif need is not None:
            ours = tuple(x * mine for x in (need.down, need.up, need.width))
            others = tuple(int(x[i]) * theirs for x in (problem.lpl, problem.upl, problem.spl))
            if ours != others:
                found.append(f"{label}: levels {others} first, {ours} second (down, up, width)")
    return found


def _refused(form: Form, why: InputError) -> Outcome:
    """What the second reading refuses, the first must refuse too."""
    try:
        form.table()
    except InputError as error:
        return Outcome(f"bad input: {str(error)[:300]}")
    return Outcome("bad input", (f"refused by the second reading only: {why}",))


def _meant(case: Case, reading: Reading) -> list[str]:
    """Cells that stand in the file otherwise than they were drawn."""
    drawn = read(case.data, case.columns)

    def cells(one: Reading) -> dict[Any, Any]:
        at = [one.columns.names.index(name) for name in case.columns.names]
        return {
            tuple(label[i] for i in at): (Fraction(cell.value, 10**one.scale), cell.count)
            for label, cell in one.cells.items()
            if cell.count or cell.value
        }

    ours, theirs = cells(reading), cells(drawn)
    return [
        f"{label}: {ours.get(label)} in the file, {theirs.get(label)} meant"
        for label in sorted({*ours, *theirs})
        if ours.get(label) != theirs.get(label)
    ][:1]


def _judged(
    case: Case, form: Form, reading: Reading, again: Any, said: Any, folder: Path, gap: float
) -> Outcome:
    findings = _meant(case, reading)
    options = {k: v for k, v in case.mechanism.items() if k not in ("rules", "cost")}
    rules = case.mechanism["rules"]
    mechanism = csp.Mechanism(**case.mechanism)

    again = partial(again, rules=rules, **options)
    try:
        table = form.table()
        known = form.known(table)
        problem = mechanism.problem(table)
        if known:
            problem = mechanism.amended(problem, known)
        findings += _other_levels(case, problem, reading, said)
        protected = mechanism.protect(table, time_limit=20, gap=gap, apriori=known)
    except Unprotectable as error:
        margins = case.mechanism.get("margins", "suppress")
        if again(everything(table, reading, margins=margins, said=said)).safe:
            findings.append(f"falsely refused: {error}")
        return Outcome("refused", tuple(findings))
    except OutOfTime:
        return Outcome("out of time", tuple(findings))
    except InputError as error:
        return Outcome(f"bad input: {str(error)[:300]}", tuple(findings))
    except CellveilError as error:
        return Outcome("failed", (*findings, f"{type(error).__name__}: {error}"))
    stored = folder / "release.json"
    write_release(protected.release, stored)
    found = again(read_release(stored)[0])
    findings += [d.secret for d in found.differences]
    findings += [e.words(reveal=True) for e in found.exposures]
    return Outcome("protected", tuple(findings))


def compare(case: Case, *, gap: float = 0.0) -> Outcome:
    """Protect a case by the library, and judge what came by the second reading."""
    with tempfile.TemporaryDirectory() as name:
        form = form_of(case, Path(name))
        try:
            records, columns, apriori = form.again()
            reading = read(records, columns)
        except InputError as error:
            return _refused(form, error)
        again = partial(reread, records=records, columns=columns, apriori=apriori)
        return _judged(case, form, reading, again, known_of(reading, apriori), Path(name), gap)
