"""Results as a page: one table per group, one line per spec, solvers beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.frozen import FROZEN
from benchmarks.goals import contradictions, missed, seconds_text
from benchmarks.own import PREFIX
from benchmarks.peers import BASES, Run
from benchmarks.results import Row, machine, versions
from benchmarks.specs import Spec
from csp.exact import units_text
from csp.formats.files import atomic_writer

_STALE, _APART = "†", "~"


def write_page(
    path: Path, rows: Sequence[Row], registry: Sequence[Spec], absent: Mapping[str, str]
) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with atomic_writer(path) as out:
        out.write(page(rows, registry, absent))


def page(rows: Sequence[Row], registry: Sequence[Spec], absent: Mapping[str, str]) -> str:
    """Markdown of the results.

    Parameters
    ----------
    rows : sequence of Row
        At most one for each spec and solver.
    registry : sequence of Spec
        Words and goals of the specs.
    absent : mapping of str to str
        Specs that could not be posed, and why.
    """
    by_path: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_path.setdefault(row.path, {})[row.run.solver] = row
    known = {spec.path: spec for spec in registry}
    lines = ["# Benchmark of cellveil", "", *_head(rows)]
    wrong = [
        f"* **{path}: {words}**"
        for path, found in by_path.items()
        for words in _wrong(found, known.get(path))
    ]
    if wrong:
        lines += ["", "## Wrong", "", *wrong]
    groups = [spec.group for spec in registry if spec.path in by_path or spec.path in absent]
    groups += [row.group for row in rows]
    for group in dict.fromkeys(groups):
        mine = [spec.path for spec in registry if spec.group == group]
        mine += [row.path for row in rows if row.group == group]
        shown = [path for path in dict.fromkeys(mine) if path in by_path or path in absent]
        lines += ["", f"## {group}", "", *_table(shown, by_path, known, absent)]
    return "\n".join(lines) + "\n"


def run_words(run: Run, scale: int) -> str:
    """Say in one line what a run came to."""
    words = [_value(run, scale)]
    if run.cpu is not None:
        words.append(f"{seconds_text(run.cpu)} CPU")
    if run.wall is not None:
        words.append(f"{seconds_text(run.wall)} wall")
    return ", ".join(words)


# ---- the head ------------------------------------------------------------------------------------


def _head(rows: Sequence[Row]) -> list[str]:
    lines = [f"Machine: {machine()}.", ""]
    named = [row.run.solver for row in rows]
    named = [one if one.startswith(f"{PREFIX}:") else one.partition(":")[0] for one in named]
    lines += [f"* {name}: {versions(name)}" for name in _ordered(["ours", *named])]
    lines += [
        "",
        (
            "One run at a time, each in a process of its own; CPU seconds first, then wall. "
            "Values are costs of the secondary cells. In brackets behind a peer's time: "
            "how many times our CPU it took."
        ),
    ]
    if any(not row.current for row in rows):
        lines += ["", f"{_STALE} measured on another machine or with other versions."]
    return lines


# ---- the tables ----------------------------------------------------------------------------------


def _table(
    paths: Sequence[str],
    by_path: Mapping[str, Mapping[str, Row]],
    known: Mapping[str, Spec],
    absent: Mapping[str, str],
) -> list[str]:
    solvers = _ordered(name for path in paths for name in by_path.get(path, ()))
    names = ["problem", "cells (primary)", *solvers, "target", "met"]
    lines = [_line(names), _line(["---"] * len(names))]
    for path in paths:
        spec, found = known.get(path), by_path.get(path, {})
        label = path.partition("/")[2]
        if not found:
            blank = ["absent"] + [""] * len(solvers)
            lines.append(_line([label, *blank, spec.target if spec else "", absent[path]]))
            continue
        row = next(iter(found.values()))
        if spec is not None and spec.known is not None:
            low, high = (units_text(end, row.scale) for end in spec.known)
            label += f"<br>known: {low}" + (f" to {high}" if high != low else "")
        if FROZEN.get(path, row.digest) != row.digest:
            label += "<br>**not the frozen problem**"
        cells = [_cell(found[name], found) if name in found else "" for name in solvers]
        target = spec.target if spec is not None else "no longer in the registry"
        size = f"{row.cells:,} ({row.primary:,})<br>limit {row.time_limit:g} s"
        lines.append(_line([label, size, *cells, target, _met(spec, found)]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (BASES.index(name.partition(":")[0]), name))


def _cell(row: Row, found: Mapping[str, Row]) -> str:
    run = row.run
    parts = []
    if run.unsafe:
        parts.append(f"**UNSAFE: {run.unsafe} cells**")
    elif run.unsafe is None and run.suppressed is not None:
        parts.append("**not audited**")
    parts.append(_value(run, row.scale) + ("" if row.current else f" {_STALE}"))
    times = []
    if run.cpu is not None:
        times.append(seconds_text(run.cpu) + _ratio(row, found))
    if run.wall is not None:
        times.append(f"{seconds_text(run.wall)} wall")
    if run.proof is not None and run.wall is not None and run.proof < 0.9 * run.wall:
        times.append(f"{seconds_text(run.proof)} to the proof")
    if times:
        parts.append(", ".join(times))
    if run.memory is not None:
        parts.append(f"{run.memory:.0f} MB")
    return "<br>".join(parts)


def _value(run: Run, scale: int) -> str:
    if run.value is None:
        return run.outcome
    text = f"{units_text(run.value, scale)} {run.outcome}"
    if not run.proven:
        text += ", no bound" if run.gap is None else f", gap {100 * run.gap:.2f} %"
    return text


def _ratio(row: Row, found: Mapping[str, Row]) -> str:
    ours = found.get("ours")
    if ours is None or row is ours or row.run.solver.startswith("ours"):
        return ""
    if not ours.run.cpu or not row.run.cpu or ours.machine != row.machine:
        return ""
    apart = "" if ours.session == row.session else _APART
    return f" ({apart}{row.run.cpu / ours.run.cpu:.2g}×)"


def _met(spec: Spec | None, found: Mapping[str, Row]) -> str:
    if spec is None or "ours" not in found:
        return ""
    others = {name: row.run for name, row in found.items() if name != "ours"}
    words = missed(spec.goal, found["ours"].run, others)
    return f"no: {'; '.join(words)}" if words else "yes"


def _wrong(found: Mapping[str, Row], spec: Spec | None) -> list[str]:
    words: list[str] = []
    for name, row in found.items():
        if name.partition(":")[0] == "ours":
            others = {other: r.run for other, r in found.items() if other != name}
            words += contradictions(row.run, others, spec.known if spec is not None else None)
    return words
