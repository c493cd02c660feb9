"""The page of claims: a tally, and a table for each paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studies.claims.register import VERDICTS, Claim, Paper, tally
from studies.microdata.files import FILES, SHA256
from studies.pages import grid


def page(papers: Sequence[Paper]) -> Iterator[str]:
    """Yield the lines of docs/papers.md."""
    yield "# Claims of papers, and what became of them"
    yield ""
    yield (
        "Each entry says what a paper prints or claims, and what a recomputation gives. "
        "*Reproduced*: the same. *Within error*: what chance alone explains. *Misprint*: the text "
        "or the rest of the paper shows what is meant. *Refuted*: a counterexample stands. "
        "*Cannot be known*: the paper leaves out what it depends on."
    )
    yield ""
    yield "Made by `python -m studies check`, which runs the recomputations that take seconds."
    yield ""
    rows = [(_short(paper), *tally(paper.claims).values()) for paper in papers]
    whole = tally(claim for paper in papers for claim in paper.claims)
    yield from grid(["paper", *VERDICTS], [*rows, ("all", *whole.values())])
    for paper in papers:
        yield ""
        yield f"## {paper.title}"
        yield ""
        yield f"Measured on {paper.checked}."
        yield ""
        yield from grid(
            ["where", "claim", "verdict", "measured", "how"],
            [(c.where, c.says, c.verdict, c.measured, _way(c)) for c in paper.claims],
        )

    yield ""
    yield "## Files"
    yield ""
    yield (
        "Commands with `--data FOLDER` read public files that are not part of this project, under "
        "these names. Without them the figures above are as they were measured on the date given; "
        "`python -m studies check --data FOLDER` counts the claims that cannot be rerun, and with "
        "`--pages all` it makes the pages of the longer studies again, which takes hours, and "
        "shows what differs from those on record."
    )
    yield ""
    yield from grid(
        ["file", "called", "where from", "SHA-256"],
        [
            (f"`{name}`", _called(name), origin, f"`{digest}`")
            for name, (origin, digest) in SHA256.items()
        ],
    )


def _called(file: str) -> str:
    return ", ".join(name for name, spec in FILES.items() if spec.file == file)


def _short(paper: Paper) -> str:
    """First words of a citation: its authors and year."""
    return paper.title.partition(").")[0] + ")"


def _way(claim: Claim) -> str:
    if claim.recompute:
        return "`python -m studies check`"
    if not claim.command:
        return "by reading"
    return f"`{claim.command}`" + (f" on {', '.join(claim.files)}" if claim.files else "")
