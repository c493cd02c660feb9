"""The verbs for jobs: run them, and write one to begin with."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from cellveil.cli import options
from cellveil.cli.answers import finish, noted
from cellveil.cli.options import argument, flag, option
from cellveil.front import SAFE, message_of, options_of, refuse
from cellveil.io.files import check_outputs, hashes_of
from cellveil.jobs.batch import read_batch
from cellveil.jobs.draft import job_text
from cellveil.jobs.job import is_outside, read_job
from cellveil.jobs.keys import template
from cellveil.jobs.run import Done, run_job
from cellveil.jobs.verify import verify as verified
from cellveil.render.progress import Meter
from cellveil.render.screen import say, tell
from cellveil.requests.outputs import Facts
from csp.errors import CellveilError
from csp.formats.files import atomic_writer


def run(
    ctx: typer.Context,
    jobs: Annotated[
        list[Path] | None,
        argument("Job (.toml), tau-ARGUS batch file (.arb), or a folder of jobs.", "JOB"),
    ] = None,
    *,
    anywhere: Annotated[
        bool,
        flag("Results may go outside the folder of the job.", "--anywhere", default="refused"),
    ] = False,
    record: Annotated[
        Path | None,
        option(
            "Internal record of one job, not for publication.",
            "FILE",
            default="NAME.internal.json beside the job",
        ),
    ] = None,
    verify: Annotated[
        Path | None,
        option(
            "Repeat the run of an internal record (.internal.json), and say whether the same "
            "files come out; nothing is written.",
            "RECORD",
        ),
    ] = None,
    summary: options.Summary = None,
) -> None:
    """Run jobs: read the tables, link those that share cells, protect, audit, write.

    $ cellveil run job.toml

    Each job's files appear together when all its tables are protected. A job that fails does not
    stop the others. Beside the results, NAME.result.json holds the versions and the SHA-256 of
    what was written; the same job gives the same bytes. NAME.internal.json beside the job, which is
    not for publication, has the SHA-256 of what was read too, and what suppressed values decide.

    With --verify the exit code is 0 if all files come out the same, and 1 if one does not.
    """
    if verify is not None:
        if jobs:
            refuse("--verify runs the job of its record; leave the jobs out")
        _verify(verify, summary)
    if not jobs:
        refuse("name a job (.toml), a tau-ARGUS batch file (.arb) or a folder of jobs")
    paths = [
        found
        for path in jobs
        for found in (sorted(path.glob("*.toml")) if path.is_dir() else [path])
    ]
    if not paths:
        refuse(f"{str(jobs[0])!r} holds no job (.toml); write one with 'cellveil init'")
    if record is not None and len(paths) > 1:
        refuse("--record is for one job; each has its own beside it")
    check_outputs({"--summary": summary, "--record": record}, paths)
    facts: dict[str, Any] = {}
    failed: dict[Path, tuple[str, int]] = {}
    with Meter("reading jobs") as meter:
        for number, path in enumerate(paths, 1):
            head = f"{path.name} ({number} of {len(paths)}): " if len(paths) > 1 else ""
            try:
                job = read_job(path, anywhere=anywhere)
                if record is not None:
                    job = replace(job, record=record)
                for note in job.notes:
                    say(f"{note}.")

                def phase(words: str, head: str = head) -> None:
                    meter.phase(f"{head}{words}")

                done = run_job(job, phase=phase, progress=meter)
            except (CellveilError, OSError, MemoryError) as error:
                found = message_of(error, options_of(ctx.command))
                if len(paths) == 1 or found is None:
                    raise
                failed[path] = found
                facts[str(path)] = {"error": found[0]}
                continue
            facts[str(path)] = _told(done, head)
            say(f"Internal record, not for publication: {job.record}.")
    lines = [f"{path.name}: {message}" for path, (message, _) in failed.items()]
    if len(paths) > 1:
        lines.append(f"{len(paths) - len(failed)} of {len(paths)} jobs done.")
    worst = max((code for _, code in failed.values()), default=SAFE)
    finish(facts, lines, to=Facts(summary), worst=worst)


def _told(done: Sequence[Done], head: str) -> dict[str, Any]:
    """Say what became of a job, and return its facts."""
    for one in done:
        say(f"{head}{' and '.join(one.names)}: {one.words}")
        for note in one.protected.table.notes:
            say(noted(note, options=False))
        for line in one.told:
            say(line)
        say(f"Wrote {', '.join(str(file) for file in one.files)}.")
    written = hashes_of(file for one in done for file in one.files)
    return {
        "tables": [{"names": list(one.names)} | one.protected.summary() for one in done],
        "files": {path.name: sha for path, sha in written.items()},
    }


def _verify(record: Path, summary: Path | None) -> NoReturn:
    """End with whether the run of a record gives the same files again."""
    check_outputs({"--summary": summary}, [record])
    with Meter("reading the record") as meter:
        found = verified(record, phase=meter.phase, progress=meter)
    facts = {"reproduced": found.same, "files": dict(found.outputs)}
    facts["versions_then"] = {name: then for name, (then, _) in found.versions.items()}
    finish(facts, found.words, safe=found.same, speak=tell, to=Facts(summary))


def init(
    path: Annotated[Path, argument("New job file.", "FILE")] = Path("job.toml"),
    *,
    batch: Annotated[
        Path | None, option("tau-ARGUS batch file (.arb) to translate.", "FILE", "--from")
    ] = None,
) -> None:
    """Write a job with every key and what it means, to be filled in, or one from a batch file.

    $ cellveil init job.toml
    """
    if path.suffix != ".toml":
        refuse(f"{str(path)!r} must end with .toml")
    if path.exists():
        refuse(f"{str(path)!r} is there already; choose another name, or delete it")
    if batch is not None:
        text = job_text(*read_batch(batch), batch.parent, path.parent)
        with atomic_writer(path) as out:
            out.write(text)
        folder = tomllib.loads(text).get("output", {}).get("folder", "")
        outside = " --anywhere" if is_outside(folder) else ""
        say(f"Wrote {path}. Next: cellveil run{outside} {path}")
        return
    with atomic_writer(path) as out:
        out.write(template())
    say(f"Wrote {path}. Fill it in, then: cellveil run {path}")
